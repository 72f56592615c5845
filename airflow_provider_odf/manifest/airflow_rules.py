"""Limits of Airflow on the texts of a manifest that it stores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from airflow_provider_odf.manifest.findings import Finding, rule, valid

LONGEST_TAG = 100
LONGEST_NAME = 250
"""Maximum length of names of DAGs, pools and connections. File systems allow five characters more for a dataset's
folder."""


@rule
def name(text: str) -> Iterator[Finding]:
    """Yield a problem of the dataset's name, which is also the name of its DAG."""
    if len(text) > LONGEST_NAME:
        message = f"the name has {len(text)} characters: it is also the name of the DAG, which has at most"
        yield Finding(("name",), f"{message} {LONGEST_NAME}", "choose a shorter name")


@rule
def keywords(texts: Sequence[str] | None) -> Iterator[Finding]:
    """Yield the problems of keywords, which become tags of the DAG."""
    for index, text in valid(enumerate(texts or ())):
        if len(text) > LONGEST_TAG:
            message = f"the keyword has {len(text)} characters: as a tag of the DAG it is cut after {LONGEST_TAG}"
            yield Finding(("keywords", index), message, is_warning=True)


def tag(text: str) -> str:
    """Return a keyword as Airflow can store it."""
    return "".join(filter(str.isprintable, text))[:LONGEST_TAG].strip()
