"""The tutorial, in a file of its own so that another worker can run it beside the other pages."""

from __future__ import annotations

import pytest

from .test_transcripts import check


@pytest.mark.slow
@pytest.mark.spark
def test_tutorial() -> None:
    check("tutorial.md")
