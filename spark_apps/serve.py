"""Run requests of the engine protocol from standard input in one JVM, until the input ends.

The local runner starts it with one argument, the parameters of `serve` as JSON.
"""

import json
import sys

from airflow_provider_odf.engine.serve import serve

if __name__ == "__main__":
    serve(**json.loads(sys.argv[1]))
