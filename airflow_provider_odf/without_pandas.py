"""Processes of this package do without pandas, of which their code uses nothing, until they start Spark. Standard
library only.

If it is installed, pyarrow and datafusion import it at their first Python value: a third of a second, and 50 MiB.
"""

from __future__ import annotations

import sys
from importlib.abc import MetaPathFinder


class _Absent(MetaPathFinder):
    def find_spec(self, name: str, *_: object) -> None:
        if name == "pandas":
            raise ModuleNotFoundError("this process does without pandas", name=name)


def leave_out_pandas() -> None:
    """Make pandas one of the packages that this process does not find. For programs of their own, never for a task,
    whose author may use it."""
    sys.meta_path.insert(0, _Absent())


def let_pandas_in() -> None:
    """Let this process find pandas again: pyspark wants it for functions that run in tasks."""
    sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, _Absent)]
