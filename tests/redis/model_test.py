"""Random commands beside an exact model: what a filter promises holds for every command, alone and in batches.

The model knows every item that was ever offered. The server may differ from it only as false positives explain: it may
take a new item for an old one (and then adds nothing), never an old one for a new one. All else, the count of items,
the number of sub-filters, their capacity, and when a filter is full, follows exactly from the server's own answers.

MANKAI_REDIS_SEED chooses another run, MANKAI_REDIS_ROUNDS a longer one. A failure prints the commands of its key.
"""
import math
import random
import time
import unittest

from client import Error, render
from harness import OneServerTest, ROUNDS, RedisTest, SEED, in_both_protocols, main, needs_module

FULL = "ERR non scaling filter is full"


def more_than_chance(expected):
    """Returns a number of false positives that a run exceeds once in 10^9 when `expected` is right (Bernstein)."""
    log = math.log(1e9)
    return expected + log / 3 + math.sqrt(log * log / 9 + 2 * log * expected)


class Filter:
    """What one key must be: exact, but for the items that the server took for others."""

    def __init__(self, rate=0.01, capacity=100, expansion=2):
        self.rate, self.expansion = min(rate, 0.25), expansion
        self.capacities, self.in_last = [capacity], 0
        self.offered = set()
        self.card = 0
        self.strangers = set()  # items that were asked for before they were offered: each counts once
        self.false_positives = 0

    def meet(self, item, taken_for_another):
        if item not in self.strangers:
            self.strangers.add(item)
            self.false_positives += taken_for_another

    def answer_of_new(self, item, said):
        """Accounts for the server's answer to an item that was never offered; returns the answer that must be."""
        self.meet(item, said == 0)
        if said == 0:
            return 0
        if self.in_last == self.capacities[-1]:
            if self.expansion == 0:
                return FULL
            self.capacities.append(self.capacities[-1] * self.expansion)
            self.in_last = 0
        self.in_last += 1
        self.card += 1
        return 1

    def add(self, item, said):
        if item in self.offered:
            return 0
        answer = self.answer_of_new(item, said)
        if answer != FULL:
            self.offered.add(item)
        return answer

    def add_many(self, items, said):
        """Returns the array that must be: cut behind an error."""
        answers = []
        for item, word in zip(items, list(said) + [None] * len(items)):
            answers.append(self.add(item, word))
            if answers[-1] == FULL:
                break
        return answers

    def exists(self, item, said):
        if item in self.offered:
            return 1
        self.meet(item, bool(said))
        return said

    def info(self):
        return {"Capacity": sum(self.capacities), "Number of filters": len(self.capacities),
                "Number of items inserted": self.card, "Expansion rate": self.expansion or None}


class World:
    """Random commands on a few keys of a server, each answer compared with the model's."""

    KEYS = ["a", "b", b"\x00\xff", "long" * 50]

    def __init__(self, test, client, seed):
        self.test, self.client = test, client
        self.random = random.Random(seed)
        self.filters = {}
        self.history = {key: [] for key in self.KEYS}
        self.finished = []  # filters that were deleted: their false positives count too
        self.checks = 0

    def truth(self, value):
        """An answer of yes or no, as this version of the protocol says it."""
        return bool(value) if self.client.protocol == 3 and value in (0, 1) else value

    def call(self, key, *words):
        self.history[key].append(" ".join(str(word)[:20] for word in words)[:160])
        return self.client.call(*words)

    def expect(self, key, expected, reply):
        self.checks += 1
        if render(expected) != render(reply):
            tail = "\n".join(self.history[key][-30:])
            self.test.fail(f"key {key!r}: expected {render(expected)[:300]}\ngot {render(reply)[:300]}\nafter\n{tail}")

    def as_reply(self, answers):
        return [Error(answer) if answer == FULL else self.truth(answer) for answer in answers]

    def item(self, key):
        known = self.filters.get(key)
        if known and known.offered and self.random.random() < 0.4:
            return self.random.choice(self.sorted_sample(known.offered))
        return b"%x" % self.random.getrandbits(self.random.choice((4, 12, 48)))

    def sorted_sample(self, items):
        # A set's order changes from run to run; a seed must not.
        return sorted(items)[self.random.randrange(len(items)):][:1]

    def items(self, key):
        return [self.item(key) for _ in range(self.random.choice((1, 2, 3, 7, 30, 200)))]

    def reserve(self, key):
        rate = self.random.choice(("0.3", "0.05", "0.01", "0.0001", "1e-9"))
        capacity = self.random.choice((1, 2, 7, 64, 100, 1000))
        expansion = self.random.choice((None, 0, 1, 2, 3, "NONSCALING"))
        options = {None: (), "NONSCALING": ("NONSCALING",)}.get(expansion, ("EXPANSION", expansion))
        reply = self.call(key, "BF.RESERVE", key, rate, capacity, *options)
        if key in self.filters:
            self.expect(key, Error("ERR item exists"), reply)
            return
        self.expect(key, b"OK", bytes(reply))
        self.filters[key] = Filter(float(rate), capacity, {None: 2, "NONSCALING": 0}.get(expansion, expansion))

    def grows_too_far(self, key):
        # Filters that grow by nothing become chains of thousands, which is slow to test and no other case.
        known = self.filters.get(key)
        return known is not None and known.expansion == 1 and len(known.capacities) > 60

    def add(self, key):
        item = self.item(key)
        reply = self.call(key, "BF.ADD", key, item)
        known = self.filters.setdefault(key, Filter())
        self.expect(key, self.as_reply([known.add(item, reply)])[0], reply)

    def add_batch(self, key, *words):
        items = self.items(key)
        reply = self.call(key, *words, *items)
        known = self.filters.setdefault(key, Filter())
        self.test.assertIsInstance(reply, list, reply)
        self.expect(key, self.as_reply(known.add_many(items, reply)), reply)

    def madd(self, key):
        self.add_batch(key, "BF.MADD", key)

    def insert(self, key):
        if key in self.filters or self.random.random() < 0.5:
            self.add_batch(key, "BF.INSERT", key, "ITEMS")
        else:
            capacity = self.random.randrange(1, 300)
            self.filters[key] = Filter(0.02, capacity, 3)
            self.add_batch(key, "BF.INSERT", key, "CAPACITY", capacity, "ERROR", "0.02", "EXPANSION", 3, "ITEMS")

    def insert_if_there(self, key):
        if key in self.filters:
            self.add_batch(key, "BF.INSERT", key, "NOCREATE", "ITEMS")
        else:
            self.expect(key, Error("ERR not found"), self.call(key, "BF.INSERT", key, "NOCREATE", "ITEMS", "x"))

    def exists(self, key):
        item = self.item(key)
        reply = self.call(key, "BF.EXISTS", key, item)
        expected = self.filters[key].exists(item, reply) if key in self.filters else 0
        self.expect(key, self.truth(expected), reply)

    def mexists(self, key):
        items = self.items(key)
        reply = self.call(key, "BF.MEXISTS", key, *items)
        known = self.filters.get(key)
        expected = [known.exists(item, said) if known else 0 for item, said in zip(items, reply, strict=True)]
        self.expect(key, [self.truth(answer) for answer in expected], reply)

    def card(self, key):
        self.expect(key, self.filters[key].card if key in self.filters else 0, self.call(key, "BF.CARD", key))

    def info(self, key):
        reply = self.call(key, "BF.INFO", key)
        if key not in self.filters:
            self.expect(key, Error("ERR not found"), reply)
            return
        found = reply.plain() if self.client.protocol == 3 else {
            bytes(name).decode(): value for name, value in zip(reply[::2], reply[1::2], strict=True)}
        self.test.assertGreater(found.pop("Size"), 0)
        found["Expansion rate"] = found["Expansion rate"] or None
        self.test.assertEqual(found, self.filters[key].info(), self.history[key][-30:])
        self.checks += 1

    def delete(self, key):
        if self.random.random() < 0.2:
            self.expect(key, int(key in self.filters), self.call(key, self.random.choice(("DEL", "UNLINK")), key))
            if key in self.filters:
                self.finished.append(self.filters.pop(key))

    def through_a_dump(self, key):
        """The key is written and read again; what follows must not notice."""
        if key in self.filters and self.random.random() < 0.3:
            dump = self.call(key, "DUMP", key)
            self.expect(key, b"OK", bytes(self.call(key, "RESTORE", key, 0, dump, "REPLACE")))

    def step(self):
        key = self.random.choice(self.KEYS)
        writes = [] if self.grows_too_far(key) else [self.add, self.madd, self.insert, self.insert_if_there]
        self.random.choice([self.reserve, self.exists, self.exists, self.mexists, self.card, self.info, self.delete,
                            self.through_a_dump, *writes, *writes])(key)

    def finish(self):
        """Every item that was ever offered is there, and absent keys are taken for items no more often than promised."""
        for key, known in self.filters.items():
            if known.offered:
                items = sorted(known.offered)
                self.expect(key, [self.truth(1)] * len(items), self.client.call("BF.MEXISTS", key, *items))
        self.finished += self.filters.values()
        expected = sum(len(known.strangers) * known.rate for known in self.finished)
        self.test.assertLessEqual(sum(known.false_positives for known in self.finished), more_than_chance(expected))


@needs_module
class ModelTest(OneServerTest):
    @in_both_protocols
    def test_random_commands_are_answered_as_by_the_model(self, client):
        for number in range(6 * ROUNDS):
            seed = f"{SEED}.{number}.{client.protocol}"
            with self.subTest(seed=seed):
                client.must("FLUSHALL")
                world = World(self, client, seed)
                for _ in range(400):
                    world.step()
                world.finish()
                self.assertGreater(world.checks, 200)

    @in_both_protocols
    def test_a_batch_is_the_same_as_its_commands_one_by_one(self, client):
        """Two filters get the same items, one by one and in batches: every answer is the same, dumps included."""
        dice = random.Random(SEED)
        for options in ((), ("EXPANSION", 1), ("NONSCALING",)):
            with self.subTest(options=options):
                client.must("FLUSHALL")
                client.must("BF.RESERVE", "single", "0.01", 500, *options)
                # A copy shares the seed, should there be one.
                client.must("RESTORE", "batch", 0, client.must("DUMP", "single"))
                for _ in range(20):
                    items = [b"%x" % dice.getrandbits(14) for _ in range(dice.randrange(1, 300))]
                    ones = client.pipeline([("BF.ADD", "single", item) for item in items])
                    errors = [place for place, answer in enumerate(ones) if isinstance(answer, Error)]
                    if errors:  # a batch ends at the first error
                        self.assertEqual(options, ("NONSCALING",))
                        del ones[errors[0] + 1:]
                    self.assertEqual(render(client.call("BF.MADD", "batch", *items)), render(ones))
                    if errors:
                        break
                questions = [b"%x" % number for number in range(1 << 14)]
                ones = client.pipeline([("BF.EXISTS", "single", item) for item in questions])
                self.assertEqual(render(client.call("BF.MEXISTS", "single", *questions)), render(ones))
                self.assertEqual(render(client.call("BF.MEXISTS", "batch", *questions)), render(ones))
                self.assertEqual(client.must("DUMP", "single"), client.must("DUMP", "batch"))


    @in_both_protocols
    def test_a_merged_filter_knows_what_its_parts_knew(self, client):
        dice = random.Random(SEED)
        for options in ((), ("EXPANSION", 1), ("NONSCALING",)):
            client.must("FLUSHALL")
            client.must("BF.RESERVE", "a", "0.01", 3000, *options)
            client.must("COPY", "a", "b")
            client.must("COPY", "a", "c")
            parts = {key: {b"%x" % dice.getrandbits(40) for _ in range(dice.randrange(200, 900))} for key in "abc"}
            for key, items in parts.items():
                client.must("BF.MADD", key, *sorted(items))
            client.must("BF.MERGE", "union", "a", "b", "c")
            together = sorted(set().union(*parts.values()))
            self.assertTrue(all(client.must("BF.MEXISTS", "union", *together)))
            strangers = [f"stranger{number}" for number in range(20000)]
            self.assertLessEqual(sum(client.must("BF.MEXISTS", "union", *strangers)), more_than_chance(20000 * 0.01))


class DeletableWorld:
    """One deletable filter and how often each item is in it: what was added more often than removed is found."""

    MOST = 4  # of an item: a counter that reaches 15 stays

    def __init__(self, test, client, seed):
        self.test, self.client = test, client
        self.random = random.Random(seed)
        self.rate = self.random.choice((0.1, 0.01, 0.0001))
        self.client.must("BF.RESERVE", "f", self.rate, self.random.choice((2, 10, 100)), "EXPANSION",
                         self.random.choice((1, 2, 4)), "DELETABLE")
        self.pool = [b"%x" % self.random.getrandbits(60) for _ in range(self.random.choice((20, 500)))]
        self.count = dict.fromkeys(self.pool, 0)
        self.asked, self.wrong = 0, 0

    def sample(self):
        return self.random.sample(self.pool, self.random.choice((1, 1, 5, 20)))

    def add(self):
        items = [item for item in self.sample() if self.count[item] < self.MOST]
        if self.random.random() < 0.3:
            items += items[:1]
        for item, new in zip(items, self.client.must("BF.MADD", "f", *items) if items else (), strict=True):
            self.test.assertFalse(new and self.count[item], item)
            self.count[item] += 1

    def remove(self):
        # What is not in must not be removed when it seems to be in: that takes others away.
        items = self.sample()
        known = dict(zip(items, self.ask(items), strict=True))
        items = [item for item in items if self.count[item] or not known[item]]
        if self.random.random() < 0.3:
            items += [item for item in items if self.count[item] != 1]
        for item, gone in zip(items, self.client.must("BF.REM", "f", *items) if items else (), strict=True):
            self.test.assertEqual(gone, int(self.count[item] > 0), item)
            self.count[item] -= gone

    def ask(self, items):
        answers = self.client.must("BF.MEXISTS", "f", *items)
        for item, known in zip(items, answers, strict=True):
            if self.count[item]:
                self.test.assertEqual(known, 1, item)
            else:
                self.asked += 1
                self.wrong += known
        return answers

    def through_a_dump(self):
        self.client.must("RESTORE", "f", 0, self.client.must("DUMP", "f"), "REPLACE")

    def step(self):
        self.random.choice((self.add, self.add, self.add, self.remove, self.remove, self.through_a_dump))()

    def finish(self):
        self.ask(self.pool)
        while any(self.count.values()):
            items = [item for item in self.pool if self.count[item]]
            self.test.assertEqual(self.client.must("BF.REM", "f", *items), [1] * len(items))
            for item in items:
                self.count[item] -= 1
        self.test.assertEqual(self.client.must("BF.MEXISTS", "f", *self.pool), [0] * len(self.pool))
        self.test.assertEqual(float(self.client.must("BF.INFO", "f", "FPR")[0]), 0)


@needs_module
class DeletableTest(OneServerTest):
    def test_what_was_added_more_often_than_removed_is_found(self):
        for number in range(5 * ROUNDS):
            with self.subTest(seed=f"{SEED}.{number}"):
                self.client.must("FLUSHALL")
                world = DeletableWorld(self, self.client, f"{SEED}.{number}")
                for _ in range(100):
                    world.step()
                # The same few items are asked again and again, and are wrong together: a loose bound.
                self.assertLess(world.wrong, more_than_chance(world.asked * world.rate) + 0.1 * world.asked)
                world.finish()

    def test_items_that_come_and_go_need_no_more_room(self):
        self.client.must("BF.RESERVE", "f", "0.01", 1000, "DELETABLE")
        for start in range(0, 20_000, 500):
            self.client.must("BF.MADD", "f", *range(start, start + 500))
            if start:
                self.assertEqual(sum(self.client.must("BF.REM", "f", *range(start - 500, start))), 500)
        self.assertLessEqual(self.client.must("BF.INFO", "f", "FILTERS")[0], 2)
        self.assertAlmostEqual(self.client.must("BF.CARD", "f"), 500, delta=30)
        self.assertEqual(sum(self.client.must("BF.MEXISTS", "f", *range(19_500, 20_000))), 500)

    def test_a_deletable_filter_keeps_its_rate(self):
        for expansion in (1, 2):
            self.client.must("BF.RESERVE", "f", "0.01", 2000, "EXPANSION", expansion, "DELETABLE")
            self.client.must("BF.MADD", "f", *range(15_000))
            found = sum(self.client.must("BF.MEXISTS", "f", *range(20_000, 60_000)))
            self.assertLessEqual(found, more_than_chance(40_000 * 0.01))
            self.client.must("DEL", "f")


@needs_module
class ExpiringTest(RedisTest):
    """Items are found until their time to live is over, counted from their last addition, and one generation longer."""

    TTL = 3.9  # 13 generations of .3 s

    def test_items_expire_after_their_last_addition(self):
        dice = random.Random(SEED)
        primary, replica = self.start(tcp=True), self.start(tcp=True)
        replica.replicate(primary)
        client, there = primary.client(), replica.client()
        client.must("BF.RESERVE", "f", "0.000002", 50, "TTL", self.TTL)
        late = set()  # found after they have expired
        added = {}  # item: moments before and after its last addition
        end = time.monotonic() + 3 * self.TTL
        while time.monotonic() < end:
            items = [f"item{dice.randrange(5000)}" for _ in range(dice.choice((1, 5, 40)))]
            before = time.time()
            answers = client.must("BF.MADD", "f", *items)
            after = time.time()
            for item, new in zip(items, answers, strict=True):
                if item in added and added[item][0] + self.TTL > after:
                    self.assertEqual(new, 0, item)
                added[item] = (before, after)
            asked = dice.sample(sorted(added), min(len(added), 200))
            before = time.time()
            found = client.must("BF.MEXISTS", "f", *asked)
            after = time.time()
            for item, known in zip(asked, found, strict=True):
                if added[item][0] + self.TTL > after:
                    self.assertEqual(known, 1, item)
                if known and added[item][1] + self.TTL * 14 / 13 + 0.01 < before:
                    late.add(item)
        self.assertLessEqual(len(late), 1, f"{late}: more than a false positive")
        replica.wait_for_primary(primary)
        self.assertEqual(*(each.must("DEBUG", "DIGEST-VALUE", "f") for each in (client, there)))
        self.assertLess(client.must("BF.INFO", "f", "FILTERS")[0], 10, "expired items free their room")


    def test_a_filter_that_does_not_scale_has_room_for_what_expired(self):
        primary, replica = self.start(tcp=True), self.start(tcp=True)
        replica.replicate(primary)
        client, there = primary.client(), replica.client()
        client.must("BF.RESERVE", "f", "0.001", 500, "NONSCALING", "TTL", 2600)
        client.must("BF.RESERVE", "centuries", "0.01", 100, "TTL", 3_153_600_000)
        client.must("BF.INSERT", "inserted", "TTL", 3_153_600_000, "ITEMS", "a")
        for number, start in enumerate((0, 2000), 1):
            full = "ERR non scaling filter is full"
            replies = client.must("BF.MADD", "f", *range(start, start + 1000))
            self.assertEqual(replies[-1], full)
            self.assertGreaterEqual(len(replies) - 1, 500)
            # Some of these find a slot; what is refused changes nothing.
            self.assertIn(full, [client.call("BF.ADD", "f", f"more{start + number}") for number in range(100)])
            replica.wait_for_primary(primary)
            for key in ("f", "centuries", "inserted"):
                self.assertEqual(*(each.must("DEBUG", "DIGEST-VALUE", key) for each in (client, there)), key)
            client.must("BF.ADVANCE", "f", int(time.time() + 3000 * number) * 1000)
            self.assertLess(sum(client.must("BF.MEXISTS", "f", *range(start, start + 1000))), 20)


@needs_module
class RateTest(OneServerTest):
    """False positives of filters that hold what they were made for: no more than promised."""

    def rate(self, key, asked):
        found = 0
        for start in range(0, asked, 5000):
            items = (f"absent{number}" for number in range(start, start + 5000))
            found += sum(self.client.must("BF.MEXISTS", key, *items))
        return found

    def fill(self, key, keys):
        for start in range(0, keys, 2000):
            self.client.must("BF.MADD", key, *(f"present{number}" for number in range(start, min(start + 2000, keys))))

    def test_full_filters_keep_their_rate(self):
        for rate, asked in ((0.1, 20000), (0.01, 50000), (0.001, 100000)):
            with self.subTest(rate=rate):
                self.client.must("BF.RESERVE", "f", rate, 20000, "NONSCALING")
                self.fill("f", 19000)  # a little less: what is taken for another must not fill it
                self.assertLessEqual(self.rate("f", asked), more_than_chance(asked * rate))
                self.client.must("DEL", "f")

    def test_filters_that_grew_keep_their_rate(self):
        for expansion in (1, 2, 4):
            with self.subTest(expansion=expansion):
                self.client.must("BF.RESERVE", "f", "0.01", 1000, "EXPANSION", expansion)
                self.fill("f", 20000)
                self.assertGreater(self.client.must("BF.INFO", "f", "FILTERS")[0], 2)
                self.assertLessEqual(self.rate("f", 50000), more_than_chance(50000 * 0.01))
                self.client.must("DEL", "f")

    def test_cardinality_counts_all_but_the_false_positives(self):
        self.client.must("BF.RESERVE", "f", "0.01", 30000)
        self.fill("f", 30000)
        card = self.client.must("BF.CARD", "f")
        self.assertLessEqual(card, 30000)
        self.assertLessEqual(30000 - card, more_than_chance(30000 * 0.01))


class BoundTest(unittest.TestCase):
    def test_the_bound_is_above_the_expectation_and_not_far(self):
        self.assertEqual(round(more_than_chance(0)), 14)
        self.assertLess(more_than_chance(10000), 10700)
        self.assertGreater(more_than_chance(10000), 10600)

    def test_the_model_grows_and_fills_as_told(self):
        grown = Filter(0.01, 2, 3)
        self.assertEqual(grown.add_many("abcb", [1, 1, 1, 0]), [1, 1, 1, 0])
        self.assertEqual(grown.info()["Capacity"], 8)
        full = Filter(0.01, 1, 0)
        self.assertEqual(full.add_many("aabc", [1, 0, FULL]), [1, 0, FULL])
        self.assertEqual((full.card, full.offered), (1, {"a"}))


if __name__ == "__main__":
    main()
