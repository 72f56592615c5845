"""Names of Spark applications, which are also their jobs in lineage: ``odf_{application}_{dataset}``.

Spark's listener reports under a normalized form of ``spark.app.name``. The names made here already have that form, so
that both are the same job.
"""

from __future__ import annotations

import re
import unicodedata


def spark_application(application: str, dataset: str) -> str:
    """The name of a Spark application that works on one dataset: unique per dataset and stable between runs.

    >>> spark_application("merge", "acme/com.example.us-cities")
    'odf_merge_acme_com_example_us_cities'
    """
    return normalized(f"odf {application} {dataset.lower()}")


def normalized(name: str) -> str:
    """A name as Spark's listener writes it: words in lower case, joined by ``_``; a change of case starts a word.

    >>> normalized("odf-ingest.com.example/Pop")
    'odf_ingest_com_example_pop'
    """
    letters = unicodedata.normalize("NFKD", re.sub(r"^\W+|\W+$", "", name))
    plain = "".join(c for c in letters if not unicodedata.combining(c))
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", plain)
    return re.sub(r"[^a-z0-9]+", "_", words.lower())
