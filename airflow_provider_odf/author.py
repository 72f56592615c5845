"""``Author``: who published something or decided on it, in which run, and why."""

from __future__ import annotations

import getpass
import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field

from airflow_provider_odf.errors import InvalidInput

LONGEST_REASON = 2000
"""Characters of a reason."""


@dataclass(frozen=True)
class Author:
    """``who`` is a person, None for a run that a schedule or event started; ``run`` names the run by its properties;
    ``time`` (RFC 3339) is that of the act, None for now."""

    who: str | None = None
    reason: str | None = None
    run: Mapping[str, str] = field(default_factory=dict)
    time: str | None = None

    @property
    def run_name(self) -> str:
        """The run in a few words: ``DAG/RUN`` of Airflow, or a command."""
        return self.run.get("command") or "/".join(filter(None, (self.run.get("dagId"), self.run.get("runId"))))


NOBODY = Author()
"""Author of what a program did that names nobody."""


def of_command(command: str, reason: str | None = None, time: str | None = None) -> Author:
    """Return the user of this process as author of what a command does.

    :raises InvalidInput: the reason is too long.
    """
    try:
        user = getpass.getuser()
    except (OSError, KeyError):  # A container may run as a user without a name.
        user = str(os.getuid())
    return Author(f"{user}@{socket.gethostname()}", checked_reason(reason), {"command": command}, time)


def checked_reason(text: str | None) -> str | None:
    """Return the reason that a person gives, without surrounding spaces and with secrets masked; None if it is empty.

    :raises InvalidInput: it is too long.
    """
    from airflow_provider_odf.redaction import redact

    words = (text or "").strip()
    if len(words) > LONGEST_REASON:
        raise InvalidInput(f"the reason has {len(words)} characters, but at most {LONGEST_REASON} are allowed")
    return redact(words) or None
