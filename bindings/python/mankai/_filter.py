"""mankai.Filter: a filter of any kind, in memory or in a file."""
from __future__ import annotations

import array
import contextlib
import copy
import datetime
import enum
import os
from typing import Any, Iterator, NamedTuple

from . import _core
from ._common import (MODES, batches, choice, duration_us, durability_code, given, ids_of, integers, is_array, length_of, many,
                      microseconds, moment, prepare, times_us)


class Removal(enum.IntEnum):
    """Result of removing a key. All but REMOVED: nothing has changed."""

    REMOVED = 0
    ABSENT = 1     #: certainly absent
    AMBIGUOUS = 2  #: more than one sub-filter may hold it
    BELOW_IDS = 3  #: no sub-filter has ids so low
    STUCK = 4      #: its counters are saturated


_REMOVALS = tuple(Removal)


class Count(NamedTuple):
    """Count of a key; never too low, unless saturated."""

    value: int
    is_saturated: bool


class Lately(NamedTuple):
    """Decayed count of a key: `raw`, and `rate` in occurrences per epoch."""

    raw: float
    rate: float
    is_saturated: bool


class Entry(NamedTuple):
    """One of the hottest keys. `is_cut`: these are the first bytes of a longer key."""

    key: bytes
    count: float  # type: ignore[assignment]  # in place of tuple.count
    rate: float
    last_seen: datetime.datetime
    is_saturated: bool
    is_cut: bool

    @property
    def text(self) -> str:
        """The key as text; bytes that are not UTF-8 are replaced."""
        return self.key.decode("utf-8", "replace")


class Estimates(NamedTuple):
    """Estimates from the cells: share of cells in use, current false-positive rate, number of distinct keys."""

    fill_ratio: float
    fpr: float
    keys: float


class Recovery(NamedTuple):
    """What opening a file after a crash did."""

    records_replayed: int
    changes_replayed: int
    bytes_dropped: int
    sequence: int
    reason: str
    was_closed: bool


def entries(found: list[tuple[Any, ...]]) -> list[Entry]:
    return [Entry(key, raw, rate, moment(seen_us), is_saturated, is_cut)
            for key, raw, rate, is_saturated, seen_us, is_cut in found]


class Batch:
    """Changes between begin and commit: see Filter.batch. Set `position` before the end of the block."""

    def __init__(self, position: bytes = b"") -> None:
        self.position = position


@contextlib.contextmanager
def batch_of(handle: Any, position: bytes = b"") -> Iterator[Batch]:
    if getattr(handle, "_is_in_batch", False) and not handle.closed:
        raise _core.Busy("a batch of this object is open, here or in another thread; it would take these changes, too")
    batch = Batch(position)
    handle._begin()
    handle._is_in_batch = True
    try:
        yield batch
        handle._commit(batch.position)
    except BaseException:
        handle.close()
        raise
    handle._is_in_batch = False


def option_text(value: Any) -> str:
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)


_FOOTER = b"MKSTOR\x1a\n"  # docs/formats/store.md


class Filter(_core.Filter):
    """A filter of any kind, in memory or in a file that survives crashes.

        f = mankai.Filter("blocked-bloom:keys=1e6,fpr=0.01")
        f.add("a")
        "a" in f                                            # True; never a false negative
        f.contains_many(["a", "b"])                         # [True, False]

        f = mankai.Filter.create("urls.mk", keys=10**7, fpr=0.001)
        f = mankai.Filter.open("urls.mk", "w")

    len(f) is the number of keys added; bool(f) is always True. Filters of one spec are merged by `f |= other`. A filter in
    memory can be pickled and copied: by its image, which contains its seed, a secret. A file opened with mode "r" is
    pickled as its path.
    """

    path: str | None = None
    _mode = "w"

    def __new__(cls, spec: str) -> Filter:
        """Makes an empty filter in memory from a spec, as `mankai create` takes it. Errors: NotFound, InvalidArgument."""
        return cls._from_spec(spec)

    @classmethod
    def create(cls, path: Any = None, *, kind: str = "blocked-bloom", keys: int, fpr: float = 0.01,
               hash: str | None = None, seed: str | None = None, canonical: bool = False, replace: bool = False,
               durability: str = "interval", interval: float = 1.0, **options: Any) -> Filter:
        """Makes an empty filter: in memory, or with a path in a new file, opened for changes.

        keys: number of distinct keys to size it for. fpr: false-positive rate at that number. canonical: keys are URLs, compared
        in canonical form. durability: when changes survive power loss: "always" (each call waits), "interval" (seconds) or
        "never"; they survive a process crash at once. options: those of the kind, such as growth=2; see mankai.kinds().
        Errors: InvalidArgument, also if the file exists and replace is false; NotFound, Locked, DiskError.
        """
        for name, value in (("keys", keys), ("fpr", fpr)):
            if isinstance(value, (str, bytes, bool)):
                raise TypeError(f"{name} is {value!r}; give a number")
        fields = {"keys": keys, "fpr": fpr, "hash": hash, "seed": seed, "canonical": canonical or None, **options}
        spec = kind + ":" + ",".join(f"{name.replace('_', '-')}={option_text(value)}" for name, value in fields.items()
                                     if value is not None)
        if path is None:
            return cls._from_spec(spec)
        made = cls._create_file(path, spec, durability_code(durability), given("interval", interval, duration_us), replace)
        made.path = os.fspath(path)
        return made

    @classmethod
    def open(cls, path: Any, mode: str = "r", *, durability: str = "interval", interval: float = 1.0,
             trust_cells: bool = False) -> Filter:
        """Opens a filter's file: "r" for queries (any number of handles), "w" for changes (one at a time).

        Errors: NotFound, Locked (it names the process), Corrupt, UnsupportedVersion, DiskError.
        """
        made = cls._open_file(path, choice("mode", mode, MODES), durability_code(durability), given("interval", interval, duration_us),
                              trust_cells)
        made.path = os.fspath(path)
        made._mode = mode
        return made

    @classmethod
    def from_bytes(cls, image: Any) -> Filter:
        """Makes a filter in memory from an image, as to_bytes() returns it, which is checked completely.

        A filter's file is not an image: keys may be in its journal. Use open(path), or open(path).copy() for memory.
        Errors: Corrupt, UnsupportedVersion, InvalidArgument for the bytes of a file.
        """
        try:
            return cls._from_bytes(image)
        except (_core.Corrupt, _core.UnsupportedVersion):
            if bytes(memoryview(image).cast("B")[-512:]).startswith(_FOOTER):
                raise _core.InvalidArgument("the bytes of a filter's file, not of an image: open the file with Filter.open(path), and use "
                                            "copy() of that for a filter in memory") from None
            raise

    def to_bytes(self) -> bytes:
        """Returns the filter's image, for from_bytes. Its file has a footer after the image."""
        return self._to_bytes()

    def save(self, path: Any, *, replace: bool = False) -> None:
        """Writes a copy to a file, whole or not at all. Errors: InvalidArgument if it exists and replace is false."""
        self._save(path, replace)

    def copy(self) -> Filter:
        """Returns a filter in memory with the same content, and with the attributes of a subclass."""
        made = self._copy()
        made.__dict__.update(self._attributes())
        return made

    __copy__ = copy

    def __deepcopy__(self, memo: dict[int, Any]) -> Filter:
        made = memo[id(self)] = self._copy()
        made.__dict__.update(copy.deepcopy(self._attributes(), memo))
        return made

    def _attributes(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("path", "_mode", "_is_in_batch")}

    def __reduce__(self) -> tuple[Any, ...]:
        if self.path is None:
            return (_unpickle, (type(self), self.to_bytes()), self.__getstate__())
        if self._mode == "r":
            return (_reopen, (type(self), self.path), self.__getstate__())
        raise TypeError(f"{self.path}: a file opened for changes cannot be pickled; open it there, or pickle copy()")

    # ---- Keys ----

    def _contains_many(self, keys: Any, *, out: Any = None) -> Any:
        return many(self._contains_keys, keys, out=out)

    _contains_many.__qualname__ = "Filter.contains_many"  # in errors

    def _add(self, key: Any, /, *, id: int | None = None, at: Any = None) -> None:
        if id is None and at is None:
            super().add(key)
        else:
            self.update([key], ids=None if id is None else [id], at=at)

    _add.__qualname__ = "Filter.add"

    def _update(self, keys: Any, *, ids: Any = None, at: Any = None) -> int:
        if ids is not None and at is not None:
            raise TypeError("keys have ids or times, not both")
        if ids is not None or at is not None:
            keys = prepare(keys) if is_array(keys) else list(keys)
            return self._add_many(keys, None if at is None else times_us(at, length_of(keys)), ids_of(ids))
        return sum(self._add_many(chunk, None, None) for chunk in batches(keys))

    _update.__qualname__ = "Filter.update"

    def _observe_many(self, keys: Any, *, out: Any = None) -> Any:
        return many(self._observe_keys, keys, out=out)

    _observe_many.__qualname__ = "Filter.observe_many"

    def remove(self, key: Any, /, *, id: int | None = None) -> Removal:
        """Removes a key once. Remove only keys that were added: removing a false positive makes false negatives of others."""
        return _REMOVALS[self._remove(key)] if id is None else self.remove_many([key], ids=[id])[0]

    def remove_many(self, keys: Any, *, ids: Any = None) -> list[Removal]:
        """Removes each key once, in order."""
        keys = prepare(keys) if is_array(keys) else list(keys)
        return [_REMOVALS[one] for one in self._remove_many(keys, ids_of(ids))]

    def count(self, key: Any, /) -> Count:
        """Returns how often a key was added; for kinds that count."""
        return Count(*self._count(key))

    def counts(self, keys: Any) -> Any:
        """Returns the count per key: a list of int for lists and iterables, else an array of uint32."""
        return many(self._counts_of, keys, "I")

    def _counts_of(self, keys: Any) -> Any:
        found = self._counts(keys)
        return array.array("I", bytes(found)).tolist() if isinstance(keys, (list, tuple)) else found

    def lately(self, key: Any, /) -> Lately:
        """Returns the decayed count of a key; for kinds that decay."""
        return Lately(*self._lately(key))

    def top(self, n: int = 20) -> list[Entry]:
        """Returns the hottest keys of a decayed-top, the hottest first."""
        return entries(self._top(n))

    def put(self, key: Any, value: int, *, strength: float = 1.0) -> None:
        """Stores a value of 32 bits with a key; for recent-values."""
        self._put_many([key], integers("a value is", "I", [value]), strength)

    def recall(self, key: Any, *, min_matches: int = 2) -> list[tuple[int, int]]:
        """Returns the values of a key with the number of cells that hold each, those with most first."""
        return self._recall(key, min_matches)

    # ---- The whole filter ----

    def advance(self, now: Any) -> None:
        """Advances the time of a filter whose keys expire or decay. Errors: InvalidArgument for an earlier time."""
        self._advance(microseconds(now))

    def merge(self, other: Filter) -> None:
        """Adds the keys of another filter with the same spec, seed included. Also `self |= other`."""
        self._merge(other)

    def __ior__(self, other: Filter) -> Filter:
        self._merge(other)
        return self

    @property
    def info(self) -> dict[str, Any]:
        """Description: kind, capacity_keys, keys_inserted, image_bytes, fpr_target, capabilities and more."""
        return self._info()

    @property
    def kind(self) -> str:
        """Name of the kind."""
        return self._info()["kind"]

    @property
    def spec(self) -> str:
        """The spec of the filter, with its seed, which is a secret."""
        return self._spec()

    def estimate(self) -> Estimates:
        """Returns estimates from the cells. Cost: two passes over the cells."""
        return Estimates(*self._estimate())

    def approx_len(self) -> float:
        """Returns the estimated number of distinct keys. Cost: two passes over the cells."""
        return self._estimate()[2]

    def __repr__(self) -> str:
        if self.closed:
            return f"<mankai.Filter {self.path or ''} closed>"
        info = self._info()
        return f"<mankai.Filter {info['kind']} of {info['capacity_keys']:,} keys, {info['keys_inserted']:,} added>"

    # ---- Files ----

    def batch(self, position: bytes = b"") -> contextlib.AbstractContextManager[Batch]:
        """Makes one batch of all changes in a `with` block, and stores the position of their source after it.

        Changes of other threads meanwhile are part of it; a second batch of the object is a Busy error.
        After an exception the file has none of them, and the filter is closed, since memory cannot take them back.
        """
        return batch_of(self, position)

    @property
    def position(self) -> bytes:
        """Position of the last batch."""
        return self._position()

    @property
    def sequence(self) -> int:
        """Number of changes of keys since the file was created."""
        return self._sequences()[0]

    @property
    def durable_sequence(self) -> int:
        """How many of these survive power loss."""
        return self._sequences()[1]

    @property
    def recovery(self) -> Recovery:
        """What opening the file after a crash did."""
        return Recovery(**self._recovery())


def _unpickle(cls: type[Filter], image: bytes) -> Filter:
    return cls.from_bytes(image)


def _reopen(cls: type[Filter], path: str) -> Filter:
    return cls.open(path)
