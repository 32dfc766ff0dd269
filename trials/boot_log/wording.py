"""SGLang's wording, release by release: the one table of log lines that the boot log understands.

Every pattern is matched at the start of a line whose prefix is gone. Named groups are read by
``trials.boot_log.reader`` under the same names. Checked against the source of 0.5.23 and real logs of it;
the older wordings (0.4.6 to 0.5.22) from public logs and documents.
"""

from __future__ import annotations

import re
from typing import Final

from trials.outcome import Stage

LINES: Final[tuple[tuple[str, str], ...]] = (
    # 0.4.6 to about 0.5.10 "Decode batch.", later "Decode batch,"
    ("decode_batch", r"Decode batch(?: \[\d+\])?[.,] (?P<fields>.*)"),
    ("server_args", r"server_args=(?P<args>.*)"),
    ("init_begin", r"Init (?:torch distributed|parallel) begin"),
    ("weights_begin", r"Load weight begin\. avail mem=(?P<avail>[\d.]+) GB"),
    (
        "weights_end",
        r"Load weight end\.(?: elapsed=(?P<seconds>[\d.]+) s,)? type=(?P<type>\w+), .*?"
        r"avail mem=(?P<avail>[\d.]+) GB(?:, mem usage=(?P<used>-?[\d.]+) GB)?",
    ),
    (
        "kv_pool",
        r"(?:[\w-]+ )?KV Cache is allocated\. (?:dtype: [\w.]+, )?(?:#tokens: (?P<tokens>\d+), )?"
        r"(?:K size: (?P<k>[\d.]+) GB, V size: (?P<v>[\d.]+) GB|KV size: (?P<kv>[\d.]+) GB)",
    ),
    (
        "kv_pool",  # 0.5.23, pools sized after the capture
        r"Post-capture KV sizing: KV cache allocated\. dtype: [\w.]+, #tokens: (?P<tokens>\d+), "
        r"KV size: (?P<kv>[\d.]+) GB",
    ),
    (
        "state_pool",
        r"Mamba Cache is allocated\. .*?conv_state size: (?P<conv>[\d.]+) ?GB, "
        r"ssm_state size: (?P<ssm>[\d.]+) ?GB",
    ),
    ("pool_end", r"Memory pool end\. avail mem=(?P<left>[\d.]+) GB"),
    (
        "capture_begin",
        r"Capture (?P<name>[\w ]*?)(?: ?(?:CUDA|cuda|CPU|cpu|HIP|NPU|XPU))? ?graph begin\b"
        r"(?:.*?avail mem=(?P<avail>[\d.]+) GB)?",
    ),
    (
        "capture_end",
        r"Capture (?P<name>[\w ]*?)(?: ?(?:CUDA|cuda|CPU|cpu|HIP|NPU|XPU))? ?graph end\. ?"
        r"(?:bs=\[(?P<sizes>[\d, ]*)\], )?(?:(?:Time elapsed: |elapsed=)(?P<took>[\d.]+) s)?(?P<rest>.*)",
    ),
    ("capture_sizes", r"Capture (?:cuda graph )?bs \[(?P<bs>[\d, ]+)\]"),
    (
        "totals",
        r"max_total_num_tokens=(?P<total>\d+), .*?"
        r"(?:available_(?:gpu|cpu)_mem=(?P<free>[\d.]+) GB|context_len=\d+$|$)",
    ),
    ("timings", r"Engine startup timings \(s\): (?P<timings>.*)"),
    ("uvicorn", r"(?:INFO: +)?Uvicorn running on \w+://(?P<host>[^\s/]+):(?P<port>\d+)"),
    ("ready", r"The server is fired up and ready to roll!"),
    (
        "retraction",
        r"(?:KV cache pool is full\. Retract requests\.|Decode out of memory happened\.)"
        r" #retracted_reqs: (?P<retracted>\d+)",
    ),
    ("port_taken", r"(?:ERROR: +)?\[Errno 98\] .*address already in use"),
)

STAGE_OF: Final[dict[str, Stage]] = {
    "server_args": Stage.START,
    "init_begin": Stage.INIT_DISTRIBUTED,
    "weights_begin": Stage.LOAD_WEIGHTS,
    "weights_end": Stage.KV_POOL,
    "kv_pool": Stage.KV_POOL,
    "capture_begin": Stage.GRAPH_CAPTURE,
    "totals": Stage.WARM_UP,
    "uvicorn": Stage.WARM_UP,
    "ready": Stage.READY,
}
"""The stage that begins with a line. After "Load weight end" the next thing that can fail is the pool."""

NOTICES: Final[tuple[str, ...]] = (
    r"was reduced from the requested",
    r"(?:is|are|was) (?:now )?(?:disabled|adjusted|reduced|overridden|ignored|changed|set to|reset to)",
    r"[Dd]isabl(?:e|ing) .{0,80}(?:because|by default|permanently|due to)",
    r"[Ff]all(?:ing|s)? ?back",
    r"[Oo]verriding ",
    r"Setting (?:max_running_requests|mem_fraction_static|page size|chunked_prefill_size) to",
    r"allreduce failed",
    r"PCIe-IPC .*(?:skipped|failed|stay on NCCL)",
    r"leaving PCIe-IPC all-reduce off",
    r"[Ss]kipping allreduce fusion",
    r"communicator is not available",
    r"(?:is|are) not (?:supported|available|implemented)",
    r"KV pool holds \d+ tokens, fewer than --context-length",
    r"memory capacity is unbalanced",
    r"\bdeprecated\b",
    r"[Pp]erformance might be sub-optimal",
)
"""Warnings that change what the settings mean, or cost speed. Searched in lines of SGLang's own logger."""

NOT_NOTICES: Final[tuple[str, ...]] = (
    r"Ignore import error when loading",
    r"fallback token IDs",
    r"UserWarning|FutureWarning|DeprecationWarning",
    r"'python -m sglang\.launch_server' is still supported",
)

_PATTERNS: Final = tuple((name, re.compile(pattern)) for name, pattern in LINES)
_ANY: Final = re.compile("|".join(f"({re.sub(r'[(][?]P<[^>]+>', '(?:', pattern)})" for _, pattern in LINES))
NOTICE: Final = re.compile("|".join(NOTICES))
NOT_NOTICE: Final = re.compile("|".join(NOT_NOTICES))

CAPTURE_USED: Final = re.compile(r"mem usage=(?P<used>-?[\d.]+) GB")
CAPTURE_LEFT: Final = re.compile(r"avail mem=(?P<left>[\d.]+) GB")

FATAL: Final = re.compile(
    r"(?:\w+ hit an exception: "
    r"|Initialization failed\. warmup error"
    r"|Subprocess \S+ \(pid=\d+\) crashed with exit code"
    r"|Received sigquit from a child proces"
    r"|SIGQUIT received\."
    r"|Fatal Python error: "
    r"|RuntimeError: Rank \d+ scheduler died"
    r"|terminate called "
    r"|SIG(?:TERM|INT) received"
    r"|INFO: +Shutting down$"
    r"|(?:[\w./-]+(?: \w+)?): error: "
    r"(?:unrecognized arguments|argument |ambiguous option|the following arguments)"
    r"|\w[\w ]{0,60} watchdog timeout \(self\.watchdog_timeout=(?![^)]*self\.soft=True))"
)
"""Lines after which the server is lost, or told to stop; the start of the line.

Judging the cause is ``trials.failures``. In a boot a request to stop is the end: SIGTERM between "Uvicorn
running" and the ready line leaves 0.5.23 alive for ever.
"""


STOPS_SERVER: Final = "# autotune stops this server"
"""Our own line in a log: what follows is the sound of a server that is being ended."""

HEALTH_ECHOES: Final = ('"GET /health ', "Health check failed. Server couldn't get a response")
"""What a server says because it was asked for its health, which is no sign that it gets on."""


def is_health_echo(line: str) -> bool:
    return any(words in line for words in HEALTH_ECHOES)


def recognise(text: str) -> tuple[str, dict[str, str | None]] | None:
    """The name of the line in ``LINES`` and its named groups, or None for any other line."""
    match = _ANY.match(text)
    if match is None or match.lastindex is None:
        return None
    name, pattern = _PATTERNS[match.lastindex - 1]
    details = pattern.match(text)
    return None if details is None else (name, details.groupdict())
