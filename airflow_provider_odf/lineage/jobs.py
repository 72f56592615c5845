"""Names of Spark applications, which are also their job names in lineage: ``odf_{application}_{dataset}``.

Spark's listener reports a normalized form of ``spark.app.name``. These names already have that form, so that both jobs
are the same.
"""

from __future__ import annotations

import re
import unicodedata


def spark_application(application: str, dataset: str) -> str:
    """Return the name of a Spark application for one dataset, unique per dataset and stable between runs.

    >>> spark_application("merge", "acme/com.example.us-cities")
    'odf_merge_acme_com_example_us_cities'
    """
    return normalize(f"odf {application} {dataset.lower()}")


def normalize(name: str) -> str:
    """Return a name as Spark's listener writes it: lower-case words joined by ``_``; a change of case starts a word.

    >>> normalize("odf-ingest.com.example/Pop")
    'odf_ingest_com_example_pop'
    """
    letters = unicodedata.normalize("NFKD", re.sub(r"^\W+|\W+$", "", name))
    plain = "".join(c for c in letters if not unicodedata.combining(c))
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", plain)
    return re.sub(r"[^a-z0-9]+", "_", words.lower())
