from __future__ import annotations

import pytest

from airflow_provider_odf.contract.ecma import to_java


@pytest.mark.parametrize(
    ("ecma", "java"),
    [
        ("^[A-Za-z0-9]{8,14}$", r"^[A-Za-z0-9]{8,14}\z"),
        (r"^\$[0-9]+$", r"^\$[0-9]+\z"),
        (r"^[$]", "^[$]"),
        (r"[[a]", r"[\[a]"),
        (r"[^[]", r"[^\[]"),
        (r"[a&&b]", r"[a&\&b]"),
        (r"a&&b", "a&&b"),
        ("[^]", r"[\s\S]"),
        ("a[]b", "a(?!)b"),
        (r"[a\]$]$", r"[a\]$]\z"),
        (r"[a[]", r"[a\[]"),
        (r"\0\v", r"\x00\x0B"),
        (r"(?<year>\d{4})\k<year>", r"(?<year>\d{4})\k<year>"),
        ("", ""),
        ("line\nbreak", "line\nbreak"),
    ],
)
def test_rewrites(ecma: str, java: str):
    assert to_java(ecma) == java
