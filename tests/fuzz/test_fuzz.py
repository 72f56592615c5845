"""Damaged files of each kind, by the function that a user's command reads them with: a result or a documented error, in
bounded time and memory, and no file elsewhere.

Each case follows from the printed seed, its kind and its number. ``ODF_FUZZ="SEED KIND NUMBER"`` runs one alone.
"""

from __future__ import annotations

import faulthandler
import gzip
import hashlib
import io
import json
import os
import random
import shutil
import signal
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import shapefile as pyshp
import yaml
from pyspark.sql import SparkSession

from airflow_provider_odf import protocol
from airflow_provider_odf.chain.store import Store
from airflow_provider_odf.chain.verify import verify
from airflow_provider_odf.cli.manifests import checked, load_manifests
from airflow_provider_odf.contract.lint import lint
from airflow_provider_odf.contract.load import load as load_contract
from airflow_provider_odf.contract.show import lines as shown
from airflow_provider_odf.dialect.check import check_columns
from airflow_provider_odf.engine.optional_spark import NeedsSpark, may_use_arrow
from airflow_provider_odf.engine.read import raw, source
from airflow_provider_odf.engine.read.convert import OpenFile
from airflow_provider_odf.engine.read.read import _open
from airflow_provider_odf.engine.request import answer
from airflow_provider_odf.errors import ChainError, InvalidInput, InvalidQuery, ManifestInvalid, SourceError
from airflow_provider_odf.inference import sample
from airflow_provider_odf.manifest.folder_settings import read_settings
from airflow_provider_odf.multiformats import SHA3_256, multihash
from airflow_provider_odf.source import decompress, shapefile
from airflow_provider_odf.source.options import Options
from tests.chain.golden_datasets import DATASETS
from tests.contract.test_invalid import DCS, ODCS
from tests.manifests import derived
from tests.source.archives import zipped
from tests.test_protocol import REQUESTS, RESPONSES

from .mutations import BYTES, TEXT, Mutation, aliases, archive, gzipped, values

SECONDS, MEMORY = 20, 512 << 20
"""Limits of one case, in processor time and bytes; without an error most take some milliseconds and less than 1 MiB."""

FOLDER = Path(__file__).parents[2] / "dags"
"""Examples of manifests and contracts."""


@dataclass(frozen=True)
class Kind:
    """What ``read`` reads from bytes in an empty folder. It returns the outcome, or raises one of ``errors``."""

    samples: Sequence[bytes]
    mutations: Sequence[Mutation]
    read: Callable[..., str]
    errors: tuple[type[Exception], ...]


# --- text of people -------------------------------------------------------------------------------------------------

TRANSFORMS = derived(
    "daily", "{datasetRef: visits, alias: v}, {datasetRef: rates, alias: r}",
    "{kind: Sql, engine: datafusion, queries: [{alias: a, query: 'SELECT v.event_time, v.id FROM v'},"
    " {query: 'SELECT * FROM a'}]}",
)  # fmt: skip


def _manifest(data: bytes, folder: Path) -> str:
    (folder / "m.yaml").write_bytes(data)
    loaded = checked(load_manifests([str(folder / "m.yaml")], None))
    problems = [*loaded.problems, *check_columns(loaded.manifests)]
    assert [p for p in problems if "bug of the provider" in p.message] == []
    assert [p for p in (*problems, *loaded.warnings) if p.place.line < 1 and "ignored" not in p.message] == []
    return "invalid" if problems else "valid"


def _contract(data: bytes, folder: Path) -> str:
    (folder / "c.yaml").write_bytes(data)
    errors, _ = lint(folder / "c.yaml")
    assert [p for p in errors if p.place.line < 1] == []
    "\n".join(shown(load_contract(folder / "c.yaml"))).encode()
    return "invalid" if errors else "valid"


def _settings(data: bytes, folder: Path) -> str:
    (folder / "odf.yaml").write_bytes(data)
    read_settings(folder / "odf.yaml")
    return "valid"


# --- files of a store -----------------------------------------------------------------------------------------------


def _dataset(folder: Path, files: dict[str, bytes]) -> str:
    """Read all of a dataset as `odf log`, `odf tail` and `odf verify` do."""
    for name, content in files.items():
        (folder / "d" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "d" / name).write_bytes(content)
    dataset = Store.open(folder).dataset("d")
    for block_hash, block in dataset.walk():
        json.dumps({block_hash: block.model_dump(mode="json", by_alias=True)})
    verify(dataset)
    return "read"


def _block(name: str, data: bytes, folder: Path) -> str:
    """A block whose hash is right, on the blocks before it: from a writer who made it, not from a disk that decays."""
    block_hash = multihash(SHA3_256, hashlib.sha3_256(data).digest())
    return _dataset(folder, {**DATASETS[name], f"blocks/{block_hash}": data, "refs/head": block_hash.encode()})


def _ref(data: bytes, folder: Path) -> str:
    return _dataset(folder, {**DATASETS["cities"], "refs/head": data})


def _message(data: bytes, folder: Path) -> str:
    text = data.decode(errors="replace")
    loads = protocol.loads_response if "Response::" in text else protocol.loads_request
    return type(loads(text)).__name__


# --- files of sources -----------------------------------------------------------------------------------------------

COLUMNS = (("id", "BIGINT"), ("city", "STRING"), ("at", "TIMESTAMP"), ("score", "DECIMAL(9,2)"), ("ok", "BOOLEAN"))
ROWS = [
    (i, f'Città {i}\n"x"' if i == 3 else f"c{i}", f"2024-05-0{i + 1}T10:00:00Z", i / 4, i % 2 == 0) for i in range(8)
]
CSV = "id,city,at,score,ok\n" + "".join(
    f'{i},"{c.replace(chr(34), chr(34) * 2)}",{t},{s},{str(o).lower()}\n' for i, c, t, s, o in ROWS
)
OBJECTS = [dict(zip((name for name, _ in COLUMNS), row, strict=True)) for row in ROWS]
FEATURES = [
    {"type": "Feature", "properties": o, "geometry": {"type": "Point", "coordinates": [o["id"], 1.5]}} for o in OBJECTS
]
COLLECTION = json.dumps({"type": "FeatureCollection", "features": FEATURES}).encode()
STEPS = {
    "csv": protocol.ReadStep("Csv", tuple(protocol.Column(*c) for c in COLUMNS), header=True),
    "csv without schema": protocol.ReadStep("Csv", header=True),
    "ndjson": protocol.ReadStep("NdJson", tuple(protocol.Column(*c) for c in COLUMNS)),
    "ndjson without schema": protocol.ReadStep("NdJson"),
    "json": protocol.ReadStep("Json", tuple(protocol.Column(*c) for c in COLUMNS), sub_path="a.rows"),
    "geojson": protocol.ReadStep("GeoJson"),
    "ndgeojson": protocol.ReadStep("NdGeoJson", tuple(protocol.Column(*c) for c in (*COLUMNS, ("geometry", "STRING")))),
    "parquet": protocol.ReadStep("Parquet"),
}


def _ndjson(objects: Sequence[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(o) + "\n" for o in objects).encode()


def _parquet(last: pa.Array | None = None, **options: Any) -> bytes:
    columns = {
        "id": pa.array(range(8), pa.int64()),
        "city": pa.array([o["city"] for o in OBJECTS]),
        "at": pa.array([1714550400000000 + i for i in range(8)], pa.timestamp("us", "UTC")),
        "last": pa.array(range(8), pa.float64()) if last is None else last,
    }
    file = io.BytesIO()
    pq.write_table(pa.table(columns), file, **options)
    return file.getvalue()


PARQUET = [
    _parquet(),
    _parquet(compression="zstd", row_group_size=3),
    _parquet(compression="brotli"),
    _parquet(pa.array([["a"] * i for i in range(8)])),
    _parquet(data_page_version="2.0", use_dictionary=False),
]


def merged(step: protocol.ReadStep, file: Path, folder: Path, spark: SparkSession | None = None) -> str:
    """Merge a file as a poll does. What only Spark can convert is read with it, or without ``spark`` only parsed."""
    request = protocol.MergeRequest(
        dataset_id="did:odf:fed01" + "0" * 64, dataset_alias="polled", system_time="2024-05-02T10:00:00Z",
        vocab=protocol.DatasetVocabulary(), read=step, merge=protocol.MergeStrategy("Append"), next_offset=0,
        inputs=(protocol.MergeInput((str(file),), "2024-04-01T00:00:00Z", "a.txt"),),
        new_data_path=str(folder / "data"), new_state_path=str(folder / "state"),
    )  # fmt: skip
    try:
        if not may_use_arrow(request):
            raise NeedsSpark
        response = answer(None, request, str, "1g")
    except NeedsSpark:
        if spark is None:
            return "needs Spark" if step.kind == "Parquet" else _parsed(step, file)
        response = answer(spark, request, str)
    # Spark does not check some numbers of a damaged page: its error then names no file, and may be any.
    if isinstance(response, protocol.InternalError) and spark is None:
        raise AssertionError(f"{response.message}\n{response.backtrace}")
    return type(response).__name__


def _parsed(step: protocol.ReadStep, file: Path) -> str:
    if source.unreadable(str(file), step):
        return "InvalidQuery"
    opened = _open(step, str(file), "a.txt")
    assert isinstance(opened, OpenFile)
    rows = raw.table(opened.parser, opened.chunks)
    return "parsed" if rows[raw.PROBLEM].null_count == len(rows) else "InvalidQuery"


def _rows(step: protocol.ReadStep, data: bytes, folder: Path, spark: SparkSession | None = None) -> str:
    (folder / "input").write_bytes(data)
    return merged(step, folder / "input", folder, spark)


def _sample(data: bytes, folder: Path) -> str:
    """Read a file as `odf new` does."""
    (folder / "sample").write_bytes(data)
    return sample.read(str(folder / "sample")).kind


OPTIONS = replace(Options(), largest_file=16 << 20, ratio_free=8 << 20)


def _zip(data: bytes, folder: Path) -> str:
    (folder / "in.zip").write_bytes(data)
    decompress.unzip(folder / "in.zip", folder / "out", "*.csv", "a.zip", OPTIONS, str)
    return "read"


def _gzip(data: bytes, folder: Path) -> str:
    (folder / "in.gz").write_bytes(data)
    decompress.gunzip(folder / "in.gz", folder / "out", "a.gz", OPTIONS, str)
    return "read"


def _shapefile(data: bytes, folder: Path) -> str:
    (folder / "in.zip").write_bytes(data)
    shapefile.convert(folder / "in.zip", folder / "out", None, "a.zip", OPTIONS, str)
    return merged(protocol.ReadStep("EsriShapefile"), folder / "out", folder)


def _shapes(kind: int, *draw: Callable[[pyshp.Writer], None]) -> bytes:
    files = {suffix: io.BytesIO() for suffix in ("shp", "shx", "dbf")}
    with pyshp.Writer(**files, shapeType=kind) as writer:
        for field in (("name", "C", 10), ("n", "N", 9, 2), ("day", "D"), ("ok", "L")):
            writer.field(*field)
        for one in draw:
            one(writer)
            writer.record("Città", 1.25, "20240502", True)
    return zipped({**{f"a.{suffix}": file.getvalue() for suffix, file in files.items()}, "a.cpg": b"UTF-8"})


SHAPES = (
    _shapes(pyshp.POINT, *[lambda w: w.point(1, 2)] * 3, lambda w: w.null()),
    _shapes(pyshp.POLYGON, lambda w: w.poly([[[0, 0], [0, 9], [9, 9], [0, 0]], [[1, 2], [2, 2], [1, 1], [1, 2]]])),
    _shapes(pyshp.POLYLINEZ, lambda w: w.linez([[[0, 0, 1], [5, 5, 2]], [[1, 1, 1], [2, 2, 2]]])),
    _shapes(pyshp.MULTIPATCH, lambda w: w.multipatch([[[0, 0, 1], [0, 1, 1], [1, 1, 1]]], partTypes=[0])),
)  # fmt: skip

MANIFESTS = [
    f.read_bytes() for f in sorted(FOLDER.glob("*.yaml")) if "datacontract" not in f.name and f.name != "odf.yaml"
]
CONTRACTS = [DCS.encode(), ODCS.encode(), *(f.read_bytes() for f in sorted(FOLDER.glob("*.datacontract.yaml")))]
SETTINGS = b"""\
defaults: {schedule: '@daily', retries: 3, env: {T: {connection: api, field: password}}}
datasets: {a/b: {tags: [x], start_date: '2024-01-01'}}
"""
MESSAGES = [protocol.dumps_request(request).encode() for request in REQUESTS]
MESSAGES += [protocol.dumps_response(operation, response).encode() for operation, response in RESPONSES]
ZIP = zipped({"a.csv": CSV.encode(), "b/c.csv": b"id\n1\n"})
SAMPLES = [
    CSV.encode(), _ndjson(OBJECTS), _ndjson(FEATURES), json.dumps(OBJECTS).encode(), COLLECTION, PARQUET[0], ZIP,
    zipped({"a.csv": CSV.encode()}), gzip.compress(CSV.encode()),
]  # fmt: skip
IN_YAML = (*TEXT, aliases, aliases, *[values(lambda data: yaml.safe_load(data))] * 6)
IN_JSON = (*TEXT, *[values(json.loads)] * 6)
LINES = (*TEXT, *[lambda chance, data: _changed_line(chance, data)] * 6)


def _changed_line(chance: random.Random, data: bytes) -> bytes:
    lines = data.splitlines(keepends=True)
    at = chance.randrange(len(lines))
    return b"".join([*lines[:at], values(json.loads)(chance, lines[at]) + b"\n", *lines[at + 1 :]])


KINDS: dict[str, Kind] = {
    "manifest": Kind([*MANIFESTS, TRANSFORMS.encode()], IN_YAML, _manifest, ()),
    "contract": Kind(CONTRACTS, IN_YAML, _contract, (ManifestInvalid,)),
    "settings": Kind([SETTINGS], IN_YAML, _settings, (ManifestInvalid,)),
    **{
        f"block of {name}": Kind(
            [files[f] for f in files if "blocks/" in f], BYTES, partial(_block, name), (ChainError,)
        )
        for name, files in DATASETS.items()
    },
    "ref": Kind([DATASETS["cities"]["refs/head"]], (*BYTES, *TEXT), _ref, (ChainError,)),
    "message": Kind(MESSAGES, IN_JSON, _message, (ValueError,)),
    **{
        name: Kind(samples, mutations, partial(_rows, STEPS[name]), (InvalidQuery,))
        for name, samples, mutations in (
            ("csv", [CSV.encode()], TEXT),
            ("csv without schema", [CSV.encode()], TEXT),
            ("ndjson", [_ndjson(OBJECTS)], LINES),
            ("ndjson without schema", [_ndjson(OBJECTS)], LINES),
            ("json", [json.dumps({"a": {"rows": OBJECTS}}).encode()], IN_JSON),
            ("geojson", [COLLECTION], IN_JSON),
            ("ndgeojson", [_ndjson(FEATURES)], LINES),
            ("parquet", PARQUET, BYTES),
        )
    },
    "sample": Kind(SAMPLES, (*TEXT, *BYTES, *[archive, gzipped, values(json.loads)] * 4), _sample, (InvalidInput,)),
    "zip": Kind([ZIP], (*BYTES, *[archive] * 8), _zip, (SourceError,)),
    "gzip": Kind([gzip.compress(CSV.encode())], (*BYTES, *[gzipped] * 3), _gzip, (SourceError,)),
    "shapefile": Kind(SHAPES, (*BYTES[:2], *[archive] * 8), _shapefile, (SourceError, InvalidQuery)),
}


class TooSlow(BaseException):
    """The case took longer than `SECONDS`."""


@contextmanager
def limited() -> Iterator[None]:
    """Bound the time of a case, and on Linux its memory."""
    before = _memory("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")
    signal.signal(signal.SIGPROF, _stop)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    faulthandler.dump_traceback_later(20 * SECONDS, exit=True)  # for code in C, which no signal interrupts
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        faulthandler.cancel_dump_traceback_later()
    assert (more := _memory("VmHWM") - before) < MEMORY, f"{more >> 20} MiB of memory"


def _stop(*_: object) -> None:
    raise TooSlow


def _memory(name: str) -> int:
    status = Path("/proc/self/status").read_text()
    return int(status.partition(f"{name}:")[2].split()[0]) << 10


def case(seed: int, name: str, number: int) -> bytes:
    kind, chance = KINDS[name], random.Random(f"{seed} {name} {number}")
    data = chance.choice(kind.samples)
    for _ in range(chance.choice((1, 1, 1, 2, 4))):
        try:
            data = chance.choice(kind.mutations)(chance, data)
        except Exception:  # a change of values, of bytes that an earlier change has damaged
            data = chance.choice(BYTES)(chance, data)
    return data


def fuzz(seed: int, name: str, count: int, folder: Path, spark: SparkSession | None = None) -> None:
    kind, outcomes, failures = KINDS[name], Counter[str](), list[str]()
    read = partial(kind.read, spark=spark) if spark else kind.read
    beside = set(folder.parent.iterdir())
    for number in range(count):
        data = case(seed, name, number)
        folder.mkdir()
        try:
            with limited():
                outcomes[read(data, folder)] += 1
        except kind.errors as e:
            str(e).encode()
            outcomes[type(e).__name__] += 1
        except (Exception, TooSlow) as e:
            failures.append(f'ODF_FUZZ="{seed} {name} {number}": {type(e).__name__}: {str(e)[:300]}')
        shutil.rmtree(folder)
        assert set(folder.parent.iterdir()) == beside, f"{seed} {name} {number}"
    print(f"\n{name}, seed {seed}: {count} cases{' on Spark' * bool(spark)}, {len(failures)} failed, {dict(outcomes)}")
    assert failures == []


def seed() -> int:
    return int(os.environ.get("ODF_FUZZ_SEED", random.randrange(10**9)))


@pytest.mark.parametrize("name", KINDS)
def test_some_damage(name: str, tmp_path: Path, spark: SparkSession) -> None:
    """With a session, since Spark has the parser of types."""
    fuzz(1, name, 60, tmp_path / "case")


@pytest.mark.torture
@pytest.mark.timeout(4 * 3600)
@pytest.mark.parametrize("name", KINDS)
def test_damage(name: str, tmp_path: Path, spark: SparkSession) -> None:
    fuzz(seed(), name, int(os.environ.get("ODF_FUZZ_CASES", "10000")), tmp_path / "case")


@pytest.mark.torture
@pytest.mark.timeout(4 * 3600)
@pytest.mark.parametrize("name", STEPS)
def test_damage_on_spark(name: str, tmp_path: Path, spark: SparkSession) -> None:
    fuzz(seed(), name, int(os.environ.get("ODF_FUZZ_CASES", "300")), tmp_path / "case", spark)


def test_an_unknown_codec_does_not_end_the_process(tmp_path: Path, spark: SparkSession) -> None:
    """A footer with Brotli and, in another column chunk, a codec that there is not: Arrow aborts if asked for it."""
    known, unknown, brotli = b"\x15\x02\x16", b"\x15\x22\x16", b"\x15\x08\x16"
    assert PARQUET[0].count(known) == 4
    for changed in (PARQUET[0].replace(known, unknown), PARQUET[0].replace(known, brotli, 2).replace(known, unknown)):
        assert _rows(STEPS["parquet"], changed, tmp_path, spark) == "InvalidQuery"
    assert _rows(STEPS["parquet"], PARQUET[2], tmp_path, spark) == "InvalidQuery"


@pytest.mark.skipif("ODF_FUZZ" not in os.environ, reason="for one case by its name")
def test_one(tmp_path: Path, spark: SparkSession) -> None:
    number_of, _, rest = os.environ["ODF_FUZZ"].partition(" ")
    name, _, number = rest.rpartition(" ")
    data = case(int(number_of), name, int(number))
    print(data[:3000])
    print(KINDS[name].read(data, tmp_path))
