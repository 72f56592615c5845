import importlib
import json
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import airflow
import jsonschema
import pytest

from airflow_provider_odf.get_provider_info import get_provider_info

INFO = get_provider_info()


def test_fits_airflows_schema():
    schema = json.loads((Path(airflow.__file__).parent / "provider_info.schema.json").read_text())
    jsonschema.validate(INFO, schema)


@pytest.mark.parametrize("group", ["operators", "sensors", "triggers", "hooks"])
def test_its_modules_exist(group):
    for entry in INFO[group]:
        for module in entry["python-modules"]:
            importlib.import_module(module)


def test_its_classes_exist():
    names = [
        *INFO["extra-links"],
        *(c["hook-class-name"] for c in INFO["connection-types"]),
        *(p["plugin-class"] for p in INFO["plugins"]),
    ]
    for name in names:
        module, _, cls = name.rpartition(".")
        assert isinstance(getattr(importlib.import_module(module), cls), type)


def test_connection_types_are_those_of_the_hooks():
    for connection in INFO["connection-types"]:
        module, _, cls = connection["hook-class-name"].rpartition(".")
        assert getattr(importlib.import_module(module), cls).conn_type == connection["connection-type"]


def test_the_form_of_a_connection():
    """As Airflow's server gives it to its UI: 3.0 and 3.1 ask the hook, later versions the info."""
    from airflow import __version__
    from airflow.api_fastapi.core_api.services.ui.connections import HookMetaService

    if __version__.startswith("3.0."):
        pytest.importorskip("wtforms", reason="Airflow 3.0 shows forms of providers where FAB is installed")
    forms = {form.connection_type: form for form in HookMetaService.hook_meta_data()}
    (name, field), standard = *forms["odf"].extra_fields.items(), forms["odf"].standard_fields
    assert (name, field["schema"]["title"], field["schema"]["type"]) == ("work_area", "Work area", ["string", "null"])
    assert (standard.host.title, standard.host.placeholder) == ("Store", "/data/odf-store")
    assert standard.password.hidden
    assert forms["datahub"].standard_fields.password.title == "Access token"


def test_every_option_is_a_setting():
    from airflow_provider_odf.settings import Settings
    from airflow_provider_odf.source.options import OPTIONS

    settings = {*Settings.__dataclass_fields__, *OPTIONS} - {"options"}
    assert set(INFO["config"]["odf"]["options"]) == settings


def test_airflow_finds_provider_and_plugin():
    providers = entry_points(group="apache_airflow_provider")
    assert [e.load()() for e in providers if e.module.startswith("airflow_provider_odf.")] == [INFO]
    (plugin,) = entry_points(group="airflow.plugins", name="odf")
    assert plugin.load().name == "odf"


def test_needs_only_the_standard_library():
    code = "import sys; import airflow_provider_odf.get_provider_info as m; m.get_provider_info(); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert {m for m in loaded if m.split(".")[0] in ("airflow", "pydantic", "pyspark", "yaml")} == set()
