"""Every error of the package.

::

    OdfError
    ├── InvalidInput            what the user wrote is wrong: manifest, contract, setting, argument
    │   └── ManifestInvalid     all problems of all files, each with its place
    ├── SourceError             the source cannot be had or is not what the manifest says
    │   └── SourceUnavailable   … this time: trying again may help
    ├── EngineError
    │   ├── InvalidQuery        the engine refused the data or the SQL: the same request fails again
    │   └── InternalError       the engine broke down: trying again may help
    ├── ChainError              the chain refused
    │   ├── DatasetNotFound     nothing of that name in the store
    │   ├── DatasetGone         a dataset that was there is not
    │   ├── BlockRejected       a block breaks a rule of the metadata chain
    │   ├── ChainCorrupted      what is stored is not what its hashes say
    │   └── TypeUnsupported     no logical hash or no ODF form exists for a column's type
    ├── CommitConflict          another writer moved the ref first; nothing was changed, read again and retry
    ├── StorageError            the store cannot be read or written (disk full, permission)
    ├── CandidateRejected       new data were merged and not published: the candidate is kept
    │   ├── ContractRejected    its contract failed
    │   ├── InputHeldBack       its input looks wrong: no rows, too many retractions, another header
    │   └── StillRejected       nothing has changed since an earlier rejection
    ├── ContractInconclusive    a clause could not be evaluated: the candidate waits
    └── UnexpectedError         a fault of the provider itself: please report it
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from airflow_provider_odf.wording import bounded


class OdfError(Exception):
    """Base of all errors here. ``is_transient`` says whether running the same again can succeed."""

    is_transient: ClassVar[bool] = False

    def __str__(self) -> str:
        return bounded(super().__str__())


@dataclass(frozen=True, order=True)
class Place:
    """Where in a file: line and column count from 1; 0 means that the whole file is meant."""

    file: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}" if self.line else self.file


@dataclass(frozen=True, order=True)
class Problem:
    """One thing wrong in an input file, with what to do about it where that is known."""

    place: Place
    message: str
    fix: str = ""

    def __str__(self) -> str:
        return f"{self.place}: {bounded(self.message)}" + (f" ({bounded(self.fix)})" if self.fix else "")


class InvalidInput(OdfError):
    """What the user wrote is wrong; the message says where and what to do."""


class ManifestInvalid(InvalidInput):
    """One or more files are not valid; ``problems`` has all of them, in file order."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__()

    def __str__(self) -> str:
        return "\n".join(map(str, self.problems))


class SourceError(OdfError):
    """The source answered with something the manifest does not allow for."""

    def __init__(self, message: str, at: Sequence[str] = ()) -> None:
        """``at`` leads within the fetch step to the value that the source does not fit."""
        super().__init__(message)
        self.at = tuple(at)


class SourceUnavailable(SourceError):
    """The source could not be reached or broke off."""

    is_transient = True


class EngineError(OdfError):
    """The engine did not give a result."""


class InvalidQuery(EngineError):
    """The engine refused the data or the SQL."""


class InternalError(EngineError):
    """The engine broke down; ``backtrace`` has its own words, if any came."""

    is_transient = True

    def __init__(self, message: str, backtrace: str = "") -> None:
        super().__init__(message)
        self.backtrace = backtrace


class ChainError(OdfError):
    """The metadata chain refused."""


class DatasetNotFound(ChainError):
    """The store has no such dataset."""


class DatasetGone(ChainError):
    """A dataset that was in the store is gone, or has lost its head: nothing begins in its place by itself."""


class BlockRejected(ChainError):
    """A block breaks the named rule of the metadata chain."""

    def __init__(self, rule: str, message: str) -> None:
        super().__init__(f"{message} (rule {rule})")
        self.rule = rule


class ChainCorrupted(ChainError):
    """Stored bytes are not what their hash, size or link says."""


class TypeUnsupported(ChainError):
    """A column's type has no form in the dataset format."""


class CommitConflict(OdfError):
    """Another writer moved the ref first; nothing was changed."""

    is_transient = True


class StorageError(OdfError):
    """The store cannot be read or written."""

    is_transient = True


class CandidateRejected(OdfError):
    """New data were merged and not published. ``candidate`` is the rejected candidate, ``notices`` are for the user."""

    def __init__(self, message: str, candidate: object = None, notices: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.candidate = candidate
        self.notices = tuple(notices)


class ContractRejected(CandidateRejected):
    """New data break the contract."""


class InputHeldBack(CandidateRejected):
    """An input looks wrong: it has no rows, would retract too many, or has another header than before."""


class StillRejected(CandidateRejected):
    """The newest input was rejected, and neither source, manifest nor contract have changed since."""


class ContractInconclusive(OdfError):
    """A clause could not be evaluated, so nothing can be said of the candidate; it is kept."""


class UnexpectedError(OdfError):
    """An exception that the provider does not expect, which is a fault of its own; ``__cause__`` has the traceback."""
