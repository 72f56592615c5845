"""DAGs beside those of the page about derivatives: a rejected candidate, a failing task, a deferred sensor and mapped
tasks."""

STRICT = """\
kind: DatasetSnapshot
version: 1
content:
  name: strict-customers
  kind: Root
  metadata:
    - kind: SetPollingSource
      fetch: {kind: FilesGlob, path: data/customers/*.csv}
      read:
        kind: Csv
        header: true
        schema: [customer_id BIGINT, city STRING]
      preprocess:
        kind: Sql
        engine: spark
        query: SELECT customer_id, upper(city) AS city FROM input
      merge: {kind: Ledger, primaryKey: [customer_id]}
    - kind: SetInfo
      keywords: [people]
"""
STRICT_CONTRACT = """\
dataContractSpecification: 1.2.1
id: strict-customers
info: {title: Customers, version: 1.0.0, owner: Sales, description: Customers in one city}
tags: [crm]
models:
  strict_customers:
    fields:
      customer_id:
        type: long
        required: true
        description: Number of the customer
        lineage:
          inputFields:
            - {namespace: "postgres://crm:5432", name: crm.public.customers, field: id}
      city: {type: string, enum: [OSLO], pii: true, classification: restricted}
"""
BY_HAND = """\
# airflow dag
from pathlib import Path

from airflow.sdk import DAG
from airflow_provider_odf import MergeOperator, PollingSourceSensor, VerifyOperator

HERE = Path(__file__).parent
with DAG("by-hand", schedule=None, default_args={"retries": 0, "owner": "night shift"}):
    PollingSourceSensor(task_id="wait", manifest=str(HERE / "customers.yaml"), deferrable=True, poke_interval=0)
    VerifyOperator.partial(task_id="verify", replay=False).expand(dataset=["orders", "customers"])
    MergeOperator(task_id="push", data=str(HERE / "data" / "broken.csv"), manifest=str(HERE / "orders.yaml"))
"""
FILES = {
    "strict-customers.yaml": STRICT,
    "strict-customers.datacontract.yaml": STRICT_CONTRACT,
    "by_hand.py": BY_HAND,
    "data/broken.csv": "order_id,ordered_at,customer_id,amount\n5,no time,10,1.00\n",
}
