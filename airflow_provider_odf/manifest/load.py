"""Loader of manifests from files and folders: every valid dataset, and all problems of the others."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from pydantic import ValidationError

from airflow_provider_odf.errors import ManifestInvalid, Place, Problem
from airflow_provider_odf.manifest import files, rules
from airflow_provider_odf.manifest import folder_settings as folders
from airflow_provider_odf.manifest.document import Document
from airflow_provider_odf.manifest.findings import Finding, build, outline
from airflow_provider_odf.manifest.graph import AliasOf, Graph, alias_alone, cycles, same_names, unknown_inputs
from airflow_provider_odf.manifest.manifest import CONTENT, Loaded, Manifest, place
from airflow_provider_odf.manifest.model import (
    AddPushSource,
    DatasetSnapshot,
    MetadataBlock,
    MetadataEvent,
    SetPollingSource,
    SetTransform,
)
from airflow_provider_odf.manifest.problems import problems_of
from airflow_provider_odf.manifest.yaml_source import parse, read_text, scan
from airflow_provider_odf.wording import nearest

KINDS = ("DatasetSnapshot", "MetadataBlock", "MetadataEvent")
"""Resources of the specification that are written as manifests; the first declares datasets."""

_HINT = re.compile(r"^[ \t{]*[\"']?kind\b", re.MULTILINE)
_OURS = re.compile(r"dataset_?-?snapshot|metadata_?-?(?:block|event)", re.IGNORECASE)


def load(
    paths: Iterable[Path | str], *, known: Callable[[str], bool] = lambda ref: False, alias_of: AliasOf = alias_alone
) -> Loaded:
    """Return the manifests of files and folders, in their order; those of a folder by file name.

    Problems of files are returned, not raised.

    :param known: returns whether the store has a dataset that no manifest declares.
    :param alias_of: finds the datasets of the store that inputs name by id or location; by default there is no store.
    """
    loader = _Loader()
    for path in dict.fromkeys(map(Path, paths)):
        loader.take(path)
    loader.check_together(known, alias_of)
    return loader.loaded()


def load_block(text: str, file: str) -> tuple[MetadataBlock, int]:
    """Return the block of a ``MetadataBlock`` manifest and the manifest's version.

    :raises ManifestInvalid: the manifest is not valid; the error has all problems.
    """
    documents = parse(text, file)
    if len(documents) != 1 or documents[0].head("kind") != "MetadataBlock":
        raise ManifestInvalid(
            [Problem(Place(file), "the file must have exactly one manifest, with `kind: MetadataBlock`")]
        )
    document = documents[0]
    problems = _envelope_problems(document, (2, 3))
    if problems:
        raise ManifestInvalid(problems)
    try:
        block = MetadataBlock.model_validate(document.value["content"], by_alias=True, by_name=False)
    except ValidationError as e:
        raise ManifestInvalid(problems_of(e, document, CONTENT, MetadataBlock)) from e
    return block, document.value["version"]


class _Loader:
    """Collects manifests and problems file by file."""

    def __init__(self) -> None:
        self.manifests: list[Manifest] = []
        self.problems: list[Problem] = []
        self.warnings: list[Problem] = []
        self._seen: set[Path] = set()
        self._folders: list[Path] = []
        self._settings: set[Path] = set()
        self._names: set[str] = set()
        self._invalid: list[Manifest] = []

    def loaded(self) -> Loaded:
        return Loaded(tuple(self.manifests), tuple(sorted(self.problems)), tuple(sorted(set(self.warnings))))

    def take(self, path: Path) -> None:
        if path.is_dir():
            self._folder(path)
        elif files.is_manifest_name(path.name) or not path.exists():
            self._file(path, is_named=True)
        elif not files.is_beside_manifests(path.name):
            self.warnings.append(Problem(Place(str(path)), "ignored: not a manifest file name"))

    def _folder(self, path: Path) -> None:
        try:
            manifests = files.discover(path)
        except OSError as e:
            self.problems.append(Problem(Place(str(e.filename or path)), f"cannot be read: {e.strerror}"))
            return
        self._folders.append(_absolute(path))
        for file in manifests:
            self._file(file, is_named=False)

    def _file(self, path: Path, is_named: bool) -> None:
        real = path.resolve()
        if real in self._seen:
            return
        self._seen.add(real)
        try:
            text = read_text(path)
        except ManifestInvalid as e:
            self.problems += e.problems
            return
        documents, problems = scan(text, str(path)) if _HINT.search(text) or _OURS.search(text) else ([], [])
        if is_named or _OURS.search(text):
            self.problems += problems
        before = len(self.manifests) + len(self.problems)
        for document in documents:
            self._document(document, path)
        if is_named and len(self.manifests) + len(self.problems) == before and not problems:
            self.warnings.append(Problem(Place(str(path)), "ignored: the file has no DatasetSnapshot"))
        elif documents:
            self._check_settings(path)

    def _document(self, document: Document, path: Path) -> None:
        kind = document.head("kind")
        if kind is None and document.has("content") and _is_snapshot_but_for_kind(document):
            self.problems.append(Problem(document.place(), "a manifest needs `kind`", "write `kind: DatasetSnapshot`"))
            return
        if kind is None or not document.has("content"):
            if kind is not None and kind in KINDS:
                self.problems.append(Problem(document.place(), f"a {kind} needs `content`"))
            return
        if kind not in KINDS:
            if near := nearest(kind, KINDS, cutoff=0.75):
                place = document.place(("kind",))
                self.problems.append(Problem(place, f"unknown kind of manifest {kind!r}", f"did you mean `{near}`?"))
            return
        if kind != "DatasetSnapshot":
            self.warnings.append(Problem(document.place(), f"ignored: a {kind} declares no dataset"))
            return
        try:
            self._snapshot(document, path)
        except ManifestInvalid as e:
            self.problems += e.problems

    def _snapshot(self, document: Document, path: Path) -> None:
        content, problems = document.value["content"], _envelope_problems(document, (1,))
        try:
            snapshot = DatasetSnapshot.model_validate(content, by_alias=True, by_name=False)
        except ValidationError as e:
            problems += problems_of(e, document, CONTENT, DatasetSnapshot)
            snapshot = build(DatasetSnapshot, content)
        name = content.get("name") if isinstance(content, dict) else None
        self._names.add(name.lower() if isinstance(name, str) else "")
        findings = list(rules.check(snapshot))
        problems += (_problem(document, finding) for finding in findings if not finding.is_warning)
        self.warnings += (_problem(document, finding) for finding in findings if finding.is_warning)
        if not problems:
            self.manifests.append(Manifest(_normalized(snapshot), path, document))
            return
        self._invalid += (Manifest(valid, path, document) for valid in outline(snapshot))
        raise ManifestInvalid(problems)

    def _check_settings(self, path: Path) -> None:
        for file in folders.settings_files(path):
            if file not in self._settings:
                self._settings.add(file)
                try:
                    folders.read_settings(file)
                except ManifestInvalid as e:
                    self.problems += e.problems

    # --- all together ---

    def check_together(self, known: Callable[[str], bool], alias_of: AliasOf) -> None:
        self._refuse(list(same_names([*self.manifests, *self._invalid])))
        graph = Graph.of([*self.manifests, *self._invalid], alias_of)
        self._refuse(list(cycles(graph)))
        if "" not in self._names:
            self.warnings += unknown_inputs(
                graph, lambda ref: ref.lower() in self._names or known(ref), has_store=alias_of is not alias_alone
            )
        manifests = [(_absolute(m.file), m.snapshot) for m in self.manifests]
        below = defaultdict[Path, list[DatasetSnapshot]](list)
        for file, snapshot in manifests:
            for folder in file.parents:
                below[folder].append(snapshot)
        invalid_files = {_absolute(problem.place.file) for problem in self.problems}
        invalid = invalid_files.union(*(file.parents for file in invalid_files))
        for file in self._settings:
            is_whole = any(file.is_relative_to(path) for path in self._folders)
            if is_whole and file.parent not in invalid:
                self.warnings += folders.unknown_datasets(file, [s.name for s in below[file.parent]])
            if file not in invalid:
                derivatives = [s.name for s in below[file.parent] if s.kind == "Derivative"]
                self.warnings += folders.unused_schedules(file, derivatives)
        for folder in self._folders:
            if folder not in invalid:
                self.warnings += files.unknown_contracts(folder, [(file, s.name) for file, s in manifests])

    def _refuse(self, refused: Sequence[tuple[Manifest, Problem]]) -> None:
        self.problems += (problem for _, problem in refused)
        out = {id(manifest) for manifest, _ in refused}
        self.manifests = [manifest for manifest in self.manifests if id(manifest) not in out]
        self._invalid = [manifest for manifest in self._invalid if id(manifest) not in out]


def _absolute(path: Path | str) -> Path:
    return Path(os.path.abspath(path))


def _is_snapshot_but_for_kind(document: Document) -> bool:
    """Return whether a document is probably a snapshot; other YAML is ignored, even if it cannot be parsed."""
    try:
        content = document.value["content"]
    except ManifestInvalid:
        return False
    return isinstance(content, dict) and "metadata" in content


def _envelope_problems(document: Document, versions: Sequence[int]) -> list[Problem]:
    """Yield the problems outside of ``content``."""
    value = document.value
    problems = [
        Problem(document.place((key,), of_key=True), f"unknown key `{key}` beside `content`", "move or remove it")
        for key in value.keys() - {"kind", "version", "content"}
    ]
    if "version" not in value:
        problems.append(Problem(document.place(), "a manifest needs `version`", f"write `version: {versions[-1]}`"))
    elif value["version"] not in versions or isinstance(value["version"], bool):
        fix = "write " + " or ".join(f"`version: {version}`" for version in versions)
        message = f"version {value['version']!r} is not supported"
        problems.append(Problem(document.place(("version",)), message, fix))
    return problems


def _problem(document: Document, finding: Finding) -> Problem:
    return Problem(place(document, finding.path, finding.offset), finding.message, finding.fix)


def _normalized(snapshot: DatasetSnapshot) -> DatasetSnapshot:
    """Return the snapshot with ``queries`` alone in every transform."""
    return snapshot.model_copy(update={"metadata": tuple(map(_normalized_event, snapshot.metadata))})


def _normalized_event(event: MetadataEvent) -> MetadataEvent:
    if isinstance(event, SetTransform):
        return event.model_copy(update={"transform": event.transform.normalized()})
    if isinstance(event, SetPollingSource | AddPushSource) and event.preprocess is not None:
        return event.model_copy(update={"preprocess": event.preprocess.normalized()})
    return event
