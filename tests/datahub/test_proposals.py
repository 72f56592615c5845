import json
from dataclasses import replace

from airflow_provider_odf.contract.compile import compile_model
from airflow_provider_odf.contract.load import parse
from airflow_provider_odf.datahub import schema
from airflow_provider_odf.datahub.proposals import Options
from tests.datahub.conftest import DATASET, FIELDS, SKU, clause, made

NULLS = {"metric": "null_values", "thresholds": {"must_be": 0}}
COLUMN = {"scope": "DATASET_COLUMN", "dataset": DATASET}
TOTAL = [f"urn:li:schemaField:({DATASET},total)"]
ID = [f"urn:li:schemaField:({DATASET},id)"]


def number(value):
    return {"value": {"value": value, "type": "NUMBER"}}


def text(value):
    return {"value": {"value": value, "type": "STRING"}}


def ruled(query, **thresholds):
    return {"query": query, "thresholds": thresholds}


def aspects(assertions, name, former=()):
    """The aspects of a name, as JSON, by the path of their clause; for other assertions by their URN."""
    paths = dict(zip(assertions.urns, (c.path for c in assertions.contract.checks), strict=True))
    proposals = list(assertions.proposals(former))
    assert all(p.validate() for p in proposals)
    return {
        paths.get(p.entityUrn, p.entityUrn): json.loads(p.make_mcp().aspect.value)
        for p in proposals
        if p.aspectName == name
    }


def infos(*clauses):
    return aspects(made(*clauses), "assertionInfo")


def info(kind, **properties):
    (value,) = infos(clause("/clause", kind, **properties)).values()
    return value


def test_everything_that_an_assertion_says():
    value = info("minimum", field="total", arguments={"limit": 0.5, "type": "decimal"}, severity="warning")
    assert value == {
        "type": "DATASET",
        "description": "clause minimum",
        "source": {"type": "EXTERNAL"},
        "customProperties": {
            "contract": "urn:datacontract:orders",
            "contractVersion": "1.0.0",
            "specification": "DCS 1.1.0",
            "model": "orders",
            "path": "/clause",
            "line": "7",
            "field": "total",
            "severity": "warning",
        },
        "datasetAssertion": {
            **COLUMN,
            "aggregation": "IDENTITY",
            "operator": "GREATER_THAN_OR_EQUAL_TO",
            "parameters": number("0.5"),
            "fields": TOTAL,
            "nativeType": "minimum",
            "nativeParameters": {"limit": "0.5", "type": "decimal"},
            "logic": "clause minimum",
        },
    }


def test_clauses_of_fields_in_standard_terms():
    clauses = {
        "required": ({}, "IDENTITY", "NOT_NULL", None),
        "unique": ({}, "UNIQUE_PROPORTION", "EQUAL_TO", number("1")),
        "enum": ({"values": ["a", "ü"]}, "IDENTITY", "IN", {"value": {"value": '["a", "ü"]', "type": "SET"}}),
        "pattern": ({"pattern": "^a", "java": "x"}, "IDENTITY", "REGEX_MATCH", text("^a")),
        "min_length": ({"limit": 3}, "_NATIVE_", "GREATER_THAN_OR_EQUAL_TO", number("3")),
        "max_length": ({"limit": 3}, "_NATIVE_", "LESS_THAN_OR_EQUAL_TO", number("3")),
        "maximum": ({"limit": 3}, "IDENTITY", "LESS_THAN_OR_EQUAL_TO", number("3")),
        "exclusive_minimum": ({"limit": 3}, "IDENTITY", "GREATER_THAN", number("3")),
        "exclusive_maximum": ({"limit": 3}, "IDENTITY", "LESS_THAN", number("3")),
        "format": ({"format": "email"}, "_NATIVE_", "_NATIVE_", None),
        "precision": ({"limit": 3}, "_NATIVE_", "_NATIVE_", None),
        "references": ({"target": "customers.id"}, "_NATIVE_", "_NATIVE_", None),
    }  # fmt: skip
    values = infos(*(clause(f"/{kind}", kind, field="total", arguments=a) for kind, (a, *_) in clauses.items()))
    for kind, (_, aggregation, operator, parameters) in clauses.items():
        assertion = values[f"/{kind}"]["datasetAssertion"]
        shown = {name: assertion.get(name) for name in ("aggregation", "operator", "parameters", "fields", "scope")}
        assert shown == {
            "aggregation": aggregation,
            "operator": operator,
            "parameters": parameters,
            "fields": TOTAL,
            "scope": "DATASET_COLUMN",
        }, kind


def test_limits_of_dates_and_clauses_that_are_not_valid():
    day = info("minimum", field="total", arguments={"limit": "2020-01-01"})["datasetAssertion"]
    assert day["parameters"] == text("2020-01-01")
    kinds = ("minimum", "enum", "pattern", "field_type", "additional_fields", "quality_sql", "quality_library")
    broken = [clause(f"/{kind}", kind, "error", outcome_of_check="error", reason="no value") for kind in kinds]
    assert {*infos(*broken)} == {f"/{kind}" for kind in kinds}
    assert "parameters" not in infos(*broken)["/minimum"]["datasetAssertion"]


def test_a_key_is_about_rows_or_about_its_column():
    one = info("primary_key", field="id", columns=("id",))["datasetAssertion"]
    assert (one["scope"], one["operator"], one["fields"]) == ("DATASET_COLUMN", "_NATIVE_", ID)
    two = info("primary_key", columns=("id", "total"))["datasetAssertion"]
    assert (two["scope"], two["operator"], two["fields"]) == ("DATASET_ROWS", "_NATIVE_", ID + TOTAL)


def test_a_nested_field_has_the_path_of_datahubs_schema():
    assertion = info("required", field="lines[].sku")["datasetAssertion"]
    assert assertion["fields"] == [schema.field_urn(DATASET, SKU)]


def test_the_schema_of_the_contract():
    clauses = [
        clause("/id", "field_present", field="id"),
        clause("/id/type", "field_type", field="id", arguments={"type": "string"}),
        clause("/exact", "additional_fields", columns=("id", "total")),
    ]
    values = infos(*clauses)
    present = values["/id"]["datasetAssertion"]
    assert (present["scope"], present["aggregation"], present["operator"], present["parameters"]) == (
        "DATASET_SCHEMA", "COLUMNS", "CONTAIN", text("id"),
    )  # fmt: skip
    of_type, exact = values["/id/type"], values["/exact"]
    assert (of_type["type"], of_type["schemaAssertion"]["compatibility"]) == ("DATA_SCHEMA", "SUPERSET")
    (field,) = of_type["schemaAssertion"]["schema"]["fields"]
    assert (field["fieldPath"], field["nativeDataType"]) == ("id", "string")
    assert field["type"] == {"type": {"com.linkedin.schema.StringType": {}}}
    assert of_type["customProperties"]["nativeType"] == "field_type"
    assert of_type["customProperties"]["nativeParameters.type"] == "string"
    assert of_type["customProperties"]["logic"] == "clause field_type"
    assert exact["schemaAssertion"]["compatibility"] == "EXACT_MATCH"
    assert [f["fieldPath"] for f in exact["schemaAssertion"]["schema"]["fields"]] == ["id", "total"]
    assert exact["schemaAssertion"]["schema"]["platform"] == "urn:li:dataPlatform:s3"


def test_what_the_data_are_stored_as():
    for kind, field in (("model_present", None), ("physical_type", "total")):
        assertion = info(kind, field=field)["datasetAssertion"]
        assert (assertion["scope"], assertion["operator"]) == ("DATASET_SCHEMA", "_NATIVE_")


def test_rules_about_the_number_of_rows_are_volume():
    count = "SELECT COUNT(*) AS row_count FROM orders"
    for arguments in ({"query": count}, {"metric": "row_count"}):
        arguments["thresholds"] = {"must_be_between": [5, 10]}
        value = info("quality_sql" if "query" in arguments else "quality_library", arguments=arguments)
        assert value["type"] == "VOLUME"
        low, high = ({"value": v, "type": "NUMBER"} for v in ("5", "10"))
        assert value["volumeAssertion"] == {
            "type": "ROW_COUNT_TOTAL",
            "entity": DATASET,
            "rowCountTotal": {"operator": "BETWEEN", "parameters": {"minValue": low, "maxValue": high}},
        }
    assert value["customProperties"]["nativeType"] == "quality_library"


def test_sql_with_its_statement_and_thresholds():
    query = "SELECT MAX(total) FROM orders"
    one = info("quality_sql", arguments=ruled(query, must_be_less_than=100))["datasetAssertion"]
    assert (one["logic"], one["operator"], one["parameters"]) == (query, "LESS_THAN", number("100"))
    assert (one["aggregation"], one["scope"]) == ("_NATIVE_", "DATASET_ROWS")
    for thresholds in ({"must_be_less_than": 9, "must_not_be": 5}, {"must_not_be_between": [1, 2]}):
        several = info("quality_sql", arguments=ruled(query, **thresholds))["datasetAssertion"]
        assert (several["operator"], several["nativeParameters"]["query"]) == ("_NATIVE_", query)
        assert json.loads(several["nativeParameters"]["thresholds"]) == thresholds
    count = info("quality_sql", arguments=ruled("SELECT COUNT(*) FROM orders", must_not_be=0))
    assert (count["type"], count["datasetAssertion"]["operator"]) == ("DATASET", "NOT_EQUAL_TO")


def test_metrics_of_a_field():
    for metric, unit, aggregation in [
        ("null_values", "rows", "NULL_COUNT"),
        ("missing_values", "percent", "NULL_PROPORTION"),
        ("avg", None, "MEAN"),
        ("median", None, "MEDIAN"),
        ("distinct_values", None, "UNIQUE_COUNT"),
        ("duplicate_values", "rows", "_NATIVE_"),
    ]:
        arguments = {"metric": metric, "unit": unit, "thresholds": {"must_be_less_or_equal_to": 5}}
        assertion = info("quality_library", field="total", arguments=arguments)["datasetAssertion"]
        shown = (assertion["aggregation"], assertion["operator"], assertion["parameters"], assertion["fields"])
        assert shown == (aggregation, "LESS_THAN_OR_EQUAL_TO", number("5"), TOTAL)


def test_the_frequency_is_freshness_by_its_schedule():
    daily = info("service_level_frequency", arguments={"type": "batch", "interval": "24h"})
    assert daily["freshnessAssertion"] == {
        "type": "DATASET_CHANGE",
        "entity": DATASET,
        "schedule": {"type": "FIXED_INTERVAL", "fixedInterval": {"unit": "HOUR", "multiple": 24}},
    }
    cron = info("service_level_frequency", arguments={"interval": "daily", "cron": "0 0 * * *"})
    assert cron["freshnessAssertion"]["schedule"] == {
        "type": "CRON",
        "cron": {"cron": "0 0 * * *", "timezone": "UTC"},
    }
    assert info("service_level_frequency", arguments={"type": "streaming"})["type"] == "CUSTOM"


def test_texts_and_promises_are_custom():
    text = info("quality_text", field="total", arguments={"description": "Totals are plausible"})
    assert (text["type"], text["customAssertion"]) == (
        "CUSTOM",
        {
            "type": "quality_text",
            "entity": DATASET,
            "field": TOTAL[0],
            "nativeType": "quality_text",
            "nativeParameters": {"description": "Totals are plausible"},
            "logic": "clause quality_text",
        },
    )
    assert info("service_level_support")["type"] == "CUSTOM"
    fresh = info("service_level_freshness", field="total", arguments={"threshold": "25h"})
    assert (fresh["type"], fresh["datasetAssertion"]["aggregation"]) == ("DATASET", "MAX")


def test_what_a_run_says_about_a_failing_clause():
    result = {"expected": ">= 0", "observed": "-1 at offset 103", "reason": "2 rows fail", "rows": 50, "failed_rows": 2}
    assertions = made(clause(f"{FIELDS}/total/minimum", "minimum", "fail", arguments={"limit": 0}, **result))
    (event,) = aspects(assertions, "assertionRunEvent").values()
    assert event == {
        "timestampMillis": 1767225600000,
        "runId": "01941f29-7c00-7087-8906-40e512c257bd",
        "asserteeUrn": DATASET,
        "assertionUrn": assertions.urns[0],
        "status": "COMPLETE",
        "result": {
            "type": "FAILURE",
            "rowCount": 50,
            "unexpectedCount": 2,
            "nativeResults": {
                "outcome": "fail",
                "reason": "2 rows fail",
                "expected": ">= 0",
                "observed": "-1 at offset 103",
                "severity": "error",
                "failedRows": "2",
            },
            "externalUrl": "https://airflow/odf/reports/x",
        },
        "runtimeContext": {"dag_id": "acme.orders", "task_id": "contract_test"},
        "batchSpec": {
            "customProperties": {},
            "nativeBatchId": "f1620aa",
            "query": "SELECT * FROM `acme/orders` WHERE offset BETWEEN 100 AND 149",
        },
        "partitionSpec": {"partition": "offset 100..149", "type": "PARTITION"},
    }


def test_results_of_each_outcome():
    query = {"query": "SELECT x"}
    clauses = [
        clause("/null", "required", "fail", rows=50, failed_rows=3),
        clause("/number", "quality_sql", "pass", arguments=query, observed="12.5"),
        clause("/nulls", "quality_library", "fail", arguments=NULLS, observed="4", rows=50, failed_rows=4),
        clause("/key", "primary_key", columns=("id",), rows=150, failed_rows=0),
        clause("/text", "quality_text", "informational", reason="a text rule is documentation and cannot be tested"),
        clause("/unknown", "quality_custom", "unsupported", reason="unknown engine"),
        clause("/refused", "quality_sql", "error", arguments=query, reason="no column x"),
        clause("/broken", "pattern", "error", arguments={"pattern": "("}, reason="Unclosed", outcome_of_check="error"),
        clause("/empty", "service_level_freshness", "error", rows=0, reason="no rows"),
    ]  # fmt: skip
    results = {path: event["result"] for path, event in aspects(made(*clauses), "assertionRunEvent").items()}
    assert results["/null"]["missingCount"] == 3
    assert "unexpectedCount" not in results["/null"]
    assert results["/number"]["actualAggValue"] == 12.5
    assert (results["/nulls"]["actualAggValue"], results["/nulls"]["missingCount"]) == (4, 4)
    assert results["/key"]["rowCount"] == 150
    assert {path: r["type"] for path, r in results.items()} == {
        "/null": "FAILURE", "/nulls": "FAILURE", "/number": "SUCCESS", "/key": "SUCCESS", "/text": "INIT",
        "/unknown": "INIT", "/refused": "ERROR", "/broken": "ERROR", "/empty": "ERROR",
    }  # fmt: skip
    assert results["/unknown"]["nativeResults"] == {
        "outcome": "unsupported",
        "reason": "unknown engine",
        "severity": "error",
    }
    assert {path: r["error"] for path, r in results.items() if "error" in r} == {
        "/refused": {"type": "SOURCE_QUERY_FAILED", "properties": {"message": "no column x"}},
        "/broken": {"type": "INVALID_PARAMETERS", "properties": {"message": "Unclosed"}},
        "/empty": {"type": "INSUFFICIENT_DATA", "properties": {"message": "no rows"}},
    }


def test_only_clauses_about_single_rows_are_tested_on_the_new_ones():
    clauses = [
        clause("/key", "unique", columns=("id",)),
        clause("/rows", "quality_library", arguments={"metric": "row_count"}),
        clause("/query", "quality_sql", arguments={"metric": "query", "query": "SELECT 1"}),
        clause("/expectation", "quality_great_expectations", arguments={"metric": "expectation"}),
        clause("/age", "service_level_freshness", field="total", arguments={"threshold": "25h"}),
        clause("/value", "minimum", arguments={"limit": 0}),
        clause("/nulls", "quality_library", arguments=NULLS),
    ]
    events = aspects(made(*clauses), "assertionRunEvent")
    assert {path: event["partitionSpec"]["type"] for path, event in events.items()} == {
        "/key": "FULL_TABLE",
        "/rows": "FULL_TABLE",
        "/query": "FULL_TABLE",
        "/expectation": "FULL_TABLE",
        "/age": "FULL_TABLE",
        "/value": "PARTITION",
        "/nulls": "PARTITION",
    }


def test_only_clauses_of_severity_error_raise_incidents():
    clauses = [clause("/a", "required"), clause("/b", "required", severity="warning")]
    assert aspects(made(*clauses), "assertionActions") == {
        "/a": {"onSuccess": [{"type": "RESOLVE_INCIDENT"}], "onFailure": [{"type": "RAISE_INCIDENT"}]},
        "/b": {"onSuccess": [], "onFailure": []},
    }
    off = made(*clauses, options=Options(raises_incidents=False))
    assert aspects(off, "assertionActions")["/a"] == {"onSuccess": [], "onFailure": []}


CONTRACT = """
dataContractSpecification: 1.2.1
id: urn:datacontract:orders
info: {title: Orders, version: 1.0.0}
models:
  orders:
    fields: {at: {type: timestamp, required: true}}
    quality: [{metric: rowCount, mustBe: 1, severity: warning}]
servicelevels:
  freshness: {threshold: 1h, timestampField: at}
  frequency: {interval: daily}
"""


def test_failed_clauses_of_severity_warning_raise_no_incidents():
    """Service levels of a dataset are promises over time: they never block, and raise no incident of a candidate."""
    contract = compile_model(parse(CONTRACT, "c.yaml"), "orders")
    failed = [clause(check.path, check.kind, "fail", severity=check.severity)[1] for check in contract.checks]
    assertions = replace(made(clause("/a", "required")), contract=contract)
    assertions = replace(assertions, report=replace(assertions.report, results=tuple(failed)))
    raised = {path for path, actions in aspects(assertions, "assertionActions").items() if actions["onFailure"]}
    assert raised == {
        "/models/orders",
        "/models/orders/fields/at",
        "/models/orders/fields/at/type",
        "/models/orders/fields/at/required",
    }
    severities = {
        path: event["result"]["nativeResults"]["severity"]
        for path, event in aspects(assertions, "assertionRunEvent").items()
        if path not in raised
    }
    assert severities == {
        "/models/orders/quality/0": "warning",
        "/servicelevels/freshness": "warning",
        "/servicelevels/frequency": "warning",
    }


def test_the_platform_of_assertions():
    platform = {"platform": "urn:li:dataPlatform:odf"}
    assert aspects(made(clause("/a", "required")), "dataPlatformInstance") == {"/a": platform}
    named = made(clause("/a", "required"), options=Options(instance="lake"))
    instance = "urn:li:dataPlatformInstance:(urn:li:dataPlatform:odf,lake)"
    assert aspects(named, "dataPlatformInstance") == {"/a": {**platform, "instance": instance}}


def test_clauses_that_left_the_contract_are_removed():
    before, after = made(clause("/a", "required"), clause("/b", "required")), made(clause("/b", "required"))
    assert aspects(after, "status", before.urns) == {"/b": {"removed": False}, before.urns[0]: {"removed": True}}


def test_what_is_said_about_the_dataset():
    proposals = made(clause("/a", "required")).dataset_aspects()
    assert all(p.validate() and p.entityUrn == DATASET for p in proposals.values())
    values = {name: json.loads(p.make_mcp().aspect.value) for name, p in proposals.items()}
    assert values["datasetProperties"] == {
        "name": "orders",
        "qualifiedName": "acme/orders",
        "description": "All orders",
        "customProperties": {"odf.store": "s3://lake/", "odf.id": "did:odf:fed0126262ba1"},
        "tags": [],
    }
    schema = values["schemaMetadata"]
    assert (schema["schemaName"], schema["platform"]) == ("acme/orders", "urn:li:dataPlatform:s3")
    lines = SKU.removesuffix(".[type=string].sku")
    amount = SKU.replace("[type=string].sku", "[type=int].amount")
    assert [f["fieldPath"] for f in schema["fields"]] == ["offset", "id", "total", lines, SKU, amount]
    assert [f["nullable"] for f in schema["fields"]][:3] == [False, False, True]
