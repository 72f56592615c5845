"""Run one request of the engine protocol: ``spark-submit … run.py REQUEST_FILE RESPONSE_FILE``.

Each response is a line of JSON in the response file; the last one is the outcome. The exit code is 0 for every outcome,
also for an error, so that only a crashed application counts as failed.
"""

import os
import sys
from dataclasses import replace
from pathlib import Path

from airflow_provider_odf import protocol
from airflow_provider_odf.closed_files import close_to_others
from airflow_provider_odf.engine import session
from airflow_provider_odf.engine.request import answer, failure
from airflow_provider_odf.engine.task_watch import end_with_task
from airflow_provider_odf.object_stores import SCHEMES


def run(request_file: str, response_file: str) -> None:
    """Answer the request in a file and append the responses to another as they come."""
    end_with_task(Path(request_file))
    text = Path(request_file).read_text(encoding="utf-8")
    request = protocol.loads_request(text)
    operation = protocol.operation(request)
    if isinstance(request, protocol.MergeRequest) and request.spark is None:
        request = replace(request, spark="always")
    close_to_others()
    names_objects = any(f'"{scheme}://' in text for scheme in SCHEMES)
    spark = session.create(conf=session.credentials(os.environ) if names_objects else None)
    with open(response_file, "a", encoding="utf-8", buffering=1) as responses:

        def respond(response: protocol.Response) -> None:
            responses.write(protocol.dumps_response(operation, response) + "\n")

        try:
            if not (isinstance(request, protocol.MergeRequest) and request.spark == "needed"):
                session.start_worker(spark, request)
        except Exception as e:
            respond(failure(e, request))
        else:
            respond(answer(spark, request, respond))
    spark.stop()


if __name__ == "__main__":
    run(sys.argv[1], sys.argv[2])
