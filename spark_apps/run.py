"""Run one request of the engine protocol: ``spark-submit … run.py MAILBOX``, a folder or the URI of one in an object
store, see `engine.mailbox`.

Each response is a line of JSON; the last one is the outcome. The exit code is 0 for every outcome, also for an error,
so that only a crashed application counts as failed.
"""

import os
import sys
from dataclasses import replace

from airflow_provider_odf import object_stores, protocol
from airflow_provider_odf.closed_files import close_to_others
from airflow_provider_odf.engine import mailbox, session, spark_internals
from airflow_provider_odf.engine.request import answer, failure


def run(place: str) -> None:
    """Answer the request in a mailbox, and put the responses there as they come."""
    close_to_others()
    driver = mailbox.Driver(mailbox.at(place))
    text = driver.request()
    request = protocol.loads_request(text)
    operation = protocol.operation(request)
    if isinstance(request, protocol.MergeRequest) and request.spark is None:
        request = replace(request, spark="always")
    passes_access = object_stores.are_named_in(text)
    spark = session.create(conf=session.credentials(os.environ, spark_internals.submitted()) if passes_access else None)

    def respond(response: protocol.Response, *, is_final: bool = False) -> None:
        driver.respond(protocol.dumps_response(operation, response), is_final=is_final)

    try:
        if not (isinstance(request, protocol.MergeRequest) and request.spark == "needed"):
            session.start_worker(spark, request)
    except Exception as e:
        respond(failure(e, request), is_final=True)
    else:
        respond(answer(spark, request, respond), is_final=True)
    spark.stop()


if __name__ == "__main__":
    run(sys.argv[1])
