from pathlib import Path

import pytest

from airflow_provider_odf.contract.binding import Location
from airflow_provider_odf.dag.doc import doc_md
from airflow_provider_odf.manifest.load import load
from tests.manifests import push, snapshot

POLLED = """\
kind: DatasetSnapshot
version: 1
content:
  name: acme/orders
  kind: Root
  metadata:
    - kind: SetPollingSource
      fetch:
        kind: Url
        url: https://user:secret@example.com/orders.csv?key=${{ env.KEY }}&token=abc
      prepare:
        - {kind: Decompress, format: Zip, subPath: "*.csv"}
      read:
        kind: Csv
        schema:
          - id BIGINT
          - price DECIMAL(8,2)
      merge:
        kind: Snapshot
        primaryKey: [ID]
    - kind: SetInfo
      description: |
        Orders of Acme.

        All of <b>them</b>.
      keywords: [sales, "a|b"]
    - kind: SetLicense
      shortName: CC0
      name: Creative Commons Zero
      spdxId: CC0-1.0
      websiteUrl: https://creativecommons.org/publicdomain/zero/1.0/
    - kind: SetAttachments
      attachments:
        kind: Embedded
        items:
          - path: notes/units.txt
            content: all in EUR
          - path: Readme.md
            content: |
              # Orders

              Taken from the <script>alert("shop")</script> in README.md
"""

PUSHED = snapshot(
    "scores",
    push(
        '{kind: NdJson, schema: ["player STRING", "score BIGINT"]}',
        "{kind: Snapshot, primaryKey: [player]}",
        "web",
        "{kind: Sql, engine: spark, query: select * from input}",
    ),
    push("Parquet", "{kind: UpsertStream, primaryKey: [player]}", '"b`ulk"'),
)

URI = "file:///data/odf/orders"


@pytest.fixture
def documented(tmp_path):
    def documented(text: str, contract: str | None = None) -> str:
        (tmp_path / "orders.yaml").write_text(text)
        loaded = load([tmp_path / "orders.yaml"])
        assert not loaded.problems
        return doc_md(loaded.manifests[0], URI, Location(Path(contract)) if contract else None)

    return documented


def test_a_polled_dataset(documented):
    assert (
        documented(POLLED, "/dags/orders.datacontract.yaml")
        == """\
## acme/orders

Orders of Acme.

All of <\u2060b>them<\u2060/b>.

| Kind | Root dataset |
|---|---|
| Source | `https://example.com/orders.csv?key=${{ env.KEY }}&token=***` |
| Read | Zip \\*.csv, Csv |
| Merge | Snapshot by `ID` |
| Data contract | `orders.datacontract.yaml` |
| Manifest | `orders.yaml` |
| Stored at | `file:///data/odf/orders` |
| Keywords | sales, a\\|b |
| License | [Creative Commons Zero](https://creativecommons.org/publicdomain/zero/1.0/) (SPDX `CC0-1.0`) |
| Attachments | `notes/units.txt` (10 B), `Readme.md` (69 B) |

**Columns**

| Name | Type |
|---|---|
| id (key) | `BIGINT` |
| price | `DECIMAL(8,2)` |

### Orders

Taken from the <\u2060script>alert("shop")<\u2060/script> in README.md
"""
    )


def test_a_pushed_dataset(documented):
    assert (
        documented(PUSHED)
        == """\
## scores

| Kind | Root dataset |
|---|---|
| Push source | `web`: NdJson, SQL (spark), Snapshot by `player` |
| Push source | `` b`ulk ``: Parquet, UpsertStream by `player` |
| Manifest | `orders.yaml` |
| Stored at | `file:///data/odf/orders` |

**Columns as read**

| Name | Type |
|---|---|
| player (key) | `STRING` |
| score | `BIGINT` |
"""
    )


def test_airflow_takes_no_documentation_for_the_name_of_a_file(documented):
    """It opens a file for every text that ends with ``.md``."""
    from airflow.sdk import DAG

    text = documented(POLLED)
    assert DAG("orders", doc_md=text).doc_md == text


def test_many_attachments_are_not_all_listed(documented):
    items = "".join(f"\n          - {{path: file-{n}, content: ''}}" for n in range(30))
    attachments = "    - kind: SetAttachments\n      attachments:\n        kind: Embedded\n        items:" + items
    assert "`file-19` (0 B), 10 more |" in documented(PUSHED + attachments)


def test_a_long_readme_is_cut(documented):
    lines = "".join(f"              line {n}\n" for n in range(5000))
    text = documented(POLLED.split("              # Orders")[0] + lines)
    assert text.endswith("\n\n…\n")
    assert 20_000 < len(text) < 21_000


CONTRACT = """\
dataContractSpecification: 1.2.1
id: urn:orders
info: {title: Orders, version: 1.0.0, owner: "Sales | <b>EMEA"}
terms: {usage: Reports, noticePeriod: P3M}
models:
  orders:
    fields: {price: {type: decimal, minimum: 0, quality: [{type: text, description: Prices are plausible}]}}
"""


def test_the_clauses_of_a_contract_and_links_to_pages(tmp_path):
    (tmp_path / "orders.yaml").write_text(PUSHED)
    (tmp_path / "orders.datacontract.yaml").write_text(CONTRACT)
    (manifest,) = load([tmp_path / "orders.yaml"]).manifests
    contract = Location(tmp_path / "orders.datacontract.yaml")
    text = doc_md(manifest, URI, contract, has_clauses=True, pages={"Dataset": "/odf/datasets/scores", "Data": "/d"})
    assert "| Pages | [Dataset](/odf/datasets/scores), [Data](/d) |" in text
    assert (
        """\
**Data contract**

- Title: Orders
- Version: 1.0.0
- Owner: Sales \\| \\<b\\>EMEA
- Usage: Reports
- Notice period: P3M

| Clause | Enforced |
|---|---|
"""
        in text
    )
    assert "| price: \\>= 0 | yes |" in text
    assert "| no: " in text
    contract.file.write_text(CONTRACT.replace("models", "modls"))
    text = doc_md(manifest, URI, contract, has_clauses=True)
    assert "The contract is not valid: " in text
    assert "the contract has no models" in text
