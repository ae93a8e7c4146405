#!/usr/bin/env python3
"""Counts the new visitors of each day with redis-py: one filter a day, which goes by itself after a month.

    examples/redis/visitors.py [--port 6379] < log        # lines of "DAY VISITOR", such as "2026-11-22 cookie:7f3a"

Needs the module in the server and redis-py (Debian: python3-redis). Nothing here is Mankai's own: these are the calls
that redis-py has for RedisBloom.
"""
import argparse
import sys

import redis

CAPACITY = 1_000_000  # visitors a day; more make the filter grow
ERROR_RATE = 0.001    # of the visitors, this part is reported as present though they are new
KEPT_SECONDS = 31 * 86400
BATCH = 1000


class Visitors:
    def __init__(self, connection):
        self._connection = connection
        self._filters = connection.bf()
        self._made = set()

    def _make(self, key):
        if key not in self._made:
            try:
                self._filters.create(key, ERROR_RATE, CAPACITY)
            except redis.ResponseError as error:
                if "item exists" not in str(error):  # by another process, or by us before
                    raise
            self._connection.expire(key, KEPT_SECONDS)
            self._made.add(key)

    def arrive(self, day, visitors):
        """Returns those of the visitors that have not been there on that day."""
        key = f"visitors:{{{day}}}"  # one slot of a cluster for all keys of a day
        self._make(key)
        return [visitor for visitor, is_new in zip(visitors, self._filters.madd(key, *visitors)) if is_new]

    def is_known(self, day, visitor):
        return bool(self._filters.exists(f"visitors:{{{day}}}", visitor))


def batches(lines):
    """Groups lines of the same day, at most BATCH of them."""
    day, visitors = None, []
    for line in lines:
        if not line.strip():
            continue
        this_day, visitor = line.split()
        if visitors and (this_day != day or len(visitors) == BATCH):
            yield day, visitors
            visitors = []
        day = this_day
        visitors.append(visitor)
    if visitors:
        yield day, visitors


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--port", type=int, default=6379)
    port = parser.parse_args().port
    visitors = Visitors(redis.Redis(port=port))
    counts = {}
    for day, some in batches(sys.stdin):
        counts[day] = counts.get(day, 0) + len(visitors.arrive(day, some))
    for day, count in counts.items():
        print(day, count)


if __name__ == "__main__":
    main()
