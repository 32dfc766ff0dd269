"""What a study was told from elsewhere reaches the sampler of its next run."""

from __future__ import annotations

from pathlib import Path

import optuna
import pytest
from typer.testing import CliRunner

from autotune.cli.main import app
from autotune.importing.imported import Imported
from autotune.importing.into import keep
from autotune.night.session import run_night
from autotune.search.priors import EARLIER
from db.engine import open_storage
from db.imports import ImportedBoot
from tests.autotune.night.nights import STUDY, Notes, StandIn, completed, write_study
from trials.outcome import AnyOutcome
from trials.settings import Settings

pytestmark = pytest.mark.slow


def _by_graph(settings: Settings, call: int) -> AnyOutcome:
    return completed(
        50.0 + float(settings["cuda_graph_max_bs"]) + 10 * float(settings["mem_fraction_static"])
    )


def test_what_is_imported_while_the_night_runs_counts_from_the_next_proposal_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    spec = write_study(tmp_path, trials=3)
    path = tmp_path / "studies/small/study.db"
    told: Settings = {"mem_fraction_static": 0.9, "cuda_graph_max_bs": 64}
    seen: list[int] = []

    def answer(settings: Settings, call: int) -> AnyOutcome:
        study = optuna.load_study(study_name="small", storage=open_storage(path))
        seen.append(len(study.user_attrs.get(EARLIER) or ()))
        if call == 2:
            keep(path, Imported("there.db", [ImportedBoot("there.db", True, told, 99.0)], (), ()))
        return _by_graph(settings, call)

    run_night(spec, path.parent, reporter=Notes(), dashboard=False, run_trial=StandIn(answer))
    assert seen == [0, 0, 1]


def test_a_new_study_begins_with_what_an_earlier_one_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    studies = tmp_path / "studies"
    first = write_study(tmp_path, trials=6)
    run_night(first, studies / "small", reporter=Notes(), dashboard=False, run_trial=StandIn(_by_graph))
    second = write_study(tmp_path, trials=2, text=STUDY.replace('"small"', '"next"'))
    words = ["import", str(studies / "small"), "--study", str(second.file), "--studies", str(studies)]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.output
    assert "taken as data" in result.stdout
    run_night(second, studies / "next", reporter=Notes(), dashboard=False, run_trial=StandIn(_by_graph))
    study = optuna.load_study(study_name="next", storage=open_storage(studies / "next" / "study.db"))
    assert len(study.user_attrs[EARLIER]) == 6
    assert all(entry["same"] for entry in study.user_attrs[EARLIER])
    assert [trial.user_attrs["role"] for trial in study.trials] == ["baseline", "search"]
