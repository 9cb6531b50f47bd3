"""Measure, keep the numbers beside the pictures, draw."""

from argparse import ArgumentParser
from pathlib import Path

from devote.files import write_whole
from devote.studies.five_schemes.measure import Comparison, compare_schemes
from devote.studies.five_schemes.picture import draw_narrow, draw_wide


def main(folder: Path, measure: bool = True) -> None:
    """Write ``five-schemes.json`` and its two pictures."""
    data = folder / "five-schemes.json"
    if measure:
        compare_schemes().save(data)
    compared = Comparison.load(data)
    write_whole(folder / "five-schemes.svg", draw_wide(compared).encode())
    write_whole(folder / "five-schemes-narrow.svg", draw_narrow(compared).encode())


if __name__ == "__main__":
    parser = ArgumentParser(description="The picture of the five schemes, measured and drawn.")
    parser.add_argument("folder", nargs="?", type=Path, default=Path("docs/figures"))
    parser.add_argument("--draw", action="store_true", help="only draw what was measured before")
    asked = parser.parse_args()
    main(asked.folder, measure=not asked.draw)
