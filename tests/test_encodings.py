"""Names of encodings."""

from __future__ import annotations

import pytest

from airflow_provider_odf.read_steps import python_encoding


@pytest.mark.parametrize(
    ("name", "python"),
    [
        ("", "utf-8"),
        ("UTF8", "utf-8"),
        (" utf-8 ", "utf-8"),
        ("latin1", "iso8859-1"),
        ("ISO-8859-1", "iso8859-1"),
        ("Windows-1252", "cp1252"),
        ("windows-31j", "cp932"),
        ("x-MacRoman", "mac-roman"),
        ("US-ASCII", "ascii"),
        ("Shift_JIS", "shift_jis"),
    ],
)
def test_names(name: str, python: str) -> None:
    assert python_encoding(name) == python


@pytest.mark.parametrize("name", ["utf-9", "rot13", "base64"])
def test_what_is_no_encoding_of_texts(name: str) -> None:
    with pytest.raises(ValueError, match=f"^unknown encoding '{name}'$"):
        python_encoding(name)
