"""TOML text of the plain values that a specification is made of, for round trips."""

import json
from typing import Any


def to_toml(values: dict[str, Any]) -> str:
    """The values, tables last; None is left out, as a person would."""
    plain = {key: value for key, value in values.items() if not isinstance(value, dict)}
    lines = [f"{key} = {_text(value)}" for key, value in plain.items() if value is not None]
    for key, table in values.items():
        if isinstance(table, dict):
            lines += ["", f"[{key}]", to_toml(table)]
    return "\n".join(lines) + "\n"


def _text(value: Any) -> str:
    # JSON's texts are TOML's, but for characters beyond the basic plane and DEL.
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")
    if isinstance(value, list):
        return "[" + ", ".join(map(_text, value)) + "]"
    return json.dumps(value)
