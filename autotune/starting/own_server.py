"""The server that somebody runs today: out of its command line, or out of the running server."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from trials.flags import CatalogueError, Flag, FlagCatalogue, load_catalogue
from trials.own_words import OwnWords, read_back
from trials.problems import SettingError
from trials.server_info import read_server_info
from trials.settings import SPECULATION_OFF, ServerPlan

_ASSIGNMENT = re.compile(r"(?P<name>[A-Za-z_]\w*)=(?P<value>.*)", re.DOTALL)
_RUNTIMES = ("docker", "podman")
_CONTAINER_VARIABLE = ("-e", "--env")
_INSTALLED = (
    ("sglang", "serve"),
    ("python", "-m", "sglang.launch_server"),
    ("python3", "-m", "sglang.launch_server"),
)
_TUNED_FIELDS = (
    "tp_size",
    "ep_size",
    "dp_size",
    "attn_dp_size",
    "enable_dp_attention",
    "mem_fraction_static",
    "cuda_graph_max_bs",
    "cuda_graph_max_bs_decode",
    "max_running_requests",
    "chunked_prefill_size",
    "speculative_algorithm",
    "speculative_num_steps",
    "speculative_eagle_topk",
    "speculative_num_draft_tokens",
    "speculative_draft_model_path",
    "disable_custom_all_reduce",
)
_CHOSEN_FIELDS = (
    *("trust_remote_code", "tool_call_parser", "reasoning_parser", "chat_template", "quantization"),
    *("context_length", "revision", "enable_metrics", "host", "port"),
)
"""Fields that a server does not choose by itself: what they hold is what somebody asked for."""


class NoOwnServerError(ValueError):
    """Neither a command nor a running server nor a model says what the study is about; one sentence."""


@dataclass(frozen=True)
class OwnServer:
    """A server of today in a study's terms.

    Attributes:
        plan: How it is started, without what ``words`` says.
        catalogue: What it accepts, None where it could not be asked.
        exact: The settings are the user's; else some are what a running server had chosen for itself.
        remarks: What could not be taken over, one sentence each.
    """

    plan: ServerPlan
    words: OwnWords
    catalogue: FlagCatalogue | None
    exact: bool = True
    remarks: tuple[str, ...] = field(default=())


def from_command(text: str, cache: Path, box: str | None = None) -> OwnServer:
    """Read a launch command as one types it into a shell.

    Args:
        cache: Where servers' answers about their flags are kept.
        box: Simulated box to take instead of the command's own program.

    Raises:
        CatalogueError: If the command's program cannot be asked what it accepts.
        NoOwnServerError: If the command has no program or names no model.
        SettingError: If it has a flag that its server does not know.
    """
    env, program, image, flags = _divided(text)
    if box is None and not program:
        raise NoOwnServerError("the command has no program; write it as you type it: 'sglang serve ...'")
    if box is not None:
        start: dict[str, Any] = {"box": box}
    else:
        start = {"image": image} if image else {"command": tuple(program)}
    catalogue = load_catalogue(ServerPlan(**start, model_path="-", env=env), cache)
    words = read_back(flags, env, catalogue)
    if words.model_path is None:
        raise NoOwnServerError("the command names no model; give it with --model")
    plan = ServerPlan(**start, model_path=words.model_path, draft_model_path=words.draft_model_path)
    remarks = ("mounts, ports and cards of the container's own command were left out",) if image else ()
    return OwnServer(plan, words, catalogue, remarks=remarks)


def from_url(url: str, cache: Path, box: str | None = None) -> OwnServer:
    """Ask a running server.

    Raises:
        CatalogueError: If no SGLang is installed here that could start such a server.
        NoOwnServerError: If nothing answers there, or it is no SGLang.
    """
    info = read_server_info(url.rstrip("/"))
    model = info.args.get("model_path")
    if not model:
        raise NoOwnServerError(f"no SGLang answers at {url}/server_info; is that its address and port?")
    plan, catalogue = _here(box, str(model), cache)
    if catalogue is None:
        raise CatalogueError(
            "no SGLang is installed here; activate its environment, or give the command with --command"
        )
    words = read_back([word for name in _named(info.args, catalogue) for word in name], {}, catalogue)
    remark = (
        "a running server does not tell the user's flags from its own choices: compare args with your command"
    )
    return OwnServer(
        plan.model_copy(update={"draft_model_path": words.draft_model_path}),
        words,
        catalogue,
        exact=False,
        remarks=(remark,),
    )


def from_model(model: str, cache: Path, box: str | None = None) -> OwnServer:
    """No server yet: the installed SGLang with this model and nothing else."""
    plan, catalogue = _here(box, model, cache)
    nothing = OwnWords({"speculative_algorithm": SPECULATION_OFF, "all_reduce": "default"}, (), {}, model)
    remarks = () if catalogue else ("no SGLang could be asked here: correct [server] command",)
    return OwnServer(plan, nothing, catalogue, exact=False, remarks=remarks)


def _here(box: str | None, model: str, cache: Path) -> tuple[ServerPlan, FlagCatalogue | None]:
    """The box, or the first way to start an installed SGLang that answers."""
    if box is not None:
        plan = ServerPlan(box=box, model_path=model)
        return plan, load_catalogue(plan, cache)
    for command in _INSTALLED:
        plan = ServerPlan(command=command, model_path=model)
        if shutil.which(command[0]) is None:
            continue
        try:
            return plan, load_catalogue(plan, cache)
        except CatalogueError:
            continue
    return ServerPlan(command=_INSTALLED[1], model_path=model), None


def _named(args: Any, catalogue: FlagCatalogue) -> list[tuple[str, ...]]:
    """The fields of a running server that can be taken over, as words of a command line."""
    flags = {flag.dest: flag for flag in catalogue.flags if not flag.retired}
    fields = [name for name in (*_TUNED_FIELDS, *_CHOSEN_FIELDS) if args.get(name) not in (None, False, "")]
    return [_as_words(flags[name], args[name]) for name in fields if name in flags]


def _as_words(flag: Flag, value: object) -> tuple[str, ...]:
    return (flag.name,) if value is True else (flag.name, str(value))


def _divided(text: str) -> tuple[dict[str, str], list[str], str | None, list[str]]:
    """Variables, program, container image and flags of a shell command.

    Raises:
        SettingError: If the quotes are not closed.
    """
    try:
        words = shlex.split(text.replace("\\\n", " "))
    except ValueError as error:
        raise SettingError("command", f"the command cannot be read: {error}") from error
    env: dict[str, str] = {}
    while words and (words[0] == "env" or words[0] == "export" or _ASSIGNMENT.fullmatch(words[0])):
        word = words.pop(0)
        if (match := _ASSIGNMENT.fullmatch(word)) is not None:
            env[match["name"]] = match["value"]
    flags_at = _end_of_program(words)
    program, flags = words[:flags_at], words[flags_at:]
    if not program or Path(program[0]).name not in _RUNTIMES:
        return env, program, None, flags
    inside = next((at for at, word in enumerate(program) if _starts_server(word)), len(program))
    for option, value in pairwise(program[:inside]):
        match = _ASSIGNMENT.fullmatch(value)
        if option in _CONTAINER_VARIABLE and match is not None:
            env[match["name"]] = match["value"]
    return env, program, program[inside - 1], flags


def _end_of_program(words: Sequence[str]) -> int:
    for place, word in enumerate(words):
        if word == "sglang.launch_server":
            return place + 1
        if Path(word).name == "sglang" and words[place + 1 : place + 2] == ["serve"]:
            return place + 2
    return next((place for place, word in enumerate(words) if word.startswith("--")), len(words))


def _starts_server(word: str) -> bool:
    return Path(word).name in ("python", "python3", "sglang")
