"""One case for each way to break a rule; test_state.py has what is allowed."""

from __future__ import annotations

import pytest

from airflow_provider_odf.chain.replay import append, begin
from airflow_provider_odf.chain.state import ChainState
from airflow_provider_odf.errors import BlockRejected
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest.model import MetadataBlock

H = ["f1620" + f"{n:02x}" * 32 for n in range(16)]
DID = "did:odf:fed016b65f9b5b23c00006b65f9b5b23c0000b056960700000000561226bab29c83f7"
DID2 = "did:odf:fed01666f6fb3b7370000666f6fb3b737000060f6f60600000000895cddbcb7f7b8cc"
TIME = "2024-05-02T08:00:00Z"
EARLIER, LATER = "2024-05-02T07:59:59.999999999Z", "2024-05-03T08:00:00Z"

SQL = {"kind": "Sql", "engine": "spark", "queries": [{"query": "SELECT 1"}]}
FETCH = {"kind": "Url", "url": "file:///x"}
POLLING = {"kind": "SetPollingSource", "fetch": FETCH, "read": {"kind": "Csv"}, "merge": {"kind": "Append"}}
PUSH = {"kind": "AddPushSource", "sourceName": "a", "read": {"kind": "Csv"}, "merge": {"kind": "Append"}}
INT = {"kind": "Int64"}
OPTIONAL = {"kind": "Option", "inner": INT}
TRANSFORM = {"kind": "SetTransform", "inputs": [{"datasetRef": DID2, "alias": "in"}], "transform": SQL}


def schema(**columns):
    return {
        "kind": "SetDataSchema",
        "schema": {"fields": [{"name": name, "type": type_} for name, type_ in columns.items()]},
    }


def data(start, end, **fields):
    new_data = {
        "logicalHash": "f9680c00120" + "ab" * 32,
        "physicalHash": H[1],
        "offsetInterval": {"start": start, "end": end},
        "size": 1,
    }
    return {"kind": "AddData", "newData": new_data, **({"prevOffset": start - 1} if start else {}), **fields}


def query(*inputs, **fields):
    return {"kind": "ExecuteTransform", "queryInputs": list(inputs), "newWatermark": TIME, **fields}


def block(state: ChainState | None, event: dict, **fields) -> MetadataBlock:
    base = {"systemTime": TIME, "sequenceNumber": state.sequence_number + 1 if state else 0}
    if state:
        base["prevBlockHash"] = state.head
    return MetadataBlock.model_validate(base | fields | {"event": event}, by_alias=True)


def chain(*events: dict, kind: str = "Root") -> ChainState:
    state = begin(H[0], block(None, {"kind": "Seed", "datasetId": DID, "datasetKind": kind}))
    for number, event in enumerate(events, 1):
        state = append(state, H[number], block(state, event))
    return state


STATE1 = {"sourceName": "default", "kind": "odf/etag", "value": "1"}
STATE2 = {"sourceName": "default", "kind": "odf/etag", "value": "2"}
CHECKPOINT = {"physicalHash": H[2], "size": 1}
SCHEMA = schema(a=INT, b=OPTIONAL)

ROOT = [
    ("seed", [], {"kind": "Seed", "datasetId": DID, "datasetKind": "Root"}, "only as the first block"),
    ("kind", [], TRANSFORM, "SetTransform does not belong in a Root"),
    ("kind", [], query({"datasetId": DID2, "newBlockHash": H[1]}), "does not belong in a Root"),
    ("watermark", [SCHEMA, data(0, 1, newWatermark=TIME)], data(2, 3), "newWatermark is missing"),
    (
        "watermark",
        [SCHEMA, data(0, 1, newWatermark=TIME)],
        data(2, 3, newWatermark=EARLIER),
        "earlier than the previous",
    ),
    ("offsets", [SCHEMA, data(0, 1)], data(3, 3), "prevOffset is 2, but the last offset is 1"),
    ("offsets", [SCHEMA, data(0, 1)], data(3, 3, prevOffset=1), "starts at offset 3, not 2"),
    ("offsets", [SCHEMA], data(1, 3, prevOffset=None), "starts at offset 1, not 0"),
    ("offsets", [SCHEMA], data(0, 3, prevOffset=7), "prevOffset is 7, but the last offset is None"),
    ("offsets", [SCHEMA, data(0, 4)], data(5, 4), "ends at offset 4, before its start"),
    ("offsets", [SCHEMA, data(0, 4)], {"kind": "AddData", "newSourceState": STATE1}, "prevOffset is None"),
    ("checkpoint", [SCHEMA], data(0, 4, prevCheckpoint=H[2]), "the last checkpoint is None"),
    ("checkpoint", [SCHEMA, data(0, 4, newCheckpoint=CHECKPOINT)], data(5, 5), "prevCheckpoint is None"),
    ("schema-first", [], data(0, 0), "the first block with data needs a SetDataSchema before it"),
    ("empty", [SCHEMA], {"kind": "AddData"}, "has no data, checkpoint"),
    (
        "no-op",
        [{"kind": "AddData", "newSourceState": STATE1}],
        {"kind": "AddData", "newSourceState": STATE1},
        "are unchanged",
    ),
    (
        "no-op",
        [{"kind": "AddData", "newCheckpoint": CHECKPOINT, "newWatermark": TIME}],
        {"kind": "AddData", "prevCheckpoint": H[2], "newCheckpoint": CHECKPOINT, "newWatermark": TIME},
        "source state are unchanged",
    ),
    ("no-op", [PUSH], PUSH, "AddPushSource repeats push source .* without a change"),
    ("no-op", [SCHEMA], SCHEMA, "SetDataSchema repeats the current schema without a change"),
    ("polling-source", [PUSH], POLLING, r"push sources \(a\)"),
    ("polling-source", [], {"kind": "DisablePollingSource"}, "no polling source"),
    ("polling-source", [POLLING, {"kind": "DisablePollingSource"}], {"kind": "DisablePollingSource"}, "no polling"),
    ("push-source", [POLLING], PUSH, "has a polling source"),
    ("push-source", [PUSH], {"kind": "DisablePushSource", "sourceName": "b"}, "no push source 'b'"),
    ("fetch", [], POLLING | {"fetch": {"kind": "EthereumLogs"}}, "chainId or nodeUrl"),
    (
        "transform",
        [],
        POLLING | {"preprocess": {"kind": "Sql", "engine": "spark", "query": "x"}},
        "blocks must have `queries`",
    ),
    (
        "transform",
        [],
        POLLING | {"preprocess": {"kind": "Sql", "engine": "spark", "queries": []}},
        "at least one query",
    ),
    (
        "transform",
        [],
        PUSH | {"preprocess": SQL | {"queries": [{"query": "x", "alias": "y"}]}},
        "the last query must not have an alias, but has 'y'",
    ),
    (
        "transform",
        [],
        POLLING | {"preprocess": SQL | {"queries": [{"query": "x"}] * 2}},
        "every query except the last needs",
    ),
    ("schema-change", [SCHEMA], schema(a=INT), "the new schema has no column b"),
    ("schema-change", [SCHEMA], schema(a={"kind": "Int32"}, b=OPTIONAL), "column a cannot change its type"),
    ("schema-change", [SCHEMA], schema(a=OPTIONAL, b=OPTIONAL), "column a cannot change its type or nullability"),
    ("schema-change", [SCHEMA], schema(a=INT, b=INT), "column b"),
    ("schema-change", [SCHEMA], schema(a=INT, b=OPTIONAL, c=INT), "new column c is required"),
]


@pytest.mark.parametrize(("rule", "before", "event", "message"), ROOT)
def test_root(rule, before, event, message):
    state = chain(*before)
    with pytest.raises(BlockRejected, match=message) as caught:
        append(state, H[9], block(state, event))
    assert caught.value.rule == rule
    assert str(caught.value).endswith(f"(rule {rule})")


MOVED = {"datasetId": DID2, "newBlockHash": H[1], "newOffset": 4}
NEXT = {"datasetId": DID2, "prevBlockHash": H[1], "prevOffset": 4}
DERIVATIVE = [
    ("kind", [], POLLING, "SetPollingSource does not belong in a Derivative"),
    ("kind", [SCHEMA], data(0, 0), "AddData does not belong"),
    ("transform-inputs", [], TRANSFORM | {"inputs": []}, "at least one input"),
    ("transform-inputs", [], TRANSFORM | {"inputs": [{"datasetRef": "cities", "alias": "a"}]}, "not resolved"),
    ("transform-inputs", [], TRANSFORM | {"inputs": [{"datasetRef": DID2}]}, "no alias"),
    (
        "transform-inputs",
        [],
        TRANSFORM | {"inputs": [{"datasetRef": DID2, "alias": "a"}] * 2},
        "duplicate input did:odf:",
    ),
    (
        "transform",
        [],
        TRANSFORM | {"transform": {"kind": "Sql", "engine": "spark", "query": "x"}},
        "blocks must have `queries`",
    ),
    ("query-inputs", [], query(MOVED), "before SetTransform"),
    ("query-inputs", [TRANSFORM], query(MOVED | {"datasetId": DID}), "but SetTransform has"),
    ("query-inputs", [TRANSFORM], query(), "but SetTransform has"),
    ("query-inputs", [TRANSFORM, query(MOVED)], query(MOVED), "prevBlockHash is None"),
    ("query-inputs", [TRANSFORM, query(MOVED)], query(NEXT | {"prevOffset": 3}), "prevOffset is 3, not 4"),
    (
        "query-inputs",
        [TRANSFORM, query(MOVED)],
        query(NEXT | {"newBlockHash": H[1]}),
        "newBlockHash equals prevBlockHash",
    ),
    ("query-inputs", [TRANSFORM, query(MOVED)], query(NEXT | {"newOffset": 5}), "has newOffset but no newBlockHash"),
    ("query-inputs", [TRANSFORM, query(MOVED)], query(NEXT | {"newBlockHash": H[2], "newOffset": 4}), "not after"),
    ("empty", [TRANSFORM], query(MOVED, newWatermark=None), "has no data, checkpoint"),
    ("no-op", [TRANSFORM, query(MOVED)], query(NEXT), "advances no input"),
    (
        "schema-first",
        [TRANSFORM],
        query(MOVED, newData=data(0, 0)["newData"]),
        "the first block with data needs a SetDataSchema before it",
    ),
]


@pytest.mark.parametrize(("rule", "before", "event", "message"), DERIVATIVE)
def test_derivative(rule, before, event, message):
    state = chain(*before, kind="Derivative")
    with pytest.raises(BlockRejected, match=message) as caught:
        append(state, H[9], block(state, event))
    assert caught.value.rule == rule


@pytest.mark.parametrize(
    ("rule", "fields"),
    [
        ("sequence", {"sequenceNumber": 2}),
        ("sequence", {"sequenceNumber": 0}),
        ("sequence", {"prevBlockHash": H[7]}),
        ("sequence", {"prevBlockHash": None}),
        ("system-time", {"systemTime": EARLIER}),
    ],
)
def test_links(rule, fields):
    state = chain()
    with pytest.raises(BlockRejected) as caught:
        append(state, H[1], block(state, {"kind": "SetInfo"}, **fields))
    assert caught.value.rule == rule


@pytest.mark.parametrize(
    ("rule", "event", "fields"),
    [
        ("seed", {"kind": "SetInfo"}, {}),
        ("seed", {"kind": "Seed", "datasetId": DID, "datasetKind": "Root"}, {"prevBlockHash": H[1]}),
        ("sequence", {"kind": "Seed", "datasetId": DID, "datasetKind": "Root"}, {"sequenceNumber": 1}),
    ],
)
def test_first_block(rule, event, fields):
    with pytest.raises(BlockRejected) as caught:
        begin(H[0], block(None, event, **fields))
    assert caught.value.rule == rule


def test_read_step_with_both_schemas_is_refused():
    read = {"kind": "Csv", "ddlSchema": ["a INT"]}
    state = chain()
    good = block(state, POLLING | {"read": read})
    both = good.event.read.model_copy(update={"schema_": block(state, SCHEMA).event.schema_})
    bad = good.model_copy(update={"event": good.event.model_copy(update={"read": both})})
    with pytest.raises(BlockRejected) as caught:
        append(state, H[1], bad)
    assert caught.value.rule == "read-schema"


def test_system_time_may_stand_still():
    state = chain({"kind": "SetInfo"})
    assert state.system_time == Instant.parse(TIME)
    later = append(state, H[2], block(state, {"kind": "SetInfo"}, systemTime=LATER))
    assert str(later.system_time) == LATER
