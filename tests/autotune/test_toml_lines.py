from __future__ import annotations

import pytest

from autotune.toml_lines import KeyPath, key_lines, line_of

TEXT = '''\
# [not a table]
first = 1
[study]
name = "x"  # [also not]
levels = [
  1, # ]
  8,
]
prose = """
[nope]
key = 1
"""
"flag.a-b" = [2]
env = { A = "1" }
[[known_good]]
layout = "tp8"
[[known_good]]
layout = "tp4"
'''


@pytest.mark.parametrize(
    "path, line",
    [
        (("first",), 2),
        (("study",), 3),
        (("study", "name"), 4),
        (("study", "levels"), 5),
        (("study", "levels", 1), 5),
        (("study", "flag.a-b"), 13),
        (("study", "env", "A"), 14),
        (("known_good", 0, "layout"), 16),
        (("known_good", 1, "layout"), 18),
        (("known_good", 1, "absent"), 17),
        (("known_good",), 15),
        (("absent",), None),
    ],
)
def test_line_of_a_key_or_of_what_holds_it(path: KeyPath, line: int | None) -> None:
    assert line_of(key_lines(TEXT), path) == line


def test_a_table_inside_a_multi_line_text_is_no_table() -> None:
    assert ("nope",) not in key_lines(TEXT)
