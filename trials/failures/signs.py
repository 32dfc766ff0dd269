"""What marks an incident in a log, and what never is the cause however loud it is. All SGLang wording."""

from __future__ import annotations

import re
from typing import Final, Literal, TypeAlias

Strength: TypeAlias = Literal["strong", "weak"]

INCIDENTS: Final[tuple[tuple[Strength, str, str], ...]] = (
    # A process says why it dies.
    ("strong", "hit an exception: ", r"\w+ hit an exception: "),
    ("strong", "Initialization failed. warmup", r"Initialization failed\. warmup error"),
    ("strong", "Process", r"Process [\w:.-]+:$"),
    (
        "strong",
        ": error: ",
        r"[\w./-]+(?: \w+)?: error: (?:unrecognized arguments|argument |ambiguous option|the following)",
    ),
    ("strong", "[Errno 98] ", r"(?:ERROR: +)?\[Errno 98\] "),
    (
        "strong",
        "atchdog timeout (",
        r"(?:.{0,80} )?[Ww]atchdog timeout \(self\.watchdog_timeout=(?![^)]*self\.soft=True)",
    ),
    ("strong", "Watchdog caught collective", r".{0,200}Watchdog caught collective operation timeout"),
    (
        "strong",
        "watchdog thread terminated with exception",
        r".{0,200}Process group watchdog thread terminated with exception",
    ),
    ("strong", "Fatal Python error: ", r"Fatal Python error: "),
    ("strong", "terminate called", r"terminate called after throwing"),
    ("strong", "Segfault encountered", r"!+ ?Segfault encountered"),
    ("strong", "crashed with exit code", r"Subprocess \S+ \(pid=\d+\) crashed with exit code"),
    ("strong", "while health check failed", r"Signal SIGTERM received while health check failed"),
    ("strong", "core dumped", r".{0,160}(?:Bus error|Segmentation fault|Illegal instruction|Aborted)\b"),
    # It may have been caught, or be of no weight beside a ready line.
    ("weak", "Health check failed", r"Health check failed\. Server couldn't get a response from detokenizer"),
    ("weak", "Exception in thread", r"Exception in thread "),
    ("weak", "not found", r"(?:\S*(?:bash|sh|env)|exec): .{0,200}not found"),
    ("weak", "No such file", r"\S*(?:bash|sh|env|exec): .{0,200}No such file or directory"),
    ("weak", "docker: ", r"docker: .{0,300}(?:daemon|container|image|runtime|device driver)"),
    ("weak", "podman: ", r"podman: .{0,300}(?:container|image|runtime|device driver)"),
    ("weak", "Error: ", r"Error: .{0,300}(?:container|image|manifest|pull access|runtime)"),
    ("weak", "No module named", r"\S*python[\d.]*: .{0,120}No module named"),
    ("weak", "can't open file", r"\S*python[\d.]*: can't open file"),
    ("weak", "nvidia-container-cli", r"nvidia-container-cli: "),
    ("weak", "OCI runtime", r"OCI runtime \w+ failed"),
    ("weak", "ProcessGroupNCCL.cpp", r"\[E\S+ [\d:.]+ ProcessGroupNCCL\.cpp:\d+\]"),
    ("weak", "NCCL WARN", r".{0,80}NCCL WARN .{0,200}(?:failed|error|fault)"),
    ("weak", "rror: ", r"(?:RuntimeError|CUDA error|NCCL error): "),
)
"""How sure, a text that must be there (which is looked for first, for speed), and the start of the line.

A traceback is found without it.
"""

_NEVER: Final[tuple[str, ...]] = (
    r"server_args=",
    r"Received sigquit from a child proces",
    r"SIGQUIT received\.",
    r"kill_process_tree called",
    r"Killed$",
    r"Sleeping \d+ seconds before crash diagnostics",
    r"(?:All )?[Pp]y-?spy",
    r"CUDA (?:user-triggered )?coredump",
    r"Waiting [\d.]+ seconds for CUDA coredumps",
    r"No live scheduler processes found",
    r"Ignore import error when loading",
    r"Config file not found",
    r"Using default MoE kernel config",
    r"Custom allreduce is disabled",
    r"Setup (?:Custom|FlashInfer PCIe-IPC) allreduce failed",
    r"[\w: ]{0,80}communicator is not available",
    r"\S{0,160}:\d+: UserWarning: resource_tracker",
    r"\[Autotuner\]: Skipping tactic",
    r"(?:Decode out of memory happened|KV cache pool is full)\.",
    r"(?:Possible solutions|Possible suggestions):",
    r"\[http_server\] Error: ",
    r"ERROR: +Exception in ASGI application",
    r"INFO: ",
    r"\S+\.py:\d+: \w*Warning: ",
)

NEVER_THE_CAUSE: Final = re.compile("|".join(_NEVER))
"""Loud lines that are not the reason: consequences, fall-backs, advice, and errors of single requests."""

SOMEBODY_ELSES: Final = re.compile(
    r"\[http_server\] Error: |ERROR: +Exception in ASGI application|.{0,160}\[Autotuner\]: Skipping tactic"
)
"""The traceback printed after such a line belongs to one request, or to an attempt that was given up."""

DECIDES_ALWAYS: Final = re.compile(
    r"(?:ERROR: +)?\[Errno 98\] |Signal SIGTERM received while health check failed"
)
"""Fatal even beside a ready line, or after a request to stop."""

DEATH: Final = re.compile(
    r"Received sigquit from a child proces|SIGQUIT received\.|Subprocess \S+ \(pid=\d+\) crashed"
)
"""The launcher takes the whole server down because a child has died."""

STOP_REQUESTED: Final = re.compile(
    r"SIGTERM received\.|Gracefully exiting|INFO: +Shutting down|SIGINT received"
)
"""After it, errors are the sound of a server being stopped."""

_ADVICE: Final = re.compile(
    r"^(?:Possible solutions:|Possible suggestions:|CUDA kernel errors might be asynchronously|"
    r"For debugging consider passing|Compile with `TORCH_USE_CUDA_DSA`|"
    r"Exception raised from .* at /|Search for `cudaError)",
    re.MULTILINE,
)


def strength_of(text: str) -> Strength | None:
    """How sure it is that a process dies of this line; None: it is no incident by itself."""
    for strength, literal, pattern in _COMPILED:
        if literal in text and pattern.match(text):
            return strength
    return None


def without_advice(message: str) -> str:
    """An exception's message up to the advice that is printed with it: advice names what did not happen."""
    advice = _ADVICE.search(message)
    return message if advice is None else message[: advice.start()]


_COMPILED: Final = tuple((strength, literal, re.compile(pattern)) for strength, literal, pattern in INCIDENTS)
