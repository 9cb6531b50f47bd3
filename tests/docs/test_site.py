"""The site: it builds without a warning, its links hold, and it loads nothing from elsewhere."""

import os
import re
import subprocess
import sys
from html import unescape
from urllib.parse import unquote, urlsplit

import pytest
from tests.docs.markdown import DOCS, ROOT, text_of

import devote

KATEX = DOCS / "site/node_modules/katex"


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


def test_the_site_is_whole_its_links_hold_and_it_loads_nothing_from_elsewhere(site):
    # The page of an address that is not there has links from the root.
    pages = {path: text_of(path) for path in site.rglob("*.html") if path.name != "404.html"}
    made = {"index", "contributing", "changelog", "paper_map"}
    assert {path.stem for path in pages} == {path.stem for path in DOCS.glob("*.md")} | made
    anchors = {path: set(re.findall(r'\b(?:id|name)="([^"]+)"', pages[path])) for path in pages}
    count = 0
    for path, text in pages.items():
        loads = re.findall(r'<(?:script|img|source|iframe)[^>]+src(?:set)?="([^"]+)"', text)
        loads += re.findall(r'<link[^>]+href="([^"]+)"[^>]*rel="(?:stylesheet|icon|preload)"', text)
        assert not [load for load in loads if load.startswith(("http:", "https:"))]
        for link in [*re.findall(r'<a[^>]+href="([^"]+)"', text), *loads]:
            parts = urlsplit(unescape(link))
            if not parts.scheme:
                count += 1
                target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
                target = target / "index.html" if target.is_dir() else target
                assert target.exists(), f"{path.name}: {link}"
                if target in pages and parts.fragment:
                    assert unquote(parts.fragment) in anchors[target], f"{path.name}: {link}"
    assert count > 1000
    for sheet in site.rglob("*.css"):
        assert not re.search(r"url\([\"']?https?:|@import", text_of(sheet))
    reference = text_of(site / "reference.html")
    assert "<blockquote>" not in reference  # examples in docstrings are blocks of code
    assert "In full" in text_of(site / "claims.html")


@pytest.mark.skipif(not (KATEX.exists() or os.environ.get("CI")), reason="needs npm")
def test_formulas_are_typeset_with_fonts_of_the_site(site):
    proofs = text_of(site / "proofs.html")
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


def test_the_reference_has_every_public_name():
    text = text_of(DOCS / "reference.md")
    documented = set(re.findall(r"^::: devote\.(?:\w+\.)*(\w+)$", text, flags=re.M))
    assert set(devote.__all__) - documented == {"PROBLEMS", "SCHEMES", "__version__"}
