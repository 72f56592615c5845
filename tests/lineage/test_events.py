from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from openlineage.client import event_v2
from openlineage.client.serde import Serde

from airflow_provider_odf.lineage import events
from airflow_provider_odf.lineage.dataset import About, ContractFacts, Counts, Input, Subject
from airflow_provider_odf.lineage.events import TaskLineage
from airflow_provider_odf.lineage.naming import Identifier, stores
from airflow_provider_odf.lineage.naming.uri import from_uri
from airflow_provider_odf.protocol import (
    Check,
    CheckResult,
    Column,
    Contract,
    ContractReport,
    SqlQueryStep,
    Transform,
)
from tests.lineage_schemas import schema_errors

SOURCE = from_uri("https://example.com/cities.csv?year=2024").in_edition()
SUBJECT = Subject(
    names=stores.local_file("/store/acme/cities"),
    store="file:///store/",
    alias="acme/cities",
    id="did:odf:fed0126262ba1",
    columns=(Column("offset", "BIGINT", False), Column("name", "STRING")),
    description="All cities",
    about=About(
        kind="Root",
        keywords=("geo", "people"),
        license={"shortName": "CC0", "name": "Creative Commons Zero", "websiteUrl": "https://example.org/cc0"},
        attachments=(("README.md", 120),),
    ),
)
REPORT = ContractReport(
    "urn:cities",
    "abc",
    "cities",
    (
        CheckResult(
            "/models/cities/fields/name/required",
            "required",
            "fail",
            "no null",
            "name",
            "warning",
            reason="2 rows",
            expected="not null",
            failed_rows=2,
        ),
        CheckResult(
            "/models/cities/fields/id/primaryKey",
            "primary_key",
            "pass",
            "key",
            "id",
            expected="unique and not null",
            failed_rows=0,
        ),
        CheckResult("/models/cities/fields/x/pattern", "pattern", "error", "x matches (", "x", reason="Unclosed group"),
        CheckResult("/models/cities/fields/email/format", "format", "unsupported", "email is not tested", "email"),
        CheckResult("/models/cities/quality/0", "quality_sql", "pass", "few", line=9, observed="1200", rows=1200),
    ),
    1200,
)

CHECKS = (
    Check("/models/cities/fields/name/required", "required", "no null", "name"),
    Check("/models/cities/quality/0", "quality_sql", "few", arguments={"query": "SELECT count(*) FROM cities"}),
)
CONTRACT = Contract("urn:cities", "cities", "abc", CHECKS)


PARAMS = {"contract": "urn:cities", "contractDigest": "abc", "model": "cities"}


def event(lineage: TaskLineage) -> dict[str, Any]:
    run = event_v2.Run("01941f29-7c00-7087-8906-40e512c257bd", facets=dict(lineage.run_facets))
    job = event_v2.Job("airflow", "cities.merge", facets=dict(lineage.job_facets))
    built = event_v2.RunEvent(
        eventTime="2024-05-02T08:00:00Z",
        eventType=event_v2.RunState.COMPLETE,
        producer="https://example.com/producer",
        run=run,
        job=job,
        inputs=list(lineage.inputs),
        outputs=list(lineage.outputs),
    )
    return json.loads(Serde.to_json(built))


def plain(facets: dict[str, Any]) -> dict[str, Any]:
    """Facets without what every facet has."""
    return {
        name: {k: v for k, v in facet.items() if k not in ("_producer", "_schemaURL", "_deleted")}
        for name, facet in facets.items()
    }


DATASET_FACETS = {
    "dataSource": {"name": "file", "uri": "file:///store/"},
    "version": {"datasetVersion": "f1620aa"},
    "datasetType": {"datasetType": "TABLE", "subType": "ODF"},
    "symlinks": {
        "identifiers": [
            {"namespace": "file://127.0.0.1:0", "name": "/store/acme/cities", "type": "LOCATION"},
            {"namespace": "file", "name": "/store/acme/cities/data", "type": "LOCATION"},
            {"namespace": "odf+file:///store", "name": "acme/cities", "type": "ALIAS"},
            {"namespace": "did:odf", "name": "fed0126262ba1", "type": "ID"},
        ]
    },
    "schema": {
        "fields": [
            {"name": "offset", "type": "BIGINT", "ordinal_position": 1, "fields": []},
            {"name": "name", "type": "STRING", "ordinal_position": 2, "fields": []},
        ]
    },
    "documentation": {"description": "All cities"},
    "odf_dataset": {
        "kind": "Root",
        "license": {"shortName": "CC0", "name": "Creative Commons Zero", "websiteUrl": "https://example.org/cc0"},
        "attachments": [{"path": "README.md", "size": 120}],
    },
    "tags": {
        "tags": [
            {"key": "geo", "value": "true", "source": "ODF"},
            {"key": "people", "value": "true", "source": "ODF"},
        ]
    },
}


@pytest.mark.parametrize(
    "lineage",
    [
        events.poll([SOURCE]),
        events.merge([SOURCE], SUBJECT, "f1620aa", Counts(3, 1024, 1)),
        events.merge([], Subject(stores.s3("b", "k"), "s3://b", "k", edition="2024"), "f1620aa", Counts(0)),
        events.contract_test(SUBJECT, "f1620aa", CONTRACT, REPORT),
        events.publish(SUBJECT, "f1620aa", Counts(3, 1024, 1), is_first=True),
    ],
)
def test_events_are_valid(lineage: TaskLineage):
    assert schema_errors(event(lineage)) == []


def test_validation_sees_what_is_wrong():
    wrong = event(events.publish(SUBJECT, "f1620aa", Counts(3), is_first=False))
    wrong["run"]["runId"] = "no uuid"
    wrong["outputs"][0]["facets"]["lifecycleStateChange"]["lifecycleStateChange"] = "APPEND"
    del wrong["outputs"][0]["facets"]["version"]["datasetVersion"]
    assert sorted(e.partition(":")[0] for e in schema_errors(wrong)) == ["$", "$.lifecycleStateChange", "$.run.runId"]


def test_poll_reads_the_source():
    built = event(events.poll([SOURCE]))
    assert built["inputs"] == [
        {
            "namespace": "https://example.com",
            "name": "/cities.csv?year=2024",
            "facets": built["inputs"][0]["facets"],
            "inputFacets": {},
        }
    ]
    source = {"dataSource": {"name": "https://example.com", "uri": "https://example.com"}}
    assert plain(built["inputs"][0]["facets"]) == source
    assert built["outputs"] == []


def test_merge_writes_the_candidate():
    built = event(events.merge([from_uri("/data/cities.csv").in_edition()], SUBJECT, "f1620aa", Counts(3, 1024, 1)))
    assert plain(built["inputs"][0]["facets"]) == {
        "dataSource": {"name": "file", "uri": "file:"},
        "symlinks": {
            "identifiers": [{"namespace": "file://127.0.0.1:0", "name": "/data/cities.csv", "type": "LOCATION"}]
        },
    }
    (output,) = built["outputs"]
    assert (output["namespace"], output["name"]) == ("file", "/store/acme/cities")
    assert plain(output["facets"]) == DATASET_FACETS
    assert plain(output["outputFacets"]) == {"outputStatistics": {"rowCount": 3, "size": 1024, "fileCount": 1}}


def test_contract_test_reads_the_candidate():
    built = event(events.contract_test(SUBJECT, "f1620aa", CONTRACT, REPORT))
    assert built["outputs"] == []
    (tested,) = built["inputs"]
    assert plain(tested["facets"]) == DATASET_FACETS
    facets = plain(tested["inputFacets"])
    assert facets["dataQualityMetrics"] == {
        "rowCount": 1200,
        "columnMetrics": {"name": {"nullCount": 2, "quantiles": {}}},
    }
    assert facets["dataQualityAssertions"]["assertions"] == [
        {
            "assertion": "not_null",
            "success": False,
            "column": "name",
            "severity": "warn",
            "name": "/models/cities/fields/name/required",
            "description": "no null",
            "expected": "not null",
            "actual": "2 rows",
            "params": {**PARAMS, "outcome": "fail", "reason": "2 rows", "field": "name", "failedRows": 2},
        },
        {
            "assertion": "primary_key",
            "success": True,
            "column": "id",
            "severity": "error",
            "name": "/models/cities/fields/id/primaryKey",
            "description": "key",
            "expected": "unique and not null",
            "params": {**PARAMS, "outcome": "pass", "field": "id", "failedRows": 0},
        },
        {
            "assertion": "pattern",
            "success": False,
            "column": "x",
            "severity": "error",
            "name": "/models/cities/fields/x/pattern",
            "description": "x matches (",
            "actual": "Unclosed group",
            "params": {**PARAMS, "outcome": "error", "reason": "Unclosed group", "field": "x"},
        },
        {
            "assertion": "quality_sql",
            "success": True,
            "severity": "error",
            "name": "/models/cities/quality/0",
            "description": "few",
            "actual": "1200",
            "content": "SELECT count(*) FROM cities",
            "contentType": "sql",
            "params": {**PARAMS, "outcome": "pass", "line": 9, "rows": 1200},
        },
    ]
    tests = built["run"]["facets"]["test"]["tests"]
    assert [(t["name"], t["status"], t["params"]["outcome"]) for t in tests] == [
        ("/models/cities/fields/name/required", "fail", "fail"),
        ("/models/cities/fields/id/primaryKey", "pass", "pass"),
        ("/models/cities/fields/x/pattern", "fail", "error"),
        ("/models/cities/fields/email/format", "skip", "unsupported"),
        ("/models/cities/quality/0", "pass", "pass"),
    ]


@pytest.mark.parametrize(("is_first", "change"), [(True, "CREATE"), (False, "ALTER")])
def test_publish_writes_the_head(is_first: bool, change: str):
    built = event(events.publish(SUBJECT, "f1620aa", Counts(3), is_first=is_first))
    assert built["inputs"] == []
    (output,) = built["outputs"]
    assert plain(output["facets"]) == {**DATASET_FACETS, "lifecycleStateChange": {"lifecycleStateChange": change}}


def test_edition_of_2024_names_the_dataset():
    subject = Subject(stores.s3("b", "odf/cities"), "s3://b/odf", "cities", edition="2024")
    assert subject.edition_names.primary == Identifier("s3://b", "/odf/cities")
    assert subject.links == (
        (Identifier("s3://b", "odf/cities"), "LOCATION"),
        (Identifier("s3://b", "odf/cities/data"), "LOCATION"),
        (Identifier("odf+s3://b/odf", "cities"), "ALIAS"),
    )


def test_a_transform_reads_versions_of_its_inputs_and_writes_a_version_of_the_derivative():
    prices = replace(SUBJECT, names=stores.local_file("/store/prices"), alias="prices", id="did:odf:fed0127")
    prices = replace(prices, columns=(Column("city", "STRING"), Column("price", "DOUBLE")))
    report = replace(SUBJECT, names=stores.local_file("/store/report"), alias="report")
    report = replace(report, columns=(Column("op", "INT"), Column("name", "STRING"), Column("total", "DOUBLE")))
    query = Transform(
        "spark",
        (
            SqlQueryStep("SELECT upper(city) AS city, price FROM prices", "tidy"),
            SqlQueryStep("SELECT c.NAME, sum(price) AS total FROM c JOIN tidy ON c.name = city GROUP BY c.name"),
        ),
    )
    inputs = [Input("c", SUBJECT, "f1620aa"), Input("prices", prices, "f1620bb")]
    built = event(events.transform(inputs, query, report, "f1620cc", Counts(3, 100)))
    assert schema_errors(built) == []
    assert [(i["name"], i["facets"]["version"]["datasetVersion"]) for i in built["inputs"]] == [
        ("/store/acme/cities", "f1620aa"),
        ("/store/prices", "f1620bb"),
    ]
    assert {i["name"] for i in built["inputs"][1]["facets"]["symlinks"]["identifiers"]} == {
        "/store/prices",
        "/store/prices/data",
        "prices",
        "fed0127",
    }
    (output,) = built["outputs"]
    assert (output["name"], output["facets"]["version"]["datasetVersion"]) == ("/store/report", "f1620cc")
    assert output["outputFacets"]["outputStatistics"]["rowCount"] == 3
    fields = output["facets"]["columnLineage"]["fields"]
    assert {
        name: [(i["name"], i["field"], i["transformations"][0]["subtype"]) for i in field["inputFields"]]
        for name, field in fields.items()
    } == {
        "name": [("/store/acme/cities", "name", "IDENTITY")],
        "total": [("/store/prices", "price", "AGGREGATION")],
    }
    assert built["job"]["facets"]["sql"]["dialect"] == "spark"
    assert built["job"]["facets"]["sql"]["query"].startswith(
        "SELECT upper(city) AS city, price FROM prices;\n\nSELECT c."
    )


def test_a_query_that_cannot_be_analyzed_has_the_lineage_of_datasets():
    query = Transform("spark", (SqlQueryStep("SELECT x[? FROM c"),))
    built = event(events.transform([Input("c", SUBJECT, "f1620aa")], query, SUBJECT, "f1620cc", Counts(3)))
    assert schema_errors(built) == []
    assert "columnLineage" not in built["outputs"][0]["facets"]


def test_names_on_the_servers_of_a_contract():
    servers = (("lake", stores.s3("lake", "cities")), ("local", stores.local_file("/data/cities")))
    subject = replace(SUBJECT, contract=ContractFacts(servers=servers), edition="2024")
    lineage = event(events.publish(subject, "f1620aa", Counts(0), is_first=True))
    assert schema_errors(lineage) == []
    assert lineage["outputs"][0]["facets"]["odf_dataset"]["servers"] == [
        {"server": "lake", "namespace": "s3://lake", "name": "/cities"},
        {"server": "local", "namespace": "file://127.0.0.1:0", "name": "/data/cities"},
    ]
