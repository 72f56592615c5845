"""Names of Spark applications, which are also their job names in lineage: ``odf_{application}_{dataset}``.

Spark's listener reports a normalized form of ``spark.app.name``. These names already have that form, so that both jobs
are the same.
"""

from __future__ import annotations

import re
import unicodedata
import uuid
from collections.abc import Mapping

from airflow_provider_odf.protocol import Request, operation

SLICE_PATTERN = r"(.*)(?<remove>/data(/f1620[0-9a-f]+)?)"
"""Path of slices, as a pattern of the listener, which removes the group ``remove``."""


def spark_application(application: str, dataset: str) -> str:
    """Return the name of a Spark application for one dataset, unique per dataset and stable between runs.

    >>> spark_application("merge", "acme/com.example.us-cities")
    'odf_merge_acme_com_example_us_cities'
    """
    return normalize(f"odf {application} {dataset.lower()}")


def of_request(request: Request) -> str:
    """Return the name of the Spark application that answers a request."""
    return spark_application(operation(request), request.dataset_alias)


def action(request: Request) -> str:
    """Return the name of an application's one action of its own: ``{application}.{node}``."""
    return f"{of_request(request)}.{normalize(operation(request))}"


def listener_settings() -> Mapping[str, str]:
    """Return settings of Spark's OpenLineage listener for a new application. Without it they have no effect.

    The run id lets other processes report the end of an application that was killed. The pattern removes what is below
    a dataset's folder, so that the names of slices are that of the dataset.
    """
    return {
        "spark.openlineage.applicationRunId": str(uuid.uuid4()),
        "spark.openlineage.dataset.removePath.pattern": SLICE_PATTERN,
    }


def normalize(name: str) -> str:
    """Return a name as Spark's listener writes it: lower-case words joined by ``_``; a change of case starts a word.

    >>> normalize("odf-ingest.com.example/Pop")
    'odf_ingest_com_example_pop'
    """
    letters = unicodedata.normalize("NFKD", re.sub(r"^\W+|\W+$", "", name))
    plain = "".join(c for c in letters if not unicodedata.combining(c))
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", plain)
    return re.sub(r"[^a-z0-9]+", "_", words.lower())
