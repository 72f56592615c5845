"""Shapefiles on their way to the engine."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest
import shapefile as pyshp

from airflow_provider_odf.chain.record_rows import tail_rows
from airflow_provider_odf.cycle.merge import merge
from airflow_provider_odf.cycle.messages import Input, InputFile, silent
from airflow_provider_odf.cycle.read import engine_inputs, read
from airflow_provider_odf.errors import InvalidInput, SourceError
from airflow_provider_odf.protocol import Column, ReadStep
from airflow_provider_odf.source.options import Options
from tests.manifests import polled

from .conftest import cycle_of

SHAPEFILE = ReadStep("EsriShapefile")
COLUMNS = (Column("geometry", "STRING"), Column("id", "BIGINT"), Column("name", "STRING"))
MAIN = '{"coordinates":[1.0,49.25],"type":"Point"}'


def zipped(path: Path, *names: str, extra: str | None = None) -> Path:
    """A zip with a shapefile of numbered points."""
    files = {suffix: io.BytesIO() for suffix in ("shp", "shx", "dbf")}
    with pyshp.Writer(**files, shapeType=pyshp.POINT) as writer:
        writer.field("id", "N", 9)
        writer.field("name", "C", 20)
        if extra:
            writer.field(extra, "L")
        for number, name in enumerate(names, 1):
            writer.point(float(number), 49.25)
            writer.record(number, name, *([True] if extra else []))
    with zipfile.ZipFile(path, "w") as archive:
        for suffix, file in files.items():
            archive.writestr(f"stations.{suffix}", file.getvalue())
    return path


def fetched(*paths: Path) -> InputFile:
    return InputFile(tuple(map(str, paths)), "2024-01-01T00:00:00Z", "stations.zip")


def test_other_inputs_stay_as_they_are(tmp_path: Path) -> None:
    step, files = ReadStep("NdGeoJson"), (fetched(tmp_path / "a.json"),)
    result = engine_inputs(step, files, tmp_path, silent, Options())
    assert (result.read, result.files, result.notices) == (step, files, ())


def test_the_first_shapefile_says_what_the_columns_are(tmp_path: Path) -> None:
    one, two = zipped(tmp_path / "1.zip", "Main"), zipped(tmp_path / "2.zip", "Burrard", extra="open")
    result = engine_inputs(SHAPEFILE, (fetched(one), fetched(two, one)), tmp_path / "work", silent, Options())
    assert result.read == ReadStep("EsriShapefile", COLUMNS)
    assert [len(file.paths) for file in result.files] == [1, 2]
    assert Path(result.files[1].paths[0]).read_text() == (
        '{"type":"Feature","properties":{"id":1,"name":"Burrard","open":true},'
        '"geometry":{"type":"Point","coordinates":[1.0,49.25]}}\n'
    )
    assert result.notices == ()


def test_columns_of_a_schema(tmp_path: Path) -> None:
    file = fetched(zipped(tmp_path / "1.zip", "Main"))
    declared = (Column("NAME", "STRING", False),)
    result = engine_inputs(ReadStep("EsriShapefile", declared), (file,), tmp_path / "a", silent, Options())
    assert result.read.columns == declared
    wrong = ReadStep("EsriShapefile", (Column("name", "STRING"), Column("zip", "STRING")))
    with pytest.raises(
        InvalidInput, match=r"stations\.zip: no column zip in the shapefile, which has geometry, id, name"
    ):
        engine_inputs(wrong, (file,), tmp_path / "b", silent, Options())


def test_limits_of_the_installation_apply(tmp_path: Path) -> None:
    file = fetched(zipped(tmp_path / "1.zip", "Main"))
    with pytest.raises(SourceError, match="more than 100 bytes"):
        engine_inputs(SHAPEFILE, (file,), tmp_path / "work", silent, Options(largest_file=100))


MANIFEST = polled(
    "stations",
    '{kind: Url, url: "file:stations.zip"}',
    "{kind: EsriShapefile}",
    "{kind: Snapshot, primaryKey: [id]}",
    preprocess='{kind: Sql, engine: datafusion, query: "select id, upper(name) as name, geometry from input"}',
)


@pytest.mark.spark
def test_cycles(write, run, store, engine, tmp_path: Path) -> None:
    manifest = write("stations.yaml", MANIFEST)
    zipped(tmp_path / "stations.zip", "Main", "Burrard")
    assert str(run(manifest)) == "published 2 records (offsets 0..1)"
    dataset = store.dataset("stations")
    head = dataset.head()
    assert next((row["id"], row["name"], row["geometry"]) for row in tail_rows(dataset, 9)) == (1, "MAIN", MAIN)

    whole = (tmp_path / "stations.zip").read_bytes()
    (tmp_path / "stations.zip").write_bytes(whole[:-30])
    outcome = run(manifest, "2024-01-02T12:00:00Z")
    assert isinstance(outcome.error, SourceError)
    assert "not a zip file, or truncated" in str(outcome.error)
    assert dataset.head() == head

    changed = fetched(zipped(tmp_path / "b.zip", "Main St", "Burrard"))
    given = Input("stations", head, "2024-01-03T12:00:00Z", (changed,))
    cycle = cycle_of(store, "stations", engine)
    typed = read(cycle, given)
    assert typed.is_read
    assert sorted(path.suffix for path in Path(typed.files[0].paths[0]).parent.iterdir()) == [".json", ".parquet"]
    assert merge(cycle, typed).records == 2
    assert not list(store.work_area.glob("**/*.ndgeojson"))
