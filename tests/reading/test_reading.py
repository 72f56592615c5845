"""Reading published data from Python, from real slices and blocks."""

import re
import subprocess
import sys
from datetime import UTC, date, datetime

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from airflow_provider_odf import open_store
from airflow_provider_odf.chain.verify import Verified
from airflow_provider_odf.contract.terms import ColumnTerms
from airflow_provider_odf.cycle.candidates import Record, save_record
from airflow_provider_odf.errors import ChainCorrupted, DatasetNotFound, InvalidInput
from airflow_provider_odf.manifest import model
from airflow_provider_odf.protocol import CheckResult, ContractReport
from tests.ui.rejecting import reject

SNAPSHOT = model.MergeStrategySnapshot(primary_key=("id",))


@pytest.fixture
def numbers(grow):
    """Three slices: two added, one corrected, one removed and one added."""
    growing = grow(merge=SNAPSHOT)
    growing.blocks = []
    for rows in (
        [("+A", 1, "a"), ("+A", 2, "b")],
        [("-C", 1, "a"), ("+C", 1, "A")],
        [("-R", 2, "b"), ("+A", 3, None)],
    ):
        growing.add(*rows)
        growing.blocks.append(growing.dataset.head())
    return growing


@pytest.fixture
def dataset(numbers, store):
    return open_store(store.location)["numbers"]


def short(scan):
    return [" ".join(str(row[name]) for name in ("offset", "op", "id", "value") if name in row) for row in rows(scan)]


def rows(scan):
    return scan.to_table().to_pylist()


def test_a_store_is_its_datasets(numbers, store):
    opened = open_store(store.uri)
    assert (list(opened), len(opened), "numbers" in opened, "other" in opened) == (["numbers"], 1, True, False)
    dataset = opened["Numbers"]
    assert (dataset.name, dataset.uri, dataset.head) == ("numbers", f"{store.uri}/numbers", numbers.blocks[2])
    assert dataset.schema.names == ["offset", "op", "system_time", "event_time", "id", "value"]


def test_current_rows_history_and_a_point_in_time(dataset, numbers):
    assert short(dataset.current()) == ["1 A", "3 None"]
    assert dataset.current().schema.names == ["system_time", "event_time", "id", "value"]
    assert short(dataset.history()) == ["0 0 1 a", "1 0 2 b", "2 2 1 a", "3 3 1 A", "4 1 2 b", "5 0 3 None"]
    assert short(dataset.as_of(numbers.blocks[1])) == ["1 A", "2 b"]
    assert short(dataset.as_of(numbers.blocks[0][:30])) == ["1 a", "2 b"]
    assert dataset.as_of(numbers.blocks[0]).block == numbers.blocks[0]
    assert short(dataset.as_of(datetime(2030, 1, 1, tzinfo=UTC))) == ["1 A", "3 None"]


def test_changes_between_two_positions(dataset, numbers):
    one, two, three = numbers.blocks
    assert short(dataset.changes()) == short(dataset.history())
    assert short(dataset.changes(since=one, until=two)) == ["2 2 1 a", "3 3 1 A"]
    assert short(dataset.changes(since=two[:20])) == ["4 1 2 b", "5 0 3 None"]
    assert short(dataset.changes(since=three)) == []
    assert short(dataset.changes(since=1, until=2)) == ["2 2 1 a"]
    assert short(dataset.changes(since="4")) == ["5 0 3 None"]
    assert short(dataset.changes(since=-1, until="0")) == ["0 0 1 a"]
    assert len(short(dataset.changes(since="2000-01-01T00:00:00Z"))) == 6  # before the first block
    assert short(dataset.changes(since="2024-05-02T08:00:00Z")) == []
    assert dataset.changes(since=one, until=two).block == two
    assert dataset.changes().block == three


def test_a_scan_stays_as_it_is_while_the_dataset_grows(dataset, numbers):
    history, current = dataset.history(), dataset.current()
    numbers.add(("+A", 4, "d"))
    assert (len(rows(history)), len(rows(current)), len(rows(dataset.history()))) == (6, 2, 7)
    assert len(rows(dataset.changes(since=history.block))) == 1


def test_columns_and_conditions(dataset):
    history = dataset.history()
    scan = history.select("value", "id").where(pc.field("op") == 0).where(pc.field("id") > 1)
    assert rows(scan) == [{"value": "b", "id": 2}, {"value": None, "id": 3}]
    assert scan.to_arrow().schema == pa.schema([("value", pa.string()), ("id", pa.int64())])
    assert rows(dataset.current().select("value").where(pc.field("id") == 1)) == [{"value": "A"}]
    assert rows(dataset.changes(since=4).select("id").where(pc.field("value").is_null())) == [{"id": 3}]


def test_a_stream_reads_batch_by_batch(grow, store):
    growing = grow()
    growing.add(*(("+A", n, str(n)) for n in range(70_000)), row_group_size=30_000)
    growing.add(("+A", 70_000, "last"))
    reader = open_store(store.location)["numbers"].history().select("id").to_arrow()
    assert [batch.num_rows for batch in reader] == [65_536, 4464, 1]
    late = open_store(store.location)["numbers"].history().select("id").where(pc.field("id") >= 65_000)
    assert [batch.num_rows for batch in late.to_arrow()] == [5000, 1]


def test_pandas_keeps_integers_beside_nulls(grow, store):
    growing = grow(columns=[pa.field("id", pa.int64()), pa.field("value", pa.bool_())])
    growing.add(("+A", 2**53 + 1, True), ("+A", None, None))
    frame = open_store(store.location)["numbers"].history().select("id", "value").to_pandas()
    assert frame["id"].tolist()[0] == 9007199254740993
    assert frame.dtypes.astype(str).to_dict() == {"id": "Int64", "value": "boolean"}


def test_other_libraries_read_a_scan(dataset):
    assert pa.table(dataset.current().select("id"))["id"].to_pylist() == [1, 3]


def test_rows_of_another_writer(foreign, store):
    foreign("sensors")
    sensors = open_store(store.location)["sensors"]
    assert [(r["seq"], r["sensor"]) for r in rows(sensors.changes(since=1))] == [(2, "s1"), (3, "s9")]


def test_texts_as_views_can_be_filtered_and_retracted(grow, store):
    growing = grow(merge=SNAPSHOT, columns=[pa.field("id", pa.string_view()), pa.field("value", pa.string_view())])
    growing.add(("+A", "1", "a"), ("+A", "2", "b"))
    growing.add(("-R", "1", "a"))
    dataset = open_store(store.location)["numbers"]
    assert short(dataset.current()) == ["2 b"]
    assert short(dataset.history().where(pc.field("value") == "b")) == ["1 0 2 b"]


def test_before_the_first_data(grow, store):
    grow()
    dataset = open_store(store.location)["numbers"]
    assert rows(dataset.current()) == rows(dataset.history()) == rows(dataset.changes()) == []
    assert dataset.current().schema.names == ["system_time", "event_time", "id", "value"]
    with pytest.raises(InvalidInput, match="numbers has no data yet as of 2030-01-01T00:00:00Z"):
        dataset.as_of("2030-01-01T00:00:00Z")
    with pytest.raises(InvalidInput, match="since is offset 3, but it has no data yet: if the dataset was reset"):
        dataset.changes(since=3)


def test_before_the_columns_are_known(store):
    from airflow_provider_odf.chain.commit import Draft
    from airflow_provider_odf.manifest.names import DatasetAlias
    from tests.chain.conftest import DID, TIME

    draft = Draft(store.create(DatasetAlias.parse("empty")))
    block = draft.append(model.Seed(dataset_id=DID, dataset_kind="Root"), TIME)
    draft.dataset.storage.compare_and_set_ref("head", None, block)
    dataset = open_store(store.location)["empty"]
    assert (dataset.history().to_table().num_rows, dataset.schema.names) == (0, [])
    assert dataset.current().to_table().num_rows == 0
    for use in (lambda: dataset.history().select("id"), lambda: dataset.current().where(pc.field("id") == 1)):
        with pytest.raises(InvalidInput, match="dataset empty has no columns yet: run it first"):
            use()


def test_positions_that_are_not_there(dataset, numbers):
    one, two, _ = numbers.blocks
    for use, message in (
        (lambda: dataset.changes(since=6), "since is offset 6, but its newest offset is 5: if the dataset was reset"),
        (lambda: dataset.changes(until=6), "until is offset 6, but its newest offset is 5"),
        (lambda: dataset.changes(since=two, until=one), f"until {one} is before since {two}: swap the two"),
        (lambda: dataset.changes(since=4, until=2), "until 2 is before since 4"),
        (lambda: dataset.changes(since=-2), "-2 is not an offset: offsets are 0 or more"),
        (lambda: dataset.changes(since=True), "True is not an offset"),
        (lambda: dataset.changes(since="yesterday"), "since: 'yesterday' is no date (2026-05-01), no time"),
        (lambda: dataset.changes(since=datetime(2026, 1, 1)), "since: 2026-01-01 00:00:00 has no time zone"),
        (lambda: dataset.changes(until="2000-01-01T00:00:00Z"), "has no history as of 2000-01-01T00:00:00Z"),
        (lambda: dataset.as_of("2000-01-01T00:00:00Z"), "has no history as of 2000-01-01T00:00:00Z"),
        (lambda: dataset.as_of("f1620"), "has 6 blocks whose hash starts with f1620"),
    ):
        with pytest.raises(InvalidInput) as error:
            use()
        assert message in str(error.value)
    with pytest.raises(DatasetNotFound, match=r"dataset numbers has no block f1620abc: `odf log numbers --store "):
        dataset.changes(since="f1620abc")


def test_columns_and_conditions_that_do_not_fit(dataset):
    for use, message in (
        (lambda: dataset.current().select("vale"), "has no column 'vale' (did you mean `value`?)"),
        (lambda: dataset.current().select("offset"), "has no column 'offset' (known: "),
        (lambda: dataset.history().select("id", "value", "id"), "column id is selected twice: name each column once"),
        (lambda: dataset.history().select(), "no columns are selected"),
        (lambda: dataset.history().where(3), "3 is no condition: write it as pyarrow.compute.field('va"),
        (
            lambda: dataset.history().where("nope > 1"),
            "condition 'nope > 1': No field named nope. The columns are offs",
        ),
        (lambda: dataset.history().where("id >"), "condition 'id >': Expected: an expression, found: EOF"),
        (lambda: dataset.history().where("id > 1) OR (1 = 1"), "Expected: end of expression, found: )"),
        (lambda: dataset.history().where("upper(value) = 'A'"), "only SQL can compute it: use `store.sql` with WHERE"),
        (lambda: dataset.current().where("valu = 'a'"), "(did you mean `value`?)"),
        (lambda: dataset.current().where("op = 0"), "No field named op"),
        (lambda: dataset.history().where(pc.field("nope") == 1), "cannot filter by (nope == 1): No match for FieldRef"),
        (lambda: dataset.history().where(pc.field("id") + 1), "must evaluate to bool"),
        (lambda: dataset.history().where(pc.field("value") > 3), "has no kernel matching input types (string, "),
        (lambda: dataset.current().where(pc.field("op") == 0), "No match for FieldRef.Name(op)"),
    ):
        with pytest.raises(InvalidInput) as error:
            use()
        assert message in str(error.value)


def test_a_damaged_slice_is_an_error_before_the_first_row(grow, store):
    growing = grow()
    growing.add(("+A", 1, "a"))
    damaged = growing.add(("+A", 2, "b"))
    content = bytearray(damaged.read_bytes())
    content[40] ^= 1
    damaged.write_bytes(content)
    dataset = open_store(store.location)["numbers"]
    assert short(dataset.changes(until=0)) == ["0 0 1 a"]
    for scan in (dataset.history(), dataset.current()):
        with pytest.raises(ChainCorrupted, match=f"{damaged.name}: checksum mismatch.*odf verify numbers"):
            scan.to_arrow()


def test_a_store_that_is_not_there(tmp_path, dataset, store):
    with pytest.raises(InvalidInput, match=r"no such folder: .*/away \(check the path of the store, and that it is mo"):
        open_store(tmp_path / "away")
    with pytest.raises(InvalidInput, match="store ftp://bucket: unsupported location"):
        open_store("ftp://bucket")
    with pytest.raises(DatasetNotFound, match=r"no dataset number in .* \(did you mean `numbers`\?\)"):
        open_store(store.location)["number"]
    with pytest.raises(InvalidInput):
        open_store(store.location)["no name!"]


def test_reading_imports_neither_airflow_nor_spark_nor_pandas(numbers, store):
    code = (
        "import sys, airflow_provider_odf as odf; d = odf.open_store(sys.argv[1])['numbers'];"
        "print(d.history().to_table().num_rows, d.current().to_table().num_rows, *sys.modules)"
    )
    command = [sys.executable, "-c", code, store.location]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert printed[:2] == ["6", "2"]
    assert {"airflow", "pyspark", "pandas"} & set(printed) == set()


def test_conditions_in_sql(dataset):
    assert short(dataset.current().where("id > 1")) == ["3 None"]
    assert short(dataset.current().where("value IS NULL OR value = 'A'").where("id < 3")) == ["1 A"]
    assert short(dataset.history().where("id IN (1, 3) AND op <> 2")) == ["0 0 1 a", "3 3 1 A", "5 0 3 None"]
    assert short(dataset.history().where("event_time >= '2024-05-02' AND offset BETWEEN 1 AND 2")) == [
        "1 0 2 b",
        "2 2 1 a",
    ]
    assert short(dataset.history().where("event_time > '2024-05-03'")) == []


def test_rows_as_a_sequence_of_batches(dataset):
    current = dataset.current()
    assert (len(current), len(dataset.history()), len(current.where("id > 100"))) == (2, 6, 0)
    assert (bool(current), bool(current.where("id > 100"))) == (True, False)
    assert sum(batch.num_rows for batch in dataset.history()) == 6
    assert dataset.history().head(2).column("offset").to_pylist() == [0, 1]
    assert dataset.history().head(0).num_rows == 0
    assert current.head().num_rows == 2


def test_head_reads_no_more_slices_than_it_needs(grow, store):
    growing = grow()
    growing.add(("+A", 1, "a"))
    growing.add(("+A", 2, "b"))
    history, read = open_store(store.location)["numbers"].history(), []
    reader = history.to_arrow()
    object.__setattr__(history, "to_arrow", lambda: (read.append(batch) or batch for batch in reader))
    assert history.head(1).num_rows == 1
    assert len(read) <= 2


def test_polars(dataset):
    assert dataset.current().to_polars()["id"].to_list() == [1, 3]


def test_polars_that_is_not_installed(dataset, monkeypatch):
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(InvalidInput, match=r"polars is not installed: `pip install 'airflow-provider-odf\[polars\]'`"):
        dataset.current().to_polars()


def test_what_a_notebook_shows(grow, store):
    growing = grow(merge=SNAPSHOT)
    growing.add(*[("+A", number, f"<b>{number}" if number else None) for number in range(12)])
    current = open_store(store.location)["numbers"].current().select("id", "value")
    facts = f"current rows of numbers at block {current.block[:13]}: 2 columns (id: int64, value: string)"
    assert repr(current) == f"<{facts}>"
    shown = current._repr_html_()
    assert "<th>id<br><small>int64</small></th>" in shown
    assert "<tr><td>0</td><td><i>null</i></td></tr><tr><td>1</td><td>&lt;b&gt;1</td></tr>" in shown
    assert "<td>9</td>" in shown
    assert "<td>10</td>" not in shown
    assert shown.endswith(f"<p>current rows of numbers at block {current.block[:13]}. The first 10 rows.</p>")


def test_operations_in_a_notebook(dataset):
    assert "<tr><td>0</td><td>+A</td>" in dataset.history().select("offset", "op")._repr_html_()


def test_stores_and_datasets_in_a_notebook(dataset, numbers, store):
    numbers.append(model.SetInfo(description="<Odd> numbers"))
    shown = open_store(store.location)._repr_html_()
    assert f"<p>store {store.location}</p><table><tr><td>numbers</td><td>&lt;Odd&gt; numbers</td></tr></table>" == shown
    assert dataset._repr_html_().startswith("<p><b>numbers</b> &lt;Odd&gt; numbers</p><table><thead>")


def test_what_was_rejected(numbers, dataset):
    rejection = reject(numbers, ("+A", 9, "nine"))
    assert dataset.rejected == [
        {
            "ref": "rejected-0000000000000007",
            "hash": rejection.block_hash,
            "records": 1,
            "since": "2024-05-02T08:00:00Z",
            "source": None,
            "why": ["id: <= 2"],
            "status": "waiting",
        }
    ]
    assert len(dataset.history()) == 6


def test_wrong_guesses(dataset, store):
    opened = open_store(store.location)
    assert opened.keys() == ["numbers"]
    with pytest.raises(InvalidInput, match=r"^0 is no name of a dataset \(known: numbers\)$"):
        opened[0]
    with pytest.raises(InvalidInput, match="the path of the store is empty"):
        open_store("")
    where = re.escape(
        f"{store.location}/numbers is the folder of a dataset: name the store {store.location}, and in it"
    )
    with pytest.raises(InvalidInput, match=f"^{where} the dataset numbers$"):
        open_store(f"{store.location}/numbers")["numbers"]
    with pytest.raises(InvalidInput, match=f"^{where} the dataset numbers$"):
        open_store(f"{store.location}/numbers").keys()
    with pytest.raises(InvalidInput, match="head takes 0 rows or more, not -1"):
        dataset.current().head(-1)
    assert dataset.current().select(["value", "id"]).schema.names == ["value", "id"]


def test_rows_of_a_dataset_are_in_its_scans(dataset):
    with pytest.raises(AttributeError, match=r"^a dataset has no to_pandas: its rows are in current\(\), history"):
        dataset.to_pandas()
    assert not hasattr(dataset, "_repr_markdown_")


def test_what_a_dataset_tells(dataset, numbers, store):
    numbers.append(model.SetInfo(description="Odd numbers"))
    assert dataset.description == "Odd numbers"
    assert [block["event"]["kind"] for block in dataset.blocks][-2:] == ["AddData", "SetInfo"]
    assert dataset.blocks[-1]["hash"] == dataset.head
    assert dataset.verify() == Verified(7, 3, 6)
    assert dataset.contract is None
    assert dataset.rejected == []
    assert [(node["label"], node["kind"]) for node in dataset.lineage] == [
        ("numbers", "Root"),
        ("file:///x.csv", "Polling source"),
    ]
    assert repr(dataset).startswith(f"<dataset numbers of {store.location}: offset: int64, op: int32, ")
    assert repr(open_store(store.location)) == f"<store {store.location}: numbers>"


def test_the_contract_of_a_dataset(dataset, numbers):
    report = ContractReport("urn:numbers", "d", "numbers", (CheckResult("/id", "required", "pass", "id"),))
    terms, columns = {"Owner": "Ann"}, {"id": ColumnTerms(description="Which number")}
    save_record(numbers.dataset, dataset.head, Record("f00", 2, report=report, terms=terms, columns=columns))
    assert dataset.contract == (terms, columns, report)


def test_a_damaged_dataset_does_not_verify(dataset, numbers):
    damaged = numbers.add(("+A", 9, "z"))
    damaged.write_bytes(damaged.read_bytes()[:-1])
    with pytest.raises(ChainCorrupted, match=damaged.name):
        dataset.verify()


def test_dates(dataset):
    assert short(dataset.as_of("2030-01-01")) == short(dataset.as_of(date(2030, 1, 1))) == ["1 A", "3 None"]
    assert len(dataset.changes(since=date(2024, 5, 2), until=date(2024, 5, 2))) == 6
    assert len(dataset.changes(since="2024-05-03")) == 0
