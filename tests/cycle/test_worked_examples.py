"""The two worked examples of the specification's page on merge strategies, served over HTTP with an ETag.

The page has slips, resolved as docs/decisions.md says: the second CSV of the Ledger example gets its ``Year`` header,
the row of the second pull has the second system time, the event time column is named ``year`` and holds dates.
"""

from __future__ import annotations

import pytest

from airflow_provider_odf.chain.record_rows import tail_rows
from airflow_provider_odf.chain.replay import replay
from airflow_provider_odf.chain.store import Store

from .conftest import Publisher, Run, Write

pytestmark = pytest.mark.spark

S1, S2 = "2024-01-01T12:00:00Z", "2024-02-01T12:00:00Z"
E1, E2 = "2024-01-01T09:00:00Z", "2024-02-01T09:00:00Z"


def rows(store: Store, name: str) -> list[tuple]:
    return [tuple(row.values()) for row in tail_rows(store.dataset(name), 100)]


def test_the_ledger_example(publisher: Publisher, run: Run, write: Write, store: Store) -> None:
    manifest = write(
        "ledger.yaml",
        f"""
        kind: DatasetSnapshot
        version: 1
        content:
          name: cities-population
          kind: Root
          metadata:
            - kind: SetPollingSource
              fetch:
                kind: Url
                url: {publisher.url}
              read:
                kind: Csv
                header: true
                schema:
                  - Year INT
                  - Country STRING
                  - City STRING
                  - Population BIGINT
              preprocess:
                kind: Sql
                engine: spark
                query: |
                  select make_date(Year, 1, 1) as year, Country as country, City as city, Population as population
                  from input
              merge:
                kind: Ledger
                primaryKey:
                  - year
                  - country
                  - city
            - kind: SetVocab
              eventTimeColumn: year
        """,
    )
    publisher.publish("Year,Country,City,Population\n2019,CA,Vancouver,2581000\n2019,US,Seattle,3433000\n", E1)
    assert str(run(manifest, S1)) == "published 2 records (offsets 0..1)"
    publisher.publish(
        "Year,Country,City,Population\n2019,CA,Vancouver,2581000\n2019,US,Seattle,3433000\n2020,CA,Vancouver,2606000\n",
        E2,
    )
    assert str(run(manifest, S2)) == "published 1 record (offsets 2..2)"
    assert [*next(iter(tail_rows(store.dataset("cities-population"), 1)))] == [
        "offset",
        "op",
        "system_time",
        "year",
        "country",
        "city",
        "population",
    ]
    assert rows(store, "cities-population") == [
        (0, "+A", S1, "2019-01-01", "CA", "Vancouver", 2581000),
        (1, "+A", S1, "2019-01-01", "US", "Seattle", 3433000),
        (2, "+A", S2, "2020-01-01", "CA", "Vancouver", 2606000),
    ]
    assert str(replay(store.dataset("cities-population")).watermark) == "2020-01-01T00:00:00Z"


def test_the_snapshot_example(publisher: Publisher, run: Run, write: Write, store: Store) -> None:
    manifest = write(
        "snapshot.yaml",
        f"""
        kind: DatasetSnapshot
        version: 1
        content:
          name: cities-population
          kind: Root
          metadata:
            - kind: SetPollingSource
              fetch:
                kind: Url
                url: {publisher.url}
                eventTime:
                  kind: FromMetadata
              read:
                kind: Csv
                header: true
                schema:
                  - country STRING
                  - city STRING
                  - population BIGINT
              merge:
                kind: Snapshot
                primaryKey:
                  - country
                  - city
        """,
    )
    publisher.publish("Country,City,Population\nCA,Vancouver,2581000\nUS,Seattle,3433000\n", E1)
    assert str(run(manifest, S1)) == "published 2 records (offsets 0..1)"
    assert str(run(manifest, S1)) == "up to date"
    publisher.publish("Country,City,Population\nCA,Vancouver,2606000\nUS,Seattle,3433000\n", E2)
    assert str(run(manifest, S2)) == "published 2 records (offsets 2..3): 1 corrected"
    # Ordered by key: Seattle follows Vancouver, since CA comes before US.
    assert rows(store, "cities-population") == [
        (0, "+A", S1, E1, "CA", "Vancouver", 2581000),
        (1, "+A", S1, E1, "US", "Seattle", 3433000),
        (2, "-C", S2, E1, "CA", "Vancouver", 2581000),
        (3, "+C", S2, E2, "CA", "Vancouver", 2606000),
    ]
    assert publisher.server.answers == [200, 304, 200]
