"""Pages of Airflow's API server: the server set up with the DAGs of a folder of manifests, or paths opened in it."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

LOADER = 'from airflow_provider_odf import build_dags\n\nglobals().update(build_dags(__file__, store="{store}"))\n'


def set_up(folder: str, store: str) -> dict[str, Any]:
    from airflow.dag_processing.bundles.manager import DagBundlesManager
    from airflow.dag_processing.dagbag import DagBag, sync_bag_to_db
    from airflow.utils.db import initdb

    (Path(folder) / "odf.py").write_text(LOADER.format(store=store))
    initdb()
    DagBundlesManager().sync_bundles_to_db()
    bag = DagBag(dag_folder=folder, bundle_path=Path(folder), bundle_name="dags-folder")
    assert not bag.import_errors, bag.import_errors
    sync_bag_to_db(bag, "dags-folder", None)
    return {"dags": len(bag.dags)}


def view(paths: list[str], warm_up: list[str]) -> dict[str, Any]:
    """Open paths one after the other, twice. The answer has the times of all of them at the first and the second time,
    and the last content in ``file``. What is imported at the first use is imported by the paths of ``warm_up``."""
    from airflow.api_fastapi.app import cached_app, get_auth_manager
    from airflow.api_fastapi.auth.managers.simple.user import SimpleAuthManagerUser
    from fastapi.testclient import TestClient

    answer: dict[str, Any] = {}
    with TestClient(cached_app(apps="core")) as client:
        token = get_auth_manager().generate_jwt(SimpleAuthManagerUser(username="a viewer", role="viewer"))

        def open_all(opened: list[str]) -> bytes:
            for path in opened:
                response = client.get(path, headers={"Authorization": f"Bearer {token}"})
                assert response.status_code == 200, (path, response.text[-2000:])
            return response.content

        open_all(warm_up)
        for name in ("first", "again"):
            start, cpu = time.perf_counter(), time.process_time()
            content = open_all(paths)
            answer[name] = {"seconds": time.perf_counter() - start, "cpu": time.process_time() - cpu}
        file = Path(os.environ["AIRFLOW_HOME"]) / "content"
        file.write_bytes(content)
    return {**answer, "file": str(file)}


def main(home: str, kind: str, **arguments: Any) -> None:
    os.environ |= {
        "AIRFLOW_HOME": home,
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__API_AUTH__JWT_SECRET": "pages" * 20,
        "AIRFLOW__LOGGING__LOGGING_LEVEL": "ERROR",
    }
    print(json.dumps({"set_up": set_up, "view": view}[kind](**arguments)))


if __name__ == "__main__":
    main(**json.loads(sys.argv[1]))
