"""Facts in frames: filtered by Spark, and collected in the driver only when values are read.

A frame is immutable, so a view of a commit never changes.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cached_property
from typing import Any

import numpy as np

from tidelog.data.values import BadValue, canonical
from tidelog.engine.local.codes.codec import Codec, Codes
from tidelog.engine.local.storage.snapshot import Extent
from tidelog.engine.spark.frames.checkpoints import Checkpoint, Checkpoints
from tidelog.engine.spark.frames.layout import encode, named
from tidelog.engine.spark.frames.relation_state import RelationState
from tidelog.engine.spark.joins.matching import without
from tidelog.engine.spark.joins.native import literal
from tidelog.errors import DataError
from tidelog.program.declared import Relation
from tidelog.program.typed import Constant
from tidelog.session.backends.local.decoding import Decoder
from tidelog.session.backends.local.facts import CodedFacts
from tidelog.session.changes import RelationChanges
from tidelog.session.facts import Facts, WholeFacts, position
from tidelog.session.names import free_name

__all__ = ["FrameChanges", "FrameFacts", "WholeFrame"]

_NOTHING = np.empty((0, 0), np.int64)


class FrameFacts(CodedFacts):
    """Rows in a frame; codes are private to this object."""

    is_near = False
    is_frame = True

    def __init__(self, relation: Relation, checkpoint: Checkpoint, checkpoints: Checkpoints) -> None:
        self._codec = Codec()
        super().__init__(relation, Decoder(self._codec, checkpoints.publish), _NOTHING)
        checkpoint.held.share()  # the frame may be read at any time
        self._checkpoint = checkpoint
        self._checkpoints = checkpoints

    def __len__(self) -> int:
        return self._checkpoint.size

    def to_spark(self) -> Any:
        return named(self._outward, self.relation)

    @cached_property
    def _outward(self) -> Any:
        return self._checkpoints.sessions.outward(self._checkpoint.frame)

    # -- parts, filtered by Spark

    def __contains__(self, row: object) -> bool:
        if not isinstance(row, tuple | list) or len(row) != len(self.relation.columns):
            return False
        try:
            condition = self._condition(dict(enumerate(row)))
        except DataError:
            return False
        with self._reading():
            return bool(self._checkpoint.frame.where(condition).take(1))

    def where(self, **values: object) -> Facts:
        condition = self._condition({position(self.relation, n): value for n, value in values.items()})
        return self._held_part(self._checkpoint.frame.where(condition))

    def _held_part(self, frame: Any) -> FrameFacts:
        with self._reading():
            return FrameFacts(self.relation, self._checkpoints.shared(frame), self._checkpoints)

    def _reading(self) -> AbstractContextManager[None]:
        return self._checkpoints.jobs.named(f"Tidelog · reading {self.relation.name}")

    def _condition(self, wanted: dict[int, object]) -> str:
        """The SQL condition that a row has these values in these columns; DataError if a type is wrong."""
        parts = ["true"]
        for place, value in wanted.items():
            column = self.relation.columns[place]
            try:
                constant = Constant(canonical(column.type, value), column.type)
            except BadValue as bad:
                raise DataError(self.relation.name, str(bad), column=column.name, value=value) from None
            parts.append(f"c{place} <=> {literal(constant)}")
        return " and ".join(parts)

    def between(self, column: str, low: object = None, high: object = None) -> Facts:
        self._all()  # bounds are looked up among known values
        return super().between(column, low, high)

    # -- codes

    @cached_property
    def _collected(self) -> Codes:
        return self._encoded(self._checkpoint.frame)

    def _encoded(self, frame: Any) -> Codes:
        with self._reading():
            rows = frame.toArrow()
        return np.ascontiguousarray(encode(self._codec, self.relation.types, rows).T)

    def _all(self) -> Codes:
        return self._collected

    def _first(self, count: int) -> Codes:
        return self._encoded(self._checkpoint.frame.limit(count))

    def _between(self, place: int, wanted: Extent) -> Codes:
        codes = self._all()
        return codes[wanted.holds(codes[:, place])]


class WholeFrame(FrameFacts, WholeFacts):
    """A relation of a session, as of one commit."""

    def __init__(self, relation: Relation, state: RelationState, checkpoints: Checkpoints) -> None:
        super().__init__(relation, state.facts, checkpoints)
        state.given.held.share()
        self._state = state

    @property
    def given(self) -> Facts:
        return FrameFacts(self.relation, self._state.given, self._checkpoints)

    @property
    def derived(self) -> Facts:
        return self._held_part(without(self._state.facts.frame, self._state.given.small, self._state.types))


class FrameChanges(RelationChanges):
    """The change of one relation, in two frames."""

    is_frame = True

    def __init__(self, relation: Relation, inserted: FrameFacts, deleted: FrameFacts) -> None:
        super().__init__(relation, inserted, deleted)
        self._frames = inserted, deleted

    def to_spark(self) -> Any:
        name = free_name("sign", {c.name for c in self.relation.columns})
        signed = zip(self._frames, (1, -1), strict=True)
        inserted, deleted = (
            f.to_spark().selectExpr("*", f"cast({s} as tinyint) as {name}") for f, s in signed
        )
        return inserted.unionByName(deleted)
