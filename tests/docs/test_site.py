"""The site: it builds without a warning, its links hold, and it loads nothing from elsewhere."""

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit

import pytest
from tests.docs.markdown import ROOT

import devote

KATEX = ROOT / "docs/site/node_modules/katex"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    assert "WARNING" not in built.stderr
    return folder


class Page(HTMLParser):
    """What a page can be linked to at, where it links to, and what it loads."""

    def __init__(self, path):
        super().__init__()
        self.anchors, self.links, self.loads = {""}, [], []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        self.anchors |= {values[name] for name in ("id", "name") if values.get(name)}
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        elif tag == "link" and values.get("rel") in ("stylesheet", "icon", "preload"):
            self.loads.append(values["href"])
        elif tag in ("img", "script", "source", "iframe"):
            self.loads += [values[name] for name in ("src", "srcset") if name in values]


def test_the_site_is_whole_its_links_hold_and_it_loads_nothing_from_elsewhere(site):
    # The page of an address that is not there has links from the root.
    pages = {path: Page(path) for path in site.rglob("*.html") if path.name != "404.html"}
    stems = {path.stem for path in (ROOT / "docs").glob("*.md")}
    made = {"index", "contributing", "changelog", "paper_map"}
    assert {path.stem for path in pages} == stems | made
    assert sum(check_links(path, page, pages) for path, page in pages.items()) > 1000
    for sheet in site.rglob("*.css"):
        assert not re.search(r"url\([\"']?https?:|@import", sheet.read_text(encoding="utf-8"))
    reference = (site / "reference.html").read_text(encoding="utf-8")
    assert "<blockquote>" not in reference  # examples in docstrings are blocks of code
    assert "In full" in (site / "claims.html").read_text(encoding="utf-8")


@pytest.mark.skipif(not KATEX.exists(), reason="make docs installs KaTeX")
def test_formulas_are_typeset_with_fonts_of_the_site(site):
    proofs = (site / "proofs.html").read_text(encoding="utf-8")
    assert proofs.count('class="katex"') > 300
    assert "katex-error" not in proofs
    assert "arithmatex" not in proofs
    assert (site / "site/katex/fonts/KaTeX_Main-Regular.woff2").exists()


@pytest.mark.browser
def test_search_works_from_files_and_asks_the_network_for_nothing(site, chromium):
    with chromium.new_context() as context:
        page, asked = context.new_page(), []
        page.on("request", lambda request: asked.append(request.url))
        page.goto((site / "index.html").as_uri())
        page.fill(".md-search__input", "supermartingale")
        page.wait_for_selector(".md-search-result__link")
        assert "proofs.html" in page.get_attribute(".md-search-result__link", "href")
    assert {urlsplit(address).scheme for address in asked} <= {"file", "data", "blob"}


def check_links(path, page, pages):
    """Follow the links of a page; how many there are within the site."""
    assert not [one for one in page.loads if urlsplit(one).scheme in ("http", "https")]
    inside = [link for link in (*page.links, *page.loads) if not urlsplit(link).scheme]
    for link in inside:
        parts = urlsplit(link)
        target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
        target = target / "index.html" if target.is_dir() else target
        assert target.exists(), f"{path.name}: {link}"
        if target in pages:
            assert unquote(parts.fragment) in pages[target].anchors, f"{path.name}: {link}"
    return len(inside)


def test_the_reference_has_every_public_name():
    text = (ROOT / "docs/reference.md").read_text()
    documented = set(re.findall(r"^::: devote\.(?:\w+\.)*(\w+)$", text, flags=re.M))
    assert set(devote.__all__) - documented == {"PROBLEMS", "SCHEMES", "__version__"}
