"""Samples of sources as people have them, one per form."""

import gzip
import io

import pyarrow as pa
import pyarrow.parquet as pq


def _parquet():
    buffer = io.BytesIO()
    pq.write_table(pa.table({"code": ["a", "b"], "price": pa.array([1, None], pa.decimal128(8, 2))}), buffer)
    return buffer.getvalue()


SAMPLES: dict[str, bytes] = {
    "odd-names.csv": 'Stadt (Land),PLZ,Größe in m²,,op,Datum\n"Köln, DE",00501,12.50,x,1,2026-05-01\n'
    "Bonn,53111,7.5,,2,2026-05-02\n".encode(),
    "latin.csv": "id;Straße;seit\n1;Hauptstraße;01.05.2026 10:30\n2;Ufer;13.05.2026 08:00\n".encode("windows-1252"),
    "tabs.tsv": b"sku\tactive\tsold\nA1\ttrue\t2026-05-01T10:00:00Z\nA2\tfalse\t2026-05-02 11:30:00\n",
    "nulls.csv": b"station,celsius,note\ns1,NA,\ns2,21.5,NA\ns3,-3.25,ok\n",
    "no-header.csv": b"1,2026-05-01,3.14159\n2,2026-05-02,2.71828\n",
    "twice.csv": b"id,value,value\n1,a,b\n2,c,d\n",
    "pairs.csv": b"day,shop,cents\n05/13/2026,1,10\n05/13/2026,2,10\n05/14/2026,1,12345678901234567890\n",
    "ambiguous.csv": b"id,day\n1,01/02/2026\n2,03/04/2026\n",
    "lines.ndjson": b'{"id": "007", "at": "2026-05-01T10:00:00Z", "n": 1, "tags": ["a"]}\n'
    b'{"id": "008", "at": "2026-05-02T10:00:00Z", "n": 1.5, "more": {"x": 1}}\n',
    "array.json": b'[{"offset": 1, "big": 123456789012345678901, "no": true}, {"offset": 2, "big": 1, "no": null}]',
    "nested.json": b'{"meta": {"page": 1}, "result": {"rows": [{"id": 1, "x": null}, {"id": 2, "x": null}]}}',
    "places.geojson": b'{"type": "FeatureCollection", "features": [{"type": "Feature", "properties": {"id": 1, '
    b'"name": "park"}, "geometry": {"type": "Point", "coordinates": [1.5, 2]}}]}',
    "prices.parquet": _parquet(),
    "packed.csv.gz": gzip.compress(b"id,value\n1,a\n2,b\n"),
}
