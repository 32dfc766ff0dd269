"""Rules about how GPUs, heads and experts are divided."""

from __future__ import annotations

from trials.rules.rule import Combination, Rule
from trials.settings import Layout


def _no_layout(combination: Combination) -> str | None:
    try:
        Layout.parse(str(combination.settings.get("layout", "tp1")))
    except ValueError as error:
        return str(error)
    return None


def _too_many_gpus(combination: Combination) -> str | None:
    layout, there = combination.layout, combination.gpu_count
    if layout is None or there is None or layout.gpus <= there:
        return None
    return f"layout {layout} needs {layout.gpus} GPUs (tp x dp), there are {there}"


def _uneven_experts_over_gpus(combination: Combination) -> str | None:
    layout = combination.layout
    if layout is None or layout.tp % layout.ep == 0:
        return None
    return f"layout {layout}: ep {layout.ep} does not divide tp {layout.tp}"


def _uneven_groups(combination: Combination) -> str | None:
    layout = combination.layout
    if layout is None or layout.tp % layout.adp == 0:
        return None
    return f"layout {layout}: adp {layout.adp} does not divide tp {layout.tp}"


def _attention_tp(layout: Layout) -> int:
    return max(1, layout.tp // layout.adp)


def _uneven_heads(combination: Combination) -> str | None:
    layout, heads = combination.layout, combination.model.heads
    if layout is None or heads is None or heads % _attention_tp(layout) == 0:
        return None
    return f"layout {layout}: {heads} attention heads cannot be divided by {_attention_tp(layout)} GPUs"


def _uneven_kv_heads(combination: Combination) -> str | None:
    layout, heads = combination.layout, combination.model.kv_heads
    if layout is None or heads is None:
        return None
    parts = _attention_tp(layout)
    if heads % parts == 0 or parts % heads == 0:
        return None
    return f"layout {layout}: {heads} key/value heads can be neither divided nor repeated over {parts} GPUs"


def _no_experts(combination: Combination) -> str | None:
    layout, model = combination.layout, combination.model
    if layout is None or layout.ep == 1 or model.heads is None or model.experts is not None:
        return None
    return f"layout {layout}: the model has no experts to divide"


def _uneven_experts(combination: Combination) -> str | None:
    layout, experts = combination.layout, combination.model.experts
    if layout is None or experts is None:
        return None
    redundant = combination.flag("ep-num-redundant-experts")
    total = experts + (redundant if isinstance(redundant, int) else 0)
    if total % combination.expert_groups == 0:
        return None
    return f"layout {layout}: {total} experts cannot be divided by {combination.expert_groups} (ep)"


def _uneven_expert_width(combination: Combination) -> str | None:
    layout, model = combination.layout, combination.model
    if layout is None or model.experts is None or model.expert_width is None or layout.tp % layout.ep:
        return None
    parts = layout.tp // combination.expert_groups
    if model.expert_width % parts:
        return f"layout {layout}: experts of width {model.expert_width} cannot be cut into {parts} (tp / ep)"
    if model.block is None or parts == 1 or (model.expert_width // parts) % model.block == 0:
        return None
    return (
        f"layout {layout}: experts of width {model.expert_width} cut into {parts} (tp / ep) "
        f"would cut the quantised blocks of {model.block}; use more ep or less tp"
    )


def _uneven_width(combination: Combination) -> str | None:
    layout, width = combination.layout, combination.model.width
    if layout is None or width is None or combination.model.experts is not None or width % layout.tp == 0:
        return None
    return f"layout {layout}: layers of width {width} cannot be cut into {layout.tp}"


def _fewer_requests_than_groups(combination: Combination) -> str | None:
    layout, requests = combination.layout, combination.number("max_running_requests")
    if layout is None or requests is None or requests >= layout.adp:
        return None
    return f"max_running_requests {requests:g} leaves nothing for some of the {layout.adp} attention groups"


LAYOUT_RULES = (
    Rule("layout", "the form of the setting; adp and dp together are refused by 0.5.23", _no_layout),
    Rule("gpus", "a server occupies tp x dp cards", _too_many_gpus),
    Rule(
        "ep divides tp",
        "tp = ep x (tensor parallel part of an expert); refused by 0.5.23 as an inconsistent topology",
        _uneven_experts_over_gpus,
    ),
    Rule("adp divides tp", "asserted by 0.5.9 to 0.5.23 in the handling of data parallelism", _uneven_groups),
    Rule("heads", "every attention implementation asserts heads % attention tp == 0", _uneven_heads),
    Rule(
        "kv heads",
        "key/value heads are divided, or each one repeated a whole number of times",
        _uneven_kv_heads,
    ),
    Rule("no experts", "expert parallelism of a dense model divides nothing: the same server", _no_experts),
    Rule("experts", "the fused expert layer asserts routed experts % ep == 0", _uneven_experts),
    Rule(
        "expert width",
        "an expert's matrices are cut into tp / ep parts; quantised blocks stay whole",
        _uneven_expert_width,
    ),
    Rule("width", "a dense model's layers are cut into tp parts", _uneven_width),
    Rule(
        "requests per group",
        "max_running_requests is divided by the attention groups",
        _fewer_requests_than_groups,
    ),
)
