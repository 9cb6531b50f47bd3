"""Every study that ``reproduce`` lists: scenarios run, figure drawn, rows judged.

A new study is found here by its module's ``STUDIES``.
"""

import json
import xml.etree.ElementTree as ET
from importlib import import_module
from pathlib import Path

import pytest
from matplotlib.collections import LineCollection

import devote.studies
from devote.studies import Settings, studies
from devote.studies.claim import VERDICTS, sentences
from devote.studies.reproduce import STUDIES, plan, run
from devote.studies.style import BARS, house_style, save

TINY = Settings(players=(32,), trials=2)
PNG = b"\x89PNG\r\n\x1a\n"
HOME = Path(devote.studies.__file__).parent


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """One folder of results, so that scenarios which studies share are run once."""
    return tmp_path_factory.mktemp("results")


@pytest.fixture(params=studies(), scope="module")
def study(request):
    return studies()[request.param]


@pytest.fixture(scope="module")
def table(study, results):
    # On clocks where nobody would wait for the event loop; the rest on loops that others compile.
    engine = "auto" if study.name == "median-elimination" else "event"
    return run([study], TINY, results, engine=engine, workers=1)


@pytest.fixture(scope="module")
def figure(study, table):
    with house_style():
        return study.figure(table)


def test_every_study_is_listed():
    """Each module with a list of studies is one that ``reproduce`` runs."""
    files = [p.stem for p in HOME.rglob("*.py") if "\nSTUDIES = " in p.read_text(encoding="utf-8")]
    found = [one for stem in files if stem != "reproduce" for one in studies_of(stem)]
    assert {one.name for one in found} == {one.name for one in STUDIES} == set(studies())


def studies_of(stem):
    module = import_module(f"devote.studies.{stem}")
    assert "paper" in module.__doc__.lower() or "Theorem" in module.__doc__
    return module.STUDIES


def test_figures_and_claims_never_simulate():
    """Only ``reproduce`` runs what studies plan, and ``sweeps`` what a command asks."""
    running = ("run_sweep", "import simulate", "simulate.engine", "run_trial", "view_runs")
    for path in HOME.rglob("*.py"):
        if path.name not in ("reproduce.py", "sweeps.py"):
            assert not [word for word in running if word in path.read_text(encoding="utf-8")], path


def test_its_scenarios_hold_what_its_figure_and_claims_read(study, table):
    planned = study.scenarios(TINY)
    assert all(table[one].trials == trials for one, trials in planned.items())
    assert len(plan([study], TINY)) == len(table)


def test_its_figure_is_drawn_as_svg_pdf_and_png(study, figure, tmp_path):
    svg, pdf, png = save(figure, tmp_path, study.name)
    assert ET.parse(svg).getroot().tag.endswith("svg")
    assert pdf.read_bytes().startswith(b"%PDF-")
    assert pdf.stat().st_size < 60_000
    assert png.read_bytes().startswith(PNG)
    assert 5_000 < png.stat().st_size < 150_000
    assert {path.name for path in tmp_path.iterdir()} == {svg.name, pdf.name, png.name}


def test_a_figure_with_samples_says_what_its_bars_are(study, figure):
    """One measure of uncertainty in all figures, and no band beside it."""
    if not study.scenarios(TINY):
        return
    assert any(BARS in text.get_text() for text in figure.texts)
    drawn = [item for axes in figure.axes for item in axes.collections]
    assert drawn
    assert all(isinstance(item, LineCollection) for item in drawn)


def test_its_rows_are_well_formed(study, table):
    for claim in study.claims(table):
        row = json.loads(json.dumps(claim, allow_nan=False))
        assert row["verdict"] in VERDICTS
        assert all(row[key] for key in ("name", "quote", "where", "measured", "asked"))
        assert bool(row["depends_on"]) == (row["verdict"] == "depends")
        if row["verdict"] != "not measured":
            assert all(case["estimates"] for case in row["cases"])


def test_names_of_claims_are_unique(results):
    table = run(list(studies().values()), TINY, results, engine="event", workers=1)
    names = [claim["name"] for study in studies().values() for claim in study.claims(table)]
    assert len(names) == len(set(names))
    assert set(names) == set(sentences()), "every sentence is judged"
    assert len(names) >= 20
