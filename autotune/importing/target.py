"""The study that is told of boots from elsewhere, and how like another one is to it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from autotune.search import SearchSpace, SpaceError
from db.rows import StudyRow
from trials.settings import BenchPlan, ServerPlan, Settings

_ENDPOINT = ("--host", "--port")


@dataclass(frozen=True)
class Target:
    """The study to import into."""

    card: StudyRow

    @property
    def server(self) -> ServerPlan:
        return ServerPlan.model_validate(self.card.spec["server"])

    @property
    def bench(self) -> BenchPlan:
        return BenchPlan.model_validate(self.card.spec["bench"])

    @property
    def space(self) -> SearchSpace:
        return SearchSpace.from_dict(self.card.spec["space_table"])

    def fitting(self, settings: Mapping[str, Any]) -> Settings:
        """Settings as this study's space writes them; what it does not tune is dropped.

        Raises:
            SpaceError: If a value lies outside, or one is missing.
        """
        space = self.space
        known = {name: value for name, value in settings.items() if name in space.parameters}
        checked = space.check(known)
        if missing := space.missing(checked):
            raise SpaceError(missing[0], f"{missing[0]} is not known")
        return space.active(checked)

    def differences(self, other: StudyRow) -> Iterator[str]:
        """Why another study's boots do not count as this one's; nothing when they do."""
        mine, theirs = self.card, other
        yield from _differing("model", _server(mine, "model_path"), _server(theirs, "model_path"))
        drafts = [_server(card, "draft_model_path") for card in (mine, theirs)]
        yield from _differing("draft model", *drafts)
        yield from _differing("SGLang", _sglang(mine), _sglang(theirs))
        yield from _differing("GPUs", _cards(mine), _cards(theirs))
        if mine.simulated != theirs.simulated:
            yield f"one is simulated, {'this' if mine.simulated else 'the other'} one"
        if _fixed(mine) != _fixed(theirs):
            yield "the fixed arguments or variables differ"
        bench = BenchPlan.model_validate(theirs.spec["bench"])
        if (bench.output_tokens, bench.prompts) != (self.bench.output_tokens, self.bench.prompts):
            yield "it was measured with other text"
        yield from self._space_differences(theirs)

    def _space_differences(self, other: StudyRow) -> Iterator[str]:
        table = other.spec["space_table"]
        extra = [name for name in table if name not in self.space.parameters]
        if extra:
            yield f"it tuned {', '.join(extra)} as well"


def _differing(what: str, mine: Any, theirs: Any) -> Iterator[str]:
    if mine != theirs:
        yield f"{what}: {theirs or 'unknown'} there, {mine or 'unknown'} here"


def _server(card: StudyRow, name: str) -> Any:
    return card.spec.get("server", {}).get(name)


def _sglang(card: StudyRow) -> str | None:
    """The version; of a simulated box its name, which stands for one version even before its first boot."""
    box = _server(card, "box")
    return f"that of box {box}" if box else card.versions.get("sglang")


def _cards(card: StudyRow) -> str:
    names = [str(gpu.get("name", "")) for gpu in card.gpus]
    return ", ".join(f"{names.count(name)}x {name}" for name in sorted(set(names)))


def _fixed(card: StudyRow) -> tuple[list[str], dict[str, str]]:
    """Arguments without the endpoint, and variables; secrets are stars in both."""
    words = list(_server(card, "args") or ())
    kept = [
        word
        for word, previous in zip(words, ["", *words], strict=False)
        if word not in _ENDPOINT and previous not in _ENDPOINT
    ]
    return kept, dict(_server(card, "env") or {})
