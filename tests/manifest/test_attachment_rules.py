from __future__ import annotations

import pytest

from airflow_provider_odf.manifest.load import load

MANIFEST = """\
kind: DatasetSnapshot
version: 1
content:
  name: a
  kind: Root
  metadata:
    - kind: AddPushSource
      sourceName: default
      read: Parquet
      merge: Append
    - kind: SetAttachments
      attachments:
        kind: Embedded
        items:
"""
FIX = "use a relative path with `/`, such as `README.md` or `images/map.svg`"


def problems(tmp_path, *paths: str) -> list[tuple[int, str, str]]:
    items = "".join(f'          - {{path: "{path}", content: x}}\n' for path in paths)
    (tmp_path / "a.yaml").write_text(MANIFEST + items)
    loaded = load([tmp_path / "a.yaml"])
    return [(p.place.line - 14, p.message, p.fix) for p in loaded.problems]


def test_good_paths(tmp_path):
    assert problems(tmp_path, "README.md", "a/b.txt", "a/c/b.txt", "..hidden", "größe.md") == []


@pytest.mark.parametrize(
    "path", ["", ".", "..", "../x", "a/../x", "a//b", "a/", "/etc/passwd", "~/x", r"c:\\x", r"a\\b", r"a\nb"]
)
def test_paths_that_lead_elsewhere(tmp_path, path: str):
    shown = path.encode().decode("unicode_escape")
    assert problems(tmp_path, "ok", path) == [(2, f"an attachment's path cannot be {shown!r}", FIX)]


def test_two_files_of_one_path(tmp_path):
    assert problems(tmp_path, "README.md", "a", "readme.md", "A/b") == [
        (3, "duplicate attachment path readme.md", "choose another path"),
        (4, "A/b and a conflict: one of them is a folder", "choose another path"),
    ]
