"""Ways in which the real SGLang can live and die on a CPU, and the verdict that each must get.

Most are named like the logs under ``tests/trials/logs`` that they play again. Of those, ``fail_port_priv``
(``--port 99999``) cannot come to pass in a trial, which chooses the port itself.
"""

from __future__ import annotations

import signal
from collections.abc import Mapping
from dataclasses import dataclass, field

from tests.sglang_cpu.environment import SPECULATIVE_ATTENTION, flags
from tests.sglang_cpu.real_trials import CHILD, DETOKENIZER, LAUNCHER, PLAIN, SCHEDULER, Strike
from trials.outcome import Stage
from trials.settings import BenchPlan, Settings

FOUR_STREAMS = BenchPlan(levels=(4,), main_level=4, output_tokens=180, max_seconds_per_level=6)
LONG = BenchPlan(output_tokens=1500, max_seconds_per_level=90)
"""Time enough for a stall to be told from a slow answer."""
TWO_RANKS = {"SGLANG_CPU_OMP_THREADS_BIND": "0|1"}
AMX = flags(*PLAIN, *SPECULATIVE_ATTENTION, attention_backend=None)

KILLED = "environment {stage} environment"
"""Somebody killed it, and the kernel's counter says that it was not the kernel."""


@dataclass(frozen=True)
class Scenario:
    """One trial.

    Attributes:
        expected: ``completed``, or kind, stage and fault.
        changes: To the server's fixed flags; None leaves one out.
        port_held: By whom the port is taken already.
        ran: What the server must be seen to have used instead of what was asked.
        says: Words that a warning or the evidence must hold.
    """

    name: str
    expected: str
    settings: Settings = field(default_factory=dict)
    changes: Mapping[str, str | None] = field(default_factory=dict)
    args: tuple[str, ...] = PLAIN
    more_args: tuple[str, ...] = ()
    model: str = "tiny-llama"
    draft: str | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    bench: BenchPlan | None = None
    strike: Strike | None = None
    stage_timeouts_s: Mapping[str, float] = field(default_factory=dict)
    port_held: str | None = None
    ran: Settings = field(default_factory=dict)
    says: str = ""

    @property
    def fixed(self) -> tuple[str, ...]:
        return (*flags(*self.args, **self.changes), *self.more_args)


_FRACTION_FREE: Mapping[str, str | None] = {"mem_fraction_static": None, "max_total_tokens": None}

ARGUMENTS = (
    Scenario("fail_bad_choice", "invalid_settings arguments settings", changes={"moe_a2a_backend": "bogus"}),
    Scenario(
        "fail_cuda_graph_max_bs", "invalid_settings arguments settings", changes={"cuda_graph_max_bs": "16"}
    ),
    Scenario("fail_unknown_arg", "invalid_settings arguments settings", changes={"no_such_flag": "3"}),
    Scenario(
        "fail_ctx_too_long", "invalid_settings arguments settings", changes={"context_length": "999999"}
    ),
    Scenario(
        "fail_spec_bogus", "invalid_settings arguments settings", changes={"speculative_algorithm": "BOGUS"}
    ),
    Scenario(
        "fail_ep_tp1", "invalid_settings arguments settings", {"layout": "tp1-ep2"}, model="tiny-qwen3moe"
    ),
    Scenario(
        "fail_ep_gt_tp", "invalid_settings arguments settings", {"layout": "tp2-ep4"}, model="tiny-qwen3moe"
    ),
    Scenario("fail_model_missing", "model arguments environment", model="nope"),
    Scenario("fail_model_empty_dir", "model arguments environment", model="empty"),
    Scenario(
        "fail_no_device",
        "environment arguments environment",
        args=("--max-total-tokens", "8192"),
        env={"SGLANG_USE_CPU_ENGINE": "0"},
    ),
)

BOOT = (
    Scenario(
        "fail_memfrac_tiny",
        "kv_pool_too_small kv_pool settings",
        {"mem_fraction_static": 0.0001},
        _FRACTION_FREE,
    ),
    Scenario(
        "fail_memfrac_neg", "kv_pool_too_small kv_pool settings", {"mem_fraction_static": -1}, _FRACTION_FREE
    ),
    Scenario("fail_memfrac_5", "oom_kv_pool kv_pool settings", {"mem_fraction_static": 5.0}, _FRACTION_FREE),
    Scenario("fail_maxtokens_1", "kv_pool_too_small kv_pool settings", changes={"max_total_tokens": "1"}),
    Scenario(
        "prompts_beyond_the_pool",
        "kv_pool_too_small measure settings",
        changes={"max_total_tokens": "400"},
        bench=FOUR_STREAMS,
    ),
    Scenario("fail_maxtokens_neg", "invalid_settings kv_pool settings", changes={"max_total_tokens": "-5"}),
    Scenario(
        "fail_attn_fa3_cpu",
        "unsupported_kernel kv_pool settings",
        {"flag.attention-backend": "fa3"},
        {"attention_backend": None},
    ),
    Scenario(
        "fail_deepep_cpu",
        "environment load_weights environment",
        {"flag.moe-a2a-backend": "deepep"},
        model="tiny-qwen3moe",
    ),
    Scenario(
        "fail_device_cuda",
        "environment init_distributed environment",
        args=("--max-total-tokens", "8192", "--device", "cuda"),
    ),
    Scenario(
        "fail_eagle3_no_draft",
        "invalid_settings kv_pool settings",
        changes={"speculative_algorithm": "EAGLE3"},
    ),
    Scenario("fail_tp3_heads", "invalid_settings init_distributed settings", {"layout": "tp3"}),
    Scenario("fail_port_in_use", "environment warm_up environment", port_held="a mute listener"),
    Scenario("port_in_use_by_sglang", "environment warm_up environment", port_held="another SGLang"),
    Scenario(
        "moe_ep2", "unknown warm_up environment", {"layout": "tp2-ep2"}, model="tiny-qwen3moe", env=TWO_RANKS
    ),
    Scenario(
        "dp_attention",
        "invalid_settings warm_up settings",
        {"layout": "tp2-adp2"},
        model="tiny-qwen3moe",
        env=TWO_RANKS,
    ),
)

STRIKES = (
    Scenario(
        "kill_scheduler_boot_early",
        KILLED.format(stage="start"),
        strike=Strike(Stage.START, CHILD, signal.SIGKILL),
    ),
    Scenario(
        "kill_scheduler_boot",
        KILLED.format(stage="warm_up"),
        strike=Strike(Stage.WARM_UP, SCHEDULER, signal.SIGKILL),
    ),
    Scenario(
        "kill_scheduler_serving",
        KILLED.format(stage="measure"),
        bench=LONG,
        strike=Strike(Stage.MEASURE, SCHEDULER, signal.SIGKILL),
    ),
    Scenario(
        "kill_detok_serving",
        KILLED.format(stage="measure"),
        bench=LONG,
        strike=Strike(Stage.MEASURE, DETOKENIZER, signal.SIGKILL),
    ),
    Scenario(
        "kill_parent_sigkill_boot_early",
        KILLED.format(stage="start"),
        strike=Strike(Stage.START, LAUNCHER, signal.SIGKILL, once=CHILD),
    ),
    Scenario(
        "kill_parent_sigterm_boot_early",
        KILLED.format(stage="start"),
        strike=Strike(Stage.START, LAUNCHER, signal.SIGTERM, once=CHILD),
    ),
    Scenario(
        "kill_parent_sigterm_boot",
        KILLED.format(stage="warm_up"),
        strike=Strike(Stage.WARM_UP, LAUNCHER, signal.SIGTERM),
    ),
    Scenario(
        "kill_parent_sigkill",
        KILLED.format(stage="measure"),
        bench=LONG,
        strike=Strike(Stage.MEASURE, LAUNCHER, signal.SIGKILL),
    ),
    Scenario(
        "kill_parent_sigterm_load",
        KILLED.format(stage="measure"),
        bench=LONG,
        strike=Strike(Stage.MEASURE, LAUNCHER, signal.SIGTERM),
    ),
    Scenario(
        "freeze_scheduler_boot",
        "hang init_distributed settings",
        strike=Strike(Stage.INIT_DISTRIBUTED, SCHEDULER, signal.SIGSTOP),
        stage_timeouts_s={Stage.INIT_DISTRIBUTED: 6.0},
    ),
    Scenario(
        "freeze_scheduler",
        "hang measure settings",
        bench=LONG,
        strike=Strike(Stage.MEASURE, SCHEDULER, signal.SIGSTOP),
    ),
)

HEALTHY = (
    Scenario("good_boot", "completed"),
    Scenario(
        "no_graphs_with_torch_native",
        "completed",
        {"cuda_graph_max_bs": 16},
        ran={"cuda_graph_max_bs": 0},
        says="cuda_graph_max_bs: asked for 16, the server used 0",
    ),
    Scenario(
        "fail_attn_default_cpu",
        "completed",
        changes={"attention_backend": None},
    ),
    Scenario("fail_maxtokens_huge", "completed", changes={"max_total_tokens": "99999999999"}),
    Scenario(
        "retract",
        "completed",
        {"max_running_requests": 1000},
        {"max_total_tokens": "1600", "max_running_requests": None, "schedule_conservativeness": "0.1"},
        bench=FOUR_STREAMS,
        ran={"max_running_requests": 800},
        says="max_running_requests reduced to 800",
    ),
    Scenario(
        "quiet_log",
        "completed",
        changes={"log_level": "warning"},
        stage_timeouts_s={Stage.ARGUMENTS: 3.0, Stage.START: 3.0},
    ),
    Scenario("tp2", "completed", {"layout": "tp2"}, env=TWO_RANKS),
    Scenario("moe_tp2", "completed", {"layout": "tp2"}, model="tiny-qwen3moe", env=TWO_RANKS),
    Scenario(
        "spec_eagle3_amx",
        "completed",
        {
            "speculative_algorithm": "EAGLE3",
            "speculative_num_steps": 3,
            "speculative_eagle_topk": 1,
            "speculative_num_draft_tokens": 4,
        },
        args=AMX,
        model="tiny-llama8",
        draft="tiny-eagle3",
        says="accept",
    ),
    Scenario(
        "spec_ngram_amx",
        "completed",
        {"speculative_algorithm": "NGRAM", "speculative_num_draft_tokens": 4},
        args=AMX,
    ),
)

SCENARIOS = (*ARGUMENTS, *STRIKES, *BOOT, *HEALTHY)
