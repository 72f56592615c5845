"""Functions and operators of an engine nested deeply in each argument: translated with work that grows with the depth,
or refused with the place before the work multiplies."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sqlglot import exp

from airflow_provider_odf.dialect import parsing
from airflow_provider_odf.dialect.engine import Translator
from airflow_provider_odf.dialect.spark import Value
from airflow_provider_odf.dialect.translate import ENGINES, preprocess_to_spark
from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.manifest.model import TransformSql
from airflow_provider_odf.protocol import Column

DEPTH = 13
"""A form that repeats its argument would have 2**13 parts or more."""
FORMS = {"flink": 80, "risingwave": 30}
"""Fewest functions and operators of each engine that can be nested."""
COLUMNS = (
    Column("x", "BIGINT"), Column("y", "DOUBLE"), Column("z", "STRING"), Column("t", "TIMESTAMP"), Column("d", "DATE"),
    Column("b", "BOOLEAN"), Column("m", "DECIMAL(12,2)"), Column("w", "DECIMAL(36,2)"), Column("a", "ARRAY<STRING>"),
    Column("*", "UNKNOWN"),
)  # fmt: skip
ARGUMENTS = ("x", "y", "z", "t", "b", "u")
OTHERS = ("x", "z", "b", "1", "'a'")
OPERATORS = (
    "{} + {}", "{} - {}", "{} * {}", "{} / {}", "{} % {}", "{} || {}", "{} = {}", "{} < {}", "{} is distinct from {}",
    "{} and {}", "{} or {}", "not {}", "- {}", "{} is null", "{} is true", "{} between {} and {}", "{} in ({}, {})",
    "{} like {}", "case {} when {} then {} when 2 then {} end", "case when {} then {} else {} end", "if({}, {}, {})",
    "cast({} as double precision)", "cast({} as varchar)", "cast({} as bigint)", "cast({} as date)",
    "cast({} as decimal(12, 2))", "cast({} as boolean)", "cast({} as timestamp)", "try_cast({} as bigint)",
    "try_cast({} as timestamp)", "extract(year from {})", "floor({} to day)", "floor({})", "ceil({})", "trim({})",
    "trim({} from {})", "substring({} from {} for {})", "substring({} from {})", "position({} in {})", "{}[{}]",
)  # fmt: skip
BACK = ("{}", "cast({} as varchar)", "cast({} as bigint)", "cast({} as double precision)", "cast({} as date)", "{} = 1")
"""What makes a result an argument again."""


def forms(engine: str) -> list[str]:
    calls = [f"{name}({', '.join(['{}'] * n)})" for name in ENGINES[engine].scalars for n in (1, 2, 3)]
    return [*OPERATORS, *calls]


def others(count: int) -> Iterator[tuple[str, ...]]:
    """The arguments that are not nested."""
    if count <= 1:
        yield from ((other,) * count for other in OTHERS[: len(OTHERS) if count else 1])
    else:
        yield from ((other,) * count for other in OTHERS if other != "b")
        yield (*["x"] * (count - 1), "z")


def nested(form: str, position: int, back: str, values: tuple[str, ...], depth: int) -> str:
    inner, *others = values
    for _ in range(depth):
        filled = [*others[:position], inner, *others[position:]]
        inner = "(" + back.format("(" + form.format(*filled) + ")") + ")"
    return inner


def translated(engine: str, expression: str) -> tuple[str, str]:
    """The query for Spark and the message of a refusal; one of them is empty."""
    query = TransformSql(engine=engine, query=f"select {expression} as v from input")
    try:
        return preprocess_to_spark(query, {"input": COLUMNS}).queries[0].query, ""
    except InvalidInput as e:
        return "", str(e)


def nestings(engine: str) -> Iterator[tuple[str, int, str, tuple[str, ...]]]:
    """Each form in each position, with the arguments of which it makes the longest query."""
    for form in forms(engine):
        if "arguments" in translated(engine, form.replace("{}", "null"))[1]:
            continue
        for position in range(form.count("{}")):
            length, values = max(length_and_values(engine, form, position, argument) for argument in ARGUMENTS)
            backs = (back for back in BACK if translated(engine, nested(form, position, back, values, 2))[0])
            if length and (back := next(backs, None)):
                yield form, position, back, values


def length_and_values(engine: str, form: str, position: int, argument: str) -> tuple[int, tuple[str, ...]]:
    """The length of the query and the arguments with which the engine accepts a form; 0 if there are none."""
    for rest in others(form.count("{}") - 1):
        if query := translated(engine, nested(form, position, "{}", (argument, *rest), 1))[0]:
            return len(query), (argument, *rest)
    return 0, ()


@pytest.mark.no_cover
@pytest.mark.parametrize("engine", ENGINES)
def test_work_grows_with_the_depth(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = list(nestings(engine))
    work = {"typed": 0, "parts": 0}
    typing, check = Translator.expression, parsing.check_result

    def counted_typing(self: Translator, node: exp.Expr) -> Value:
        work["typed"] += 1
        return typing(self, node)

    def counted_check(node: exp.Expr, result: exp.Expr) -> None:
        work["parts"] += sum(1 for _ in result.walk())
        check(node, result)

    monkeypatch.setattr(Translator, "expression", counted_typing)
    monkeypatch.setattr(parsing, "check_result", counted_check)
    for form, position, back, values in chosen:
        work.update(typed=0, parts=0)
        query = nested(form, position, back, values, DEPTH)
        refused = translated(engine, query)[1]
        assert work["typed"] <= 12 * DEPTH, query
        assert work["parts"] <= 100_000, query
        assert not refused or refused.startswith("preprocess query 1, 1:"), refused
    assert len({form for form, *_ in chosen}) >= FORMS[engine]
