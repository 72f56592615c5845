"""Archives and the steps that unpack them, for tests."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping

from airflow_provider_odf.manifest import model

GZIP = model.PrepStepDecompress(format="Gzip")


def zipped(entries: Mapping[str, bytes]) -> bytes:
    """Return a zip with files of these names."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def unzip(sub_path=None):
    return model.PrepStepDecompress(format="Zip", sub_path=sub_path)
