"""The page about errors, from ``airflow_provider_odf.errors``."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

from airflow_provider_odf import errors
from docs.generate.markdown import NOTICE, code, from_rst, table

_INTRODUCTION = """\
# Errors

Every error of the package is an `OdfError`. A message says where something is wrong, what is wrong, and what to do.
Whatever the error, the dataset stays at its last published block, and the next run works from there.

In Airflow a retryable error is an `AirflowException`, and the task is retried; any other one is an
`AirflowFailException`, and the task fails at once. On the command line both give exit code 1; invalid input that is
found before anything runs, and a dataset that does not exist, give 2.
"""

_MANIFEST = """\
Problems of manifests and contracts are collected: all of all files at once, one line each.

```text
FILE:LINE:COLUMN: what is wrong (what to do)
```
"""


def page() -> str:
    """docs/reference/errors.md"""
    tree = inspect.getdoc(errors)
    picture = "\n".join(line[4:] for line in (tree or "").partition("::\n\n")[2].splitlines())
    rows = [(code(name), *about) for name, *about in _rows(tree or "")]
    return "\n".join(
        [
            NOTICE,
            _INTRODUCTION,
            "## The tree\n",
            f"```text\n{picture}\n```\n",
            "## One by one\n",
            table(("error", "when", "tried again"), rows),
            "## Places\n",
            _MANIFEST,
        ]
    )


def _rows(tree: str) -> Iterator[tuple[str, str, str]]:
    for name in re.findall(r"[├└]── (\w+)", tree):
        error = getattr(errors, name)
        about = " ".join((inspect.getdoc(error) or "").partition("\n\n")[0].split())
        yield name, from_rst(about), "yes" if error.is_transient else "no"
