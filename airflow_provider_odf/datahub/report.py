"""Report a contract test to DataHub."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from airflow_provider_odf.chain import info_files

if TYPE_CHECKING:
    from airflow_provider_odf.chain.dataset import Dataset
    from airflow_provider_odf.datahub.proposals import Assertions
    from airflow_provider_odf.datahub.send import Destination

_FOLDER = "datahub"


def send(assertions: Assertions, destination: Destination, dataset: Dataset | None = None) -> int:
    """Send the assertions of a contract test, and return the number of proposals.

    The dataset keeps the URNs of its assertions, so that the next test removes those whose clause left the contract.
    """
    about = assertions.dataset_aspects()
    lacking = destination.missing(assertions.dataset, about)
    key = _key(assertions, destination)
    former = (info_files.get(dataset, _FOLDER, key) or {}).get("assertions", ()) if dataset is not None else ()
    proposals = [*(p for name, p in about.items() if name in lacking), *assertions.proposals(former)]
    destination.send(proposals)
    if dataset is not None and {*former} != {*assertions.urns}:
        info_files.put(dataset, _FOLDER, key, {"destination": destination.name, "assertions": sorted(assertions.urns)})
    return len(proposals)


def _key(assertions: Assertions, destination: Destination) -> str:
    """Return the name of the file with the URNs: one for each destination and URN of the dataset."""
    return hashlib.sha256(f"{destination.name} {assertions.dataset}".encode()).hexdigest()[:32]
