"""The tables of fetch steps and of schemes have the same rows as the models and the rules."""

from __future__ import annotations

from typing import get_args

import pytest

from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.manifest import fetch_kinds, model
from airflow_provider_odf.source import url


def test_each_kind_of_the_specification_has_a_row():
    steps = get_args(get_args(model.FetchStep)[0])
    assert list(fetch_kinds.FETCH_KINDS) == [step.model_fields["kind"].default for step in steps]
    modules = [row.module for row in fetch_kinds.FETCH_KINDS.values()]
    assert modules == ["url", "files_glob", "container", "mqtt", "ethereum_logs"]


def test_each_scheme_that_a_manifest_may_have_is_fetched():
    assert set(url.SCHEMES) == set(fetch_kinds.SCHEMES)


def test_other_schemes_are_refused(poller):
    with pytest.raises(
        InvalidInput, match=r"^sftp://h/a: unknown scheme: use http, https, ftp, ftps, s3, gs, az, abfss or file$"
    ):
        poller.url("sftp://h/a")
