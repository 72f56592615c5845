"""Column lineage of random queries, and the facet that events have of it."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from openlineage.client.serde import Serde

from airflow_provider_odf.lineage.columns import Origin, column_lineage
from airflow_provider_odf.lineage.dataset import Input, Subject
from airflow_provider_odf.lineage.facets import columns_of_transform
from airflow_provider_odf.lineage.naming import stores
from airflow_provider_odf.protocol import Column, SqlQueryStep, Transform
from tests.lineage.random_queries import DIRECT, TABLES, Use, query, summed
from tests.lineage_schemas import facet_errors

ENGINES = ("spark", "datafusion", "flink", "risingwave")
INPUTS = [
    Input(name, Subject(stores.local_file(f"/store/{name}"), "file:///store/", name,
                        columns=tuple(Column(column, "STRING") for column in columns)), None)
    for name, columns in TABLES.items()
]  # fmt: skip


def said(origins: tuple[Origin, ...]) -> list[tuple[str, str, bool]]:
    return sorted((f"{o.table}.{o.column}", o.way, o.is_masking) for o in origins)


def fields(listed: list[dict[str, Any]]) -> list[tuple[str, str, str, bool]]:
    return sorted(
        (f"{item['name'].removeprefix('/store/')}.{item['field']}", way["type"], way["subtype"], way["masking"])
        for item in listed
        for way in item["transformations"]
    )


def typed(uses: frozenset[Use]) -> list[tuple[str, str, str, bool]]:
    kinds = ((at, "DIRECT" if way in DIRECT else "INDIRECT", way, masked) for at, way, masked in summed(uses))
    return sorted(kinds)


def compare(engine: str, seed: int) -> Counter[str]:
    """Compare one query; return how often it has each way."""
    listed, made = query(engine, seed)
    steps = tuple(SqlQueryStep(sql, alias) for sql, alias in listed)
    text = f"{engine} {seed}\n" + "\n".join(f"{step.alias}: {step.query}" for step in steps)
    lineage = column_lineage(engine, steps, TABLES)
    assert lineage.columns == tuple(name for name, _ in made.columns), text
    assert said(lineage.rows) == summed(made.rows), text
    for name, uses in made.columns:
        assert said(lineage.of(name.upper())) == summed(uses), f"{text}\n{name}"
        assert lineage.is_resolved(name), text
    output = Subject(stores.local_file("/store/out"), "file:///store/", "out",
                     columns=tuple(Column(name, "STRING") for name, _ in made.columns))  # fmt: skip
    facets = columns_of_transform(INPUTS, Transform(engine, steps), output)
    assert bool(facets) == any([made.rows, *(uses for _, uses in made.columns)]), text
    if facets:
        facet = Serde.to_dict(facets["columnLineage"])
        assert facet_errors(facet) == []
        expected = {name: typed(uses) for name, uses in made.columns if uses}
        assert {name: fields(of["inputFields"]) for name, of in facet["fields"].items()} == expected, text
        assert fields(facet["dataset"]) == typed(made.rows), text
    every = [made.rows, *(uses for _, uses in made.columns)]
    return Counter(way for uses in every for _, way, _ in summed(uses))


@pytest.mark.parametrize("engine", ENGINES)
def test_each_column_and_the_rows_of_random_queries(engine: str) -> None:
    ways = sum((compare(engine, seed) for seed in range(50)), Counter())
    assert min(ways[way] for way in (*DIRECT, "CONDITIONAL", "FILTER", "GROUP_BY", "JOIN", "SORT", "WINDOW")) > 5


@pytest.mark.torture
@pytest.mark.parametrize("engine", ENGINES)
def test_many_random_queries(engine: str) -> None:
    for seed in range(50, 3_000):
        compare(engine, seed)
