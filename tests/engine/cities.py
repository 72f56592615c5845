"""Rows of cities, for tests of merges."""

from __future__ import annotations

from typing import Any

from airflow_provider_odf.protocol import SqlQueryStep, Transform

CITIES = "country STRING; city STRING; population BIGINT"


def city_row(country: str, city: str, population: int | None) -> dict[str, Any]:
    return {"country": country, "city": city, "population": population}


def sql(*queries: str) -> Transform:
    return Transform("spark", tuple(SqlQueryStep(q) for q in queries))


VANCOUVER, SEATTLE = city_row("CA", "Vancouver", 2581000), city_row("US", "Seattle", 3433000)
KYIV = city_row("UA", "Kyiv", 1)
