"""Configuration of a cycle."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow_provider_odf.author import Author
from airflow_provider_odf.chain.replay import replay
from airflow_provider_odf.chain.state import ChainState
from airflow_provider_odf.cycle.exchange import without_shared_copy
from airflow_provider_odf.cycle.messages import Limits, Progress, silent
from airflow_provider_odf.errors import ChainCorrupted, ManifestInvalid
from airflow_provider_odf.evolution.apply import Report, apply
from airflow_provider_odf.evolution.inputs import linked
from airflow_provider_odf.manifest import model
from airflow_provider_odf.manifest.folder_settings import FolderSettings, settings_for
from airflow_provider_odf.protocol import SLICE_RECORDS
from airflow_provider_odf.source.options import Options

if TYPE_CHECKING:
    from airflow_provider_odf.chain.dataset import Dataset
    from airflow_provider_odf.chain.store import Store
    from airflow_provider_odf.contract.binding import Location
    from airflow_provider_odf.contract.load import ContractFile
    from airflow_provider_odf.contract.sensitivity import Sensitivity
    from airflow_provider_odf.cycle.sensitive import SensitiveColumns
    from airflow_provider_odf.instant import Instant
    from airflow_provider_odf.manifest.manifest import Manifest
    from airflow_provider_odf.protocol import Contract, Request, SparkUse, Success
    from airflow_provider_odf.runner import Runner


class States:
    """States of datasets by block, for all steps of a process: each chain is replayed once for each block."""

    def __init__(self) -> None:
        self._states: dict[tuple[str, str], ChainState] = {}

    def __call__(self, dataset: Dataset, block_hash: str | None = None) -> ChainState:
        """Return the state of a dataset at a block, by default its head.

        :raises DatasetNotFound: there is no head.
        :raises ChainCorrupted: a block is missing or damaged.
        """
        state = self._states.get((dataset.uri, block_hash or str(dataset.head())))
        if state is None:
            state = replay(dataset) if block_hash is None else replay(dataset, block_hash)
            self.keep(dataset, state)
        return state

    def keep(self, dataset: Dataset, state: ChainState) -> None:
        """Keep a state that follows from blocks that were read or written."""
        self._states[dataset.uri, state.head] = state


@dataclass(frozen=True)
class Cycle:
    """Configuration of the steps of one cycle: the dataset, its store and manifest, and what steps run with.

    Without a manifest, limits have their defaults. ``environment`` fills templates of the
    manifest. ``options`` and ``manifest_version`` are settings of the installation.
    """

    store: Store
    dataset: str
    runner: Runner
    system_time: Instant
    manifest: Manifest | None = None
    environment: Mapping[str, str] = field(default_factory=dict)
    options: Options = field(default_factory=Options)
    manifest_version: int = 3
    progress: Progress = silent
    contract_file: str | None = None
    """Path of a contract that overrides the manifest's contract."""
    spark: SparkUse | None = None
    """When Spark is used; None: as the runner decides."""
    slice_records: int = SLICE_RECORDS
    """Maximum number of records in a slice of a merge."""
    author: Author = field(default_factory=Author)
    """Who publishes, in which run."""
    states: States = field(default_factory=States, repr=False, compare=False)

    @cached_property
    def inputs(self) -> Store:
        """The store, with the inputs in other stores that the manifest names by their locations."""
        return linked(self.store, self.manifest)

    @cached_property
    def contract_location(self) -> Location | None:
        """Where the dataset's contract is, if it has one. Without a manifest, the attachment in the chain counts."""
        from airflow_provider_odf.contract.binding import Location, attached, contract_location

        if self.manifest is not None:
            return contract_location(self.manifest, self.contract_file)
        if self.contract_file is not None:
            return Location(Path(self.contract_file))
        dataset = self.store.get(self.dataset)
        return None if dataset is None else attached(self.states(dataset).attachments, Path(self.dataset))

    @cached_property
    def contract(self) -> Contract | None:
        """The compiled contract of the dataset, if it has one.

        :raises ManifestInvalid: it is not valid, or names columns that the manifest cannot give.
        """
        if self._contract_document is None:
            return None
        from airflow_provider_odf.contract.binding import of_dataset
        from airflow_provider_odf.contract.lint import manifest_problems

        file = self._contract_document
        contract = of_dataset(file, self._name, self.sensitivity)
        if self.manifest is not None and (errors := sorted(manifest_problems(self.manifest, file, contract))):
            raise ManifestInvalid(errors)
        return contract

    @cached_property
    def sensitivity(self) -> Sensitivity:
        """The sensitive columns of the dataset: by its contract, and by those of its inputs.

        :raises ManifestInvalid: the contract is not valid.
        """
        from airflow_provider_odf.contract.binding import model_name
        from airflow_provider_odf.contract.sensitivity import Sensitivity, of_model

        file = self._contract_document
        own = of_model(file.contract.model(model_name(file, self._name))) if file is not None else Sensitivity()
        if self.manifest is not None:
            return self.sensitive_columns.of_transform(own, self.manifest.snapshot.last(model.SetTransform))
        dataset = self.store.get(self.dataset)
        return own if dataset is None else self.sensitive_columns.of(dataset, self.states(dataset), own)

    @cached_property
    def sensitive_columns(self) -> SensitiveColumns:
        """The sensitive columns of the datasets that the cycle finds; contracts are next to the manifest."""
        from airflow_provider_odf.cycle.sensitive import SensitiveColumns

        folder = self.manifest.file.parent if self.manifest is not None else None
        return SensitiveColumns(self.inputs, folder, self.states)

    @property
    def passes_objects(self) -> bool:
        """Whether the engine reads and writes objects of the store's bucket, since it may not see this machine."""
        return self.store.is_remote and not self.runner.shares_disk

    @property
    def _name(self) -> str:
        return str(self.manifest.snapshot.name if self.manifest else self.dataset)

    @property
    def said_by_contract(self) -> dict[str, Any]:
        """What the dataset's contract says to people, as `candidates.Record` keeps it: owner and terms, what columns
        mean, which are sensitive, and its promises about the dataset over time."""
        if (file := self._contract_document) is None or self.contract is None:
            return {"sensitivity": self.sensitivity}
        from airflow_provider_odf.contract.binding import model_name
        from airflow_provider_odf.contract.service_levels import PROMISES
        from airflow_provider_odf.contract.terms import column_terms, terms

        return {
            "terms": terms(file),
            "columns": column_terms(file.contract.model(model_name(file, self._name))),
            "sensitivity": self.sensitivity,
            "promises": tuple(check for check in self.contract.checks if check.kind in PROMISES),
        }

    @cached_property
    def _contract_document(self) -> ContractFile | None:
        return self.contract_location.load() if self.contract_location is not None else None

    @cached_property
    def limits(self) -> Limits:
        """The limits of ``odf.yaml`` for the dataset.

        :raises ManifestInvalid: a settings file that applies is not valid.
        """
        return limits_of(self.manifest) if self.manifest is not None else Limits()

    def ask(self, request: Request) -> Success:
        """Send a request to the engine, and wait for its answer.

        :raises InvalidQuery: the engine refuses the request.
        :raises InternalError: the engine broke down.
        :raises InvalidInput: the engine cannot be started.
        :raises ChainCorrupted: a stored file is missing or damaged.
        :raises StorageError: the engine lacks space, memory or access to a file, or a copy of an input.
        """
        try:
            return self.runner.submit(request, self.progress).result()
        except ChainCorrupted as e:
            raise without_shared_copy(self.store, e) from None

    def apply_manifest(self, report: Report | None = None) -> ChainState:
        """Apply the manifest, if there is one, and return the state of the chain. ``report`` receives the kind of each
        event that is appended to a dataset that exists.

        :raises ManifestInvalid: the manifest changes what existing data depend on, or a query is not valid.
        :raises InternalError: the engine broke down.
        :raises CommitConflict: other writers came first, each time.
        :raises DatasetNotFound: there is neither a manifest nor a dataset.
        :raises DatasetGone: the store had the dataset, and it is gone.
        :raises InvalidInput: the dataset is a read-only copy.
        """
        if self.manifest is None:
            dataset = self.store.dataset(self.dataset)
            state = self.states(dataset)
            self.store.check_own(dataset, state.dataset_id)
            dataset.storage.sync("refs")
            return state
        state = apply(
            self.inputs,
            self.manifest,
            self.system_time,
            manifest_version=self.manifest_version,
            ask=self.ask,
            report=report,
            states=self.states,
        )
        dataset = self.store.dataset(self.dataset)
        self.states.keep(dataset, state)
        dataset.storage.sync("refs")  # the head may be that of a writer which was killed before it did so
        return state


def settings_of(manifest: Manifest | None) -> FolderSettings:
    """Return the settings of a manifest's dataset, from ``odf.yaml``; the defaults without a manifest.

    :raises ManifestInvalid: a settings file that applies is not valid.
    """
    return settings_for(manifest.file, manifest.snapshot.alias) if manifest is not None else FolderSettings()


def limits_of(manifest: Manifest) -> Limits:
    """Return the limits of a manifest's dataset, from ``odf.yaml``.

    :raises ManifestInvalid: a settings file that applies is not valid.
    """
    settings = settings_of(manifest)
    return Limits(settings.allow_empty_input, settings.max_retracted_share)
