from __future__ import annotations

import datetime
import sys
from pathlib import Path

import pytest

from autotune.presets import preset, preset_names
from autotune.spec import SpecError, StudySpec

STUDY = '[study]\nname = "night"\ntrials = 10\n'
SERVER = '[server]\nmodel_path = "org/model"\n'
SPACE = "[space]\ncuda_graph_max_bs = [128, 512]\n"
GOOD = STUDY + SERVER + SPACE


def load(folder: Path, text: str) -> StudySpec:
    file = folder / "study.toml"
    file.write_text(text, encoding="utf-8")
    return StudySpec.load(file)


def problems(folder: Path, text: str) -> list[str]:
    with pytest.raises(SpecError) as caught:
        load(folder, text)
    return [str(problem).removeprefix(f"{folder}/") for problem in caught.value.problems]


def test_the_smallest_file_gets_the_default_command_and_one_stream(tmp_path: Path) -> None:
    spec = load(tmp_path, GOOD)
    assert spec.server.command == ("python", "-m", "sglang.launch_server")
    assert (spec.bench.levels, spec.bench.main_level) == ((1,), 1)
    assert spec.known_good == ()
    assert spec.finals.boots is None


@pytest.mark.parametrize("name", preset_names())
def test_presets_are_valid(name: str) -> None:
    spec = StudySpec.load(preset(name))
    assert not spec.space.missing(spec.known_good[0])


def test_until_is_a_time_of_day_written_either_way(tmp_path: Path) -> None:
    for written in ('"07:00"', "07:00:00"):
        spec = load(tmp_path, f'[study]\nname = "n"\nuntil = {written}\n' + SERVER + SPACE)
        assert spec.study.until == datetime.time(7, 0)


def test_main_level_left_out_is_the_first_level(tmp_path: Path) -> None:
    assert load(tmp_path, GOOD + "[bench]\nlevels = [8, 48]\n").bench.main_level == 8


def test_the_draft_model_reaches_the_server_plan(tmp_path: Path) -> None:
    spec = load(tmp_path, GOOD + '[speculation]\ndraft_model_path = "org/draft"\n')
    assert spec.server.draft_model_path == "org/draft"


def test_windows_line_ends_and_a_byte_order_mark_are_read(tmp_path: Path) -> None:
    assert load(tmp_path, "\ufeff" + GOOD.replace("\n", "\r\n")).name == "night"


def test_paths_are_relative_to_the_file_and_hub_names_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home/model").mkdir(parents=True)
    (tmp_path / "draft").mkdir()
    (tmp_path / "prompts.jsonl").write_text('{"prompt": "Hello"}\n')
    text = GOOD.replace('"org/model"', '"~/model"')
    text += '[speculation]\ndraft_model_path = "draft"\n[bench]\nprompts = "prompts.jsonl"\n'
    spec = load(tmp_path, text)
    assert spec.server.model_path == str(tmp_path / "home/model")
    assert spec.server.draft_model_path == str(tmp_path / "draft")
    assert spec.bench.prompts == str(tmp_path / "prompts.jsonl")
    assert load(tmp_path, GOOD).server.model_path == "org/model"


def test_a_copy_elsewhere_means_the_same(tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    (tmp_path / "studies").mkdir()
    spec = load(tmp_path, GOOD.replace('"org/model"', '"./model"  # mine'))
    copy = load(tmp_path / "studies", spec.portable_text())
    assert copy.server == spec.server
    assert "# mine" in copy.text


def test_all_problems_are_told_at_once_in_the_order_of_the_file(tmp_path: Path) -> None:
    text = '[study]\nname = "n"\nhours = -1\n[server]\n[space]\nlayout = []\n[bench]\nlevel = [1]\n'
    assert [problem.split(":")[1] for problem in problems(tmp_path, text)] == ["3", "4", "6", "8"]


@pytest.mark.parametrize(
    "text",
    [
        GOOD + "[bench]\nmax_seconds_per_level = nan\n",
        GOOD.replace("[space]", "[space]\nmem_fraction_static = { low = -inf, high = 0.9 }"),
    ],
)
def test_an_endless_number_is_told_once(text: str, tmp_path: Path) -> None:
    assert len(problems(tmp_path, text)) == 1


BROKEN = [
    # structure
    ("[study\n", "study.toml:1: is not valid TOML"),
    (SERVER + SPACE, "study.toml: [study]: is missing; write a table: [study] with name"),
    (STUDY + SPACE, "[server]: is missing"),
    (STUDY + SERVER, "[space]: is missing"),
    (GOOD + "[studdy]\n", "study.toml:8: [studdy]: unknown key 'studdy'; did you mean 'study'?"),
    (GOOD + "[known_good]\n", "[known_good]: is a table; write tables under [[known_good]], two brackets"),
    ("space = 3\n" + STUDY + SERVER, "[space]: is 3; write a table"),
    # study
    (GOOD.replace("name", "nane"), "study.toml:2: [study] nane: unknown key 'nane'; did you mean 'name'?"),
    (GOOD.replace('"night"', '"a/b"'), "[study] name: is 'a/b'; use letters, digits"),
    (GOOD.replace('"night"', '".."'), "[study] name: is '..'; use letters"),
    (GOOD.replace("trials = 10\n", ""), "study.toml:1: [study]: has no end; add hours = 8"),
    (
        GOOD.replace("trials = 10", "trials = 0"),
        "[study] trials: is 0; write a whole number",
    ),
    (GOOD.replace("trials = 10", "trials = 2.5"), "[study] trials: is 2.5; write a whole number"),
    (GOOD.replace("trials = 10", "trials = true"), "[study] trials: is true; write a whole number"),
    (GOOD.replace("trials = 10", 'hours = "9"'), "[study] hours: is '9'; write a number of hours above 0"),
    (GOOD.replace("trials = 10", "hours = -1"), "[study] hours: is -1; write a number of hours above 0"),
    (GOOD.replace("trials = 10", "hours = nan"), "[study] hours: is nan"),
    (GOOD.replace("trials = 10", "hours = inf"), "[study] hours: is inf"),
    (GOOD.replace("trials = 10", "hours = 1e300"), "a year at most"),
    (GOOD.replace("trials = 10", f"trials = {10**22}"), "write a whole number of boots from 1 to 100,000"),
    (GOOD.replace("trials = 10", "trials = 1\nseed = 4294967296"), "a whole number from 0 to 4294967295"),
    (GOOD + "[finals]\nboots = 10\n", "[finals] boots: is 10 of 10 trials, so that nothing"),
    (GOOD.replace("trials = 10", 'until = "25:00"'), "is '25:00'; write a local time of day, \"HH:MM\""),
    (GOOD.replace("trials = 10", 'until = "7:00"'), "is '7:00'; write a local time of day"),
    (GOOD.replace("trials = 10", "until = 7"), '[study] until: is 7; write a local time of day, "HH:MM"'),
    # server
    (GOOD.replace("model_path", "modelpath"), "unknown key 'modelpath'; did you mean 'model_path'?"),
    (
        GOOD.replace("[server]", '[server]\nbox = "b"\nimage = "i"'),
        "stands beside image; keep one",
    ),
    (GOOD.replace("[server]", '[server]\ncommand = ["x"]\nbox = "b"'), "stands beside command; keep one"),
    (GOOD.replace("[server]", "[server]\ncommand = []"), "[server] command: is empty"),
    (GOOD.replace("[server]", '[server]\nbox = "demoo"'), "[server] box: no box 'demoo'; write one of"),
    (GOOD.replace("org/model", ""), "[server] model_path: is ''; write a model name or folder"),
    (GOOD.replace("[server]", '[server]\ncommand = "python x"'), "is 'python x'; write a list of words"),
    (GOOD.replace("[server]", "[server]\nenv = { A = 1 }"), "[server] env.A: is 1; write a table of texts"),
    (GOOD.replace("[server]", '[server]\ngpus = "some"'), "is 'some'; write \"all\" or a list"),
    (GOOD.replace("[server]", "[server]\ngpus = [0, -1]"), "[server] gpus"),
    (GOOD.replace("[server]", "[server]\ngpus = [0, 0]"), "must list different GPUs"),
    (GOOD.replace("[server]", "[server]\ngpus = []"), "must list different GPUs"),
    (GOOD.replace("[server]", "[server]\nboot_timeout_s = 0"), "is 0; write a number of seconds above 0"),
    (GOOD.replace("org/model", "/no/model"), "there is no /no/model; write the model's folder"),
    (
        GOOD.replace("[server]", '[server]\nargs = ["--model-path", "m"]'),
        "--model-path is written as model_path",
    ),
    (
        GOOD.replace("[server]", '[server]\nargs = ["--cuda-graph-max-bs=64"]'),
        "[space] cuda_graph_max_bs: --cuda-graph-max-bs stands in [server] args too",
    ),
    (
        GOOD.replace("[server]", '[server]\nargs = ["--x", "1"]') + '"flag.x" = [1, 2]\n',
        "[space] flag.x: --x stands in [server] args too",
    ),
    (
        GOOD.replace("[server]", '[server]\nenv = { A = "1" }') + '"env.A" = ["1", "2"]\n',
        "[space] env.A: stands in [server] env too",
    ),
    (
        GOOD.replace("[server]", '[server]\nenv = { "A B" = "1" }'),
        "'A B' is no name of an environment variable",
    ),
    (GOOD.replace("[server]", '[server]\nbox = "./no.toml"'), "no.toml; write a box's name or its file"),
    # space
    (GOOD + '"env.A-B" = ["1"]\n', "[space] env.A-B: is no name of an environment variable"),
    (GOOD + "all_reduce = ['nccll']\n", "'nccll' is not one of default, custom, nccl"),
    (GOOD + "[bench]\n[space.x]\n", "[space] x"),
    (STUDY + SERVER + "[space]\n", "[space]: is empty; add a setting to tune"),
    (GOOD + "layout = []\n", "study.toml:8: [space] layout: is an empty list"),
    (GOOD + 'layout = ["tp8", "8tp"]\n', "layout '8tp' is not of the form tp8"),
    (GOOD + 'layout = ["tp8-adp2-dp2"]\n', "asks for adp and dp together"),
    (GOOD + "layout = [8]\n", '8 is not a layout in quotes, e.g. "tp8"'),
    (GOOD + "layout = 'tp8'\n", "neither a list nor a range"),
    (GOOD + "layout = { low = 1, high = 2 }\n", "[space] layout"),
    (GOOD + "max_runing_requests = [1]\n", "is not a setting; did you mean max_running_requests?"),
    (GOOD + "attention_backend = ['fa3']\n", "any other server flag is written flag.NAME"),
    (GOOD + "flag.attention-backend = ['fa3']\n", 'in quotes: "flag.attention-backend" = [...]'),
    (GOOD + '"env.A" = [0, 1]\n', "0 is not a text; a variable's values need quotes"),
    (
        GOOD + '"flag.mem-fraction-static" = [0.8]\n',
        "has a name of its own; write mem_fraction_static",
    ),
    (GOOD + "mem_fraction_static = [88]\n", "88 is not a fraction between 0 and 1"),
    (GOOD + "mem_fraction_static = { low = 0.9, high = 0.8 }\n", "low = 0.9 is above high = 0.8"),
    (GOOD + "mem_fraction_static = { low = 0.8, high = 0.9, step = 0.03 }\n", "the nearest high is 0.89"),
    (GOOD + "mem_fraction_static = { low = 0.8 }\n", "has no high"),
    (GOOD + "max_running_requests = [0]\n", "0 is not a whole number above 0"),
    (
        GOOD + "speculative_num_steps = [3]\n",
        "nothing without an algorithm; add speculative_algorithm =",
    ),
    (GOOD + "speculative_algorithm = ['off', 'EAGLE3']\n", "EAGLE3 needs a draft model; add [speculation]"),
    (
        GOOD.replace("[server]", "[server]\ngpus = [0, 1]") + 'layout = ["tp2", "tp2-dp2"]\n',
        "'tp2-dp2' needs 4 GPUs; [server] gpus lists 2",
    ),
    # bench and the rest
    (GOOD + "[bench]\nlevels = []\n", "must be different numbers of streams"),
    (GOOD + "[bench]\nlevels = [1, 1]\n", "must be different numbers of streams"),
    (GOOD + "[bench]\nlevels = [0]\n", "[bench] levels[0]: is 0; write a list of different numbers"),
    (GOOD + "[bench]\nlevels = 8\n", "[bench] levels: is 8; write a list"),
    (GOOD + "[bench]\nlevels = [1, 8]\nmain_level = 4\n", "4 is not a level; write one of 1, 8"),
    (GOOD + "[bench]\noutput_tokens = 1\n", "is 1; write a whole number of tokens, 2 or more"),
    (GOOD + '[bench]\nprompts = "no.jsonl"\n', 'no.jsonl; write "builtin" or the path'),
    (GOOD + '[bench]\nstop_hopeless = "yes"\n', "is 'yes'; write true or false"),
    (GOOD + "[limits]\nmin_kv = 1\n", "unknown key 'min_kv'; did you mean 'min_kv_tokens'?"),
    (GOOD + "[limits]\nmax_ttft_p95_ms = 0\n", "is 0; write a number of milliseconds above 0"),
    (GOOD + "[finals]\nboots = -1\n", "is -1; write a whole number of boots, 0 for no finals"),
    (GOOD + '[notify]\nwebhook = "example.org"\n', 'must begin with "https://"'),
    (GOOD + "[dashboard]\nport = 99999\n", "is 99999; write a port from 1 to 65535"),
    # known good
    (
        GOOD + "[[known_good]]\ncuda_graph_max_bs = 64\n",
        "[[known_good]] 1: cuda_graph_max_bs: 64 is outside the space (one of 128, 512); "
        "write there: cuda_graph_max_bs = [128, 512, 64]",
    ),
    (
        GOOD + "[[known_good]]\nchunked_prefill_size = 4096\n",
        "is not in [space]; add this line there: chunked_prefill_size = [4096]",
    ),
    (
        GOOD + "mem_fraction_static = { low = 0.7, high = 0.9, step = 0.01 }\n"
        "[[known_good]]\nmem_fraction_static = 0.925\n",
        "write there: mem_fraction_static = { low = 0.7, high = 0.925, step = 0.005 }",
    ),
    (GOOD + "[[known_good]]\ncuda_graph_max_bs = [128]\n", "[[known_good]] 1: cuda_graph_max_bs"),
    (GOOD + "[[known_good]]\ncuda_graph_max_bs = '128'\n", "'128' is not a whole number above 0"),
]


@pytest.mark.parametrize("text, sentence", BROKEN, ids=[sentence[:50] for _, sentence in BROKEN])
def test_a_broken_file_says_what_and_where(tmp_path: Path, text: str, sentence: str) -> None:
    assert any(sentence in problem for problem in problems(tmp_path, text)), problems(tmp_path, text)


def test_the_line_to_add_makes_the_file_valid(tmp_path: Path) -> None:
    text = GOOD + "[[known_good]]\nchunked_prefill_size = 4096\n"
    line = problems(tmp_path, text)[0].partition("there: ")[2]
    assert load(tmp_path, text.replace("[space]\n", f"[space]\n{line}\n")).known_good


@pytest.mark.parametrize(
    "content, sentence", [(None, "cannot be read: No such file"), (b"\xff", "not a text")]
)
def test_unreadable_files(tmp_path: Path, content: bytes | None, sentence: str) -> None:
    file = tmp_path / "study.toml"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(SpecError, match=sentence):
        StudySpec.load(file)


def test_a_broken_line_of_the_prompts_is_named(tmp_path: Path) -> None:
    (tmp_path / "prompts.jsonl").write_text('{"prompt": "Hello"}\nHello\n')
    (problem,) = problems(tmp_path, GOOD + '[bench]\nprompts = "prompts.jsonl"\n')
    assert problem.startswith("study.toml:9: [bench] prompts: ")
    assert "prompts.jsonl line 2: not JSON" in problem


def test_a_folder_is_no_study_file(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="cannot be read: Is a directory"):
        StudySpec.load(tmp_path)


def test_every_key_of_the_file_has_a_help_text() -> None:
    from autotune.spec import _Document
    from autotune.spec_help import EXPECTED

    for section, field in _Document.model_fields.items():
        assert section in EXPECTED
        model = field.annotation
        if section in ("space", "known_good"):
            continue
        assert isinstance(model, type)
        fields = set(model.model_fields) - ({"draft_model_path"} if section == "server" else set())
        assert {f"{section}.{name}" for name in fields} <= set(EXPECTED)


def test_the_python_of_a_virtual_environment_stays_a_link(tmp_path: Path) -> None:
    python = tmp_path / "venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.symlink_to(sys.executable)
    file = tmp_path / "study.toml"
    file.write_text(
        '[study]\nname = "a"\ntrials = 1\n'
        '[server]\ncommand = ["./venv/bin/python", "-m", "sglang.launch_server"]\nmodel_path = "m"\n'
        "[space]\ncuda_graph_max_bs = [64, 128]\n"
    )
    assert StudySpec.load(file).server.command == (str(python), "-m", "sglang.launch_server")
