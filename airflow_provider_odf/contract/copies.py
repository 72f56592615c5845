"""Copies of the objects that a contract is tested on, in a folder of this machine.

Spark reads these copies, so it needs no connector of Hadoop, and finds folders, globs, partitions and types as in all
other files.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

from airflow_provider_odf import object_stores
from airflow_provider_odf.chain.object_storage import ObjectStorage
from airflow_provider_odf.cycle.exchange import bring
from airflow_provider_odf.errors import OdfError
from airflow_provider_odf.protocol import ContractReport, Source
from airflow_provider_odf.source import objects
from airflow_provider_odf.source.options import Options
from airflow_provider_odf.wording import counted

_WILDCARDS = re.compile(r"[*?\[{]")
_BRACES = re.compile(r"\{([^{}]*)\}")


@dataclass(frozen=True)
class Copies:
    """A folder with copies of objects, as ``SCHEME/BUCKET/KEY``."""

    folder: Path
    tell: Callable[[str], None]

    def source(self, source: Source) -> Source:
        """Return a source with the paths of copies in place of URIs of objects, or with the problem of these."""
        try:
            return replace(source, paths=tuple(map(self._path, source.paths)))
        except OdfError as e:
            return replace(source, problem=str(e))

    def with_uris(self, report: ContractReport) -> ContractReport:
        """Return a report whose reasons name objects in place of copies."""
        here = re.compile(rf"(?:file:/*)?{re.escape(str(self.folder))}/(\w+)/")
        results = (replace(result, reason=here.sub(r"\1://", result.reason)) for result in report.results)
        return replace(report, results=tuple(results))

    def _path(self, uri: str) -> str:
        """Return the path of an object's copy. A URI may be that of a folder, or have the globs of Spark.

        :raises OdfError: no object matches, or one cannot be read.
        """
        if not object_stores.is_object(uri):
            return uri
        bucket, key = object_stores.split(uri)
        entries = {
            entry.path: entry.size
            for pattern in _alternatives(key)
            for below in ("", "/**")
            for entry in objects.entries(f"{bucket}/{pattern}{below}", self.folder, Options())
        }
        if not entries:
            raise OdfError(f"no file matches {uri}")
        keys = [object_stores.split(path)[1] for path in entries]
        if bad := next((found for found in keys if _has_colon(found, key)), None):
            raise OdfError(f"{bucket}/{bad}: Spark cannot read a name with a colon: rename the object")
        size = counted(sum(entries.values()), "byte")
        self.tell(f"copying {counted(len(entries), 'object')} of {uri} to this machine, {size}")
        place = self.folder / bucket.replace("://", "/")
        bring(ObjectStorage.at(bucket), keys, place)
        return str(place / key)


def _has_colon(key: str, pattern: str) -> bool:
    """Whether Hadoop takes a part of the name of an object for the scheme of a URI: of a file's own name, or of those
    of the folders that a glob matches."""
    folders, _, name = key.rpartition("/")
    depth = pattern.count("/") + 1 if _WILDCARDS.search(pattern) else 0
    return ":" in name or any(":" in folder for folder in folders.split("/")[:depth])


def _alternatives(pattern: str) -> Sequence[str]:
    """Return the patterns that one with braces stands for.

    >>> _alternatives("in/{a,b}*.csv")
    ['in/a*.csv', 'in/b*.csv']
    """
    parts = [part.split(",") if number % 2 else [part] for number, part in enumerate(_BRACES.split(pattern))]
    return ["".join(chosen) for chosen in product(*parts)]
