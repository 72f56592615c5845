"""Run one request of the engine protocol: ``spark-submit … run.py REQUEST_FILE RESPONSE_FILE``.

Each response is a line of JSON in the response file; the last one is the outcome. The exit code is 0 for every outcome,
also for an error, so that only a crashed application counts as failed.
"""

import sys

from airflow_provider_odf.engine.submitted import run

if __name__ == "__main__":
    run(sys.argv[1], sys.argv[2])
