"""The machine held against the study before its first boot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest

from autotune.night import preflight as checks
from autotune.night.preflight import BUSY_MIB, LEAST_MIB, LOGS_MIB, SANE_SINCE, Finding, preflight
from autotune.spec import StudySpec
from tests.autotune.night.nights import STUDY, write_study
from trials.gpus import GpuCard, GpuProbeError, GpuProcess, GpuSample

_REAL = STUDY.replace('box = "kimi-k2.5-8x-rtx-pro-6000"\n', 'command = ["true"]\n')


@dataclass
class FakeProbe:
    """Cards as a test wants them."""

    count: int = 2
    used_mib: Sequence[int] = (4, 4)
    memory_mib: Sequence[int] = (97887, 97887)
    holders: Sequence[GpuProcess] = ()
    lost: str = ""
    driver: str | None = "580.95.05"
    closed: list[bool] = field(default_factory=list)

    def cards(self) -> Sequence[GpuCard]:
        return [
            GpuCard(index, "RTX PRO 6000", f"GPU-{index}", self.memory_mib[index], (12, 0))
            for index in range(self.count)
        ]

    def sample(self) -> Sequence[GpuSample]:
        if self.lost:
            raise GpuProbeError(self.lost)
        return [GpuSample(index, self.used_mib[index]) for index in range(self.count)]

    def processes(self) -> Sequence[GpuProcess]:
        return self.holders

    def faults(self) -> Sequence[str]:
        return ()

    def driver_version(self) -> str | None:
        return self.driver

    def topology(self) -> str | None:
        return "PCIe"

    def close(self) -> None:
        self.closed.append(True)


def _about(findings: Sequence[Finding], about: str) -> list[tuple[str, str]]:
    return [(finding.level, finding.sentence) for finding in findings if finding.about == about]


def _disk_free(monkeypatch: pytest.MonkeyPatch, mib: int) -> None:
    monkeypatch.setattr(checks.shutil, "disk_usage", lambda folder: SimpleNamespace(free=mib << 20))


def _real(folder: Path, model: str = "some/model") -> StudySpec:
    return write_study(folder, text=_REAL.replace("some/model", model))


def test_idle_equal_cards_are_well(tmp_path: Path) -> None:
    findings = preflight(_real(tmp_path), tmp_path, FakeProbe())
    assert _about(findings, "GPUs") == [("ok", "2 cards: RTX PRO 6000, 97,887 MiB")]
    assert _about(findings, "driver") == [("ok", "580.95.05")]


def test_simulated_cards_say_so(tmp_path: Path) -> None:
    findings = preflight(write_study(tmp_path), tmp_path, FakeProbe())
    assert _about(findings, "GPUs") == [("ok", "2 simulated cards: RTX PRO 6000, 97,887 MiB")]


def test_no_gpu_is_a_warning_and_no_end(tmp_path: Path) -> None:
    findings = preflight(_real(tmp_path), tmp_path, FakeProbe(count=0, driver=None))
    assert [level for level, _ in _about(findings, "GPUs")] == ["warning"]
    assert _about(findings, "driver") == []


def test_cards_that_differ_are_named(tmp_path: Path) -> None:
    findings = preflight(_real(tmp_path), tmp_path, FakeProbe(memory_mib=(97887, 48000)))
    assert ("warning", "GPU 1 RTX PRO 6000 (48,000 MiB)") in [
        (level, sentence[sentence.find("GPU 1") : sentence.find("): ")])
        for level, sentence in _about(findings, "GPUs")
    ]


def test_a_busy_card_names_who_holds_it(tmp_path: Path) -> None:
    held = [GpuProcess(1, 4711, 40_000, "python train.py")]
    findings = preflight(_real(tmp_path), tmp_path, FakeProbe(used_mib=(4, 40_000), holders=held))
    assert ("error", "GPU 1 holds 40,000 MiB by pid 4711 (python train.py): end that first") in _about(
        findings, "GPUs"
    )


def test_what_a_dead_run_left_needs_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "abandoned_processes", lambda: [SimpleNamespace(pid=4711)])
    left, foreign = GpuProcess(0, 4711, 40_000, "sglang::scheduler"), GpuProcess(1, 4712, 40_000, "train")
    probe = FakeProbe(used_mib=(40_000, 80_000), holders=[left, replace(left, index=1), foreign])
    levels = {
        sentence[:5]: level
        for level, sentence in _about(preflight(_real(tmp_path), tmp_path, probe), "GPUs")[1:]
    }
    assert levels == {"GPU 0": "warning", "GPU 1": "error"}


def test_a_card_held_from_another_container_is_busy_without_a_name(tmp_path: Path) -> None:
    findings = preflight(_real(tmp_path), tmp_path, FakeProbe(used_mib=(BUSY_MIB + 1, BUSY_MIB)))
    errors = [sentence for level, sentence in _about(findings, "GPUs") if level == "error"]
    assert len(errors) == 1
    assert "GPU 0" in errors[0]
    assert "names no process" in errors[0]


def test_a_lost_card_is_an_error(tmp_path: Path) -> None:
    findings = preflight(_real(tmp_path), tmp_path, FakeProbe(lost="GPU 3 is lost"))
    assert ("error", "GPU 3 is lost: restart the machine") in _about(findings, "GPUs")


def test_layouts_that_need_more_cards_are_named(tmp_path: Path) -> None:
    text = _REAL.replace("[bench]", 'layout = ["tp2", "tp4-ep4", "tp2-dp4"]\n\n[bench]').replace(
        "cuda_graph_max_bs = 128", 'cuda_graph_max_bs = 128\nlayout = "tp2"'
    )
    findings = preflight(write_study(tmp_path, text=text), tmp_path, FakeProbe())
    assert [sentence.split(" needs")[0] for _, sentence in _about(findings, "layout")] == [
        "layout tp4-ep4",
        "layout tp2-dp4",
    ]


@pytest.mark.parametrize(
    ("free", "level"), [(LOGS_MIB, "ok"), (LOGS_MIB - 1, "warning"), (LEAST_MIB - 1, "error")]
)
def test_disk(free: int, level: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = _real(tmp_path)
    _disk_free(monkeypatch, free)
    assert [
        found for found, _ in _about(preflight(spec, tmp_path / "new" / "study", FakeProbe()), "disk")
    ] == [level]


def test_a_model_that_must_be_downloaded_is_told_at_once(tmp_path: Path) -> None:
    findings = preflight(_real(tmp_path), tmp_path, FakeProbe())
    [(level, sentence)] = _about(findings, "model")
    assert level == "warning"
    assert "hf download some/model" in sentence


def test_weights_larger_than_the_host_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = tmp_path / "model"
    model.mkdir()
    (model / "config.json").write_text("{}")
    (model / "one.safetensors").write_bytes(b"x" * 2048)
    spec = _real(tmp_path, str(model))
    assert _about(preflight(spec, tmp_path, FakeProbe()), "model") == []
    assert _about(preflight(spec, tmp_path, FakeProbe()), "host memory") == []
    monkeypatch.setattr(checks.psutil, "virtual_memory", lambda: SimpleNamespace(available=1024))
    assert [level for level, _ in _about(preflight(spec, tmp_path, FakeProbe()), "host memory")] == [
        "warning"
    ]


def test_prompts_are_read_before_the_first_boot(tmp_path: Path) -> None:
    spec = _real(tmp_path)
    assert [level for level, _ in _about(preflight(spec, tmp_path, FakeProbe()), "prompts")] == ["ok"]
    (tmp_path / "mine.jsonl").write_text("{}\n")
    bench = spec.bench.model_copy(update={"prompts": str(tmp_path / "mine.jsonl")})
    broken = spec.model_copy(update={"bench": bench})
    assert [level for level, _ in _about(preflight(broken, tmp_path, FakeProbe()), "prompts")] == ["error"]


def test_a_clock_that_was_never_set(tmp_path: Path) -> None:
    def at(now: datetime) -> list[Finding]:
        return list(checks._clock(checks.Surroundings(spec, tmp_path, FakeProbe(), now)))

    spec = _real(tmp_path)
    assert at(datetime.now(UTC)) == []
    assert [finding.level for finding in at(SANE_SINCE - timedelta(days=1))] == ["error"]


def test_no_port_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none_left(avoid: object) -> int:
        raise checks.NoFreePortError("no free port is left")

    spec = _real(tmp_path)
    assert _about(preflight(spec, tmp_path, FakeProbe()), "ports") == []
    monkeypatch.setattr(checks, "fresh_port", none_left)
    assert _about(preflight(spec, tmp_path, FakeProbe()), "ports") == [("error", "no free port is left")]


def test_looking_around_closes_its_own_probe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    probe = FakeProbe()
    monkeypatch.setattr(checks, "open_probe", lambda server, state: probe)
    assert checks.look_around(_real(tmp_path), tmp_path)
    assert probe.closed == [True]


def test_a_driver_that_does_not_answer_is_the_only_finding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(server: object, state: object) -> FakeProbe:
        raise GpuProbeError("the driver does not answer")

    monkeypatch.setattr(checks, "open_probe", broken)
    assert checks.look_around(_real(tmp_path), tmp_path) == [
        Finding("GPUs", "error", "the driver does not answer")
    ]
