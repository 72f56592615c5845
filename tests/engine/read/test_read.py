"""What holds for every kind of read step."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("kind", ["Csv", "Json", "NdJson", "Parquet"])
@pytest.mark.parametrize("columns", [None, ["a INT"]])
def test_a_file_without_a_byte_is_an_error(refusal_of, kind: str, columns: list[str] | None) -> None:
    assert refusal_of(kind, b"", columns) == "https://example.com/data: the file is empty"
