"""mankai.Guard: is it blocked?"""
from __future__ import annotations

import enum
import os
from typing import Any, Iterable, NamedTuple

from . import _core
from ._common import MODES, as_results, batches, choice, given, is_array, prepare


class Answer(enum.IntEnum):
    """Answer of a guard for a URL."""

    OK = 0       #: no rule covers it; never wrong
    BLOCKED = 1  #: a rule covers it, or it is a false positive
    ALLOWED = 2  #: blocked, but exceptions cover it
    INVALID = 3  #: not a URL with a host


class Verdict(NamedTuple):
    """Answer, and the rule, exception or reason behind it. bool(verdict) is whether the URL is blocked."""

    answer: Answer
    rule: str

    def __bool__(self) -> bool:
        return self.answer is Answer.BLOCKED


class BuildReport(NamedTuple):
    """What Guard.build read from its lists."""

    lines: int
    rules: int
    exceptions: int
    without_rules: int   #: blank lines, comments, headings
    skipped: int         #: lines and names that gave no rule
    skipped_rules: int   #: of these, rules that a guard cannot express
    widened: int         #: rules that cover more than their list says
    narrowed: int        #: rules that cover less
    rules_in_force: int
    skipped_reason: str


_FORMATS = {"automatic": 0, "lines": 1, "adblock": 2, "csv": 3, "urls": 4}
_ANSWERS = tuple(Answer)


def _rules(rules: tuple[Any, ...]) -> list[Any]:
    for rule in rules:
        if not isinstance(rule, (str, bytes)):
            raise TypeError(f"a rule is a str, not {type(rule).__name__}; a list of rules is given as *rules")
    return list(rules)


class Guard(_core.Guard):
    """Is it blocked? A compiled block list: a rule such as "evil.example/path" covers everything below it.

        guard, report = mankai.Guard.build(["hosts.txt", "easylist.txt"])
        guard.save("blocked.mkg")

        guard = mankai.Guard.open("blocked.mkg")
        guard.blocked("http://cdn.evil.example/a")     # True, however the URL is spelled
        guard.check(url)                               # Verdict(answer, rule)

    Never lets a listed host or path through. An approximate guard blocks other URLs with its false-positive rate, an exact one
    (exact=True) never.
    """

    path: str | None = None

    def __new__(cls, *, fpr: float = 0.01, exact: bool = False, hash: str | None = None, seed: str | None = None) -> Guard:
        """Makes an empty guard in memory. For many rules use build()."""
        return cls._create(given("fpr", fpr), hash, seed, exact, True)

    @classmethod
    def open(cls, path: Any, mode: str = "r") -> Guard:
        """Opens a guard's file: "r" for checks (any number of handles), "w" for changes (one at a time).

        Errors: NotFound, Locked, Corrupt, UnsupportedVersion, DiskError.
        """
        made = cls._open_file(path, choice("mode", mode, MODES))
        made.path = os.fspath(path)
        return made

    @classmethod
    def from_bytes(cls, image: Any) -> Guard:
        """Makes a guard in memory from the content of a guard's file. Errors: Corrupt, UnsupportedVersion."""
        return cls._from_bytes(image)

    @classmethod
    def build(cls, lists: Iterable[Any], *, allow: Iterable[Any] = (), fpr: float = 0.01, exact: bool = False,
              hash: str | None = None, seed: str | None = None, keeps_rules: bool = True, format: str = "automatic",
              column: str | None = None) -> tuple[Guard, BuildReport]:
        """Builds a guard from lists: paths (str or os.PathLike) of files, or iterables of rules (a list, a set, an open file).

        allow: lists of exceptions. format: "automatic" (hosts files, hosts, URLs, Adblock), "lines", "adblock", "csv" (with
        column) or "urls". fpr: false-positive rate of an approximate guard. Errors: NotFound, DiskError, InvalidArgument.
        """
        format_code = choice("format", format, _FORMATS)
        builder = _core.GuardBuilder._create(given("fpr", fpr), hash, seed, exact, keeps_rules)
        for sources, is_allowed in ((lists, False), (allow, True)):
            if isinstance(sources, (str, bytes, os.PathLike)):
                raise TypeError("lists and allow are lists of paths or of iterables of rules; put the path into a list")
            for source in sources:
                if isinstance(source, (str, os.PathLike)):
                    builder._add_list(None, source, format_code, is_allowed, column)
                else:
                    if isinstance(source, (bytes, bytearray, memoryview)):
                        raise TypeError("a list is a path or an iterable of rules, not bytes; put a rule into a list")
                    lines = [line.encode() if isinstance(line, str) else bytes(memoryview(line)) for line in source]
                    text = b"".join(line if line.endswith(b"\n") else line + b"\n" for line in lines)
                    builder._add_list(text, None, format_code, is_allowed, column)
        report = BuildReport(**builder._report())
        return builder._build(cls), report

    def save(self, path: Any, *, replace: bool = False) -> None:
        """Writes a copy to a file, whole or not at all. Errors: InvalidArgument if it exists and replace is false."""
        self._save(path, replace)

    def check(self, url: Any, /) -> Verdict:
        """Checks a URL in every reading that programs have of it. Takes any text."""
        answer, rule = self._check(url)
        return Verdict(_ANSWERS[answer], rule)

    def _blocked(self, url: Any, /, *, invalid: bool = True) -> bool:
        answer = self._answer(url)
        return answer == 1 or (answer == 3 and invalid)

    _blocked.__qualname__ = "Guard.blocked"  # in errors

    def blocked_many(self, urls: Any, *, invalid: bool = True) -> Any:
        """Returns per URL whether it is blocked: a list for lists and iterables, else a bool array of shape (n,)."""
        table = bytes([0, 1, 0, 1 if invalid else 0]) + bytes(252)
        if is_array(urls):
            urls = prepare(urls)
            found = self._answers(urls).translate(table)
            return [one != 0 for one in found] if isinstance(urls, (list, tuple)) else as_results(found, urls, "?")
        return [one != 0 for chunk in batches(urls) for one in self._answers(chunk).translate(table)]

    def check_many(self, urls: Any) -> list[Answer]:
        """Returns the answer per URL."""
        return [_ANSWERS[one] for chunk in batches(urls) for one in self._answers(chunk)]

    def add(self, *rules: str, id: int = 0) -> int:
        """Adds rules under an id and returns how many are new. A file is written once per call.

        Errors: InvalidArgument for an invalid rule, and for a guard opened for checks.
        """
        return self._change(0, _rules(rules), id)

    def remove(self, *rules: str, id: int | None = None) -> int:
        """Removes rules, of one id or of all; returns how many are no longer in force."""
        return self._change(1, _rules(rules), id)

    def allow(self, *rules: str) -> int:
        """Adds exceptions: what they cover is never blocked. Returns how many are new."""
        return self._change(2, _rules(rules), None)

    def disallow(self, *rules: str) -> int:
        """Removes exceptions; returns how many there were."""
        return self._change(3, _rules(rules), None)

    @property
    def exceptions(self) -> list[str]:
        """The exceptions, sorted."""
        return self._exceptions()

    @property
    def info(self) -> dict[str, Any]:
        """Facts: rules_in_force, exceptions, memory_bytes, bits_per_rule, fpr, is_exact and more."""
        return self._facts()

    def __len__(self) -> int:
        return self._facts()["rules_in_force"]

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        return "<mankai.Guard closed>" if self.closed else f"<mankai.Guard of {len(self):,} rules>"
