"""Features of GeoJSON, for tests."""

from __future__ import annotations

import json
from typing import Any

POINT: dict[str, Any] = {"type": "Point", "coordinates": [0.0, 0.0]}
POINT_TEXT = '{"coordinates":[0.0,0.0],"type":"Point"}'


def feature(properties: object, geometry: object = POINT, **more: object) -> dict[str, object]:
    return {"type": "Feature", "properties": properties, "geometry": geometry, **more}


def collection(*features: object, **more: object) -> str:
    return json.dumps({"type": "FeatureCollection", "features": features, **more})


def lines(*features: object) -> str:
    return "".join(json.dumps(f) + "\n" for f in features)


GOOD = feature({"a": 1})
