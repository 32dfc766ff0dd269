"""The useful part of a server's life: boot, measure every level, check the output."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from trials.boot import Boot
from trials.disturbance import DisturbanceWatch
from trials.endings import WrongOutput
from trials.flags import FlagCatalogue
from trials.launch import Launch
from trials.log_follower import LogFollower
from trials.measure_errors import NoSteadyWindowError
from trials.outcome import BootReport, CommandRecord, Measurement, Stage
from trials.prompts import Prompt, load_prompts
from trials.ran import WhatRan, what_ran
from trials.recorder import Recorder, StopSignal
from trials.repeating import Repeating
from trials.sanity import accept_length_flag, check_output, collect_reference
from trials.server import ServerProcess
from trials.server_info import ServerInfo, complete_report, read_server_info
from trials.settings import BenchPlan, ReferenceAnswer, Settings, TrialPlan, is_speculative
from trials.silence import longest_silence_s, measuring_patience
from trials.throughput import measure_level, survive
from trials.timeline import Timeline

SOAK_S = 15.0
SOAK_SHARE = 0.25
"""A soak lasts so long, s, and no longer than this share of a level's longest measurement."""


@dataclass
class Served:
    """What a life has shown; filled as it goes, so that an early end keeps what was seen."""

    command: CommandRecord | None = None
    boot: BootReport | None = None
    info: ServerInfo = field(default_factory=ServerInfo)
    ran: WhatRan | None = None
    measurements: list[Measurement] = field(default_factory=list)
    reference: tuple[ReferenceAnswer, ...] = ()
    warnings: list[str] = field(default_factory=list)


class Serving:
    """One server from its start to its last answer."""

    def __init__(
        self,
        settings: Settings,
        plan: TrialPlan,
        catalogue: FlagCatalogue,
        launch: Launch,
        recorder: Recorder,
        timeline: Timeline,
        stop: StopSignal,
        watch: DisturbanceWatch,
    ) -> None:
        self._settings = settings
        self._plan = plan
        self._catalogue = catalogue
        self._launch = launch
        self._recorder = recorder
        self._timeline = timeline
        self._stop = stop
        self._repeating = Repeating(watch)
        self.served = Served()

    def run(self, server: ServerProcess) -> None:
        """Live the whole life.

        Raises:
            trials.endings.EndOfLife: If it ended early.
            trials.measure_errors.MeasureError: If the server did not answer as it must.
            trials.measure_errors.Hopeless: If it is too slow to go on.
            trials.measure_errors.StopRequested: If the stop signal was set.
        """
        follower = LogFollower(server.tail(), self._timeline.enter)
        self._timeline.enter(Stage.START)
        boot_s = Boot(server, follower, self._plan, self._launch, self._stop).wait_until_ready()
        self._timeline.enter(Stage.READY)
        self._describe(follower, boot_s)
        self._timeline.enter(Stage.MEASURE)
        prompts = load_prompts(self._plan.bench.prompts)
        for level in main_level_first(self._plan.bench):
            self._measure(level, prompts, follower)
        self._timeline.enter(Stage.CHECK)
        self._check_output()
        self._soak(prompts)

    def _describe(self, follower: LogFollower, boot_s: float) -> None:
        served, log = self.served, follower.boot_log
        served.info = read_server_info(self._launch.url)
        report = complete_report(log.report(), served.info)
        served.boot = report.model_copy(update={"boot_s": round(boot_s, 3)})
        self._recorder.booted(served.boot)
        resolved = log.server_args or served.info.args
        served.ran = what_ran(self._settings, resolved, log.notices, self._catalogue)
        for sentence in served.ran.sentences:
            self._warn(sentence)

    def _measure(self, level: int, prompts: Sequence[Prompt], follower: LogFollower) -> None:
        try:
            measurement = self._repeating.measure(lambda: self._measured(level, prompts, follower))
        except NoSteadyWindowError as error:
            if level == self._plan.bench.main_level:
                raise
            self._warn(f"{error.summary}; the level is left out")
            return
        self.served.measurements.append(measurement)
        self._recorder.measured(measurement)
        for note in measurement.notes:
            self._warn(f"at {level} stream{'s' if level > 1 else ''}: {note}")

    def _measured(self, level: int, prompts: Sequence[Prompt], follower: LogFollower) -> Measurement:
        return measure_level(
            self._launch.url,
            level,
            self._plan.bench,
            prompts,
            log_window=follower.poll,
            stop=self._stop,
            on_progress=self._recorder.progress,
            hopeless_below=self._plan.hopeless_below if level == self._plan.bench.main_level else None,
            patience=measuring_patience(self._plan),
            api_key=self._launch.api_key,
        )

    def _check_output(self) -> None:
        flag = accept_length_flag(is_speculative(self._settings), self.served.measurements)
        if flag is not None:
            self._warn(flag)
        url, key = self._launch.url, self._launch.api_key
        patience_s = longest_silence_s(self._plan, Stage.CHECK)
        if not self._plan.reference:
            self.served.reference = collect_reference(
                url, patience_s=patience_s, stop=self._stop, api_key=key
            )
            return
        verdict = check_output(url, self._plan.reference, patience_s=patience_s, stop=self._stop, api_key=key)
        if verdict.wrong:
            raise WrongOutput(verdict.sentences)
        for sentence in verdict.sentences:
            self._warn(sentence)

    def _soak(self, prompts: Sequence[Prompt]) -> None:
        """Booting is not surviving: what may win must carry the longest prompt under the highest level."""
        bench = self._plan.bench
        main = next(m for m in self.served.measurements if m.level == bench.main_level)
        if main.decode_tok_s < self._plan.soak_above:
            return
        seen = survive(
            self._launch.url,
            bench,
            prompts,
            seconds=min(SOAK_S, SOAK_SHARE * bench.max_seconds_per_level),
            stop=self._stop,
            patience=measuring_patience(self._plan),
            api_key=self._launch.api_key,
        )
        for sentence in seen:
            self._warn(sentence)

    def _warn(self, sentence: str) -> None:
        self.served.warnings.append(sentence)
        self._recorder.warning(sentence)


def main_level_first(bench: BenchPlan) -> list[int]:
    """The level that decides comes first, so that a hopeless setting costs least."""
    return sorted(set(bench.levels), key=lambda level: (level != bench.main_level, level))
