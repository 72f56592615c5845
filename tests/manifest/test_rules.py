from __future__ import annotations

from collections.abc import Callable
from textwrap import indent
from typing import Any

import pytest

HEAD = "kind: DatasetSnapshot\nversion: 1\ncontent:\n  name: a\n  kind: {kind}\n  metadata:\n"
POLL = "- kind: SetPollingSource\n  fetch: {kind: Url, url: 'https://x.org/'}\n  read: Csv\n  merge: Append\n"
PUSH = "- {kind: AddPushSource, sourceName: p, read: Csv, merge: Append}\n"
TRANSFORM = (
    "- {kind: SetTransform, inputs: [{datasetRef: b}], transform: {kind: Sql, engine: spark, query: select 1}}\n"
)
DID = "did:odf:fed01" + "0f" * 32


def manifest(*events: str, kind: str = "Root") -> str:
    return HEAD.format(kind=kind) + indent("".join(events), "    ")


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        pytest.param(
            manifest(POLL, f"- {{kind: Seed, datasetId: '{DID}', datasetKind: Root}}\n"),
            ["m.yaml:11:7: Seed cannot be declared: runs write it (remove it)"],
            id="Seed",
        ),
        pytest.param(
            manifest(POLL, "- {kind: AddData, prevOffset: 1}\n"),
            ["m.yaml:11:7: AddData cannot be declared: runs write it (remove it)"],
            id="AddData",
        ),
        pytest.param(
            manifest(POLL, "- {kind: ExecuteTransform, queryInputs: []}\n"),
            ["m.yaml:11:7: ExecuteTransform cannot be declared: runs write it (remove it)"],
            id="ExecuteTransform",
        ),
        pytest.param(
            manifest(POLL, "- DisablePollingSource\n", "- {kind: DisablePushSource, sourceName: x}\n"),
            [
                "m.yaml:11:7: DisablePollingSource cannot be declared (remove the source from the manifest instead)",
                "m.yaml:12:7: DisablePushSource cannot be declared (remove the source from the manifest instead)",
            ],
            id="Disable",
        ),
        pytest.param(
            manifest(POLL, TRANSFORM, kind="Derivative"),
            ["m.yaml:7:7: a Derivative cannot have SetPollingSource (set `kind: Root`, or use SetTransform)"],
            id="source on derivative",
        ),
        pytest.param(
            manifest(POLL, TRANSFORM),
            ["m.yaml:11:7: a Root cannot have SetTransform (use `preprocess` in the source instead)"],
            id="transform on root",
        ),
        pytest.param(
            manifest("- SetInfo\n", kind="Derivative"),
            ["m.yaml:6:3: a Derivative needs a SetTransform"],
            id="no transform",
        ),
        pytest.param(
            manifest(TRANSFORM, TRANSFORM, kind="Derivative"),
            ["m.yaml:8:7: duplicate SetTransform: a dataset can have only one"],
            id="two transforms",
        ),
        pytest.param(
            manifest(POLL, POLL),
            ["m.yaml:11:7: duplicate SetPollingSource: a dataset can have only one"],
            id="two polling sources",
        ),
        pytest.param(
            manifest(POLL, PUSH),
            ["m.yaml:11:7: a dataset cannot have both a polling source and push sources (split the dataset)"],
            id="poll and push",
        ),
        pytest.param(
            manifest(PUSH, PUSH),
            ["m.yaml:8:41: duplicate push source 'p' (choose another name)"],
            id="same push source",
        ),
        pytest.param(manifest(PUSH, PUSH.replace("p,", "q,")), [], id="two push sources"),
        pytest.param(
            manifest(PUSH.replace("p,", "'',")),
            ["m.yaml:7:41: `sourceName` is empty (a single source is usually called `default`)"],
            id="nameless push source",
        ),
    ],
)
def test_which_events_belong_together(outcome: Callable[..., Any], text: str, problems: list[str]) -> None:
    assert outcome(text).problems == problems


def test_what_is_legal_but_odd_is_a_warning(outcome: Callable[..., Any]) -> None:
    license_ = "- {kind: SetLicense, shortName: s, name: n, websiteUrl: x.org}\n"
    got = outcome(manifest("- SetInfo\n", "- SetInfo\n", license_))
    assert got.problems == []
    assert got.warnings == [
        "m.yaml:6:3: the dataset has no source: no run can add data",
        "m.yaml:8:7: duplicate SetInfo: only the last one applies",
        "m.yaml:9:61: not a URL (such as https://…)",
    ]


def push(read: str, merge: str, rest: str = "") -> str:
    return f"- kind: AddPushSource\n  sourceName: p\n  read: {read}\n  merge: {merge}\n{rest}"


LEDGER = "{kind: Ledger, primaryKey: [id]}"
SCHEMA = "{kind: Csv, schema: [id BIGINT, name STRING]}"


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        pytest.param(manifest(push(SCHEMA, LEDGER)), [], id="fine"),
        pytest.param(manifest(push(SCHEMA, "{kind: Ledger, primaryKey: [ID]}")), [], id="names ignore case"),
        pytest.param(
            manifest(push(SCHEMA, "{kind: Snapshot, primaryKey: [idd], compareColumns: [zzz]}")),
            [
                "m.yaml:10:44: column idd is not in the declared schema (did you mean `id`?)",
                "m.yaml:10:67: column zzz is not in the declared schema (known: id, name)",
            ],
            id="unknown columns",
        ),
        pytest.param(
            manifest(
                push(
                    "{kind: Parquet, schema: {fields: [{name: a, type: Int64}]}}",
                    LEDGER,
                )
            ),
            ["m.yaml:10:42: column id is not in the declared schema (known: a)"],
            id="ODF schema",
        ),
        pytest.param(manifest(push("Csv", LEDGER)), [], id="no schema"),
        pytest.param(
            manifest(
                push(
                    "{kind: Csv, schema: [x INT]}",
                    LEDGER,
                    "  preprocess: {kind: Sql, engine: spark, query: select 1}\n",
                )
            ),
            [],
            id="preprocess may make any column",
        ),
        pytest.param(
            manifest(push(SCHEMA, "{kind: Ledger, primaryKey: []}")),
            ["m.yaml:10:29: `primaryKey` is empty (name the columns that identify a record)"],
            id="no key",
        ),
        pytest.param(
            manifest(push(SCHEMA, "{kind: Ledger, primaryKey: [id, name, Id]}")),
            ["m.yaml:10:52: column Id is repeated"],
            id="key column twice",
        ),
        pytest.param(
            manifest(push(SCHEMA, "{kind: Snapshot, primaryKey: [id], compareColumns: []}")),
            ["m.yaml:10:49: `compareColumns` is empty (leave it out to compare all columns)"],
            id="nothing compared",
        ),
        pytest.param(
            manifest(push(SCHEMA, "{kind: ChangelogStream, primaryKey: [id]}")),
            [
                "m.yaml:10:7: a ChangelogStream needs the column op, which is not in the declared schema "
                "(add it, or name one of id, name in SetVocab.operationTypeColumn)"
            ],
            id="changelog without op",
        ),
        pytest.param(
            manifest(push("{kind: Csv, schema: [id INT, op INT]}", "{kind: UpsertStream, primaryKey: [id]}")),
            [],
            id="upsert with op",
        ),
        pytest.param(
            manifest(push("{kind: Csv, schema: [id INT, OP INT, offset INT, system_time DATE]}", LEDGER)),
            [
                "m.yaml:9:42: column OP has the name of a system column "
                "(rename it in `preprocess` (`OP AS OP_1`), "
                "or, if the dataset has no data yet, rename the system column with SetVocab.operationTypeColumn)",
                "m.yaml:9:50: column offset has the name of a system column "
                "(rename it in `preprocess` (`offset AS offset_1`), "
                "or, if the dataset has no data yet, rename the system column with SetVocab.offsetColumn)",
                "m.yaml:9:62: column system_time has the name of a system column "
                "(rename it in `preprocess` (`system_time AS system_time_1`), "
                "or, if the dataset has no data yet, rename the system column with SetVocab.systemTimeColumn)",
            ],
            id="system columns",
        ),
        pytest.param(
            manifest(push("{kind: Csv, schema: [id INT, '`ODF:op` INT']}", LEDGER)),
            [
                "m.yaml:9:42: column ODF:op has the prefix odf:, which names columns of the engine "
                "(rename it in `preprocess`, in Spark SQL ``ODF:op` AS ODF_op`)"
            ],
            id="columns of the engine",
        ),
        pytest.param(
            manifest(
                push("{kind: Csv, schema: [id INT, offset INT]}", LEDGER), "- {kind: SetVocab, offsetColumn: seq}\n"
            ),
            [],
            id="renamed system column",
        ),
        pytest.param(
            manifest(
                push("{kind: Csv, schema: [id INT, year INT]}", LEDGER), "- {kind: SetVocab, eventTimeColumn: year}\n"
            ),
            [
                "m.yaml:9:42: event time column year must be DATE or TIMESTAMP, not INT "
                "(convert it in `preprocess`, in Spark SQL `timestamp_seconds(year)` for seconds, "
                "`timestamp_millis(year)` for milliseconds, `make_date(year, 1, 1)` for a year, "
                "or name another column in SetVocab.eventTimeColumn)"
            ],
            id="event time of a wrong type",
        ),
    ],
)
def test_names_of_columns(outcome: Callable[..., Any], text: str, problems: list[str]) -> None:
    assert outcome(text).problems == problems


@pytest.mark.parametrize(
    ("vocab", "problem"),
    [
        (
            "offsetColumn: OP",
            "m.yaml:8:38: operation type column and offset column are both called 'op' (give one of them another name)",
        ),
        (
            "eventTimeColumn: t, systemTimeColumn: t",
            "m.yaml:8:41: event time column and system time column are both called 't' (give one of them another name)",
        ),
        ("eventTimeColumn: ''", "m.yaml:8:41: the name of a column is empty"),
    ],
)
def test_vocabulary(outcome: Callable[..., Any], vocab: str, problem: str) -> None:
    assert outcome(manifest(PUSH, f"- {{kind: SetVocab, {vocab}}}\n")).problems == [problem]


@pytest.mark.parametrize(
    ("inputs", "rest", "problems"),
    [
        ("[]", "", ["m.yaml:8:7: a SetTransform needs at least one input"]),
        ("[{datasetRef: b}, {datasetRef: B}]", "", ["m.yaml:8:46: B is repeated"]),
        ("[{datasetRef: b, alias: x}, {datasetRef: c, alias: x}]", "", ["m.yaml:8:66: x is repeated"]),
        (
            "[{datasetRef: b, alias: x}]",
            ", temporalTables: [{name: bb, primaryKey: [k]}]",
            ["m.yaml:9:86: bb is not an input (did you mean `b`?)"],
        ),
        ("[{datasetRef: b, alias: x}]", ", temporalTables: [{name: x, primaryKey: [k]}]", []),
    ],
)
def test_inputs(outcome: Callable[..., Any], inputs: str, rest: str, problems: list[str]) -> None:
    transform = f"{{kind: Sql, engine: flink, query: select 1{rest}}}"
    text = manifest(f"- kind: SetTransform\n  inputs: {inputs}\n  transform: {transform}\n", kind="Derivative")
    assert outcome(text).problems == problems
