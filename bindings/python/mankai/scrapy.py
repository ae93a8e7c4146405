"""A duplicate filter for Scrapy in bounded memory, kept over restarts; exact by default.

    # settings.py
    DUPEFILTER_CLASS = "mankai.scrapy.DupeFilter"
    JOBDIR = "crawl-1"                # keeps what was seen in crawl-1/requests.seen
    MANKAI_KEYS = 50_000_000          # requests to size the filter for [default: 10,000,000]
    MANKAI_EXACT = True               # False: in memory only a filter; drops new requests at MANKAI_FPR
    MANKAI_FPR = 0.001

An exact filter drops no new request: a false positive of the filter is looked up in a log on disk. Without JOBDIR the log is
in a temporary folder. Statistics: mankai/requests, mankai/duplicates, mankai/rescued.
"""
from __future__ import annotations

import logging
import os
import shutil
import tempfile
from typing import Any

from scrapy.dupefilters import BaseDupeFilter
from scrapy.utils.request import RequestFingerprinter

from ._questions import Confirmed, ConfirmedSeen, Seen

_COMMIT_EVERY = 4096


class DupeFilter(BaseDupeFilter):
    """Scrapy's DUPEFILTER_CLASS; see the module."""

    def __init__(self, path: str | None = None, *, keys: int = 10_000_000, fpr: float = 0.001, exact: bool = True,
                 fingerprinter: Any = None, debug: bool = False, stats: Any = None) -> None:
        self._fingerprinter = fingerprinter or RequestFingerprinter()
        self._stats = stats
        self._debug = debug
        self._logger = logging.getLogger(__name__)
        self._uncommitted = 0
        self._temporary = None
        self._exact: ConfirmedSeen | None = None
        self._seen: Seen | None = None
        if exact:
            if path is None:
                self._temporary = tempfile.mkdtemp(prefix="mankai-scrapy-")
                path = os.path.join(self._temporary, "requests.seen")
            self._exact = ConfirmedSeen(path, keys=keys, fpr=fpr)
        else:
            self._seen = Seen(path, keys=keys, fpr=fpr)

    @classmethod
    def from_crawler(cls, crawler: Any) -> DupeFilter:
        settings = crawler.settings
        folder = settings.get("JOBDIR")
        if folder:
            os.makedirs(folder, exist_ok=True)
        return cls(os.path.join(folder, "requests.seen") if folder else None,
                   keys=settings.getint("MANKAI_KEYS", 10_000_000), fpr=settings.getfloat("MANKAI_FPR", 0.001),
                   exact=settings.getbool("MANKAI_EXACT", True), fingerprinter=crawler.request_fingerprinter,
                   debug=settings.getbool("DUPEFILTER_DEBUG"), stats=crawler.stats)

    def _count(self, name: str) -> None:
        if self._stats is not None:
            self._stats.inc_value("mankai/" + name)

    def request_seen(self, request: Any) -> bool:
        """Adds a request, and returns whether it was seen before."""
        fingerprint = self._fingerprinter.fingerprint(request)
        self._count("requests")
        if self._seen is not None:
            is_repeat = self._seen.observe(fingerprint)
        else:
            assert self._exact is not None
            answer = self._exact.observe_many([fingerprint])[0]
            is_repeat = answer is Confirmed.REPEAT
            if answer is Confirmed.RESCUED:
                self._count("rescued")
            self._uncommitted += 1
            if self._uncommitted >= _COMMIT_EVERY:
                self._exact.commit()
                self._uncommitted = 0
        if is_repeat:
            self._count("duplicates")
        return is_repeat

    def close(self, reason: str) -> None:
        """Commits and closes the file."""
        if self._exact is not None:
            self._exact.commit()
            self._exact.close()
        if self._seen is not None:
            self._seen.close()
        if self._temporary is not None:
            shutil.rmtree(self._temporary, ignore_errors=True)

    def log(self, request: Any, spider: Any) -> None:
        """Logs a request that was dropped, if DUPEFILTER_DEBUG is set."""
        if self._debug:
            self._logger.debug("Dropped duplicate request: %s", request, extra={"spider": spider})
