"""Tags of columns in lineage events and in DataHub, also those that a derivative inherits."""

from __future__ import annotations

import json

import pytest

from airflow_provider_odf.chain.store import Store
from airflow_provider_odf.lineage import events
from airflow_provider_odf.lineage.dataset import Counts
from airflow_provider_odf.operators.lineage_datasets import Datasets
from tests.cycle.test_sensitive import PEOPLE, attachment, create, transform

CONTACTS = """\
dataContractSpecification: 1.2.1
id: contacts
info: {title: contacts, version: 1.0.0}
models:
  contacts:
    fields:
      Mail: {type: string, tags: [contact]}
      DIGEST: {type: string, pii: false}
"""


@pytest.fixture
def subject(tmp_path):
    """A derivative whose contract lowers a column by its name in another case."""
    store = Store.open(tmp_path / "store")
    create(store, "people", 1, ["id", "Email", "city"], attachment(PEOPLE))
    query = "select id, upper(email) as mail, md5(email) as digest, sha2(email, 256) as other from t1"
    made = create(store, "contacts", 2, ["id", "mail", "digest", "other"], transform(query, 1), attachment(CONTACTS))
    return Datasets(store).at("contacts", made.head)


def test_tags_of_events(subject):
    lineage = events.publish(subject, "f1620aa", Counts(1, 1, 1), is_first=True)
    tags = lineage.outputs[0].facets["tags"].tags
    assert [(tag.field, tag.key, tag.value, tag.source) for tag in tags] == [
        ("mail", "contact", "true", "CONTRACT"),
        ("mail", "classification", "restricted", "CONTRACT"),
        ("mail", "pii", "true", "CONTRACT"),
        ("other", "classification", "restricted", "CONTRACT"),
        ("other", "pii", "true", "CONTRACT"),
    ]


def test_tags_of_datahub(subject):
    from airflow_provider_odf.datahub.schema import schema_fields  # noqa: F401 - the library is optional
    from tests.datahub.conftest import clause, made

    assertions = made(clause("/a", "required"))
    aspects = type(assertions)(
        assertions.contract, assertions.report, subject, assertions.run, assertions.options
    ).dataset_aspects()
    assert aspects["schemaMetadata"].validate()
    fields = json.loads(aspects["schemaMetadata"].make_mcp().aspect.value)["fields"]
    tags = {f["fieldPath"]: [tag["tag"] for tag in f["globalTags"]["tags"]] for f in fields if "globalTags" in f}
    assert tags == {
        "mail": ["urn:li:tag:contact", "urn:li:tag:classification: restricted", "urn:li:tag:pii"],
        "other": ["urn:li:tag:classification: restricted", "urn:li:tag:pii"],
    }
