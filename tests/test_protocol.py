"""The engine protocol: every message survives JSON, and speaks the specification's names."""

from __future__ import annotations

import json

import pytest

from airflow_provider_odf import protocol as p

VOCAB = p.DatasetVocabulary(event_time_column="measured")
TRANSFORM = p.Transform(
    engine="spark",
    queries=(p.SqlQueryStep("select * from input", "step"), p.SqlQueryStep("select 1")),
    version="4.2.0",
    temporal_tables=(p.TemporalTable("rates", ("currency",)),),
)
INTERVAL = p.OffsetInterval(10, 19)
CONTRACT = p.Contract(
    id="urn:orders",
    model="orders",
    digest="00ff",
    checks=(
        p.Check("/models/orders/fields/id/enum", "enum", "id in (1, 2)", "id", arguments={"values": [1, 2]}, line=7),
    ),
)
REPORT = p.ContractReport(
    contract="urn:orders",
    digest="00ff",
    model="orders",
    results=(
        p.CheckResult(
            "/models/orders/fields/id/enum", "enum", "fail", "id in (1, 2)", "id", failed_rows=3, samples=({"id": 3},)
        ),
    ),
    tested_rows=20,
)

REQUESTS = [
    p.RawQueryRequest(("/in/a.csv",), "/out", TRANSFORM, p.ReadStep("Csv", (p.Column("a", "BIGINT", False),)), "a"),
    p.TransformRequest(
        dataset_id="did:odf:fed0100",
        dataset_alias="out",
        system_time="2024-05-02T08:00:00Z",
        vocab=VOCAB,
        transform=TRANSFORM,
        query_inputs=(
            p.TransformRequestInput(
                dataset_id="did:odf:fed0101",
                dataset_alias="in",
                query_alias="i",
                vocab=VOCAB,
                data_paths=("/data/f1620",),
                schema_file="/schema",
                explicit_watermarks=(p.Watermark("2024-05-02T08:00:00Z", "2024-05-01T00:00:00Z"),),
                offset_interval=INTERVAL,
            ),
        ),
        next_offset=20,
        new_checkpoint_path="/checkpoint",
        new_data_path="/data",
        prev_checkpoint_path="/previous",
    ),
    p.MergeRequest(
        dataset_id="did:odf:fed0100",
        dataset_alias="orders",
        system_time="2024-05-02T08:00:00Z",
        vocab=VOCAB,
        read=p.ReadStep("NdJson", sub_path="a.b"),
        merge=p.MergeStrategy("Snapshot", ("id",), ("version",)),
        inputs=(p.MergeInput(("/in/1",), "2024-05-02T07:00:00Z", "https://example.com/1"),),
        next_offset=20,
        new_data_path="/data",
        preprocess=TRANSFORM,
        history=(p.HistorySlice("/data/f1620", INTERVAL),),
        schema="AAAA",
        prev_state=p.StateCache("/state", 19),
        new_state_path="/state-new",
        contract=CONTRACT,
    ),
    p.ContractTestRequest(
        "orders", VOCAB, CONTRACT, (p.HistorySlice("/data/f1620", INTERVAL),), 10, "AAAA", p.MergeStrategy("Append")
    ),
]

RESPONSES = [
    ("RawQuery", p.Progress("reading")),
    ("RawQuery", p.RawQuerySuccess(7, (p.PositionalHeader("a.csv", ("x",), ("id",)),))),
    ("RawQuery", p.InvalidQuery("no such column")),
    ("RawQuery", p.InternalError("killed", "at line 1")),
    ("Transform", p.Progress()),
    ("Merge", p.Progress(engine=p.Engine("odf_merge_cities", "4.1.0"))),
    ("Merge", p.Progress(engine=p.Engine("odf_merge_cities", "4.1.0", "01941f29-7c00-7087-8906-40e512c257bd"))),
    ("Transform", p.TransformSuccess(INTERVAL, "2024-05-01T00:00:00Z")),
    ("Transform", p.TransformSuccess()),
    (
        "Merge",
        p.MergeSuccess(((), (p.NewSlice("/d", "f1620", "f9680", 9, INTERVAL),)), "AAAA", None, REPORT, ("note",)),
    ),
    ("ContractTest", p.ContractTestSuccess(REPORT)),
]


@pytest.mark.parametrize("request_", REQUESTS, ids=lambda r: type(r).__name__)
def test_a_request_survives_json(request_: p.Request) -> None:
    assert p.loads_request(p.dumps_request(request_)) == request_


@pytest.mark.parametrize(("operation", "response"), RESPONSES, ids=lambda r: getattr(type(r), "__name__", r))
def test_a_response_survives_json(operation: str, response: p.Response) -> None:
    assert p.loads_response(p.dumps_response(operation, response)) == response


def test_the_wire_speaks_the_specification() -> None:
    text = p.dumps_request(REQUESTS[1])
    assert json.loads(text)["message"] == "TransformRequest"
    content = json.loads(text)["content"]
    assert sorted(content) == [
        "datasetAlias",
        "datasetId",
        "history",
        "isQueryNew",
        "newCheckpointPath",
        "newDataPath",
        "nextOffset",
        "prevCheckpointPath",
        "queryInputs",
        "sensitiveColumns",
        "systemTime",
        "transform",
        "vocab",
    ]
    assert sorted(content["queryInputs"][0]) == [
        "dataPaths",
        "datasetAlias",
        "datasetId",
        "explicitWatermarks",
        "history",
        "offsetInterval",
        "queryAlias",
        "schema",
        "schemaFile",
        "vocab",
    ]
    assert content["transform"]["temporalTables"] == [{"name": "rates", "primaryKey": ["currency"]}]
    assert content["vocab"] == {
        "offsetColumn": "offset",
        "operationTypeColumn": "op",
        "systemTimeColumn": "system_time",
        "eventTimeColumn": "measured",
    }
    assert json.loads(p.dumps_response("RawQuery", p.InternalError("killed", "at line 1"))) == {
        "protocolVersion": 1,
        "message": "RawQueryResponse::InternalError",
        "content": {"message": "killed", "backtrace": "at line 1"},
    }


def test_another_version_is_refused() -> None:
    text = p.dumps_request(REQUESTS[0]).replace('"protocolVersion": 1', '"protocolVersion": 2')
    with pytest.raises(ValueError, match="protocol version 2 does not match 1"):
        p.loads_request(text)


def test_an_unknown_field_is_refused() -> None:
    with pytest.raises(ValueError, match="OffsetInterval has no field 'middle'"):
        p.from_json(p.OffsetInterval, {"start": 1, "end": 2, "middle": 1})
    with pytest.raises(ValueError, match=r"OffsetInterval: .*missing 1 required"):
        p.from_json(p.OffsetInterval, {"start": 1})


@pytest.mark.parametrize(
    ("outcomes", "result"),
    [
        ([("pass", "error"), ("unsupported", "error"), ("informational", "error")], "passed"),
        ([("pass", "error"), ("fail", "warning")], "warning"),
        ([("fail", "warning"), ("fail", "error")], "failed"),
        ([("fail", "error"), ("error", "error")], "error"),
        ([], "passed"),
    ],
)
def test_a_report_is_as_good_as_its_worst_clause(outcomes: list[tuple[str, str]], result: str) -> None:
    results = tuple(
        p.CheckResult(str(i), "required", outcome, "", severity=severity)
        for i, (outcome, severity) in enumerate(outcomes)
    )
    assert p.ContractReport("c", "d", "m", results).result == result


NO_MESSAGES = ["[1]", "{}", '{"protocolVersion": 1}', '{"protocolVersion": 1, "message": 5}', "[" * 100_000]
NO_MESSAGES += [
    json.dumps({"protocolVersion": 1, "message": name, "content": {}})
    for name in ("x", "MergeResponse::x", "xResponse::Success")
]


@pytest.mark.parametrize("text", NO_MESSAGES)
def test_what_is_no_message_is_a_value_error(text: str) -> None:
    """A thread that reads responses would end at any other error, and its requests would wait without end."""
    with pytest.raises(ValueError, match=r"message|protocol version|unknown"):
        p.loads_response(text)
    with pytest.raises(ValueError, match=r"message|protocol version|unknown"):
        p.loads_request(text)
