"""Where in SGLang a traceback was, as a stage: more exact than the last line before it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from trials.failures.incidents import Incident
from trials.failures.situation import Situation
from trials.outcome import Stage

_SITES: Final[tuple[tuple[Stage, re.Pattern[str]], ...]] = tuple(
    (stage, re.compile(pattern))
    for stage, pattern in (
        (
            Stage.INIT_DISTRIBUTED,
            r":(?:init_torch_distributed|init_parallel_runtime|init_distributed_environment"
            r"|initialize_model_parallel)$",
        ),
        (Stage.LOAD_WEIGHTS, r":(?:load_model|load_weights|create_weights|process_weights_after_loading)$"),
        (
            Stage.KV_POOL,
            r":(?:alloc_memory_pool|init_memory_pools?|_create_buffers|_init_pools|profile_max_num_token)$"
            r"|^(?:kv_cache_configurator|pool_configurator)\.py:|^\w*memory_pool\.py:__init__$",
        ),
        (
            Stage.GRAPH_CAPTURE,
            r":(?:capture|capture_one_batch_size|capture_one|init_device_graphs|init_cuda_graphs"
            r"|capture_decode_graph|capture_prefill_graph|_capture_graph)$|cuda_graph_runner\.py:__init__$",
        ),
        (
            Stage.WARM_UP,
            r":(?:run_batch|event_loop_\w+|run_event_loop|process_batch_result|dispatch_event_loop)$",
        ),
    )
)


def stage_of_frames(frames: Sequence[str]) -> Stage | None:
    """The stage that the innermost telling frame stands for, None when no frame tells.

    ``WARM_UP`` stands for serving: whether before or after readiness, the traceback cannot know.
    """
    for frame in reversed(frames):
        for stage, pattern in _SITES:
            if pattern.search(frame):
                return stage
    return None


def stage_of(incident: Incident, situation: Situation) -> Stage:
    """What had begun and failed: the traceback knows best, then the rank's last line, then the worker."""
    site = stage_of_frames(incident.frames)
    if incident.after_ready:
        return situation.reached
    if site is not None:
        return site
    if incident.stage is Stage.ARGUMENTS:
        return situation.reached
    return incident.stage
