"""A pipeline reads topics of a real broker. Nightly: it needs a download."""

from __future__ import annotations

import base64
import socket
import subprocess
import uuid
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from pipeline.test_delta import run
from sizes import size

SCRIPT = Path(__file__).with_name("kafka_sources.py")
BROKER = """<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>a</groupId><artifactId>broker</artifactId><version>1</version><dependencies><dependency>
<groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>3.9.1</version>
</dependency></dependencies></project>
"""
# of Spark's own packages, the newest of each that Maven Central has for Spark 4
CONNECTOR = (
    "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0",
    "org.apache.spark:spark-token-provider-kafka-0-10_2.13:4.0.0",
    "org.apache.kafka:kafka-clients:3.9.1",
    "org.apache.commons:commons-pool2:2.12.1",
)
SETTINGS = """process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{broker},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{broker}
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
log.dirs={logs}
offsets.topic.replication.factor=1
num.partitions=2
"""

pytestmark = pytest.mark.skipif(size(0, 1) == 0, reason="downloads Kafka and its connector: nightly only")


def free_port() -> int:
    with closing(socket.socket()) as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


@pytest.fixture
def connector(tmp_path: Path) -> str:
    for artifact in CONNECTOR:
        get = ["mvn", "-q", "-B", "dependency:copy", f"-Dartifact={artifact}"]
        subprocess.run([*get, f"-DoutputDirectory={tmp_path / 'connector'}"], check=True, cwd=tmp_path)
    return ",".join(map(str, (tmp_path / "connector").glob("*.jar")))


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[str]:
    """The address of a broker that runs during the test."""
    (tmp_path / "pom.xml").write_text(BROKER)
    get = ["mvn", "-q", "-B", "dependency:copy-dependencies", f"-DoutputDirectory={tmp_path / 'broker'}"]
    subprocess.run(get, check=True, cwd=tmp_path)
    ports = {"broker": free_port(), "controller": free_port(), "logs": tmp_path / "logs"}
    (tmp_path / "settings").write_text(SETTINGS.format(**ports))
    java = ["java", "-Xmx300m", "-cp", f"{tmp_path / 'broker'}/*"]
    name = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
    make = [*java, "kafka.tools.StorageTool", "format", "-t", name, "-c", str(tmp_path / "settings")]
    subprocess.run(make, check=True, capture_output=True)
    process = subprocess.Popen([*java, "kafka.Kafka", str(tmp_path / "settings")], stdout=subprocess.DEVNULL)
    try:
        yield f"127.0.0.1:{ports['broker']}"
    finally:
        process.kill()
        process.wait()


def test_messages_are_applied_once_in_the_order_of_their_sequence(
    connector: str, servers: str, tmp_path: Path
) -> None:
    (tmp_path / "run").mkdir()
    found = run(SCRIPT, connector, servers, folder=tmp_path / "run")
    letters, lines = [["a"], ["b"]], [[f"line {n}"] for n in range(9)]
    assert found == [
        ["first", True, [["salt", 2], ["tea", 1]], letters],
        ["nothing", False, [["salt", 2], ["tea", 1]], letters],
        ["changes", True, [["tea", 5]], [*letters, ["c"]]],
        ["late", True, [["rice", None], ["tea", 5]], [*letters, ["c"]]],
        ["partitions", True, [["rice", None], ["tea", 5]], [*letters, ["c"], *lines]],
        ["nothing", False, [["rice", None], ["tea", 5]], [*letters, ["c"], *lines]],
    ]
