"""Values of Parquet in declared types: exact, or an error."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame
from pyspark.sql import types as st

from airflow_provider_odf.engine.read import scalar
from airflow_provider_odf.engine.read.convert import Value
from airflow_provider_odf.engine.read.parquet import ParquetFile
from airflow_provider_odf.engine.read.scalar import Formats
from airflow_provider_odf.protocol import ReadStep
from tests.engine.read import casts

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

SOURCES = ("int64", "uint64", "float32", "float64", "decimal_38_18", "decimal_38_38", "bytes")
KINDS = ("BIGINT", "FLOAT", "DOUBLE", "DECIMAL(38,18)", "VARCHAR(5)")


def test_values_in_other_types(spark: SparkSession, tmp_path: Path) -> None:
    session = spark.newSession()
    session.conf.set("spark.sql.codegen.wholeStage", "false")
    session.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN")  # compiling takes longer than the few rows
    sources = casts.sources(Random(1), 4)
    assert check(session, tmp_path, {name: sources[name] for name in SOURCES}, KINDS) > 2_000


@pytest.mark.torture
@pytest.mark.parametrize("seed", range(100, 105))
def test_many_values_in_all_types(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    for name, values in casts.sources(Random(seed), 40).items():
        check(spark.newSession(), tmp_path, {name: values}, casts.KINDS)


def check(spark: SparkSession, folder: Path, sources: Mapping[str, pa.Array], kinds: Collection[str]) -> int:
    """Compare each value in each type with the oracle. Return the number of comparisons."""
    frame = _frame(spark, folder / "values.parquet", sources)
    types = {kind: st.DataType.fromDDL(kind) for kind in kinds}
    pairs, columns = list[tuple[str, str]](), list[str]()
    for name, values in sources.items():
        origin, first = frame.schema[name].dataType, casts.value_of(name, values[0].as_py())
        own = [kind for kind in kinds if casts.is_castable(first, kind)]
        assert own == [kind for kind in kinds if scalar.is_castable(origin, types[kind])]
        for kind in own:
            if name == "text" and kind.startswith(("DATE", "TIME")):
                continue  # the strict reader of texts has its own tests
            value = Value(name, types[kind], name, Formats.of(ReadStep("Parquet")), origin)
            columns += [f"{value.typed()} AS t{len(pairs)}", f"{value.is_wrong(value.typed())} AS w{len(pairs)}"]
            pairs.append((name, kind))
    read, count, wrong = frame.selectExpr(*columns).toArrow(), 0, list[tuple[Any, ...]]()
    for i, (name, kind) in enumerate(pairs):
        outcomes = zip(sources[name].to_pylist(), read[f"t{i}"].to_pylist(), read[f"w{i}"].to_pylist(), strict=False)
        for written, typed, is_wrong in outcomes:
            value, actual = casts.value_of(name, written), casts.REFUSED if is_wrong else typed
            count += 1
            if not casts.is_right(value, kind, actual):
                wrong.append((name, kind, value, actual, casts.cast(value, kind)))
    assert not wrong, wrong[:20]
    return count


def _frame(spark: SparkSession, path: Path, sources: Mapping[str, pa.Array]) -> DataFrame:
    """Write columns of different lengths to one file, and read it."""
    rows = max(map(len, sources.values()))
    whole = {n: pa.concat_arrays([values, pa.nulls(rows - len(values), values.type)]) for n, values in sources.items()}
    pq.write_table(pa.table(whole), path)
    return ParquetFile(ReadStep("Parquet"), str(path), "values").read(spark).frame
