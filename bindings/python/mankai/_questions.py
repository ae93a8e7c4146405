"""mankai.Seen, ConfirmedSeen and Hot."""
from __future__ import annotations

import contextlib
import datetime
import enum
import itertools
import os
from operator import index
from typing import Any, Callable, Iterable, Iterator, TypeVar

from . import _core
from ._common import (batches, choice, duration_us, durability_code, given, is_array, length_of, many, microseconds, moment, now_us,
                      prepare, times_us)
from ._filter import Batch, Entry, Removal, batch_of, entries

T = TypeVar("T")
_SHARING = {"one writer": 0, "processes": 1}


def _seconds(time_us: int) -> datetime.timedelta | None:
    return datetime.timedelta(microseconds=time_us) if time_us else None


class Seen(_core.Seen):
    """Have I seen it? Remembers keys, in memory or in a file, and reports repeats.

        seen = mankai.Seen("seen.mk", keys=10_000_000, fpr=0.001)
        seen.observe(url)             # False the first time, True from then on, also after a restart or crash
        url in seen                   # asks only
        for row in seen.first(rows, key=lambda row: row["url"]): ...

    No false negatives; up to `keys` keys, a new key is reported as seen with probability `fpr`. With a window, keys expire: a
    key is seen for at least that long after its first time. Of kind "fading-fingerprints", new keys overwrite old ones.
    """

    path: str | None = None

    def __new__(cls, path: Any = None, *, keys: int | None = None, fpr: float | None = None, kind: str | None = None,
                hash: str | None = None, seed: str | None = None, canonical: bool | None = None,
                window: Any = None, durability: str = "interval", interval: float | None = None,
                sharing: str = "one writer") -> Seen:
        """Opens a file for changes, or creates it; without a path, in memory.

        keys [default: 10,000,000] and fpr [default: 0.001] are for a new file; an existing one must agree with what is given.
        canonical: keys are URLs, compared in canonical form. window: seconds or timedelta after which keys expire. durability,
        interval: as Filter.create. sharing: with "processes" any number of processes, and their forks, remember keys in one
        file (no window); what a call returned survives process crashes, and a power loss restores the last
        checkpoint: one each interval [default: 60], and at sync(). Of kind "counting-bloom" they can also forget keys.
        Errors: InvalidArgument if the file has other settings; Locked, Corrupt, DiskError.
        """
        sharing_code = choice("sharing", sharing, _SHARING)
        made = cls._open(path, kind, given("keys", keys, index), given("fpr", fpr), hash, seed, given("window", window, duration_us),
                         0 if canonical is None else 1 if canonical else 2, durability_code(durability),
                         given("interval", interval, duration_us), sharing_code)
        made._follows_clock = made._facts()["window_us"] != 0
        made.path = None if path is None else os.fspath(path)
        return made

    def _observe(self, key: Any, /, at: Any = None) -> bool:
        return super().observe(key) if at is None else self._observe_at(key, microseconds(at))

    _observe.__qualname__ = "Seen.observe"  # in errors

    def _observe_many(self, keys: Any, at: Any = None, *, out: Any = None) -> Any:
        if at is None and not self._follows_clock:
            return many(lambda chunk: self._observe_keys(chunk, None), keys, out=out)
        if at is None:
            at = now_us() / 1e6
        keys = keys if is_array(keys) else list(keys)
        return many(lambda chunk: self._observe_keys(chunk, times_us(at, length_of(chunk))), keys, out=out)

    _observe_many.__qualname__ = "Seen.observe_many"

    def update(self, keys: Any, at: Any = None) -> int:
        """Adds keys and returns how many of them were new."""
        new = 0
        for chunk in batches(keys):
            new += bytes(self.observe_many(chunk, at)).count(0)
        return new

    def _contains_many(self, keys: Any, *, out: Any = None) -> Any:
        return many(self._contains_keys, keys, out=out)

    _contains_many.__qualname__ = "Seen.contains_many"

    def forget(self, key: Any, /) -> Removal:
        """Forgets a key, so that the next observe reports it as new: of kind "counting-bloom" that processes share.

        Forget only what observe reported as new, and once, whatever the result: forgetting a false positive makes false
        negatives of other keys.
        """
        return self.forget_many([key])[0]

    def forget_many(self, keys: Any) -> list[Removal]:
        """Forgets keys, in order."""
        return [Removal(one) for one in self._forget_many(prepare(keys) if is_array(keys) else list(keys))]

    def first(self, items: Iterable[T], *, key: Callable[[T], Any] | None = None, at: Any = None) -> Iterator[T]:
        """Yields the items whose key is seen for the first time, in order. Adds them in batches of at most 4096.

        A crash after a batch was added forgets nothing: the items of a batch that were not processed are lost, so use batch()
        and a position where each item must be processed.
        """
        iterator = iter(items)
        size = 64
        while True:
            chunk = list(itertools.islice(iterator, size))
            if not chunk:
                return
            size = min(2 * size, 4096)
            keys = chunk if key is None else [key(item) for item in chunk]
            for item, is_repeat in zip(chunk, self.observe_many(keys, at)):
                if not is_repeat:
                    yield item

    def batch(self, position: bytes = b"") -> contextlib.AbstractContextManager[Batch]:
        """As Filter.batch: all keys of a `with` block are in the file, or none. No effect in memory.

        Error: InvalidArgument if processes share the file, where each call is in the file when it returns.
        """
        return batch_of(self, position)

    @property
    def position(self) -> bytes:
        """Position of the last batch."""
        return self._position()

    @property
    def info(self) -> dict[str, Any]:
        """Facts: kind, keys_inserted, capacity_keys, is_over_capacity, sequence, durable_sequence and more."""
        return self._facts()

    @property
    def window(self) -> datetime.timedelta | None:
        """A key is seen for at least this long; None without a window."""
        return _seconds(self._facts()["window_us"])

    @property
    def forgets_after(self) -> datetime.timedelta | None:
        """After this time a key has expired; None without a window."""
        return _seconds(self._facts()["forgets_after_us"])

    @property
    def is_over_capacity(self) -> bool:
        """Whether the false-positive rate rises above its target."""
        return self._facts()["is_over_capacity"]


class Confirmed(enum.IntEnum):
    """Answer of ConfirmedSeen for a key."""

    NEW = 0
    REPEAT = 1
    RESCUED = 2  #: new; a false positive of the filter, which the log corrected


class ConfirmedSeen(_core.ConfirmedSeen):
    """Have I seen it? Never wrong: a filter in memory, and behind it an exact log of digests on disk.

        seen = mankai.ConfirmedSeen("seen.log")
        if not seen.observe(url):
            fetch(url)
        seen.commit()               # observed keys are in the log from here on

    Cost: 8 to 16 bytes per key on disk, and a look-up there for repeats.
    """

    path: str | None = None

    def __new__(cls, path: Any, *, keys: int | None = None, fpr: float | None = None, hash: str | None = None,
                seed: str | None = None, canonical: bool | None = None) -> ConfirmedSeen:
        """Opens a log, or creates it. Errors: InvalidArgument if it has other settings; Locked, Corrupt, DiskError."""
        made = cls._open(path, given("keys", keys, index), given("fpr", fpr), hash, seed, 0 if canonical is None else 1 if canonical else 2)
        made.path = os.fspath(path)
        return made

    def observe_many(self, keys: Any) -> list[Confirmed]:
        """Adds keys in order, and returns their answers; the second occurrence in a call is a repeat."""
        answers: list[Confirmed] = []
        for chunk in batches(keys):
            answers.extend(_CONFIRMED[one] for one in self._observe_many(chunk))
        return answers

    def first(self, items: Iterable[T], *, key: Callable[[T], Any] | None = None) -> Iterator[T]:
        """Yields the items whose key is new, in order; commits after each batch that was consumed."""
        iterator = iter(items)
        while chunk := list(itertools.islice(iterator, 4096)):
            keys = chunk if key is None else [key(item) for item in chunk]
            for item, answer in zip(chunk, self.observe_many(keys)):
                if answer is not Confirmed.REPEAT:
                    yield item
            self.commit()

    @property
    def info(self) -> dict[str, int]:
        """keys, file_bytes, memory_bytes, dropped_bytes."""
        return self._facts()

    def __len__(self) -> int:
        return self._facts()["keys"]

    def __bool__(self) -> bool:
        return True


_CONFIRMED = tuple(Confirmed)


class Hot(_core.Hot):
    """How hot is it now? Decayed counts of keys in a fixed amount of memory, and the hottest keys.

        hot = mankai.Hot(half_life=600)
        hot.observe("/index.html")
        hot.top(10)                    # Entry(key, count, rate, last_seen, ...)
        hot.count("/index.html")

    Counts are halved each half_life, or with `window` count the last seconds only. Strict rounding: never too low.
    """

    path: str | None = None

    def __new__(cls, path: Any = None, *, half_life: Any = None, window: Any = None, memory: int | None = None,
                epoch: Any = None, rounding: str | None = None, hash: str | None = None, seed: str | None = None,
                late_tolerance: Any = 300.0, accept_future: float | None = 86400.0, durability: str = "interval",
                interval: float = 1.0) -> Hot:
        """Opens a file for changes, or creates it; without a path, in memory.

        half_life, window, epoch: seconds or timedelta [default: a half-life of an hour]. memory: bytes [default: 262,144].
        rounding: "strict" or "balanced" (half of the error, some counts too low). late_tolerance: older records count as late.
        accept_future: records further ahead of the clock than this are ignored; None accepts all, of which
        those after the year 9999 have its end as last_seen.
        Errors: InvalidArgument if the file has other settings; Locked, Corrupt, DiskError.
        """
        rounding_code = choice("rounding", rounding, {None: 0, "strict": 1, "balanced": 2})
        future_us = given("accept_future", accept_future or None, duration_us)
        made = cls._open(path, given("half_life", half_life, duration_us), given("epoch", epoch, duration_us),
                         given("window", window, duration_us), given("memory", memory, index), hash, seed, 0,
                         given("late_tolerance", late_tolerance, duration_us), rounding_code, durability_code(durability),
                         given("interval", interval, duration_us))
        made._accept_future = None if accept_future is None else future_us
        made.path = None if path is None else os.fspath(path)
        return made

    _accept_future: int | None = None

    def _observe(self, key: Any, /, at: Any = None) -> None:
        self._limit_future(at)
        self._observe_at(key, now_us() if at is None else microseconds(at))

    _observe.__qualname__ = "Hot.observe"  # in errors

    def observe_many(self, keys: Any, at: Any = None) -> None:
        """Counts keys in order. at: one time, or an array of shape (n,): seconds, datetimes or numpy.datetime64."""
        self._limit_future(at)
        if at is None:
            at = now_us() / 1e6
        if not is_array(keys):
            keys = list(keys)
        keys = prepare(keys)
        self._observe_many(keys, times_us(at, length_of(keys)))

    update = observe_many

    def _limit_future(self, at: Any) -> None:
        if self._accept_future is not None and (at is not None or self._follows_clock):
            self._follows_clock = True
            self._accept_until(min(now_us() + self._accept_future, 2**63 - 1))

    def top(self, n: int = 20) -> list[Entry]:
        """Returns the n hottest keys, the hottest first."""
        return entries(self._top(n))

    def above(self, count: float) -> list[Entry]:
        """Returns the keys with names that have at least this decayed count, the hottest first."""
        return entries(self._above(count))

    def advance(self, now: Any = None) -> None:
        """Decays counts until a time [default: now]; an earlier one has no effect."""
        self._advance(now_us() if now is None else microseconds(now))

    def batch(self, position: bytes = b"") -> contextlib.AbstractContextManager[Batch]:
        """As Filter.batch: all records of a `with` block are in the file, or none."""
        return batch_of(self, position)

    @property
    def position(self) -> bytes:
        """Position of the last batch."""
        return self._position()

    @property
    def now(self) -> datetime.datetime:
        """Time to which counts are decayed."""
        return moment(self._facts()["now_us"])

    @property
    def info(self) -> dict[str, Any]:
        """Facts: records, late_records, records_in_future, half_life_us, window_us, image_bytes and more."""
        return self._facts()

    def __len__(self) -> int:
        return self._facts()["records"]

    def __bool__(self) -> bool:
        return True
