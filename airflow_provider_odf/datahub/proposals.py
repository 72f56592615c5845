"""A contract report as proposals of metadata changes, which DataHub's emitters and files hold."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from datahub.emitter.mcp import MetadataChangeProposalWrapper as Proposal
from datahub.metadata import schema_classes as dh

from airflow_provider_odf.datahub import assertions, urns
from airflow_provider_odf.datahub.assertions import Target
from airflow_provider_odf.datahub.events import Run, run_event
from airflow_provider_odf.datahub.schema import schema_fields, schema_metadata
from airflow_provider_odf.lineage.dataset import Subject
from airflow_provider_odf.protocol import Contract, ContractReport


@dataclass(frozen=True)
class Options:
    """Options of an installation. ``instance`` is the name of the platform's instance, empty for none; ``env`` is
    DataHub's environment of datasets."""

    env: str = "PROD"
    instance: str = ""
    raises_incidents: bool = True


@dataclass(frozen=True)
class Assertions:
    """The assertions of a contract on a dataset, with the results of a run."""

    contract: Contract
    report: ContractReport
    subject: Subject
    run: Run
    options: Options = Options()

    @cached_property
    def dataset(self) -> str:
        """The URN of the dataset."""
        return urns.dataset_urn(self.subject.edition_names.primary, self.options.env)

    @cached_property
    def urns(self) -> tuple[str, ...]:
        """The URNs of the clauses, in the order of the contract."""
        return tuple(urns.assertion_urn(self.contract.id, self.dataset, c.path) for c in self.contract.checks)

    def proposals(self, former: Collection[str] = ()) -> Iterator[Proposal]:
        """Yield the proposals. ``former`` are the URNs of the clauses at the last run: those that left the contract are
        removed."""
        target = Target.of(self.dataset, self.subject.alias, self.subject.columns)
        results = {result.path: result for result in self.report.results}
        platform = assertions.platform_instance(self.options.instance)
        for urn, check in zip(self.urns, self.contract.checks, strict=True):
            aspects: Sequence[dh._Aspect] = (
                assertions.info(check, self.contract, target),
                platform,
                assertions.actions(check, raises_incidents=self.options.raises_incidents),
                dh.StatusClass(removed=False),
            )
            yield from Proposal.construct_many(urn, aspects)
            if (result := results.get(check.path)) is not None:
                event = run_event(urn, self.dataset, check, result, self.report, self.run)
                yield Proposal(entityUrn=urn, aspect=event)
        for urn in sorted({*former} - {*self.urns}):
            yield Proposal(entityUrn=urn, aspect=dh.StatusClass(removed=True))

    def _tags(self) -> dict[str, list[str]]:
        """Return the tags of columns: ``pii``, ``classification: secret``."""
        columns = {column.name: self.subject.tags(column.name) for column in self.subject.columns}
        return {
            name: [key if value == "true" else f"{key}: {value}" for key, value in tags]
            for name, tags in columns.items()
            if tags
        }

    def dataset_aspects(self) -> dict[str, Proposal]:
        """Return the proposals about the dataset itself, by the names of their aspects; for a server without them."""
        subject, urn = self.subject, self.dataset
        properties = dh.DatasetPropertiesClass(
            name=subject.alias.rpartition("/")[2],
            qualifiedName=subject.alias,
            description=subject.description,
            customProperties={"odf.store": subject.store, **({"odf.id": subject.id} if subject.id else {})},
        )
        schema = schema_metadata(subject.alias, urns.platform_of(urn), schema_fields(subject.columns, self._tags()))
        aspects = [properties, schema] if subject.columns else [properties]
        return {aspect.ASPECT_NAME: Proposal(entityUrn=urn, aspect=aspect) for aspect in aspects}
