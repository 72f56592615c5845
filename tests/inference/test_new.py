"""``odf new``: manifests of samples, which validate and run at once."""

import gzip
import io
import re
import subprocess
import zipfile
from pathlib import Path

import pytest
from typer.testing import CliRunner

from airflow_provider_odf.cli import app
from airflow_provider_odf.errors import InvalidInput
from airflow_provider_odf.inference import manifest_text
from airflow_provider_odf.inference.contract_text import contract
from airflow_provider_odf.inference.manifest_text import infer
from airflow_provider_odf.manifest.load import load
from tests.shared_engine import shared_engine

from .samples import SAMPLES


def manifest(places, name=None, folder=None):
    return manifest_text.manifest(infer(places, name), folder or Path.cwd())


def new(folder, *contents, suffix="csv"):
    """The manifest of samples, its comments and its plain lines."""
    for number, content in enumerate(contents, 1):
        (folder / f"sample-{number}.{suffix}").write_text(content)
    paths = [str(folder / f"sample-{number}.{suffix}") for number in range(1, len(contents) + 1)]
    return manifest(paths, folder=folder)


def schema(text):
    return [line.strip().removeprefix("- ").partition("  #")[0] for line in text.splitlines() if " - " in line][1:]


@pytest.mark.long
@pytest.mark.spark
def test_every_sample_gives_a_manifest_that_runs(tmp_path):
    for name, content in SAMPLES.items():
        (tmp_path / name).write_bytes(content)
        result = CliRunner().invoke(
            app, ["new", str(tmp_path / name), "-o", str(tmp_path / f"{name}.yaml"), "--contract"]
        )
        assert result.exit_code == 0, result
    assert load([tmp_path]).problems == ()
    with shared_engine(tmp_path) as tools:
        done = subprocess.run([tools / "odf", "run", "."], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        published = dict(re.findall(r"^(\S+): published (\d+) record", done.stdout + done.stderr, re.MULTILINE))
        state = [tools / "odf", "state", "odd-names", "--format", "csv"]
        rows = subprocess.run(state, cwd=tmp_path, capture_output=True, text=True, check=True).stdout.splitlines()
    assert published == {
        **dict.fromkeys([name.partition(".")[0] for name in SAMPLES], "2"),
        "nulls": "3",
        "pairs": "3",
        "places": "1",
    }
    assert [row.split(",", 2)[2] for row in rows[1:]] == [
        "Bonn,53111,7.50,,2,2026-05-02",
        '"Köln, DE",00501,12.50,x,1,2026-05-01',
    ]


def test_types_of_text(tmp_path):
    text = new(
        tmp_path,
        "id,zip,price,lat,on,day,at,big,exp,empty,NAME\n"
        "1,00501,9.99,48.137154,true,2026-05-01,2026-05-01 10:00:00,1,1e3,,x\n"
        "2,53111,10.5,50.73743,FALSE,2026-05-02,2026-05-01T10:00:00+02:00,9223372036854775808,2,,y\n",
    )
    assert schema(text) == [
        "id BIGINT",
        "zip STRING",
        "price DECIMAL(18,2)",
        "lat DOUBLE",
        "on BOOLEAN",
        "day DATE",
        "at TIMESTAMP",
        "big STRING",
        "exp DOUBLE",
        "empty STRING",
        "name STRING",
    ]
    assert "zip STRING  # digits with leading zeros or a plus sign are text" in text
    assert "big STRING  # more digits than BIGINT holds" in text


def test_formats_of_dates(tmp_path):
    assert "dateFormat: dd/MM/yyyy" in new(tmp_path, "id,day\n1,31/12/2026\n2,01/02/2026\n")
    text = new(tmp_path, "id,a,b\n1,31.12.2026,2026-12-31\n2,01.02.2026,2026-02-01\n")
    assert schema(text)[1:] == ["a DATE", "b STRING"]
    assert "DATE in another format than the first such column: convert it in preprocess" in text
    text = new(tmp_path, "id,day\n1,01/02/2026\n")
    assert "day STRING  # dd/MM/yyyy or MM/dd/yyyy? Set the format, and the type DATE" in text


HEADER = "id,time,value\n"


@pytest.mark.parametrize(
    ("before", "after", "kind", "reason"),
    [
        ("1,2026-05-01,a\n2,2026-05-01,b\n", "1,2026-05-01,A\n2,2026-05-01,b\n", "Snapshot", "1 row of both samples"),
        ("1,2026-05-01,a\n2,2026-05-01,b\n", "1,2026-05-01,a\n", "Snapshot", "1 row of the first sample disappeared"),
        ("1,2026-05-01,a\n", "1,2026-05-01,a\n2,2026-05-02,b\n", "Ledger", "rows were only added, and time has"),
        ("1,2026-05-01,a\n", "2,2026-05-02,b\n", "Ledger", "the second sample has only new keys"),
        ("1,x,a\n", "1,x,a\n2,y,b\n", "Snapshot", "nothing shows that rows are events"),
        ("1,x,a\n1,x,a\n", "1,x,a\n1,x,a\n", "Append", "the second sample repeats 1 row of the first one"),
    ],
)  # fmt: skip
def test_two_samples_show_how_a_source_changes(tmp_path, before, after, kind, reason):
    text = new(tmp_path, HEADER + before, HEADER + after)
    assert f"        kind: {kind}\n" in text
    assert reason in text.replace("\n        # ", " ")
    assert 'path: "sample-*.csv"' in text
    assert ("eventTimeColumn: time  # the time at which each row happened" in text) == (kind == "Ledger")
    (tmp_path / "m.yaml").write_text(text)
    assert load([tmp_path / "m.yaml"]).problems == ()


def test_a_key_is_unique_in_both_samples(tmp_path):
    text = new(tmp_path, "a,b,c\n1,1,x\n2,1,y\n", "a,b,c\n1,1,x\n1,2,z\n")
    assert "primaryKey: [c]" in text
    text = new(tmp_path, "day,shop,cents\n2026-05-01,1,5\n2026-05-01,2,5\n2026-05-02,1,5\n")
    assert "primaryKey: [day, shop]" in text


def zipped(**files):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def test_compressed_samples(tmp_path):
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b"id,value\n1,a\n"))
    (tmp_path / "one.zip").write_bytes(zipped(**{"in.csv": b"id,value\n1,a\n"}))
    (tmp_path / "two.zip").write_bytes(zipped(**{"readme.txt": b"hi", "data/in.csv": b"id,value\n1,a\n"}))
    steps = [
        ("a.csv.gz", "      prepare:\n        - kind: Decompress\n          format: Gzip\n      read:\n"),
        ("one.zip", "        - kind: Decompress\n          format: Zip\n      read:\n"),
        ("two.zip", "          format: Zip\n          subPath: data/in.csv  # the largest file in it\n"),
    ]
    for name, step in steps:
        text = manifest([str(tmp_path / name)], folder=tmp_path)
        assert step in text
        assert schema(text)[-2:] == ["id BIGINT", "value STRING"]


def test_a_compressed_sample_that_is_too_large(tmp_path, monkeypatch):
    monkeypatch.setattr("airflow_provider_odf.inference.sample.MAX_BYTES", 1 << 20)
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b"a,b\n" * 300_000))
    with pytest.raises(InvalidInput, match="a sample has at most 1 MiB: use the first rows of the file"):
        infer([str(tmp_path / "a.csv.gz")])


def test_three_samples(tmp_path):
    text = new(tmp_path, "id,v\n1,a\n2,b\n", "id,v\n1,A\n2,b\n", "id,v\n1,AA\n2,b\n3,c\n")
    assert 'path: "sample-*.csv"' in text
    assert "1 row of the first and the last sample changed under the same key" in text.replace("\n        # ", " ")
    assert "id is unique and never null in all samples" in text
    assert text.startswith("# Inferred by `odf new` from 2 rows of ")
    assert ", 3 rows of " in text


def test_names_and_numbers_that_need_a_look(tmp_path):
    text = new(tmp_path, "Full Name;Amount;Id\nAnna;1.234,56;1\nBert;7;2\n")
    assert "- full_name STRING  # 'Full Name' in the file" in text
    assert "- amount STRING  # numbers with a decimal comma: convert them to DECIMAL in preprocess" in text
    assert "- id BIGINT\n" in text


def test_features_without_geometry(tmp_path):
    features = (
        '{"type": "FeatureCollection", "features": [{"type": "Feature", "geometry": null, "properties": {"id": 1}}]}'
    )
    assert schema(new(tmp_path, features, suffix="geojson")) == ["id BIGINT"]


def test_a_contract_of_guesses(tmp_path):
    rows = "".join(
        f"{n},{('Rome', chr(34) + 'Bern, CH' + chr(34))[n % 2]},{n / 4:.2f},{'' if n == 5 else n},text {n}\n"
        for n in range(8)
    )
    (tmp_path / "orders.csv").write_text(f"id,city,price,count,note\n{rows}")
    assert (
        contract(infer([str(tmp_path / "orders.csv")], "acme/my-orders"))
        == """\
# Guessed by `odf new --contract` from 8 rows: new data may well differ. Check each clause, remove what is
# too strict, and add what you know.
dataContractSpecification: 1.2.1
id: "urn:datacontract:acme/my-orders"
info:
  title: acme/my-orders
  version: 0.1.0
models:
  my_orders:
    type: table
    fields:
      id:
        type: long
        required: true  # never null in the sample
        unique: true
        primaryKey: true  # the key of the manifest
      city:
        type: string
        required: true  # never null in the sample
        enum: ["Bern, CH", Rome]  # all values of the sample
      price:
        type: decimal
        required: true  # never null in the sample
        minimum: 0.00  # the least of the sample
        maximum: 1.75
      count:
        type: long
        minimum: 0  # the least of the sample
        maximum: 7
      note:
        type: string
        required: true  # never null in the sample
"""
    )


def test_a_contract_is_written_beside_its_manifest(tmp_path):
    (tmp_path / "a.csv").write_text("id,v\n1,a\n")
    run = CliRunner().invoke
    assert run(app, ["new", str(tmp_path / "a.csv"), "-o", str(tmp_path / "m.yaml"), "--contract"]).exit_code == 0
    assert load([tmp_path / "m.yaml"]).problems == ()
    assert (tmp_path / "a.datacontract.yaml").read_text().startswith("# Guessed by `odf new --contract` from 1 row:")
    (tmp_path / "m.yaml").unlink()
    again = run(app, ["new", str(tmp_path / "a.csv"), "-o", str(tmp_path / "m.yaml"), "--contract"])
    assert "a.datacontract.yaml: the file exists" in str(again.exception)
    assert not (tmp_path / "m.yaml").exists()
    assert "name the manifest with --output" in str(run(app, ["new", str(tmp_path / "a.csv"), "--contract"]).exception)


def test_samples_that_are_none(tmp_path):
    files = {
        "empty.csv": b"",
        "header.csv": b"a,b\n",
        "ragged.csv": b"Report of May\na,b\n1,2\n",
        "binary.bin": b"\x00\x01",
        "table.xlsx": zipped(**{"xl/workbook.xml": b"<workbook/>"}),
        "cut.csv.gz": gzip.compress(b"a,b\n1,2\n")[:-4],
        "cut.zip": zipped(a=b"a,b\n1,2\n")[:-4],
        "empty.zip": zipped(a=b""),
        "a.csv.bz2": b"BZh9",
        "broken.json": b'{"a": 1\n',
        "numbers.json": b"[1, 2]",
        "bad.parquet": b"PAR1 no",
        "good.csv": b"a,b\n1,2\n",
        "good.json": b'[{"a": 1}]',
        "other.csv": b"x,y\n1,2\n",
    }
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    for names, message in (
        (["gone.csv"], "gone.csv: No such file or directory: check the path of the sample"),
        (["empty.csv"], "the sample is empty"),
        (["header.csv"], "the sample has no rows: use a file with typical rows"),
        (["ragged.csv"], "record 2 has 2 values, but the first one has 1: the file is no CSV, or has lines above"),
        (["binary.bin"], "neither text nor Parquet: `odf new` reads CSV, JSON, GeoJSON and Parquet"),
        (["table.xlsx"], "the file is a workbook of Excel, which no read step reads: save its sheet as CSV"),
        (["cut.csv.gz"], "the file cannot be extracted: Compressed file ended before the end-of-stream marker"),
        (["cut.zip"], "the file cannot be extracted: File is not a zip file"),
        (["empty.zip"], "the zip file has no file with content"),
        (["a.csv.bz2"], "the file is bzip2: extract it, and use the file in it as the sample"),
        (["broken.json"], "broken.json:1: neither a JSON document nor JSON lines"),
        (["numbers.json"], "the rows must be JSON objects"),
        (["bad.parquet"], "not a readable Parquet file"),
        (["good.csv", "good.json"], "use samples of one kind"),
        (["good.csv", "other.csv"], "have no column in common: use samples of one source"),
    ):
        with pytest.raises(InvalidInput) as error:
            manifest([str(tmp_path / name) for name in names])
        assert message in str(error.value)
    with pytest.raises(InvalidInput, match="choose another name with --name"):
        manifest([str(tmp_path / "good.csv")], "no name!")


def test_a_long_value(tmp_path):
    (tmp_path / "long.csv").write_text(f'id,shape\n1,"{"x" * 200_000}"\n')
    assert "- shape STRING" in manifest([str(tmp_path / "long.csv")])


def test_a_url_and_a_file_that_exists(tmp_path, server):
    server.serve("/a.csv", b"id,x\n1,a\n")
    assert f'url: "{server.url}/a.csv"' in manifest([f"{server.url}/a.csv"])
    (tmp_path / "a.csv").write_text("id\n1\n")
    result = CliRunner().invoke(app, ["new", str(tmp_path / "a.csv"), "-o", str(tmp_path / "a.csv")])
    assert isinstance(result.exception, InvalidInput)
    assert "the file exists: choose another name, or remove it first" in str(result.exception)


def test_samples_in_a_bucket(tmp_path, bucket):
    for day in (1, 2):
        bucket.put(f"in/2024-05-0{day}.csv", f"id,at\n{day},2024-05-0{day}\n".encode())
    places = [f"{bucket.uri}/in/2024-05-0{day}.csv" for day in (1, 2)]
    assert f'url: "{places[0]}"' in manifest(places[:1], folder=tmp_path)
    text = manifest(places, folder=tmp_path)
    assert "kind: FilesGlob  # each object is read once, in the order of names" in text
    assert f'path: "{bucket.uri}/in/2024-05-0*.csv"' in text
    with pytest.raises(InvalidInput, match=r"/nope\.csv: no such object or bucket: check the URI of the sample$"):
        manifest([f"{bucket.uri}/nope.csv"], folder=tmp_path)
