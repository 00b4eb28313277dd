"""A session that a user passes in stays the user's: its settings hold for its frames, and never change."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import tidelog

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("interpreted")]

PLACEMENTS = ("driver", "tasks", "shuffled", None)
ZONE = "spark.sql.session.timeZone"
PROGRAM = """
input relation Edge(src: int, dst: int)
output relation Reach(src: int, dst: int)
Reach(x, y) :- Edge(x, y).
Reach(x, z) :- Reach(x, y), Reach(y, z).
"""
MOMENTS = """
input relation Seen(at: timestamp, who: int)
output relation Last(at: timestamp)
Last(at) :- Seen(at, who), who > 0.
"""
NOON = 1_719_828_000_000_000  # microseconds to 2024-07-01 12:00 in Berlin, which is 10:00 in UTC


@pytest.fixture
def user(spark: SparkSession) -> SparkSession:
    """A session with settings of its own, beside the one that is active."""
    made = spark.newSession()
    made.conf.set(ZONE, "Europe/Berlin")
    made.conf.set("spark.sql.adaptive.enabled", "true")
    made.conf.set("spark.sql.codegen.wholeStage", "false")
    made.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN")
    return made


# numbers have the relation's own type, or one that has to be fitted
@pytest.mark.parametrize(
    ("placement", "who"),
    [("driver", "bigint"), ("tasks", "int"), ("shuffled", "bigint"), ("shuffled", "int"), (None, "bigint")],
)
def test_a_timestamp_without_a_zone_is_the_same_moment_in_every_placement(
    user: SparkSession,
    placement: str | None,
    who: str,
    tmp_path: Path,
    small_budget: Callable[[int], None],
) -> None:
    file = tmp_path / "seen.csv"
    file.write_text("at,who\n2024-07-01 12:00:00,1\n2024-01-01 12:00:00,0\n")
    small_budget(1)
    seen = user.read.csv(file.as_uri(), header=True, schema=f"at timestamp, who {who}")
    db = tidelog.open(text=MOMENTS, spark=user, placement=placement)
    with db.transaction() as tx:
        tx.insert("Seen", seen)
    assert [row[0].isoformat() for row in db["Last"]] == ["2024-07-01T10:00:00+00:00"]
    for made in (db["Last"].to_spark(), tx.changes["Last"].to_spark()):
        assert [row[0] for row in made.selectExpr("unix_micros(at)").collect()] == [NOON]
    assert db["Last"].to_spark().selectExpr("cast(at as string)").first()[0] == "2024-07-01 12:00:00"
    with db.transaction() as tx:
        tx.delete("Seen", seen)
    assert not len(db["Last"])


def test_frames_may_read_what_only_the_users_session_has(user: SparkSession) -> None:
    user.range(3).selectExpr("id as src", "id + 1 as dst").createOrReplaceTempView("steps")
    db = tidelog.open(text=PROGRAM, spark=user, placement="shuffled")
    with db.transaction() as tx:
        tx.insert("Edge", user.sql("select src, dst from steps"))
    assert len(db["Reach"]) == 6
    reach = db["Reach"].to_spark()
    assert reach.sparkSession is user
    reach.createOrReplaceTempView("reach")
    joined = user.sql("select count(*) from reach join steps on reach.dst = steps.src")
    assert joined.first() == (3,)


def test_a_frame_is_evaluated_once(user: SparkSession, tmp_path: Path) -> None:
    marks = tmp_path / "marks"
    marks.mkdir()

    def mark(batches: Iterator[Any]) -> Iterator[Any]:
        import uuid

        (marks / uuid.uuid4().hex).touch()
        yield from batches

    frame = user.range(2, numPartitions=1).selectExpr("id as src", "id + 1 as dst")
    db = tidelog.open(text=PROGRAM, spark=user, placement="shuffled")
    with db.transaction() as tx:
        tx.insert("Edge", frame.mapInArrow(mark, "src bigint, dst bigint"))
    assert len(db["Reach"]) == 3
    assert len(list(marks.iterdir())) == 1


@contextmanager
def watched(user: SparkSession) -> Iterator[list[tuple[dict[str, Any], object]]]:
    """What another thread sees of a session's settings and of the active session, each state once."""
    from pyspark.sql import SparkSession

    seen: list[tuple[dict[str, Any], object]] = []
    is_over = threading.Event()

    def watch() -> None:
        while not is_over.is_set():
            state = dict(user.conf.getAll), SparkSession.getActiveSession()
            if state not in seen:
                seen.append(state)
            is_over.wait(0.01)

    user.createDataFrame([], "x int")  # it is the active session now
    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield seen
    finally:
        is_over.set()
        thread.join()


def commit_and_read(db: tidelog.Session, first: int) -> list[tuple[object, ...]]:
    with db.transaction() as tx:
        tx.insert("Edge", [(number, number + 1) for number in range(first, first + 3)])
    with db.transaction() as tx:
        tx.delete("Edge", [(first, first + 1)])
    db["Reach"].where(src=first + 1)
    db.query(f"Reach({first + 1}, x)")
    return sorted(tuple(row) for row in db["Reach"].to_spark().collect())


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_no_setting_of_the_users_session_ever_changes(
    user: SparkSession,
    placement: str | None,
    small_budget: Callable[[int], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    changed = settings_changed(user, monkeypatch)
    before = dict(user.conf.getAll)
    small_budget(4)
    with watched(user) as seen:
        db = tidelog.open(text=PROGRAM, spark=user, placement=placement)
        assert commit_and_read(db, 0) == [(1, 2), (1, 3), (2, 3)]
    assert [settings for settings, _ in seen if settings != before] == []
    assert {active for _, active in seen} <= {None, user}
    assert changed == []


def settings_changed(user: SparkSession, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of settings that are set on a session from now on, whatever they are set to."""
    from pyspark.sql.conf import RuntimeConfig

    changed: list[str] = []
    for name in ("set", "unset"):
        real = getattr(RuntimeConfig, name)

        def record(conf: Any, key: str, *value: object, real: Any = real) -> None:
            if conf._jconf.equals(user.conf._jconf):
                changed.append(key)
            real(conf, key, *value)

        monkeypatch.setattr(RuntimeConfig, name, record)
    return changed


def test_two_sessions_at_once_leave_the_settings_as_they_were(user: SparkSession) -> None:
    before = dict(user.conf.getAll)
    opened = [tidelog.open(text=PROGRAM, spark=user, placement="shuffled") for _ in range(2)]
    with watched(user) as seen, ThreadPoolExecutor(2) as pool:
        found = list(pool.map(commit_and_read, opened, (0, 10)))
    assert found == [[(n + 1, n + 2), (n + 1, n + 3), (n + 2, n + 3)] for n in (0, 10)]
    assert [settings for settings, _ in seen if settings != before] == []


def test_the_active_session_stays_the_active_one(spark: SparkSession, user: SparkSession) -> None:
    from pyspark.sql import SparkSession as Sessions

    spark.createDataFrame([], "x int")
    tidelog.open(text=PROGRAM, spark=user, placement="driver")["Reach"].to_spark()
    assert Sessions.getActiveSession() is spark

    def in_a_new_thread() -> list[object]:
        before = Sessions.getActiveSession()
        commit_and_read(tidelog.open(text=PROGRAM, spark=user, placement="shuffled"), 0)
        return [before, Sessions.getActiveSession()]

    with ThreadPoolExecutor(1) as pool:
        before, after = pool.submit(in_a_new_thread).result()
    assert after is before
    assert Sessions.getActiveSession() is spark
