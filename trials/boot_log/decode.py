"""The fields of a "Decode batch" line, whatever the release prints and in whatever order."""

from __future__ import annotations

from trials.boot_log.events import DecodeBatch


def parse_decode_batch(text: str, rank: str = "") -> DecodeBatch | None:
    """Read ``#running-req: 1, #token: 40, token usage: 0.00, ...``.

    Hybrid models count "full" tokens, and every release adds fields: unknown ones are skipped.
    """
    fields = dict(_fields(text))
    running = _number(fields.get("#running-req"))
    if running is None:
        return None
    tokens = _number(fields.get("#token", fields.get("#full token")))
    queued = _number(fields.get("#queue-req"))
    graph = next((value for name, value in fields.items() if name.endswith(" graph")), None)
    return DecodeBatch(
        running=int(running),
        tokens=None if tokens is None else int(tokens),
        token_usage=_number(fields.get("token usage", fields.get("full token usage"))),
        accept_len=_number(fields.get("accept len")),
        accept_rate=_number(fields.get("accept rate")),
        cuda_graph=None if graph is None else graph == "True",
        tok_s=_number(fields.get("gen throughput (token/s)")),
        queued=None if queued is None else int(queued),
        rank=rank,
    )


def _fields(text: str) -> list[tuple[str, str]]:
    pairs = (field.partition(":") for field in text.split(", "))
    return [(name.strip(), value.strip().rstrip(",")) for name, _, value in pairs]


def _number(text: str | None) -> float | None:
    try:
        return None if text is None else float(text)
    except ValueError:
        return None
