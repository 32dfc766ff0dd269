"""Whether a trial keeps the study's limits at one load level."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import ge, le

from trials.outcome import BootReport, Measurement
from trials.settings import Limits, SettingValue, is_speculative

_Number = float | None
_BOUNDS: dict[str, tuple[Callable[[float, float], bool], str, Callable[[Measurement], _Number]]] = {
    "max_ttft_p50_ms": (le, "ms to the first token (p50)", lambda m: m.ttft_ms.p50),
    "max_ttft_p95_ms": (le, "ms to the first token (p95)", lambda m: m.ttft_ms.p95),
    "max_itl_p95_ms": (le, "ms between tokens (p95)", lambda m: m.itl_ms.p95),
    "max_tpot_p95_ms": (le, "ms per token (p95)", lambda m: m.tpot_ms.p95),
    "min_accept_length": (ge, "tokens accepted per step", lambda m: m.accept_length),
    "min_per_stream_tok_s": (ge, "tok/s per stream", lambda m: m.per_stream_tok_s),
}


def broken_limits(
    limits: Limits, settings: Mapping[str, SettingValue], measured: Measurement, boot: BootReport | None
) -> tuple[str, ...]:
    """One phrase per limit that is not kept; a value that is not known does not keep its limit.

    The accept length is asked of speculative settings only.
    """
    broken = []
    if limits.min_kv_tokens is not None:
        tokens = boot.kv_tokens if boot is not None else None
        broken.append(_broken(ge, limits.min_kv_tokens, tokens, "KV tokens"))
    for name, (keeps, unit, read) in _BOUNDS.items():
        bound: _Number = getattr(limits, name)
        if bound is None or (name == "min_accept_length" and not is_speculative(settings)):
            continue
        broken.append(_broken(keeps, bound, read(measured), unit))
    return tuple(phrase for phrase in broken if phrase is not None)


def _broken(keeps: Callable[[float, float], bool], bound: float, value: _Number, unit: str) -> str | None:
    word = "at most" if keeps is le else "at least"
    if value is None:
        return f"{unit} unknown, the limit is {word} {_plain(bound)}"
    return None if keeps(value, bound) else f"{_plain(value)} {unit}, the limit is {word} {_plain(bound)}"


def _plain(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"
