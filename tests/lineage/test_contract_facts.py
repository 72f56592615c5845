from __future__ import annotations

from pathlib import Path

import pytest

from airflow_provider_odf.contract.load import load
from airflow_provider_odf.lineage.dataset import contract_facts
from airflow_provider_odf.lineage.naming import Identifier

DCS = """\
dataContractSpecification: 1.1.0
id: shop
info: {title: Shop, version: 1.0.0}
servers:
  files: {type: s3, location: "s3://lake/{model}/*.csv", format: csv}
  local: {type: local, path: "data/{model}.csv", format: csv}
  production: {type: postgres, host: "${SHOP_HOST:-db.example.com}", port: 5432, database: shop, schema: public}
  secret: {type: postgres, host: "${DB_PASSWORD:-pa55}", port: 5432, database: shop, schema: public}
  unset: {type: postgres, host: "${NOT_SET_HERE}", port: 5432, database: shop, schema: public}
  odd: {type: dataframe}
models: {orders: {fields: {id: {type: int}}}}
"""
ODCS = """\
apiVersion: v3.0.2
kind: DataContract
id: shop
version: 1.0.0
status: active
servers:
  - {server: lake, type: s3, location: "s3://lake/{model}", format: csv}
  - {server: warehouse, type: bigquery, project: p, dataset: ds}
schema:
  - {name: orders, physicalName: orders_v2, properties: [{name: id, logicalType: integer}]}
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            DCS,
            {
                "files": Identifier("s3://lake", "orders"),
                "local": Identifier("file", "{folder}/data/orders.csv"),
                "production": Identifier("postgres://db.example.com:5432", "shop.public.orders"),
            },
        ),
        (
            ODCS,
            {"lake": Identifier("s3://lake", "orders"), "warehouse": Identifier("bigquery", "p.ds.orders_v2")},
        ),
    ],
    ids=["dcs", "odcs"],
)
def test_names_on_servers(tmp_path: Path, text: str, expected: dict[str, Identifier]) -> None:
    (tmp_path / "c.yaml").write_text(text)
    facts = contract_facts(load(tmp_path / "c.yaml"), "orders")
    named = {server: names.current for server, names in facts.servers}
    assert named == {k: Identifier(v.namespace, v.name.format(folder=tmp_path)) for k, v in expected.items()}
