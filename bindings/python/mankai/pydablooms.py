"""bitly's pydablooms, over Mankai's durable filters: `from mankai import pydablooms`, and programs for it work as before.

Files are Mankai filters; those of bitly's dablooms are converted by `mankai import dablooms`. Unlike the original,
arguments that are missing or of another type are a TypeError, and a file that cannot be opened an OSError. Keys are str (as
UTF-8) or bytes.
"""
from __future__ import annotations

from typing import Any

from . import _core

__version__: str = _core.DABLOOMS_VERSION
__all__ = ["Dablooms", "load_dabloom"]


class Dablooms(_core.ScalingBloom):
    """A scaling, counting Bloom filter in a file, which replaces an existing one. `id` is accepted and has no effect."""

    def __new__(cls, capacity: int, error_rate: float, filepath: Any, id: int = 0) -> Dablooms:
        return cls._open(capacity, error_rate, filepath, False)

    def add(self, hash: Any, id: int) -> int:
        """Adds a key under an id. Returns 1, or 0 if it could not be written."""
        return self._add(hash, id)

    def delete(self, hash: Any, id: int) -> int:
        """Removes a key. Returns 1, or 0 if nothing was removed."""
        return self._remove(hash, id)

    def check(self, hash: Any) -> int:
        """Returns 1 if the key may be present, 0 if it is absent."""
        return self._check(hash)

    def __contains__(self, hash: Any) -> bool:
        return self._check(hash) == 1

    def flush(self) -> int:
        """Returns 0 when everything is on the disk, or -1."""
        return self._flush()

    def mem_seqnum(self) -> int:
        """Returns the sequence number of the last change."""
        return self._seqnums()[0]

    def disk_seqnum(self) -> int:
        """Returns mem_seqnum() if everything is on the disk, else 0."""
        return self._seqnums()[1]


def load_dabloom(capacity: int, error_rate: float, filepath: Any) -> Dablooms:
    """Opens a file of Dablooms, which must have the same capacity and error rate."""
    return Dablooms._open(capacity, error_rate, filepath, True)
