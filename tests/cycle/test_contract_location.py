"""Where a cycle finds the contract of its dataset."""

from __future__ import annotations

from dataclasses import replace

import pytest

from airflow_provider_odf.chain.store import Store
from airflow_provider_odf.errors import ManifestInvalid
from airflow_provider_odf.evolution.apply import apply
from airflow_provider_odf.manifest.load import load
from tests.cycle.conftest import TIME, Write, cycle_of

MANIFEST = """\
    kind: DatasetSnapshot
    version: 1
    content:
      name: prices
      kind: Root
      metadata:
        - kind: SetAttachments
          attachments:
            kind: Embedded
            items:
              - path: datacontract.yaml
                content: |
                  dataContractSpecification: 1.1.0
                  id: urn:attached
                  info: {title: Prices, version: 1.0.0}
                  models: {prices: {fields: {price: {type: long}}}}
    """
FILE = """\
    dataContractSpecification: 1.1.0
    id: urn:file
    info: {title: Prices, version: 1.0.0}
    models: {prices: {fields: {price: {type: long}}}}
    """


def test_the_attachment_counts_without_a_manifest_too(write: Write, store: Store):
    (manifest,) = load([write("prices.yaml", MANIFEST)]).manifests
    assert cycle_of(store, "prices").contract is None
    apply(store, manifest, TIME)
    for dataset in (manifest, "prices"):
        contract = cycle_of(store, dataset).contract
        assert contract is not None
        assert (contract.id, contract.model, len(contract.checks)) == ("urn:attached", "prices", 3)


def test_a_file_that_the_task_names(write: Write, store: Store):
    (manifest,) = load([write("prices.yaml", MANIFEST)]).manifests
    file = write("contracts/strict.yaml", FILE)
    cycle = replace(cycle_of(store, manifest), contract_file="contracts/strict.yaml")
    assert cycle.contract is not None
    assert cycle.contract.id == "urn:file"
    cycle = replace(cycle_of(store, "prices"), contract_file=str(file))
    assert cycle.contract is not None
    assert cycle.contract.id == "urn:file"
    with pytest.raises(ManifestInvalid, match=r"none.yaml: cannot be read: No such file"):
        _ = replace(cycle_of(store, manifest), contract_file="none.yaml").contract
