"""Iceberg and Delta tables over slices, read back by pyiceberg and deltalake; `test_table_readers` has others."""

import json
import shutil
import sqlite3
import sys
from contextlib import closing
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, QueryBuilder, exceptions, write_deltalake
from pyiceberg.catalog import load_catalog
from pyiceberg.table import StaticTable
from pyiceberg.types import StringType
from typer.testing import CliRunner

from airflow_provider_odf.chain import schema
from airflow_provider_odf.chain.commit import Draft
from airflow_provider_odf.chain.replay import replay
from airflow_provider_odf.cli import app
from airflow_provider_odf.errors import ChainCorrupted, CommitConflict, InvalidInput
from airflow_provider_odf.manifest import model
from airflow_provider_odf.reading import delta
from airflow_provider_odf.reading.dataset import PublishedDataset
from airflow_provider_odf.reading.store import PublishedStore
from tests.s3 import guarded_s3, use

FORMS = ["iceberg", "delta"]
KEYED = model.MergeStrategySnapshot(primary_key=("id",))
MOMENT = datetime(2024, 5, 2, 8, tzinfo=UTC)


def read(form, location, *, order="offset"):
    """The rows of a table, by the format's own library alone."""
    if form == "iceberg":
        rows = StaticTable.from_metadata(location).scan().to_arrow()
    else:
        rows = pa.table(QueryBuilder().register("t", DeltaTable(location)).execute("SELECT * FROM t"))
    return sorted(rows.to_pylist(), key=lambda row: row[order])


def commits(form, location):
    """The block of each commit, oldest first."""
    if form == "iceberg":
        return [s.summary["odf.block"] for s in StaticTable.from_metadata(location).snapshots()]
    return [commit.get("odf.block") for commit in reversed(DeltaTable(location).history())]


@pytest.fixture
def growing(grow):
    growing = grow(merge=KEYED)
    growing.add(("+A", 1, "one"), ("+A", 2, None))
    return growing


@pytest.fixture
def published(store):
    return PublishedStore(store)["numbers"]


@pytest.mark.parametrize("form", FORMS)
def test_a_table_grows_with_the_history(form, growing, published, store):
    head = growing.dataset.head()
    (made,) = published.export_tables(form)
    assert made[0] == "odf.numbers"
    assert made[2:] == (head, 1, 2, "created")
    assert published.export_tables(form) == [made._replace(slices=0, records=0, change="unchanged")]
    growing.append(model.SetInfo(description="no data"))
    assert published.export_tables(form)[0][3:] == (0, 0, "unchanged")

    growing.add(("-R", 2, None), ("+A", 3, "three"))
    growing.add(("-C", 1, "one"), ("+C", 1, "uno"))
    (grown,) = published.export_tables(form)
    assert grown[2:] == (growing.dataset.head(), 2, 4, "appended")
    system = {"system_time": MOMENT, "event_time": MOMENT}
    records = [(0, 0, 1, "one"), (1, 0, 2, None), (2, 1, 2, None)]
    records += [(3, 0, 3, "three"), (4, 2, 1, "one"), (5, 3, 1, "uno")]
    expected = [{"offset": o, "op": op, **system, "id": i, "value": v} for o, op, i, v in records]
    assert read(form, grown.location) == expected
    assert commits(form, grown.location) == [head, growing.dataset.head()]
    # No row was copied, and nothing lies in the dataset's folder.
    assert not list(Path(store.location, ".tables").rglob("*.parquet"))
    assert {p.name for p in Path(growing.dataset.location).iterdir()} <= {"blocks", "data", "info", "refs"}


@pytest.mark.parametrize("form", FORMS)
def test_current_rows_are_a_table_of_their_own(form, growing, published):
    growing.add(("-R", 2, None), ("+A", 3, "three"))
    _, made = published.export_tables(form, current=True)
    rows = [{"system_time": MOMENT, "event_time": MOMENT, "id": i, "value": v} for i, v in ((1, "one"), (3, "three"))]
    assert made[0] == "odf.numbers_current"
    assert made[2:] == (growing.dataset.head(), 0, 2, "created")
    assert read(form, made.location, order="id") == rows
    assert published.export_tables(form, current=True)[1].change == "unchanged"
    growing.add(("-R", 1, "one"))
    _, made = published.export_tables(form, current=True)
    assert (made.records, made.change, read(form, made.location, order="id")) == (1, "replaced", rows[1:])


@pytest.mark.parametrize("form", FORMS)
def test_columns_are_added(form, growing, published):
    published.export_tables(form)
    growing.schema = growing.schema.append(pa.field("size", pa.struct([("width", pa.int32())])))
    growing.append(schema.set_data_schema(growing.schema))
    assert published.export_tables(form)[0].change == "appended"  # the column alone
    growing.add(("+A", 3, "three", {"width": 7}))
    (made,) = published.export_tables(form)
    assert [(r["id"], r["value"], r["size"]) for r in read(form, made.location)] == [
        (1, "one", None),
        (2, None, None),
        (3, "three", {"width": 7}),
    ]


@pytest.mark.parametrize("form", FORMS)
def test_a_rewritten_history_replaces_the_rows(form, growing, published):
    kept = growing.dataset.head()
    growing.add(("+A", 9, "lost"))
    (made,) = published.export_tables(form)
    growing.dataset.storage.compare_and_set_ref("head", growing.dataset.head(), kept)
    growing.draft = Draft(growing.dataset, replay(growing.dataset))
    growing.add(("+A", 3, "three"))
    (made,) = published.export_tables(form)
    assert made[3:] == (1, 1, "replaced")
    assert [r["value"] for r in read(form, made.location)] == ["one", None, "three"]
    assert published.export_tables(form)[0].change == "unchanged"


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("current", [False, True])
def test_the_second_of_two_writers_at_once_is_refused(form, current, growing, published, monkeypatch):
    read_rows = "current" if current else "history"

    def overtaken(self):
        monkeypatch.undo()
        self.export_tables(form, current=current)
        return getattr(self, read_rows)()

    for ids in ([1, 2], [1, 2, 3]):  # the first export makes the table
        monkeypatch.setattr(PublishedDataset, read_rows, overtaken)
        with pytest.raises(CommitConflict, match="another writer came first: run again"):
            published.export_tables(form, current=current)
        made = published.export_tables(form, current=current)[-1]
        assert (made.change, [r["id"] for r in read(form, made.location, order="id")]) == ("unchanged", ids)
        growing.add(("+A", 3, "three"))


def test_a_commit_of_delta_never_names_a_file_twice(growing, published):
    kept = growing.dataset.head()
    growing.add(("+A", 9, "lost"))
    published.export_tables("delta")
    growing.dataset.storage.compare_and_set_ref("head", growing.dataset.head(), kept)
    (made,) = published.export_tables("delta")
    log = Path(made.location, "_delta_log/00000000000000000001.json").read_text().splitlines()
    actions = [next(iter(json.loads(line))) for line in log]
    assert actions == ["commitInfo", "txn", "remove"]  # the slice that stays is not written again


@pytest.mark.parametrize("form", FORMS)
def test_tables_of_other_rows_are_refused(form, growing, published):
    published.export_tables(form, table="lake.n", current=True)
    with pytest.raises(
        InvalidInput, match=r"n_current has the current rows of dataset numbers: choose another name for the records"
    ):
        published.export_tables(form, table="lake.n_current")
    published.export_tables(form, table="lake.m_current")
    with pytest.raises(InvalidInput, match=r"m_current has the records of dataset numbers: choose another name for"):
        published.export_tables(form, table="lake.m", current=True)


@pytest.mark.parametrize("form", FORMS)
def test_old_copies_of_current_rows_are_removed(form, growing, published, store):
    *_, made = published.export_tables(form, current=True)
    if form == "iceberg":
        with load_catalog("odf", uri=f"sqlite:///{store.location}/.tables/iceberg/catalog.db") as catalog:
            with catalog.load_table("odf.numbers_current").transaction() as change:
                change.set_properties(**{"history.expire.max-snapshot-age-ms": "0"})
            with catalog.load_table("odf.numbers").transaction() as change:
                change.set_properties(**{"history.expire.max-snapshot-age-ms": "0"})
    else:
        DeltaTable(made.location).alter.set_table_properties(
            {"delta.deletedFileRetentionDuration": "interval 0 seconds"}
        )
    for number in (3, 4, 5):
        growing.add(("+A", number, "more"))
        history, made = published.export_tables(form, current=True)
    assert published.export_tables(form, current=True)[1].change == "unchanged"
    folder = Path(store.location, ".tables", form, "odf/numbers_current")
    assert len(list(folder.rglob("*.parquet"))) == 1
    assert [row["id"] for row in read(form, made.location, order="id")] == [1, 2, 3, 4, 5]
    assert [row["id"] for row in read(form, history.location)] == [1, 2, 3, 4, 5]
    assert len(list(Path(growing.dataset.location, "data").iterdir())) == 4
    if form == "iceberg":
        assert len(commits(form, history.location)) == 1
        manifests = [path.name[:5] for path in folder.parent.glob("numbers/metadata/*.avro")]
        assert manifests.count("snap-") == 1


def test_the_log_of_delta_has_checkpoints(growing, published, monkeypatch):
    monkeypatch.setattr(delta, "_CHECKPOINT", 2)
    published.export_tables("delta")
    growing.add(("+A", 3, "three"))
    (made,) = published.export_tables("delta")
    log = Path(made.location, "_delta_log")
    assert json.loads(Path(log, "_last_checkpoint").read_text())["version"] == 1
    Path(log, "00000000000000000000.json").unlink()  # as readers may find it
    assert [row["id"] for row in read("delta", made.location)] == [1, 2, 3]
    growing.add(("+A", 4, "four"))
    assert published.export_tables("delta")[0][3:] == (1, 1, "appended")


def test_no_other_writer_changes_a_delta_table(growing, published):
    (made,) = published.export_tables("delta")
    table, row = DeltaTable(made.location), pa.table({"id": pa.array([9], pa.int64())})
    for write in (
        lambda: write_deltalake(table, row, mode="append", schema_mode="merge"),
        lambda: table.delete("id = 1"),
        table.optimize.compact,
    ):
        with pytest.raises(exceptions.CommitFailedError, match="onlyOdfExportWrites"):
            write()
    table.vacuum(0, dry_run=False, enforce_retention_duration=False, full=True)
    assert [row["id"] for row in read("delta", made.location)] == [1, 2]


@pytest.mark.parametrize("form", FORMS)
def test_another_spelling_of_the_path_is_the_same_table(form, growing, published, store, tmp_path):
    published.export_tables(form)
    Path(tmp_path, "link").symlink_to(store.location)
    linked = PublishedStore(type(store).open(tmp_path / "link"))["numbers"]
    assert linked.export_tables(form)[0].change == "unchanged"


def test_a_copy_of_a_catalog_is_refused(growing, published, store, tmp_path):
    published.export_tables("iceberg", current=True)
    shutil.copytree(store.location, tmp_path / "copy")
    copied = PublishedStore(type(store).open(tmp_path / "copy"))["numbers"]
    with pytest.raises(InvalidInput, match=r"the catalog in .*/copy/\.tables/iceberg is a copy: it names file:///.*"):
        copied.export_tables("iceberg")
    shutil.rmtree(tmp_path / "copy/.tables/iceberg")
    assert copied.export_tables("iceberg")[0].change == "created"


@pytest.mark.parametrize("name", ["a b", "a%20b", "ä", "a#b", "a?b", "a;b"])
def test_names_of_folders(name, growing, store, tmp_path):
    shutil.copytree(store.location, tmp_path / "there" / name)
    there = PublishedStore(type(store).open(str(tmp_path / "there" / name)))["numbers"]
    if "%" in name:
        with pytest.raises(InvalidInput, match="deltalake cannot open a folder with % in its path: name another one"):
            there.export_tables("delta")
    else:
        (made,) = there.export_tables("delta")
        assert there.export_tables("delta")[0].change == "unchanged"
    (made,) = there.export_tables("delta", folder=str(tmp_path / "lake"))
    assert [row["id"] for row in read("delta", made.location)] == [1, 2]
    if set(name) & set("#%;?"):
        with pytest.raises(InvalidInput, match=r"a path of pyiceberg cannot have #, %, ; or \?: name another folder"):
            there.export_tables("iceberg")
        return
    (made,) = there.export_tables("iceberg")
    assert [row["id"] for row in read("iceberg", made.location)] == [1, 2]
    assert len(list(Path(there.store_location).rglob("version-hint.text"))) == 1


@pytest.mark.parametrize("form", FORMS)
def test_a_store_that_moved_gets_its_tables_anew(form, growing, published, store, tmp_path):
    published.export_tables(form, folder=str(tmp_path / "lake"))
    shutil.move(store.location, tmp_path / "elsewhere")
    moved = PublishedStore(type(store).open(tmp_path / "elsewhere"))["numbers"]
    (made,) = moved.export_tables(form, folder=str(tmp_path / "lake"))
    assert (made.change, [r["id"] for r in read(form, made.location)]) == ("replaced", [1, 2])


def test_tables_that_moved_with_their_store(growing, published, store, tmp_path):
    published.export_tables("iceberg")
    published.export_tables("delta")
    shutil.move(store.location, tmp_path / "elsewhere")
    moved = PublishedStore(type(store).open(tmp_path / "elsewhere"))["numbers"]
    (delta,) = moved.export_tables("delta")
    assert (delta.change, [r["id"] for r in read("delta", delta.location)]) == ("unchanged", [1, 2])
    with pytest.raises(InvalidInput, match=r"odf\.numbers: the catalog names a metadata file that is missing: "):
        moved.export_tables("iceberg")
    shutil.rmtree(tmp_path / "elsewhere/.tables/iceberg")
    assert moved.export_tables("iceberg")[0].change == "created"


@pytest.fixture
def others(growing, published, store):
    """The exported Iceberg table, as another program opens it to change it."""
    published.export_tables("iceberg")
    with load_catalog("odf", uri=f"sqlite:///{store.location}/.tables/iceberg/catalog.db") as catalog:
        yield catalog.load_table("odf.numbers")


def test_what_others_change_is_undone(others, growing, published):
    others.delete("id = 1")
    (made,) = published.export_tables("iceberg")
    assert (made.change, [r["id"] for r in read("iceberg", made.location)]) == ("replaced", [1, 2])
    others.refresh()
    with others.update_schema() as change:
        change.rename_column("value", "wert")
        change.add_column("more", StringType())
    with others.transaction() as change:
        change.remove_properties("schema.name-mapping.default")
        change.set_properties({"gc.enabled": "true"})
    (made,) = published.export_tables("iceberg")
    table = StaticTable.from_metadata(made.location)
    assert [field.name for field in table.schema().fields][4:] == ["id", "value"]
    assert table.properties["gc.enabled"] == "false"
    assert [r["value"] for r in read("iceberg", made.location)] == ["one", None]
    others.refresh()
    others.append(pa.table({"id": pa.array([9], pa.int64())}))
    (made,) = published.export_tables("iceberg")
    assert [r["id"] for r in read("iceberg", made.location)] == [1, 2]
    assert commits("iceberg", made.location)[-1] == growing.dataset.head()
    assert len(list(Path(growing.dataset.location, "data").iterdir())) == 1


def test_a_table_that_another_program_partitioned_is_refused(others, published):
    with others.update_spec() as change:
        change.add_identity("id")
    with pytest.raises(InvalidInput, match=r"table odf\.numbers: another program has given it partitions or .*: drop"):
        published.export_tables("iceberg")


def test_a_catalog_to_which_spark_wrote(growing, published, store):
    (made,) = published.export_tables("iceberg")
    with closing(sqlite3.connect(f"{store.location}/.tables/iceberg/catalog.db")) as catalog, catalog:
        one_slash = made.location.replace("file:///", "file:/")  # as its library for Java spells it
        catalog.execute("UPDATE iceberg_tables SET metadata_location = ?", [one_slash])
    assert published.export_tables("iceberg")[0].change == "unchanged"
    growing.add(("+A", 3, "three"))
    (made,) = published.export_tables("iceberg")
    assert [r["id"] for r in read("iceberg", made.location)] == [1, 2, 3]


@pytest.mark.parametrize("form", FORMS)
def test_columns_that_differ_by_case_are_refused(form, grow, store):
    grow("twins", columns=[pa.field("Value", pa.int64()), pa.field("value", pa.int64())])
    with pytest.raises(InvalidInput, match=r"^dataset twins: columns Value, value differ only by case, and readers"):
        PublishedStore(store)["twins"].export_tables(form)


@pytest.mark.parametrize("form", FORMS)
def test_a_table_of_another_dataset_is_refused(form, growing, foreign, published, store):
    published.export_tables(form, table="lake.one")
    foreign("cities")
    with pytest.raises(
        InvalidInput, match=r"lake.one is not of dataset cities: choose another name, or drop the table"
    ):
        PublishedStore(store)["cities"].export_tables(form, table="lake.one")


KEPT = {
    "truth": (pa.bool_(), True),
    "tiny": (pa.int8(), -3),
    "small": (pa.int16(), -300),
    "real": (pa.float32(), 0.5),
    "double": (pa.float64(), 0.1),
    "price": (pa.decimal128(38, 9), Decimal("-1.500000000")),
    "bytes": (pa.binary(), b"\x00\xff"),
    "day": (pa.date32(), date(1969, 12, 31)),
    "exact": (pa.timestamp("us", "UTC"), datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)),
    "tags": (pa.list_(pa.string()), ["a", None]),
    "nested": (pa.struct([("at", pa.timestamp("ms", "UTC")), ("n", pa.list_(pa.int32()))]), {"at": MOMENT, "n": [1]}),
}


@pytest.mark.parametrize("form", FORMS)
def test_types_of_slices(form, grow, store):
    columns = [pa.field(name, kind) for name, (kind, _) in KEPT.items()]
    if form == "iceberg":
        columns.append(pa.field("clock", pa.time64("us")))
    values = [*(value for _, value in KEPT.values()), *([time(23, 59, 59, 1)] if form == "iceberg" else [])]
    growing = grow("kinds", columns=columns)
    growing.add(("+A", *values), ("+A", *[None] * len(values)))
    (made,) = PublishedStore(store)["kinds"].export_tables(form)
    first, second = read(form, made.location)
    assert [first[column.name] for column in columns] == values
    assert {second[column.name] for column in columns} == {None}


@pytest.mark.parametrize(
    ("form", "kind", "named"),
    [
        ("iceberg", pa.uint64(), "column value: Iceberg has no type for uint64"),
        ("iceberg", pa.list_(pa.uint32()), r"column value\[\]: Iceberg has no type for uint32"),
        ("iceberg", pa.struct([("x", pa.time32("ms"))]), r"column value\.x: Iceberg has no type for time32\[ms\]"),
        ("iceberg", pa.timestamp("ns", "UTC"), r"column value: Iceberg has no type for timestamp\[ns, tz=UTC\]"),
        ("iceberg", pa.duration("ms"), r"column value: Iceberg has no type for duration\[ms\]"),
        ("delta", pa.time64("us"), r"column value: Delta has no type for time64\[us\]"),
    ],
)
def test_types_that_a_format_has_not(form, kind, named, grow, store):
    grow("kinds", columns=[pa.field("value", kind)])
    with pytest.raises(InvalidInput, match=f"^dataset kinds: {named}, and a history keeps its types: "):
        PublishedStore(store)["kinds"].export_tables(form)
    assert not list(Path(store.location, ".tables").rglob("*.json"))


def test_an_iceberg_table_says_how_to_read_it(growing, published, store):
    (made,) = published.export_tables("iceberg")
    properties = StaticTable.from_metadata(made.location).properties
    assert properties["gc.enabled"] == "false"  # nobody may delete files of the dataset
    assert properties["read.parquet.vectorization.enabled"] == "false"  # apache/iceberg#17135
    assert properties["comment"].endswith("In Spark, compare times by unix_millis(column): see apache/iceberg#18173")
    hint = Path(store.location, ".tables/iceberg/odf/numbers/metadata/version-hint.text")
    assert made.location == f"file://{hint.parent}/{hint.read_text()}.metadata.json"


@pytest.mark.parametrize("form", FORMS)
def test_a_lost_slice_is_not_named_by_a_table(form, growing, published):
    published.export_tables(form)
    growing.add(("+A", 3, "three")).unlink()
    with pytest.raises(ChainCorrupted, match="the file is missing"):
        published.export_tables(form)


@pytest.fixture
def odf(store):
    def run(*arguments):
        result = CliRunner().invoke(app, [*map(str, arguments), "--store", store.location])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        assert result.exit_code == 0, result.stderr
        return result.stdout

    return run


def test_from_the_command_line(growing, odf, store, tmp_path, monkeypatch):
    said = odf("export", "numbers", "--as", "delta", "--current", "-o", tmp_path / "lake", "--table", "shop.n")
    head = growing.dataset.head()[:13]
    assert said.splitlines() == [
        f"numbers: table shop.n as of block {head} created: 1 slice, 2 rows; {tmp_path}/lake/delta/shop/n",
        f"numbers: table shop.n_current as of block {head} created: 2 rows; {tmp_path}/lake/delta/shop/n_current",
    ]
    for name, value in {"TYPE": "sql", "URI": f"sqlite:///{tmp_path}/c.db", "WAREHOUSE": f"file://{tmp_path}"}.items():
        monkeypatch.setenv(f"PYICEBERG_CATALOG__LAKE__{name}", value)
    from pyiceberg import catalog as catalogs
    from pyiceberg.utils.config import Config

    monkeypatch.setattr(catalogs, "_ENV_CONFIG", Config())  # which was read at the first import
    odf("export", "numbers", "--as", "iceberg", "--catalog", "lake")
    with load_catalog("lake") as lake:
        assert len(lake.load_table("odf.numbers").scan().to_arrow()) == 2
    # Tables in the store disturb nothing that works on it.
    odf("export", "numbers", "--as", "iceberg")
    assert odf("verify", "numbers").startswith("numbers: ok")
    assert odf("gc") == ""
    assert [entry["name"] for entry in json.loads(odf("list", "--format", "json"))] == ["numbers"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--as iceberg --since 0", "a table has all records: leave out --since and --as-of with --as iceberg"),
        ("--as csv --current", "--current, --table and --catalog are for --as iceberg and delta, not for csv"),
        ("--as delta --catalog lake", "only Iceberg has catalogs: leave the catalog out for delta"),
        ("--as delta --table n", "table 'n': name it NAMESPACE.TABLE, of letters, digits and underscores"),
        ("--as iceberg --catalog lack", r"pyiceberg's configuration has no catalog lack \(known: "),
        ("--as iceberg -o s3://bucket/x", "s3://bucket/x: the catalog in SQLite needs a folder of this machine"),
        ("--as delta -o s3://bucket/x", "s3://bucket/x: Delta tables name slices by relative paths: name a folder"),
        ("--as iceberg -o x --catalog lake", "the catalog says where its tables lie: name a folder or a catalog"),
    ],
)
def test_wrong_arguments(arguments, message, growing, odf):
    with pytest.raises(InvalidInput, match=message):
        odf("export", "numbers", *arguments.split())


@pytest.mark.parametrize(("form", "library"), [("iceberg", "pyiceberg"), ("delta", "deltalake")])
def test_a_missing_library_is_named(form, library, growing, published, monkeypatch):
    for name in [name for name in sys.modules if name.partition(".")[0] == library]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(
        InvalidInput, match=rf"^{library} is not installed: `pip install 'airflow-provider-odf\[{form}\]"
    ):
        published.export_tables(form)


def test_tables_over_a_bucket(growing, store, tmp_path, monkeypatch):
    with guarded_s3() as server:
        use(server.endpoint, monkeypatch)
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", server.key)
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", server.secret)
        copied = CliRunner().invoke(app, ["copy", f"{store.location}/numbers", "s3://bucket/store"])
        assert copied.exit_code == 0, copied.output
        there = PublishedStore(type(store).open("s3://bucket/store", tmp_path / "work"))["numbers"]
        with pytest.raises(InvalidInput, match=r"s3://bucket/store/\.tables: the catalog in SQLite needs a folder of "):
            there.export_tables("iceberg")
        (iceberg,) = there.export_tables("iceberg", folder=str(tmp_path / "lake"))
        keys = {"s3.endpoint": server.endpoint, "s3.access-key-id": server.key}
        keys["s3.secret-access-key"] = server.secret
        keys["s3.region"] = "us-east-1"
        rows = StaticTable.from_metadata(iceberg.location, keys).scan().to_arrow()
        assert sorted(rows["id"].to_pylist()) == [1, 2]
        glue = {"glue.region": "us-east-1", "glue.endpoint": server.endpoint, "glue.access-key-id": server.key}
        glue |= {"type": "glue", "glue.secret-access-key": server.secret, "warehouse": "s3://bucket/lake"}
        changes = [there.export_tables("iceberg", properties=glue)[0].change for _ in range(2)]
        with load_catalog("any", **keys, **glue) as catalog:
            in_glue = catalog.load_table("odf.numbers")
            assert (changes, in_glue.metadata_location[:17]) == (["created", "unchanged"], "s3://bucket/lake/")
            assert sorted(in_glue.scan().to_arrow()["id"].to_pylist()) == [1, 2]
        (delta,) = there.export_tables("delta")
        assert delta.location == "s3://bucket/store/.tables/delta/odf/numbers"
        assert [row["id"] for row in read("delta", delta.location)] == [1, 2]
        assert there.export_tables("delta")[0].change == "unchanged"
