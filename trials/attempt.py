"""One server start, from its command to the proof that it is gone."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from trials.command import SettingError
from trials.container_runtime import ContainerError
from trials.endings import Asked, Died, EndOfLife, GpuLost
from trials.failures import MachineFacts
from trials.flags import FlagCatalogue
from trials.gpu_sampler import GpuSampler
from trials.gpus import GpuProbe, GpuProbeError
from trials.host import OomKills
from trials.judging import Evidence, judge
from trials.launch import Launch, boot_mark, prepare
from trials.left_behind import gpu_holdings, memory_levels
from trials.measure_errors import Hopeless, MeasureError, StopRequested
from trials.outcome import (
    AnyOutcome,
    Completed,
    EnvironmentFailed,
    Failure,
    FailureKind,
    Interrupted,
    SettingsFailed,
    Stage,
    Stopped,
)
from trials.ports import NoFreePortError
from trials.recorder import Recorder, StopSignal
from trials.secrets import redact_argv, redact_env
from trials.server import ServerProcess, ServerStartError
from trials.serving import Served, Serving
from trials.settings import Settings, TrialPlan
from trials.stopping import StopProof, stop_policy
from trials.timeline import Timeline

_DEATH_FOLLOWS_S = 3.0
"""How long after a broken measurement the server's own death is waited for, s."""

Ending = EndOfLife | MeasureError | Hopeless | StopRequested


@dataclass
class Attempt:
    """One boot of a trial.

    Attributes:
        boot: 1 for the trial's first.
        hurry: When it is set, the stop kills at once.
    """

    settings: Settings
    plan: TrialPlan
    catalogue: FlagCatalogue
    probe: GpuProbe
    recorder: Recorder
    timeline: Timeline
    stop: StopSignal
    hurry: StopSignal | None
    boot: int

    def run(self) -> AnyOutcome:
        """Start, serve, stop; whatever happens, nothing is left running that could be ended."""
        before = OomKills.read()
        try:
            launch = prepare(self.settings, self.plan, self.catalogue, self.boot)
            idle = memory_levels(self.probe)
            server = ServerProcess.start(
                launch.command,
                log_path=launch.log_path,
                mark=boot_mark(self.plan, self.boot),
                container=launch.container,
            )
        except SettingError as error:
            return self._never_started(error, FailureKind.INVALID_SETTINGS)
        except (ServerStartError, NoFreePortError, GpuProbeError, ContainerError) as error:
            return self._never_started(error, FailureKind.ENVIRONMENT)
        argv, env = redact_argv(launch.command.argv), redact_env(launch.command.env)
        self.recorder.boot_started(self.boot, argv, env, server.pid)
        return self._live(server, launch, idle, before)

    def _never_started(self, error: Exception, kind: FailureKind) -> AnyOutcome:
        failure = Failure(
            kind=kind,
            stage=self.timeline.stage,
            summary=str(error),
            evidence=(str(error),),
            at_fault="settings" if kind is FailureKind.INVALID_SETTINGS else "environment",
        )
        return failed(failure, boots=self.boot)

    def _live(
        self, server: ServerProcess, launch: Launch, idle: Mapping[int, int], before: OomKills
    ) -> AnyOutcome:
        serving = Serving(
            self.settings, self.plan, self.catalogue, launch, self.recorder, self.timeline, self.stop
        )
        ending: Ending | None = None
        sampler = GpuSampler(self.probe, self.recorder.gpus)
        try:
            with sampler:
                ending = self._serve(serving, server)
        finally:
            stage, code = self.timeline.stage, server.poll()
            self.timeline.enter(Stage.STOP)
            proof = server.stop(self.probe, idle, policy=stop_policy(self.plan.server), hurry=self.hurry)
        facts = self._facts(before, sampler)
        return self._outcome(
            ending, serving.served, Evidence(launch.log_path, code, stage, self.settings, facts), proof
        )

    def _serve(self, serving: Serving, server: ServerProcess) -> Ending | None:
        try:
            serving.run(server)
        except (EndOfLife, Hopeless, StopRequested) as ending:
            return ending
        except MeasureError as error:
            return Died() if self._dies_soon(server) else error
        return None

    def _dies_soon(self, server: ServerProcess) -> bool:
        """A scheduler that aborts takes its launcher down seconds later; that says more than a reset."""
        deadline = time.monotonic() + _DEATH_FOLLOWS_S
        while server.poll() is None:
            if time.monotonic() > deadline or self.stop.is_set():
                return False
            time.sleep(0.05)
        return True

    def _facts(self, before: OomKills, sampler: GpuSampler) -> MachineFacts:
        cards = self.probe.cards()
        return MachineFacts(
            oom_kills_rose=OomKills.read().rose_since(before),
            gpu_faults=sampler.faults,
            card_memory_mib=min((card.memory_mib for card in cards), default=None),
            foreign_processes=tuple(
                f"pid {held.pid} ({held.command or '?'}) on GPU {held.index}"
                for held in gpu_holdings(self.probe)
            ),
        )

    def _outcome(
        self, ending: Ending | None, served: Served, evidence: Evidence, proof: StopProof
    ) -> AnyOutcome:
        seen = self._seen(served, proof)
        if evidence.facts.gpu_faults and not isinstance(ending, Asked | StopRequested):
            ending = GpuLost(evidence.facts.gpu_faults)
        match ending:
            case None:
                return Completed(**seen)
            case Asked() | StopRequested():
                return Interrupted(**seen)
            case Hopeless(measurement=measurement):
                return Stopped(**{**seen, "measurements": (*served.measurements, measurement)})
            case _:
                return failed(judge(ending, evidence), **seen)

    def _seen(self, served: Served, proof: StopProof) -> dict[str, Any]:
        order = {level: place for place, level in enumerate(self.plan.bench.levels)}
        return {
            "boots": self.boot,
            "boot": served.boot,
            "ran": served.ran.ran if served.ran else {},
            "warnings": tuple(served.warnings),
            "measurements": tuple(sorted(served.measurements, key=lambda m: order[m.level])),
            "reference": served.reference,
            "server_version": served.info.version,
            "stop_proven": proof.proven,
            "left_behind": proof.left_behind,
        }


def failed(failure: Failure, **seen: Any) -> AnyOutcome:
    """The outcome that a failure's fault calls for."""
    kind = SettingsFailed if failure.at_fault == "settings" else EnvironmentFailed
    return kind(failure=failure, **seen)
