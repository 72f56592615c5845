"""``make demo`` and ``make ui``: run the example manifests of ``dags/`` as real Airflow DAGs, and look at the results.

All files are in ``.demo/``. The first session has two batches; the second batch of coffee prices violates its contract.
Later sessions find no new data.
"""

from __future__ import annotations

import os
import sys

from demo.browse import browse
from demo.family import Family, Stopped, stop_on_signals
from demo.folder import EMBEDDED


def main(arguments: list[str]) -> int:
    """Run the demo, with the argument ``ui`` Airflow with its datasets; return 0 if all is as expected."""
    from airflow_provider_odf.engine.jvm import find_java
    from airflow_provider_odf.errors import OdfError

    try:
        find_java()
    except OdfError as e:
        print(e, file=sys.stderr)
        return 1
    os.environ.update(EMBEDDED.settings())
    stop_on_signals()
    if arguments != ["ui"]:
        return _run()
    if not EMBEDDED.finished.exists() and (failed := _run()):
        return failed
    return browse(EMBEDDED.home)


def _run() -> int:
    """Run a session in a process of its own: Airflow's tasks take over the signals of theirs."""
    try:
        with Family(grace=3) as family:
            family.start("session", [sys.executable, "-m", "demo.show"])
            family.wait()
    except Stopped as e:
        print("Stopped. Run make demo again to start over.", file=sys.stderr)
        return e.exit_code
    return family.processes["session"].returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
