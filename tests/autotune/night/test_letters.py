"""Each webhook gets the shape that it understands."""

from __future__ import annotations

import pytest

from autotune.night.letters import News, letter

NEWS = News(
    "new_best", "kimi", True, "2026-11-29T21:00:00.000Z", "Trial 7 <is> the best & so on.", {"best": 7}
)


def test_slack_gets_one_escaped_text() -> None:
    url = "https://hooks.slack.com/services/T0/B0/x"
    sent = letter(url, NEWS)
    assert sent.url == url
    assert sent.body == {"text": "*kimi (simulated): new best*\nTrial 7 &lt;is&gt; the best &amp; so on."}


@pytest.mark.parametrize(
    "url, root",
    [
        ("https://ntfy.sh/my-nights", "https://ntfy.sh/"),
        ("http://ntfy.example.org:8080/my-nights?auth=QmFz", "http://ntfy.example.org:8080/?auth=QmFz"),
        ("https://user:pw@ntfy.lan/behind/a/my-nights", "https://user:pw@ntfy.lan/behind/a"),
    ],
)
def test_ntfy_gets_its_topic_at_the_root(url: str, root: str) -> None:
    sent = letter(url, NEWS)
    assert sent.url == root
    assert sent.body["topic"] == "my-nights"
    assert sent.body["message"] == NEWS.text
    assert sent.body["title"] == "kimi (simulated): new best"
    assert "priority" not in sent.body


def test_a_sick_machine_is_urgent() -> None:
    news = News("box_sick", "kimi", False, NEWS.at, "GPU 3 fell off the bus.")
    assert letter("https://ntfy.sh/t", news).body["priority"] == 4


@pytest.mark.parametrize(
    "url", ["https://example.org/hook", "https://notntfy.example.org/t", "https://ntfy.sh/"]
)
def test_anybody_else_gets_the_facts(url: str) -> None:
    sent = letter(url, NEWS)
    assert sent.url == url
    assert sent.body["event"] == "new_best"
    assert sent.body["verdict"] == {"best": 7}
    assert sent.body["simulated"] is True
    assert sent.body["title"] == "kimi (simulated): new best"
