"""SQL over the datasets of stores."""

import pyarrow as pa
import pytest

from airflow_provider_odf import open_store
from airflow_provider_odf.chain.store import Store
from airflow_provider_odf.errors import ChainCorrupted, DatasetNotFound, InvalidInput
from airflow_provider_odf.manifest import model
from airflow_provider_odf.manifest.names import DatasetAlias
from airflow_provider_odf.reading import sql_catalog
from airflow_provider_odf.reading.scan import Scan
from airflow_provider_odf.reading.sql import Sql
from tests.chain.conftest import Growing

COLUMNS = (pa.field("id", pa.int64()), pa.field("Value", pa.string()))
SNAPSHOT = model.MergeStrategySnapshot(primary_key=("id",))


@pytest.fixture
def numbers(store):
    growing = Growing(store.create(DatasetAlias.parse("odd-numbers")), SNAPSHOT, COLUMNS)
    growing.blocks = []
    for rows in ([("+A", 1, "a"), ("+A", 2, "b")], [("-C", 1, "a"), ("+C", 1, "A"), ("+A", 3, None)]):
        growing.add(*rows)
        growing.blocks.append(growing.dataset.head())
    return growing


@pytest.fixture
def opened(numbers, store):
    Growing(store.create(DatasetAlias.parse("acme.orders")), SNAPSHOT, COLUMNS).add(("+A", 7, "seven"))
    return open_store(store.location)


def rows(result):
    return [tuple(row.values()) for row in result.to_table().to_pylist()]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ('SELECT id, Value FROM "odd-numbers" ORDER BY id', [(1, "A"), (2, "b"), (3, None)]),
        (
            'SELECT "offset", op, id FROM history."odd-numbers" WHERE id = 1 ORDER BY 1',
            [(0, 0, 1), (2, 2, 1), (3, 3, 1)],
        ),
        ("SELECT id, Value FROM as_of('odd-numbers', '{first}') ORDER BY id", [(1, "a"), (2, "b")]),
        ("SELECT count(*) FROM as_of('Odd-Numbers', '2030-01-01')", [(3,)]),
        ('SELECT count(*) FROM "odd-numbers"', [(3,)]),
        ('SELECT count(*) FROM history."odd-numbers"', [(5,)]),
        ("SELECT count(*) FROM \"odd-numbers\" WHERE upper(Value) = 'B'", [(1,)]),
        ("SELECT id FROM acme.orders", [(7,)]),
        ('SELECT id FROM "acme.orders"', [(7,)]),
        ('SELECT id FROM history."acme.orders"', [(7,)]),
        (
            'SELECT n.id, o.id AS other FROM "odd-numbers" n JOIN acme.orders o ON n.id < o.id WHERE n.Value IS NULL',
            [(3, 7)],
        ),
        ('WITH big AS (SELECT id FROM "odd-numbers" WHERE id > 1) SELECT sum(id) FROM big', [(5,)]),
        ('(SELECT id FROM "odd-numbers" LIMIT 0)', []),
        ("VALUES (1)", [(1,)]),
        ("SELECT count(*) FROM as_of('odd-numbers', DATE '2030-01-01')", [(3,)]),
        ("SELECT count(*) FROM as_of('odd-numbers', now())", [(3,)]),
    ],
)
def test_queries(opened, numbers, query, expected):
    assert rows(opened.sql(query.replace("{first}", numbers.blocks[0][:20]))) == expected


@pytest.mark.parametrize(
    ("query", "error", "message"),
    [
        ("SELECT 1 FROM nope", DatasetNotFound, "no dataset nope in .* \\(known: acme.orders, odd-numbers\\)"),
        ("SELECT 1 FROM acme.nope", DatasetNotFound, "no dataset acme.nope \\(known: acme.orders, odd-numbers\\)"),
        ("SELECT 1 FROM history.nope", DatasetNotFound, "no dataset nope"),
        ("SELECT 1 FROM other.current.acme", InvalidInput, "query, 1:29: table 'other.current.acme' not found"),
        (
            'SELECT\n  value FROM "odd-numbers"',
            InvalidInput,
            "query, 2:3: No field named value. The columns are .*Value",
        ),
        (
            "SELECT * FROM as_of('odd-numbers', 'soon')",
            InvalidInput,
            "as of: 'soon' is no date",
        ),
        ("SELECT * FROM as_of('nope', '2030-01-01')", DatasetNotFound, "no dataset nope"),
        (
            "SELECT * FROM as_of('odd-numbers')",
            InvalidInput,
            "as_of takes the name of a dataset as text, a time",
        ),
        ("SELECT * FROM as_of(1, 2)", InvalidInput, "as_of takes the name of a dataset as text, a time"),
        ("SELECT * FROM as_of('odd-numbers', id)", InvalidInput, "as_of takes the name of a dataset as text"),
        ("SELECT * FROM as_of('a', 'b', 'c')", InvalidInput, "as_of: there is no store 'c': the stores are store"),
        ("SELEC 1", InvalidInput, "query: SELEC: only queries .* are allowed \\(did you mean SELECT\\?\\)"),
        (
            "SHOW TABLES",
            InvalidInput,
            "query: SHOW: only queries .* are allowed \\(`odf list`, or .datasets at the prompt",
        ),
        ("", InvalidInput, "query: it is empty"),
        (
            "SELECT 1 WHERE x > 2026-05-01",
            InvalidInput,
            "query, 1:20: 2026-05-01 is a subtraction: a date has quotes: '2026",
        ),
        (
            'SELECT * FROM "odd-numbers" WHERE "Value" = "a"',
            InvalidInput,
            "1:45: No field named a.*Texts have single quotes: 'a'",
        ),
        ("SELECT 1; SELECT 2", InvalidInput, "only supports a single SQL statement"),
        ("SELECT (", InvalidInput, "query, 1:"),
        ("SELECT * FROM '/etc/passwd'", DatasetNotFound, "no dataset or function /etc/passwd \\(datasets: acme"),
        ("SELECT * FROM read_csv('x')", DatasetNotFound, "no dataset or function read_csv"),
        ("SELECT * FROM odd-numbers", InvalidInput, 'query, 1:18: .*quote the name of the dataset: "odd-numbers"'),
        ("SELECT * FROM history.odd-numbers", InvalidInput, 'quote the name of the dataset: "odd'),
        (
            "SELECT * FROM as_of(odd-numbers, '2030-01-01')",
            InvalidInput,
            "quote the name of the dataset: 'odd-numbers'",
        ),
        ('SELECT * FROM "history.odd-numbers"', DatasetNotFound, 'write history."odd-numbers"'),
        (
            'SELECT * FROM "odd-numbers" WHERE "Value" = "a b"',
            InvalidInput,
            "query, 1:45: No field named \"a b\".*Texts have single quotes: 'a b'",
        ),
        (
            "SELECT * FROM history.\"odd-numbers\" WHERE op = '+A'",
            InvalidInput,
            "query, 1:48: Cannot cast string '\\+A' to value of Int32 type \\(operations are numbers: 0 \\(\\+A\\), 1",
        ),
        ("SELECT * FROM information_schema.tables", InvalidInput, "table 'store.information_schema.tables' not found"),
        ("CREATE EXTERNAL TABLE x STORED AS CSV LOCATION '/etc/passwd'", InvalidInput, "only queries"),
        ("CREATE TABLE x AS VALUES (1)", InvalidInput, "only queries"),
        ("COPY (SELECT 1) TO '/tmp/x.csv'", InvalidInput, "only queries"),
        ("INSERT INTO acme.orders VALUES (1)", InvalidInput, "only queries"),
        ("SET datafusion.execution.batch_size = 1", InvalidInput, "only queries"),
        ("DROP TABLE acme.orders", InvalidInput, "only queries"),
        ("PREPARE x AS SELECT 1", InvalidInput, "only queries"),
        ("WITH x AS (SELECT 1) INSERT INTO acme.orders SELECT * FROM x", InvalidInput, "query, 1:"),
        ("EXPLAIN ANALYZE COPY (SELECT 1) TO '/tmp/x.csv'", InvalidInput, "only queries"),
    ],
)
def test_what_is_no_query_or_not_there(opened, query, error, message, tmp_path):
    with pytest.raises(error, match=message):
        opened.sql(query).to_table()


def test_a_value_that_a_query_cannot_process(opened):
    with pytest.raises(InvalidInput, match="query, 1:1: Cannot cast string 'A' to value of Int32 type"):
        opened.sql('SELECT CAST(Value AS INT) FROM "odd-numbers"').to_table()


def test_a_query_reads_the_columns_and_rows_that_it_needs(opened, monkeypatch):
    asked, whole = [], sql_catalog._Scanner.to_batches

    def kept(scanner):
        asked.append((scanner.projected_schema.names, str(scanner.condition)))
        return whole(scanner)

    monkeypatch.setattr(sql_catalog._Scanner, "to_batches", kept)
    assert rows(opened.sql('SELECT Value FROM history."odd-numbers" WHERE id > 1 AND "offset" < 2')) == [("b",)]
    assert asked == [(["Value", "offset", "id"], "((id > 1) and (offset < 2))")] or asked[0][0] == ["Value"]


def test_rows_stream(opened, numbers, monkeypatch):
    """A query of the first rows does not read all slices."""
    read, whole = [], Scan.to_arrow

    def kept(scan):
        reader = whole(scan)
        return pa.RecordBatchReader.from_batches(reader.schema, (read.append(b.num_rows) or b for b in reader))

    monkeypatch.setattr(Scan, "to_arrow", kept)
    assert len(rows(opened.sql('SELECT id FROM history."odd-numbers" LIMIT 1'))) == 1
    assert sum(read) <= 5


def test_results_are_read_anew(opened, numbers):
    result = opened.sql('SELECT id FROM "odd-numbers" ORDER BY id')
    assert [len(result), len(result.to_pandas()), result.head(2).num_rows] == [3, 3, 2]
    assert repr(result) == "<1 column (id: int64)>"
    assert "<tr><td>1</td></tr>" in result._repr_html_()


def test_a_damaged_slice(opened, numbers):
    damaged = numbers.add(("+A", 9, "z"))
    damaged.write_bytes(b"x" + damaged.read_bytes()[1:])
    with pytest.raises(ChainCorrupted, match=f"{damaged.name}: checksum mismatch"):
        open_store(opened.uri).sql('SELECT * FROM history."odd-numbers"').to_table()


def test_several_stores(opened, tmp_path):
    other = Store.open(tmp_path / "other")
    Growing(other.create(DatasetAlias.parse("odd-numbers")), SNAPSHOT, COLUMNS).add(("+A", 1, "other"))
    session = Sql({"here": opened, "there": open_store(other.location)})
    query = 'SELECT a.Value AS a, b.Value AS b FROM "odd-numbers" a JOIN there.current."odd-numbers" b USING (id)'
    assert rows(session.query(query)) == [("A", "other")]
    assert rows(session.query("SELECT Value FROM as_of('odd-numbers', '2030-01-01', 'there')")) == [("other",)]
    assert list(session.tables()) == [("here", "acme.orders"), ("here", "odd-numbers"), ("there", "odd-numbers")]
    assert session.columns("acme.orders")[-1] == ("Value", "string")
    with pytest.raises(DatasetNotFound, match="no dataset nope"):
        session.columns("nope")
