"""Names of datasets in lineage by the naming specification of OpenLineage.

There are two editions: the current one (openlineage.io/docs/spec/naming) and that of 2024 (the former
``spec/Naming.md``). `DatasetNames` has a dataset's names in both, and those of Spark's own listener where they differ.
`DatasetNames.in_edition` selects the primary name; the others become symlinks.

`stores` has the rule of each store. The other modules read the parts of a rule from what identifies a dataset: `uri`,
`jdbc` and `server` (of a data contract). All raise ValueError if there is no name, with a message that contains no part
of the input that could be secret.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Edition: TypeAlias = Literal["current", "2024"]
"""Values of the setting ``[odf] naming_spec``."""


@dataclass(frozen=True, order=True)
class Identifier:
    namespace: str
    name: str

    def __post_init__(self) -> None:
        if not self.namespace or not self.name:
            raise ValueError("a dataset needs a namespace and a name")


@dataclass(frozen=True)
class EditionNames:
    """Primary name of a dataset in events, and its other names."""

    primary: Identifier
    symlinks: tuple[Identifier, ...] = ()


@dataclass(frozen=True)
class DatasetNames:
    """Names of one dataset. ``former`` is that of the edition of 2024 if it differs, ``others`` are those of other
    producers."""

    current: Identifier
    former: Identifier | None = None
    others: tuple[Identifier, ...] = ()

    def in_edition(self, edition: Edition = "current") -> EditionNames:
        """Return the edition's name, with all others as symlinks."""
        primary = self.former if edition == "2024" and self.former else self.current
        rest = dict.fromkeys(i for i in (self.current, self.former, *self.others) if i is not None and i != primary)
        return EditionNames(primary, tuple(rest))
