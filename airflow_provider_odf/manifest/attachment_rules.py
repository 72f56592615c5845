"""Rules for attachments: their paths must name different files below the folder to which users export them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from airflow_provider_odf.manifest.findings import Finding, rule, valid
from airflow_provider_odf.manifest.model import AttachmentEmbedded, Attachments

_ABSOLUTE = re.compile(r"[/\\~]|[A-Za-z]:")
_FIX = "use a relative path with `/`, such as `README.md` or `images/map.svg`"


@rule
def check(attachments: Attachments) -> Iterator[Finding]:
    """Yield all problems of a dataset's attachments; paths start at them."""
    yield from (finding.under("items") for finding in _items(attachments.items))


@rule
def _items(items: Sequence[AttachmentEmbedded]) -> Iterator[Finding]:
    seen: set[str] = set()
    for index, item in valid(enumerate(items)):
        yield from (finding.under(index, "path") for finding in _path(item.path, seen))


@rule
def _path(path: str, seen: set[str]) -> Iterator[Finding]:
    parts = path.split("/")
    if _ABSOLUTE.match(path) or "\\" in path or not path.isprintable() or {"", ".", ".."} & set(parts):
        yield Finding((), f"an attachment's path cannot be {path!r}", _FIX)
    elif path.lower() in seen:
        yield Finding((), f"duplicate attachment path {path}", "choose another path")
    else:
        folders = {"/".join(parts[:depth]).lower() for depth in range(1, len(parts))}
        if clash := next((p for p in seen if p in folders or p.startswith(f"{path.lower()}/")), None):
            yield Finding((), f"{path} and {clash} conflict: one of them is a folder", "choose another path")
        seen.add(path.lower())
