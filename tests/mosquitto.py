"""A real MQTT broker on this machine."""

from __future__ import annotations

import contextlib
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from paho.mqtt import publish

from tests.spark_servers import free_ports


@dataclass
class Broker:
    """A broker for the user ``me`` with the password ``pa55``. ``log`` is the file with its log."""

    port: int
    log: Path
    login: dict[str, str] = field(default_factory=lambda: {"username": "me", "password": "pa55"})

    def publish(self, topic: str, *payloads: str | bytes, qos: int = 1, retain: bool = False) -> None:
        messages = [{"topic": topic, "payload": payload, "qos": qos, "retain": retain} for payload in payloads]
        publish.multiple(messages, "127.0.0.1", self.port, auth=self.login)


@contextlib.contextmanager
def running(folder: Path, port: int = 0) -> Iterator[Broker]:
    """A broker that runs as long as the context does. It keeps sessions in the folder."""
    program = shutil.which("mosquitto", path="/usr/local/bin:/usr/bin:/usr/sbin:/opt/homebrew/sbin")
    passwords = shutil.which("mosquitto_passwd")
    if program is None or passwords is None:
        pytest.skip("mosquitto is not installed")
    port = port or free_ports(1)[0]
    subprocess.run([passwords, "-c", "-b", folder / "passwords", "me", "pa55"], check=True, capture_output=True)
    (folder / "mosquitto.conf").write_text(
        f"listener {port} 127.0.0.1\nuser root\npassword_file {folder}/passwords\npersistence true\n"
        f"persistence_location {folder}/\nmax_queued_messages 0\nlog_type all\nlog_dest file {folder}/log\n"
    )
    broker = subprocess.Popen([program, "-c", folder / "mosquitto.conf"], stderr=subprocess.DEVNULL)
    try:
        for _ in range(200):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                break
            time.sleep(0.05)
        yield Broker(port, folder / "log")
    finally:
        broker.terminate()
        broker.wait()
