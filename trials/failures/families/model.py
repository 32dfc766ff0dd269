"""The model's files are missing, broken, or of a kind that this SGLang does not serve."""

from __future__ import annotations

from typing import Final

from trials.failures.family import Advice, Family
from trials.outcome import FailureKind, Stage

_KIND: Final = FailureKind.MODEL

MODEL: Final[tuple[Family, ...]] = (
    Family(
        name="remote code not trusted",
        kind=FailureKind.INVALID_SETTINGS,
        signs=(r"trust[_-]remote[_-]code",),
        says="`... requires you to execute the configuration file in that repo ... trust_remote_code=True`",
        summary="The model brings its own code and --trust-remote-code is not set.",
        means="Add the flag to `args` if you trust the model's authors.",
        remedies=(Advice("flag.trust-remote-code", "change"),),
    ),
    Family(
        name="model not found",
        kind=_KIND,
        signs=(
            r"Repo id must be in the form",
            r"is not a local folder and is not a valid model identifier",
            r"does not appear to have a file named",
            r"Incorrect path_or_model_id",
            r"RepositoryNotFoundError|Repository Not Found|GatedRepoError|gated repo",
            r"(?:401|403|404) Client Error",
            r"[Cc]an't load (?:the )?(?:config|configuration|tokenizer|image processor)",
            r"[Cc]annot find (?:the )?model",
            # A kernel cache's files are not the model's; a model may lie below a folder named .cache.
            r"FileNotFoundError: (?!.{0,200}(?:\.triton/|\.cache/(?:flashinfer|torch|triton|sglang)/))"
            r".{0,200}(?:\.safetensors|\.bin|\.json|\.gguf|\.model)\b",
        ),
        says="`Repo id must be in the form 'repo_name' or 'namespace/repo_name': '/models/nope'`",
        summary="The model (or draft model) is not at the given path and not on the hub under that name.",
        means="A wrong path, a name that needs a token, or a folder without the files.",
    ),
    Family(
        name="model type unknown",
        kind=_KIND,
        signs=(
            r"Unrecognized model in",
            r"Should have a `model_type` key",
            r"model type `?(?P<type>[\w-]+)`? but Transformers does not recognize",
            r"Unrecognized configuration class",
            r"Tokenizer class \w+ does not exist",
        ),
        says="`Unrecognized model in /models/empty. Should have a `model_type` key in its config.json.`",
        summary="The model's config.json names no type that the installed transformers knows.",
        means="A folder that holds no model, or a model newer than the installation.",
    ),
    Family(
        name="architecture of the model unknown",
        kind=_KIND,
        signs=(
            r"Model architectures \[?(?P<names>[^\]]+)\]? (?:are|is) not supported",
            r"(?P<names>\w+) has no SG[Ll]ang implementation",
            r"Unsupported architectures?: \[?'?(?P<names>\w+For(?:CausalLM|ConditionalGeneration)\w*)",
        ),
        says="`Model architectures ['FooForCausalLM'] are not supported for now.`",
        summary="This SGLang does not serve the model architecture {names}.",
        means="A class name of a model, not a GPU: the release is too old for it.",
    ),
    Family(
        name="weights missing or damaged",
        kind=_KIND,
        signs=(
            r"Cannot find any model weights",
            r"SafetensorError|safetensors_rust|[Hh]eader ?[Tt]oo ?(?:[Ll]arge|[Ss]mall)"
            r"|InvalidHeaderDeserialization|MetadataIncompleteBuffer",
            r"[Mm]issing (?:weights|keys?|shards?)|weights are not initialized from checkpoint",
            r"PytorchStreamReader failed|unexpected EOF, expected",
            r"[Uu]nsupported (?:checkpoint|quantization) format",
        ),
        says="`Cannot find any model weights with ...`, `SafetensorError: Error while deserializing header`",
        summary="The model's weight files are missing, incomplete or damaged.",
        means="Usually a download that broke off.",
    ),
    Family(
        name="weights do not match the config",
        kind=_KIND,
        signs=(
            r"[Ss]ize mismatch|[Ss]hape mismatch|(?:loaded_weight|param)\w*(?:\.data)?\.(?:shape|size)",
            r"The size of tensor a \(\d+\) must match",
            r"KeyError: '(?:model|layers|lm_head|language_model|mlp|embed)\S*'",
        ),
        says="`size mismatch for ...`, an assertion on `loaded_weight.shape`, while weights are loaded",
        summary="The weight files do not have the shapes that the config promises.",
        means="The wrong draft model for this target, or a quantisation that this SGLang reads differently.",
        stages=frozenset({Stage.LOAD_WEIGHTS}),
    ),
    Family(
        name="draft model does not fit the target",
        kind=_KIND,
        signs=(
            r"[Dd]raft.{0,80}(?:vocab|hidden|architecture).{0,80}(?:mismatch|does not match|differ)",
            r"vocab(?:ulary)? size.{0,80}draft",
        ),
        says="`... draft model's vocabulary size does not match ...`",
        summary="The draft model was not made for this target.",
        means="Hidden size or vocabulary differ.",
        remedies=(Advice("speculative_algorithm", "change"),),
    ),
)
