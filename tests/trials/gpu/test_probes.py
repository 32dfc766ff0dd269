"""Which cards are watched for which server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import trials.box
from trials import probes
from trials.box.probe import BoxProbe
from trials.no_gpus import NoGpus
from trials.nvml import NvmlProbe
from trials.settings import ServerPlan


def plan(**more: Any) -> ServerPlan:
    return ServerPlan(model_path="m", **({"command": ("serve",)} | more))


@pytest.mark.parametrize(
    ("server", "environ", "expected"),
    [
        (plan(), {}, "all"),
        (plan(gpus=(2, 3)), {"CUDA_VISIBLE_DEVICES": "0"}, (2, 3)),
        (plan(), {"CUDA_VISIBLE_DEVICES": "4, 5"}, (4, 5)),
        (plan(env={"CUDA_VISIBLE_DEVICES": "1"}), {"CUDA_VISIBLE_DEVICES": "4,5"}, (1,)),
        (plan(), {"CUDA_VISIBLE_DEVICES": ""}, ()),
        (plan(), {"CUDA_VISIBLE_DEVICES": "GPU-8932f937"}, "all"),
    ],
)
def test_cards_in_scope(server: ServerPlan, environ: dict[str, str], expected: Any) -> None:
    assert probes.watched_cards(server, environ) == expected


def test_machine_without_a_driver_has_no_gpus(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(NvmlProbe, "open", classmethod(lambda cls, gpus: None))
    assert isinstance(probes.open_probe(plan(), tmp_path), NoGpus)


def test_simulated_box_has_its_own_cards(tmp_path: Path) -> None:
    box = next(path.stem for path in (Path(trials.box.__file__).parent / "boxes").glob("*.toml"))
    probe = probes.open_probe(plan(command=None, box=box), tmp_path)
    assert isinstance(probe, BoxProbe)
    assert all(card.simulated for card in probe.cards())
