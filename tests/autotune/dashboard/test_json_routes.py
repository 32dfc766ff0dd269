from __future__ import annotations

import pytest
from fastapi.testclient import TestClient

from autotune.export import FORMATS
from tests.autotune.dashboard.sample_study import RULED_OUT
from tests.db.nights import Night


def test_the_list_names_every_study_with_its_best(page: TestClient) -> None:
    (study,) = page.get("/api/studies").json()
    assert (study["name"], study["simulated"], study["state"]) == ("sample", True, "running")
    assert study["best"]["best"] == 12
    assert study["trials"] == {
        "total": 14,
        "running": 1,
        "completed": 9,
        "stopped": 0,
        "settings_failed": 4,
        "environment_failed": 0,
        "interrupted": 0,
    }


def test_a_study_shows_its_running_trial_with_its_stage(page: TestClient) -> None:
    study = page.get("/api/studies/sample").json()
    running = study["running"]
    assert (running["number"], running["stage"], running["progress"]["tok_s"]) == (13, "measure", 91.3)
    assert [stage["stage"] for stage in running["stages"]][-2:] == ["ready", "measure"]
    assert running["gpus"]["cards"][7]["index"] == 7
    assert study["plan"]["boots_planned"] == 18
    assert study["plan"]["boots_left"] == 4
    assert study["plan"]["finals_boots"] == {"planned": 9, "done": 0}
    assert [event["text"] for event in study["events"]] == ["a new best: trial 12"]


def test_boots_saved_and_boots_known_from_elsewhere_are_told(page: TestClient) -> None:
    study = page.get("/api/studies/sample").json()
    assert study["plan"]["boots_saved"] == 1
    assert study["ruled_out"] == [RULED_OUT]
    same, other = study["imports"]
    assert (same["same"], same["worked"], same["failed"]) == (True, 1, 0)
    assert (other["same"], other["worked"], other["failed"]) == (False, 1, 1)
    assert other["sentence"] == "other-machine.log: 2 boots (1 worked, 1 failed), taken as a weaker prior"
    text = page.get("/studies/sample").text
    assert RULED_OUT["proof"] in text
    assert RULED_OUT["proof"] in page.get("/studies/sample/trials/13").text
    assert all(source["sentence"] in text for source in study["imports"])


def test_trials_carry_outcome_interval_and_changes(page: TestClient) -> None:
    trials = page.get("/api/studies/sample/trials").json()
    baseline, crashed, winner, running = trials[0], trials[2], trials[12], trials[13]
    assert (baseline["role"], baseline["changes"]) == ("baseline", {})
    assert crashed["state"] == "PRUNED"
    assert crashed["failure"]["kind"] == "kv_pool_too_small"
    assert crashed["tok_s"] is None
    assert (winner["outcome"], winner["tok_s"]) == ("completed", 91.0)
    assert winner["tok_s_ci95"] == pytest.approx([90.09, 91.91])
    assert winner["changes"] == {"cuda_graph_max_bs": [512, 64], "speculative_algorithm": ["off", "EAGLE3"]}
    assert (running["outcome"], running["state"]) == ("running", "RUNNING")
    assert all(trial["simulated"] for trial in trials)


def test_a_trial_shows_all_that_is_known(page: TestClient) -> None:
    trial = page.get("/api/studies/sample/trials/2").json()
    assert trial["failure"]["remedies"] == [
        {"setting": "mem_fraction_static", "direction": "raise", "bound": 0.78}
    ]
    assert [stage["stage"] for stage in trial["stages"]] == [
        "start",
        "init_distributed",
        "load_weights",
        "kv_pool",
    ]
    assert (trial["previous"], trial["next"]) == (1, 3)
    winner = page.get("/api/studies/sample/trials/12").json()
    assert [measured["level"] for measured in winner["measurements"]] == [1, 8]
    assert winner["starts"][0]["env"] == {"NCCL_P2P_DISABLE": "0"}
    assert winner["boot"]["kv_tokens"] == 312_000


def test_what_the_server_replaced_is_shown(page: TestClient) -> None:
    trials = page.get("/api/studies/sample/trials").json()
    assert [trial["number"] for trial in trials if trial["ran"] == {"all_reduce": "custom"}] == [4]


def test_the_best_at_every_level(page: TestClient) -> None:
    main = page.get("/api/studies/sample/best").json()
    wide = page.get("/api/studies/sample/best", params={"level": 8}).json()
    assert (main["level"], wide["level"]) == (1, 8)
    assert wide["measured_tok_s"] == pytest.approx(91 * 5.5)
    assert "simulated" in main["sentence"]
    assert page.get("/api/studies/sample/best", params={"level": 3}).status_code == 404


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_is_exported(page: TestClient, name: str) -> None:
    answer = page.get("/api/studies/sample/export", params={"format": name})
    assert answer.status_code == 200
    assert "some/model" in answer.text
    assert "30711" not in answer.text


def test_an_export_that_cannot_be_says_why(page: TestClient, own_page: TestClient) -> None:
    assert "choose one of: sh" in page.get("/api/studies/sample/export?format=exe").json()["detail"]
    assert page.get("/api/studies/sample/export?level=3").status_code == 404
    assert own_page.get("/api/studies/night/export").status_code == 404


def test_pictures_hold_every_trial(page: TestClient) -> None:
    traces = page.get("/api/studies/sample/figures/history").json()["data"]
    shown = [number for trace in traces if trace["mode"] == "markers" for number in trace["x"]]
    assert sorted(shown) == list(range(13))
    gpus = page.get("/api/studies/sample/trials/13/figures/gpus").json()["data"]
    assert len(gpus) == 8
    assert len(gpus[0]["y"]) == 30


def test_gpu_samples_as_json(page: TestClient) -> None:
    samples = page.get("/api/studies/sample/trials/13/gpus").json()
    assert len(samples) == 30
    assert samples[-1]["cards"][0]["used_mib"] == 90_000


@pytest.mark.parametrize(
    "path",
    [
        "/api/studies/nosuch",
        "/api/studies/..%2fsample",
        "/api/studies/sample/trials/99",
        "/api/studies/sample/trials/99/gpus",
        "/studies/x",
    ],
)
def test_what_is_not_there_is_404(page: TestClient, path: str) -> None:
    assert page.get(path).status_code == 404


def test_health_and_metrics(page: TestClient) -> None:
    assert page.get("/healthz").json() == {"status": "ok"}
    metrics = page.get("/metrics").text
    assert 'autotune_study_trials{study="sample",simulated="true",outcome="settings_failed"} 4' in metrics
    assert 'autotune_study_running{study="sample",simulated="true"} 1.0' in metrics
    assert "# TYPE autotune_study_best_tok_per_second gauge" in metrics


def test_the_json_api_is_described(page: TestClient) -> None:
    paths = page.get("/api/openapi.json").json()["paths"]
    assert {"/api/studies", "/api/studies/{name}/trials/{number}", "/api/studies/{name}/events"} <= set(paths)


def test_a_study_without_any_trial(own_page: TestClient, night: Night) -> None:
    study = own_page.get("/api/studies/night").json()
    assert study["best"]["best"] is None
    assert study["running"] is None
    assert own_page.get("/api/studies/night/figures/history").json()["data"] == []
