"""What a changed manifest appends to a chain, and what it is refused. No engine runs: data blocks are made up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from airflow_provider_odf.chain import schema as chain_schema
from airflow_provider_odf.chain.commit import Draft
from airflow_provider_odf.chain.replay import replay
from airflow_provider_odf.chain.state import ChainState
from airflow_provider_odf.chain.store import Store
from airflow_provider_odf.errors import ManifestInvalid
from airflow_provider_odf.evolution.apply import apply
from airflow_provider_odf.evolution.plan import Plan, plan
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest import model
from airflow_provider_odf.manifest.load import load
from airflow_provider_odf.manifest.manifest import Manifest

TIME = Instant.parse("2024-01-01T12:00:00Z")
HASH = "f1620" + "ab" * 32
HEAD = "kind: DatasetSnapshot\nversion: 1\ncontent:\n  name: things\n  kind: Root\n  metadata:\n"
FETCH = "{kind: Url, url: 'https://example.com/a.csv'}"
READ = "{kind: Csv, header: true, schema: [k BIGINT NOT NULL, v STRING]}"
MERGE = "{kind: Snapshot, primaryKey: [k]}"
MILLISECONDS = pa.timestamp("ms", "UTC")


def polling(read: str = READ, merge: str = MERGE, fetch: str = FETCH, preprocess: str = "") -> str:
    query = f", preprocess: {preprocess}" if preprocess else ""
    return f"{{kind: SetPollingSource, fetch: {fetch}, read: {read}{query}, merge: {merge}}}"


def sql(query: str, engine: str = "spark") -> str:
    return f"{{kind: Sql, engine: {engine}, query: '{query}'}}"


def pushing(name: str, read: str = READ, merge: str = MERGE, preprocess: str = "") -> str:
    query = f", preprocess: {preprocess}" if preprocess else ""
    return f"{{kind: AddPushSource, sourceName: {name}, read: {read}{query}, merge: {merge}}}"


class Edited:
    """A dataset whose manifest is edited."""

    def __init__(self, folder: Path) -> None:
        self.file, self.store = folder / "things.yaml", Store.open(folder / "store")

    def manifest(self, *events: str) -> Manifest:
        listed = "".join(f"    - {event}\n" for event in events)
        self.file.write_text(HEAD + listed if events else HEAD.rstrip() + " []\n")
        loaded = load([self.file])
        assert loaded.problems == ()
        return loaded.manifests[0]

    def apply(self, *events: str) -> ChainState:
        return apply(self.store, self.manifest(*events), TIME)

    def plan(self, *events: str) -> Plan:
        dataset = self.store.get(self.manifest(*events).snapshot.alias)
        return plan(replay(dataset) if dataset else None, self.manifest(*events))

    def add_data(self, *fields: pa.Field) -> None:
        """The blocks of a first slice with these columns."""
        dataset = self.store.dataset("things")
        base = replay(dataset)
        system = zip(base.vocab.columns, (pa.int64(), pa.int32(), MILLISECONDS, MILLISECONDS), strict=True)
        schema = pa.schema([*(pa.field(n, t, nullable=False) for n, t in system), *fields])
        draft = Draft(dataset, base)
        draft.append(chain_schema.set_data_schema(schema), TIME)
        interval = model.OffsetInterval(start=0, end=0)
        new = model.DataSlice(logical_hash=HASH, physical_hash=HASH, offset_interval=interval, size=1)
        state = model.SourceState(source_name="default", kind="odf/etag", value="1")
        draft.append(model.AddData(new_data=new, new_watermark=TIME, new_source_state=state), TIME)
        dataset.storage.compare_and_set_ref("head", base.head, draft.state.head)


@pytest.fixture
def edited(tmp_path: Path) -> Edited:
    return Edited(tmp_path)


K, V = pa.field("k", pa.int64(), nullable=False), pa.field("v", pa.string())


@pytest.fixture
def with_data(edited: Edited) -> Edited:
    edited.apply(polling())
    edited.add_data(K, V)
    return edited


def shown(planned: Plan) -> list[tuple[str, list[tuple[str, Any, Any]]]]:
    return [(c.event.kind, [(d.path, d.before, d.after) for d in c.differences]) for c in planned.changes]


def refused(planned: Plan) -> list[str]:
    return [f"{p.place.line}: {p.message}" for p in planned.problems]


def test_a_new_dataset_gets_all_of_its_events(edited: Edited) -> None:
    planned = edited.plan("{kind: SetInfo, description: A}", "{kind: SetInfo, description: B}", polling())
    assert (planned.is_new, [c.event.kind for c in planned.changes]) == (
        True,
        ["SetInfo", "SetInfo", "SetPollingSource"],
    )
    assert [str(c.place.line) for c in planned.changes if c.place] == ["7", "8", "9"]


def test_what_is_planned_is_what_is_applied(with_data: Edited) -> None:
    events = polling(fetch="{kind: Url, url: 'https://example.com/b.csv'}"), "{kind: SetInfo, description: Things}"
    planned = with_data.plan(*events)
    before = replay(with_data.store.dataset("things"))
    state = with_data.apply(*events)
    appended = [block.event for _, block in with_data.store.dataset("things").walk(state.head)]
    assert appended[: len(planned.changes)][::-1] == [c.event for c in planned.changes]
    assert state.sequence_number == before.sequence_number + 2
    assert with_data.plan(*events).changes == ()
    assert shown(planned) == [
        ("SetPollingSource", [("fetch.url", "https://example.com/a.csv", "https://example.com/b.csv")]),
        ("SetInfo", []),
    ]


SAME = {
    "defaults written out": (
        [polling()],
        [
            polling(
                read="{kind: Csv, header: true, separator: ',', quote: '\"', encoding: UTF8, nullValue: '', "
                "dateFormat: rfc3339, inferSchema: false, schema: [k BIGINT NOT NULL, v STRING]}",
                fetch="{kind: Url, url: 'https://example.com/a.csv', eventTime: {kind: FromMetadata}, headers: []}",
            )
        ],
    ),
    "the other form of the schema": (
        [polling()],
        [
            polling(
                read="{kind: csv, header: true, schema: {fields: [{name: k, type: Int64}, "
                "{name: v, type: {kind: Option, inner: String}}]}}"
            )
        ],
    ),
    "other words for types": ([polling()], [polling(read=READ.replace("STRING", "varchar(9)"))]),
    "the order of attachments": (
        ["{kind: SetAttachments, attachments: {kind: Embedded, items: "
         f"[{{path: {a}, content: x}}, {{path: {b}, content: x}}]}}}}" for a, b in [("a", "b")]],
        ["{kind: SetAttachments, attachments: {kind: Embedded, items: "
         f"[{{path: {a}, content: x}}, {{path: {b}, content: x}}]}}}}" for a, b in [("b", "a")]],
    ),
    "no keywords": (["{kind: SetInfo, description: A}"], ["{kind: SetInfo, description: A, keywords: []}"]),
    "an info that says nothing": ([], ["{kind: SetInfo}"]),
    "default names": ([], ["{kind: SetVocab, offsetColumn: offset}"]),
    "query and queries": (
        [polling(preprocess=sql("select k, v from input"))],
        [polling(preprocess="{kind: Sql, engine: spark, queries: [{query: 'select k, v from input'}]}")],
    ),
    "the order of a glob": (
        [polling(fetch="{kind: FilesGlob, path: a/*}")],
        [polling(fetch="{kind: FilesGlob, path: a/*, order: byName, eventTime: {kind: fromSystemTime}}")],
    ),
    "units of times": (
        ["{kind: SetDataSchema, schema: {fields: [" + ", ".join(
            f"{{name: {n}, type: {t}}}" for n, t in
            [("offset", "Int64"), ("op", "Int32"), ("system_time", "Timestamp"), ("event_time", "Timestamp")]
        ) + "]}}"],
        ["{kind: SetDataSchema, schema: {fields: [" + ", ".join(
            f"{{name: {n}, type: {t}}}" for n, t in
            [("offset", "Int64"), ("op", "Int32"),
             ("system_time", "{kind: Timestamp, unit: Millisecond, timezone: UTC}"), ("event_time", "Timestamp")]
        ) + "]}}"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", SAME)
def test_what_means_the_same_is_no_change(edited: Edited, case: str) -> None:
    before, after = SAME[case]
    edited.apply(*before)
    assert edited.plan(*after) == Plan("things", False)
    assert edited.plan(*before) == Plan("things", False)


CHANGES: dict[str, tuple[Sequence[str], list[tuple[str, Any, Any]]]] = {
    "a column": ([polling(read=READ.replace("v STRING", "v STRING, w INT"))], [("read.schema", None, "w INT")]),
    "columns in another place": (
        [polling(read="{kind: Csv, schema: [v STRING, k BIGINT NOT NULL]}")],
        [
            ("read.header", True, False),
            ("read.schema", None, "v STRING"),
            ("read.schema", "v STRING", None),
        ],
    ),
    "a prepare step": (
        [polling().replace("read:", "prepare: [{kind: Decompress, format: Gzip}], read:")],
        [("prepare[0].kind", None, "Decompress"), ("prepare[0].format", None, "Gzip")],
    ),
    "compared columns": (
        [polling(merge="{kind: Snapshot, primaryKey: [k], compareColumns: [v]}")],
        [("merge.compareColumns", None, "v")],
    ),
    "the spelling of a key": (
        [polling(merge="{kind: Snapshot, primaryKey: [K]}")],
        [("merge.primaryKey", "k", "K")],
    ),
}


@pytest.mark.parametrize("case", CHANGES)
def test_changes_are_told_property_by_property(with_data: Edited, case: str) -> None:
    events, expected = CHANGES[case]
    planned = with_data.plan(*events)
    assert (refused(planned), shown(planned)) == ([], [("SetPollingSource", expected)])
    with_data.apply(*events)
    assert with_data.plan(*events).changes == ()


def test_what_is_no_longer_said_stays(edited: Edited) -> None:
    edited.apply(polling(), "{kind: SetInfo, description: A}", "{kind: SetVocab, offsetColumn: nr}")
    planned = edited.plan(polling())
    assert planned.changes == ()
    assert planned.notes == (
        "SetInfo is no longer in the manifest and stays in force; an empty SetInfo clears it",
        "SetVocab is no longer in the manifest and stays in force",
    )
    edited.apply(polling(), "{kind: SetInfo}")
    assert edited.plan(polling()).notes == planned.notes[1:]


def test_the_kind_of_a_dataset_stays(with_data: Edited) -> None:
    manifest = with_data.manifest(polling())
    snapshot = manifest.snapshot.model_copy(update={"kind": "Derivative"})
    state = replay(with_data.store.dataset("things"))
    planned = plan(state, Manifest(snapshot, manifest.file, manifest.document))
    assert refused(planned) == ["5: dataset things exists as Root, not Derivative: a dataset never changes its kind"]


def test_a_new_derivative_dataset_has_inputs_without_ids(tmp_path: Path) -> None:
    edited = Edited(tmp_path)
    text = (
        HEAD.replace("Root", "Derivative")
        + f"    - {{kind: SetTransform, inputs: [{{datasetRef: other}}], transform: {sql('select 1 as event_time')}}}\n"
    )
    edited.file.write_text(text)
    planned = plan(None, load([edited.file]).manifests[0])
    assert refused(planned) == []
    assert [change.event.kind for change in planned.changes] == ["SetTransform"]


def test_names_of_system_columns_stay_once_there_are_columns(with_data: Edited, tmp_path: Path) -> None:
    assert refused(with_data.plan(polling(), "{kind: SetVocab, eventTimeColumn: at}")) == [
        "8: the dataset has columns under the names offset, op, system_time, event_time; "
        "names of system columns cannot change"
    ]
    fresh = Edited(tmp_path / "fresh")
    fresh.file.parent.mkdir()
    fresh.apply(polling())
    assert fresh.apply(polling(), "{kind: SetVocab, eventTimeColumn: at}").vocab.event_time_column == "at"


STRATEGIES = {
    "Append": "{kind: Append}",
    "Ledger": "{kind: Ledger, primaryKey: [k]}",
    "Snapshot": "{kind: Snapshot, primaryKey: [k]}",
    "UpsertStream": "{kind: UpsertStream, primaryKey: [k]}",
    "ChangelogStream": "{kind: ChangelogStream, primaryKey: [k]}",
}
ALLOWED = {("Ledger", "Append")} | {
    (before, after)
    for before in ("Ledger", "Snapshot", "UpsertStream", "ChangelogStream")
    for after in ("Snapshot", "UpsertStream", "ChangelogStream")
}
OP_READ = "{kind: NdJson, schema: [op INT, k BIGINT NOT NULL, v STRING]}"


@pytest.mark.parametrize("before", STRATEGIES)
@pytest.mark.parametrize("after", STRATEGIES)
def test_a_strategy_goes_on_with_data_that_it_reads_rightly(edited: Edited, before: str, after: str) -> None:
    reads = {name: OP_READ if name == "ChangelogStream" else READ for name in STRATEGIES}
    edited.apply(polling(reads[before], STRATEGIES[before]))
    changed = polling(reads[after], STRATEGIES[after])
    assert edited.plan(changed).problems == ()  # before there are data
    edited.add_data(K, V)
    is_allowed = before == after or (before, after) in ALLOWED
    expected = [f"7: the dataset has data merged by {before}, which {after} cannot continue"]
    assert refused(edited.plan(changed)) == ([] if is_allowed else expected)


def test_the_key_of_data_stays_also_for_a_source_that_comes_back(with_data: Edited) -> None:
    message = ["7: the dataset has data merged under the key (k), not (v)"]
    other = "{kind: UpsertStream, primaryKey: [v]}"
    assert refused(with_data.plan(polling(merge=other))) == message
    with_data.apply()
    assert refused(with_data.plan(polling(merge=other))) == message
    assert refused(with_data.plan(pushing("web", merge=other))) == message
    assert with_data.plan(pushing("web")).problems == ()


def test_nothing_is_written_where_something_is_refused(with_data: Edited) -> None:
    blocks = sorted((Path(with_data.store.dataset("things").location) / "blocks").iterdir())
    with pytest.raises(ManifestInvalid, match=r"things.yaml:8:\d+: the dataset has data merged by Snapshot"):
        with_data.apply("{kind: SetInfo, description: New}", polling(merge="{kind: Append}"))
    assert sorted((Path(with_data.store.dataset("things").location) / "blocks").iterdir()) == blocks


def test_the_order_of_a_glob_stays(edited: Edited) -> None:
    time = "eventTime: {kind: FromPath, pattern: (.*)}"
    by_name = polling(fetch=f"{{kind: FilesGlob, path: a/*, {time}}}")
    by_time = polling(fetch=f"{{kind: FilesGlob, path: a/*, {time}, order: ByEventTime}}")
    edited.apply(by_name)
    assert edited.plan(by_time).problems == ()
    edited.add_data(K, V)
    assert refused(edited.plan(by_time)) == [
        "7: files were ingested in the order ByName; in the order ByEventTime all of them would be ingested again"
    ]
    assert edited.plan(by_name).problems == ()


# --- sources that go and come ---------------------------------------------------------------------------------------


def test_a_source_that_is_gone_is_disabled_and_can_come_back(with_data: Edited) -> None:
    assert [c.event for c in with_data.plan().changes] == [model.DisablePollingSource()]
    state = with_data.apply()
    assert state.polling_source is None
    assert with_data.plan().changes == ()
    assert [c.event.kind for c in with_data.plan(polling()).changes] == ["SetPollingSource"]
    state = with_data.apply(polling())
    assert state.polling_source is not None
    assert state.polling_state.value == "1"


def test_push_sources_go_and_come_by_name(edited: Edited) -> None:
    edited.apply(pushing("web"), pushing("app"))
    assert [c.event for c in edited.plan(pushing("app"), pushing("api")).changes] == [
        model.DisablePushSource(source_name="web"),
        edited.manifest(pushing("api")).snapshot.metadata[0],
    ]
    assert set(edited.apply(pushing("app"), pushing("api")).push_sources) == {"app", "api"}
    assert set(edited.apply(pushing("web"), pushing("app")).push_sources) == {"web", "app"}


def test_one_kind_of_source_takes_the_place_of_the_other(edited: Edited) -> None:
    edited.apply(polling())
    planned = edited.plan(pushing("web"))
    assert [c.event.kind for c in planned.changes] == ["DisablePollingSource", "AddPushSource"]
    edited.apply(pushing("web"))
    state = edited.apply(polling())
    assert (state.polling_source is not None, dict(state.push_sources)) == (True, {})


# --- columns --------------------------------------------------------------------------------------------------------


def read(*columns: str, kind: str = "Csv") -> str:
    return f"{{kind: {kind}, schema: [{', '.join(columns)}]}}"


COLUMNS: dict[str, tuple[str, list[str]]] = {
    "removed": (
        read("k BIGINT NOT NULL"),
        ["column v STRING of the dataset is missing: columns are neither removed nor renamed"],
    ),
    "another type": (read("k INT NOT NULL", "v STRING"), ["column k is BIGINT in the dataset, not INT"]),
    "required and new": (
        read("k BIGINT NOT NULL", "v STRING", "w INT NOT NULL"),
        ["column w is new and NOT NULL, but the records before have no value for it"],
    ),
    "now required": (
        read("k BIGINT NOT NULL", "v STRING NOT NULL"),
        ["column v is nullable in the dataset, and cannot become NOT NULL"],
    ),
    "no longer required": (
        read("k BIGINT", "v STRING"),
        ["column k is NOT NULL in the dataset, and stays so"],
    ),
    "renamed": (
        read("k BIGINT NOT NULL", "value STRING"),
        ["column v STRING of the dataset is missing: columns are neither removed nor renamed"],
    ),
    "event time": (
        read("k BIGINT NOT NULL", "v STRING", "event_time DATE"),
        ["column event_time is TIMESTAMP in the dataset, not DATE"],
    ),
    "another case and order": (read("V STRING", "K BIGINT NOT NULL"), []),
    "other words": (read("v text", "k bigint not null", "event_time timestamp"), []),
    "new": (read("'w DECIMAL(9,2)'", "v STRING", "k BIGINT NOT NULL"), []),
}


@pytest.mark.parametrize("case", COLUMNS)
def test_declared_columns_go_with_those_of_the_dataset(with_data: Edited, case: str) -> None:
    given, messages = COLUMNS[case]
    planned = with_data.plan(polling(read=given))
    assert [p.message for p in planned.problems] == messages
    if case == "new":
        assert planned.notes == ("new columns come with the next data: w DECIMAL(9,2)",)


def test_each_reason_has_its_place(with_data: Edited) -> None:
    given = "\n        kind: Csv\n        schema:\n" + "".join(
        f"          - {c}\n" for c in ("k INT NOT NULL", "x DATE NOT NULL", "v STRING")
    )
    source = "kind: SetPollingSource\n      fetch: {kind: Url, url: x}\n      merge: " + MERGE + "\n      read:" + given
    planned = with_data.plan(source)
    assert [(p.place.line, p.place.column) for p in planned.problems] == [(13, 13), (14, 13)]


QUERIES: dict[str, tuple[str, list[str], tuple[str, ...]]] = {
    "removed": (sql("select k from input"), ["column v STRING of the dataset is missing"], ()),
    "renamed": (
        sql("select k, v as w from input", "datafusion"),
        ["column v STRING of the dataset is missing"],
        ("w STRING",),
    ),
    "new": (sql("select *, length(v) as n from input", "datafusion"), [], ("n INT",)),
    "retyped": (
        sql("select k, length(v) as v from input", "datafusion"),
        ["column v is STRING in the dataset, not INT"],
        (),
    ),
    "unknown": (sql("select * from input"), [], ()),
}  # fmt: skip


@pytest.mark.parametrize("case", QUERIES)
def test_names_that_a_query_gives_are_known(with_data: Edited, case: str) -> None:
    preprocess, messages, added = QUERIES[case]
    planned = with_data.plan(polling(preprocess=preprocess))
    assert [p.message.partition(":")[0] for p in planned.problems] == messages
    assert planned.notes == tuple(f"new columns come with the next data: {name}" for name in added)


def test_sql_is_checked_before_anything_is_written(edited: Edited, with_data: Edited) -> None:
    message = "No field named z. The columns are input.k, input.v."
    source = polling(preprocess=sql("select k, z from input", "datafusion"))
    assert [p.message for p in edited.plan(source).problems] == [message]
    assert [p.message for p in with_data.plan(source).problems] == [message]
    assert with_data.plan(polling(preprocess=sql("select k, v from input", "datafusion"))).problems == ()


def test_all_sources_gain_a_column_together(edited: Edited) -> None:
    app = pushing("app", preprocess=sql("select k, v from input"))
    edited.apply(pushing("web"), app)
    edited.add_data(K, V)
    more = READ.replace("v STRING", "v STRING, w INT")
    assert refused(edited.plan(pushing("web", more), app)) == [
        "8: column w INT comes from another source of the dataset, and is missing here"
    ]
    assert edited.plan(pushing("web", more), pushing("app", more)).problems == ()


def schema(*columns: str, system: str = "") -> str:
    names = system or "offset Int64, op Int32, system_time Timestamp, event_time Timestamp"
    fields = [column.split(" ", 1) for column in (*names.split(", "), *columns)]
    inside = ", ".join(f"{{name: {n}, type: {t}}}" for n, t in fields)
    return f"{{kind: SetDataSchema, schema: {{fields: [{inside}]}}}}"


def test_a_declared_schema_grows_as_the_manifest_says(with_data: Edited) -> None:
    old = ["k Int64", "v {kind: Option, inner: String}"]
    new = [*old, "w {kind: Option, inner: Int32}"]
    more = polling(read=READ.replace("v STRING", "v STRING, w INT"))
    assert with_data.plan(polling(), schema(*old)).changes == ()
    assert refused(with_data.plan(more, schema(*old))) == ["7: column w is not in the SetDataSchema of this manifest"]
    assert refused(with_data.plan(polling(), schema(*new))) == [
        "7: column w INT of the dataset is missing: columns are neither removed nor renamed"
    ]
    planned = with_data.plan(more, schema(*new))
    assert (refused(planned), shown(planned)[1]) == (
        [],
        ("SetDataSchema", [("schema", None, "w Option(Int32)")]),
    )
    with_data.apply(more, schema(*new))
    assert with_data.plan(more, schema(*new)).changes == ()
    assert refused(with_data.plan(more, schema(*old))) == ["7: column w is not in the SetDataSchema of this manifest"]
    assert refused(with_data.plan(polling(preprocess=sql("select * from input")), schema(*old))) == [
        "8: the new schema has no column w (rule schema-change)"
    ]


@pytest.mark.parametrize(
    "system",
    [
        "offset Int64, op Int32",
        "offset UInt64, op Int32, system_time Timestamp, event_time Timestamp",
        "op Int32, offset Int64",
    ],
)
def test_a_declared_schema_begins_with_the_system_columns(edited: Edited, system: str) -> None:
    given = schema("k Int64", "v {kind: Option, inner: String}", system=system)
    (message,) = refused(edited.plan(polling(), given))
    assert message.startswith("8: the schema of slices begins with the system columns offset Int64, op Int32, ")


def test_a_chain_of_changes_can_be_folded_again(with_data: Edited, tmp_path: Path) -> None:
    steps: list[Callable[[], ChainState]] = [
        lambda: with_data.apply(),
        lambda: with_data.apply(pushing("web"), pushing("app")),
        lambda: with_data.apply(pushing("app", merge="{kind: UpsertStream, primaryKey: [k]}")),
        lambda: with_data.apply(polling(), "{kind: SetLicense, shortName: a, name: b, websiteUrl: 'https://c.d'}"),
    ]
    for step in steps:
        state = step()
        assert replay(with_data.store.dataset("things")) == state
    assert state.sequence_number == 11
