"""One server start, from its command to the proof that it is gone."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from trials.command import SettingError
from trials.container_runtime import ContainerError
from trials.disturbance import DisturbanceWatch
from trials.endings import Asked, Died, EndOfLife, GpuLost
from trials.failures import MachineFacts, hardware_faults, side_of
from trials.flags import FlagCatalogue
from trials.gpu_sampler import GpuSampler
from trials.gpus import GpuProbe, GpuProbeError, GpuProcess, GpuSample
from trials.host import OomKills, full_disk
from trials.judging import Evidence, judge
from trials.launch import Launch, boot_mark, prepare
from trials.left_behind import gpu_holdings, memory_levels
from trials.log_guard import LogGuard
from trials.measure_errors import Hopeless, MeasureError, StopRequested
from trials.outcome import (
    AnyOutcome,
    CommandRecord,
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


@dataclass(frozen=True)
class Before:
    """The machine before the boot.

    Attributes:
        idle_mib: Memory in use, MiB by card.
        strangers: Who held memory on the cards.
    """

    idle_mib: Mapping[int, int]
    kills: OomKills
    strangers: Sequence[GpuProcess]


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
        kills = OomKills.read()
        strangers = gpu_holdings(self.probe)
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
            return self._never_started(str(error), FailureKind.INVALID_SETTINGS)
        except (ServerStartError, NoFreePortError, GpuProbeError, ContainerError) as error:
            return self._never_started(str(error), FailureKind.ENVIRONMENT)
        except OSError as error:
            return self._never_started(_unwritable(self.plan.workspace, error), FailureKind.ENVIRONMENT)
        return self._live(server, launch, Before(idle, kills, strangers))

    def _never_started(self, sentence: str, kind: FailureKind) -> AnyOutcome:
        failure = Failure(
            kind=kind,
            stage=self.timeline.stage,
            summary=sentence,
            evidence=(sentence,),
            at_fault=side_of(kind),
        )
        return failed(failure, boots=self.boot)

    def _live(self, server: ServerProcess, launch: Launch, before: Before) -> AnyOutcome:
        # Imagined cards do not care how busy the host is; a container's processes are not seen to be ours.
        with_host = not self.plan.server.simulated and launch.container is None
        watch = DisturbanceWatch(self.probe, server, before.strangers, with_host=with_host)
        guard = LogGuard(launch.log_path, self.stop)
        serving = Serving(
            self.settings, self.plan, self.catalogue, launch, self.recorder, self.timeline, guard, watch
        )
        ending: Ending | None = None
        sampler = GpuSampler(self.probe, partial(self._sampled, watch))
        try:
            with sampler:
                serving.served.command = self._announce(server, launch)
                ending = self._serve(serving, server, guard)
        finally:
            stage, code = self.timeline.stage, None if guard.ending else server.poll()
            self.timeline.enter(Stage.STOP)
            policy = stop_policy(self.plan.server)
            proof = server.stop(self.probe, before.idle_mib, policy=policy, hurry=self.hurry)
        facts = self._facts(before, sampler, watch)
        return self._outcome(
            ending, serving.served, Evidence(launch.log_path, code, stage, self.settings, facts), proof
        )

    def _sampled(self, watch: DisturbanceWatch, samples: Sequence[GpuSample]) -> None:
        self.recorder.gpus(samples)
        watch.see(samples)

    def _announce(self, server: ServerProcess, launch: Launch) -> CommandRecord:
        argv, env = redact_argv(launch.command.argv), redact_env(launch.command.env)
        self.recorder.boot_started(self.boot, argv, env, server.pid)
        return CommandRecord(argv=argv, env=env)

    def _serve(self, serving: Serving, server: ServerProcess, guard: LogGuard) -> Ending | None:
        try:
            serving.run(server)
        except (Asked, StopRequested) as ending:
            if self.stop.is_set() or guard.ending is None:
                return ending
            server.kill()
            return guard.ending
        except (EndOfLife, Hopeless) as ending:
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

    def _facts(self, before: Before, sampler: GpuSampler, watch: DisturbanceWatch) -> MachineFacts:
        cards = self.probe.cards()
        return MachineFacts(
            watched=True,
            oom_kills_rose=OomKills.read().rose_since(before.kills),
            gpu_faults=sampler.faults,
            card_memory_mib=min((card.memory_mib for card in cards), default=None),
            foreign_processes=tuple(
                f"pid {held.pid} ({held.command or '?'}) on GPU {held.index}"
                for held in dict.fromkeys((*before.strangers, *watch.strangers()))
            ),
        )

    def _outcome(
        self, ending: Ending | None, served: Served, evidence: Evidence, proof: StopProof
    ) -> AnyOutcome:
        seen = self._seen(served, proof, evidence.facts)
        broken = hardware_faults(evidence.facts)
        if broken and not isinstance(ending, Asked | StopRequested):
            ending = GpuLost(broken)
        match ending:
            case None:
                return Completed(**seen)
            case Asked() | StopRequested():
                return Interrupted(**seen)
            case Hopeless(measurement=measurement):
                return Stopped(**{**seen, "measurements": (*served.measurements, measurement)})
            case _:
                return failed(judge(ending, evidence), **seen)

    def _seen(self, served: Served, proof: StopProof, facts: MachineFacts) -> dict[str, Any]:
        order = {level: place for place, level in enumerate(self.plan.bench.levels)}
        return {
            "boots": self.boot,
            "command": served.command,
            "boot": served.boot,
            "ran": served.ran.ran if served.ran else {},
            "warnings": (*served.warnings, *facts.gpu_faults),
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


def _unwritable(folder: Path, error: OSError) -> str:
    return full_disk(folder) or (
        f"the study's folder {folder} cannot be written ({error.strerror}); make it writable and run again"
    )
