"""References of a contract to other datasets of the store."""

from __future__ import annotations

import pytest

from airflow_provider_odf.chain.store import Store
from airflow_provider_odf.cycle import candidates
from airflow_provider_odf.errors import ContractInconclusive, ContractRejected
from tests.manifests import polled

from .conftest import Run, Write

pytestmark = pytest.mark.spark


CONTRACT = """
dataContractSpecification: 1.2.1
id: urn:people
info: {title: People, version: 1.0.0}
models:
  people: {fields: {city: {references: home_towns.id}, id: {references: people.id}}}
  home_towns: {fields: {id: {type: long}}}
"""


def test_references_are_values_of_the_other_datasets_current_rows(write: Write, run: Run, store: Store) -> None:
    read = "{kind: Csv, header: true, schema: [id BIGINT, city BIGINT]}"
    people = write("people.yaml", polled("people", "{kind: FilesGlob, path: people/*.csv}", read))
    fetch, merge = "{kind: FilesGlob, path: home-towns/*.csv}", "{kind: Snapshot, primaryKey: [id]}"
    towns = write("home-towns.yaml", polled("home-towns", fetch, read, merge))
    write("people.datacontract.yaml", CONTRACT)
    write("people/1.csv", "id,city\n1,10\n2,\n")
    outcome = run(people)
    assert isinstance(outcome.error, ContractInconclusive)
    assert "there is no data of model home_towns" in str(outcome)

    write("home-towns/1.csv", "id,city\n10,0\n20,0\n")
    run(towns)
    assert str(run(people)) == "published 2 records (offsets 0..1)"

    write("home-towns/2.csv", "id,city\n20,0\n30,0\n")
    run(towns)
    write("people/2.csv", "id,city\n3,30\n4,40\n")
    assert isinstance(run(people).error, ContractRejected)
    (rejection,) = candidates.rejections(store.dataset("people"))
    assert rejection.report is not None
    assert [(r.path, r.reason) for r in rejection.report.results if r.outcome == "fail"] == [
        ("/models/people/fields/city/references", "2 rows: 10 at offset 0, 40 at offset 3")
    ]
