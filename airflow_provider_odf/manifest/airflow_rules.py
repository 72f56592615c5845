"""Texts of a manifest that Airflow stores, and how long they may be there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from airflow_provider_odf.manifest.finding import Finding, rule, valid

LONGEST_TAG = 100
LONGEST_NAME = 250
"""Of DAGs, pools and connections. File systems allow five characters more in the name of a dataset's folder."""


@rule
def name(text: str) -> Iterator[Finding]:
    """A dataset's name is the name of its DAG."""
    if len(text) > LONGEST_NAME:
        message = f"the name has {len(text)} characters: a DAG of Airflow, which is named like its dataset, has at most"
        yield Finding(("name",), f"{message} {LONGEST_NAME}", "choose a shorter name")


@rule
def keywords(texts: Sequence[str] | None) -> Iterator[Finding]:
    """Keywords are tags of the DAG."""
    for index, text in valid(enumerate(texts or ())):
        if len(text) > LONGEST_TAG:
            message = f"the keyword has {len(text)} characters: as a tag of the DAG it is cut after {LONGEST_TAG}"
            yield Finding(("keywords", index), message, is_warning=True)


def tag(text: str) -> str:
    """A keyword as Airflow can store it."""
    return "".join(filter(str.isprintable, text))[:LONGEST_TAG].strip()
