"""The generated pages of the documentation, and what must hold of all pages.

``python -m docs.build`` writes the generated pages and then checks every page; with ``--check`` it writes nothing, and
a generated page that is out of date is a problem too. Exit code 1 if there is a problem.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Mapping

from airflow_provider_odf.manifest.json_schema import manifest_schema, settings_schema
from docs import manifests
from docs.generate import cli, errors, lineage_names, manifest, operators, settings
from docs.pages import DOCS, ROOT, link_problems, pages


def _json(schema: Mapping[str, object]) -> str:
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


GENERATED: Mapping[str, Callable[[], str]] = {
    "manifest.schema.json": lambda: _json(manifest_schema()),
    "odf.schema.json": lambda: _json(settings_schema()),
    "reference/cli.md": cli.page,
    "reference/errors.md": errors.page,
    "reference/lineage-names.md": lineage_names.page,
    "reference/manifest.md": manifest.page,
    "reference/operators.md": operators.page,
    "reference/settings.md": settings.page,
}
"""Files below docs/ and what makes their text."""


def write() -> None:
    """Write every generated file."""
    for name, text in GENERATED.items():
        (DOCS / name).write_text(text(), encoding="utf-8")


def outdated() -> Iterator[str]:
    """One line for each generated file that is not what it would be now."""
    for name, text in GENERATED.items():
        file = DOCS / name
        if not file.is_file() or file.read_text(encoding="utf-8") != text():
            yield f"{file.relative_to(ROOT)}: out of date; run make docs"


def main() -> int:
    """0, or 1 with the problems on standard error."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing, verify that the files are current")
    is_check = parser.parse_args().check
    if not is_check:
        write()
    problems = [*(outdated() if is_check else ()), *link_problems(pages()), *manifests.problems(pages())]
    for problem in problems:
        print(problem, file=sys.stderr)
    print(f"{len(pages())} pages, {len(GENERATED)} generated files, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
