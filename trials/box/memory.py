"""The arithmetic of one card's memory, from which every memory failure of the box follows."""

from __future__ import annotations

from dataclasses import dataclass

from trials.box.description import BoxDescription
from trials.box.server_args import ServerArgs, captured_sizes, running_requests

_KIB_PER_GIB = 1 << 20
_MIB_PER_GIB = 1 << 10
_SMALLEST_REST_GIB = 0.05


@dataclass(frozen=True)
class CardMemory:
    """One card through a boot, GiB.

    Attributes:
        before: Free before any weight is loaded (SGLang's ``pre_model_load_memory``).
        kv: KV pool of target and draft; not above 0 when the fraction is too low.
        kv_tokens: Tokens of one attention group's pool.
        running: Requests at once in one attention group.
        sizes: Batch sizes to be captured, empty without graphs.
        graphs: Graphs of the target (decode or verify), ``draft_graphs`` those of the draft model.
        activation_per_token: Working memory of one prefill token.
    """

    before: float
    weights: float
    draft: float
    kv: float
    kv_tokens: int
    running: int
    pool: float
    sizes: tuple[int, ...]
    graphs: float
    draft_graphs: float
    activation_per_token: float

    @property
    def after_weights(self) -> float:
        return self.before - self.weights - self.draft

    @property
    def after_pool(self) -> float:
        return self.after_weights - max(self.kv, 0.0) - self.pool

    @property
    def after_graphs(self) -> float:
        return self.after_pool - self.graphs - self.draft_graphs

    @property
    def smallest_fraction(self) -> float:
        """SGLang's ``1 - available/pre``: below it nothing is left for the KV cache."""
        return 1 - self.after_weights / self.before

    @property
    def weights_fit(self) -> bool:
        return self.after_weights > 0

    @property
    def pool_fits(self) -> bool:
        return self.after_pool > _SMALLEST_REST_GIB

    @property
    def graphs_fit(self) -> bool:
        return self.after_graphs > _SMALLEST_REST_GIB

    def prefill_fits(self, tokens: int) -> bool:
        """Whether a prefill of so many tokens finds its working memory."""
        return tokens * self.activation_per_token <= self.after_graphs


def plan_memory(args: ServerArgs, box: BoxDescription, free_gib: float) -> CardMemory:
    """Lay out one card.

    Args:
        free_gib: Free on the card before this process touches it, GiB.
    """
    before = free_gib - box.cards.context_gib
    weights = (box.model.sharded_gib + box.model.attention_gib * args.adp) / args.tp
    draft = box.model.draft_gib if _loads_draft(args, box) else 0.0
    kv = before * args.fraction - weights - draft
    kv_tokens = _kv_tokens(args, box, kv)
    running = running_requests(args, max(kv_tokens, 0))
    sizes = tuple(captured_sizes(args, max(running, 1))) if args.graphs else ()
    graphs = _graph_gib(args, box, sizes)
    return CardMemory(
        before=before,
        weights=weights,
        draft=draft,
        kv=min(kv, max(kv_tokens, 0) * _token_gib(args, box)),
        kv_tokens=kv_tokens,
        running=running,
        pool=box.memory.pool_gib + _workspace_gib(args, box),
        sizes=sizes,
        graphs=graphs,
        draft_graphs=graphs * box.memory.draft_graph_share if draft else 0.0,
        activation_per_token=box.memory.activation_mib_per_token / _MIB_PER_GIB,
    )


def _loads_draft(args: ServerArgs, box: BoxDescription) -> bool:
    return args.speculation is not None and args.speculation.uses_draft_model


def _token_gib(args: ServerArgs, box: BoxDescription) -> float:
    kib = box.model.kv_kib_per_token
    if _loads_draft(args, box):
        kib += box.model.draft_kv_kib_per_token
    if box.model.kv_divides:
        kib /= args.attention_tp
    if "fp8" in str(args.table.get("kv_cache_dtype")):
        kib /= 2
    return kib / _KIB_PER_GIB


def _kv_tokens(args: ServerArgs, box: BoxDescription, kv_gib: float) -> int:
    tokens = int(kv_gib / _token_gib(args, box))
    given = args.table.get("max_total_tokens")
    return min(tokens, given) if given is not None else tokens


def _workspace_gib(args: ServerArgs, box: BoxDescription) -> float:
    workspaces = box.memory.workspaces_gib
    return workspaces.get(args.all_reduce, 0.0) + workspaces.get(args.moe_a2a_backend, 0.0)


def _graph_gib(args: ServerArgs, box: BoxDescription, sizes: tuple[int, ...]) -> float:
    if not sizes:
        return 0.0
    rows = sizes[-1] * args.rows_per_request * args.adp
    mib = len(sizes) * box.memory.graph_mib_per_size + rows * box.memory.graph_mib_per_row
    return box.memory.graph_gib + mib / _MIB_PER_GIB
