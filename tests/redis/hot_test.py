"""HOT.*: decayed counts beside an exact model, and replicas that do not drift from their primary."""
import math
import random
import unittest

from client import Error
from engine_test import limit_filters
from families import Family, ForgeryMatrix, KeyMatrix, PersistenceMatrix
from harness import OneServerTest, RedisTest, ROUNDS, SEED, in_both_protocols, main, needs_module

MINUTE = 60_000  # milliseconds
START = 1_600_000_020_000  # a past moment, and the start of a minute
LATER = START + 100 * MINUTE
ITEMS = [f"/page/{number}.html" for number in range(60)]


def numbers(values):
    """Doubles, which RESP2 has as strings."""
    return [float(value) for value in values]


class Hot(Family):
    prefix = "HOT"
    category = "hot"
    keys = ("half", "minutes", "hours", "window", "sized", "empty", "merged")
    reads = (("HOT.COUNTAT", LATER, "a"), ("HOT.COUNT", "a", "b"), ("HOT.RATE", "a"), ("HOT.RATEAT", LATER, "a"),
             ("HOT.TOP", 5), ("HOT.INFO",))
    writes = (("HOT.RESERVE", "MEMORY", 4096), ("HOT.INCRBY", "a", 1), ("HOT.INCRBYAT", START, "a", 1), ("HOT.MERGE", "half"),
              ("HOT.LOADCHUNK", 1, "x"), ("HOT.SCANDUMP", 0))
    sources = {"HOT.MERGE": ("half",)}
    events = ((("HOT.RESERVE", "f"), ["hot.reserve"]), (("HOT.INCRBY", "f", "a", 1, "b", 1), ["hot.incrby"]),
              (("HOT.INCRBYAT", "f", START, "a", 1), ["hot.incrby"]), (("HOT.COUNT", "f", "a"), []), (("HOT.MERGE", "f", "f"), ["hot.merge"]),
              (("HOT.TOP", "f"), []), (("DEL", "f"), ["del"]))
    grows = False
    is_of_one_moment = True

    def fill(self, client):
        dice = random.Random(SEED)
        for key, *options in (("half", "MEMORY", 2048, "LAMBDA", "0.5", "EPOCH", "1m"),
                              ("minutes", "MEMORY", 4096, "HALFLIFE", "10m"),
                              ("hours", "MEMORY", 6000, "HALFLIFE", "3h", "EPOCH", "1m", "ROUNDING", "BALANCED"),
                              ("window", "MEMORY", 9000, "WINDOW", "10m"),
                              ("sized", "CAPACITY", 20, "ERROR", "0.05", "HALFLIFE", "1d"), ("empty", "MEMORY", 3000)):
            client.must("HOT.RESERVE", key, *options)
        for key in self.keys[:-2]:
            client.pipeline([("HOT.INCRBYAT", key, START + number * 7777, dice.choice(ITEMS), dice.randrange(1, 9),
                              dice.choice(ITEMS), 1) for number in range(400)])
        for _ in range(2):
            client.must("HOT.MERGE", "merged", "half")

    def ask(self, client, key):
        return client.pipeline([("HOT.COUNTAT", key, LATER, *ITEMS), ("HOT.RATEAT", key, LATER, *ITEMS, "none"),
                                ("HOT.TOP", key, 100, "WITHCOUNTS", "AT", LATER), ("HOT.INFO", key)])

    def add(self, client, key, words):
        if not client.must("EXISTS", key):
            client.must("HOT.RESERVE", key, "HALFLIFE", "2h", "MEMORY", 4096)
        return client.must("HOT.INCRBYAT", key, LATER, *(part for word in words for part in (word, 2)))

    def change_nothing(self, client, key):
        client.call("HOT.RESERVE", key, "MEMORY", 4096)
        for words in ((), ("a",), ("a", 0), ("a", 1, "b"), ("a", 1, "b", -1), ("a", 1 << 32), ("a", "x")):
            client.call("HOT.INCRBY", key, *words)
            client.call("HOT.INCRBYAT", key, START, *words)
        client.call("HOT.INCRBYAT", key, 1 << 50, "a", 1)
        client.call("HOT.MERGE", key, "absent")
        client.call("HOT.LOADCHUNK", key, 1, "x")

    def reserve_large(self, client, key):
        return client.call("HOT.RESERVE", key, "MEMORY", 36 << 20)


class Model:
    """Exact decayed counts: the sum of λ to the power of the epochs since each event."""

    def __init__(self, decay, epoch_us):
        self.decay, self.epoch_us = decay, epoch_us
        self.events = {}

    def epoch_of(self, at):
        return at * 1000 // self.epoch_us

    def add(self, item, count, at):
        self.events.setdefault(item, []).append((self.epoch_of(at), count))

    def count(self, item, at):
        now = self.epoch_of(at)
        return sum(count * self.decay ** (now - epoch) for epoch, count in self.events.get(item, ()))

    def top(self, most, at):
        return sorted(self.events, key=lambda item: -self.count(item, at))[:most]


@needs_module
class ContractTest(OneServerTest):
    @in_both_protocols
    def test_replies(self, client):
        facts = (("Half-life", '"60"', ",60.0"), ("Lambda", '"0.5"', ",0.5"), ("Epoch", '"60"', ",60.0"),
                 ("Window", '"0"', ",0.0"),
                 ("Size", ":<n>", ":<n>"), ("Rounding", '"strict"', '"strict"'),
                 ("Room for names", ":<n>", ":<n>"), ("Names", ":2", ":2"), ("Events", ":13", ":13"), ("Late events", ":4", ":4"),
                 ("Newest event", ":1600000140000", ":1600000140000"))
        old = " ".join(f"+{name} {value}" for name, value, _ in facts)
        new = " ".join(f"+{name}: {value}" for name, _, value in facts)
        self.check(client, f"""
            HOT.RESERVE h => +OK
            HOT.RESERVE h => -ERR item exists
            HOT.INCRBYAT h 1600000020000 a 3 b 1 a 2 => *["3" "1" "5"] | *[,3.0 ,1.0 ,5.0]
            HOT.COUNTAT h 1600000020000 a b c a => *["5" "1" "0" "5"] | *[,5.0 ,1.0 ,0.0 ,5.0]
            HOT.TOP h AT 1600000020000 => *["a" "b"]
            HOT.TOP h 1 AT 1600000020000 => *["a"]
            HOT.TOP h 1 AT 1600000020000 OFFSET 1 => *["b"]
            HOT.TOP h OFFSET 2 AT 1600000020000 => *[]
            HOT.TOP h 10000 offset 9223372036854775807 AT 1600000020000 WITHCOUNTS => *[]
            HOT.TOP h 1 WITHCOUNTS AT 1600000020000 => *["a" "5"] | *[*["a" ,5.0]]
            hot.top h 7 at 1600000020000 withcounts => *["a" "5" "b" "1"] | *[*["a" ,5.0] *["b" ,1.0]]
            HOT.RESERVE g LAMBDA 0.5 EPOCH 1m MEMORY 4096 => +OK
            HOT.INCRBYAT g 1600000020000 a 8 => *["8"] | *[,8.0]
            HOT.COUNTAT g 1600000079999 a => *["8"] | *[,8.0]
            HOT.COUNTAT g 1600000080000 a => *["4"] | *[,4.0]
            HOT.COUNTAT g 1600000200000 a => *["1"] | *[,1.0]
            HOT.COUNTAT g 0 a => *["8"] | *[,8.0]
            HOT.RATEAT g 1600000050000 a => *["320"] | *[,320.0]
            HOT.INCRBYAT g 1600000140000 b 1 => *["1"] | *[,1.0]
            HOT.INCRBYAT g 1600000020000 b 4 => *["2"] | *[,2.0]
            HOT.TOP g AT 1600000140000 WITHCOUNTS => *["a" "2" "b" "2"] | *[*["a" ,2.0] *["b" ,2.0]]
            HOT.TOP g => *[]
            HOT.INFO g => *[{old}] | %{{{new}}}
            HOT.RESERVE i HALFLIFE 90s EPOCH 1s CAPACITY 1000 ERROR 0.001 SEED 00112233445566778899aabbccddeeff => +OK
            HOT.RESERVE j HALFLIFE 90 => +OK
            HOT.RESERVE w WINDOW 8m MEMORY 65536 => +OK
            HOT.INCRBYAT w 1600000020000 a 8 => *["8"] | *[,8.0]
            HOT.COUNTAT w 1600000500000 a => *["8"] | *[,8.0]
            HOT.COUNTAT w 1600000560000 a => *["0"] | *[,0.0]
            HOT.RATEAT w 1600000052000 a => *["56.25"] | *[,56.25]
            HOT.TOP w AT 1600000500000 WITHCOUNTS => *["a" "8"] | *[*["a" ,8.0]]
            HOT.TOP w AT 1600000560000 => *[]
            HOT.INCRBYAT w 1600000140000 b 1 => *["1"] | *[,1.0]
            HOT.INCRBYAT w 1599999660000 b 1 a 1 => *["2" "9"] | *[,2.0 ,9.0]
            HOT.INCRBYAT w 1599999659999 b 1 a 1 => *["2" "9"] | *[,2.0 ,9.0]
            """)

    @in_both_protocols
    def test_errors(self, client):
        decay, size = "-ERR HALFLIFE and LAMBDA cannot be combined", "-ERR MEMORY cannot be combined with CAPACITY and ERROR"
        increment = "-ERR the increment must be an integer in the range [1, 4294967295]"
        moment = "-ERR the time must be an integer: milliseconds since 1970"
        most = "-ERR the number of items must be in the range [1, 10000]: ask for more with OFFSET"
        self.check(client, f"""
            HOT.RESERVE => -ERR wrong number of arguments for 'hot.reserve' command
            HOT.RESERVE h HALFLIFE => -ERR the last argument is unknown or has no value
            HOT.RESERVE h HALFLIFE x
                => -ERR duration 'x' is not valid; give a number and a unit of us, ms, s, m, h, d or w, from 1us to 365000d
            HOT.RESERVE h HALFLIFE 1h LAMBDA 0.5 EPOCH 1m => {decay}
            HOT.RESERVE h LAMBDA 0.5 => -ERR LAMBDA needs EPOCH: how often counts are multiplied by it
            HOT.RESERVE h LAMBDA 0 EPOCH 1m => -ERR lambda must lie between 0 and 1, both excluded
            HOT.RESERVE h LAMBDA 1 EPOCH 1m => -ERR lambda must lie between 0 and 1, both excluded
            HOT.RESERVE h LAMBDA nan EPOCH 1m => -ERR lambda must lie between 0 and 1, both excluded
            HOT.RESERVE h HALFLIFE 64m EPOCH 61s
                => -ERR an epoch of 61s is too long for a half-life of 64m: give 1m at most, or leave it out; LAMBDA with EPOCH takes any
            HOT.RESERVE h WINDOW 1h HALFLIFE 1h
                => -ERR WINDOW cannot be combined with HALFLIFE, LAMBDA and EPOCH: counts of a window do not decay
            HOT.RESERVE h WINDOW 7ms => -ERR a window of less than 8 milliseconds: take a longer one
            HOT.RESERVE h WINDOW 12345us => -ERR a window of 12345 us is not valid: it must be a multiple of 8 us, and at most 1000 years
            HOT.RESERVE h MEMORY 4096 CAPACITY 5 => {size}
            HOT.RESERVE h MEMORY 4096 ERROR 0.1 => {size}
            HOT.RESERVE h ERROR 0.1 => -ERR ERROR needs CAPACITY: of how many items
            HOT.RESERVE h CAPACITY 0 => -ERR bad capacity: give a number of items
            HOT.RESERVE h MEMORY -1 => -ERR bad memory: give a number of bytes
            HOT.RESERVE h ROUNDING up => -ERR bad rounding: STRICT and BALANCED are known
            HOT.RESERVE h MEMORY 100 => -ERR too few bytes; give at least 656
            HOT.RESERVE h MEMORY 2000000000 => -ERR a filter of <n> bytes: at most 268435456
            HOT.RESERVE h CAPACITY 1000000000 => -ERR a filter of <n> bytes: at most 268435456
            HOT.RESERVE h CAPACITY 5 ERROR 1 => -ERR error rate must lie between 0 and 1, both excluded
            HOT.RESERVE h SEED xyz => -ERR bad seed: give 32 hexadecimal digits
            HOT.RESERVE h FOO 1
                => -ERR unknown argument: HALFLIFE, LAMBDA, EPOCH, WINDOW, MEMORY, CAPACITY, ERROR, ROUNDING, HASH and SEED are known
            EXISTS h => :0
            HOT.RESERVE h => +OK
            HOT.INCRBY h a => -ERR wrong number of arguments for 'hot.incrby' command
            HOT.INCRBY h a 1 b => -ERR wrong number of arguments for 'hot.incrby' command
            HOT.INCRBY h a 0 => {increment}
            HOT.INCRBY h a 1 b -1 => {increment}
            HOT.INCRBY h a 4294967296 => {increment}
            HOT.INCRBY h a 1.5 => {increment}
            HOT.INCRBYAT h x a 1 => {moment}
            HOT.INCRBYAT h -1 a 1 => {moment}
            HOT.INCRBYAT h 9223372036854775807 a 1 => {moment}
            HOT.INCRBYAT h 9000000000000 a 1 => -ERR the time is more than a day ahead of the server's clock
            HOT.INCRBYAT h 1 a => -ERR wrong number of arguments for 'hot.incrbyat' command
            HOT.COUNT h => -ERR wrong number of arguments for 'hot.count' command
            HOT.COUNTAT h 1 => -ERR wrong number of arguments for 'hot.countat' command
            HOT.COUNTAT h x a => {moment}
            HOT.TOP h 0 => {most}
            HOT.TOP h -1 => {most}
            HOT.TOP h 10001 => {most}
            HOT.TOP h OFFSET => -ERR the offset must be an integer, not below 0
            HOT.TOP h OFFSET -1 => -ERR the offset must be an integer, not below 0
            HOT.TOP h OFFSET x => -ERR the offset must be an integer, not below 0
            HOT.TOP h AT => {moment}
            HOT.TOP h AT x => {moment}
            HOT.TOP h 5 6 => -Unknown argument received
            HOT.INFO h x => -ERR wrong number of arguments for 'hot.info' command
            HOT.COUNTAT h 1 a b => *["0" "0"] | *[,0.0 ,0.0]
            """)

    @in_both_protocols
    def test_merging(self, client):
        self.check(client, """
            HOT.RESERVE a LAMBDA 0.5 EPOCH 1m MEMORY 4096 SEED 00112233445566778899aabbccddeeff => +OK
            COPY a b => :1
            HOT.RESERVE wide LAMBDA 0.5 EPOCH 1m MEMORY 8192 SEED 00112233445566778899aabbccddeeff => +OK
            HOT.RESERVE other LAMBDA 0.5 EPOCH 1m MEMORY 4096 => +OK
            HOT.RESERVE slow LAMBDA 0.75 EPOCH 1m MEMORY 4096 SEED 00112233445566778899aabbccddeeff => +OK
            SET str x => +OK
            HOT.INCRBYAT a 1600000020000 x 8 y 1 => *["8" "1"] | *[,8.0 ,1.0]
            HOT.INCRBYAT b 1600000080000 x 3 z 6 => *["3" "6"] | *[,3.0 ,6.0]
            HOT.MERGE a => -ERR wrong number of arguments for 'hot.merge' command
            HOT.MERGE a absent => -ERR not found
            HOT.MERGE a b absent => -ERR not found
            HOT.MERGE a str => -WRONGTYPE Operation against a key holding the wrong kind of value
            HOT.MERGE str a => -WRONGTYPE Operation against a key holding the wrong kind of value
            HOT.MERGE a b other => -ERR the filters hash with different seeds; create the second one like the first
            HOT.MERGE a b wide
                => -ERR the filters differ in size or shape (<n> and <n> bytes of cells); create the second one like the first
            HOT.MERGE a b slow
                => -ERR the filters differ in size or shape (<n> and <n> bytes of cells); create the second one like the first
            HOT.TOP a AT 1600000020000 WITHCOUNTS => *["x" "8" "y" "1"] | *[*["x" ,8.0] *["y" ,1.0]]
            EXPIRE a 1000 => :1
            HOT.MERGE a b a => +OK
            EXPIRE a 1000 XX => :1
            HOT.TOP a AT 1600000080000 WITHCOUNTS
                => *["x" "7" "z" "6" "y" "0.5"] | *[*["x" ,7.0] *["z" ,6.0] *["y" ,0.5]]
            HOT.MERGE new b b => +OK
            HOT.COUNTAT new 1600000080000 x y z => *["6" "0" "12"] | *[,6.0 ,0.0 ,12.0]
            HOT.TOP b AT 1600000080000 => *["z" "x"]
            """)

    @in_both_protocols
    def test_items_are_binary_safe_and_of_any_length(self, client):
        items = [b"", b"\x00", b"\r\n", b"AT", b"WITHCOUNTS", b"1", b"\xff" * 1024, b"\xff" * 1025, b"x" * 100_000]
        client.must("HOT.RESERVE", "h")
        for count, item in enumerate(items, 1):
            client.must("HOT.INCRBYAT", "h", START, item, count)
        self.assertEqual(numbers(client.must("HOT.COUNTAT", "h", START, *items)), [*range(1, len(items) + 1)])
        listed = client.must("HOT.TOP", "h", "AT", START)
        self.assertEqual(listed, [item[:1024] for item in reversed(items)], "a long item is listed by its beginning")


@needs_module
class ModelTest(OneServerTest):
    """Counts beside exact ones."""

    def decay_of(self, key):
        facts = self.client.must("HOT.INFO", key)
        facts = dict(zip(map(bytes, facts[::2]), facts[1::2]))
        return Model(float(facts[b"Lambda"]), round(float(facts[b"Epoch"]) * 1e6))

    def play(self, key, items, steps, late=0.1, start=START, model=None):
        """Counts a Zipf stream of events, some of them late, and returns the truth and the last moment."""
        dice = random.Random(SEED)
        model, now, commands = model or self.decay_of(key), start, []
        for _ in range(steps):
            now += dice.choice((0, 0, 1000, 5000, 400_000 if dice.random() < 0.01 else 0))
            at = now - dice.randrange(900_000) if dice.random() < late else now
            words = []
            for _ in range(dice.randrange(1, 5)):
                item = f"item{int(math.exp(dice.random() * math.log(items)))}"
                count = dice.choice((1, 1, 1, 2, 30))
                model.add(item, count, at)
                words += [item, count]
            commands.append(("HOT.INCRBYAT", key, at, *words))
        for reply in self.client.pipeline(commands):
            self.assertNotIsInstance(reply, Error)
        return model, now

    def test_counts_are_never_too_low(self):
        for memory in (2048, 8192, 262_144):
            with self.subTest(memory=memory):
                key = f"memory {memory}"
                self.client.must("HOT.RESERVE", key, "HALFLIFE", "15m", "MEMORY", memory, "SEED", f"{SEED:032x}")
                model, now = self.play(key, 3000, 1500 * ROUNDS)
                items = [*model.events]
                for at in (now, now + 600_000, now + 86_400_000):
                    for item, count in zip(items, numbers(self.client.must("HOT.COUNTAT", key, at, *items))):
                        # Replies are rounded to a multiple of 2^-16.
                        self.assertGreaterEqual(count * (1 + 1e-9) + 2**-16, model.count(item, at), (item, at))
                        if memory == 262_144:  # no two items meet in every cell
                            self.assertLess(count, model.count(item, at) + 1 / 32, (item, at))

    def test_the_sum_takes_the_memory_of_the_value(self):
        self.client.must("HOT.RESERVE", "a", "MEMORY", 100_000)
        self.client.must("COPY", "a", "b")
        limit_filters(self.client, self.client.must("MEMORY", "USAGE", "a") + 100)
        self.addCleanup(limit_filters, self.client, 0)
        self.client.must("HOT.MERGE", "a", "b")

    def test_a_merge_counts_the_events_of_all(self):
        """Nodes whose clocks differ by hours: never too low, and near the truth of all events together."""
        options = ("HALFLIFE", "1h", "MEMORY", 65_536, "SEED", f"{SEED:032x}")
        model = now = None
        for hours, key in enumerate(("one", "two", "three")):
            self.client.must("HOT.RESERVE", key, *options)
            model, now = self.play(key, 1000, 500 * ROUNDS, start=START + hours * 90 * MINUTE, model=model)
        self.client.must("HOT.MERGE", "all", "two", "three", "one")
        exact = {item: model.count(item, now) for item in model.events}
        for item, count in zip(exact, numbers(self.client.must("HOT.COUNTAT", "all", now, *exact))):
            self.assertGreaterEqual(count * (1 + 1e-9) + 2**-16, exact[item], item)
            self.assertLess(count, exact[item] + 1 / 4, item)
        listed = self.client.must("HOT.TOP", "all", 20, "AT", now)
        least = sorted(exact.values())[-20]
        for item in listed:
            self.assertGreater(exact[item.decode()] + 1 / 4, least, item)

    def test_the_hottest_are_those_of_the_exact_counts(self):
        self.client.must("HOT.RESERVE", "h", "HALFLIFE", "30m", "MEMORY", 131_072, "SEED", f"{SEED:032x}")
        model, now = self.play("h", 20_000, 4000 * ROUNDS)
        for at in (now, now + 3_600_000):
            exact = model.top(50, at)
            listed = self.client.must("HOT.TOP", "h", 50, "WITHCOUNTS", "AT", at)
            counts = dict(zip((bytes(item).decode() for item in listed[::2]), numbers(listed[1::2])))
            self.assertEqual([*counts.values()], sorted(counts.values(), reverse=True))
            self.assertEqual(len(counts), 50)
            # Where two counts are nearly equal either may be listed; none may be missing that is clearly above.
            least = model.count(exact[-1], at)
            for item in exact:
                self.assertTrue(item in counts or model.count(item, at) < least + 1 / 16, item)
            for item, count in counts.items():
                self.assertLess(abs(count - model.count(item, at)), 1 / 16, item)

    def test_counts_of_a_window(self):
        """Panes of a minute: an event counts until it is one window and at most a pane old."""
        self.client.must("HOT.RESERVE", "w", "WINDOW", "8m", "MEMORY", 1 << 20, "SEED", "0123456789abcdef" * 2)
        dice, now, panes = random.Random(SEED), START, {}
        for _ in range(2000 * ROUNDS):
            now += dice.randrange(3000)
            at = now - dice.randrange(12 * MINUTE) if dice.random() < 0.1 else now
            item = f"item{dice.randrange(300)}"
            if at // MINUTE >= now // MINUTE - 8:
                panes.setdefault(item, []).append(at // MINUTE)
            self.client.must("HOT.INCRBYAT", "w", now, "clock", 1)
            self.client.must("HOT.INCRBYAT", "w", at, item, 1)
        for at in (now, now + MINUTE, now + 5 * MINUTE, now + 9 * MINUTE):
            exact = {item: sum(pane >= at // MINUTE - 8 for pane in of) for item, of in panes.items()}
            self.assertEqual(numbers(self.client.must("HOT.COUNTAT", "w", at, *exact)), [*exact.values()])
            listed = self.client.must("HOT.TOP", "w", 1000, "WITHCOUNTS", "AT", at)
            counts = dict(zip((bytes(item).decode() for item in listed[::2]), numbers(listed[1::2])))
            counts.pop("clock", None)
            self.assertEqual(counts, {item: count for item, count in exact.items() if count})

    def test_the_rate_of_a_steady_stream_is_its_rate(self):
        """An event every 250 ms is 14400 per hour, at any moment of an epoch, once the stream is old enough."""
        for options in (("HALFLIFE", "1m"), ("WINDOW", "4m"), ("WINDOW", "4m", "ROUNDING", "BALANCED"),
                        ("LAMBDA", "0.5", "EPOCH", "30s"), ("LAMBDA", "0.001", "EPOCH", "2m")):
            with self.subTest(options=options):
                self.client.must("DEL", "h")
                self.client.must("HOT.RESERVE", "h", *options)
                end = START + 20 * MINUTE
                self.client.pipeline([("HOT.INCRBYAT", "h", at, "tick", 1) for at in range(START, end, 250)])
                for at in range(end - 250, end + 60_000, 3777):
                    self.client.pipeline([("HOT.INCRBYAT", "h", moment, "tick", 1)
                                          for moment in range(end, at + 1, 250)])
                    end = max(end, at // 250 * 250 + 250)
                    (rate,) = numbers(self.client.must("HOT.RATEAT", "h", at, "tick"))
                    (count,) = numbers(self.client.must("HOT.COUNTAT", "h", at, "tick"))
                    # One event more or less, and what came before the first.
                    self.assertLess(abs(rate - 14400), 14400 * (1.1 / count + 1e-5), at)

    def test_the_hottest_items_in_pages(self):
        """Pages of a moment, one behind the other, are the list."""
        dice = random.Random(SEED)
        self.client.must("HOT.RESERVE", "h", "MEMORY", 1 << 20)
        for _ in range(20):
            self.client.must("HOT.INCRBYAT", "h", START, *(word for _ in range(500)
                                                           for word in (f"item{dice.randrange(3000)}", dice.randrange(1, 9))))
        whole = self.client.must("HOT.TOP", "h", 10_000, "WITHCOUNTS", "AT", START)
        self.assertGreater(len(whole), 2000)
        pages = []
        while page := self.client.must("HOT.TOP", "h", 97, "OFFSET", len(pages) // 2, "WITHCOUNTS", "AT", START):
            pages += page
        self.assertEqual(pages, whole)
        counts = numbers(whole[1::2])
        self.assertEqual(counts, sorted(counts, reverse=True))

    def test_increments_are_as_many_events(self):
        for key in ("at once", "single"):
            self.client.must("HOT.RESERVE", key, "LAMBDA", "0.9", "EPOCH", "1m", "SEED", "0" * 32)
        dice = random.Random(SEED)
        for step in range(50):
            at, item, count = START + step * 20_000, f"item{dice.randrange(20)}", dice.randrange(1, 200)
            self.client.must("HOT.INCRBYAT", "at once", at, item, count)
            self.client.must("HOT.INCRBYAT", "single", at, *[item, 1] * count)
        at_once, single = (self.client.must("HOT.TOP", key, 20, "WITHCOUNTS", "AT", START + 1_000_000)
                           for key in ("at once", "single"))
        self.assertEqual(at_once[::2], single[::2])
        for left, right in zip(numbers(at_once[1::2]), numbers(single[1::2])):
            self.assertAlmostEqual(left, right, places=3)
        (count,) = numbers(self.client.must("HOT.INCRBYAT", "at once", START + 1_000_000, "many", 4_294_967_295))
        self.assertAlmostEqual(count / 4_294_967_295, 1, places=7)

    def test_without_a_time_it_is_now(self):
        """Counted now, it fades from now on: asked as of a half-life later it is half."""
        self.client.must("HOT.RESERVE", "h", "HALFLIFE", "1h")
        seconds, micros = map(int, self.client.must("TIME"))
        self.assertEqual(numbers(self.client.must("HOT.INCRBY", "h", "a", 1000, "b", 10)), [1000, 10])
        now = seconds * 1000 + micros // 1000
        (half,) = numbers(self.client.must("HOT.COUNTAT", "h", now + 60 * MINUTE, "a"))
        self.assertLess(abs(half - 500), 500 * 0.02)  # an epoch is a 64th of the half-life, and one may just have begun
        (count,) = numbers(self.client.must("HOT.COUNT", "h", "a"))
        self.assertTrue(900 < count <= 1000)
        self.assertEqual(self.client.must("HOT.TOP", "h"), [b"a", b"b"])

    def test_a_clock_that_is_set_back_makes_nothing_late(self):
        """What was counted ahead of the clock: the filter's time stands until the clock has come there."""
        self.client.must("HOT.RESERVE", "h", "HALFLIFE", "1h")
        ahead = int(self.client.must("TIME")[0]) * 1000 + 12 * 60 * MINUTE
        self.client.must("HOT.INCRBYAT", "h", ahead, "a", 7)
        self.assertEqual(numbers(self.client.must("HOT.INCRBY", "h", "a", 1)), [8])
        self.assertEqual(numbers(self.client.must("HOT.COUNT", "h", "a")), [8])
        facts = self.client.must("HOT.INFO", "h")
        self.assertEqual(facts[facts.index(b"Late events") + 1], 0)

    def test_asking_changes_nothing(self):
        Hot().fill(self.client)
        before = self.client.must("DEBUG", "DIGEST")
        for key in Hot.keys:
            Hot().ask(self.client, key)
            self.client.must("HOT.COUNT", key, *ITEMS)
            self.client.must("HOT.TOP", key)
        self.assertEqual(self.client.must("DEBUG", "DIGEST"), before)


@needs_module
class PersistenceTest(PersistenceMatrix, RedisTest):
    family = Hot()


@needs_module
class KeyTest(KeyMatrix, OneServerTest):
    family = Hot()

    def test_what_commands_say_of_themselves(self):
        for names, flags in ((("reserve", "loadchunk"), {"write", "denyoom"}), (("incrby", "incrbyat"), {"write"}),
                             (("count", "countat", "rate", "rateat"), {"readonly", "fast"}),
                             (("top", "info", "scandump"), {"readonly"})):
            for info in self.client.must("COMMAND", "INFO", *(f"hot.{name}" for name in names)):
                self.assertEqual({bytes(flag).decode() for flag in info[2]}, flags | {"module"}, info[0])

    def test_keys_that_are_absent(self):
        for name, *words in (*self.family.reads, *self.family.writes[1:3]):
            self.assertEqual(self.client.call(name, "f", *words), "ERR not found", name)
        self.assertEqual(self.client.must("EXISTS", "f"), 0)

    def test_pieces_of_two_moments_are_refused(self):
        """Else cells that have faded meanwhile would be taken as of the header's time, and fade once more."""
        self.family.fill(self.client)
        header, *_ = self.family.chunks(self.client, "minutes")
        self.client.must("HOT.INCRBYAT", "minutes", LATER, "x", 1)
        _, *cells = self.family.chunks(self.client, "minutes")
        self.assertEqual(self.client.must("HOT.LOADCHUNK", "copy", *header), b"OK")
        self.assertEqual(self.client.call("HOT.LOADCHUNK", "copy", *cells[0]), "ERR received bad data")


@needs_module
class ReplicationTest(RedisTest):
    """The matrix has the rest; this is about the clock."""

    def pair(self, **options):
        primary, replica = self.start(tcp=True, **options), self.start(tcp=True, **options)
        replica.replicate(primary)
        return primary, replica

    def test_the_clock_of_the_primary_is_the_clock_of_all(self):
        """Epochs of a millisecond pass by the hundred between two commands, and while the replica is away."""
        primary, replica = self.pair(appendonly="yes", appendfsync="always")
        client = primary.client()
        client.must("HOT.RESERVE", "h", "HALFLIFE", "64ms", "MEMORY", 4096)
        for step in range(60):
            client.must("HOT.INCRBY", "h", f"item{step % 7}", 100, "b", 3)
            client.pipeline([("MULTI",), ("HOT.INCRBY", "h", "c", 1), ("HOT.TOP", "h"), ("EXEC",)])
            client.must("EVAL", "return redis.call('HOT.INCRBY', KEYS[1], 'd', 2)", 1, "h")
            if step % 20 == 10:
                client.must("CLIENT", "KILL", "TYPE", "replica")
            if step % 12 == 0:
                self.assert_digests_are_equal(primary, replica)
        self.assert_digests_are_equal(primary, replica)
        before = client.must("DEBUG", "DIGEST")
        primary.restart(kill=True)
        self.assertEqual(primary.client().must("DEBUG", "DIGEST"), before, "from the append-only file")

    def assert_digests_are_equal(self, primary, replica):
        replica.wait_for_primary(primary)
        with replica.client() as client:
            client.must("HOT.TOP", "h")
            client.must("HOT.COUNT", "h", "b")
            self.assertEqual(client.must("DEBUG", "DIGEST"), primary.client().must("DEBUG", "DIGEST"))

    def test_a_replica_goes_on_where_its_primary_ended(self):
        primary, replica = self.pair()
        primary.client().must("HOT.RESERVE", "h", "HALFLIFE", "1h")
        primary.client().must("HOT.INCRBY", "h", "a", 5)
        replica.wait_for_primary(primary)
        primary.kill()
        client = replica.client()
        client.must("REPLICAOF", "NO", "ONE")
        (count,) = numbers(client.must("HOT.INCRBY", "h", "a", 1))
        self.assertTrue(5.5 < count <= 6)


@needs_module
class ForgeryTest(ForgeryMatrix, OneServerTest):
    family = Hot()


class OfTheModelTest(unittest.TestCase):
    def test_the_model_fades_by_whole_epochs(self):
        model = Model(0.5, 1_000_000)
        model.add("a", 8, 500)
        model.add("a", 1, 2999)
        self.assertEqual([model.count("a", at) for at in (2999, 3000)], [3, 1.5])
        model.add("b", 2, 2000)
        self.assertEqual(model.top(1, 2999), ["a"])


if __name__ == "__main__":
    main()
