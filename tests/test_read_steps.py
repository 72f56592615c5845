"""Each read step has its row, its model in a manifest, its place in blocks, and its reader."""

from __future__ import annotations

from typing import get_args

from airflow_provider_odf.chain.flatbuffer_slots import UNIONS
from airflow_provider_odf.engine.read.read import READERS
from airflow_provider_odf.manifest import fragments
from airflow_provider_odf.read_steps import READ_STEPS


def test_a_read_step_is_known_everywhere() -> None:
    models = {model.model_fields["kind"].default for model in get_args(get_args(fragments.ReadStep)[0])}
    assert set(READ_STEPS) == models == set(READERS)


def test_numbers_in_blocks_stay() -> None:
    assert UNIONS["ReadStep"] == (
        "ReadStepCsv",
        "ReadStepGeoJson",
        "ReadStepEsriShapefile",
        "ReadStepParquet",
        "ReadStepJson",
        "ReadStepNdJson",
        "ReadStepNdGeoJson",
    )
