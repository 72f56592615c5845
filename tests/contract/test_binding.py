from __future__ import annotations

import json
from pathlib import Path

import pytest

from airflow_provider_odf.contract.binding import Location, bind, contract_location, model_name
from airflow_provider_odf.contract.load import parse
from airflow_provider_odf.errors import ManifestInvalid
from airflow_provider_odf.manifest.load import load
from airflow_provider_odf.manifest.manifest import Manifest
from tests.manifests import event, snapshot

TEXT = """\
dataContractSpecification: 1.1.0
id: c
info: {title: C, version: 1.0.0}
models:
"""


def models(*names: str) -> str:
    return TEXT + "".join(f"  {name}: {{fields: {{id: {{}}}}}}\n" for name in names)


def manifest(folder: Path, name: str, attachment: str = "", path: str = "datacontract.yaml") -> Manifest:
    """A manifest, with an attachment if there is a text for one."""
    item = f"{{path: {path}, content: {json.dumps(attachment)}}}"
    events = [event("SetAttachments", attachments=f"{{kind: Embedded, items: [{item}]}}")] if attachment else []
    file = folder / "all.yaml"
    file.write_text(snapshot(name, *events))
    loaded = load([file])
    assert loaded.problems == ()
    return loaded.manifests[0]


def test_contract_next_to_the_manifest(tmp_path: Path):
    (tmp_path / "com.example.cities.datacontract.yaml").write_text(models("anything"))
    contract = bind(manifest(tmp_path, "com.example.cities"))
    assert contract is not None
    assert contract.model == "anything"
    assert bind(manifest(tmp_path, "cities")) is None
    location = contract_location(manifest(tmp_path, "account/com.example.cities"))
    assert location == Location(tmp_path / "com.example.cities.datacontract.yaml")


def test_short_suffix(tmp_path: Path):
    (tmp_path / "cities.datacontract.yml").write_text(models("cities"))
    assert contract_location(manifest(tmp_path, "cities")) == Location(tmp_path / "cities.datacontract.yml")


def test_the_attachment_of_the_dataset(tmp_path: Path):
    attached = manifest(tmp_path, "cities", models("attached"))
    location = contract_location(attached)
    assert location is not None
    assert (str(location), location.label) == (
        f"{tmp_path}/all.yaml (attachment datacontract.yaml)",
        "datacontract.yaml (attachment)",
    )
    contract = bind(attached)
    assert contract is not None
    assert contract.model == "attached"
    assert bind(manifest(tmp_path, "cities", models("attached"), path="other.yaml")) is None


def test_problems_of_an_attachment_name_it(tmp_path: Path):
    text = models("m").replace("id: {}", "id: {$ref: other.yaml}")
    contract = bind(manifest(tmp_path, "cities", text))
    assert contract is not None
    assert [check.reason for check in contract.checks if check.outcome == "error"] == [
        f"{tmp_path}/all.yaml (attachment datacontract.yaml):5:27: $ref other.yaml points outside the attachment "
        "(move the definition into the attachment)"
    ]


def test_a_chosen_file_comes_first_then_the_file_next_to_the_manifest(tmp_path: Path):
    attached = manifest(tmp_path, "cities", models("attached"))
    (tmp_path / "cities.datacontract.yaml").write_text(models("cities"))
    assert contract_location(attached) == Location(tmp_path / "cities.datacontract.yaml")
    assert contract_location(attached, "contracts/other.yaml") == Location(tmp_path / "contracts/other.yaml")


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
        "(dataset us-cities is tested against the model with this name, or against the only model: rename a model)"
    )
