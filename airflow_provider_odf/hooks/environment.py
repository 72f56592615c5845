"""Values for ``${{ env.NAME }}`` in manifests: from Airflow's connections and variables, or the process environment."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from airflow.providers.common.compat.sdk import AirflowNotFoundException, BaseHook
from airflow.sdk import Variable
from airflow.sdk.log import mask_secret

from airflow_provider_odf.manifest.folder_settings import settings_for

if TYPE_CHECKING:
    from pathlib import Path

    from airflow_provider_odf.manifest.folder_settings import EnvironmentValue

_SHORTEST_SECRET = 5
"""Airflow does not mask shorter values, and logs a warning for them."""

_EXTRA = "extra."

log = logging.getLogger(__name__)


class TaskEnvironment(Mapping[str, str]):
    """Values for templates of a manifest. A name is looked up once, when a template uses it: in the ``env`` of
    ``odf.yaml``, then in the process environment. The values are masked in logs."""

    def __init__(self, sources: Mapping[str, EnvironmentValue] | None = None) -> None:
        self._sources = sources or {}
        self._values: dict[str, str | None] = {}

    @classmethod
    def of(cls, manifest: Path, dataset: str) -> TaskEnvironment:
        """Return the environment of a dataset with its manifest in the file ``manifest``.

        :raises ManifestInvalid: a settings file of the dataset is not valid.
        """
        return cls(settings_for(manifest, dataset).env)

    def __getitem__(self, name: str) -> str:
        if name not in self._values:
            self._values[name] = self._look_up(name)
        value = self._values[name]
        if value is None:
            raise KeyError(name)
        return value

    def __iter__(self) -> Iterator[str]:
        return iter({**self._sources, **os.environ})

    def __len__(self) -> int:
        return len({**self._sources, **os.environ})

    def _look_up(self, name: str) -> str | None:
        source = self._sources.get(name)
        value = os.environ.get(name) if source is None else _value_of(source)
        if source is not None and not value:
            log.warning("env.%s: %s is not set", name, source)
        if value and len(value) >= _SHORTEST_SECRET:
            mask_secret(value)
        return value if value or source is None else None


def _value_of(source: EnvironmentValue) -> str | None:
    if source.variable is not None:
        value = Variable.get(source.variable, default=None)
        return None if value is None else str(value)
    try:
        connection = BaseHook.get_connection(str(source.connection))
    except AirflowNotFoundException:
        return None
    if source.field.startswith(_EXTRA):
        value = connection.extra_dejson.get(source.field.removeprefix(_EXTRA))
    else:
        value = getattr(connection, source.field)
    return None if value is None else str(value)
