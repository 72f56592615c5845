"""Each read step has its row, its model in a manifest, its place in blocks, and its reader."""

from __future__ import annotations

import dataclasses
from importlib import import_module
from typing import get_args

from airflow_provider_odf.cycle.sources import media_type_of
from airflow_provider_odf.manifest import fragments
from airflow_provider_odf.protocol import ReadStep
from airflow_provider_odf.read_steps import READ_STEPS


def test_a_read_step_is_known_everywhere() -> None:
    models = {model.model_fields["kind"].default for model in get_args(get_args(fragments.ReadStep)[0])}
    assert set(READ_STEPS) == models
    for kind, row in READ_STEPS.items():
        module, _, name = row.reader.partition(".")
        assert callable(getattr(import_module(f"airflow_provider_odf.engine.read.{module}"), name)), kind


def test_each_option_of_a_read_step_reaches_its_reader() -> None:
    known = {field.name for field in dataclasses.fields(ReadStep)}
    for step in get_args(get_args(fragments.ReadStep)[0]):
        assert step.model_fields.keys() - {"ddl_schema", "schema_"} <= known, step.__name__


def test_suffixes_have_a_likeliest_format() -> None:
    assert [
        media_type_of([f"a.{suffix}"], "Csv") for suffix in ("json", "geojson", "ndjson", "jsonl", "ndgeojson")
    ] == [
        "application/json",
        "application/geo+json",
        "application/x-ndjson",
        "application/x-ndjson",
        "application/x-ndgeojson",
    ]
    assert media_type_of(["a.json", "b.JSON"], "NdGeoJson") is None
    assert media_type_of(["a.parquet", "b.dat"], "NdJson") == "application/vnd.apache.parquet"


def test_numbers_in_blocks_stay() -> None:
    members = get_args(get_args(fragments.ReadStep)[0])
    assert [member.__name__ for member in members] == [
        "ReadStepCsv",
        "ReadStepGeoJson",
        "ReadStepEsriShapefile",
        "ReadStepParquet",
        "ReadStepJson",
        "ReadStepNdJson",
        "ReadStepNdGeoJson",
    ]
    assert [member.model_fields["kind"].default for member in members] == list(READ_STEPS)
