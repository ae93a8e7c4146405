"""mankai.Gate and GateFollower: is there anything to fetch?"""
from __future__ import annotations

import contextlib
import os
import threading
from operator import index
from typing import Any, Awaitable, Callable, Iterable, Iterator, TypeVar

from . import _core
from ._common import duration_us, durability_code, given, refuse_one_key

T = TypeVar("T")


class _Queries:
    """What Gate and GateFollower share."""

    maybe: Callable[..., _core.Maybe]
    report: Callable[..., None]
    _counts: Callable[[], dict[str, int]]
    _facts: Callable[[], dict[str, Any]]
    _position: Callable[[], int | None]
    path: str | None = None

    def get(self, key: Any, load: Callable[[], T], *, after: int = 0) -> T | None:
        """Returns load() if there may be a row with this key, and else None; reports the key if load() found nothing.

        load: asks the database, and returns None or something empty if it has no row. Positions count from 1; after: see maybe().
        """
        answer = self.maybe(key, after)
        if not answer:
            return None
        found = load()
        if found is None or (hasattr(found, "__len__") and len(found) == 0):
            self.report(key, answer)
        return found

    async def get_async(self, key: Any, load: Callable[[], Awaitable[T]], *, after: int = 0) -> T | None:
        """As get, for a load that is awaited."""
        answer = self.maybe(key, after)
        if not answer:
            return None
        found = await load()
        if found is None or (hasattr(found, "__len__") and len(found) == 0):
            self.report(key, answer)
        return found

    @property
    def position(self) -> int | None:
        """Position of the source up to which everything is applied; None if there is none yet."""
        return self._position()

    @property
    def counts(self) -> dict[str, int]:
        """Numbers of queries: asked, empty, maybe, memo_hits, waiting, false_positives, late_reports."""
        return self._counts()

    @property
    def info(self) -> dict[str, Any]:
        """Facts: keys, capacity_keys, saturation, fpr_target, fpr_estimate and more. Cost: two passes over the cells."""
        return self._facts()

    def __len__(self) -> int:
        return self._facts()["keys"]

    def __bool__(self) -> bool:
        return True


class Gate(_Queries, _core.Gate):
    """Is there anything to fetch? A negative cache in front of a table, for the process that applies its changes.

        gate = mankai.Gate(keys=1_000_000)
        gate.apply(inserted=[row.key for row in table], position=1)
        gate.get(key, lambda: database.fetch(key))      # asks only if there may be a row
        with gate.hold(key):                            # around a change that is applied before its commit
            ...

    "Empty" is always true as of `position`; "maybe" is wrong with the false-positive rate. `mankai gate sync` keeps a gate in
    step with SQLite or PostgreSQL; its followers are GateFollower.
    """

    def __new__(cls, *, keys: int = 1_000_000, fpr: float = 0.01, hash: str | None = None, seed: str | None = None,
                source_id: str | None = None, memo: int | None = None, reports: bool = True) -> Gate:
        """Makes an empty gate in memory. memo: bytes for reported keys [default: 8192]; reports: whether there are any."""
        return cls._create(given("keys", keys, index), given("fpr", fpr), hash, seed, source_id, given("memo", memo, index), not reports)

    @classmethod
    def open(cls, path: Any, *, memo: int | None = None, reports: bool = True, durability: str = "interval",
             interval: float = 1.0) -> Gate:
        """Opens a gate's file for changes. Errors: NotFound, Locked, Corrupt, InvalidArgument if it is not a gate."""
        made = cls._open(path, durability_code(durability), given("interval", interval, duration_us), given("memo", memo, index),
                         not reports)
        made.path = os.fspath(path)
        return made

    def save(self, path: Any, *, replace: bool = False) -> None:
        """Writes a gate in memory, with its position, to a file; open it then. Whole or not at all."""
        self._save(path, replace)

    def apply(self, inserted: Iterable[Any] = (), removed: Iterable[Any] = (), *, position: int, clears: bool = False,
              mark: str | None = None) -> None:
        """Applies the changes of one or more transactions and the position after them, atomically on disk.

        A row whose key changed is in both lists. clears: all earlier rows were deleted. mark: at most 10 characters, stored.
        Errors: InvalidArgument for a position before the gate's.
        """
        for keys in (inserted, removed):
            refuse_one_key(keys)
        self._apply([_key(key) for key in inserted], [_key(key) for key in removed], position, clears, mark)

    @contextlib.contextmanager
    def hold(self, key: Any) -> Iterator[None]:
        """Answers "maybe" for a key while the block runs, whatever is reported."""
        held = self._hold(key)
        try:
            yield
        finally:
            self._release(held)

    @property
    def source(self) -> tuple[str, str]:
        """The source's id, and the mark of the position; each empty if there is none."""
        identity, mark = self._source()
        return identity, mark


def _key(key: Any) -> Any:
    """A key whose bytes stay as they are during a call."""
    if isinstance(key, (str, bytes, int)):
        return key
    try:
        view = memoryview(key)
    except TypeError:
        return key  # an error of the extension, which says why
    return view.tobytes() if view.ndim else key  # without a dimension: an integer of numpy


class GateFollower(_Queries, _core.GateFollower):
    """Is there anything to fetch? A read-only copy of a gate's file that another process keeps in step.

        gate = mankai.GateFollower.open("baskets.mk")
        gate.refresh_every(1.0)
        basket = gate.get(cookie, lambda: database.basket(cookie))
    """

    _stop: threading.Event | None = None

    @classmethod
    def open(cls, path: Any, *, memo: int | None = None, reports: bool = True) -> GateFollower:
        """Opens a gate's file without a lock. Errors: NotFound, Corrupt, InvalidArgument if it is not a gate."""
        made = cls._open(path, given("memo", memo, index), not reports)
        made.path = os.fspath(path)
        return made

    def refresh_every(self, seconds: float) -> None:
        """Starts a daemon thread that calls refresh(); errors are ignored, since the old copy stays in use. close() ends it.

        Threads do not survive a fork: call it in each worker.
        """
        if not 0 < seconds < threading.TIMEOUT_MAX:
            raise _core.InvalidArgument(f"an interval is a positive number of seconds, not {seconds}")
        self._end_thread()
        stop = self._stop = threading.Event()

        def run() -> None:
            while not stop.wait(seconds):
                try:
                    self.refresh()
                except _core.Closed:
                    return
                except _core.Error:
                    pass

        self._thread = threading.Thread(target=run, name="mankai-gate-refresh", daemon=True)
        self._thread.start()

    def _end_thread(self) -> None:
        stop, self._stop = self._stop, None  # another thread may be here, too
        if stop is not None and self._thread.is_alive():  # not in the child of a fork, where the event may stay locked
            stop.set()
            self._thread.join()

    def close(self) -> None:
        """Ends the thread of refresh_every, and frees the memory."""
        self._end_thread()
        super().close()

    def __exit__(self, *unused: Any) -> None:
        self.close()
