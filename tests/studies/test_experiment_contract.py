"""Every experiment in the registry: its sweep runs, its figure is drawn, its rows are judged.

A new experiment is found here by its line in the registry.
"""

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from matplotlib.collections import LineCollection

import devote.studies
from devote.studies import Settings, experiments
from devote.studies.drawing.canvas import save
from devote.studies.drawing.style import BARS, house_style
from devote.studies.registry import FOLDERS
from devote.studies.sweeping import run, sweeps_for
from devote.studies.verdicts import VERDICTS

TINY = Settings(players=(32,), trials=2)
PNG = b"\x89PNG\r\n\x1a\n"
HOME = Path(devote.studies.__file__).parent


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """One folder of results, so that cells which experiments share are run once."""
    return tmp_path_factory.mktemp("results")


@pytest.fixture(params=experiments(), scope="module")
def experiment(request):
    return experiments()[request.param]


@pytest.fixture(scope="module")
def table(experiment, results):
    return run([experiment], TINY, results, workers=1)


def test_every_folder_is_in_the_registry():
    folders = {path.parent.name for path in HOME.glob("*/claims.py")}
    assert folders == set(FOLDERS)
    assert [name.replace("-", "_") for name in experiments()] == list(FOLDERS)


def test_every_folder_has_its_three_files():
    for folder in FOLDERS:
        assert {"sweep.py", "figure.py", "claims.py"} <= {p.name for p in (HOME / folder).iterdir()}


def test_figures_and_claims_never_simulate():
    for path in [*HOME.glob("*/figure.py"), *HOME.glob("*/claims.py"), *HOME.glob("drawing/*.py")]:
        text = path.read_text(encoding="utf-8")
        assert "run_sweep" not in text
        assert "simulate.engine" not in text
        assert "import simulate" not in text


def test_it_says_what_it_is(experiment):
    assert experiment.title
    assert experiment.source


def test_its_sweep_holds_what_its_figure_and_claims_read(experiment, table):
    planned = experiment.plan(TINY)
    assert all(table[item.cell].trials == item.trials for item in planned)
    assert sum(len(cells) for cells in sweeps_for([experiment], TINY).values()) == len(table)


def test_its_figure_is_drawn_as_svg_pdf_and_png(experiment, table, tmp_path):
    assert experiment.draw is not None
    with house_style():
        figure = experiment.draw(table, TINY)
    svg, pdf, png = save(figure, tmp_path, experiment.name)
    assert ET.parse(svg).getroot().tag.endswith("svg")
    assert pdf.read_bytes().startswith(b"%PDF-")
    assert pdf.stat().st_size < 60_000
    assert png.read_bytes().startswith(PNG)
    assert 5_000 < png.stat().st_size < 150_000
    assert {path.name for path in tmp_path.iterdir()} == {svg.name, pdf.name, png.name}


def test_a_figure_with_samples_says_what_its_bars_are(experiment, table):
    """One measure of uncertainty in all figures, and no band beside it."""
    if not experiment.plan(TINY):
        return
    with house_style():
        figure = experiment.draw(table, TINY)
    assert any(BARS in text.get_text() for text in figure.texts)
    drawn = [item for axes in figure.axes for item in axes.collections]
    assert drawn
    assert all(isinstance(item, LineCollection) for item in drawn)


def test_its_rows_are_well_formed(experiment, table):
    for claim in experiment.claims(table, TINY):
        row = json.loads(json.dumps(claim.to_dict(), allow_nan=False))
        assert row["verdict"] in VERDICTS
        assert all(row[key] for key in ("name", "quote", "where", "measured", "asked"))
        assert bool(row["depends_on"]) == (row["verdict"] == "depends")
        if row["verdict"] != "not measured":
            assert all(case["estimates"] for case in row["cases"])


def test_names_of_claims_are_unique(results):
    table = run(list(experiments().values()), TINY, results, workers=1)
    names = [c.name for e in experiments().values() for c in e.claims(table, TINY)]
    assert len(names) == len(set(names))
    assert len(names) >= 20
