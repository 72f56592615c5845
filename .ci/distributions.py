"""Writes the sources of both packages that a release has: `python .ci/distributions.py FOLDER`, with tomli-w installed.

`airflow-provider-odf-core` has the code; `airflow-provider-odf` has none, and depends on it and on what tasks need.
"""

import re
import shutil
import sys
import tomllib
from pathlib import Path

import tomli_w

ROOT = Path(__file__).parent.parent
FOR_TASKS = {"apache-airflow-providers-apache-spark", "datafusion", "pandas", "pyarrow", "pyspark", "pyspark-client"}
"""What only tasks and readers of rows import; the name of each takes more than 10 MB, with what it needs."""
FILES = ("README.md", "CHANGELOG.md", "LICENSE")


def main(folder: Path) -> None:
    """Write the folders core/ and all/, each with a pyproject.toml."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    needs = project["project"]["dependencies"]
    heavy = [need for need in needs if re.split(r"[^\w-]", need)[0] in FOR_TASKS]
    if len(heavy) != len(FOR_TASKS):
        raise SystemExit(f"pyproject.toml has not all of {sorted(FOR_TASKS)}, only {heavy}")
    version = re.search(r'^__version__ = "(.+)"$', (ROOT / "airflow_provider_odf/version.py").read_text(), re.M)[1]
    build = {"build-system": project["build-system"]}

    core = project["project"] | {
        "name": "airflow-provider-odf-core",
        "description": f"{project['project']['description']}; without what only tasks need",
        "dependencies": [need for need in needs if need not in heavy],
        "optional-dependencies": project["project"]["optional-dependencies"]
        | {"pages": [need for need in heavy if need.startswith("pyarrow")]},
    }
    _write(folder / "core", build | {"project": core, "tool": {"hatch": project["tool"]["hatch"]}})
    for name in ("airflow_provider_odf", "spark_apps", "dags", "docs", "tests"):
        shutil.copytree(ROOT / name, folder / "core" / name, ignore=shutil.ignore_patterns("__pycache__"))

    kept = {k: v for k, v in project["project"].items() if k not in ("dynamic", "scripts", "entry-points")}
    every = kept | {"version": version, "dependencies": [f"airflow-provider-odf-core=={version}", *heavy]}
    hatch = {"build": {"targets": {"wheel": {"bypass-selection": True}, "sdist": {"only-include": list(FILES)}}}}
    _write(folder / "all", build | {"project": every, "tool": {"hatch": hatch}})


def _write(folder: Path, project: dict) -> None:
    folder.mkdir(parents=True)
    (folder / "pyproject.toml").write_text(tomli_w.dumps(project))
    for name in FILES:
        shutil.copy(ROOT / name, folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
