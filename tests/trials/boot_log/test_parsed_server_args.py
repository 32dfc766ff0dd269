"""The ``server_args=`` line in both of its forms, whole and damaged."""

from __future__ import annotations

from trials.boot_log import BootLog, parse_server_args


def test_a_dict_since_0_5_19() -> None:
    text = "server_args={'model_path': '/m', 'tp_size': 8, 'mem_fraction_static': 0.88, 'nccl_port': None}"
    assert parse_server_args(text) == {
        "model_path": "/m",
        "tp_size": 8,
        "mem_fraction_static": 0.88,
        "nccl_port": None,
    }


def test_an_objects_repr_before() -> None:
    text = "server_args=ServerArgs(model_path='/m, (x)', cuda_graph_bs=[1, 2, 4], enable=True, lora=None)"
    assert parse_server_args(text) == {
        "model_path": "/m, (x)",
        "cuda_graph_bs": [1, 2, 4],
        "enable": True,
        "lora": None,
    }


def test_what_is_no_literal_is_kept_as_text() -> None:
    text = "server_args={'mode': <Mode.FULL: 'full'>, 'config': Config(a=1, b='}'), 'tp_size': 2}"
    assert parse_server_args(text) == {
        "mode": "<Mode.FULL: 'full'>",
        "config": "Config(a=1, b='}')",
        "tp_size": 2,
    }


def test_quotes_inside_strings_do_not_end_them() -> None:
    text = r"""server_args={'chat_template': "it's, {{ here }}", 'path': 'a\'b, c', 'tp_size': 2}"""
    assert parse_server_args(text) == {"chat_template": "it's, {{ here }}", "path": "a'b, c", "tp_size": 2}


def test_a_truncated_line_keeps_what_came_before_the_cut() -> None:
    args = parse_server_args("server_args={'tp_size': 8, 'host': '127.0.0.1', 'port': 31000, 'api_k")
    assert args == {"tp_size": 8, "host": "127.0.0.1", "port": 31000}


def test_nothing_is_executed() -> None:
    args = parse_server_args("server_args={'a': __import__('os').getcwd(), 'b': 1}")
    assert args == {"a": "__import__('os').getcwd()", "b": 1}


def test_another_text_has_no_arguments() -> None:
    assert parse_server_args("nothing here") is None
    assert parse_server_args("server_args=") is None


def test_the_boot_log_keeps_them() -> None:
    log = BootLog()
    log.feed("[2026-11-29 15:13:41] server_args={'tp_size': 8}")
    assert log.server_args == {"tp_size": 8}
