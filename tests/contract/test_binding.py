from __future__ import annotations

from pathlib import Path

import pytest

from airflow_provider_odf.contract.binding import bind, find, model_name
from airflow_provider_odf.contract.load import parse
from airflow_provider_odf.errors import ManifestInvalid

TEXT = """\
dataContractSpecification: 1.1.0
id: c
info: {title: C, version: 1.0.0}
models:
"""


def models(*names: str) -> str:
    return TEXT + "".join(f"  {name}: {{fields: {{id: {{}}}}}}\n" for name in names)


def test_contract_beside_the_manifest(tmp_path: Path):
    manifest = tmp_path / "all.yaml"
    (tmp_path / "com.example.cities.datacontract.yaml").write_text(models("anything"))
    contract = bind(manifest, "com.example.cities")
    assert contract is not None
    assert contract.model == "anything"
    assert bind(manifest, "cities") is None
    assert find(manifest, "account/com.example.cities") == tmp_path / "com.example.cities.datacontract.yaml"


def test_short_suffix(tmp_path: Path):
    (tmp_path / "cities.datacontract.yml").write_text(models("cities"))
    assert find(tmp_path / "m.yaml", "cities") == tmp_path / "cities.datacontract.yml"


@pytest.mark.parametrize(
    ("names", "dataset", "model"),
    [
        (["orders"], "cities", "orders"),
        (["orders", "com_example_us_cities"], "com.example.us-cities", "com_example_us_cities"),
        (["orders", "cities"], "account/cities", "cities"),
        (["orders", "Cities", "cities"], "cities", "cities"),
        (["orders", "Cities"], "cities", "Cities"),
    ],
)
def test_model(names: list[str], dataset: str, model: str):
    assert model_name(parse(models(*names), "c.yaml"), dataset) == model


def test_no_model_of_the_name():
    with pytest.raises(ManifestInvalid) as e:
        model_name(parse(models("orders", "line_items"), "c.yaml"), "us-cities")
    assert str(e.value) == (
        "c.yaml:4:1: no model named 'us_cities' among orders, line_items "
        "(dataset us-cities is tested against the only model, or the one of its name)"
    )
