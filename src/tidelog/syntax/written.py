"""What has a text in the language, so that it can be given wherever a text is expected."""

from __future__ import annotations

from abc import ABC, abstractmethod

__all__ = ["Written"]


class Written(ABC):
    """Its text is `str(…)` of it."""

    @abstractmethod
    def __str__(self) -> str: ...
