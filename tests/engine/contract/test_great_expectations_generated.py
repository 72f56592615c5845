"""Generated expectations on generated rows: the outcomes and unexpected rows of the library on Spark and of the engine.

It runs where the extra is installed: `make test-newest`.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import random
from collections.abc import Callable, Iterator
from decimal import Decimal
from importlib.util import find_spec
from typing import Any, TypeAlias

import pytest
from pyspark.sql import DataFrame

from airflow_provider_odf.contract.compile import compile_models
from airflow_provider_odf.contract.expectations import FORMS
from airflow_provider_odf.contract.load import parse
from airflow_provider_odf.engine.contract.sources import test_frames as report_on

pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif(find_spec("great_expectations") is None, reason="the extra great-expectations is missing"),
    pytest.mark.filterwarnings("ignore"),
]

Expectation: TypeAlias = tuple[str, dict[str, Any]]
Outcome: TypeAlias = tuple[str, int | None]

SCHEMA = (
    "n INT, l BIGINT, x DOUBLE, f FLOAT, m DECIMAL(10, 2), s STRING, k STRING, b BOOLEAN, d DATE, t TIMESTAMP, "
    "z DOUBLE, e STRING, q STRUCT<a: INT, r: STRUCT<b: INT>>"
)
NUMBERS, TEXTS = ("n", "l", "x", "f", "m", "z"), ("s", "k", "e")
COLUMNS = (*NUMBERS, *TEXTS, "b", "d", "t")
NAMES = ["n", "l", "x", "f", "m", "s", "k", "b", "d", "t", "z", "e", "q", "q.a", "q.r", "q.r.b"]
"""All columns, with the fields of structs, in order."""
WORDS = ("a", "b", "ab", "A", "", " a", "1", "2", "1.5", "äö", "aXb", "2024-01-01", "line\nend", "true")
PATTERNS = ("a", "^a$", "(?i)a", "^[0-9]+$", "", "b|1", r"\d", "^(a|b)$", "x", "a$", r"\bA")
BOUNDS = (None, 0, 1, 2, 1.5, -1, 3, 0.25, 2.0)
SHARES = (0, 1, 0.5, 0.25, 1 / 3, 2 / 3, 0.75, 0.7, 0.9, 0.95, 1.0)
SETS: tuple[list[Any], ...] = (
    [1, 2], [1.5, 2.0], ["a", "b"], ["1", "2"], [], [1, "a"], ["2024-01-01"], [True], [None, 1], ["a", None], [0.25],
    ["1.5"], [1, 1], [2**40], ["ab", "A", "a", "b", "1"],
)  # fmt: skip


def rows_of(chance: random.Random) -> list[tuple[Any, ...]]:
    """Return rows in which values repeat, and some are missing."""
    missing = chance.choice((0.0, 0.2, 0.6))
    value: dict[str, Any] = {
        "n": lambda: chance.randint(-1, 3),
        "l": lambda: chance.choice((0, 1, 2, 3, 2**40)),
        "x": lambda: chance.choice((0.0, -0.0, 1.0, 1.5, 2.0, float("nan"), 0.25)),
        "f": lambda: chance.choice((0.0, 1.0, 1.5, 2.0)),
        "m": lambda: Decimal(chance.choice(("0", "1.00", "1.50", "0.25", "2"))),
        "s": lambda: chance.choice(WORDS),
        "k": lambda: chance.choice(("1", "2", "3")),
        "b": lambda: chance.random() < 0.7,
        "d": lambda: dt.date(2024, 1, chance.randint(1, 3)),
        "t": lambda: dt.datetime(2024, 1, chance.randint(1, 2), chance.choice((0, 12))),
    }
    count = chance.choice((0, 1, 2, 3, 5, 8, 20))
    columns = [name for name in NAMES if "." not in name]
    return [
        tuple(None if c not in value or chance.random() < missing else value[c]() for c in columns)
        for _ in range(count)
    ]


def expectation_of(kind: str, chance: random.Random) -> Expectation:
    """Return an expectation with arguments that are mostly of the right type."""
    kwargs = {name: value() for name, value, share in _arguments(kind, chance) if chance.random() < share}
    if chance.random() < 0.03:
        kwargs[chance.choice(("strict", "mostly", "nope", "ignore_row_if", "strict_min"))] = 0.5
    return kind, kwargs


def _arguments(kind: str, chance: random.Random) -> Iterator[tuple[str, Callable[[], Any], float]]:
    """Yield the names of arguments, their values, and how often they are given."""
    one, flag, arguments = chance.choice, lambda: chance.random() < 0.5, FORMS[kind].arguments
    likely = TEXTS if "regex" in kind or "length" in kind else NUMBERS if "_between" in kind else COLUMNS
    column = ("n", "N", "nope", "q.a") if kind == "expect_column_to_exist" else (*likely * 5, *COLUMNS)
    columns = (NAMES, NAMES[:-1], NAMES[::-1], [*NAMES, "more"], [name.upper() for name in NAMES])
    lists = columns if "columns_to_match" in kind else [chance.sample(COLUMNS, n) for n in (1, 2, 2, 3)]
    rows = ("all_values_are_missing", "any_value_is_missing", "never", "both_values_are_missing")
    known: dict[str, tuple[Callable[[], Any], float]] = {
        "column": (lambda: one(column), 1),
        "column_list": (lambda: one(lists), 1),
        "column_set": (lambda: one(columns), 1),
        "exact_match": (flag, 0.6),
        "ignore_row_if": (lambda: one(rows), 0.7),
        "match_on": (lambda: one(("any", "all")), 0.5),
        "max_value": (lambda: one(BOUNDS), 0.8),
        "min_value": (lambda: one(BOUNDS), 0.8),
        "mostly": (lambda: one(SHARES), 0.6),
        "regex": (lambda: one(PATTERNS), 1),
        "regex_list": (lambda: chance.sample(PATTERNS, chance.randint(0, 3)), 1),
        "strict_max": (flag, 0.4),
        "strict_min": (flag, 0.4),
        "value": (lambda: one((0, 1, 2, len(NAMES), 5)), 1),
        "value_set": (lambda: one(SETS), 1),
    }
    yield from ((name, *known[name]) for name in sorted(arguments))


def of_engine(frame: DataFrame, expectations: list[Expectation]) -> list[tuple[Outcome, str]]:
    rules = [
        {
            "type": "custom",
            "engine": "great-expectations",
            "specification": {"expectation_type": kind, "kwargs": kwargs},
        }
        for kind, kwargs in expectations
    ]
    head = {"dataContractSpecification": "1.2.1", "id": "t", "info": {"title": "T", "version": "1.0.0"}}
    contract = json.dumps(head | {"models": {"t": {"fields": {"n": {"type": "int"}}, "quality": rules}}})
    report = report_on(compile_models(parse(contract, "c.yaml"), ["t"]), {"t": frame})
    results = [r for r in report.results if "quality" in r.path]
    return [((r.outcome, r.failed_rows), r.reason) for r in results]


def of_library(frame: DataFrame, expectations: list[Expectation]) -> list[tuple[Outcome, str]]:
    os.environ["GX_ANALYTICS_ENABLED"] = "false"
    import great_expectations as gx
    from great_expectations.data_context.types.base import ProgressBarsConfig
    from great_expectations.expectations.expectation_configuration import ExpectationConfiguration

    context = gx.get_context(mode="ephemeral")
    context.variables.progress_bars = ProgressBarsConfig(globally=False)
    source = context.data_sources.add_spark("rows", persist=False)
    definition = source.add_dataframe_asset("rows").add_batch_definition_whole_dataframe("all")
    batch = definition.get_batch({"dataframe": frame})
    counts = {"result_format": "BASIC", "partial_unexpected_count": 0}
    outcomes: dict[int, tuple[Outcome, str]] = {}
    suite = gx.ExpectationSuite("all")
    of_expectation: list[tuple[int, Any]] = []
    for index, (kind, kwargs) in enumerate(expectations):
        try:
            made = ExpectationConfiguration(type=kind, kwargs=kwargs, meta={"index": index}).to_domain_obj()
        except Exception as e:
            outcomes[index] = (("error", None), " ".join(str(e).split()))
            continue
        of_expectation.append((index, made))
        suite.expectations.append(made)

    def outcome(result: Any) -> tuple[Outcome, str]:
        info = result.exception_info
        entries = [info, *info.values()] if isinstance(info, dict) else []
        if raised := [e for e in entries if isinstance(e, dict) and e.get("raised_exception")]:
            return ("error", None), str(raised[0].get("exception_message"))[:200]
        observed = result.result or {}
        return ("pass" if result.success else "fail", observed.get("unexpected_count")), str(
            observed.get("observed_value")
        )

    for result in batch.validate(suite, result_format=counts).results:
        index = result.expectation_config.meta["index"]
        outcomes[index] = outcome(result)
    for index, made in of_expectation:
        if outcomes[index][0][0] == "error":  # one that fails may fail others of its query
            outcomes[index] = outcome(batch.validate(made, result_format=counts))
    return [outcomes[index] for index in range(len(expectations))]


REFUSED = ("needs min_value, max_value or both", "is not a whole number", "does not apply to a column", "value_set of")
"""Parts of the reasons of differences that the reference page lists."""


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.torture) for seed in range(1, 10))])
def test_outcomes_are_those_of_the_library(spark, seed: int):
    chance = random.Random(seed)
    frame = spark.createDataFrame(rows_of(chance), SCHEMA)
    expectations = [expectation_of(kind, chance) for kind in FORMS for _ in range(2 if seed else 1)]
    ours, theirs = of_engine(frame, expectations), of_library(frame, expectations)
    different = []
    for expectation, (our, reason), (their, message) in zip(expectations, ours, theirs, strict=True):
        outcome = "error" if our[0] == "unsupported" else our[0]
        counts = {our[1], their[1]} - {None}
        is_refused = outcome == "error" and any(part in reason for part in REFUSED)
        if not is_refused and (outcome != their[0] or len(counts) > 1):
            different.append(f"{expectation}\n  engine {our} {reason}\n  library {their} {message}")
    assert not different, "\n".join(different)
