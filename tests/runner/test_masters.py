"""What users write after --spark."""

from __future__ import annotations

import pytest

from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.runner import ConnectRunner, LocalRunner, SparkSubmitRunner
from airflow_provider_odf.runner.masters import SparkChoice, parse


@pytest.mark.parametrize(
    ("text", "use", "runner"),
    [
        (None, None, LocalRunner),
        ("needed", "needed", LocalRunner),
        ("always", "always", LocalRunner),
        ("local", "always", LocalRunner),
        ("local[2]", "always", LocalRunner),
        ("local[*]", "always", LocalRunner),
        ("spark://host:7077", "always", SparkSubmitRunner),
        ("spark://a:7077,b:7077", "always", SparkSubmitRunner),
        ("yarn", "always", SparkSubmitRunner),
        ("k8s://https://10.0.0.1:6443", "always", SparkSubmitRunner),
        ("sc://host:15002", None, ConnectRunner),
        ("sc://host:15002/;use_ssl=true", None, ConnectRunner),
    ],
)
def test_the_master_of_an_application_is_always_used(text: str | None, use: str | None, runner: type) -> None:
    choice = parse(text)
    assert choice.use == use
    with choice.runner() as made:
        assert type(made) is runner


@pytest.mark.parametrize("text", ["", "sometimes", "local[x]", "spark:host", "sc://", "spark://a b", "http://host:1"])
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match=r"use needed, always, local\[N\], spark://HOST:PORT, yarn"):
        parse(text)


def test_the_settings_of_a_folder_decide_unless_the_command_names_a_use() -> None:
    assert SparkChoice("needed").of("always") == "needed"
    assert SparkChoice("always", "yarn").of("needed") == "needed"
    assert SparkChoice("always", "yarn").of(None) == "always"
    assert SparkChoice(None, "sc://h").of("always") == "always"
    assert SparkChoice().of("always") == "always"
