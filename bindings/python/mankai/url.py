"""URLs in the one form that all their spellings share.

    from mankai import url

    url.canonical("HTTP://Example.COM:80/a/../b")      # "http://example.com/b"
    url.parse("https://a.b.co.uk/x?y").registrable_domain      # "b.co.uk"
"""
from __future__ import annotations

from typing import Any, Iterable, NamedTuple

from . import _core
from ._common import choice, refuse_one_key

#: Number of the rules of keys in new filters.
VERSION: int = _core.url_version()

_RULES = {"default": 0, "safe_browsing": 1, "keys": 2}
_HOSTS = {"exact": 0, "safe_browsing_v4": 1, "safe_browsing_v5": 2, "all": 3}
_PATHS = {"safe_browsing": 0, "all": 1}


class InvalidUrl(_core.InvalidArgument):
    """A text that is not a URL with a host."""


class Url(NamedTuple):
    """A canonical URL and its parts. `query` begins with "?" if there is one."""

    text: str
    scheme: str
    host: str
    authority: str
    path: str
    query: str
    is_ip: bool

    @property
    def registrable_domain(self) -> str:
        """The domain that was registered, such as "b.co.uk" for "a.b.co.uk"; "" for addresses and public suffixes."""
        return "" if self.is_ip else registrable_domain(self.host)


def _call(call: Any, *arguments: Any) -> Any:
    try:
        return call(*arguments)
    except _core.InvalidArgument as error:
        raise InvalidUrl(str(error)) from None


def canonical(raw: Any, *, rules: str = "default") -> str:
    """Returns the canonical form. rules: "keys" (the default) or "safe_browsing", those of guards. Errors: InvalidUrl."""
    return _call(_core.url_canonical, raw, choice("rules", rules, _RULES))[0]


def canonical_many(urls: Iterable[Any], *, rules: str = "default", invalid: str | None = None) -> list[str | None]:
    """Returns the canonical form per URL, and `invalid` for what is not a URL."""
    code = choice("rules", rules, _RULES)
    refuse_one_key(urls)
    found: list[str | None] = []
    for raw in urls:
        try:
            found.append(_core.url_canonical(raw, code)[0])
        except _core.InvalidArgument:
            found.append(invalid)
    return found


def parse(raw: Any, *, rules: str = "default") -> Url:
    """Returns the canonical form and its parts. Errors: InvalidUrl."""
    text, scheme_end, host_begin, host_end, authority_end, path_end, is_ip = _call(
        _core.url_canonical, raw, choice("rules", rules, _RULES))
    return Url(text, text[:scheme_end], text[host_begin:host_end], text[host_begin:authority_end],
               text[authority_end:path_end], text[path_end:], is_ip)


def registrable_domain(host: str) -> str:
    """Returns the registrable domain of a canonical host; "" if there is none."""
    if not isinstance(host, str):
        raise TypeError(f"a canonical host is a str, not {type(host).__name__}")
    encoded = host.encode()
    return encoded[_core.url_registrable_domain(encoded):].decode()


def hosts(raw: Any, *, ladder: str = "safe_browsing_v5", rules: str = "safe_browsing") -> list[str]:
    """Returns the host of a URL and its parents, for look-ups in lists of your own.

    ladder: "exact", "safe_browsing_v4", "safe_browsing_v5" or "all". Errors: InvalidUrl.
    """
    return _call(_core.url_ladder, raw, choice("rules", rules, _RULES), choice("ladder", ladder, _HOSTS), False)


def paths(raw: Any, *, ladder: str = "safe_browsing", rules: str = "safe_browsing") -> list[str]:
    """Returns the path of a URL and its parents: "safe_browsing" (up to 4 directories) or "all". Errors: InvalidUrl."""
    return _call(_core.url_ladder, raw, choice("rules", rules, _RULES), choice("ladder", ladder, _PATHS), True)
