"""Texts at the edges of all types, merged by Arrow in columns, by Spark in one task and in many: the same bytes, or the
same error."""

from __future__ import annotations

import csv
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyspark.errors import SparkRuntimeException

from airflow_provider_odf.engine import merge
from airflow_provider_odf.engine.columnar import inputs, texts
from airflow_provider_odf.engine.read.scalar import Formats, is_in_range, scalar
from airflow_provider_odf.records import files
from tests.engine.columnar.test_texts import KINDS, corpus
from tests.engine.columnar.value_texts import value_texts

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.engine.conftest import Polled

Make = Callable[..., "Polled"]
FORMS = ("columns", "one task", "many tasks")


@pytest.mark.long
@pytest.mark.spark
def test_texts_have_the_same_bytes(
    spark: SparkSession, polled: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    every = [*corpus(), *value_texts(random.Random(1), 300)]
    check(spark, polled, tmp_path, monkeypatch, every, random.Random(1), errors=1)


@pytest.mark.spark
@pytest.mark.torture
@pytest.mark.parametrize("seed", range(20))
def test_many_texts_have_the_same_bytes(
    spark: SparkSession, polled: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    rng = random.Random(seed)
    check(spark, polled, tmp_path, monkeypatch, value_texts(rng, 20_000), rng, errors=15)


def check(
    spark: SparkSession,
    polled: Make,
    work: Path,
    monkeypatch: pytest.MonkeyPatch,
    every: list[str],
    rng: random.Random,
    errors: int,
) -> None:
    """Merge a file with all texts that are values of their column, then files with one that is not."""
    every = [text for text in every if "\0" not in text]  # no CSV can have one
    values = _values(spark, every)
    by_arrow = {name: _read_by_arrow(known, KINDS[name][1]) for name, known in values.items()}
    for kind, known in (("by Arrow", by_arrow), ("all", values)):
        hashes, messages = _merged(polled, work / kind, monkeypatch, _rows(rng, known), has_spark=kind == "all")
        assert messages == {}
        assert len(set(hashes.values())) == 1, (kind, hashes)
    rows = _rows(rng, {name: known[:40] for name, known in by_arrow.items()})
    for number, (name, text) in enumerate(_others(rng, every, values, errors)):
        wrong = [*rows[:20], {**rows[20], name: text}, *rows[21:]]
        _, messages = _merged(polled, work / f"error{number}", monkeypatch, wrong, has_spark=True)
        assert set(messages) == {*FORMS}, (name, text, messages)
        assert len(set(messages.values())) == 1, (name, text, messages)


def _rows(rng: random.Random, values: dict[str, list[str]]) -> list[dict[str, str]]:
    """Return rows that have each value of each column."""
    rows = [{name: rng.choice(known) for name, known in values.items()} for _ in range(max(map(len, values.values())))]
    for name, known in values.items():
        for row, text in zip(rows, known, strict=False):
            row[name] = text
    return rows


def _read_by_arrow(values: list[str], kind: pa.DataType) -> list[str]:
    """Return the texts that Arrow reads together: times all have a zone or none has one."""
    read = [value for value in values if texts.convert(pa.array([value]), kind) is not None]
    return [value for value in read if value.endswith("Z")] if pa.types.is_timestamp(kind) else read


def _values(spark: SparkSession, every: list[str]) -> dict[str, list[str]]:
    """Return the texts that the strict reader reads, by column."""
    frame = spark.newSession().createDataFrame(pa.table({"r": every})).coalesce(1)
    typed = {n: (scalar("r", kind, Formats(has_millis=False), n), kind) for n, (kind, _) in KINDS.items()}
    read = frame.selectExpr(
        *(f"{sql} IS NOT NULL AND {is_in_range(f'({sql})', kind)} AS {n}" for n, (sql, kind) in typed.items())
    ).toArrow()
    return {n: [t for t, is_value in zip(every, read[n].to_pylist(), strict=True) if is_value] for n in KINDS}


def _others(
    rng: random.Random, every: list[str], values: dict[str, list[str]], count: int
) -> Iterator[tuple[str, str]]:
    """Yield columns and texts that are no value of theirs: a number of too many digits first."""
    names = [name for name in KINDS if name != "string"]
    others = {name: sorted({*every} - {*values[name]}) for name in names}
    yield "decimal_38_18", rng.choice([t for t in others["decimal_38_18"] if t.isdecimal() and len(t) < 30])
    for _ in range(count):
        name = rng.choice(names)
        yield name, rng.choice(others[name])


def _merged(
    polled: Make, work: Path, monkeypatch: pytest.MonkeyPatch, rows: list[dict[str, str]], *, has_spark: bool
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the hashes of the slices, or the messages of the errors, by form."""
    work.mkdir()
    path = work / "rows.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(KINDS), quoting=csv.QUOTE_ALL)
        writer.writeheader()
        writer.writerows(rows)
    columns = "; ".join(f"{name} {kind.simpleString().upper()}" for name, (kind, _) in KINDS.items())
    hashes: dict[str, Any] = {}
    messages: dict[str, str] = {}
    for form in FORMS:
        with monkeypatch.context() as only:
            if form == "columns" and not has_spark:
                only.setattr(merge, "read", _refuse)
            elif form != "columns":
                only.setattr(inputs, "open_input", lambda *_: None)
                only.setattr(files, "SMALL", files.SMALL if form == "one task" else -1)
            try:
                success = polled(columns, "Append", work=work / form, read={"header": True}).poll(path, kind="Csv")
            except SparkRuntimeException as e:
                messages[form] = e.getMessage()
            else:
                (new,) = success.new_slices
                assert new is not None
                hashes[form] = (new.physical_hash, new.logical_hash)
    return hashes, messages


def _refuse(*_: object) -> None:
    raise AssertionError("Spark reads")
