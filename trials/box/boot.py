"""One scheduler's boot, stage by stage, with SGLang's lines and the places where it dies."""

from __future__ import annotations

import os
import time
from dataclasses import replace

from trials.box import words
from trials.box.captures import capture_begin, capture_end, capture_plan
from trials.box.console import Console
from trials.box.description import BoxDescription, Refusal
from trials.box.device_files import DeviceFiles
from trials.box.memory import CardMemory, plan_memory
from trials.box.mischief import SchedulerDiedError, strike_at_stage
from trials.box.release import release
from trials.box.server_args import ServerArgs, pcie_ipc_wanted
from trials.box.setting_up import Setup
from trials.box.tree import Rank

_MIB_PER_GIB = 1024
_BALANCED_SHARE = 0.9
_OTHERS_DIE_FIRST_S = 1.0


class SchedulerBoot:
    """Boots one rank; ``run`` returns its memory, or raises ``SchedulerDiedError``."""

    def __init__(self, setup: Setup, rank: Rank, console: Console) -> None:
        self._setup = setup
        self._args: ServerArgs = setup.args
        self._box: BoxDescription = setup.box
        self._devices: DeviceFiles = setup.devices
        self._rank = rank
        self._console = console
        self._version = release(setup.box.sglang_version)
        self._says_parallel = self._version >= (0, 5, 20)
        self.seconds: dict[str, float] = {}

    def run(self) -> CardMemory:
        """Go through all stages.

        Raises:
            SchedulerDiedError: Where the real server would die.
        """
        self._pause(self._box.boot.start)
        self._meet("start")
        self._console.raw(words.NOISE_AT_START)
        self._init_distributed()
        memory = self._plan()
        self._load_weights(memory)
        self._allocate_pool(memory)
        self._capture_graphs(memory)
        self._report_limits(memory)
        return memory

    def _plan(self) -> CardMemory:
        """This card, with the KV pool that the replica's fullest card can hold: all ranks agree on it."""
        free = self._free_of_replica()
        mine = plan_memory(self._args, self._box, free[self._rank.tp])
        least = plan_memory(self._args, self._box, min(free))
        if not least.weights_fit:
            return mine
        return replace(least, before=mine.before)

    def _free_of_replica(self) -> list[float]:
        first = self._rank.number - self._rank.tp
        return self._setup.free_gib[first : first + self._args.tp]

    def _init_distributed(self) -> None:
        label = "Init parallel" if self._says_parallel else "Init torch distributed"
        self._console.log(f"{label} begin.")
        if self._rank.number >= self._box.cards.count:
            raise SchedulerDiedError("init_distributed", words.NO_SUCH_DEVICE)
        seconds = self._pause(self._box.boot.init_distributed)
        self._meet("init_distributed")
        self._check_balance()
        self._announce_all_reduce()
        self._hold(self._box.cards.context_gib)
        if self._says_parallel:
            self._console.log(f"{label} ends. elapsed={seconds:.2f} s")
            self._console.log("Memory baseline taken. mem usage=0.00 GB")
        else:
            self._console.log(f"{label} ends. mem usage={self._box.cards.context_gib:.2f} GB")
        for line in words.IGNORED_IMPORTS:
            self._console.log(line)

    def _check_balance(self) -> None:
        """SGLang refuses cards of which one has much less free memory than this one."""
        if os.environ.get("SGLANG_ENABLE_TP_MEMORY_INBALANCE_CHECK", "1").lower() in ("0", "false"):
            return
        replica = [gib - self._box.cards.context_gib for gib in self._free_of_replica()]
        mine, least = replica[self._rank.tp], min(replica)
        if least < mine * _BALANCED_SHARE:
            raise SchedulerDiedError("init_distributed", words.unbalanced(least, mine, _BALANCED_SHARE))
        if least < max(replica) * _BALANCED_SHARE:
            time.sleep(_OTHERS_DIE_FIRST_S)

    def _announce_all_reduce(self) -> None:
        asked_off = self._args.table.get("disable_custom_all_reduce")
        possible = self._box.cards.nvlink or self._box.custom_all_reduce_forced or self._args.tp <= 2
        if not asked_off and not possible:
            self._console.log(words.CUSTOM_DISABLED)
        if self._args.all_reduce == "pcie_ipc":
            self._console.log(
                f"FlashInfer PCIe-IPC all-reduce enabled (world={self._args.tp}, "
                "workspace sized on first reduction)"
            )
        elif pcie_ipc_wanted() and self._box.pcie_ipc_fails:
            self._console.log(f"Setup FlashInfer PCIe-IPC allreduce failed with {self._box.pcie_ipc_fails}.")

    def _load_weights(self, memory: CardMemory) -> None:
        self._console.log(f"Load weight begin. avail mem={memory.before:.2f} GB")
        self._meet("load_weights")
        self._check_heads()
        if not memory.weights_fit:
            self._pause(self._box.boot.load_weights / 2)
            raise self._out_of_memory("load_weights", 0.4, 0.9)
        seconds = self._pause(self._box.boot.load_weights)
        left = memory.before - memory.weights
        self._hold(self._box.cards.context_gib + memory.weights)
        self._weights_loaded(seconds, self._box.model.architecture, left, memory.weights)
        if memory.draft:
            self._console.log(f"Load weight begin. avail mem={left:.2f} GB")
            self._check_draft_exists()
            seconds += (draft_seconds := self._pause(self._box.boot.load_draft))
            self._hold(self._box.cards.context_gib + memory.weights + memory.draft)
            self._weights_loaded(
                draft_seconds, self._box.model.draft_architecture, memory.after_weights, memory.draft
            )
        self.seconds["load_weight"] = seconds

    def _check_heads(self) -> None:
        heads, parts = self._box.model.attention_heads, self._args.attention_tp
        if heads % parts:
            raise SchedulerDiedError("load_weights", f"AssertionError: {heads} is not divisible by {parts}")

    def _weights_loaded(self, seconds: float, architecture: str, left: float, used: float) -> None:
        self._console.log(
            f"Load weight end. elapsed={seconds:.2f} s, type={architecture}, avail mem={left:.2f} GB, "
            f"mem usage={used:.2f} GB."
        )

    def _check_draft_exists(self) -> None:
        if not self._args.table.get("speculative_draft_model_path"):
            raise SchedulerDiedError(
                "load_weights",
                f"AttributeError: '{self._box.model.architecture}' object has no attribute 'hot_token_id'",
            )

    def _allocate_pool(self, memory: CardMemory) -> None:
        self._meet("kv_pool")
        if memory.kv < 0:
            old = words.old_no_room_for_kv(self._args.fraction)
            error = (
                words.no_room_for_kv(self._args.fraction, memory)
                if self._version >= words.DRAFTS_COUNTED_SINCE
                else old
            )
            raise SchedulerDiedError("kv_pool", error)
        if memory.kv_tokens <= 0:
            raise SchedulerDiedError("kv_pool", words.NO_TOKENS)
        self.seconds["kv_cache_allocation"] = self._pause(self._box.boot.kv_pool)
        if not memory.pool_fits:
            wanted = memory.pool if memory.kv < memory.after_weights else memory.kv
            raise self._out_of_memory("kv_pool", memory.after_pool + memory.pool, wanted)
        self._warn_of_small_pool(memory)
        dtype = (
            "torch.float8_e4m3fn"
            if "fp8" in str(self._args.table.get("kv_cache_dtype"))
            else "torch.bfloat16"
        )
        half = memory.kv / 2
        sizes = (
            f"K size: {half:.2f} GB, V size: {half:.2f} GB"
            if self._box.model.kv_divides
            else f"KV size: {memory.kv:.2f} GB"
        )
        self._console.log(f"KV Cache is allocated. dtype: {dtype}, #tokens: {memory.kv_tokens}, {sizes}")
        self._hold(self._box.cards.context_gib + memory.before - memory.after_pool)
        self._console.log(f"Memory pool end. avail mem={memory.after_pool:.2f} GB")

    def _warn_of_small_pool(self, memory: CardMemory) -> None:
        asked = self._args.max_running
        per_group = -(-asked // self._args.adp) if asked else 0
        if memory.running < per_group:
            self._console.log(
                f"max_running_requests was reduced from the requested {per_group} to {memory.running} "
                "(per dp worker) due to the available KV cache capacity."
            )
        if memory.running <= 0:
            raise SchedulerDiedError("kv_pool", "AssertionError: max_running_request is zero")
        if memory.kv_tokens < self._args.context_length and self._rank.leads:
            self._console.log(words.small_pool(memory.kv_tokens, self._args.context_length))

    def _capture_graphs(self, memory: CardMemory) -> None:
        left = memory.after_pool
        captures = capture_plan(self._args, memory)
        if not captures:
            self._begin_capturing()
        for place, (name, rows, gib) in enumerate(captures):
            self._console.log(capture_begin(self._version, name, rows, left))
            if place == 0:
                self._begin_capturing()
            seconds = self._pause(self._box.boot.graph_per_size * len(memory.sizes))
            if not memory.graphs_fit and (left < gib or name == "draft extend"):
                raise self._capture_out_of_memory(left, gib)
            left -= gib
            self._hold(self._box.cards.context_gib + memory.before - left)
            self._console.log(capture_end(self._version, name, memory.sizes, seconds, gib, left))
            self.seconds[name] = seconds
        if not memory.sizes:
            self._console.log(
                "Disable decode CUDA graph because cuda_graph_config resolved decode.backend='disabled'."
            )

    def _begin_capturing(self) -> None:
        self._meet("graph_capture")
        self._check_tree()

    def _check_tree(self) -> None:
        speculation = self._args.speculation
        if speculation is None or not speculation.uses_draft_model:
            return
        candidates = speculation.topk + (speculation.steps - 1) * speculation.topk**2
        if speculation.draft_tokens - 1 > candidates:
            raise SchedulerDiedError("graph_capture", "RuntimeError: selected index k out of range")

    def _capture_out_of_memory(self, left: float, wanted: float) -> SchedulerDiedError:
        sentence = words.out_of_memory(
            self._rank.number, self._box.cards.memory_gib, min(left, 0.3), max(wanted / 8, 0.4)
        )
        return SchedulerDiedError(
            "graph_capture", f"Exception: Capture cuda graph failed: {sentence}\n{words.CAPTURE_FAILED}"
        )

    def _out_of_memory(self, stage: str, left: float, wanted: float) -> SchedulerDiedError:
        sentence = words.out_of_memory(self._rank.number, self._box.cards.memory_gib, left, wanted)
        return SchedulerDiedError(stage, f"torch.OutOfMemoryError: {sentence}")

    def _report_limits(self, memory: CardMemory) -> None:
        if not self._rank.leads:
            return
        self._console.log(
            f"max_total_num_tokens={memory.kv_tokens}, chunked_prefill_size={self._args.chunked_prefill}, "
            f"max_prefill_tokens=16384, max_running_requests={memory.running}, "
            f"context_len={self._args.context_length}, available_gpu_mem={memory.after_graphs:.2f} GB"
        )

    def _meet(self, stage: str) -> None:
        """Whatever waits at this stage: a fault of this boot, or a thing that this machine cannot do."""
        strike_at_stage(self._setup, self._rank, self._console, stage)
        for refusal in self._box.refusals:
            if refusal.stage == stage and self._is_met(refusal):
                self._refuse(refusal)

    def _is_met(self, refusal: Refusal) -> bool:
        conditions = self._args.conditions()
        if refusal.unless_equal:
            left, right = refusal.unless_equal
            if conditions[left] == conditions[right]:
                return False
        return all(conditions.get(name) == value for name, value in refusal.when.items())

    def _refuse(self, refusal: Refusal) -> None:
        if refusal.others_run_out and self._rank.number != 0:
            self._setup.first_death.wait()
            raise self._out_of_memory(refusal.stage, 0.1, 0.66)
        raise SchedulerDiedError(refusal.stage, refusal.error, refusal.frames, refusal.others_run_out)

    def _hold(self, gib: float) -> None:
        self._devices.hold(
            {self._rank.number: round(gib * _MIB_PER_GIB)},
            f"sglang::scheduler{self._rank.tag.replace(' ', '_')}",
            self._setup.linger_s,
        )

    def _pause(self, seconds: float) -> float:
        """Let a stage take its time; the seconds that it would take on the real machine."""
        seconds *= self._setup.rng.uniform(0.97, 1.03)
        time.sleep(seconds * self._setup.time_scale)
        return seconds
