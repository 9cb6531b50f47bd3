"""docs/serverless.md as somebody follows it."""

import pytest
from tests.docs.walk import follow


@pytest.mark.slow
def test_the_page_runs_from_top_to_bottom(tmp_path):
    printed = follow("serverless.md", tmp_path, {})
    assert "the answer: green" in printed
    assert "never decide differently" in printed
    assert "silent" in printed  # all devices have ended
    assert "signed: 10" in printed
