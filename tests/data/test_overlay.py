"""Overlays are copies of dictionaries: the same items, in the same order."""

from __future__ import annotations

import pickle
import random

import pytest

from tidelog.data import overlay
from tidelog.data.overlay import Overlay


@pytest.mark.parametrize("seed", range(30))
def test_an_overlay_is_a_copied_dictionary(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(seed)
    monkeypatch.setattr(overlay, "_LITTLE", rng.choice([0, 4, 64]))
    plain = dict.fromkeys(range(rng.choice([0, 5, 40])), 0)
    layered = Overlay(dict(plain))
    kept = []
    for step in range(300):
        key = rng.randrange(50)
        match rng.choice(["set", "set", "delete", "copy", "pop"]):
            case "set":
                plain[key] = layered[key] = step
            case "delete" if key in plain:
                del plain[key], layered[key]
            case "delete":
                with pytest.raises(KeyError):
                    del layered[key]
            case "pop":
                assert layered.pop(key, None) == plain.pop(key, None)
            case _:
                kept.append((plain, layered))
                plain, layered = dict(plain), Overlay(layered)
        assert len(layered) == len(plain)
        assert (key in layered, layered.get(key)) == (key in plain, plain.get(key))
        if step % 20 == 0:
            assert list(layered.items()) == list(plain.items())
    for expected, copied in [*kept, (plain, layered)]:  # later changes of a copy change nothing
        assert list(copied.items()) == list(expected.items())
        assert copied == expected
        assert expected == copied
        assert repr(copied) == repr(expected)
        assert pickle.loads(pickle.dumps(copied)) == expected


def test_a_missing_key_is_a_key_error() -> None:
    layered = Overlay({"a": 1})
    del layered["a"]
    with pytest.raises(KeyError, match="a"):
        layered["a"]
    with pytest.raises(KeyError, match="b"):
        layered["b"]
