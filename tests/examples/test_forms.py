"""The forms in which public sources come, from end to end: each manifest of ``forms/`` by a cycle, and as a DAG."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from airflow_provider_odf.chain.record_rows import tail_rows
from airflow_provider_odf.chain.store import Store
from airflow_provider_odf.chain.verify import verify
from airflow_provider_odf.cycle.cycle import Cycle
from airflow_provider_odf.cycle.run import run_all
from airflow_provider_odf.instant import Instant
from airflow_provider_odf.manifest.load import load
from airflow_provider_odf.source.options import Options
from tests.http_server import Server

FORMS = Path(__file__).parent / "forms"
CONTAINER = "tide-levels"
NAMES = sorted(f.stem for f in FORMS.glob("*.yaml") if f.stem != CONTAINER)
T1, T2 = Instant.parse("2024-05-03T08:00:00Z"), Instant.parse("2024-05-04T08:00:00Z")
MODIFIED = 1714550400  # 2024-05-01T08:00:00Z

# On a machine whose own cgroups cannot be used, podman gets a mount namespace with fresh ones.
PODMAN = (
    *("unshare", "-m", "sh", "-c"),
    'umount -R /sys/fs/cgroup; mount -t cgroup2 none /sys/fs/cgroup; exec podman --storage-driver=vfs "$@"',
    "podman",
)
FLAGS = ("--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1024:1024", "--cgroups=disabled", "--pull=never")

pytestmark = [
    pytest.mark.airflow,
    pytest.mark.spark,
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:GitWildMatchPattern:DeprecationWarning"),
]


def zipped(**files: str) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, text in files.items():
            archive.writestr(name.replace("__", "/").replace("_csv", ".csv"), text)
    return file.getvalue()


def park(number: int, name: str, longitude: float) -> dict[str, object]:
    point = {"type": "Point", "coordinates": [longitude, 47.5]}
    return {"type": "Feature", "geometry": point, "properties": {"park_id": number, "name": name, "trees": 7}}


def collection(*features: dict[str, object]) -> bytes:
    return json.dumps({"type": "FeatureCollection", "features": features}).encode()


READINGS = "1;30/04/2024 23:30;20.5\n2;30/04/2024 23:30;-\n1;01/05/2024 00:00;-3\n"
ORDERS = {
    "status": "ok",
    "response": {
        "orders": [
            {"id": 7, "placed": "2024-05-01T09:15:00+02:00", "lines": [{"sku": "pen", "quantity": 2}, {"sku": "ink"}]},
            {"id": 8, "placed": "2024-05-01T10:00:00Z", "lines": [], "coupon": "x"},
        ]
    },
}
RATES = "TERMS\nhttps://example.org\n\nOBSERVATIONS\ndate,USD,CHF\n2024-05-01,1.0718,0.9778\n2024-05-02,1.0698,\n"


@pytest.fixture
def sources(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Path], None]:
    """Serves what the manifests ask for; puts files into a folder of manifests."""
    server.serve("/readings.zip", zipped(readme_csv="not this", export__a_csv=READINGS), modified=MODIFIED)
    server.serve("/orders.json", json.dumps(ORDERS).encode(), modified=MODIFIED)
    server.serve("/parks.geojson", collection(park(1, "Margarethen", 7.5), park(2, "Kannenfeld", 7.25)), etag='"1"')
    server.serve("/rates", RATES.encode())
    monkeypatch.setenv("FORMS_HOST", server.url.removeprefix("http://"))
    monkeypatch.setenv("FORMS_KEY", "k3y")

    def put(folder: Path) -> None:
        (folder / "visits").mkdir()
        # By name the later day comes first.
        (folder / "visits" / "a-visits-20240502.ndjson").write_text('{"page": "/", "visits": 4}\n')
        (folder / "visits" / "b-visits-20240501.ndjson").write_text('{"page": "/", "visits": 3}\n')

    return put


ROWS = {
    "sensor-readings": [
        (0, "+A", "2024-04-30T23:30:00Z", 1, 68.9),
        (1, "+A", "2024-05-01T00:00:00Z", 1, 26.6),
    ],
    "order-lines": [
        (0, "+A", "2024-05-01T07:15:00Z", 7, "pen", 2),
        (1, "+A", "2024-05-01T07:15:00Z", 7, "ink", None),
    ],
    "city-parks": [
        (0, "+A", None, 1, "Margarethen", {"type": "Point", "coordinates": [7.5, 47.5]}),
        (1, "+A", None, 2, "Kannenfeld", {"type": "Point", "coordinates": [7.25, 47.5]}),
    ],
    "exchange-rates": [
        (0, "+A", "2024-05-01", "USD", "1.0718"),
        (1, "+A", "2024-05-01", "CHF", "0.9778"),
        (2, "+A", "2024-05-02", "USD", "1.0698"),
    ],
    "daily-visits": [
        (0, "+A", "2024-05-01T00:00:00Z", "/", 3),
        (1, "+A", "2024-05-02T00:00:00Z", "/", 4),
    ],
    "tide-levels": [
        (0, "+A", "2024-05-01T00:00:00Z", "Saint-Malo", 1.25),
        (1, "+A", "2024-05-02T00:00:00Z", "Saint-Malo", 2.5),
    ],
}


def rows(store: Store, name: str) -> list[tuple[object, ...]]:
    """The history without system times, geometries parsed. The parks' event time is when they were polled."""
    found = []
    for row in tail_rows(store.dataset(f"forms/{name}"), 100):
        del row["system_time"]
        if "geometry" in row:
            row |= {"geometry": json.loads(row["geometry"]), "event_time": None}
        found.append(tuple(row.values()))
    return found


def outcomes(folder: Path, store: Store, runner, time: Instant, options: Options) -> dict[str, str]:
    """What came of one cycle of every manifest in a folder."""
    loaded = load([folder], known=lambda _: False)
    assert not loaded.problems
    cycles = [Cycle(store, str(m.snapshot.alias), runner, time, m, os.environ, options) for m in loaded.manifests]
    return {o.dataset.removeprefix("forms/"): str(o) for o in run_all(cycles)}


@pytest.fixture
def copied(tmp_path: Path, sources) -> Path:
    """The manifests but for the container's, with their files beside them."""
    folder = shutil.copytree(FORMS, tmp_path / "manifests", ignore=shutil.ignore_patterns(f"{CONTAINER}*"))
    sources(folder)
    return folder


@pytest.mark.long
def test_every_form_in_one_cycle(copied: Path, store: Store, spark_child, server: Server):
    first = outcomes(copied, store, spark_child, T1, Options())
    assert {name: o.partition(" records")[0] for name, o in first.items()} == {
        name: f"published {len(ROWS[name])}" for name in NAMES
    }
    assert {name: rows(store, name) for name in NAMES} == {name: ROWS[name] for name in NAMES}
    for name in NAMES:
        verify(store.dataset(f"forms/{name}"))
    asked = dict(server.requests)
    assert asked["/rates?base=EUR"]["authorization"] == "Bearer k3y"

    started = spark_child.started
    assert outcomes(copied, store, spark_child, T2, Options()) == dict.fromkeys(NAMES, "up to date")
    assert spark_child.started == started

    server.serve("/parks.geojson", collection(park(2, "Kannenfeldpark", 7.25)), etag='"2"')
    changed = outcomes(copied, store, spark_child, T2, Options())["city-parks"]
    assert changed == "published 3 records (offsets 2..4): 1 removed, 1 corrected"
    assert [(op, number, name) for _, op, _, number, name, _ in rows(store, "city-parks")[2:]] == [
        ("-R", 1, "Margarethen"),
        ("-C", 2, "Kannenfeld"),
        ("+C", 2, "Kannenfeldpark"),
    ]


@pytest.mark.long
def test_every_form_as_a_dag(database, store: Store, one_jvm, sources, read_again):
    folder = Path(os.environ["AIRFLOW_HOME"]) / "dags"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(FORMS, folder, ignore=shutil.ignore_patterns(f"{CONTAINER}*"))
    sources(folder)
    shutil.copy(FORMS.parents[2] / "dags" / "odf.py", folder)
    dags = read_again(folder).dags
    assert sorted(dags) == [f"forms.{name}" for name in NAMES]
    for dag in dags.values():
        states = [str(ti.state) for ti in dag.test().get_task_instances()]
        assert states == ["success"] * 3, dag.dag_id
    assert {name: rows(store, name) for name in NAMES} == {name: ROWS[name] for name in NAMES}
    shutil.rmtree(folder)


@pytest.fixture
def image(tmp_path: Path) -> None:
    """The image that the manifest names: busybox alone."""
    busybox = shutil.which("busybox")
    if not shutil.which("podman") or not busybox:
        pytest.skip("podman or busybox-static is not installed")
    with tarfile.open(tmp_path / "image.tar", "w") as tar:
        tar.add(busybox, "bin/busybox")
        link = tarfile.TarInfo("bin/sh")
        link.type, link.linkname = tarfile.SYMTYPE, "busybox"
        tar.addfile(link)
    done = subprocess.run([*PODMAN, "import", tmp_path / "image.tar", "odf-forms-busybox"], capture_output=True)
    trial = [*PODMAN, "run", "--rm", "--network=none", *FLAGS, "odf-forms-busybox", "/bin/sh", "-c", ":"]
    if done.returncode or (done := subprocess.run(trial, capture_output=True)).returncode:
        pytest.skip(f"podman runs no containers here: {done.stderr.decode().strip()}")


@pytest.mark.long
def test_a_container_goes_on_where_it_stopped(image, tmp_path: Path, store: Store, spark_child):
    folder = tmp_path / "manifests"
    folder.mkdir()
    shutil.copy(FORMS / f"{CONTAINER}.yaml", folder)
    options = Options(container_command=PODMAN, container_arguments=FLAGS, container_memory="", container_cpus="")
    first = outcomes(folder, store, spark_child, T1, options)
    assert first == {CONTAINER: "published 2 records (offsets 0..1)"}
    assert rows(store, CONTAINER) == ROWS[CONTAINER]
    verify(store.dataset(f"forms/{CONTAINER}"))
    assert outcomes(folder, store, spark_child, T2, options) == {CONTAINER: "up to date"}
