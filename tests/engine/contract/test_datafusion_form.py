"""Which patterns of Java RE2 finds in the same texts."""

from __future__ import annotations

import pytest

from airflow_provider_odf.engine.contract.datafusion_form import _is_re2


@pytest.mark.parametrize("pattern", [r"^C-[0-9]{3}$", r"(?:ab)+c?", r"a|(b)", r"[a-z\d]+", r"\Aab*\z", r"x{2,3}?"])
def test_patterns_that_mean_the_same(pattern: str) -> None:
    assert _is_re2({"java": pattern})


@pytest.mark.parametrize(
    "pattern",
    [r"(?i)k", r"(?m)^b", r"(?U)\d", r"(?i:a)b", r"(?=a)b", r"(?<name>a)", r"(?P<name>a)", r"(?>a)", r"a++", r"\ba",
     r"(a)\1", r"[a&&b]"],
)  # fmt: skip
def test_patterns_that_spark_must_judge(pattern: str) -> None:
    assert not _is_re2({"java": pattern})
