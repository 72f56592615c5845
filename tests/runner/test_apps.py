"""What is shipped to a cluster."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

from airflow_provider_odf.runner import apps


def test_bundle_is_reproducible_and_named_by_its_content(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    one, two = apps.bundle(tmp_path / "a"), apps.bundle(tmp_path / "b")
    assert one.name == two.name
    assert one.read_bytes() == two.read_bytes()


def test_bundle_has_the_engine_and_nothing_of_the_coordinator(tmp_path: Path) -> None:
    with zipfile.ZipFile(apps.bundle(tmp_path)) as bundle:
        names = bundle.namelist()
    assert "airflow_provider_odf/engine/read/csv.py" in names
    assert "airflow_provider_odf/protocol/messages.py" in names
    assert {name.split("/")[1] for name in names} == {*apps.ENGINE_PACKAGES, *apps.ENGINE_MODULES}


def test_engine_imports_from_the_bundle_alone(tmp_path: Path) -> None:
    """Not from the checkout: with Airflow, pydantic and YAML out of reach."""
    bundle = apps.bundle(tmp_path)
    files = zipfile.ZipFile(bundle).namelist()
    modules = [name.removesuffix(".py").replace("/", ".").removesuffix(".__init__") for name in files]
    program = (
        "import importlib, sys\n"
        "for name in ('airflow', 'pydantic', 'yaml', 'sqlglot', 'flatbuffers'): sys.modules[name] = None\n"
        f"sys.path.insert(0, {str(bundle)!r})\n"
        f"for name in {[name for name in modules if '.datafusion' not in name]}: importlib.import_module(name)\n"
        "own = [m.__file__ for name, m in sys.modules.items() if name.startswith('airflow_provider_odf')]\n"
        "assert own and all('.zip' in file for file in own), own"
    )
    subprocess.run([sys.executable, "-c", program], check=True, cwd=tmp_path)


def test_applications_are_found() -> None:
    assert apps.application("run.py").read_text().startswith('"""')
    assert apps.application("serve.py").exists()
