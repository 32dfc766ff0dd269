"""SGLang parsed the settings and refused them afterwards, each for its own reason."""

from __future__ import annotations

import re
from typing import Final

from trials.failures.case import Case
from trials.failures.family import Advice, Family
from trials.outcome import FailureKind, Stage

_KIND: Final = FailureKind.INVALID_SETTINGS
_LAYOUT: Final = Advice("layout", "change")
_RESOLVING: Final = re.compile(
    r"^(?:server_args|parallel_hook|validation_hook|\w+_hook|pipeline|overrides|cli|launch_server)\.py:",
    re.MULTILINE,
)


def _target_stands_in_for_draft(case: Case) -> bool:
    args = case.situation.server_args
    return args.get("speculative_draft_model_path") in (None, args.get("model_path"))


def _speculative(case: Case) -> bool:
    return case.situation.speculative


def _while_resolving(case: Case) -> bool:
    """The exception came out of the code that checks and completes the arguments."""
    return case.stage in (Stage.ARGUMENTS, Stage.START) and bool(_RESOLVING.search(case.frames))


SETTINGS: Final[tuple[Family, ...]] = (
    Family(
        name="sizes do not divide",
        kind=_KIND,
        signs=(
            r"(?m:^)(?P<sentence>.*(?:is not|must be|should be|needs to be|not) (?:evenly )?divisible.*)",
        ),
        says="`20 is not divisible by 8`, `tp_size must be divisible by ...`",
        summary="The layout does not divide the model: {sentence}",
        means="Heads, experts and quantisation blocks must divide among the GPUs.",
        remedies=(_LAYOUT,),
    ),
    Family(
        name="more ranks than devices",
        kind=_KIND,
        signs=(
            r"invalid device ordinal|cudaErrorInvalidDevice\b",
            r"smaller than or equal to number of numa node",
            r"(?:[Nn]ot enough|[Ii]nsufficient|only \d+) (?:visible )?(?:GPUs|devices)",
            r"device_count.{0,40}(?:<|less)",
        ),
        says="`CUDA error: invalid device ordinal`, `the total number of ranks ... should be smaller than or "
        "equal to number of numa node`",
        summary="The layout needs more devices than the server may use.",
        means="GPUs used are tp x dp; `CUDA_VISIBLE_DEVICES` may hide some.",
        remedies=(_LAYOUT,),
    ),
    Family(
        name="parallel sizes inconsistent",
        kind=_KIND,
        signs=(
            r"parallel topology is inconsistent",
            r"(?:ep|tp|dp|pp|attn_dp|moe_dp)_size.{0,60}(?:must|should|cannot|larger|greater|exceed|smaller)",
            r"world[_ ]size.{0,60}(?:must|does not|is not|not equal)",
        ),
        says="`parallel topology is inconsistent`, `ep_size must ...`",
        summary="The parallel sizes of the layout contradict each other.",
        means="Checked only after parsing: the exit code is 1, not 2.",
        remedies=(_LAYOUT,),
    ),
    Family(
        name="context longer than the model's",
        kind=_KIND,
        signs=(r"User-specified context_length \((?P<asked>\d+)\) is greater than the derived",),
        says="`User-specified context_length (999999) is greater than the derived context_length (4096)`",
        summary="--context-length {asked} is more than the model was made for.",
        means="SGLang refuses it unless an environment variable allows it.",
        remedies=(Advice("flag.context-length", "lower", "asked"),),
    ),
    Family(
        name="speculation without a draft",
        kind=_KIND,
        signs=(
            r"has no attribute 'hot_token_id'",
            r"has no attribute 'set_(?:embed|eagle3_layers_to_capture)'",
            r"speculative_draft_model_path.{0,80}(?:required|must|None|specif|set)",
            r"(?:requires?|needs?) (?:a )?(?:draft model|--speculative-draft-model-path)",
        ),
        says="`'LlamaForCausalLM' object has no attribute 'hot_token_id'`",
        summary="EAGLE speculation has no draft model: the target was loaded in its place.",
        means="--speculative-draft-model-path is missing.",
        remedies=(Advice("speculative_algorithm", "change"),),
        when=_target_stands_in_for_draft,
    ),
    Family(
        name="draft of another kind",
        kind=FailureKind.MODEL,
        signs=(r"has no attribute 'hot_token_id'",),
        says="`... object has no attribute 'hot_token_id'` with a draft model given",
        summary="The draft model is not of the kind that this algorithm needs.",
        means="EAGLE3 needs an EAGLE-3 head.",
        remedies=(Advice("speculative_algorithm", "change"),),
    ),
    Family(
        name="target without hooks for speculation",
        kind=_KIND,
        signs=(r"has no attribute '(?:get_embed_and_head|set_eagle3_layers_to_capture|set_embed\w*)'",),
        says="`... object has no attribute 'set_eagle3_layers_to_capture'` with a draft model given",
        summary="SGLang's code for this target model does not support this speculative algorithm.",
        means="The model's class lacks the hooks that the draft worker calls.",
        remedies=(Advice("speculative_algorithm", "change"),),
    ),
    Family(
        name="more draft tokens than the tree has",
        kind=_KIND,
        signs=(r"selected index k out of range",),
        says="`RuntimeError: selected index k out of range`",
        summary="There are more draft tokens than steps and topk can propose.",
        means="A draft tree has topk + (steps - 1) x topk^2 candidates besides the root.",
        remedies=(
            Advice("speculative_num_draft_tokens", "lower", "current"),
            Advice("speculative_num_steps", "raise", "current"),
        ),
        when=_speculative,
    ),
    Family(
        name="speculation refused",
        kind=_KIND,
        signs=(
            r"Unknown speculative algorithm",
            r"(?i:speculative (?:decoding|algorithm)[^\n]{0,80}(?:not|only|cannot|incompatible|must))",
            r"(?:speculative_|--speculative-)[^\n]{0,120}(?:must|should|cannot|not|only|requires?|exceed|greater|less)",
            r"(?:topk|eagle_topk|num_draft_tokens|num_steps) ?(?:[<>]=?|must|should|==)",
        ),
        says="`Unknown speculative algorithm name: BOGUS`, `speculative_eagle_topk ... must ...`",
        summary="SGLang refuses these speculation settings.",
        means="Steps, topk and draft tokens constrain each other and the attention back end.",
        remedies=(
            Advice("speculative_algorithm", "change"),
            Advice("speculative_num_draft_tokens", "change"),
        ),
    ),
    Family(
        name="port out of range",
        kind=_KIND,
        signs=(
            r"InvalidURL: Failed to parse: http://\S+:\d+",
            r"[Pp]ort (?:must be|out of range|number .{0,20}out of range)|getsockaddrarg: port",
        ),
        says="`InvalidURL: Failed to parse: http://127.0.0.1:99999/...`, `port must be 0-65535`",
        summary="The port is no valid port number.",
        means="Ports end at 65535; Uvicorn may claim to listen all the same.",
        remedies=(Advice("flag.port", "change"),),
    ),
    Family(
        name="assertion about an all-to-all back end",
        kind=_KIND,
        signs=(
            r"(?P<sentence>(?:AssertionError|ValueError)[^\n]*(?:a2a|A2A|all-?to-?all|alltoall).*)",
            r"(?P<sentence>(?:AssertionError|ValueError)[^\n]*(?:[Mm][Oo][Ee][ _-]runner|fused_moe).*)",
        ),
        says="`AssertionError: Flashinfer MoE A2A is only supported with ...`",
        summary="The MoE back ends do not go together: {sentence}",
        means="Each all-to-all back end works with some runners, layouts and types only.",
        remedies=(
            Advice("flag.moe-a2a-backend", "change"),
            Advice("flag.moe-runner-backend", "change"),
            _LAYOUT,
        ),
    ),
    Family(
        name="back ends do not go together",
        kind=_KIND,
        signs=(
            r"(?m:^)(?P<sentence>.*(?:is|are) (?:not compatible|incompatible|mutually exclusive).*)",
            r"(?m:^)(?P<sentence>.*(?:cannot|can't|can not|must not|should not) be "
            r"(?:used|enabled|set|combined|specified).*)",
            r"(?m:^)(?P<sentence>.*(?:does not|doesn't|do not) (?:yet )?support.*)",
            r"(?m:^)(?P<sentence>.*(?:is|are) not (?:yet |currently )?(?:supported|implemented).*)",
            r"(?m:^)(?P<sentence>.*(?:only supports?|only works|is only (?:supported|available)).*)",
            r"(?m:^)(?P<sentence>.*(?:expects?|must|should|needs to) [^\n]{0,40}\bone of\b.*)",
            r"(?m:^)(?P<sentence>.*\b(?:[Pp]lease (?:set|use|specify|disable|enable|add|remove) "
            r"(?:`|'|\")?--?\w[\w-]+).*)",
            r"(?m:^)(?P<sentence>.*(?:[Ii]nvalid|[Uu]nknown|[Uu]nsupported) (?:[\w-]+ ){0,3}backend\b.*)",
            r"(?m:^)(?P<sentence>.*'\w*Attn(?:ention)?Backend' object has no attribute.*)",
        ),
        says="`... is not compatible with ...`, `... does not support ...`, `... only supports ...`, "
        "`'...AttnBackend' object has no attribute ...`",
        summary="Two of the settings do not go together: {sentence}",
        means="A back end lacks what another setting needs of it.",
        never=(r"[Ii]nternal error",),
    ),
    Family(
        name="refused by the name of a flag",
        kind=_KIND,
        signs=(r"^(?P<sentence>(?:Value|Assertion|NotImplemented)Error: [^\n]*(?<!\w)--[a-z][\w-]+[^\n]*)",),
        says="any other `ValueError` or `AssertionError` whose message names a command-line flag",
        summary="SGLang refuses a setting: {sentence}",
        means="The flag in the message is the one to look at.",
    ),
    Family(
        name="refused while the arguments were resolved",
        kind=_KIND,
        signs=(r"^(?P<sentence>(?:\w+\.)*(?:Value|Assertion|NotImplemented|Type)Error(?:: [^\n]+|$))",),
        says="a `ValueError` or `AssertionError` out of `server_args.py` before anything was started",
        summary="SGLang refuses the arguments: {sentence}",
        means="Its own checks of the arguments failed.",
        when=_while_resolving,
    ),
)
