"""Rules about the plain numbers, and remarks on numbers that work and waste something."""

from __future__ import annotations

from trials.rules.rule import Combination, Rule


def _fraction(combination: Combination) -> str | None:
    fraction = combination.number("mem_fraction_static")
    if fraction is None or 0 < fraction < 1:
        return None
    return f"mem_fraction_static {fraction:g} is no share of the memory; write one between 0 and 1"


def _at_least_one(combination: Combination) -> str | None:
    for setting in ("cuda_graph_max_bs", "max_running_requests"):
        number = combination.number(setting)
        if number is not None and number < 1:
            return f"{setting} {number:g} is below 1"
    return None


def _whole_pages(combination: Combination) -> str | None:
    chunk, page, layout = (
        combination.number("chunked_prefill_size"),
        combination.flag("page-size"),
        combination.layout,
    )
    if chunk is None or chunk <= 0 or not isinstance(page, int) or page < 1:
        return None
    per_group = int(chunk) // (layout.adp if layout else 1)
    if per_group % page == 0:
        return None
    return (
        f"chunked_prefill_size {chunk:g} makes chunks of {per_group} tokens, no multiple of page size {page}"
    )


def _graphs_never_captured(combination: Combination) -> str | None:
    graphs, requests = _per_group(combination)
    if graphs is None or requests is None or graphs <= requests:
        return None
    return f"cuda_graph_max_bs {graphs:g}: batches above {requests:g} requests never run, so none is captured"


def _batches_without_graph(combination: Combination) -> str | None:
    graphs, requests = _per_group(combination)
    if graphs is None or requests is None or graphs >= requests:
        return None
    return f"cuda_graph_max_bs {graphs:g}: batches of up to {requests:g} requests run without a graph, slowly"


def _per_group(combination: Combination) -> tuple[float | None, float | None]:
    """Graph size and running requests as one attention group sees them."""
    layout, requests = combination.layout, combination.number("max_running_requests")
    groups = layout.adp if layout else 1
    return combination.number("cuda_graph_max_bs"), None if requests is None else requests // groups


SIZE_RULES = (
    Rule("fraction", "0.5.23 accepts 5.0 and dies when the pool is made", _fraction),
    Rule("at least one", "no batch, no request", _at_least_one),
    Rule("whole pages", "0.5.23 asserts chunked_prefill_size % page_size == 0", _whole_pages),
)
SIZE_REMARKS = (
    Rule(
        "graphs never captured",
        "0.5.23 captures up to the number of running requests",
        _graphs_never_captured,
    ),
    Rule(
        "batches without a graph",
        "a batch above the captured sizes runs step by step",
        _batches_without_graph,
    ),
)
