"""A relation in frames: its state at the last commit, and what the current commit has done to it.

Between commits, a relation is one checkpoint of its tuples with rank and count, and one of its asserted
facts. A commit does not rewrite them step by step. It collects the tuples removed and added, and the counts
lowered and raised, which are few compared with the relation. `settle` computes the new checkpoint once, at
the end of the stratum.

Invariants, where *rest* is the set of present tuples that are not in the current delta:

- rest is `base` without `removed`, plus `added`. Tuples of the delta are in neither part.
- Deletion precedes insertion. So a tuple in `added` is never removed, and one in both `removed` and `added`
  was inserted again. `lowered` only has tuples of `base`, `raised` any tuples.
- All frames of a relation's tuples are partitioned in the same way, by the columns `by`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from tidelog.data.types import Type
from tidelog.engine.spark.frames.checkpoints import (
    BROADCAST,
    Checkpoint,
    Checkpoints,
    looked_up,
    smaller,
    union,
)
from tidelog.engine.spark.frames.layout import columns, ddl
from tidelog.engine.spark.joins.instances import RANK, Range
from tidelog.engine.spark.joins.matching import same, with_same, without

__all__ = ["COUNT", "RelationState", "Work", "empty_state", "taken_over"]

COUNT: Final = "count"
_MORE: Final = "more"
_DEPTH: Final = 8  # commits whose changes may be stored beside the tuples from before them
_SHARE: Final = 0.25  # of a relation's tuples may be in such changes
_FEW: Final = 1000  # tuples that may be in any case


@dataclass(frozen=True, slots=True)
class RelationState:
    """A relation at a commit. `is_ranked` says that its ranks and counts are valid for updates."""

    types: tuple[Type, ...]
    facts: Checkpoint
    given: Checkpoint
    highest: int = 0
    is_ranked: bool = True
    is_given: bool = False  # the tuples are exactly the asserted facts

    @property
    def names(self) -> list[str]:
        return columns(len(self.types))


def empty_state(types: tuple[Type, ...], checkpoints: Checkpoints) -> RelationState:
    facts = checkpoints.empty(f"{ddl(types)}, {RANK} bigint, {COUNT} bigint")
    return RelationState(types, facts, checkpoints.nothing(types))


def taken_over(
    types: tuple[Type, ...], facts: Checkpoint, given: Checkpoint, *, is_derived: bool
) -> RelationState:
    """A relation adopted from another backend. If it is derived, what supports its tuples is unknown."""
    ranked = facts.frame.selectExpr(*columns(len(types)), f"0L as {RANK}", f"1L as {COUNT}")
    return RelationState(
        types, facts.with_columns(ranked), given, is_ranked=not is_derived, is_given=not is_derived
    )


@dataclass(slots=True, eq=False)
class Work:
    """What the current commit has done to a relation."""

    before: RelationState
    checkpoints: Checkpoints
    base: Checkpoint
    highest: int
    by: tuple[str, ...]
    given: Checkpoint | None = None  # the asserted facts, if they have changed
    given_inserted: Checkpoint | None = None
    given_deleted: Checkpoint | None = None
    removed: list[Checkpoint] = field(default_factory=list)
    added: list[Checkpoint] = field(default_factory=list)
    lowered: list[Checkpoint] = field(default_factory=list)
    raised: list[Checkpoint] = field(default_factory=list)
    delta: Checkpoint | None = None
    pending: list[tuple[DataFrame, bool]] = field(default_factory=list)
    is_booting: bool = False
    after: RelationState | None = None
    inserted: Checkpoint | None = None
    deleted: Checkpoint | None = None

    @property
    def types(self) -> tuple[Type, ...]:
        return self.before.types

    @property
    def names(self) -> list[str]:
        return self.before.names

    # -- states

    def rest(self) -> Range:
        frames = [checkpoint.frame for checkpoint in (self.base, *self.added) if checkpoint.size]
        size = self.base.size + sum(checkpoint.size for checkpoint in self.added)
        if self.removed and self.base.size:
            frames[0] = without(frames[0], _small(self.removed), self.types)
        return Range(self._union(frames), size, is_ranked=True)

    def full(self) -> Range:
        rest = self.rest()
        if self.delta is None or not self.delta.size:
            return rest
        size = rest.size + self.delta.size
        tuples = self.delta.frame.select(*self.names, RANK, COUNT)
        return Range(tuples if not rest.size else rest.frame.unionByName(tuples), size, is_ranked=True)

    def _union(self, frames: Sequence[DataFrame]) -> DataFrame:
        chosen = [frame.select(*self.names, RANK, COUNT) for frame in frames]
        return union(chosen) if chosen else self.base.frame

    def suspects(self) -> Range:
        size = sum(checkpoint.size for checkpoint in self.removed)
        frames = [checkpoint.frame.select(*self.names) for checkpoint in self.removed]
        return Range(union(frames) if frames else self.base.frame.limit(0), size)

    def middle(self) -> Range:
        """The tuples present before and after the commit."""
        facts = self.before.facts
        if self.deleted is None or not self.deleted.size:
            return Range(facts.frame, facts.size)
        return Range(without(facts.frame, self.deleted.small, self.types), facts.size)

    @property
    def now(self) -> RelationState:
        return self.before if self.after is None else self.after

    @property
    def size_now(self) -> int:
        if self.after is not None:
            return self.after.facts.size
        return self.base.size + sum(c.size for c in self.added) + (self.delta.size if self.delta else 0)

    # -- rounds

    def empty(self) -> None:
        """Start from an empty relation, discarding what was done so far."""
        self.base = empty_state(self.types, self.checkpoints).facts
        self.removed, self.added, self.lowered, self.raised = [], [], [], []
        self.delta, self.pending, self.is_booting = None, [], True

    def end_insertion(self, rank: int) -> int:
        """Make new heads the next delta, and raise the counts of heads that were present."""
        pending, self.pending = self.pending, []
        present, before = self.full(), self.delta
        self.delta = self._arrivals(pending, present, rank) if pending else None
        if before is not None and before.size:
            self.added.append(before)
        return self.delta.size if self.delta is not None else 0

    def _arrivals(
        self, pending: Sequence[tuple[DataFrame, bool]], present: Range, rank: int
    ) -> Checkpoint | None:
        if self.is_booting:  # present tuples are from earlier rounds: these instances support none of them
            heads = self._counted(pending, COUNT)
            if present.size:
                heads = without(heads, looked_up(present.frame, present.size), self.types)
            return self._ranked(heads, rank)
        heads = self._counted(pending, _MORE, "top")
        if present.size:
            # heads are few compared with the relation, so they are the side to hash
            met = with_same(heads.hint("shuffle_hash"), present.frame, self.types, (RANK,), "left")
        else:
            met = heads.withColumn(RANK, F.lit(None).cast("bigint"))
        found = met.groupBy(*self.names, RANK).agg(
            F.expr(f"sum({_MORE}) as {COUNT}"),
            F.expr(f"coalesce(sum({_MORE}) filter (where top < {RANK}), 0) as {_MORE}"),
        )
        is_new, is_raised = f"{RANK} is null", f"{RANK} is not null and {_MORE} > 0"
        checkpoint, (new, raised) = self.checkpoints.asked(
            found, f"count_if({is_new})", f"count_if({is_raised})"
        )
        if raised:
            self.raised.append(checkpoint.part(is_raised, raised, [*self.names, _MORE]))
        return checkpoint.part(is_new, new, [*self.names, f"{rank}L as {RANK}", COUNT]) if new else None

    def _counted(self, pending: Sequence[tuple[DataFrame, bool]], count: str, *by: str) -> DataFrame:
        """The found heads, once for each value of `by`, with the number of their instances.

        Their columns have other names until they are counted. Otherwise Spark would drop a renaming to the
        name that a column has further below, and lose the partitioning of the result.
        """
        heads = [f"h{name}" for name in self.names]
        renamed = [f"{name} as h{name}" for name in self.names]
        found = union([frame.selectExpr(*renamed, *by) for frame, _ in pending])
        if not all(in_place for _, in_place in pending):
            found = found.repartition(self.checkpoints.partitions, *(f"h{name}" for name in self.by))
        counted = found.groupBy(*heads, *by).agg(F.expr(f"count(1) as {count}"))
        return counted.selectExpr(*(f"h{name} as {name}" for name in self.names), *by, count)

    def _ranked(self, new: DataFrame, rank: int) -> Checkpoint:
        return self.checkpoints.make(new.selectExpr(*self.names, f"{rank}L as {RANK}", COUNT))

    def tidy(self) -> None:
        """Merge frames of similar size. Nothing of the round may be pending then."""
        while len(self.added) > 1 and self.added[-2].size <= 2 * self.added[-1].size:
            last = self.added[-2:]
            self.added[-2:] = [self.checkpoints.make(self._union([checkpoint.frame for checkpoint in last]))]
            self.checkpoints.drop(*last)

    def end_removal(self) -> int:
        """Lower the counts of heads that lost instances; those without any left become suspects."""
        pending, self.pending = self.pending, []
        self.delta = None
        rest = self.rest()
        if not pending or not rest.size:
            return 0
        heads = self._counted(pending, _MORE, "top")
        hit = with_same(heads.hint("shuffle_hash"), rest.frame, self.types, (RANK, COUNT), "inner")
        supported = hit.where(f"top < {RANK}").groupBy(*self.names, RANK, COUNT)
        left = supported.agg(F.expr(f"-sum({_MORE}) as {_MORE}"))
        for before in self.lowered:
            more = (f"{_MORE} as earlier",)
            left = with_same(left, F.broadcast(before.frame), self.types, more, "left").selectExpr(
                *self.names, RANK, f"{COUNT} + coalesce(earlier, 0) as {COUNT}", _MORE
            )
        is_lost = f"{COUNT} + {_MORE} <= 0"
        losses, (lost,) = self.checkpoints.asked(left, f"count_if({is_lost})")
        if not losses.size:
            return 0
        self.lowered.append(losses.part("true", losses.size, [*self.names, _MORE]))
        if not lost:
            return 0
        self.delta = losses.part(is_lost, lost, [*self.names, RANK, COUNT])
        self.removed.append(self.delta)
        return self.delta.size

    def end_rederivation(self, rank: int) -> int:
        """Make the suspects that still have instances the next delta."""
        pending, self.pending = self.pending, []
        self.delta = None
        if pending:
            self.delta = self._ranked(self._counted(pending, COUNT), rank)
        return self.delta.size if self.delta is not None else 0

    def lift(self, ranks: int) -> None:
        """Raise all ranks."""
        self.base = self.base.with_columns(self.base.frame.withColumn(RANK, F.expr(f"{RANK} + {ranks}L")))
        self.highest += ranks

    # -- the end of the stratum

    def settle(self) -> None:
        """Compute the new state, and the tuples inserted and deleted."""
        if self.after is not None:
            return
        if self.delta is not None and self.delta.size:
            self.added.append(self.delta)
        self.delta = None
        if self.is_booting:
            self._settle_anew()
        elif self.removed or self.added or self.lowered or self.raised or self.given is not None:
            self._settle_update()
        elif self.base is not self.before.facts:  # only ranks were raised
            self._finish(self.base, is_ranked=True)
        self.inserted = self.inserted or self.checkpoints.nothing(self.types)
        self.deleted = self.deleted or self.checkpoints.nothing(self.types)

    def _settle_anew(self) -> None:
        facts = self.base
        if self.added:  # few, because frames of similar size were merged
            tuples = self._union([checkpoint.frame for checkpoint in self.added])
            facts = self.checkpoints.combined(
                tuples, sum(checkpoint.size for checkpoint in self.added), *self.added
            )
        self.replace(facts, is_ranked=True)

    def replace(self, facts: Checkpoint, *, is_ranked: bool) -> None:
        """Replace all tuples of the relation."""
        old = self.before.facts
        if not old.size or not facts.size:
            self.inserted, self.deleted = facts, old
        else:
            new = without(facts.frame, looked_up(old.frame, old.size), self.types)
            gone = without(old.frame, looked_up(facts.frame, facts.size), self.types)
            self.inserted, self.deleted = self._differences(new, gone, old.size + facts.size)
        self._finish(facts, is_ranked=is_ranked)

    def _differences(self, new: DataFrame, gone: DataFrame, most: int) -> tuple[Checkpoint, Checkpoint]:
        """The tuples inserted and deleted, evaluated together if there are few, in one job."""
        if most > self.checkpoints.small:
            return self.checkpoints.make(new), self.checkpoints.make(gone)
        both = union(
            [
                frame.selectExpr(*self.names, f"{is_new} as new")
                for frame, is_new in ((new, True), (gone, False))
            ]
        )
        made, (inserted, deleted) = self.checkpoints.asked(both, "count_if(new)", "count_if(not new)")
        return made.part("new", inserted, self.names), made.part("not new", deleted, self.names)

    def move(self, inserted: Checkpoint, deleted: Checkpoint) -> None:
        """Insert and delete tuples; ranks and counts become unknown."""
        self.inserted, self.deleted = inserted, deleted
        new = inserted.with_columns(self.unranked(inserted.frame))
        self._finish(self._changed(self.before.facts, new, deleted), is_ranked=False)

    def _changed(self, old: Checkpoint, inserted: Checkpoint, deleted: Checkpoint) -> Checkpoint:
        """Rows after insertions and deletions, combined when they are read unless there are many."""
        if not old.size:
            return inserted
        frames = [
            checkpoint.frame.select(*old.frame.columns) for checkpoint in (old, inserted) if checkpoint.size
        ]
        if deleted.size:
            frames[0] = without(frames[0], deleted.small, self.types)
        made = self.checkpoints.combined(
            union(frames), old.size + inserted.size - deleted.size, old, inserted, deleted
        )
        is_much = inserted.size + deleted.size > max(_SHARE * old.size, _FEW) or made.held.depth > _DEPTH
        return self.checkpoints.make(made.frame) if is_much else made

    def unranked(self, tuples: DataFrame) -> DataFrame:
        """Tuples with placeholders for ranks and counts."""
        return tuples.selectExpr(*self.names, f"0L as {RANK}", f"1L as {COUNT}")

    def _settle_update(self) -> None:
        if self.added:
            inserted = self._union([checkpoint.frame for checkpoint in self.added]).select(*self.names)
            self.inserted = self._less(inserted, self.added, self.removed)
        if self.removed:
            self.deleted = self._less(self.suspects().frame, self.removed, self.added)
        if self.removed or self.added or self.lowered or self.raised:
            self._finish(self.checkpoints.make(self._rewritten()), is_ranked=True)
        else:
            self._finish(self.base, is_ranked=True)

    def _less(
        self, tuples: DataFrame, made_of: Sequence[Checkpoint], others: Sequence[Checkpoint]
    ) -> Checkpoint:
        """The tuples of some checkpoints that are not in others."""
        if others:
            return self.checkpoints.make(without(tuples, _small(others), self.types))
        return self.checkpoints.combined(tuples, sum(checkpoint.size for checkpoint in made_of), *made_of)

    def _rewritten(self) -> DataFrame:
        base = self.base.frame.select(*self.names, RANK, COUNT)
        if self.removed:
            base = without(base, _small(self.removed), self.types)
        base = self._moved(base, self.lowered)
        frames = [base, *(checkpoint.frame.select(*self.names, RANK, COUNT) for checkpoint in self.added)]
        return self._moved(union(frames), self.raised)

    def _moved(self, tuples: DataFrame, moves: Sequence[Checkpoint]) -> DataFrame:
        """Tuples with these changes applied to their counts."""
        if not moves:
            return tuples
        total = union([checkpoint.frame.select(*self.names, _MORE) for checkpoint in moves])
        total = total.groupBy(*self.names).agg(F.expr(f"sum({_MORE}) as {_MORE}"))
        joined = with_same(tuples, F.broadcast(total), self.types, (_MORE,), "left")
        return joined.selectExpr(*self.names, RANK, f"{COUNT} + coalesce({_MORE}, 0) as {COUNT}")

    def _finish(self, facts: Checkpoint, *, is_ranked: bool) -> None:
        given = self.before.given if self.given is None else self.given
        self.after = RelationState(self.types, facts, given, self.highest, is_ranked)

    # -- asserted facts

    def assert_rows(self, inserted: Checkpoint, deleted: Checkpoint) -> None:
        """Change the asserted facts; at most once in a commit."""
        given = self.before.given
        new, gone = inserted, deleted
        if given.size:
            new = self._but_given(inserted)
            gone = self._if_given(deleted)
        else:
            gone = self.checkpoints.nothing(self.types)
        self.given_inserted, self.given_deleted = new, gone
        if not given.size:
            self.given = new if new.size else None
        elif new.size or gone.size:
            self.given = self._changed(given, new, gone)

    def _if_given(self, rows: Checkpoint) -> Checkpoint:
        """The rows that are asserted already."""
        given = self.before.given
        if not rows.size:
            return rows
        if rows.size > min(BROADCAST, given.size):
            return self.checkpoints.make(same(rows.frame, given.small, self.types))
        # broadcast the few rows, so that the asserted facts are not shuffled
        return self.checkpoints.make(
            same(given.frame.select(*self.names), F.broadcast(rows.frame), self.types)
        )

    def _but_given(self, rows: Checkpoint) -> Checkpoint:
        """The rows that are not asserted yet."""
        known = self._if_given(rows)
        return self.checkpoints.make(without(rows.frame, known.small, self.types)) if known.size else rows

    def take_given(self) -> None:
        """Make the asserted facts the tuples of the relation."""
        given = self.before.given if self.given is None else self.given
        tuples = given.frame.selectExpr(*self.names, f"0L as {RANK}", f"1L as {COUNT}")
        facts = given.with_columns(tuples)
        if self.before.is_given or not self.before.facts.size:
            self.inserted = self.given_inserted or self.checkpoints.nothing(self.types)
            self.deleted = self.given_deleted or self.checkpoints.nothing(self.types)
        else:  # its rules were removed
            self.replace(facts, is_ranked=True)
        self.after = RelationState(self.types, facts, given, self.highest, is_given=True)


def _small(checkpoints: Sequence[Checkpoint]) -> DataFrame:
    """Several checkpoints as the smaller side of a join."""
    names = [name for name in checkpoints[0].frame.columns if name[0] == "c" and name != COUNT]
    frame = union([checkpoint.frame.select(*names) for checkpoint in checkpoints])
    return smaller(frame, sum(checkpoint.size for checkpoint in checkpoints))
