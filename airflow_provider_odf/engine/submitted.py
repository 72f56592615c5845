"""One request in its own spark-submit application: request and responses are files."""

from __future__ import annotations

from pathlib import Path

from airflow_provider_odf import protocol
from airflow_provider_odf.engine import session
from airflow_provider_odf.engine.answer import answer


def run(request_file: str, response_file: str) -> None:
    """Answer the request in ``request_file`` and append response lines to ``response_file`` as they come."""
    request = protocol.loads_request(Path(request_file).read_text(encoding="utf-8"))
    operation = protocol.operation(request)
    spark = session.create()
    with open(response_file, "a", encoding="utf-8", buffering=1) as responses:

        def respond(response: protocol.Response) -> None:
            responses.write(protocol.dumps_response(operation, response) + "\n")

        respond(answer(spark, request, lambda message: respond(protocol.Progress(message))))
    spark.stop()
