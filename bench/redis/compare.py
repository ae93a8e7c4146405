#!/usr/bin/env python3
"""Our module beside another one with BF.*, CF.*, CMS.* and TOPK.*, in servers of their own, interleaved: ours, theirs, ours, theirs.

Usage: bench/redis/compare.py --peer PATH [--module build/lib/mankai-redis.so] [--server redis-server] [--rounds 5]
                              [--only NAME,...] [--json FILE]

PATH is the peer's shared library, built elsewhere: nothing of it is here. Costs are those that the server itself
measured (INFO commandstats), so neither the client nor the network is in them. Every measure runs in each round on a
new server for each module, with the same bytes, but for parameters of CF.RESERVE where the rates are to be equal; the
servers take turns of some milliseconds, so that a slow moment of the machine affects both. The table gives medians
[least..most] of the rounds, and the median of the ratios of each round's pair. --only takes the names of the methods of
Measures.
"""
import argparse
import collections
import concurrent.futures
import functools
import itertools
import json
import os
import pathlib
import random
import statistics
import sys
import threading
import time
from contextlib import closing

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "tests" / "redis"))

BATCH = 1000
SINGLES = 100_000
SINGLE_KEYS = 10_000_000
SINGLE_BYTES = 12_600_000  # our filter of so many keys
MANY_FILTERS = 1_000_000
CREATED = 40_000
PIPELINED = 500  # commands of one item that are sent as one
WINDOW = 20
TURNS = 40  # in which the commands of a measure are sent
FPR = "0.01"
LARGE_KEYS = 720_000_000  # 863 MB at 9.585 bits per key


def items(start, count):
    """Returns `count` URLs of 41 bytes; those of other numbers are others."""
    return [b"https://example.org/%04x/articles/%08x" % (number * 40503 & 0xFFFF, number)
            for number in range(start, start + count)]


@functools.cache
def batches(name, start, count, size=BATCH):
    """Encodes commands of `size` items each on the key "f"."""
    from client import command
    words = ("f", "ITEMS") if name.endswith("INSERT") else ("f",)
    return [command(name, *words, *items(first, size)) for first in range(start, start + count, size)]


@functools.cache
def increments(start, count, size):
    """Encodes CMS.INCRBY of `size` items each on the key "f"."""
    from client import command
    return [command("CMS.INCRBY", "f", *(word for item in items(first, size) for word in (item, 1)))
            for first in range(start, start + count, size)]


@functools.cache
def zipf_stream(seed, distinct=100_000, events=1_000_000):
    """Returns items of which the n-th is 1/n as frequent as the first, and their exact counts."""
    names = [b"item:%d" % number for number in range(distinct)]
    weights = list(itertools.accumulate(1 / number for number in range(1, distinct + 1)))
    stream = random.Random(seed).choices(names, cum_weights=weights, k=events)
    return stream, collections.Counter(stream)


@functools.cache
def zipf_batches(seed, size, name="TOPK.ADD"):
    """Encodes commands that count `size` items of the stream each on the key "f"."""
    from client import command
    stream, _ = zipf_stream(seed)
    more = (1,) if name == "TOPK.INCRBY" else ()
    return [command(name, "f", *(word for item in stream[first:first + size] for word in (item, *more)))
            for first in range(0, len(stream), size)]


@functools.cache
def singles(name, start, count):
    from client import command
    return [b"".join(command(name, "f", item) for item in items(first, PIPELINED))
            for first in range(start, start + count, PIPELINED)]


def send(client, commands, replies_each=1):
    """Sends some commands at a time, so that neither side waits for the other at each of them."""
    for start in range(0, len(commands), WINDOW):
        some = commands[start:start + WINDOW]
        client.send(b"".join(some))
        for _ in range(replies_each * len(some)):
            client.receive()


def measured_rate(client):
    """Returns how many percent of 500,000 absent items CF.MEXISTS finds in the key "f"."""
    found = 0
    commands = batches("CF.MEXISTS", 20_000_000, 500_000)
    for data in commands:
        client.send(data)
        found += sum(client.receive())
    return 100 * found / (len(commands) * BATCH)


class Turns:
    """Lets one of several threads run at a time."""

    _of_thread = threading.local()

    def __init__(self, count):
        self._waiting = collections.deque(range(count))
        self._changed = threading.Condition()

    def run(self, number, work):
        self._of_thread.pass_on = functools.partial(self._pass_on, number)
        self._change(number, lambda: None)
        try:
            return work()
        finally:
            with self._changed:
                self._waiting.remove(number)
                self._changed.notify_all()

    @classmethod
    def pass_on(cls):
        """Lets the other threads run, and returns when it is this one's turn again."""
        getattr(cls._of_thread, "pass_on", lambda: None)()

    def _pass_on(self, number):
        self._change(number, lambda: self._waiting.rotate(-1))

    def _change(self, number, change):
        with self._changed:
            change()
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._waiting[0] == number)


def costs(client, series, things, replies_each=1):
    """Returns the server's microseconds for each of the `things` in the commands of several series {name: commands}."""
    client.must("CONFIG", "RESETSTAT")
    for turn in range(TURNS):
        for commands in series.values():
            first, end = (len(commands) * number // TURNS for number in (turn, turn + 1))
            send(client, commands[first:end], replies_each)
        Turns.pass_on()
    found = client.info("commandstats")
    stats = {name: dict(field.split("=") for field in found[f"cmdstat_{name.lower()}"].split(",")) for name in series}
    return {name: int(fields["usec"]) / things for name, fields in stats.items()}


def cost(client, name, commands, things, replies_each=1):
    return costs(client, {name: commands}, things, replies_each)[name]


class Measures:
    """Each method measures one server that has one module, and returns {name: value}."""

    def __init__(self, start):
        self._start = start

    def _batch_costs(self, capacity, fill, prefix):
        with self._start() as server:
            client = server.client()
            client.must("BF.RESERVE", "f", FPR, capacity, "NONSCALING")
            adds = batches("BF.MADD", 0, fill)
            half = fill // 2
            # As many that are there as that are not.
            asks = batches("BF.MEXISTS", half, fill)
            return {f"{prefix}madd": cost(client, "bf.madd", adds, fill),
                    f"{prefix}mexists": cost(client, "bf.mexists", asks, fill)}

    def cache(self):
        return self._batch_costs(1_000_000, 1_000_000, "in cache: ")

    def beyond(self):
        return self._batch_costs(200_000_000, 2_000_000, "beyond cache: ")

    def grown(self):
        """The limit is a filter of about as much memory that has not grown: an item has one line in it."""
        with self._start() as server:
            client = server.client()
            client.must("BF.RESERVE", "f", FPR, 5_000_000, "NONSCALING")
            send(client, batches("BF.MADD", 0, 2_000_000))
            line = cost(client, "bf.exists", singles("BF.EXISTS", 0, SINGLES), SINGLES, PIPELINED)
            client.must("DEL", "f")
            client.must("BF.RESERVE", "f", FPR, 1000, "EXPANSION", 2)
            send(client, batches("BF.MADD", 0, 2_000_000))
            (slices,) = client.must("BF.INFO", "f", "FILTERS")
            present = cost(client, "bf.exists", singles("BF.EXISTS", 0, SINGLES), SINGLES, PIPELINED)
            absent = cost(client, "bf.exists", singles("BF.EXISTS", 5_000_000, SINGLES), SINGLES, PIPELINED)
            many = cost(client, "bf.mexists", batches("BF.MEXISTS", 1_900_000, 200_000), 200_000)
            return {"grown: sub-filters": slices, "grown: exists, present": present, "grown: exists, absent": absent,
                    "grown: mexists": many, "limit: exists, one line": line}

    def single(self):
        """In a filter that was just made, whose memory is touched for the first time, and in one that is half full."""
        with self._start() as server:
            client = server.client()
            client.must("BF.RESERVE", "f", FPR, SINGLE_KEYS, "NONSCALING")
            found = {}
            for prefix, start in (("new", 0), ("single", SINGLE_KEYS // 2)):
                send(client, batches("BF.MADD", SINGLES, start - SINGLES) if start else [])
                adds = singles("BF.ADD", start, SINGLES)
                # As many that are there as that are not.
                asks = singles("BF.EXISTS", start + SINGLES // 2, SINGLES)
                found |= {f"{prefix}: add": cost(client, "bf.add", adds, SINGLES, PIPELINED),
                          f"{prefix}: exists": cost(client, "bf.exists", asks, SINGLES, PIPELINED)}
            return found

    def engine(self):
        """What the engine takes: for a random bit of as much memory as a filter's, and for what every command of a module
        needs. That is the limit of the latter: it has no item to hash, and no cells to wait for."""
        from client import command
        offsets = random.Random(1).sample(range(8 * SINGLE_BYTES), 3 * SINGLES // 2)

        def repeated(*words):
            return [command(*words) * PIPELINED] * (SINGLES // PIPELINED)

        def bits(name, some, *more):
            return [b"".join(command(name, "f", offset, *more) for offset in some[first:first + PIPELINED])
                    for first in range(0, SINGLES, PIPELINED)]

        with self._start() as server:
            client = server.client()

            def zeros():
                client.must("DEL", "f")
                return cost(client, "setbit", [command("SETBIT", "f", 4 * SINGLE_BYTES, 0)], SINGLES)

            # Half of the memory: jemalloc keeps a block below 8 MiB, with its pages, for the second time.
            first_touch = 2 * (zeros() - zeros())
            client.must("SETBIT", "f", 8 * SINGLE_BYTES - 1, 0)
            client.must("BF.RESERVE", "filter", FPR, SINGLE_KEYS, "NONSCALING")
            at_random = costs(client, {"setbit": bits("SETBIT", offsets, 1),
                                       "getbit": bits("GETBIT", offsets[SINGLES // 2:])}, SINGLES, PIPELINED)
            same = costs(client, {"bf.card": repeated("BF.CARD", "filter"), "setbit": repeated("SETBIT", "f", 0, 1),
                                  "getbit": repeated("GETBIT", "f", 0)}, SINGLES, PIPELINED)
            change = same["setbit"] - same["getbit"]
            return {"engine: set": at_random["setbit"], "engine: get": at_random["getbit"],
                    "limit: exists": same["bf.card"], "limit: add": same["bf.card"] + change,
                    "limit: add, new": same["bf.card"] + change + first_touch}

    def memory(self):
        with self._start() as server:
            client = server.client()
            client.must("BF.ADD", "f", "a")
            found = {"memory: a default filter": client.must("MEMORY", "USAGE", "f")}
            send(client, batches("BF.MADD", 0, 1_000_000))
            found |= {"memory: a default filter, grown to a million keys": client.must("MEMORY", "USAGE", "f")}
            before = int(client.info("memory")["used_memory"])
            for start in range(0, MANY_FILTERS, BATCH):
                client.pipeline([("BF.ADD", f"k{number}", "a") for number in range(start, start + BATCH)])
            used = int(client.info("memory")["used_memory"]) - before
            found |= {"memory: a key of a million default filters": used / MANY_FILTERS}
            client.must("BF.RESERVE", "million", FPR, 1_000_000, "NONSCALING")
            for rate in ("1e-4", "1e-6", "1e-9"):
                client.must("BF.RESERVE", rate, rate, 1_000_000)
                found[f"memory: a million keys at {rate}"] = client.must("MEMORY", "USAGE", rate)
                client.must("DEL", rate)
                client.must("BF.RESERVE", rate, rate, 1_000_000, "NONSCALING")
                found[f"memory: a million keys at {rate}, not growing"] = client.must("MEMORY", "USAGE", rate)
            return found | {"memory: a million keys": client.must("MEMORY", "USAGE", "million")}

    def created(self):
        """Keys that each command makes anew, and the memory of one of them."""
        from client import command
        found = {}
        for name, *words in (("BF.ADD", "item"), ("BF.RESERVE", "0.0001", 1000), ("BF.RESERVE", "0.01", 100, "NONSCALING"),
                             ("CF.ADD", "item"), ("CF.RESERVE", 100)):
            label = f"created: {' '.join(map(str, (name, 'key', *words)))}"
            commands = [b"".join(command(name, f"key {number}", *words) for number in range(first, first + PIPELINED))
                        for first in range(0, CREATED, PIPELINED)]
            with self._start() as server:
                client = server.client()
                found[label] = cost(client, name.lower(), commands, CREATED, PIPELINED)
                found[f"memory: {label}"] = client.must("MEMORY", "USAGE", "key 0")
        return found

    def _cuckoo(self, prefix, count, ours=(), peer=None):
        """Adds `count` items, the sixth and the last tenth of them one by one.

        CF.RESERVE gets the words of `ours`, or of `peer` if they differ; none: CF.INSERT makes the filter.
        """
        with self._start() as server:
            client = server.client()
            is_ours = bool(client.info("bf_mankai"))
            if words := ours if is_ours or peer is None else peer:
                client.must("CF.RESERVE", "f", *words)
            tenth = count // 10

            def insert(first, some):
                return cost(client, "cf.insert", batches("CF.INSERT", first, some), some)

            def single(name, first):
                return cost(client, f"cf.{name.lower()}", singles(f"CF.{name}", first, tenth), tenth, PIPELINED)

            found = {"insert, empty to half full": insert(0, 5 * tenth), "add, half full": single("ADD", 5 * tenth),
                     "insert, 0.6 to 0.9": insert(6 * tenth, 3 * tenth), "add, 0.9 to full": single("ADD", 9 * tenth),
                     "exists, present": single("EXISTS", 2 * tenth), "exists, absent": single("EXISTS", 5_000_000),
                     "mexists": cost(client, "cf.mexists", batches("CF.MEXISTS", count // 2, count), count)}
            info = client.must("CF.INFO", "f")
            return {f"CF, {prefix}: {name}": value for name, value in found.items()} | {
                f"false positives: CF, {prefix}": measured_rate(client),
                f"memory: CF, {prefix}": client.must("MEMORY", "USAGE", "f"),
                f"CF, {prefix}: sub-filters": info[info.index(b"Number of filters") + 1]}

    def cuckoo(self):
        return self._cuckoo("defaults", 1_000_000, (1_000_000,))

    # Parameters by which the measured rates are nearly equal, and ours keeps one sub-filter.
    def cuckoo_equal(self):
        return self._cuckoo("0.7%", 1_000_000, (1_050_000, "ERROR", "0.5"), (2_000_000,))

    def cuckoo_wide(self):
        return self._cuckoo("3%", 1_000_000, (1_050_000, "EXPANSION", 0, "ERROR", "0.03"), (1_000_000, "BUCKETSIZE", 4))

    def cuckoo_grown(self):
        return self._cuckoo("grown from a default filter", 20_000)

    def cuckoo_doubled(self):
        return self._cuckoo("grown by doubling", 100_000, (1024, "EXPANSION", 2))

    def _sketch(self, prefix, width, count):
        """Increments `count` items by 100 and then by 1 in one command, and asks for as many, half of them absent."""
        with self._start() as server:
            client = server.client()
            client.must("CMS.INITBYDIM", "f", width, 7)
            size = 100

            def query(some, each):
                return cost(client, "cms.query", batches("CMS.QUERY", count - some // 2, some, each), some)

            def increment(some, each):
                return cost(client, "cms.incrby", increments(0, some, each), some)

            return {f"CMS, {prefix}: {name}": value for name, value in (
                ("incrby ×100", increment(count, size)), ("query ×100", query(count, size)),
                ("incrby ×1", increment(SINGLES // 2, 1)), ("query ×1", query(SINGLES // 2, 1)))} | {
                    f"memory: CMS, {prefix}": client.must("MEMORY", "USAGE", "f")}

    def sketch(self):
        return self._sketch("56 KB", 2000, 500_000)

    def sketch_beyond(self):
        return self._sketch("140 MB", 5_000_000, 500_000)

    def _top(self, prefix, most, *shape):
        """Counts a stream of Zipf 1.0, and compares the counts of the `most` hottest items, and of what is listed."""
        size = 100
        with self._start() as server:
            client = server.client()
            found = {}
            for number, name in enumerate(("TOPK.INCRBY", "TOPK.ADD")):
                client.must("DEL", "f")
                client.must("TOPK.RESERVE", "f", most, *shape)
                commands = zipf_batches(number, size, name)
                found[f"{name[5:].lower()} ×100"] = cost(client, name, commands, size * len(commands))
            _, exact = zipf_stream(1)
            hottest = [item for item, _ in exact.most_common(most)]
            found["query ×100"] = cost(client, "topk.query", batches("TOPK.QUERY", 0, 100_000, size), 100_000)
            listed = client.must("TOPK.LIST", "f", "WITHCOUNT")
            pairs = list(zip(map(bytes, listed[::2]), listed[1::2], strict=True))
            counts = client.must("TOPK.COUNT", "f", *hottest)
            return {f"TOPK, {prefix}: {name}": value for name, value in found.items()} | {
                f"memory: TOPK, {prefix}": client.must("MEMORY", "USAGE", "f"),
                f"error: TOPK, {prefix}: hottest": statistics.fmean(
                    abs(count - exact[item]) for item, count in zip(hottest, counts, strict=True)),
                f"error: TOPK, {prefix}: listed": statistics.fmean(abs(count - exact[item]) for item, count in pairs),
                f"missing: TOPK, {prefix}": sum(item not in dict(pairs) for item in hottest)}

    def top(self):
        return self._top("115 KB", 50, 2000, 7, "0.9")

    def top_default(self):
        return self._top("defaults", 50)

    def top_long(self):
        return self._top("136 KB, k 1000", 1000, 2000, 7, "0.9")

    def latency(self):
        """The longest that another client waits for a PING while a large command runs."""
        size = 100_000
        with self._start() as server:
            client, other = server.client(), server.client()
            client.must("BF.RESERVE", "f", FPR, 10_000_000, "NONSCALING")
            waits = []
            for data in batches("BF.MADD", 0, 10 * size, size):
                client.send(data)
                waits.append(0)
                while not client.is_answered():
                    before = time.perf_counter()
                    other.must("PING")
                    waits[-1] = max(waits[-1], 1000 * (time.perf_counter() - before))
                client.receive()
            return {"latency: PING beside MADD": statistics.median(waits)}

    def copied(self):
        """What a child that saves a large filter has copied for it while 100 000 items are added."""
        with self._start(rdbcompression="no") as server:
            client = server.client()
            client.must("BF.RESERVE", "f", FPR, LARGE_KEYS, "NONSCALING")
            send(client, batches("BF.MADD", 0, 1_500_000))  # most of its pages exist now
            late = batches("BF.MADD", 2_000_000, 100_000)
            client.must("BGSAVE")
            send(client, late)
            info = client.info("persistence")
            if info["rdb_bgsave_in_progress"] != "1":
                raise AssertionError("BGSAVE was over before the items were added")
            while (info := client.info("persistence"))["rdb_bgsave_in_progress"] == "1":
                time.sleep(0.05)
            return {"BGSAVE: bytes copied": int(info["rdb_last_cow_size"]),
                    "BGSAVE: bytes of the filter": client.must("MEMORY", "USAGE", "f")}


NAMES = ("cache", "beyond", "grown", "single", "engine", "created", "memory", "latency", "copied", "cuckoo", "cuckoo_equal",
         "cuckoo_wide", "cuckoo_grown", "cuckoo_doubled", "sketch", "sketch_beyond", "top", "top_default", "top_long")
UNITS = {"memory": "B", "false positives": "%", "error": "events", "missing": "items", "BGSAVE": "B", "latency": "ms"}
# The most that ours may be of the peer's; bench/targets.tsv has those of single commands and of memory.
TARGETS = {"in cache: madd": 0.7, "in cache: mexists": 0.7, "beyond cache: madd": 0.5, "beyond cache: mexists": 0.5,
           "BGSAVE: bytes copied": 0.5, "memory: CF, 0.7%": 1.0, "memory: CF, 3%": 1.0}
TARGETS |= {f"CF, {prefix}: {name}": 0.8 for prefix in ("defaults", "0.7%", "3%")
            for name in ("insert, empty to half full", "insert, 0.6 to 0.9", "add, half full", "add, 0.9 to full",
                         "exists, present", "exists, absent", "mexists")}
TARGETS |= {f"CMS, {size}: {name} ×100": 0.8 for size in ("56 KB", "140 MB") for name in ("incrby", "query")}
TARGETS |= {f"TOPK, {shape}: {name} ×100": 0.8 for shape in ("115 KB", "defaults") for name in ("add", "incrby")}
TARGETS |= {f"memory: TOPK, {shape}": 1.0 for shape in ("115 KB", "defaults")}
TARGETS |= {"error: TOPK, 115 KB: hottest": 0.1, "error: TOPK, 115 KB: listed": 0.1}


def spread(values):
    def short(value):
        return f"{value:.3g}" if value < 1000 else f"{value:,.0f}"

    text = short(statistics.median(values))
    return text if min(values) == max(values) else f"{text} [{short(min(values))}..{short(max(values))}]"


def table(results):
    """Returns the lines of a Markdown table: {measure: {module: [a value a round]}}."""
    lines = ["| measure | unit | ours | peer | ratio | target |", "| --- | --- | --- | --- | --- | --- |"]
    for name, values in results.items():
        ratios = [ours / theirs if theirs else float(ours != 0) for ours, theirs in zip(values["ours"], values["peer"], strict=True)]
        target = f"≤ {TARGETS[name]}" if name in TARGETS else ""
        unit = "" if name.endswith("sub-filters") else UNITS.get(name.split(":")[0], "µs")
        lines.append(f"| {name} | {unit} | {spread(values['ours'])} | {spread(values['peer'])} | {spread(ratios)} | "
                     f"{target} |")
    return lines


def measure(modules, names, rounds, after_round):
    from server import Server
    results = {}
    for number in range(rounds):
        for name in names:
            turns = Turns(len(modules))
            with concurrent.futures.ThreadPoolExecutor(len(modules)) as threads:
                running = {label: threads.submit(turns.run, place, getattr(
                    Measures(lambda module=module, **options: closing(Server(module, **options))), name))
                    for place, (label, module) in enumerate(modules.items())}
            for label, found in running.items():
                for what, value in found.result().items():
                    results.setdefault(what, {}).setdefault(label, []).append(value)
            print(f"round {number + 1} of {rounds}: {name}", file=sys.stderr)
        after_round(results)
    return results


def engine_version(module):
    from server import Server
    with closing(Server(module)) as server:
        info = server.client().info("server")
        return f"{info.get('server_name', 'redis')} {info.get('valkey_version', info['redis_version'])}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--peer", required=True, type=pathlib.Path)
    parser.add_argument("--module", type=pathlib.Path, default=HERE.parents[1] / "build" / "lib" / "mankai-redis.so")
    parser.add_argument("--server", default="redis-server")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default=",".join(NAMES), help=f"some of {','.join(NAMES)}")
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    names = options.only.split(",")
    if unknown := set(names) - set(NAMES):
        parser.error(f"no measure is called {', '.join(sorted(unknown))}")
    os.environ["MANKAI_REDIS_SERVER"] = options.server  # read when server.py is imported
    os.environ.setdefault("MANKAI_REDIS_ROUNDS", "2")  # patience with large filters
    modules = {"ours": options.module.resolve(), "peer": options.peer.resolve()}
    version = engine_version(modules["ours"])

    def keep(results):
        if options.json:
            options.json.write_text(json.dumps({"engine": version, "results": results}, indent=1) + "\n")

    results = measure(modules, names, options.rounds, keep)
    print("\n".join([f"{version}, {options.rounds} rounds", "", *table(results)]))


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
