"""The tutorial, in a file of its own so that another worker can run it beside the other pages."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.shared_engine import shared_engine

from .test_transcripts import check


@pytest.mark.pages
@pytest.mark.spark
def test_tutorial(tmp_path: Path) -> None:
    with shared_engine(tmp_path) as programs:
        check("tutorial.md", programs)
