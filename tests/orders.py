"""Manifests of a root of orders and of a derivative with the totals of its customers."""

from tests.manifests import polled

ORDERS = polled(
    "orders",
    "{kind: FilesGlob, path: in/*.csv, order: ByName}",
    "{kind: Csv, header: true, schema: [event_time TIMESTAMP, id BIGINT, customer STRING, amount BIGINT]}",
    "{kind: Ledger, primaryKey: [id]}",
)
TOTALS = """\
kind: DatasetSnapshot
version: 1
content:
  name: totals
  kind: Derivative
  metadata:
    - kind: SetTransform
      inputs: [{datasetRef: orders}]
      transform:
        kind: Sql
        engine: spark
        query: |
          SELECT max(event_time) AS event_time, customer, sum(amount) AS total
          FROM orders GROUP BY customer
"""
