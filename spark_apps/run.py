"""Answers one request of the engine protocol: ``spark-submit … run.py REQUEST_FILE RESPONSE_FILE``.

The response file gets a line of JSON for each response, the last of which is the outcome. The exit code is 0 whenever
there is an outcome, also when it is an error: only a broken application is a failed one.
"""

import sys

from airflow_provider_odf.engine.submitted import run

if __name__ == "__main__":
    run(sys.argv[1], sys.argv[2])
