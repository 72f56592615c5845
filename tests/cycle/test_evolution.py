"""Datasets that gain a column, from the manifest to the chain, in every merge strategy; sources that go and come."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from airflow_provider_odf.chain import schema as chain_schema
from airflow_provider_odf.chain.commit import Draft
from airflow_provider_odf.chain.record_rows import state_rows, tail_rows
from airflow_provider_odf.chain.replay import replay
from airflow_provider_odf.chain.store import Store
from airflow_provider_odf.chain.verify import verify
from airflow_provider_odf.cycle.merge import merge
from airflow_provider_odf.cycle.messages import Candidate, Input, Outcome
from airflow_provider_odf.cycle.push import Push, again, push
from airflow_provider_odf.cycle.run import run_push
from airflow_provider_odf.cycle.xcom import pass_input, receive_input
from airflow_provider_odf.errors import CommitConflict, InvalidQuery, ManifestInvalid
from airflow_provider_odf.evolution.apply import PENDING, apply
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest import model
from airflow_provider_odf.manifest.load import load
from airflow_provider_odf.protocol import MergeRequest
from airflow_provider_odf.runner.local import LocalRunner
from tests.manifests import polled, pushed

from .conftest import Run, Write, cycle_of

pytestmark = pytest.mark.spark
TIME = Instant.parse("2026-05-09T00:00:00Z")

THINGS = polled(
    "things",
    "{kind: FilesGlob, path: in/*.json}",
    "{kind: NdJson, schema: [op INT, k BIGINT NOT NULL, v STRING]}",
    "{kind: MERGE, primaryKey: [k]}",
)
STREAMS = ("UpsertStream", "ChangelogStream")
OLD, ADDED = ("+A", 1, "a", None), ("+A", 2, "b", 20)
CORRECTED = [("-C", 1, "a", None), ("+C", 1, "a", 10)]
EXPECTED = {
    "Append": [OLD, ("+A", 1, "a", 10), ADDED],
    "Ledger": [OLD, ADDED],
    "Snapshot": [OLD, *CORRECTED, ADDED],
    "UpsertStream": [OLD, *CORRECTED, ADDED],
    "ChangelogStream": [OLD, *CORRECTED, ADDED],
}


def manifest(kind: str) -> str:
    text = THINGS.replace("MERGE", kind) if kind in STREAMS else THINGS.replace("MERGE", kind).replace("op INT, ", "")
    return text if kind != "Append" else text.replace(", primaryKey: [k]", "")


def kinds(store: Store) -> list[str]:
    return [block.event.kind for _, block in store.dataset("things").walk()][::-1]


@pytest.mark.parametrize("kind", EXPECTED)
def test_a_column_is_added(write: Write, run: Run, store: Store, kind: str) -> None:
    file = write("things.yaml", manifest(kind))
    op = '"op": {}, ' if kind in STREAMS else ""
    write("in/1.json", f'{{{op.format(0)}"k": 1, "v": "a"}}\n')
    assert str(run(file)) == "published 1 record (offsets 0..0)"
    file.write_text(file.read_text().replace("v STRING", "n INT, v STRING"))
    changed = [(2, '"k": 1, "v": "a"'), (3, '"k": 1, "v": "a", "n": 10')] if kind == "ChangelogStream" else [
        (0, '"k": 1, "v": "a", "n": 10')
    ]  # fmt: skip
    rows = [*changed, (0, '"k": 2, "v": "b", "n": 20')]
    write("in/2.json", "".join(f"{{{op.format(code)}{row}}}\n" for code, row in rows))
    outcome = run(file)
    assert outcome.error is None
    assert outcome.notices == ("in/2.json: new columns, null in earlier records: n INT",)
    dataset = store.dataset("things")
    assert [(r["op"], r["k"], r["v"], r["n"]) for r in tail_rows(dataset, 99)] == EXPECTED[kind]
    assert kinds(store)[3:] == ["AddData", "SetPollingSource", "SetDataSchema", "AddData"]
    assert tail_rows(dataset, 9).columns == ("offset", "op", "system_time", "event_time", "k", "v", "n")
    state = {row["k"]: row["n"] for row in state_rows(dataset)}
    assert state == ({1: None, 2: 20} if kind == "Ledger" else {1: 10, 2: 20})
    assert verify(dataset).slices == 2


def test_files_of_one_run_may_bring_the_column_one_after_the_other(write: Write, run: Run, store: Store) -> None:
    file = write("things.yaml", manifest("Ledger").replace(", schema: [k BIGINT NOT NULL, v STRING]", ""))
    write("in/1.json", '{"k": 1, "v": "a"}\n')
    write("in/2.json", '{"k": 1, "v": "a", "n": 10}\n{"k": 2, "v": "b", "n": 20}\n')
    assert str(run(file)) == "published 2 records (offsets 0..1)"
    assert kinds(store)[2:] == ["SetDataSchema", "AddData", "SetDataSchema", "AddData"]
    assert [(r["k"], r["n"]) for r in tail_rows(store.dataset("things"), 9)] == [(1, None), (2, 20)]
    assert verify(store.dataset("things")).slices == 2


def test_attributes_of_a_declared_schema_stay(write: Write, run: Run, store: Store) -> None:
    declared = """\
    - kind: SetDataSchema
      schema:
        fields:
          - {name: offset, type: Int64}
          - {name: op, type: Int32}
          - {name: system_time, type: Timestamp}
          - {name: event_time, type: Timestamp}
          - {name: k, type: Int64, extra: {unit.example.com: metre}}
          - {name: v, type: {kind: Option, inner: String}}
"""
    file = write("things.yaml", manifest("Ledger") + declared)
    write("in/1.json", '{"k": 1, "v": "a"}\n')
    run(file)
    file.write_text(manifest("Ledger").replace("v STRING", "v STRING, n INT"))
    write("in/2.json", '{"k": 2, "v": "b", "n": 20}\n')
    assert run(file).error is None
    schema = replay(store.dataset("things")).schema
    assert schema is not None
    fields = {field.name: field for field in chain_schema.data_schema(schema).fields}
    assert list(fields)[4:] == ["k", "v", "n"]
    assert fields["k"].extra is not None
    assert fields["k"].extra.to_mapping() == {"unit.example.com": "metre"}


def test_a_break_that_is_declared_is_refused_before_anything_is_written(write: Write, run: Run, store: Store) -> None:
    file = write("things.yaml", manifest("Snapshot"))
    write("in/1.json", '{"k": 1, "v": "a"}\n')
    run(file)
    written = sorted(path for path in Path(store.dataset("things").location).rglob("*"))
    file.write_text(manifest("Snapshot").replace("v STRING", "v INT"))
    write("in/2.json", '{"k": 1, "v": 1}\n')
    outcome = run(file)
    assert isinstance(outcome.error, ManifestInvalid)
    assert str(outcome).startswith(f"{file}:9:56: column v is STRING in the dataset, not INT (convert it back in ")
    assert sorted(path for path in Path(store.dataset("things").location).rglob("*")) == written


WITH_TYPES = "select *, 1 as n from (select k, k as v from input)"
"""A query whose columns only the engine knows; v is a STRING of the dataset."""


def queried(query: str, text: str = "") -> str:
    steps = f"[{{alias: first, query: select * from input}}, {{query: {query!r}}}]"
    return (text or manifest("Snapshot")) + f"      preprocess: {{kind: Sql, engine: spark, queries: {steps}}}\n"


def test_a_break_that_only_the_engine_sees_is_found_before_anything_is_written(
    write: Write, run: Run, store: Store
) -> None:
    file = write("things.yaml", manifest("Snapshot"))
    write("in/1.json", '{"k": 1, "v": "a"}\n')
    run(file)
    written = sorted(path for path in Path(store.dataset("things").location).rglob("*"))
    (store.work_area / "things").mkdir(parents=True, exist_ok=True)
    fetched = sorted(path for path in (store.work_area / "things").rglob("*"))
    write("in/2.json", '{"k": 1, "v": "b"}\n')
    for query, message in (
        (
            WITH_TYPES,
            "108: the new data does not match the dataset's schema:\n  column v is STRING in the dataset and BIGINT",
        ),
        ("select k, nope as v from first", "109: preprocess, query 2, line 1: [UNRESOLVED_COLUMN.WITH_SUGGESTION]"),
        (
            "select k, v from `first` limit 1; drop table first",
            "143: one query is expected, not several (split it",
        ),
        ("select k, map(k, 1) as m, v from first", "108: column m is of type"),
    ):
        file.write_text(queried(query))
        outcome = run(file)
        assert isinstance(outcome.error, ManifestInvalid)
        assert str(outcome).startswith(f"{file}:11:{message}")
    assert sorted(path for path in Path(store.dataset("things").location).rglob("*")) == written
    assert sorted(path for path in (store.work_area / "things").rglob("*")) == fetched
    file.write_text(queried("select k, upper(v) as v from first"))
    assert str(run(file)) == "published 2 records (offsets 1..2): 1 corrected"
    assert kinds(store)[3:] == ["AddData", "SetPollingSource", "AddData"]


def test_a_new_dataset_with_a_wrong_query_is_not_created(write: Write, run: Run, store: Store) -> None:
    file = write("things.yaml", queried("select nope from first"))
    write("in/1.json", '{"k": 1, "v": "a"}\n')
    assert isinstance(run(file).error, ManifestInvalid)
    assert store.get("things") is None


UNDECLARED = manifest("Snapshot").replace(", schema: [k BIGINT NOT NULL, v STRING]", "")


def test_a_source_whose_query_only_data_can_break_waits_for_them(write: Write, run: Run, store: Store) -> None:
    file = write("things.yaml", queried("select k, nope as v from first", UNDECLARED))
    write("in/1.json", "").write_text("\n\n")
    outcome = run(file)
    assert (str(outcome), outcome.notices) == ("nothing to merge: the input has no columns", (PENDING,))
    write("in/2.json", '{"k": 1, "v": "a"}\n')
    assert isinstance(run(file).error, InvalidQuery)
    assert kinds(store) == ["Seed"]
    file.write_text(queried("select k, v from first", UNDECLARED))
    assert str(run(file)) == "published 1 record (offsets 0..0)"
    published = ["Seed", "SetPollingSource", "AddData", "SetDataSchema", "AddData"]
    assert kinds(store) == published
    write("in/3.json", '{"k": 1, "v": "b"}\n')
    for query, message in (
        (WITH_TYPES, "column v is STRING in the dataset and BIGINT in the new data"),
        ("select k, nope as v from first", "UNRESOLVED_COLUMN"),
    ):
        file.write_text(queried(query, UNDECLARED))
        assert message in str(run(file).error)
        assert kinds(store) == published
    file.write_text(queried("select k, upper(v) as v from first", UNDECLARED))
    assert run(file).error is None
    assert kinds(store) == [*published, "SetPollingSource", "AddData"]
    assert [row["v"] for row in state_rows(store.dataset("things"))] == ["B"]
    assert verify(store.dataset("things")).slices == 2


def test_a_push_source_waits_for_data_of_its_own(write: Write, engine: LocalRunner, store: Store) -> None:
    query = "      preprocess: {kind: Sql, engine: spark, query: QUERY}\n"
    text = LOOSE.replace("READ", "{kind: NdJson}") + query
    other = text[text.index("    - kind") :].replace("default", "other").replace("QUERY", "select nope from input")

    def push(sources: str, system_time: str = "2026-05-10T00:00:00Z") -> Outcome:
        (one,) = load([write("things.yaml", sources)]).manifests
        return run_push(cycle_of(store, one, engine, Instant.parse(system_time)), Push(records=[{"k": 1}]))

    assert "UNRESOLVED_COLUMN" in str(push(text.replace("QUERY", "select nope from input")))
    assert kinds(store) == ["Seed"]
    both = text.replace("QUERY", "select * from input") + other
    assert str(push(both)) == "published 1 record (offsets 0..0)"
    assert kinds(store) == ["Seed", "AddPushSource", "SetDataSchema", "AddData"]
    assert list(replay(store.dataset("things")).push_sources) == ["default"]


def test_a_source_that_waits_goes_onto_the_head_of_another_writer(
    write: Write, engine: LocalRunner, store: Store
) -> None:
    query = "      preprocess: {kind: Sql, engine: spark, query: select k + 1 as k from input}\n"
    (one,) = load([write("things.yaml", LOOSE.replace("READ", "{kind: NdJson}") + query)]).manifests
    cycle = cycle_of(store, one, engine, TIME)
    first, second = (push(cycle, Push(records=[{"k": 1}])) for _ in range(2))
    dataset = store.dataset("things")
    assert isinstance(first, Input)
    assert isinstance(second, Input)
    assert isinstance(merge(cycle, receive_input(store, pass_input(store, first))), Candidate)
    assert (dataset.head(), first.head) == (first.base, second.head)
    info = Draft(dataset, replay(dataset))
    info.append(model.SetInfo(description="Things"), TIME)
    dataset.storage.compare_and_set_ref("head", first.base, info.state.head)
    with pytest.raises(CommitConflict):
        merge(cycle, second)
    onto = again(cycle, second)
    assert isinstance(onto, Input)
    assert (onto.base, onto.head) == (dataset.head(), None)
    dataset.storage.compare_and_set_ref("head", info.state.head, first.head)
    onto = again(cycle, second)
    assert isinstance(onto, Input)
    assert isinstance(replay(dataset, onto.base).push_sources["default"], model.AddPushSource)
    assert onto.head == dataset.head()


def test_metadata_do_not_wait_for_data(write: Write, run: Run, store: Store) -> None:
    info = "    - {kind: SetInfo, description: Things}\n"
    file = write("things.yaml", queried("select k, v from first", UNDECLARED) + info)
    write("in/1.json", '{"k": 1, "v": "a"}\n')
    run(file)
    edited = queried("select k, v || '' as v from first", UNDECLARED)
    file.write_text(edited + info.replace("Things", "Other things"))
    outcome = run(file)
    assert (str(outcome), outcome.notices) == ("up to date (manifest applied: SetInfo)", (PENDING,))
    assert kinds(store)[-1] == "SetInfo"
    blocks = sorted(Path(store.dataset("things").location).rglob("blocks/*"))
    run(file)
    assert sorted(Path(store.dataset("things").location).rglob("blocks/*")) == blocks


def test_the_engine_is_asked_once_about_an_edit(write: Write, store: Store) -> None:
    write("in/1.json", '{"k": 1, "v": "a"}\n')
    (one,) = load([write("things.yaml", queried("select k, v from first"))]).manifests
    asked: list[MergeRequest] = []
    for _ in range(2):
        apply(store, one, TIME, ask=asked.append)
    assert [(r.inputs, r.dataset_alias, r.schema, r.new_data_path) for r in asked] == [((), "things", None, "")]


def test_a_disabled_source_is_not_asked_and_goes_on_where_it_was(
    write: Write, run: Run, store: Store, tmp_path: Path
) -> None:
    file = write("things.yaml", manifest("Append"))
    write("in/1.json", '{"k": 1, "v": "a"}\n')
    run(file)
    file.write_text(THINGS[: THINGS.index("metadata:")] + "metadata: []\n")
    write("in/2.json", '{"k": 2, "v": "b"}\n')
    assert str(run(file)) == "no polling source (manifest applied: DisablePollingSource)"
    assert kinds(store)[4:] == ["DisablePollingSource"]
    assert str(run(file)) == "no polling source"
    file.write_text(manifest("Append"))
    assert str(run(file)) == "published 1 record (offsets 1..1)"
    assert [row["k"] for row in tail_rows(store.dataset("things"), 9)] == [1, 2]
    assert verify(store.dataset("things")).blocks == 7


LOOSE = pushed("things", "READ")


class TestWithoutSchema:
    """What the first data are decides; later ones are read as that."""

    @pytest.fixture
    def push(self, store: Store, engine: LocalRunner, write: Write) -> Callable[..., Outcome]:
        def push(read: str, given: str | list[dict[str, object]]) -> Outcome:
            apply(store, load([write("things.yaml", LOOSE.replace("READ", read))]).manifests[0], TIME)
            pushed = Push((str(write("in.txt", given)),)) if isinstance(given, str) else Push(records=given)
            return run_push(cycle_of(store, "things", engine, TIME), pushed)

        return push

    def test_records(self, push: Callable[..., Outcome], store: Store) -> None:
        read = "{kind: NdJson}"
        push(read, [{"k": 1, "x": 1.5, "list": [1]}])
        assert str(push(read, [{"k": "2", "x": 3, "list": []}])) == "published 1 record (offsets 1..1)"
        assert str(push(read, [{"k": 3, "x": None}])) == "published 1 record (offsets 2..2)"
        outcome = push(read, [{"k": 4, "x": "0.5", "list": None, "n": "new"}])
        assert outcome.notices == ("records: new columns, null in earlier records: n STRING",)
        rows = tail_rows(store.dataset("things"), 9)
        assert [(r["k"], r["x"], r["list"], r["n"]) for r in rows] == [
            (1, 1.5, [1], None),
            (2, 3.0, [], None),
            (3, None, None, None),
            (4, 0.5, None, "new"),
        ]
        assert str(push(read, [{"k": 1.5}])) == "records: line 1, column k: '1.5' is not a BIGINT"
        # It may be x by another name.
        assert "column x (DOUBLE) is missing" in str(push(read, [{"k": 5, "y": 2.5, "list": [], "n": ""}]))

    def test_records_after_files(self, push: Callable[..., Outcome], store: Store) -> None:
        read = "{kind: Csv, header: true}"
        push(read, "k,v\n1,a\n")
        push(read, [{"k": 2, "v": "b"}])
        assert [(r["k"], r["v"]) for r in tail_rows(store.dataset("things"), 9)] == [("1", "a"), ("2", "b")]

    def test_inferred_csv(self, push: Callable[..., Outcome], store: Store) -> None:
        read = "{kind: Csv, header: true, inferSchema: true}"
        push(read, "k,v\n1,1.5\n")
        push(read, "k,v\n2,\n")
        push(read, "k,v\n3,7\n")
        assert [(r["k"], r["v"]) for r in tail_rows(store.dataset("things"), 9)] == [(1, 1.5), (2, None), (3, 7.0)]
        assert str(push(read, "k,v\nx,1\n")).endswith("in.txt: line 2, column k: 'x' is not a BIGINT")


def test_a_schema_without_the_geometry_that_the_dataset_has(write: Write, run: Run) -> None:
    text = THINGS.replace("kind: NdJson, schema: [op INT, k BIGINT NOT NULL, v STRING]", "READ")
    text = text.replace("merge: {kind: MERGE, primaryKey: [k]}", "merge: Append")
    file = write("things.yaml", text.replace("READ", "kind: NdGeoJson"))
    line = '{"type": "Feature", "properties": {"k": 1}, "geometry": {"type": "Point", "coordinates": [1, 2]}}\n'
    write("in/1.json", line)
    run(file)
    file.write_text(text.replace("READ", "kind: NdGeoJson, schema: [k BIGINT]"))
    write("in/2.json", line)
    outcome = run(file)
    assert isinstance(outcome.error, ManifestInvalid)
    assert "column geometry STRING of the dataset is missing" in str(outcome)
