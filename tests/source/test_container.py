"""The container protocol, with a real image where podman runs, and with the real command lines elsewhere."""

from __future__ import annotations

import dataclasses
import shutil
import subprocess
import tarfile
import threading
import time
from pathlib import Path

import pytest

from airflow_provider_odf.errors import InvalidInput, SourceError
from airflow_provider_odf.manifest import model
from airflow_provider_odf.source import container, program

IMAGE = "odf-test-busybox"
# On a machine whose own cgroups cannot be used, podman gets a mount namespace with fresh ones.
PODMAN = (
    "unshare",
    "-m",
    "sh",
    "-c",
    'umount -R /sys/fs/cgroup; mount -t cgroup2 none /sys/fs/cgroup; exec podman --storage-driver=vfs "$@"',
    "podman",
)
FLAGS = ("--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1024:1024", "--cgroups=disabled", "--pull=never")


@pytest.fixture(scope="module")
def image(tmp_path_factory) -> str:
    """An image with busybox alone."""
    busybox = shutil.which("busybox")
    if not shutil.which("podman") or not busybox:
        pytest.skip("podman or busybox-static is not installed")
    folder = tmp_path_factory.mktemp("image")
    with tarfile.open(folder / "image.tar", "w") as tar:
        tar.add(busybox, "bin/busybox")
        for name in ("sh", "cat", "echo", "sleep", "env", "printf", "touch", "seq", "ln", "nc", "yes"):
            link = tarfile.TarInfo(f"bin/{name}")
            link.type, link.linkname = tarfile.SYMTYPE, "busybox"
            tar.addfile(link)
    done = subprocess.run([*PODMAN, "import", folder / "image.tar", IMAGE], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"podman does not run here: {done.stderr.strip()}")
    trial = subprocess.run([*PODMAN, "run", "--rm", "--network=none", *FLAGS, IMAGE, "/bin/echo"], capture_output=True)
    if trial.returncode:
        pytest.skip(f"podman runs no containers here: {trial.stderr.decode().strip()}")
    return IMAGE


@pytest.fixture
def run(image, poller):
    """Polls a container that runs a shell script."""

    def poll(script, state=None, env=None, args=None, prepare=(), image=image, command=("/bin/sh", "-c"), **options):
        options = {"container_memory": "", "container_cpus": "", **options}
        step = model.FetchStepContainer(image=image, command=(*command, script), args=args, env=env)
        poller.options = dataclasses.replace(
            poller.options, container_command=PODMAN, container_arguments=FLAGS, **options
        )
        return poller(step, *prepare, state=state)

    return poll


def test_output_and_state(run, poller):
    script = (
        'echo "etag=[$ODF_ETAG] modified=[$ODF_LAST_MODIFIED] batch=$ODF_BATCH_SIZE"; printf e2 > $ODF_NEW_ETAG_PATH'
    )
    polled = run(script, state=poller.state("odf/etag", "e1"))
    assert poller.content(polled) == [b"etag=[e1] modified=[] batch=10000\n"]
    assert [file.state for file in polled.files] == [poller.state("odf/etag", "e2")]
    assert str(polled.files[0].event_time) == "2024-06-01T12:00:00Z"
    assert polled.files[0].label == IMAGE


def test_output_goes_straight_into_the_file(run, poller):
    """Copied by podman's monitor process, output was lost under load, and the state moved."""
    polled = run("[ -f /proc/self/fd/1 ] && echo row; printf e1 > $ODF_NEW_ETAG_PATH")
    assert poller.content(polled) == [b"row\n"]


def test_flags_for_output(recorder, poller):
    """Podman is known by its version, behind whatever name; Docker has no such log driver."""
    step, shown = model.FetchStepContainer(image="img"), recorder / "version"
    for version, flags in {
        "podman version 4.3.1": ["--log-driver=passthrough"],
        "Docker version 28.2.2, build 1": [],
    }.items():
        shown.write_text(version)
        container._version.cache_clear()
        poller(step)
        argv = (recorder / "argv").read_text().splitlines()
        assert argv[4 : argv.index("--network")] == flags
        shutil.rmtree(poller.work)
    shown.unlink()
    container._version.cache_clear()
    with pytest.raises(SourceError, match=r"^img: cannot get the version of the container runtime: .* status 1\.$"):
        poller(step)


def test_last_modified_as_state(run, poller):
    script = 'echo "$ODF_LAST_MODIFIED"; echo 2024-05-03T10:00:00+02:00 > $ODF_NEW_LAST_MODIFIED_PATH'
    polled = run(script, state=poller.state("odf/last-modified", "2024-05-02T08:00:00Z"))
    assert poller.content(polled) == [b"2024-05-02T08:00:00Z\n"]
    assert polled.files[0].state == poller.state("odf/last-modified", "2024-05-03T08:00:00Z")


def test_more_data_are_fetched_batch_by_batch(run, poller):
    script = """
        n=$((${ODF_ETAG:-0} + 1)); echo "row $n"; printf $n > $ODF_NEW_ETAG_PATH
        [ $n = 3 ] || touch $ODF_NEW_HAS_MORE_DATA_PATH
    """
    polled = run(script)
    assert poller.content(polled) == [b"row 1\n", b"row 2\n", b"row 3\n"]
    assert [file.state.value for file in polled.files] == ["1", "2", "3"]
    assert not polled.has_more
    polled = run(script, batches=2, env=(model.EnvVar(name="X", value="1"),))
    assert len(polled.files) == 2
    assert polled.has_more
    assert polled.warnings == (f"{IMAGE}: has more data after 2 runs: the next poll continues",)


def test_nothing_new(run, poller):
    assert run("printf e1 > $ODF_NEW_ETAG_PATH", state=poller.state("odf/etag", "e1")) is None
    assert run("true", state=poller.state("odf/etag", "e1")) is None
    assert poller.leftovers == []


def test_a_container_that_says_nothing_at_first(run, poller):
    with pytest.raises(SourceError) as e:
        run("touch $ODF_NEW_HAS_MORE_DATA_PATH")
    assert str(e.value) == (
        f"{IMAGE}: the container wrote neither data nor a state: write new-etag or new-last-modified if there is no "
        "data yet"
    )
    assert poller.leftovers == []


def test_a_container_that_cannot_be_started(run, image, poller):
    with pytest.raises(SourceError) as e:
        run("true", image="odf-test-nowhere")
    assert str(e.value) == "odf-test-nowhere: the container could not be started: odf-test-nowhere: image not known"
    with pytest.raises(SourceError, match=r"the container could not be started: .*`/bin/nothing` not found"):
        run("true", command=("/bin/nothing",))
    assert poller.leftovers == []


def test_last_word_of_a_runtime(recorder, poller):
    """What runtimes say of an image that cannot be pulled: podman after its tries, docker before its advice."""

    def failure(said, code):
        (recorder / "runtime").write_text(
            f"#!/bin/sh\n[ $1 = run ] || exit 0\ncat >&2 <<'END'\n{said}\nEND\nexit {code}\n"
        )
        with pytest.raises(SourceError) as e:
            poller(model.FetchStepContainer(image="img"))
        return str(e.value)

    tries = "Trying to pull img...\n" + "".join(
        f'time="2024-05-01T00:00:0{n}Z" level=warning msg="Failed, retrying in 1s ... ({n}/3)"\n' for n in (1, 2, 3)
    )
    expected = "img: the container could not be started: "
    assert failure(tries + "Error: unable to copy: no such host", 125) == expected + "unable to copy: no such host"
    advice = "Unable to find image\ndocker: Error response from daemon: no such image\n\nRun 'docker run --help'"
    assert failure(advice, 125) == expected + "Error response from daemon: no such image"
    assert failure("Error: no such table", 1) == "img: the container failed with exit code 1: Error: no such table"
    assert failure("half", 137) == "img: the container was killed: it may need more than 2g of memory"


def test_an_empty_batch_may_move_the_state(run, poller):
    polled = run("printf e2 > $ODF_NEW_ETAG_PATH", state=poller.state("odf/etag", "e1"))
    assert (polled.files[0].paths, polled.files[0].state.value) == ((), "e2")
    prepare = (model.PrepStepDecompress(format="Gzip"),)
    assert run("printf e2 > $ODF_NEW_ETAG_PATH", prepare=prepare).files[0].paths == ()


def test_without_a_state_the_content_is_compared(run, poller):
    polled = run("echo same")
    assert polled.files[0].state.kind == "odf/content-hash"
    assert run("echo same", state=polled.files[0].state) is None


def test_environment_and_arguments(run, poller):
    poller.environment.update(KEY="s3cret", GIVEN="from outside")
    env = (
        model.EnvVar(name="A", value="key ${{ env.KEY }}"),
        model.EnvVar(name="GIVEN"),
        model.EnvVar(name="ODF_BATCH_SIZE", value="5"),
        model.EnvVar(name="PATH", value="/bin"),
    )
    polled = run('echo "$A|$GIVEN|$ODF_BATCH_SIZE|$PATH|$0"', env=env, args=("${{ env.GIVEN }} $HOME",))
    assert poller.content(polled) == [b"key s3cret|from outside|5|/bin|from outside $HOME\n"]
    with pytest.raises(InvalidInput, match=rf"^env NOPE of {IMAGE}: value not found: env\.NOPE "):
        run("true", env=(model.EnvVar(name="NOPE"),))


def test_failures(run, poller):
    poller.environment["KEY"] = "s3cret"
    env = (model.EnvVar(name="KEY"),)

    def failure(script, **options):
        with pytest.raises(SourceError) as e:
            run(script, **options)
        assert poller.leftovers == []
        return str(e.value)

    assert failure("echo half; echo no key $KEY >&2; exit 3", env=env).endswith("failed with exit code 3: no key ***")
    half = failure("echo $KEY and more >&2; exit 1", env=env, stderr_tail=12)
    assert half.endswith("failed with exit code 1: *** and more")
    same = poller.state("odf/etag", "e1")
    assert failure("echo rows; printf e1 > $ODF_NEW_ETAG_PATH", state=same) == (
        f"{IMAGE}: the container wrote data but not a new state, so each poll would fetch it again: write a new "
        "state to new-etag or new-last-modified"
    )
    assert failure("echo yesterday > $ODF_NEW_LAST_MODIFIED_PATH").startswith(
        f"{IMAGE}: the container wrote an invalid new-last-modified: 'yesterday' is not"
    )
    assert "wrote more than 1 MB, the limit for output: " in failure("yes", largest_file=1_000_000)


def test_a_failing_batch_keeps_those_before(run, poller):
    script = 'echo row; printf 1 > $ODF_NEW_ETAG_PATH; touch $ODF_NEW_HAS_MORE_DATA_PATH; [ -z "$ODF_ETAG" ] || exit 3'
    polled = run(script)
    assert poller.content(polled) == [b"row\n"]
    assert polled.warnings[0].endswith("failed with exit code 3; earlier batches were kept")


def test_warnings_are_without_secrets(recorder, poller):
    poller.environment["TAG"] = "s3cret"
    failing = """[ "$1" = run ] || exit 0
        n=$(cat n); echo $((n + 1)) > n; shift 7; out=${1%%:*}
        [ $n = 1 ] && { echo "Error: no s3cret" >&2; exit 125; }
        echo row; echo 1 > $out/new-etag; touch $out/new-has-more-data"""
    (poller.base / "n").write_text("0")
    (recorder / "runtime").write_text(f"#!/bin/sh\n{failing}\n")
    polled = poller(model.FetchStepContainer(image="img:${{ env.TAG }}"))
    started = "img:${{ env.TAG }}: the container could not be started: no ***"
    assert polled.warnings == (f"{started}; earlier batches were kept",)


def test_no_network_unless_asked(run):
    polled = run("cat /proc/net/dev")
    interfaces = [line.split(":")[0].strip() for line in polled.files[0].paths[0].read_text().splitlines()[2:]]
    assert interfaces == ["lo"]


def test_links_out_of_the_container_are_not_followed(run):
    polled = run("echo data; ln -s /etc/hostname $ODF_NEW_ETAG_PATH")
    assert polled.files[0].state.kind == "odf/content-hash"


def containers() -> list[str]:
    shown = subprocess.run([*PODMAN, "ps", "-q"], capture_output=True, text=True, check=True)
    return shown.stdout.split()


def test_a_container_that_never_ends_is_killed(run):
    with pytest.raises(SourceError, match=r"was killed because it ran longer than 2 s: .* container_timeout$"):
        run("sleep 600", container_timeout=2)
    assert containers() == []


def test_a_container_ends_with_its_task(run):
    failures = []

    def poll():
        with pytest.raises(SourceError) as e:
            run("sleep 600")
        failures.append(str(e.value))

    thread = threading.Thread(target=poll)
    thread.start()
    while thread.is_alive() and not containers():
        time.sleep(0.05)
    program.kill_all()
    thread.join(10)
    assert containers() == []
    assert len(failures) == 1


@pytest.fixture
def recorder(tmp_path, poller) -> Path:
    """A stand-in for a container runtime that writes its command line down."""
    script = tmp_path / "runtime"
    script.write_text(
        f'#!/bin/sh\n[ "$1" = run ] || exec cat {tmp_path}/version\n'
        f'printf "%s\\n" "$@" > {tmp_path}/argv\nenv > {tmp_path}/env\necho data\n'
        f'while [ $# -gt 0 ]; do case $1 in --env-file) cp -p "$2" {tmp_path}/file;; '
        f'--volume) stat -c "%a %n" "${{2%:*}}" "${{2%/out:*}}" > {tmp_path}/modes;; esac; shift; done\n'
    )
    script.chmod(0o755)
    (tmp_path / "version").write_text("Docker version 28.2.2, build e6534b4")
    poller.options = dataclasses.replace(poller.options, container_command=(str(script),))
    return tmp_path


def test_command_line(recorder, poller):
    poller.environment["KEY"] = "s3cret"
    step = model.FetchStepContainer(
        image="registry/img:1",
        command=("/run.sh", "-x"),
        args=("a b",),
        env=(model.EnvVar(name="KEY"), model.EnvVar(name="PATH", value="/bin:${{ env.KEY }}")),
    )
    poller(step)
    argv = (recorder / "argv").read_text().splitlines()
    assert argv[:3] == ["run", "--rm", "--name"]
    assert [*argv[4:6], *argv[8:12]] == ["--network", "none", "--memory", "2g", "--cpus", "1"]
    assert argv[7].endswith("/out:/opt/odf/out")
    assert argv[-5:] == ["--entrypoint", "/run.sh", "registry/img:1", "-x", "a b"]
    assert "PATH" not in argv
    assert (recorder / "file").read_text() == "PATH=/bin:s3cret\n"
    assert (recorder / "file").stat().st_mode & 0o777 == 0o600
    assert "KEY" in argv
    assert not any("s3cret" in word for word in argv)
    assert "KEY=s3cret" in (recorder / "env").read_text().splitlines()


def test_the_out_folder_lies_in_a_private_one(recorder, poller):
    poller(model.FetchStepContainer(image="img"))
    modes = [line.split()[0] for line in (recorder / "modes").read_text().splitlines()]
    assert modes == ["777", "700"]
    assert list(poller.work.rglob("container")) == []


def test_secrets_do_not_get_onto_a_command_line(recorder, poller):
    poller.environment.update(API_KEY="s3cret", PATH="a\nb")
    with pytest.raises(
        InvalidInput, match=r"^args of img: env.API_KEY would appear on a command line, .* pass it in `env`$"
    ):
        poller(model.FetchStepContainer(image="img", args=("--key=${{ env.NOPE || env.API_KEY }}",)))
    with pytest.raises(InvalidInput, match=r"^env PATH of img: the value has line breaks, .* rename the variable$"):
        poller(model.FetchStepContainer(image="img", env=(model.EnvVar(name="PATH"),)))
    assert not (recorder / "argv").exists()


def test_image_with_its_own_entry_point(recorder, poller):
    poller(model.FetchStepContainer(image="img", args=("a",)))
    assert (recorder / "argv").read_text().splitlines()[-2:] == ["img", "a"]


def test_containers_may_be_forbidden(poller):
    poller.options = dataclasses.replace(poller.options, forbidden_steps=frozenset(("Container",)))
    message = "^img: fetch step Container is forbidden: use another step, or remove Container from forbid_steps$"
    with pytest.raises(InvalidInput, match=message):
        poller(model.FetchStepContainer(image="img"))


def test_no_runtime(poller, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(InvalidInput, match=r"^img: no container runtime: install podman or docker where polls run$"):
        poller(model.FetchStepContainer(image="img"))
