#!/usr/bin/env python3
"""CPU time of servers per item: a filter of one key in one server, and filters of the same size in shards over three primaries.

Usage: bench/redis/shards.py [--module build/lib/mankai-redis.so] [--mankai build/bin/mankai] [--server redis-server]
                             [--rounds 5] [--keys 10000000] [--items 2000000] [--shards 16,64]

Each round runs, in turn, BF.MEXISTS of 1000 items, pipelined, on one key; `mankai check` of the same items on that key; and
`mankai check` on the shards. Half of the items are absent. Costs are user and system time of the servers from /proc, summed
over the primaries, so the client is not in them, and they do not depend on the number of processors. A ratio is the cost of
one key (BF.MEXISTS ×1000) divided by that of the row, in the same round: the throughput per node compared with one unsharded node.
"""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
from contextlib import closing

from compare import FPR, HERE, batches, items, send, spread

TICKS = os.sysconf("SC_CLK_TCK")
PASSES = 2  # over the items, so that a measurement has about 40 ticks


def cpu_seconds(servers):
    """User and system time of processes."""
    def of(server):
        fields = pathlib.Path(f"/proc/{server.process.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS
    return sum(map(of, servers))


class Comparison:
    def __init__(self, options, server, cluster, folder):
        self._options, self._server, self._cluster = options, server, cluster
        half, count = options.items // 2, options.items
        self._added, self._asked = folder / "added", folder / "asked"
        self._added.write_bytes(b"".join(item + b"\n" for item in items(0, count)))
        self._asked.write_bytes(b"".join(item + b"\n" for item in items(half, count)))
        self._commands = batches("BF.MEXISTS", half, count)
        self._primaries = [node for node, role in cluster.roles().items() if role == "master"]
        self._shards = {f"{number} shards, mankai check": f"{cluster.servers[0].port}/f{number}?shards={number}"
                        for number in options.shards}
        for address in (f"{server.port}/f?", *(f"{address}&" for address in self._shards.values())):
            self._mankai("add", f"{address}keys={options.keys}&fpr={FPR}", self._added)

    def round(self):
        """Returns {row: µs of the servers per item}."""
        with closing(self._server.client()) as client:
            found = {"one key, BF.MEXISTS ×1000": self._cost([self._server], lambda: send(client, self._commands * PASSES))}
        found["one key, mankai check"] = self._cost([self._server], lambda: self._check(f"{self._server.port}/f"))
        return found | {row: self._cost(self._primaries, lambda address=address: self._check(address))
                        for row, address in self._shards.items()}

    def _check(self, address):
        self._mankai("check", address, *[self._asked] * PASSES)

    def _cost(self, servers, work):
        before = cpu_seconds(servers)
        work()
        return 1e6 * (cpu_seconds(servers) - before) / (self._options.items * PASSES)

    def _mankai(self, command, address, *files):
        subprocess.run([self._options.mankai, command, f"redis://127.0.0.1:{address}", *(f"--input={file}" for file in files)],
                       check=True, stdout=subprocess.DEVNULL)


def main():
    build = HERE.parents[1] / "build"
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--module", type=pathlib.Path, default=build / "lib" / "mankai-redis.so")
    parser.add_argument("--mankai", type=pathlib.Path, default=build / "bin" / "mankai")
    parser.add_argument("--server", default="redis-server")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--keys", type=int, default=10_000_000, help="capacity of each filter")
    parser.add_argument("--items", type=int, default=2_000_000)
    parser.add_argument("--shards", type=lambda text: [int(number) for number in text.split(",")], default=[16, 64])
    options = parser.parse_args()
    os.environ["MANKAI_REDIS_SERVER"] = options.server  # read when server.py is imported
    from server import Cluster, Server
    module, results = options.module.resolve(), {}
    with closing(Server(module, tcp=True)) as server, closing(Cluster(module)) as cluster, \
            tempfile.TemporaryDirectory() as folder:
        comparison = Comparison(options, server, cluster, pathlib.Path(folder))
        for number in range(options.rounds):
            for row, cost in comparison.round().items():
                results.setdefault(row, []).append(cost)
            print(f"round {number + 1} of {options.rounds}", file=sys.stderr)
    base = next(iter(results.values()))
    print("\n".join(["| filter | CPU of servers, µs per item | ratio |", "| --- | --- | --- |"]))
    for row, costs in results.items():
        print(f"| {row} | {spread(costs)} | {spread([one / cost for one, cost in zip(base, costs, strict=True)])} |")


if __name__ == "__main__":
    main()
