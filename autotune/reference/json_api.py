"""``docs/json-api.md``: what the dashboard answers to programs, from its own routes and models."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pydantic import BaseModel

from autotune.dashboard.app import create_app
from autotune.reference.markdown import GENERATED, attribute_words, code, first_paragraph, plain, table
from trials.outcome import BootReport, Failure, Measurement, Percentiles, Remedy

_RECORDS: tuple[type[BaseModel], ...] = (Measurement, Percentiles, BootReport, Failure, Remedy)
_HEAD = f"""# The dashboard's JSON

{GENERATED}

The dashboard listens on `http://127.0.0.1:8760` (the next free port if that is taken; the address is
printed). Reading is free on the same machine; whatever changes something needs the token of the link that is
printed. The whole schema stands at `/api/openapi.json`. Times are UTC, `null` means that nobody knows,
and everything from the simulated box says `"simulated": true`."""


def document() -> str:
    with TemporaryDirectory() as nothing:
        schema = create_app(Path(nothing)).openapi()
    routes = "\n\n".join(_routes(schema))
    records = "\n\n".join(map(_record, _RECORDS))
    return f"{_HEAD}\n\n{routes}\n\n## Objects inside the answers\n\n{records}\n"


def _routes(schema: Mapping[str, Any]) -> Iterator[str]:
    for path, methods in schema["paths"].items():
        for method, told in methods.items():
            rows = [_parameter(one) for one in told.get("parameters", ()) if one["in"] == "query"]
            parts = [f"## {method.upper()} {path}", plain(told.get("description", ""))]
            if rows:
                parts.append(table(("parameter", "is", "left out"), rows))
            parts += _bodies(told, schema)
            yield "\n\n".join(filter(None, parts))


def _parameter(one: Mapping[str, Any]) -> tuple[str, str, str]:
    kind = one["schema"]
    words = [plain(one.get("description", "")), _choices(kind)]
    default = kind.get("default")
    left_out = (
        "must be there" if one.get("required") else code(json.dumps(default)) if default is not None else ""
    )
    return code(one["name"]), "; ".join(filter(None, words)) or _type(kind), left_out


def _choices(kind: Mapping[str, Any]) -> str:
    return f"one of {', '.join(map(code, kind['enum']))}" if "enum" in kind else ""


def _type(kind: Mapping[str, Any]) -> str:
    kinds = [one.get("type", "") for one in kind.get("anyOf", (kind,))]
    return " or ".join(name for name in kinds if name and name != "null")


def _bodies(told: Mapping[str, Any], schema: Mapping[str, Any]) -> Iterator[str]:
    body = told.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
    forms = [_resolved(one["$ref"], schema) for one in body.get("oneOf", ())]
    if forms:
        rows = [(_body_words(form), plain(form.get("description", ""))) for form in forms]
        yield table(("body", "asks"), rows)


def _body_words(form: Mapping[str, Any]) -> str:
    fields = {name: _value_words(kind) for name, kind in form["properties"].items()}
    return code("{" + ", ".join(f'"{name}": {words}' for name, words in fields.items()) + "}")


def _value_words(kind: Mapping[str, Any]) -> str:
    fixed = kind.get("enum") or ([kind["const"]] if "const" in kind else [])
    return " or ".join(map(json.dumps, fixed)) if fixed else _type(kind)


def _resolved(reference: str, schema: Mapping[str, Any]) -> Mapping[str, Any]:
    found: Mapping[str, Any] = schema["components"]["schemas"][reference.rsplit("/", 1)[1]]
    return found


def _record(model: type[BaseModel]) -> str:
    words = attribute_words(model)
    rows = [(code(name), words.get(name, "")) for name in model.model_fields]
    return f"### {model.__name__}\n\n{first_paragraph(model)}\n\n{table(('field', 'is'), rows)}"
