"""A level's waves as a Measurement, with the sentences that a reader of the number needs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from trials.boot_log.events import Event
from trials.load import StreamRecord
from trials.outcome import Measurement, StoppedBy
from trials.throughput.acceptance import acceptance
from trials.throughput.decode_log import log_facts
from trials.throughput.latency import end_to_end_ms, first_token_ms, inter_token_ms, per_token_ms
from trials.throughput.series import Steady
from trials.throughput.window import is_short

NO_WINDOW = (
    "no steady window at {streams}: answers ended before every stream had decoded a few steps; "
    "raise bench.output_tokens"
)
TOO_SLOW = (
    "too slow at {streams}: {seconds:g} s passed before every stream had decoded a few steps; "
    "raise bench.max_seconds_per_level if such a load is meant"
)
DRIPS = "the server drips: {pace:.2f} tok/s a stream at {streams}"
LONG_WARM_UP = 0.25
"""A warm-up is worth a sentence from this share of the time on."""


def level_report(
    level: int, steady: Steady, events: Iterable[Event], stopped_by: StoppedBy, notes: Sequence[str]
) -> Measurement:
    streams = [stream for wave in steady.waves for stream in wave.streams]
    whole = [stream for stream in streams if stream.complete]
    log = log_facts(events)
    accept_length, accept_rate = acceptance(streams, log)
    return Measurement(
        level=level,
        running=steady.running,
        capped=steady.running < level,
        decode_tok_s=steady.rate.mean,
        decode_tok_s_ci95=steady.rate.ci95,
        per_stream_tok_s=steady.rate.mean / steady.running,
        ttft_ms=first_token_ms(steady.waves),
        itl_ms=inter_token_ms(steady.waves),
        tpot_ms=per_token_ms(steady.waves),
        e2e_ms=end_to_end_ms(steady.waves),
        accept_length=accept_length,
        accept_rate=accept_rate,
        no_graph_share=log.no_graph_share,
        retractions=log.retractions,
        kv_use=log.kv_use,
        requests=len(whole),
        output_tokens=sum(stream.tokens for stream in streams),
        seconds=steady.seconds,
        stopped_by=stopped_by,
        notes=(*notes, *_sentences(level, steady, streams, log.retractions or 0)),
    )


def _sentences(
    level: int, steady: Steady, streams: Sequence[StreamRecord], retractions: int
) -> Iterator[str]:
    short = [stream for stream in streams if is_short(stream)]
    if short:
        tokens = sorted(stream.tokens for stream in short)
        yield (
            f"{len(short)} of {len(streams)} answers were cut short by the server "
            f"({tokens[0]} to {tokens[-1]} of {short[0].asked} tokens)"
        )
    if steady.running < level:
        yield f"the server decoded {steady.running} of {level} streams at once"
    if retractions:
        yield f"the KV pool was full: {retractions} running requests were sent back to the queue"
    if steady.drifting:
        yield "throughput was still drifting when measuring ended"
    elif steady.dropped_s > LONG_WARM_UP * (steady.dropped_s + steady.seconds):
        yield f"the first {steady.dropped_s:.1f} s were warm-up and are not counted"
