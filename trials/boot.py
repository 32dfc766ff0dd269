"""From a started process to a server that has made a token: followed, timed, given up when it is silent."""

from __future__ import annotations

import time

import httpx

from trials.endings import Asked, Died, Hung
from trials.launch import Launch
from trials.log_follower import LogFollower
from trials.outcome import Stage
from trials.readiness import ready_generation
from trials.recorder import StopSignal
from trials.server import ServerProcess
from trials.settings import TrialPlan
from trials.silence import longest_silence_s

POLL_S = 0.05
_ASK_HEALTH_EVERY_S = 1.0

DEATH_THROES_S = 10.0
"""How long a server that has said why it is lost may take to end, s.

SGLang 0.5.23 waits 5 s before it takes its processes down and up to 60 s more for core dumps; one that lost
its port to a stranger never ends.
"""


class Boot:
    """One boot in progress."""

    def __init__(
        self, server: ServerProcess, follower: LogFollower, plan: TrialPlan, launch: Launch, stop: StopSignal
    ) -> None:
        self._server = server
        self._follower = follower
        self._plan = plan
        self._launch = launch
        self._stop = stop
        self._stage = Stage.START
        self._begun = time.monotonic()
        self._asked_health = self._begun

    def wait_until_ready(self) -> float:
        """Follow the boot to its end and make one token.

        Returns:
            How long it took, s.

        Raises:
            Died: If the server ended, or said that it never will be ready.
            MeasureError: If it said that it is ready and then made no token.
            Hung: If it was silent, or took, too long.
            Asked: If the stop signal was set.
        """
        while not self._says_ready():
            self._give_up_if_over()
            time.sleep(POLL_S)
        launch = self._launch
        timeout_s = longest_silence_s(self._plan, Stage.READY)
        ready_generation(launch.url, timeout_s, stop=self._stop, api_key=launch.api_key)
        self._follower.poll()
        return time.monotonic() - self._begun

    def _says_ready(self) -> bool:
        self._follower.poll()
        self._stage = max(Stage.START, self._follower.boot_log.slowest, key=lambda stage: stage.order)
        if not self._follower.boot_log.ready and not self._is_healthy():
            return False
        return self._server.owns_port(self._launch.port)

    def _is_healthy(self) -> bool:
        """For servers whose log level hides the ready line."""
        now = time.monotonic()
        if now - self._asked_health < _ASK_HEALTH_EVERY_S:
            return False
        self._asked_health = now
        try:
            return (
                httpx.get(f"{self._launch.url}/health", timeout=5, trust_env=False).status_code
                == httpx.codes.OK
            )
        except httpx.HTTPError:
            return False

    def _give_up_if_over(self) -> None:
        if self._server.poll() is not None or self._follower.lost_s() > DEATH_THROES_S:
            self._follower.poll()  # its last words say how far it came
            raise Died
        if self._stop.is_set():
            raise Asked
        limit = self._plan.server.boot_timeout_s
        if time.monotonic() - self._begun > limit:
            raise Hung(self._stage, f"not ready after boot_timeout_s = {limit:g} s, at stage {self._stage}")
        patience = self._patience_s()
        if self._follower.silent_s() > patience:
            raise Hung(self._stage, f"silent for {patience:.0f} s at stage {self._stage}")

    def _patience_s(self) -> float:
        if not self._launch.tells_stages:
            return self._plan.server.boot_timeout_s
        return longest_silence_s(self._plan, self._stage)
