"""Every error of the package.

::

    OdfError
    ├── InvalidInput            the user's input is wrong: manifest, contract, setting, argument
    │   └── ManifestInvalid     all problems of all files, each with its place
    ├── SourceError             the source failed, or does not match the manifest
    │   └── SourceUnavailable   the source cannot be reached at the moment: a retry may succeed
    ├── EngineError
    │   ├── InvalidQuery        the engine refused the data or the SQL: the same request fails again
    │   └── InternalError       the engine failed: a retry may succeed
    ├── ChainError              the chain is missing or damaged, or does not allow the operation
    │   ├── DatasetNotFound     the store has no dataset of that name
    │   ├── DatasetGone         a dataset that was in the store is missing
    │   ├── BlockRejected       a block breaks a rule of the metadata chain
    │   ├── ChainCorrupted      stored bytes differ from their hash, size or link
    │   ├── InputRewritten      the history of a derivative's input lost a block that the derivative was computed from
    │   ├── NotReproducible     a derivative has other records than its inputs give
    │   ├── NotReplayable       a transformation cannot be computed again here
    │   └── TypeUnsupported     the dataset format has no representation of a column's type
    ├── CommitConflict          another writer moved the ref first; nothing was changed, read again and retry
    ├── StorageError            the store cannot be read or written (disk full, permission, open files, memory)
    ├── CandidateRejected       new data was merged but not published: the candidate is kept
    │   ├── ContractRejected    its contract failed
    │   ├── InputHeldBack       its input looks wrong: no rows, too many retractions, another header
    │   └── StillRejected       nothing has changed since an earlier rejection
    ├── ContractInconclusive    a clause could not be evaluated: the candidate is kept
    └── UnexpectedError         a bug of the provider: report it
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from airflow_provider_odf.wording import bounded


class OdfError(Exception):
    """Base of all errors of the package. ``is_transient`` tells whether a retry can succeed."""

    is_transient: ClassVar[bool] = False

    def __str__(self) -> str:
        return bounded(super().__str__())


@dataclass(frozen=True, order=True)
class Place:
    """Place in a file: line and column count from 1; 0 refers to the whole file."""

    file: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}" if self.line else self.file


@dataclass(frozen=True, order=True)
class Problem:
    """Problem in an input file: the place, the message and, if known, the fix."""

    place: Place
    message: str
    fix: str = ""

    def __str__(self) -> str:
        return f"{self.place}: {bounded(self.message)}" + (f" ({bounded(self.fix)})" if self.fix else "")


class InvalidInput(OdfError):
    """The user's input is wrong; the message names the place and the next step."""


class ManifestInvalid(InvalidInput):
    """One or more files are not valid; ``problems`` has all of them, in file order."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__()

    def __str__(self) -> str:
        return "\n".join(map(str, self.problems))


class SourceError(OdfError):
    """The source's answer does not match the manifest."""

    def __init__(self, message: str, at: Sequence[str] = ()) -> None:
        """Create the error; ``at`` is the path in the fetch step of the value that does not match the source."""
        super().__init__(message)
        self.at = tuple(at)


class SourceUnavailable(SourceError):
    """The source could not be reached, or the connection was lost."""

    is_transient = True


class EngineError(OdfError):
    """The engine returned no result."""


class InvalidQuery(EngineError):
    """The engine refused the data or the SQL; the same request fails again."""


class InternalError(EngineError):
    """The engine failed; ``backtrace`` is its stack trace, or empty."""

    is_transient = True

    def __init__(self, message: str, backtrace: str = "") -> None:
        super().__init__(message)
        self.backtrace = backtrace


class EngineLost(InternalError):
    """The engine ended before it answered; ``was_closed`` tells whether its client ended it."""

    def __init__(self, message: str, backtrace: str = "", *, was_closed: bool = False) -> None:
        super().__init__(message, backtrace)
        self.was_closed = was_closed


class ChainError(OdfError):
    """The chain of a dataset is missing or damaged, or does not allow the operation."""


class DatasetNotFound(ChainError):
    """The store has no such dataset."""


class DatasetGone(ChainError):
    """A dataset that was in the store is missing, or its head is; runs do not replace it with a new dataset."""


class BlockRejected(ChainError):
    """A block breaks the named rule of the metadata chain."""

    def __init__(self, rule: str, message: str) -> None:
        super().__init__(f"{message} (rule {rule})")
        self.rule = rule


class ChainCorrupted(ChainError):
    """Stored bytes differ from their hash, size or link."""


class InputRewritten(ChainError):
    """The history of a derivative's input was rewritten: it lost the block up to which the derivative was computed."""


class NotReproducible(ChainError):
    """A block of a derivative has other records than its transformation of its inputs."""


class NotReplayable(ChainError):
    """A transformation of a derivative cannot be computed again, for example because another system wrote it."""


class TypeUnsupported(ChainError):
    """The dataset format has no representation of a column's type."""


class CommitConflict(OdfError):
    """Another writer moved the ref first; nothing was changed. Read the ref again and retry."""

    is_transient = True


class StorageError(OdfError):
    """The operating system refused a file of the store or work area, space or memory; stored bytes may be intact."""

    is_transient = True


class CandidateRejected(OdfError):
    """New data was merged but not published. ``candidate`` is the rejected candidate, ``notices`` are messages for the
    user."""

    def __init__(self, message: str, candidate: object = None, notices: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.candidate = candidate
        self.notices = tuple(notices)


class ContractRejected(CandidateRejected):
    """New data violate the contract."""


class InputHeldBack(CandidateRejected):
    """An input looks wrong: it has no rows, would retract too many, or has another header than before."""


class StillRejected(CandidateRejected):
    """The newest input is still rejected: neither source, manifest nor contract changed since."""


class ContractInconclusive(OdfError):
    """A clause could not be evaluated, so the contract has no result; the candidate is kept."""


class UnexpectedError(OdfError):
    """A bug of the provider: an exception that it does not handle. ``__cause__`` has the traceback."""
