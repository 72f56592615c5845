"""Published data in real Spark: the format ``odf``, its stream, and scans as DataFrames."""

import sys
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.compute as pc
import pyspark
import pytest
from pyspark import cloudpickle
from pyspark.errors import PySparkException
from pyspark.sql import datasource as d
from pyspark.sql.datasource import InputPartition
from pyspark.sql.types import StringType, StructType

from airflow_provider_odf import open_store
from airflow_provider_odf.engine.spark_version import to_arrow_schema
from airflow_provider_odf.errors import ChainCorrupted, InvalidInput, OdfError
from airflow_provider_odf.manifest import model
from airflow_provider_odf.spark import OdfDataSource
from airflow_provider_odf.spark.slices import with_filters

pytestmark = pytest.mark.spark

has_streams = pytest.mark.skipif(pyspark.__version__.startswith("4.1."), reason="streams need Spark 4.2")

SNAPSHOT = model.MergeStrategySnapshot(primary_key=("id",))
SLICES = (
    [("+A", 1, "a"), ("+A", 2, "b"), ("+A", 7, "seven")],
    [("-C", 1, "a"), ("+C", 1, "A")],
    [("-R", 2, "b"), ("+A", 3, None)],
)


@pytest.fixture
def numbers(grow):
    growing = grow(merge=SNAPSHOT)
    growing.blocks = []
    for rows in SLICES:
        growing.add(*rows)
        growing.blocks.append(growing.dataset.head())
    return growing


def short(frame):
    return short_rows(row.asDict() for row in frame.collect())


def short_rows(rows):
    return sorted(" ".join(str(row[n]) for n in ("offset", "op", "id", "value") if n in row) for row in rows)


def read(at, filters=(), schema=None, **options):
    """Rows that the workers of Spark would read, and the number of their partitions, without Spark."""
    source = data_source(at, **options)
    schema = schema or source.schema()
    reader = source.reader(schema)
    assert list(reader.pushFilters(list(filters))) == list(filters)
    parts = reader.partitions()
    worker, parts = cloudpickle.loads(cloudpickle.dumps((reader, parts)))
    batches = [batch for part in parts for batch in worker.read(part)]
    assert all(batch.schema == to_arrow_schema(schema) for batch in batches)
    return short_rows(row for batch in batches for row in batch.to_pylist()), len(parts)


def data_source(at, **options):
    return OdfDataSource({"store": at.location, "dataset": "numbers", **options})


HISTORY = ["0 0 1 a", "1 0 2 b", "2 0 7 seven", "3 2 1 a", "4 3 1 A", "5 1 2 b", "6 0 3 None"]


def test_the_format_reads_what_its_mode_names(numbers, store):
    one, two, _ = numbers.blocks
    assert data_source(store).schema().names == ["system_time", "event_time", "id", "value"]
    assert read(store) == (["1 A", "3 None", "7 seven"], 3)
    assert read(store, asOf=one) == (["1 a", "2 b", "7 seven"], 1)
    assert read(store, mode="history") == (HISTORY, 3)
    assert read(store, mode="history", asOf=two[:20]) == (HISTORY[:5], 2)
    assert read(store, mode="changes", since=one, until=two) == (HISTORY[3:5], 1)
    assert read(store, mode="changes", since="1", until="3") == (HISTORY[2:4], 2)
    assert read(store, [d.EqualTo(("id",), 7)]) == (["7 seven"], 3)


def test_filters_of_spark_as_conditions_of_arrow(numbers, store):
    """Rows after each pushed filter alone; Spark evaluates the filter again."""
    history = open_store(store.location)["numbers"].history()
    for filters, expected in (
        ([d.EqualTo(("id",), 7)], HISTORY[2:3]),
        ([d.Not(d.EqualTo(("id",), 7)), d.GreaterThan(("offset",), 4)], HISTORY[5:]),
        ([d.Not(d.IsNull(("value",))), d.LessThanOrEqual(("offset",), 0)], HISTORY[:1]),
        ([d.IsNull(("value",))], HISTORY[6:]),
        ([d.In(("id",), (3, 7))], [HISTORY[2], HISTORY[6]]),
        ([d.Not(d.In(("id",), (1, 2)))], [HISTORY[2], HISTORY[6]]),
        ([d.StringStartsWith(("value",), "se")], HISTORY[2:3]),
        ([d.StringEndsWith(("value",), "n"), d.StringContains(("value",), "eve")], HISTORY[2:3]),
        ([d.GreaterThanOrEqual(("system_time",), datetime(2024, 5, 2, 8, tzinfo=UTC))], HISTORY),
        ([d.LessThan(("system_time",), datetime(2024, 5, 2, 8, tzinfo=UTC))], []),
        ([d.EqualTo(("value", "nested"), 1), d.EqualTo(("id",), "text"), d.EqualNullSafe(("id",), 1)], HISTORY),
        ([d.In(("id",), (1, None)), d.Not(d.EqualTo(("nowhere",), 1))], HISTORY),
    ):
        rows = with_filters(history, filters).to_table().to_pylist()
        assert [f"{r['offset']} {r['op']} {r['id']} {r['value']}" for r in rows] == expected, filters


def test_spark_pushes_filters_and_reads_the_columns_of_a_schema(odf, numbers):
    """Real workers, in processes of their own."""
    frame = odf().schema("value STRING, id BIGINT").load().where("id = 1 OR value LIKE 'sev%'").where("id <> 2")
    assert (frame.columns, short(frame)) == (["value", "id"], ["1 A", "7 seven"])


def test_no_row_is_lost_to_a_filter_on_numbers_that_are_not(grow, store):
    grow(columns=[pa.field("id", pa.int64()), pa.field("value", pa.float64())]).add(
        ("+A", 1, float("nan")), ("+A", 2, 1.0), ("+A", 3, None)
    )
    assert read(store, [d.GreaterThan(("value",), 5.0)])[0] == ["1 nan", "2 1.0", "3 None"]  # Spark filters them


def test_types_of_other_writers(grow, store, spark):
    columns = [
        pa.field("id", pa.uint64()),
        pa.field("value", pa.struct([("x", pa.large_string()), ("y", pa.list_(pa.field("item", pa.int32())))])),
    ]
    grow(columns=columns).add(("+A", 2**64 - 1, {"x": "a", "y": [1, None]}), ("+A", None, None))
    rows = open_store(store.location)["numbers"].history().to_spark(spark).orderBy("offset").collect()
    assert [(row["id"], row["value"] and row["value"].asDict()) for row in rows] == [
        (18446744073709551615, {"x": "a", "y": [1, None]}),
        (None, None),
    ]
    assert read(store, mode="history")[0] == [
        "0 0 18446744073709551615 {'x': 'a', 'y': [1, None]}",
        "1 0 None None",
    ]


def test_scans_as_data_frames(spark, store, numbers):
    dataset = open_store(store.location)["numbers"]
    assert short(dataset.current().to_spark(spark)) == ["1 A", "3 None", "7 seven"]
    assert short(dataset.as_of(numbers.blocks[0]).to_spark(spark)) == ["1 a", "2 b", "7 seven"]
    assert short(dataset.changes(since=1, until=4).to_spark(spark)) == HISTORY[2:5]
    assert dataset.history().select("value", "id").to_spark(spark).columns == ["value", "id"]
    with pytest.raises(InvalidInput, match=r"use `DataFrame.where` instead"):
        dataset.history().where(pc.field("id") == 1).to_spark(spark)


def test_rows_without_a_key(spark, grow, store):
    growing = grow()
    growing.add(("+A", 1, "a"), ("+A", 1, "a"), ("+A", 2, "b"))
    assert read(store) == (["1 a", "1 a", "2 b"], 1)
    growing.add(("-R", 1, "a"))
    assert read(store) == (["1 a", "2 b"], 2)
    assert short(open_store(store.location)["numbers"].current().to_spark(spark)) == ["1 a", "2 b"]


def test_a_dataset_without_records(spark, grow, store):
    grow()
    assert read(store) == ([], 0)
    source = data_source(store)
    assert list(source.reader(source.schema()).read(InputPartition(None))) == []  # as Spark does without partitions
    assert open_store(store.location)["numbers"].history().to_spark(spark).columns[4:] == ["id", "value"]


def test_columns_that_differ_by_case_alone(spark, grow, odf, store):
    grow(columns=[pa.field("id", pa.int64()), pa.field("ID", pa.string())]).add(("+A", 1, "a"))
    scan = open_store(store.location)["numbers"].history()
    with pytest.raises(InvalidInput, match="dataset numbers has the columns id, ID, which are one column in Spark"):
        scan.to_spark(spark)
    assert scan.select("ID").to_table().to_pylist() == [{"ID": "a"}]


def test_options_that_do_not_fit(store, numbers, tmp_path):
    for options, message in (
        ({"dataset": ""}, "format odf needs the option 'dataset'"),
        ({"dataset": "number"}, "no dataset number in "),
        ({"store": str(tmp_path / "away")}, "check the path of the store, and that it is mounted"),
        ({"path": "x"}, 'format odf has no path: name the store and the dataset by .option("store", STORE)'),
        ({"as_of": "x"}, "format odf has no option 'as_of' (did you mean `asOf`?)"),
        ({"mode": "curent"}, "format odf has no mode 'curent' (did you mean `current`?)"),
        ({"since": "1"}, "mode 'current' has no option 'since': it belongs to changes"),
        ({"mode": "changes", "maxFilesPerTrigger": "1"}, "it belongs to readStream"),
        ({"mode": "changes", "since": "99"}, "since is offset 99, but its newest offset is 6"),
        ({"asOf": "f1620abc"}, "has no block f1620abc"),
    ):
        with pytest.raises(OdfError) as error:
            read(store, **options)
        assert message in str(error.value)
    with pytest.raises(InvalidInput, match="column id is bigint, not string: cast it after reading"):
        read(store, schema=StructType().add("id", StringType()))


def test_a_damaged_slice(store, numbers):
    path = numbers.add(("+A", 9, "nine"))
    path.write_bytes(path.read_bytes()[:-9] + bytes(9))
    with pytest.raises(ChainCorrupted, match=f"{path.name}: checksum mismatch"):
        read(store)


def micro_batches(frame, checkpoint):
    """The new rows of each micro-batch of a run that ends with what there is."""
    seen = []
    query = (
        frame.writeStream.option("checkpointLocation", str(checkpoint))
        .trigger(availableNow=True)
        .foreachBatch(lambda batch, _: seen.append(short(batch)))
        .start()
    )
    query.awaitTermination()
    return seen


@has_streams
def test_a_stream_continues_where_it_ended(odf, numbers, store, tmp_path):
    from pyspark.sql.streaming.datasource import ReadAllAvailable

    def run(**options):
        return micro_batches(odf(stream=True, mode="changes", **options).load(), tmp_path / "checkpoint")

    assert run(maxFilesPerTrigger="2") == [HISTORY[:5], HISTORY[5:]]
    numbers.add(("+A", 8, "h"))
    numbers.add(("-R", 8, "h"))
    assert run() == [["7 0 8 h", "8 1 8 h"]]
    source = data_source(store, mode="changes", since="4")
    stream = source.streamReader(source.schema())
    end = stream.latestOffset(stream.initialOffset(), ReadAllAvailable())
    assert (stream.initialOffset()["offset"], end) == (4, {"offset": 8, "block": numbers.dataset.head()})
    assert [len(batch) for part in stream.partitions(stream.initialOffset(), end) for batch in stream.read(part)] == [
        2,
        1,
        1,
    ]
    # A history that lost the block up to which the stream was read.
    numbers.dataset.storage.compare_and_set_ref("head", numbers.dataset.head(), numbers.blocks[1])
    with pytest.raises(PySparkException, match="the history of dataset numbers was rewritten"):
        run()


def test_a_stream_on_an_older_spark(store, numbers, monkeypatch):
    source = data_source(store, mode="changes")
    monkeypatch.delitem(sys.modules, "airflow_provider_odf.spark.stream", raising=False)
    monkeypatch.setitem(sys.modules, "pyspark.sql.streaming.datasource", None)
    with pytest.raises(InvalidInput) as error:
        source.streamReader(source.schema())
    assert str(error.value) == "a stream of a dataset needs Spark 4.2: read its changes with spark.read"


@has_streams
def test_streams_that_cannot_be(store, numbers):
    for options, message in (
        ({}, "mode 'current' cannot be a stream"),
        ({"mode": "changes", "until": "3"}, 'a stream has no option "until"'),
        ({"mode": "changes", "maxFilesPerTrigger": "0"}, "set it to a number of slices, 1 or more"),
    ):
        source = data_source(store, **options)
        with pytest.raises(InvalidInput) as error:
            source.streamReader(source.schema())
        assert message in str(error.value)
