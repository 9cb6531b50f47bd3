"""Links between the pages of the repository, as a code host follows them."""

import re

import pytest
from tests.docs.markdown import PAGES, ROOT, anchors_of, links_of, prose_of

IDS = {"argvalues": PAGES, "ids": lambda page: page.name}


@pytest.mark.parametrize("page", **IDS)
def test_every_link_leads_to_a_file_and_a_heading(page):
    for file, anchor in links_of(page):
        assert file.exists(), file.relative_to(ROOT)
        if anchor:
            assert anchor in anchors_of(file), f"{file.name}#{anchor}"


@pytest.mark.parametrize("page", **IDS)
def test_a_list_has_an_empty_line_before_it(page):
    """Code hosts do not need one; the site would make one paragraph of it."""
    text = prose_of(page)
    joined = re.findall(r"^(?![-*|>#\s]|\d+\.).*\S\n(?:[-*] |\d+\. ).*$", text, flags=re.M)
    assert joined == []


def test_there_are_links_to_check():
    assert sum(len(list(links_of(page))) for page in PAGES) > 80
