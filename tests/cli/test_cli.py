"""The command line tool as a user starts it: output, exit codes, and what it does not import."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

import pytest
from typer.testing import CliRunner

from airflow_provider_odf import __version__
from airflow_provider_odf.cli import app, main
from tests.manifests import derived, pushed
from tests.shared_engine import shared_engine

MANIFEST = """\
kind: DatasetSnapshot
version: 1
content:
  name: cities
  kind: Root
  metadata:
    - kind: SetPollingSource
      fetch:
        kind: Url
        url: file://FOLDER/cities.csv
        eventTime: {kind: FromSystemTime}
      read:
        kind: Csv
        header: true
        schema: ["city STRING", "founded DATE", "area DECIMAL(8,2)", "population BIGINT"]
      merge:
        kind: Snapshot
        primaryKey: [city]
"""

BLOCKED = """
import sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {blocked!r}:
            raise ImportError("blocked: " + name)
sys.meta_path.insert(0, Blocked())
from airflow_provider_odf.cli import main
sys.argv[0] = "odf"
main()
"""


def odf(*arguments: object, code: int = 0, without: tuple[str, ...] = (), cwd: Path) -> str:
    """What the tool prints, in a process of its own where some packages cannot be imported."""
    command = [*map(str, arguments)]
    if without or command[0] == "run":
        script = BLOCKED.format(blocked={"airflow", *without})
        started = [sys.executable, "-c", script] if without else [os.environ["ODF_OF_TEST"]]
        done = subprocess.run([*started, *command], capture_output=True, text=True, check=False, cwd=cwd)
        returned, out, err = done.returncode, done.stdout, done.stderr
    else:
        returned, out, err = in_this_process(command, cwd)
    assert returned == code, f"exit {returned}\n{out}\n{err}"
    return out if code == 0 else out + err


def in_this_process(command: list[str], cwd: Path) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of a command, without the half second that Python starts in."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8") for _ in range(2))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(cwd)
        for name, value in {"argv": ["odf", *command], "stdout": out, "stderr": err}.items():
            patch.setattr(sys, name, value)
        with pytest.raises(SystemExit) as ended:
            main()
    for stream in (out, err):
        stream.flush()
    printed, told = (stream.buffer.getvalue().decode() for stream in (out, err))
    return int(ended.value.code or 0), printed, told


@pytest.fixture(scope="module", autouse=True)
def _one_engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Runs share one Spark, but for those without pyspark, which must not ask for any."""
    with (
        shared_engine(tmp_path_factory.mktemp("engine"), without_airflow=True) as programs,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setenv("ODF_OF_TEST", str(programs / "odf"))
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the dataset was run twice."""
    folder = tmp_path_factory.mktemp("cli")
    (folder / "cities.yaml").write_text(MANIFEST.replace("FOLDER", str(folder)))
    (folder / "cities.csv").write_text("city,founded,area,population\nBasel,0374-01-01,23.85,\nZürich,,87.88,447082\n")
    out = odf("run", "cities.yaml", "--system-time", "2024-05-02T08:00:00Z", cwd=folder)
    assert out == "cities: published 2 records (offsets 0..1)\n"
    (folder / "cities.csv").write_text("city,founded,area,population\nZürich,,87.88,448664\n")
    out = odf("run", "cities.yaml", "--system-time", "2024-05-03T08:00:00Z", cwd=folder)
    assert out == "cities: published 3 records (offsets 2..4): 1 removed, 1 corrected\n"
    return folder


T1, T2 = "2024-05-02T08:00:00Z", "2024-05-03T08:00:00Z"
HISTORY = [
    (0, "+A", T1, T1, "Basel", "0374-01-01", "23.85", None),
    (1, "+A", T1, T1, "Zürich", None, "87.88", 447082),
    (2, "-R", T2, T1, "Basel", "0374-01-01", "23.85", None),
    (3, "-C", T2, T1, "Zürich", None, "87.88", 447082),
    (4, "+C", T2, T2, "Zürich", None, "87.88", 448664),
]
COLUMNS = ["offset", "op", "system_time", "event_time", "city", "founded", "area", "population"]

pytestmark = [pytest.mark.spark, pytest.mark.slow]


def test_tail_is_the_history(folder: Path) -> None:
    rows = json.loads(odf("tail", "cities", "-n", 100, "--format", "json", cwd=folder))
    assert rows == [dict(zip(COLUMNS, row, strict=True)) for row in HISTORY]
    assert [list(row) for row in rows] == [COLUMNS] * 5


def test_tail_gives_the_newest_rows(folder: Path) -> None:
    assert odf("tail", "cities", "-n", 2, "--format", "csv", cwd=folder) == dedent(
        f"""\
        offset,op,system_time,event_time,city,founded,area,population
        3,-C,{T2},{T1},Zürich,,87.88,447082
        4,+C,{T2},{T2},Zürich,,87.88,448664
        """
    )


def test_state_is_the_current_rows(folder: Path) -> None:
    assert json.loads(odf("state", "cities", "--format", "json", cwd=folder)) == [
        {
            "system_time": T2,
            "event_time": T2,
            "city": "Zürich",
            "founded": None,
            "area": "87.88",
            "population": 448664,
        }
    ]
    assert odf("state", "cities", cwd=folder).splitlines()[0].split() == [
        *("system_time", "event_time", "city", "founded", "area", "population"),
    ]


def test_log_is_the_chain(folder: Path) -> None:
    log = json.loads(odf("log", "cities", "--format", "json", cwd=folder))
    assert [(b["sequenceNumber"], b["systemTime"], b["event"]["kind"]) for b in log] == [
        (0, T1, "Seed"),
        (1, T1, "SetPollingSource"),
        (2, T1, "SetDataSchema"),
        (3, T1, "AddData"),
        (4, T2, "AddData"),
    ]
    assert all(set(b) == {"hash", "sequenceNumber", "systemTime", "published", "isRecorded", "event"} for b in log)
    # With --system-time, that is the time of the publication too. Metadata moves the head at once.
    assert [(b["published"], b["isRecorded"]) for b in log] == [
        (T1, False),
        (T1, False),
        (T1, True),
        (T1, True),
        (T2, True),
    ]
    assert log[1]["event"]["merge"] == {"kind": "Snapshot", "primaryKey": ["city"]}
    assert log[4]["event"]["newData"]["offsetInterval"] == {"start": 2, "end": 4}
    assert log[4]["event"]["prevOffset"] == 1
    assert log[4]["event"]["newWatermark"] == T2


def test_the_dataset_as_of_a_time_or_block(folder: Path) -> None:
    log = json.loads(odf("log", "cities", "--format", "json", cwd=folder))
    first = [("Basel", None), ("Zürich", 447082)]
    for as_of in (T1, "2024-05-03T07:59:59+00:00", log[3]["hash"], log[3]["hash"][:13]):
        rows = json.loads(odf("state", "cities", "--as-of", as_of, "--format", "json", cwd=folder))
        assert [(row["city"], row["population"]) for row in rows] == first
        rows = json.loads(odf("tail", "cities", "-n", 1, "--as-of", as_of, "--format", "json", cwd=folder))
        assert [row["offset"] for row in rows] == [1]
        shown = json.loads(odf("log", "cities", "--as-of", as_of, "--format", "json", cwd=folder))
        assert shown == log[:4]
    assert odf("state", "cities", "--as-of", T2, cwd=folder) == odf("state", "cities", cwd=folder)
    shown = json.loads(odf("log", "cities", "--as-of", log[0]["hash"], "--format", "json", cwd=folder))
    assert shown == log[:1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ("--as-of", "2024-05-01T00:00:00Z"),
            f"dataset cities has no history as of 2024-05-01T00:00:00Z: its first block was published at {T1}",
        ),
        (("--as-of", "f1620beef"), "dataset cities has no block f1620beef: `odf log cities --store odf-store` lists"),
        (("--as-of", "f1620"), "dataset cities has 5 blocks whose hash starts with f1620, such as f1620"),
        (("--as-of", "monday"), "as of: 'monday' is no date (2026-05-01), no time with a zone"),
        (("--as-of", T1, "--ref", "head"), "--ref and --as-of both name a block: use one of them"),
    ],
)
def test_a_block_that_cannot_be_shown(folder: Path, options: tuple[str, ...], message: str) -> None:
    for command in ("state", "tail", "log"):
        assert odf(command, "cities", *options, code=2, cwd=folder).startswith(message)


def test_rows_before_the_first_data(folder: Path) -> None:
    log = json.loads(odf("log", "cities", "--format", "json", cwd=folder))
    for command in ("state", "tail"):
        assert odf(command, "cities", "--as-of", log[1]["hash"][:14], code=2, cwd=folder) == (
            f"dataset cities has no data yet as of {log[1]['hash'][:14]}, block {log[1]['hash']}: "
            f"its first data are in block {log[3]['hash']} of {T1}\n"
        )


def test_verify_reads_everything(folder: Path) -> None:
    assert odf("verify", "cities", cwd=folder) == "cities: ok: 5 blocks, 2 slices, 5 records\n"


def test_verify_new_says_what_was_verified_before(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder / "odf-store", tmp_path / "odf-store")
    code, out, err = in_this_process(["verify", "cities", "--new"], tmp_path)
    assert (code, out) == (0, "cities: ok: 5 blocks, 2 slices, 5 records\n")
    assert err == "cities: note: nothing was verified here before: everything was verified\n"
    code, out, err = in_this_process(["verify", "cities", "--new", "--format", "json"], tmp_path)
    (row,) = json.loads(out)
    time, head = row["verifiedBefore"]["time"], row["verifiedBefore"]["head"]
    before = {"head": head, "time": time, "completeTime": time}
    assert row == {"dataset": "cities", "blocks": 0, "slices": 0, "records": 0, "verifiedBefore": before}
    assert err == f"cities: note: 5 blocks up to {head[:13]} were verified at {time}, and are not read again\n"


def test_quick_verification_excludes_a_replay(folder: Path) -> None:
    assert odf("verify", "cities", "--quick", cwd=folder) == "cities: ok: 5 blocks, 2 slices, 5 records\n"
    assert odf("verify", "cities", "--quick", "--replay", code=2, cwd=folder) == (
        "--quick reads no records, and --replay compares them: use one of them\n"
    )


def test_hash_prints_what_the_chain_says(folder: Path) -> None:
    log = json.loads(odf("log", "cities", "--format", "json", cwd=folder))
    data = log[4]["event"]["newData"]
    file = f"odf-store/cities/data/{data['physicalHash']}"
    assert odf("hash", file, cwd=folder) == f"{data['physicalHash']} {data['logicalHash']} {file}\n"


def test_a_block_survives_its_yaml(folder: Path, tmp_path: Path) -> None:
    for block in sorted((folder / "odf-store/cities/blocks").iterdir()):
        shown = tmp_path / "block.yaml"
        shown.write_text(odf("block", "show", block, cwd=folder))
        assert odf("block", "encode", shown, "-o", tmp_path / "again", cwd=folder) == f"{block.name}\n"
        assert (tmp_path / "again").read_bytes() == block.read_bytes()


def test_another_file_is_no_block(folder: Path) -> None:
    assert odf("block", "show", "cities.yaml", code=1, cwd=folder) == "cities.yaml: not a metadata block\n"


def test_a_corrupted_slice_is_named(folder: Path, tmp_path: Path) -> None:
    import shutil

    store = tmp_path / "store"
    shutil.copytree(folder / "odf-store", store)
    file = sorted((store / "cities/data").iterdir())[0]
    content = file.read_bytes()
    data = bytearray(content)
    data[len(data) // 2] ^= 1
    file.write_bytes(data)
    assert file.name in odf("verify", "cities", "--store", store, code=1, cwd=folder)
    shutil.copytree(folder / "odf-store/cities", store / "towns")
    ok, damaged = odf("verify", "--store", store, code=1, cwd=folder).splitlines()
    assert ok == "towns: ok: 5 blocks, 2 slices, 5 records"
    assert damaged.startswith("cities: ")
    file.write_bytes(content)
    assert odf("verify", "--store", store, cwd=folder) == "cities: ok: 5 blocks, 2 slices, 5 records\n" + ok + "\n"
    shutil.rmtree(store / "cities")
    ok, gone = odf("verify", "--store", store, code=1, cwd=folder).splitlines()
    assert ok.startswith("towns: ok")
    assert "cities: the dataset did:odf:" in gone
    shutil.rmtree(store)
    store.mkdir()
    assert odf("verify", "--store", store, cwd=folder) == ""  # "no datasets yet" goes to standard error


def test_nothing_new_says_so_and_starts_no_jvm(folder: Path) -> None:
    # An engine would say "starting Spark", and fail without pyspark.
    time = "2024-05-04T08:00:00Z"
    out = odf("run", "cities.yaml", "-v", "--system-time", time, without=("airflow", "pyspark"), cwd=folder)
    assert out == "cities: up to date\n"


def test_an_unknown_dataset_is_invalid_input(folder: Path) -> None:
    told = odf("tail", "citys", code=2, cwd=folder)
    assert told == "no dataset citys in odf-store (did you mean `cities`?)\n"
    assert odf("forget", "citys", code=2, cwd=folder) == told
    verified = odf("verify", "citys", "cities", "a b", code=2, cwd=folder)
    assert verified.splitlines()[:2] == ["cities: ok: 5 blocks, 2 slices, 5 records", told.strip()]


def test_a_missing_store_is_named(tmp_path: Path) -> None:
    for command in (("list",), ("log", "x"), ("tail", "x"), ("state", "x"), ("show", "x"), ("verify", "x")):
        told = odf(*command, "--store", "strore", code=2, cwd=tmp_path)
        assert told == "no such folder: strore (name the store with --store or ODF_STORE)\n"
    assert "no such folder: strore" in odf("push", "x", "a.csv", "--store", "strore", code=2, cwd=tmp_path)
    assert not (tmp_path / "strore").exists()


def test_invalid_manifests_are_all_told_and_nothing_runs(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(MANIFEST.replace("kind: Snapshot", "kind: Snapshoot"))
    (tmp_path / "b.yaml").write_text(MANIFEST.replace("name: cities", "name: ci_ties").replace("header:", "headers:"))
    told = odf("run", "a.yaml", "b.yaml", code=2, cwd=tmp_path)
    lines = [line for line in told.splitlines() if ".yaml:" in line]
    assert [line.split("/")[-1].split(": ")[0] for line in lines] == ["a.yaml:17:15", "b.yaml:4:9", "b.yaml:14:9"]
    assert not (tmp_path / "odf-store").exists()


def test_version(tmp_path: Path) -> None:
    assert odf("--version", cwd=tmp_path) == f"odf {__version__}\n"


def test_a_folder_without_manifests_is_not_valid(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert odf("validate", "empty", code=1, cwd=tmp_path) == "no manifests in empty\n"
    assert odf("validate", "empty", "--format", "json", code=1, cwd=tmp_path) == "[]\nno manifests in empty\n"
    assert odf("run", "empty", code=2, cwd=tmp_path) == "no manifests in empty\n"
    assert odf("plan", "empty", code=2, cwd=tmp_path) == "no manifests in empty\n"


def test_a_contract_of_no_dataset_is_warned_of(tmp_path: Path) -> None:
    (tmp_path / "good.yaml").write_text(MANIFEST)
    contract = tmp_path / "citys.datacontract.yaml"
    contract.touch()
    command = [sys.executable, "-c", "from airflow_provider_odf.cli import main; main()", "validate", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr == (
        f"{contract}: warning: no dataset citys in this folder: the contract is not used "
        "(did you mean `cities.datacontract.yaml`?)\n"
    )


def test_validate_reports(tmp_path: Path) -> None:
    (tmp_path / "good.yaml").write_text(MANIFEST)
    assert odf("validate", "good.yaml", cwd=tmp_path) == "1 manifest is valid\n"
    (tmp_path / "other.yaml").write_text(MANIFEST.replace("name: cities", "name: others"))
    assert odf("validate", "good.yaml", "other.yaml", cwd=tmp_path) == "2 manifests are valid\n"
    (tmp_path / "other.yaml").unlink()
    (tmp_path / "bad.yaml").write_text(MANIFEST.replace("name: cities", "name: towns").replace("header:", "headers:"))
    (entry,) = json.loads(odf("validate", tmp_path, "--format", "json", code=1, cwd=tmp_path))
    assert (entry["severity"], Path(entry["file"]).name, entry["line"], entry["column"]) == ("error", "bad.yaml", 14, 9)
    assert "headers" in entry["message"]
    assert "header" in entry["fix"]


def test_warnings_of_a_contract_do_not_make_its_manifest_invalid(tmp_path: Path) -> None:
    (tmp_path / "cities.yaml").write_text(MANIFEST)
    contract = tmp_path / "cities.datacontract.yaml"
    contract.write_text(CONTRACT.replace("required: true", "requird: true, enm: [a]"))
    command = [sys.executable, "-c", "from airflow_provider_odf.cli import main; main()", "validate", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "1 manifest is valid\n"
    assert done.stderr == (
        f"{contract}:7:28: warning: models.cities.fields.city: unknown key 'requird' (did you mean 'required'?)\n"
        f"{contract}:7:43: warning: models.cities.fields.city: unknown key 'enm' (did you mean 'enum'?)\n"
    )
    entries = json.loads(odf("validate", "cities.yaml", "--format", "json", cwd=tmp_path))
    assert [(entry["severity"], entry["line"], entry["fix"]) for entry in entries] == [
        ("warning", 7, "did you mean 'required'?"),
        ("warning", 7, "did you mean 'enum'?"),
    ]


def test_a_run_prints_the_warnings_of_a_contract(tmp_path: Path) -> None:
    (tmp_path / "cities.yaml").write_text(MANIFEST.replace("FOLDER", str(tmp_path)))
    contract = tmp_path / "cities.datacontract.yaml"
    contract.write_text(CONTRACT.replace("required: true", "requird: true"))
    command = [sys.executable, "-c", "from airflow_provider_odf.cli import main; main()", "run", "cities.yaml"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 1  # the file of the source is missing
    assert done.stderr.splitlines()[0] == (
        "cities.datacontract.yaml:7:28: warning: models.cities.fields.city: unknown key 'requird' "
        "(did you mean 'required'?)"
    )


def test_a_broken_contract_is_found_by_validate_and_stops_a_run(tmp_path: Path) -> None:
    (tmp_path / "cities.yaml").write_text(MANIFEST.replace("FOLDER", str(tmp_path)))
    (tmp_path / "cities.csv").write_text("city,founded,area,population\n")
    (tmp_path / "cities.datacontract.yaml").write_text("dataContractSpecification: 1.2.1\nid: [\n")
    assert "cities.datacontract.yaml:" in odf("validate", "cities.yaml", code=1, cwd=tmp_path)
    assert "cities.datacontract.yaml:" in odf("run", "cities.yaml", code=2, cwd=tmp_path)


def test_one_failure_does_not_stop_the_others(tmp_path: Path) -> None:
    (tmp_path / "gone.yaml").write_text(
        MANIFEST.replace("cities.csv", "gone.csv").replace("name: cities", "name: gone")
    )
    (tmp_path / "push.yaml").write_text(pushed("pushed", "{kind: NdJson}"))
    (tmp_path / "sum.yaml").write_text(
        derived("sums", "{datasetRef: pushed}", "{kind: Sql, engine: spark, query: select 1 as event_time}")
    )
    told = odf("run", "gone.yaml", "push.yaml", "sum.yaml", code=1, cwd=tmp_path)
    assert "pushed: no polling source\n" in told
    assert "gone: " in told
    assert "gone.csv" in told
    assert "sums: up to date: input pushed has no data yet\n" in told


@pytest.mark.parametrize("command", ["log", "tail", "state", "verify"])
def test_looking_at_a_dataset_imports_little(folder: Path, command: str) -> None:
    odf(command, "cities", without=("airflow", "pyspark", "pandas", "sqlglot", "openlineage", "httpx"), cwd=folder)


def test_a_file_that_is_no_parquet_has_no_hash(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("a\n1\n")
    assert odf("hash", "x.csv", code=2, cwd=tmp_path).startswith("x.csv: not a readable Parquet file: ")


@pytest.mark.parametrize("arguments", [("--version",), ("--help",), ("run", "--help"), ("validate", "."), ("schema",)])
def test_light_commands_import_nothing_heavy(arguments: tuple[str, ...], tmp_path: Path) -> None:
    heavy = ("airflow", "pyspark", "pyarrow", "pandas", "sqlglot", "openlineage", "httpx", "cryptography")
    (tmp_path / "good.yaml").write_text(MANIFEST)
    assert odf(*arguments, without=heavy, cwd=tmp_path)


CONTRACT = """\
dataContractSpecification: 1.2.1
id: urn:cities
info: {title: Cities, version: 1.0.0}
models:
  cities:
    fields:
      city: {type: string, required: true}
      population: {type: long, minimum: 0}
    quality:
      - {type: library, metric: rowCount, mustBeLessThan: 2, severity: warning}
"""


def test_rejected_data_are_listed_and_explained(tmp_path: Path) -> None:
    (tmp_path / "cities.yaml").write_text(MANIFEST.replace("FOLDER", str(tmp_path)))
    (tmp_path / "cities.datacontract.yaml").write_text(CONTRACT)
    (tmp_path / "cities.csv").write_text("city,founded,area,population\nBasel,,23.85,1\nOz,,1,-5\n")
    assert odf("run", "cities.yaml", "--system-time", T1, code=1, cwd=tmp_path).endswith(
        "cities: contract urn:cities rejected 2 records of cities: population: >= 0: 1 row: -5 at offset 1. "
        "The dataset is unchanged. To inspect the records: odf rejected show cities --store odf-store\n"
    )
    (listed,) = json.loads(odf("rejected", "list", "cities", "--format", "json", cwd=tmp_path))
    block_hash = listed.pop("hash")
    assert listed == {
        "ref": listed["ref"],
        "systemTime": T1,
        "records": 2,
        "contract": "urn:cities",
        "failed": 1,
        "reason": "contract",
        "superseded": False,
        "decidedBy": None,
        "why": None,
        "decision": None,
    }
    report = json.loads(odf("rejected", "show", "cities", block_hash, "--format", "json", cwd=tmp_path))
    assert (report["ref"], report["hash"], report["testedRows"]) == (listed["ref"], block_hash, 2)
    assert [(c["path"], c["outcome"]) for c in report["checks"] if c["outcome"] != "pass"] == [
        ("/models/cities/fields/population/minimum", "fail"),
        ("/models/cities/quality/0", "fail"),
    ]
    shown = odf("rejected", "show", "cities", cwd=tmp_path).splitlines()
    assert shown[0] == f"{listed['ref']}: 2 records rejected by contract urn:cities"
    (failed,) = (line.split() for line in shown if line.startswith("fail "))
    assert failed[:6] == ["fail", "population:", ">=", "0", ">=", "0"]
    assert failed[6:9] == ["-5", "2", "1"]
    assert odf("rejected", "show", "cities", "rejected-x", code=2, cwd=tmp_path) == (
        f"dataset cities has no rejected candidate rejected-x; there are: {listed['ref']}\n"
    )
    ref = listed["ref"]
    assert odf("tail", "cities", "--ref", ref, "-n", "1", "--format", "csv", cwd=tmp_path).splitlines()[1:] == [
        f"1,+A,{T1},{T1},Oz,,1.00,-5"
    ]
    assert len(odf("state", "cities", "--ref", block_hash, "--format", "csv", cwd=tmp_path).splitlines()) == 3
    assert json.loads(odf("log", "cities", "--ref", ref, "--format", "json", cwd=tmp_path))[-1]["hash"] == block_hash
    assert odf("tail", "cities", "--ref", "x", code=2, cwd=tmp_path) == (
        f"dataset cities has no ref 'x'; its refs are: head, {ref}\n"
    )
    assert odf("rejected", "show", "cities", "--rows", "--format", "csv", cwd=tmp_path).splitlines() == [
        "offset,op,system_time,event_time,city,founded,area,population,failed clauses",
        f"1,+A,{T1},{T1},Oz,,1.00,-5,population: >= 0",
    ]
    # It stays red until somebody decides, without Spark.
    again = odf("run", "cities.yaml", without=("airflow", "pyspark"), code=1, cwd=tmp_path)
    assert again.endswith(
        "cities: the newest input of cities is still rejected: population: >= 0; "
        "to inspect it: odf rejected show cities --store odf-store\n"
    )
    assert odf("rejected", "discard", "cities", cwd=tmp_path) == f"cities: discarded 2 records of {ref}\n"
    assert odf("run", "cities.yaml", without=("airflow", "pyspark"), cwd=tmp_path) == (
        f"cities: up to date: the newest input was discarded ({ref})\n"
    )
    assert odf("rejected", "publish", "cities", ref, cwd=tmp_path) == f"cities: published 2 records of {ref}\n"
    assert odf("rejected", "list", "cities", "--format", "json", cwd=tmp_path) == "[]\n"
    assert odf("rejected", "list", "cities", cwd=tmp_path) == ""  # "no rejected candidates" goes to standard error
    assert len(odf("state", "cities", "--format", "csv", cwd=tmp_path).splitlines()) == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("log", "x", "--format", "xml"), "Invalid value for '--format': 'xml' is not one of 'table', 'json'."),
        (("rejected", "show", "x", "-n", "0"), "Invalid value for '-n': must be greater than or equal to 1"),
    ],
)
def test_values_of_options_are_refused_in_plain_words(arguments: tuple[str, ...], message: str) -> None:
    result = CliRunner().invoke(app, arguments)
    assert (result.exit_code, message in result.output) == (2, True)
