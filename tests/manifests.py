"""The manifest of a dataset that appends CSV files of a folder, for tests in which the source does not matter."""

from __future__ import annotations

_MANIFEST = """\
kind: DatasetSnapshot
version: 1
content:
  name: {name}
  kind: Root
  metadata:
    - kind: SetPollingSource
      fetch:
        {fetch}
      read:
        kind: Csv
        schema: ["id BIGINT"]
      merge:
        kind: Append
"""


def appending(name: str = "readings", fetch: str = "kind: FilesGlob\n        path: in/*.csv") -> str:
    """Return the manifest as YAML."""
    return _MANIFEST.format(name=name, fetch=fetch)
