"""Airflow with the datasets of the demo, for a browser."""

from __future__ import annotations

import json
import os
import secrets
import socket
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import httpx

from demo.family import Family, Stopped
from demo.folder import airflow

USERS = {"admin": "admin", "viewer": "viewer"}
"""User -> role."""

_HOST, _PORT = "127.0.0.1", 8080
COMPONENTS = ("api-server", "scheduler", "dag-processor", "triggerer")
_LONGEST_START = 180.0


def browse(home: Path) -> int:
    """Run Airflow until a signal ends it; return 0, or 1 if one of its components fails."""
    address = f"http://{_HOST}:{free_port(_PORT)}"
    log = home / "ui.log"
    passwords = set_passwords(home / "passwords.json")
    environment = {**os.environ, **settings(address, home / "passwords.json")}
    print("Starting Airflow ...", flush=True)
    try:
        with Family(15, environment) as family:
            ended = start(family, log, address)
            if ended is None:
                _welcome(address, passwords, log)
                ended = family.wait()
            print(f"Airflow's {ended} failed, see {log}", file=sys.stderr)
            return 1
    except Stopped:
        print("Airflow has ended.")
        return 0


def start(family: Family, log: Path, address: str, components: Sequence[str] = COMPONENTS) -> str | None:
    """Start Airflow and wait until it answers; return the name of a component that ended before, or never answered."""
    with log.open("w") as file:
        for name in components:
            family.start(name, [airflow(), name], file)
    end = time.monotonic() + _LONGEST_START
    while time.monotonic() < end:
        try:
            if httpx.get(f"{address}/api/v2/monitor/health", timeout=5).status_code == httpx.codes.OK:
                return None
        except httpx.HTTPError:
            pass
        if (ended := family.wait(0.5)) is not None:
            return ended
    return "api-server"


def free_port(preferred: int) -> int:
    """Return a port that nobody listens on, the preferred one if it is free."""
    for port in (preferred, 0):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((_HOST, port))
            except OSError:
                continue
            found: int = probe.getsockname()[1]
            return found
    raise OSError("no port is free")


def set_passwords(file: Path) -> dict[str, str]:
    """Return the passwords of the users, which the file keeps from the first time on."""
    if file.exists():
        kept: dict[str, str] = json.loads(file.read_text())
        return kept
    passwords = {user: secrets.token_urlsafe(9) for user in USERS}
    file.touch(mode=0o600)
    file.write_text(json.dumps(passwords))
    return passwords


def settings(address: str, passwords: Path) -> dict[str, str]:
    """Return Airflow's settings for an address on this machine and a file of `set_passwords`."""
    return {
        "AIRFLOW__API__HOST": _HOST,
        "AIRFLOW__API__PORT": address.rpartition(":")[2],
        "AIRFLOW__API__BASE_URL": address,
        "AIRFLOW__API__WORKERS": "1",
        "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"{address}/execution/",
        "AIRFLOW__CORE__PARALLELISM": "2",
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS": ",".join(f"{user}:{role}" for user, role in USERS.items()),
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE": str(passwords),
    }


def _welcome(address: str, passwords: dict[str, str], log: Path) -> None:
    print(f"\nAirflow with the datasets of the demo: {address}/")
    print(f"  user admin, password {passwords['admin']}")
    print(f"  user viewer, password {passwords['viewer']} (may read, but not decide)")
    print("Log in, then choose Browse > Datasets, or the tab Dataset of a DAG.")
    print(f"Logs are in {log.parent.name}/{log.name}. End it with Ctrl-C.", flush=True)
