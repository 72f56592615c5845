from __future__ import annotations

from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from airflow_provider_odf.manifest.json_schema import manifest_schema, settings_schema
from airflow_provider_odf.manifest.load import load
from airflow_provider_odf.manifest.yaml_source import parse

VALIDATOR = Draft202012Validator(manifest_schema())
HEAD = "kind: DatasetSnapshot\nversion: 1\ncontent:\n  name: a\n  kind: root\n  metadata:\n    - "
PUSH = HEAD + "{{kind: addPushSource, sourceName: s, read: {read}, merge: {merge}}}"


@pytest.mark.parametrize(
    "text",
    [
        PUSH.format(read="Csv", merge="append"),
        PUSH.format(read="{kind: ndjson, schema: [a INT]}", merge="{kind: Ledger, primaryKey: [a]}"),
        PUSH.format(read="{kind: Csv, ddlSchema: [a INT], header: true, separator: ';'}", merge="Append"),
        PUSH.format(
            read="{kind: Json, schema: {fields: [{name: a, type: int64, extra: {x: {y: 1}}}, {name: b, type: "
            "{kind: option, inner: {kind: List, itemType: String}}}]}}",
            merge="Append",
        ),
        HEAD + "{kind: SetDataSchema, schema: AAAA}",
        HEAD + "{kind: SetPollingSource, fetch: {kind: Url, url: 'https://x/', cache: forever, eventTime: "
        "FromMetadata}, prepare: [{kind: decompress, format: gzip}], read: Parquet, merge: Append}",
        HEAD + "{kind: setInfo}",
    ],
)
def test_what_loads_is_valid(tmp_path: Path, text: str) -> None:
    (tmp_path / "m.yaml").write_text(text)
    assert load([tmp_path]).problems == ()
    assert [e.message for e in VALIDATOR.iter_errors(parse(text, "m")[0].value)] == []


@pytest.mark.parametrize(
    "text",
    [
        PUSH.format(read="Cvs", merge="Append"),
        PUSH.format(read="Csv", merge="Ledger"),
        PUSH.format(read="{kind: Csv, heder: true}", merge="Append"),
        PUSH.format(read="{kind: Csv, header: 'yes'}", merge="Append"),
        HEAD + "{kind: AddData}",
        HEAD + "{kind: SetTransform, inputs: [], transform: {kind: Sql, engine: hive, query: q}}",
        HEAD + "{}",
        HEAD.replace("version: 1", "version: 2") + "{kind: SetInfo}",
    ],
)
def test_what_does_not_load_is_not_valid(tmp_path: Path, text: str) -> None:
    (tmp_path / "m.yaml").write_text(text)
    assert load([tmp_path]).problems != ()
    assert not VALIDATOR.is_valid(parse(text, "m")[0].value)


@pytest.mark.parametrize("kind", ["SetInfo", "SetVocab", "SetDataSchema", "AddData", "DisablePollingSource"])
def test_events_are_mappings(kind: str) -> None:
    assert not VALIDATOR.is_valid(parse(HEAD + kind, "m")[0].value)


@pytest.mark.parametrize(
    ("event", "key", "bare"),
    [
        ("SetPollingSource", "fetch", []),
        ("SetPollingSource", "merge", [{"enum": ["Append", "append"]}]),
        ("AddPushSource", "merge", [{"enum": ["Append", "append"]}]),
    ],
)
def test_bare_kinds(event: str, key: str, bare: list[object]) -> None:
    members = VALIDATOR.schema["$defs"][event]["properties"][key]["oneOf"]
    assert [member for member in members if "enum" in member] == bare


def test_the_schemas_are_schemas() -> None:
    for schema in (manifest_schema(), settings_schema()):
        Draft202012Validator.check_schema(schema)


def test_settings() -> None:
    validator = Draft202012Validator(settings_schema())
    assert validator.is_valid({"defaults": {"schedule": None}, "datasets": {"a": {"retries": 3}}})
    assert not validator.is_valid({"defaults": {"retires": 3}})
