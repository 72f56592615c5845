"""Send a contract test to DataHub: to a server, or to a file that ``datahub ingest`` reads."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import quote

from airflow_provider_odf.chain import info_files
from airflow_provider_odf.errors import InvalidInput

if TYPE_CHECKING:
    from datahub.emitter.mcp import MetadataChangeProposalWrapper as Proposal
    from datahub.emitter.rest_emitter import DataHubRestEmitter

    from airflow_provider_odf.chain.dataset import Dataset
    from airflow_provider_odf.datahub.proposals import Assertions


_TIMEOUTS = {"connect_timeout_sec": 5, "read_timeout_sec": 30}
"""Arguments of the emitter: a task does not wait long for a server that is gone."""


class Destination(Protocol):
    """A place that takes proposals. ``name`` is for messages, and the same in every run."""

    @property
    def name(self) -> str: ...

    def missing(self, urn: str, aspects: Collection[str]) -> set[str]:
        """Return those aspects of an entity that the destination lacks."""
        ...

    def send(self, proposals: Sequence[Proposal]) -> None:
        """Send proposals."""
        ...


@dataclass(frozen=True)
class Server:
    """A DataHub server. ``options`` are further arguments of DataHub's emitter."""

    url: str
    token: str | None = field(default=None, repr=False)
    options: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @property
    def name(self) -> str:
        return self.url

    @cached_property
    def emitter(self) -> DataHubRestEmitter:
        """The emitter of DataHub's library."""
        from datahub.emitter.rest_emitter import DataHubRestEmitter

        return DataHubRestEmitter(self.url, self.token, **{**_TIMEOUTS, **self.options})

    def missing(self, urn: str, aspects: Collection[str]) -> set[str]:
        """Return those aspects of an entity that the server lacks.

        :raises requests.RequestException: the server does not answer the question.
        """
        return {aspect for aspect in aspects if not self._has(urn, aspect)}

    def _has(self, urn: str, aspect: str) -> bool:
        url = f"{self.url.rstrip('/')}/aspects/{quote(urn, safe='')}?aspect={aspect}&version=0"
        response = self.emitter.session.get(url)
        if response.status_code == 404:
            return False
        response.raise_for_status()
        return bool(response.json().get("aspect"))

    def send(self, proposals: Sequence[Proposal]) -> None:
        """Send proposals, in as few requests as the server allows.

        :raises datahub.configuration.common.OperationalError: the server refuses them.
        """
        self.emitter.emit_mcps(proposals)


@dataclass(frozen=True)
class File:
    """A JSON file, or a folder that gets one file for each run. ``run`` names that file."""

    path: Path
    run: str

    @property
    def name(self) -> str:
        return str(self.path)

    def missing(self, urn: str, aspects: Collection[str]) -> set[str]:
        return {*aspects}

    def send(self, proposals: Sequence[Proposal]) -> None:
        """Write proposals; replace the file if it exists."""
        path = self.path / f"{re.sub(r'[^A-Za-z0-9_.-]', '-', self.run)}.json" if self.path.is_dir() else self.path
        path.parent.mkdir(parents=True, exist_ok=True)
        pending = path.with_name(f".{path.name}.{os.getpid()}")
        pending.write_text(json.dumps([p.to_obj(simplified_structure=True) for p in proposals], indent=2))
        pending.replace(path)


def require_library() -> None:
    """Check that DataHub's library is installed.

    :raises InvalidInput: it is not.
    """
    try:
        import datahub.emitter.mcp  # noqa: F401
    except ModuleNotFoundError as e:
        raise InvalidInput(
            f"DataHub needs the extra datahub ({e.name} is missing): pip install 'airflow-provider-odf[datahub]'"
        ) from None


_FOLDER = "datahub"


def send(assertions: Assertions, destination: Destination, dataset: Dataset | None = None) -> int:
    """Send the assertions of a contract test, and return the number of proposals.

    The dataset keeps the URNs of its assertions, so that the next test removes those whose clause left the contract.
    """
    about = assertions.dataset_aspects()
    lacking = destination.missing(assertions.dataset, about)
    # One file for each destination and URN of the dataset.
    key = hashlib.sha256(f"{destination.name} {assertions.dataset}".encode()).hexdigest()[:32]
    former = (info_files.get(dataset, _FOLDER, key) or {}).get("assertions", ()) if dataset is not None else ()
    proposals = [*(p for name, p in about.items() if name in lacking), *assertions.proposals(former)]
    destination.send(proposals)
    if dataset is not None and {*former} != {*assertions.urns}:
        info_files.put(dataset, _FOLDER, key, {"destination": destination.name, "assertions": sorted(assertions.urns)})
    return len(proposals)
