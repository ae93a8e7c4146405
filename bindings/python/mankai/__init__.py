"""Small, fast filters for web services: have I seen it, how hot is it, is it blocked, is there anything to fetch?

    import mankai

    seen = mankai.Seen("seen.mk", keys=50_000_000)              # URLs, kept over restarts
    for url in seen.first(urls):                                # new ones only, in order
        fetch(url)

    hot = mankai.Hot(half_life=600)                             # decayed counts in 256 KiB
    hot.observe("/index.html")
    hot.top(10)

    guard = mankai.Guard.open("blocked.mkg")                    # a compiled block list
    if guard.blocked(url):
        ...

    gate = mankai.GateFollower.open("baskets.mk")               # a negative cache in front of a table
    basket = gate.get(cookie, lambda: database.basket(cookie))  # asks the database only if there may be one

Classes: Seen and ConfirmedSeen (exact), Hot, Guard, Gate and GateFollower, and Filter, a filter of any kind. URLs:
mankai.url. Helpers: mankai.scrapy, mankai.wsgi, mankai.asgi, mankai.pydablooms.

Keys are str (as UTF-8), bytes, buffers of bytes, or int (8 bytes); never hash(), which differs between processes. Methods
that end in _many, and update(), take lists, tuples, other iterables, numpy arrays (texts, bytes, objects, integers)
and Arrow arrays (text, binary, int64); they run without the interpreter's lock.

Threads: any thread may call any object at any time; close() waits for calls under way. Processes: open files for changes
after a fork; the child of a fork gets mankai.Forked. Errors: mankai.Error, with `code` and a message that says what to do.
"""
from __future__ import annotations

import json as _json
from operator import index as _index
from typing import Any as _Any

from . import _core
from ._core import (Busy, Closed, Corrupt, DiskError, Error, Forked, InvalidArgument, Locked, Maybe, NotFound, OutOfSpace,
                    UnsupportedVersion)
from ._common import given
from ._filter import Batch, Count, Entry, Estimates, Filter, Lately, Recovery, Removal
from ._gate import Gate, GateFollower
from ._guard import Answer, BuildReport, Guard, Verdict
from ._questions import Confirmed, ConfirmedSeen, Hot, Seen
from . import url

__version__ = _core.VERSION
__all__ = [
    "Answer", "Batch", "BuildReport", "Busy", "Closed", "Confirmed", "ConfirmedSeen", "Corrupt", "Count", "DiskError", "Entry", "Error",
    "Estimates", "Filter", "Forked", "Gate", "GateFollower", "Guard", "Hot", "InvalidArgument", "Lately", "Locked", "Maybe",
    "NotFound", "OutOfSpace", "Recovery", "Removal", "Seen", "UnsupportedVersion", "Verdict", "kinds", "plan", "url", "verify",
]


def kinds() -> list[dict[str, _Any]]:
    """Returns the kinds of filters: name, summary, capabilities, options."""
    return _json.loads(_core.kinds())


def plan(keys: int, fpr: float = 0.01, *, memory_bytes: int | None = None) -> list[dict[str, _Any]]:
    """Returns the size of each kind for so many keys, or with memory_bytes the false-positive rate of each.

    Errors: InvalidArgument for an impossible request.
    """
    return _json.loads(_core.plan(keys, 0.0 if memory_bytes is not None else fpr, given("memory_bytes", memory_bytes, _index)))


def verify(path: _Any) -> None:
    """Reads and checks the file of a filter or guard completely. Errors: Corrupt, NotFound, UnsupportedVersion, DiskError."""
    _core.verify(path)
