"""A page of the site: where each part of the paper is, and a test that holds it.

``make docs`` makes it from ``paper_map.toml``, which has the words and the names. A
name is written there as it is defined, without its file: ``Problem.optimal``, or ``ser3:observe``
where several modules define it. The files are looked up in the sources, so that a page never lags
behind a module that has moved, and a name that is gone is an error.
"""

import ast
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
Places = dict[str, list[str]]
"""Where each name is defined: modules, or files of tests."""


class UnknownName(LookupError):
    """A name in ``paper_map.toml`` that no file defines, or several do."""


def page() -> str:
    """The whole page."""
    words = tomllib.loads((ROOT / "scripts/paper_map.toml").read_text(encoding="utf-8"))
    code, tests = code_places(), test_places()
    lines = [f"# {words['title']}", "", words["text"].strip()]
    for section in words["section"]:
        lines += ["", f"## {section['title']}", ""]
        if "text" in section:
            lines += [section["text"].strip(), ""]
        lines += [f"| part | {section['head']} | code | test |", "|---|---|---|---|"]
        for part, text, names, held_by in section["rows"]:
            names = ", ".join(f"`{find(code, name, ':')}`" for name in names)
            held_by = ", ".join(f"`{find(tests, name, '::')}`" for name in held_by)
            lines.append(f"| {part} | {text} | {names} | {held_by} |")
    return "\n".join(lines) + "\n"


def find(places: Places, written: str, mark: str) -> str:
    """The place of a name and the name, such as ``devote.theory.vote:vote_failure``."""
    hint, _, name = written.rpartition(":")
    found = [place for place in places.get(name.partition(".")[0], []) if _is(place, hint)]
    if len(found) != 1:
        raise UnknownName(f"{written}: defined in {', '.join(found) or 'no file'}.")
    return f"{found[0]}{mark}{name}"


def _is(place: str, hint: str) -> bool:
    stem = place.removesuffix(".py").replace("/", ".")
    return not hint or f".{stem}".endswith(f".{hint}")


def code_places() -> Places:
    """Every function, class and constant of the package, by name."""
    places: Places = defaultdict(list)
    for path in sorted((ROOT / "src").rglob("*.py")):
        module = ".".join(path.relative_to(ROOT / "src").with_suffix("").parts)
        for name in _defined(path):
            places[name].append(module.removesuffix(".__init__"))
    return places


def test_places() -> Places:
    """Every test, by name."""
    places: Places = defaultdict(list)
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        for name in _defined(path):
            places[name].append(path.relative_to(ROOT).as_posix())
    return places


def _defined(path: Path) -> Iterator[str]:
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Assign):
            yield from (target.id for target in node.targets if isinstance(target, ast.Name))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id
