"""The lock file of development and CI pins what pyproject.toml asks for, with hashes."""

import re
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
LOCK = (ROOT / "requirements-dev.txt").read_text(encoding="utf-8")


def asked_for(extra):
    """The requirements of an extra and of the project's own extras that it names."""
    for text in PROJECT["optional-dependencies"][extra]:
        requirement = Requirement(text)
        if requirement.name == "devote":
            for other in requirement.extras:
                yield from asked_for(other)
        else:
            yield requirement


def pinned():
    """Versions by name, of which there may be several for several versions of Python."""
    versions = {}
    for name, version in re.findall(r"^([\w.-]+)==([^\s;]+)", LOCK, flags=re.M):
        versions.setdefault(canonicalize_name(name), []).append(version)
    return versions


def test_every_requirement_is_pinned_within_its_range():
    versions = pinned()
    for requirement in asked_for("dev"):
        found = versions.get(canonicalize_name(requirement.name), [])
        assert found, f"{requirement.name} is not locked: run make lock"
        for version in found:
            assert requirement.specifier.contains(version), f"{requirement}: run make lock"


def test_every_pin_has_hashes():
    pins = re.split(r"^(?=[\w.-]+==)", LOCK, flags=re.M)[1:]
    assert len(pins) > 50
    assert [pin.split()[0] for pin in pins if "--hash=sha256:" not in pin] == []


def test_every_range_has_an_upper_bound():
    for extra in PROJECT["optional-dependencies"]:
        for requirement in asked_for(extra):
            operators = {one.operator for one in requirement.specifier}
            assert operators & {"<", "<=", "==", "~="}, f"{requirement} of {extra}"
