import os
import signal
import socket
import subprocess
import sys

import psutil
import pytest

from demo.browse import free_port, set_passwords
from demo.family import Family

STUBBORN = """
import os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
other = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
print(os.getpid(), other.pid, flush=True)
time.sleep(600)
"""
PARENT = """
import sys
from demo.family import Family, Stopped, stop_on_signals
stop_on_signals()
try:
    with Family(grace=0.5) as family:
        family.start("stubborn", [sys.executable, "-c", sys.argv[1]])
        print("ended:", family.wait(), flush=True)
except Stopped as e:
    sys.exit(e.exit_code)
"""


@pytest.mark.parametrize(("number", "expected"), [(signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGHUP, 129)])
def test_a_signal_ends_all_processes(number, expected):
    command = [sys.executable, "-c", PARENT, STUBBORN]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as parent:
        pids = [int(pid) for pid in parent.stdout.readline().split()]
        assert [psutil.pid_exists(pid) for pid in pids] == [True, True]
        os.kill(parent.pid, number)
        assert parent.wait(30) == expected
    assert [pid for pid in pids if is_running(pid)] == []


INTERRUPTED = """
import os, signal, subprocess, sys
from demo.family import Family, Stopped, stop_on_signals

class Interrupted(subprocess.Popen):
    def _execute_child(self, *arguments):
        super()._execute_child(*arguments)
        print(self.pid, flush=True)
        os.kill(os.getpid(), signal.SIGINT)

stop_on_signals()
try:
    with Family(grace=0.5) as family:
        subprocess.Popen = Interrupted
        command = [sys.executable, "-c", "import time; time.sleep(600)"]
        family.start("one", command) if sys.argv[1] == "start" else subprocess.run(command)
except Stopped as e:
    sys.exit(e.exit_code)
"""


@pytest.mark.parametrize("how", ["start", "run"])
def test_a_signal_while_a_process_starts_ends_it(how):
    done = subprocess.run([sys.executable, "-c", INTERRUPTED, how], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "")
    assert not is_running(int(done.stdout))


def test_other_processes_stay():
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]) as other:
        with Family(grace=0.5) as family:
            family.start("one", [sys.executable, "-c", "import time; time.sleep(600)"])
            one = family.processes["one"].pid
        are_running = (is_running(one), is_running(other.pid))
        other.kill()
    assert are_running == (False, True)


def test_a_process_that_ends_by_itself():
    done = subprocess.run([sys.executable, "-c", PARENT, "pass"], capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("ended: stubborn\n", 0)


def is_running(pid):
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_a_port_that_is_taken():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert free_port(port) not in (0, port)
    assert free_port(port) == port


def test_passwords_stay(tmp_path):
    file = tmp_path / "passwords.json"
    passwords = set_passwords(file)
    assert sorted(passwords) == ["admin", "viewer"]
    assert len(passwords["admin"]) == 12
    assert passwords["admin"] != passwords["viewer"]
    assert file.stat().st_mode & 0o777 == 0o600
    assert set_passwords(file) == passwords
