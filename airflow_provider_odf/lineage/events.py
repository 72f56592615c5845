"""Lineage of a dataset's tasks: datasets with facets for Airflow's ``OperatorLineage``.

Poll reads the source. Merge reads the source and writes the dataset with the candidate's block hash as version.
Transform reads the inputs of a derivative, each with the hash of the newest block that it reads, and writes the
derivative as merge does. Contract_test reads that version and reports the contract's results. Publish writes the
dataset with its head as version, so a rejected run publishes no version. A task that has not begun, failed or was
skipped has the same datasets, without what it did not do. All functions are pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import attr
from openlineage.client.event_v2 import InputDataset, OutputDataset
from openlineage.client.facet_v2 import DatasetFacet, JobFacet, RunFacet

from airflow_provider_odf.lineage import facets
from airflow_provider_odf.lineage.columns import Reading
from airflow_provider_odf.lineage.dataset import Counts, Input, Subject
from airflow_provider_odf.lineage.naming import EditionNames, Identifier
from airflow_provider_odf.protocol import Contract, ContractReport, Transform


class TaskLineage(NamedTuple):
    """Lineage of one task, in the order of the arguments of ``OperatorLineage``."""

    inputs: tuple[InputDataset, ...] = ()
    outputs: tuple[OutputDataset, ...] = ()
    run_facets: Mapping[str, RunFacet] = {}
    job_facets: Mapping[str, JobFacet] = {}


def poll(sources: Sequence[EditionNames], counts: Counts | None = None) -> TaskLineage:
    """Return the lineage of a task that reads sources."""
    return TaskLineage(inputs=tuple(source_dataset(source, counts) for source in sources))


def merge(
    sources: Sequence[EditionNames],
    subject: Subject,
    candidate: str | None,
    counts: Counts | None = None,
    *,
    reading: Reading | None = None,
    read: Counts | None = None,
) -> TaskLineage:
    """Return the lineage of a task that merges data of sources into a candidate.

    :param reading: how the source is read, for the lineage of columns.
    :param read: what was read.
    """
    columns = facets.columns_of_merge([s.primary for s in sources], reading, subject) if reading else {}
    return TaskLineage(
        tuple(source_dataset(source, read) for source in sources),
        (odf_output(subject, candidate, counts, columns),),
        job_facets=facets.sql(reading.preprocess) if reading else {},
    )


def transform(
    inputs: Sequence[Input], query: Transform, subject: Subject, candidate: str | None, counts: Counts | None = None
) -> TaskLineage:
    """Return the lineage of a task that computes new records of a derivative into a candidate."""
    return TaskLineage(
        inputs=tuple(odf_input(i.subject, i.version, i.counts) for i in inputs),
        outputs=(odf_output(subject, candidate, counts, facets.columns_of_transform(inputs, query, subject)),),
        job_facets=facets.sql(query),
    )


def contract_test(subject: Subject, candidate: str, contract: Contract, report: ContractReport) -> TaskLineage:
    """Return the lineage of a task that tests a candidate against its contract."""
    tested = odf_input(subject, candidate, Counts(report.tested_rows))
    results = {
        "dataQualityAssertions": facets.assertions(report, contract),
        "dataQualityMetrics": facets.metrics(report),
    }
    tested = attr.evolve(tested, inputFacets={**(tested.inputFacets or {}), **results})
    return TaskLineage(inputs=(tested,), run_facets={"test": facets.test_run(report, contract)})


def publish(
    subject: Subject, head: str | None, counts: Counts | None = None, *, is_first: bool | None = None
) -> TaskLineage:
    """Return the lineage of a task that publishes a candidate; ``is_first`` tells whether the dataset had no data, None
    that nothing was published."""
    change = facets.lifecycle(is_first=is_first) if is_first is not None else {}
    return TaskLineage(outputs=(odf_output(subject, head, counts, change),))


def read(subject: Subject, version: str | None, counts: Counts | None = None) -> TaskLineage:
    """Return the lineage of a task that only reads a dataset."""
    return TaskLineage(inputs=(odf_input(subject, version, counts),))


def source_dataset(source: EditionNames, counts: Counts | None = None) -> InputDataset:
    """Return a source as the input of a task."""
    links = facets.symlinks([(identifier, "LOCATION") for identifier in source.symlinks])
    return _input(source.primary, {**facets.data_source(source.primary), **links}, counts)


def odf_input(subject: Subject, version: str | None, counts: Counts | None = None) -> InputDataset:
    """Return an ODF dataset as an input of a task; ``version`` is a block hash."""
    return _input(subject.edition_names.primary, facets.of_subject(subject, version), counts)


def _input(name: Identifier, about: dict[str, DatasetFacet], counts: Counts | None) -> InputDataset:
    return InputDataset(name.namespace, name.name, facets=about, inputFacets=facets.input_statistics(counts))


def odf_output(
    subject: Subject,
    version: str | None,
    counts: Counts | None = None,
    more: Mapping[str, DatasetFacet] | None = None,
) -> OutputDataset:
    """Return an ODF dataset as the output of a task; ``version`` is a block hash, ``more`` are further facets."""
    name, about = subject.edition_names.primary, {**facets.of_subject(subject, version), **(more or {})}
    return OutputDataset(name.namespace, name.name, facets=about, outputFacets=facets.output_statistics(counts))
