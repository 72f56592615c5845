"""Answers requests of the engine protocol from standard input in one JVM, until the input ends.

Started by the local runner with one argument, the JSON of the parameters of `serve`.
"""

import json
import sys

from airflow_provider_odf.engine.serve import serve

if __name__ == "__main__":
    serve(**json.loads(sys.argv[1]))
