"""Edited datasets."""

from __future__ import annotations

from pathlib import Path

import pytest

from .editing import Edited, K, V, polling


@pytest.fixture
def edited(tmp_path: Path) -> Edited:
    return Edited(tmp_path)


@pytest.fixture
def with_data(edited: Edited) -> Edited:
    edited.apply(polling())
    edited.add_data(K, V)
    return edited
