"""The life of one trial: one boot, and a second one where the fault of the first may be flaky."""

from __future__ import annotations

from contextlib import closing

from trials.attempt import Attempt, failed
from trials.flags import CatalogueError, load_catalogue
from trials.gpus import GpuProbeError
from trials.launch import box_state
from trials.outcome import AnyOutcome, EnvironmentFailed, Failure, FailureKind, SettingsFailed
from trials.probes import open_probe
from trials.recorder import Recorder, StopSignal
from trials.settings import Settings, TrialPlan
from trials.timeline import Timeline

FLAKY = frozenset({FailureKind.KERNEL_FAULT, FailureKind.COMMUNICATION})
"""Some of these do not come again (see ``docs/failures.md``), so they are tried twice."""
_MOST_BOOTS = 2


def run_trial(
    settings: Settings,
    plan: TrialPlan,
    recorder: Recorder,
    stop: StopSignal,
    hurry: StopSignal | None = None,
) -> AnyOutcome:
    """Run one trial from its settings to the proof that the machine is clean again.

    Args:
        settings: What is under test.
        plan: Everything around it.
        recorder: Told of progress.
        stop: When it is set, the trial ends as Interrupted as soon as the server is stopped.
        hurry: When it is set too, the server is killed at once.

    Returns:
        How it ended. Nothing that a server, a driver or a disk does is raised.
    """
    timeline = Timeline(recorder)
    try:
        catalogue = load_catalogue(plan.server, plan.cache)
        probe = open_probe(plan.server, box_state(plan.workspace))
    except (CatalogueError, GpuProbeError) as error:
        failure = Failure(
            kind=FailureKind.ENVIRONMENT, stage=timeline.stage, summary=str(error), at_fault="environment"
        )
        return failed(failure, boots=0)
    with closing(probe):
        for boot in range(1, _MOST_BOOTS + 1):
            attempt = Attempt(settings, plan, catalogue, probe, recorder, timeline, stop, hurry, boot)
            outcome = attempt.run()
            if boot == _MOST_BOOTS or not _may_be_flaky(outcome) or stop.is_set():
                break
            recorder.warning(f"boot {boot} failed and may be flaky; trying once more")
            timeline.restart()
    return outcome


def _may_be_flaky(outcome: AnyOutcome) -> bool:
    if not isinstance(outcome, SettingsFailed | EnvironmentFailed):
        return False
    return outcome.failure.kind in FLAKY and outcome.stop_proven
