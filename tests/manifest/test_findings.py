from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from airflow_provider_odf.manifest.findings import INVALID, Finding, NotValid, rule, valid


@rule
def count(items: Any) -> Iterator[Finding]:
    for item in items:
        yield Finding((), f"{item}")


@rule
def always(_: Any) -> Iterator[Finding]:
    yield Finding((), "said")


def test_a_rule_ends_at_what_did_not_validate() -> None:
    assert [f.message for f in count([1, INVALID, 2])] == ["1"]
    assert list(count(INVALID)) == []
    assert [f.message for f in always(1)] == ["said"]
    assert list(always(INVALID)) == []


@pytest.mark.parametrize(
    "look",
    [
        lambda x: x.attribute,
        lambda x: x == 1,
        lambda x: x != 1,
        lambda x: x in (1, 2),
        lambda x: 1 in x,
        lambda x: x < 1,
        lambda x: x or 1,
        lambda x: {x},
        lambda x: f"{x}",
        str,
        len,
        list,
    ],
)
def test_whatever_looks_into_it_ends(look: Callable[[Any], object]) -> None:
    with pytest.raises(NotValid):
        look(INVALID)


def test_it_may_be_there_and_is_nothing_known() -> None:
    assert INVALID is not None
    assert not isinstance(INVALID, str | Finding)


def test_the_rest() -> None:
    assert list(valid(enumerate(["a", INVALID, "b"]))) == [(0, "a"), (2, "b")]
