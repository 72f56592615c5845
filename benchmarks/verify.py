"""``odf verify`` of one large slice, against the hash of its bytes alone."""

from __future__ import annotations

import sys

from benchmarks import check, data, odf
from benchmarks.measure import in_turns, program
from benchmarks.report import Row, row
from benchmarks.scale import Scale

CASE = "verify"
FLOOR = "python, SHA3-256 of the file"
_HASH = "import hashlib, sys; print(hashlib.file_digest(open(sys.argv[1], 'rb'), 'sha3_256').hexdigest())"


def run(scale: Scale) -> list[Row]:
    table = scale.directory / "table.parquet"
    with data.connect() as db:
        db.execute(f"COPY ({data.rows(scale.rows, [])}) TO '{table}'")
    manifest = odf.manifest(
        scale.directory / "table.yaml", table.as_uri(), "{kind: Parquet}", "{kind: Snapshot, primaryKey: [id]}"
    )
    store = scale.directory / "store"
    check.said(odf.run(store, manifest).text.splitlines(), "published")
    (file,) = check.slices(store, "table")
    subjects = {
        FLOOR: lambda: program([sys.executable, "-c", _HASH, str(file)]),
        "odf verify --quick": lambda: odf.inspect("verify", "table", store, "--quick"),
        "odf verify": lambda: odf.inspect("verify", "table", store),
    }
    runs = in_turns(subjects, scale.reps)
    assert all(one.text.strip() in file.name for one in runs[FLOOR])
    for name in ("odf verify --quick", "odf verify"):
        check.said([one.text for one in runs[name]], "table: ok: 4 blocks, 1 slice")
    floor = runs[FLOOR]
    note = f"{file.stat().st_size / 2**20:.0f} MiB"
    return [
        row(CASE, FLOOR, floor, note=note),
        *(row(CASE, name, runs[name], FLOOR, floor) for name in list(runs)[1:]),
    ]
