"""New input as the engine can read it: sealed in the work area, shapefiles converted, and read ahead of its merge.

One step writes the seal of the files, the next one compares them with it.
"""

from __future__ import annotations

import dataclasses
import shutil
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, cast

from airflow_provider_odf import protocol
from airflow_provider_odf.closed_files import make_folders
from airflow_provider_odf.cycle import held_back
from airflow_provider_odf.cycle.exchange import sealed_folder
from airflow_provider_odf.cycle.messages import Input, InputFile, Progress
from airflow_provider_odf.cycle.sources import read_step, source_of
from airflow_provider_odf.error_conversion import storage_errors
from airflow_provider_odf.errors import ChainCorrupted, InvalidInput
from airflow_provider_odf.evolution import columns
from airflow_provider_odf.seal import first_altered, seal
from airflow_provider_odf.source.options import Options

if TYPE_CHECKING:
    from airflow_provider_odf.chain.store import Store
    from airflow_provider_odf.cycle.cycle import Cycle
    from airflow_provider_odf.protocol import Column, ReadStep
    from airflow_provider_odf.source.shapefile import Converted


def seal_input(store: Store, new_input: Input, dataset_id: str) -> None:
    """Seal the files of an input in its directory. Other files have no seal."""
    if directory := sealed_folder(store, new_input):
        seal(directory, _paths(new_input, directory), dataset=dataset_id)


def check_input(store: Store, new_input: Input, dataset_id: str) -> None:
    """Compare the files of an input with their seal.

    :raises ChainCorrupted: a file is missing or was changed.
    :raises StorageError: a file cannot be read.
    """
    directory = sealed_folder(store, new_input)
    if directory is None:
        return
    with storage_errors(directory):
        altered = first_altered(directory, _paths(new_input, directory), dataset=dataset_id)
    if altered is not None:
        raise ChainCorrupted(
            f"{altered}: the file is missing or was changed after it was fetched for {new_input.dataset}: "
            "run again to fetch it again (in Airflow, clear the task that fetched it)"
        )


def _paths(new_input: Input, directory: Path) -> list[Path]:
    paths = [Path(path) for file in new_input.files for path in file.paths]
    return [path for path in paths if directory in path.parents]


@dataclass(frozen=True)
class EngineInputs:
    """Inputs as the engine can read them."""

    read: ReadStep
    files: tuple[InputFile, ...]
    notices: tuple[str, ...] = ()


def engine_inputs(
    read: ReadStep,
    files: tuple[InputFile, ...],
    work: Path,
    progress: Progress,
    options: Options,
) -> EngineInputs:
    """Return inputs with zipped shapefiles converted to files in ``work``. Without a schema, the first shapefile
    declares the columns.

    :raises SourceError: a file is not a zip with a valid shapefile.
    :raises InvalidInput: a column of the schema is not in a shapefile.
    """
    converter = read.format.converter
    if converter is None:
        return EngineInputs(read, files)
    convert: Callable[..., Converted] = import_module(f"airflow_provider_odf.source.{converter}").convert
    columns, converted, notices = read.columns, list[InputFile](), dict[str, None]()
    for index, file in enumerate(files):
        targets = [work / f"features-{index:05}-{part:05}.ndgeojson" for part, _ in enumerate(file.paths)]
        for path, target in zip(file.paths, targets, strict=True):
            result = convert(Path(path), target, read.sub_path, file.label, options, progress)
            columns = columns or result.columns
            _check_columns(columns, result.columns, file.label)
            notices |= dict.fromkeys(result.notices)
        converted.append(dataclasses.replace(file, paths=tuple(map(str, targets))))
    return EngineInputs(dataclasses.replace(read, columns=columns), tuple(converted), tuple(notices))


def _check_columns(columns: Sequence[Column], actual: Sequence[Column], label: str) -> None:
    """:raises InvalidInput: a column of the schema is not in the shapefile."""
    actual_names = {column.name.lower() for column in actual}
    if missing := [column.name for column in columns if column.name.lower() not in actual_names]:
        names = ", ".join(column.name for column in actual)
        raise InvalidInput(f"{label}: no column {', '.join(missing)} in the shapefile, which has {names}")


def read(cycle: Cycle, new_input: Input) -> Input:
    """Return an input as typed Parquet in the work area, which `merge` does not read and preprocess again. Where the
    engine does not see the work area, the merge reads the input.

    :raises InvalidQuery: the data or the SQL are not valid.
    :raises SourceError: the input is no shapefile, where one is to be read.
    :raises ChainCorrupted: a fetched file is damaged.
    :raises InternalError: the engine broke down.
    """
    if cycle.passes_objects:
        return new_input
    state = cycle.states(cycle.store.dataset(new_input.dataset), new_input.base)
    check_input(cycle.store, new_input, state.dataset_id)
    source = source_of(state, new_input.source_name)
    # In the folder of the fetched files it is removed with them; other files have no such folder.
    parent = cycle.store.scratch(new_input.dataset)
    work = (parent / new_input.directory if new_input.directory else parent) / f"read-{uuid.uuid4().hex[:12]}"
    make_folders(work)
    features = work / "features"
    inputs = engine_inputs(
        read_step(source, new_input, state), new_input.files, features, cycle.progress, cycle.options
    )
    requests = [
        protocol.RawQueryRequest(
            input_data_paths=file.paths,
            output_data_path=str(work / f"{index}.parquet"),
            transform=columns.preprocess(source, inputs.read),
            read=inputs.read,
            label=file.label,
            dataset_alias=new_input.dataset,
            sensitive_columns=tuple(sorted(cycle.sensitivity.labels)),
        )
        for index, file in enumerate(inputs.files)
    ]
    answers = [cycle.runner.submit(request, cycle.progress) for request in requests]
    read_inputs = [cast(protocol.RawQuerySuccess, answer.result()) for answer in answers]
    shutil.rmtree(features, ignore_errors=True)
    outputs = iter(requests)
    files = tuple(
        dataclasses.replace(file, paths=(next(outputs).output_data_path,)) if file.paths else file
        for file in new_input.files
    )
    positional = held_back.distinct_headers(header for success in read_inputs for header in success.headers)
    warnings = (*new_input.warnings, *inputs.notices)
    result = dataclasses.replace(new_input, files=files, is_read=True, headers=positional, warnings=warnings)
    seal_input(cycle.store, result, state.dataset_id)
    return result
