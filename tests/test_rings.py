"""The import rings: each part imports with the libraries of the other parts blocked."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "airflow_provider_odf"

BLOCKER = """
import importlib, sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {blocked!r}:
            raise ImportError("blocked: " + name)
sys.meta_path.insert(0, Blocked())
for module in {modules!r}:
    importlib.import_module(module)
"""


def modules(*parts: str) -> list[str]:
    """Dotted names of every module under the given parts of the package."""
    files = (
        f for part in parts for f in ([PACKAGE / part] if part.endswith(".py") else (PACKAGE / part).rglob("*.py"))
    )
    names = (".".join(f.relative_to(PACKAGE.parent).with_suffix("").parts) for f in files)
    return sorted(name.removesuffix(".__init__") for name in names)


COORDINATOR = (
    *(
        "author.py",
        "errors.py",
        "error_conversion.py",
        "fsync.py",
        "watchdog.py",
        "protocol",
        "multiformats.py",
        "instant.py",
        "wording.py",
    ),
    *(
        "manifest",
        "chain",
        "source",
        "contract",
        "datafusion",
        "dialect",
        "lineage",
        "runner",
        "evolution",
        "cycle",
        "health",
        "inference",
        "reading",
        "records",
        "cli",
    ),
)
ENGINE = (
    *(
        "clauses.py",
        "closed_files.py",
        "column_rules.py",
        "error_conversion.py",
        "errors.py",
        "fsync.py",
        "instant.py",
        "merge_strategies.py",
        "multiformats.py",
    ),
    *("read_steps.py", "run_functions.py", "time_limits.py", "wording.py", "protocol"),
    *("records", "datafusion", "engine"),
)
ENGINE_MAY_NOT = [
    "airflow",
    "datafusion",
    "pydantic",
    "yaml",
    "flatbuffers",
    "sqlglot",
    "httpx",
    "typer",
    "rich",
    "openlineage",
]

FOR_TASKS = ["pyspark", "datafusion", "pandas", "numpy"]
"""What a component of Airflow that runs no tasks may not import; the API server may import pyarrow alone."""

CLI_MAY_NOT = ["airflow", "pyspark", "pyarrow", "datafusion", "sqlglot", "openlineage", "pandas"]


@pytest.mark.parametrize(
    ("parts", "blocked"),
    [
        pytest.param(COORDINATOR, ["airflow", "pyspark", "datafusion", "datahub"], id="coordinator"),
        pytest.param(("datahub",), ["airflow", "pyspark", "openlineage"], id="datahub"),
        pytest.param(ENGINE, ENGINE_MAY_NOT, id="engine"),
        pytest.param(("records",), [*ENGINE_MAY_NOT, "pyspark"], id="records"),
        pytest.param(("spark",), ["airflow", "openlineage", "datafusion", "sqlglot", "typer"], id="spark"),
        pytest.param(
            ("dag", "operators", "sensors", "triggers", "hooks", "settings", "ui/plugin.py", "get_provider_info.py"),
            [*FOR_TASKS, "pyarrow"],
            id="components",
        ),
        pytest.param(("ui",), FOR_TASKS, id="pages"),
        pytest.param(("__init__.py",), ["airflow", "pyspark", "pydantic", "yaml", "pyarrow"], id="package"),
        pytest.param(("cli",), CLI_MAY_NOT, id="cli"),
    ],
)
def test_a_ring_imports_without_the_others(parts: tuple[str, ...], blocked: list[str]) -> None:
    code = BLOCKER.format(blocked=set(blocked), modules=modules(*parts))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_dags_are_built_without_what_only_tasks_need() -> None:
    code = BLOCKER.format(blocked={*FOR_TASKS, "pyarrow"}, modules=[]) + (
        f"from airflow_provider_odf import build_dags\nprint(sorted(build_dags({str(PACKAGE.parent / 'dags')!r})))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "'bike-stations', 'city-parks', 'coffee-prices'" in done.stdout.splitlines()[-1]


def test_operators_load_their_steps_when_they_run() -> None:
    """A dag processor imports the operators for each file that it parses."""
    code = (
        "import airflow_provider_odf.operators.merge, airflow_provider_odf.operators.push_source, sys\n"
        "steps = ('chain.replay', 'cycle.push', 'cycle.poll', 'evolution.apply', 'source.poll')\n"
        "print([s for s in steps if f'airflow_provider_odf.{s}' in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
