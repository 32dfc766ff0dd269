"""What a webhook is sent: the shape that its address asks for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, TypeAlias
from urllib.parse import SplitResult, urlsplit, urlunsplit

Event: TypeAlias = Literal["new_best", "night_over", "box_sick"]

_TITLES: dict[Event, str] = {
    "new_best": "new best",
    "night_over": "the night is over",
    "box_sick": "the machine is sick",
}
_NTFY_TAGS: dict[Event, str] = {
    "new_best": "chart_with_upwards_trend",
    "night_over": "sunrise",
    "box_sick": "warning",
}
_NTFY_HIGH = 4
_SLACK_HOSTS = ("hooks.slack.com", "hooks.slack-gov.com")


@dataclass(frozen=True)
class News:
    """Something worth waking up for.

    Attributes:
        at: UTC text as ``db.clock`` writes it.
        verdict: As ``autotune.verdict`` gives it, None before anything has worked.
    """

    event: Event
    study: str
    simulated: bool
    at: str
    text: str
    verdict: Mapping[str, Any] | None = None

    @property
    def title(self) -> str:
        word = " (simulated)" if self.simulated else ""
        return f"{self.study}{word}: {_TITLES[self.event]}"


@dataclass(frozen=True)
class Letter:
    """A JSON body and where it is posted."""

    url: str
    body: Mapping[str, Any]


def letter(url: str, news: News) -> Letter:
    """Slack's incoming webhooks take a text; ntfy takes a topic at its root; anything else gets the facts.

    Sources: https://api.slack.com/messaging/webhooks, https://docs.ntfy.sh/publish/#publish-as-json.
    """
    address = urlsplit(url)
    host = (address.hostname or "").lower()
    if host in _SLACK_HOSTS:
        return Letter(url, {"text": f"*{_escaped(news.title)}*\n{_escaped(news.text)}"})
    if "ntfy" in host.split(".") and address.path.strip("/"):
        return _ntfy(address, news)
    return Letter(url, asdict(news) | {"title": news.title})


def _ntfy(address: SplitResult, news: News) -> Letter:
    *root, topic = address.path.strip("/").split("/")
    body: dict[str, Any] = {
        "topic": topic,
        "title": news.title,
        "message": news.text,
        "tags": [_NTFY_TAGS[news.event]],
    }
    if news.event == "box_sick":
        body["priority"] = _NTFY_HIGH
    return Letter(urlunsplit(address._replace(path="/" + "/".join(root))), body)


def _escaped(text: str) -> str:
    """Slack reads these three as markup: https://api.slack.com/reference/surfaces/formatting#escaping."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
