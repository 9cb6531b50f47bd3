"""The whole of it: run, draw, judge, write."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from devote.files import write_whole
from devote.simulate.result import versions
from devote.simulate.sweep.sweep import Progress
from devote.studies import report
from devote.studies.claim import Claim
from devote.studies.registry import choose
from devote.studies.settings import Settings, StudyError
from devote.studies.sweeping import run


@dataclass(frozen=True)
class Reproduction:
    """What was written, and the claims with their verdicts."""

    settings: Settings
    folder: Path
    figures: tuple[Path, ...]
    claims: tuple[Claim, ...]

    def to_dict(self) -> dict[str, Any]:
        """What was written, as JSON values."""
        return {
            "out": str(self.folder),
            "trials": self.settings.trials,
            "players": list(self.settings.players),
            "seed": self.settings.seed,
            "figures": [path.name for path in self.figures],
            "verdicts": report.tally(self.claims),
            "claims": [claim.to_dict() for claim in self.claims],
        }


def reproduce(
    figures: Sequence[str] = (),
    *,
    settings: Settings | None = None,
    out: str | Path = "reproduction",
    workers: int | None = None,
    dask: str | None = None,
    progress: Progress | None = None,
) -> Reproduction:
    """Run studies, all by default; write their figures and the table of claims to ``out``.

    Trials go to append-only files in ``out/results``: an interrupted run goes on where it
    stopped, and a second one only draws.

    Paper: section 5.
    """
    chosen = choose(figures)
    asked = settings or Settings()
    folder = _folder(Path(out))
    table = run(chosen, asked, folder / "results", workers=workers, dask=dask, progress=progress)
    from devote.studies.drawing.style import house_style, save

    written: list[Path] = []
    claims: list[Claim] = []
    for study in chosen:
        for claim in study.claims(table):
            # A verdict that rests on the range of players is marked if the range was cut.
            claims.append(replace(claim, missing=asked.missing if claim.over_players else ()))
        with house_style():
            figure = study.figure(table)
        written += save(figure, folder, study.name)
    claims.sort(key=lambda claim: bool(claim.uncounted))
    for form, text in (("md", report.as_markdown), ("json", report.as_json)):
        write_whole(folder / f"claims.{form}", text(claims, asked, versions()).encode())
    return Reproduction(asked, folder, tuple(written), tuple(claims))


def _folder(out: Path) -> Path:
    """The folder, made if need be; refused before any work is done if it cannot be written."""
    probe = out / "results" / ".writable"
    try:
        probe.parent.mkdir(parents=True, exist_ok=True)
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise StudyError(
            f"The folder {out} cannot be written ({error.strerror}).\nChoose another with --out."
        ) from None
    return out
