"""Documentation of a dataset in Airflow's UI, in Markdown: description, sources or inputs and queries, merge strategy,
schema, license and attachments."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from airflow_provider_odf.dag.markdown import block, cell, code, document, link, readable, table
from airflow_provider_odf.errors import ManifestInvalid
from airflow_provider_odf.manifest import ddl, model, public_source
from airflow_provider_odf.manifest import url as urls

if TYPE_CHECKING:
    from airflow_provider_odf.contract.binding import Location
    from airflow_provider_odf.errors import Problem
    from airflow_provider_odf.manifest.manifest import Manifest
    from airflow_provider_odf.protocol import Evaluation

_MAX_DESCRIPTION, _MAX_QUERY, _MAX_README = 2_000, 10_000, 20_000
_MAX_ATTACHMENTS, _MAX_CLAUSES, _MAX_CLAUSE = 20, 100, 200
_README = re.compile(r"readme(\.(md|markdown|txt))?", re.IGNORECASE)


def doc_md(
    manifest: Manifest,
    uri: str,
    contract: Location | None,
    warnings: Sequence[Problem] = (),
    evaluation: Evaluation | None = None,
    *,
    has_clauses: bool = False,
    pages: Mapping[str, str] | None = None,
) -> str:
    """Return the DAG's documentation. It has no HTML, whatever the manifest has.

    :param evaluation: of the queries of a derivative, if it is known.
    :param has_clauses: whether the contract is read, to list its clauses.
    :param pages: labels and paths of the pages about the dataset.
    """
    snapshot = manifest.snapshot
    info, attached = snapshot.last(model.SetInfo), snapshot.last(model.SetAttachments)
    attachments = attached.attachments.items if attached else ()
    readme = next((a for a in attachments if _README.fullmatch(a.path)), None)
    rows = [*_facts(manifest, uri, contract, evaluation), *_about(snapshot, info, attachments)]
    if pages:
        rows.append(("Pages", ", ".join(f"[{label}]({path})" for label, path in pages.items())))
    sections = [
        f"## {cell(str(snapshot.name))}",
        f"**Warnings**\n\n{block(warnings)}" if warnings else "",
        document(info.description, under=2, limit=_MAX_DESCRIPTION) if info and info.description else "",
        table(*rows),  # an empty header would be shown as a bar
        _schema(snapshot),
        "\n\n".join(_queries(snapshot)),
        _contract(contract, str(snapshot.name)) if contract is not None and has_clauses else "",
        document(readme.content, under=2, limit=_MAX_README) if readme and readme.content.strip() else "",
    ]
    # A final newline, because Airflow reads a text that ends with `.md` as the name of a file.
    return readable("\n\n".join(section.strip("\n") for section in sections if section.strip()) + "\n")


def _facts(
    manifest: Manifest, uri: str, contract: Location | None, evaluation: Evaluation | None
) -> Iterator[tuple[str, str]]:
    snapshot = manifest.snapshot
    yield "Kind", f"{snapshot.kind} dataset"
    yield from _sources(snapshot)
    yield from _transform(snapshot, evaluation)
    if contract is not None:
        yield "Data contract", code(contract.label)
    yield "Manifest", code(manifest.file.name)
    yield "Stored at", code(uri)


def _sources(snapshot: model.DatasetSnapshot) -> Iterator[tuple[str, str]]:
    polling = snapshot.last(model.SetPollingSource)
    if polling is not None:
        yield "Source", code(public_source.fetch(polling.fetch))
        yield "Read", _steps(polling)
        yield "Merge", _merge(polling.merge)
    for push in snapshot.events(model.AddPushSource):
        yield "Push source", f"{code(push.source_name)}: {_steps(push)}, {_merge(push.merge)}"


def _transform(snapshot: model.DatasetSnapshot, evaluation: Evaluation | None) -> Iterator[tuple[str, str]]:
    event = snapshot.last(model.SetTransform)
    if event is None:
        return
    for declared in event.inputs:
        is_renamed = declared.alias is not None and declared.alias != declared.dataset_ref
        yield "Input", code(declared.dataset_ref) + (f" as {code(declared.alias or '')}" if is_renamed else "")
    yield "Engine", cell(event.transform.engine)
    for temporal in event.transform.temporal_tables or ():
        yield "Temporal table", f"{code(temporal.name)} by {', '.join(map(code, temporal.primary_key))}"
    if evaluation is not None:
        yield "Evaluation", f"{cell(evaluation.kind)}: {cell(evaluation.reason)}"


def _queries(snapshot: model.DatasetSnapshot) -> Iterator[str]:
    event = snapshot.last(model.SetTransform)
    for step in event.transform.steps if event is not None else ():
        query = step.query.strip()
        lines = query if len(query) <= _MAX_QUERY else f"{query[:_MAX_QUERY]}\n…"
        yield f"**Query {code(step.alias)}**" if step.alias else "**Query**"
        yield block(lines.splitlines())


def _steps(source: model.SetPollingSource | model.AddPushSource) -> str:
    return ", ".join(cell(step) for step in public_source.steps(source))


def _merge(merge: model.MergeStrategy) -> str:
    key = ", ".join(map(code, merge.primary_key))
    return f"{merge.kind} by {key}" if key else merge.kind


def _about(
    snapshot: model.DatasetSnapshot, info: model.SetInfo | None, attachments: Sequence[model.AttachmentEmbedded]
) -> Iterator[tuple[str, str]]:
    """Yield label and text of rows: keywords, license and attachments."""
    if info is not None and info.keywords:
        yield "Keywords", ", ".join(cell(keyword) for keyword in info.keywords)
    license_ = snapshot.last(model.SetLicense)
    if license_ is not None:
        spdx = f" (SPDX {code(license_.spdx_id)})" if license_.spdx_id else ""
        yield "License", link(license_.name or license_.short_name, urls.public(license_.website_url)) + spdx
    if attachments:
        listed = [
            f"{code(a.path)} ({public_source.size(len(a.content.encode()))})" for a in attachments[:_MAX_ATTACHMENTS]
        ]
        more = len(attachments) - len(listed)
        yield "Attachments", ", ".join([*listed, *([f"{more} more"] if more else [])])


def _schema(snapshot: model.DatasetSnapshot) -> str:
    """Return the columns of the polling source, or of the first push source, as a table."""
    polling = snapshot.last(model.SetPollingSource)
    sources = [polling] if polling else snapshot.events(model.AddPushSource)
    source = next((s for s in sources if ddl.columns(s.read)), None)
    if source is None:
        return ""
    key = {name.lower() for name in source.merge.primary_key}
    rows = [
        (f"{cell(column.name)}{' (key)' if column.name.lower() in key else ''}", code(column.type))
        for column in ddl.columns(source.read) or ()
    ]
    return f"**Columns{' as read' if source.preprocess else ''}**\n\n{table(('Name', 'Type'), *rows)}"


def _contract(location: Location, dataset: str) -> str:
    """Return the section about a contract: owner, terms, and each clause with whether it is enforced."""
    from airflow_provider_odf.contract.binding import of_dataset
    from airflow_provider_odf.contract.terms import terms

    try:
        file = location.load(is_offline=True)
        checks = of_dataset(file, dataset).checks
    except ManifestInvalid as e:
        return f"**Data contract**\n\nThe contract is not valid: {_clause(str(e.problems[0]))}"
    about = "".join(f"- {label}: {_clause(text)}\n" for label, text in terms(file).items())
    rows = [(_clause(c.description), _clause(f"no: {c.reason}" if c.outcome else "yes")) for c in checks]
    more = [(f"{len(rows) - _MAX_CLAUSES} more", "")] if len(rows) > _MAX_CLAUSES else []
    return f"**Data contract**\n\n{about}\n{table(('Clause', 'Enforced'), *rows[:_MAX_CLAUSES], *more)}"


def _clause(text: str) -> str:
    return cell(text if len(text) <= _MAX_CLAUSE else f"{text[:_MAX_CLAUSE]}…")
