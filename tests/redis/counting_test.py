"""CBF.*: items that are counted, and taken out by their ids. Contract, an exact model, and what every family must stand.

Usage: counting_test.py MODULE [unittest arguments...]
"""
import random

from client import Error, render
from families import Family, ForgeryMatrix, KeyMatrix, PersistenceMatrix
from harness import OneServerTest, ROUNDS, RedisTest, SEED, in_both_protocols, main, needs_module

ITEMS = [f"item{number}" for number in range(300)]
MOST_ID = (1 << 63) - 1


def pairs(items, first_id=0):
    return [word for number, item in enumerate(items) for word in (item, first_id + number)]


class Counting(Family):
    prefix = "CBF"
    category = "cbf"
    keys = ("default", "grown", "equal", "emptied", "twice")
    reads = (("CBF.EXISTS", "a", "item1"), ("CBF.COUNT", "a", "item1"), ("CBF.INFO",))
    writes = (("CBF.RESERVE", "0.01", 10), ("CBF.ADD", "a", 1), ("CBF.REM", "a", 1), ("CBF.LOADCHUNK", 1, "x"), ("CBF.SCANDUMP", 0))
    events = ((("CBF.RESERVE", "f", "0.01", 100), ["cbf.reserve"]), (("CBF.ADD", "f", "a", 1), ["cbf.add"]),
              (("CBF.ADD", "f", "a", 1), ["cbf.add"]), (("CBF.REM", "f", "a", 1, "b", 1), ["cbf.rem"]),
              (("CBF.REM", "f", "b", 1), []), (("CBF.COUNT", "f", "a"), []), (("DEL", "f"), ["del"]),
              (("CBF.ADD", "f", "a", 1), ["cbf.reserve", "cbf.add"]))

    def fill(self, client):
        client.must("CBF.ADD", "default", *pairs(ITEMS[:60], 1000))
        client.must("CBF.RESERVE", "grown", "0.01", 20, "EXPANSION", 3)
        client.must("CBF.ADD", "grown", *pairs(ITEMS))
        client.must("CBF.ADD", "grown", *pairs(ITEMS[:30], 5))  # ids of older slices
        client.must("CBF.RESERVE", "equal", "0.001", 50, "EXPANSION", 1)
        client.must("CBF.ADD", "equal", *pairs(ITEMS[:200], 1 << 40))
        client.must("CBF.RESERVE", "emptied", "0.01", 100)
        client.must("CBF.ADD", "emptied", *pairs(ITEMS[:50]))
        client.must("CBF.REM", "emptied", *pairs(ITEMS[:50]))
        client.must("CBF.RESERVE", "twice", "0.01", 100)
        client.must("CBF.ADD", "twice", *pairs(ITEMS[:20] * 3))

    def ask(self, client, key):
        asked = (*ITEMS, *(f"stranger{number}" for number in range(300)))
        return client.pipeline([("CBF.COUNT", key, *asked), ("CBF.EXISTS", key, *asked), ("CBF.INFO", key)])

    def add(self, client, key, words):
        return client.must("CBF.ADD", key, *pairs(words, 10_000))

    def change_nothing(self, client, key):
        client.must("CBF.REM", key, "nobody", 1, "no one", 10)
        client.call("CBF.RESERVE", key, "0.01", 10)
        client.call("CBF.ADD", key, "a", "no id")
        client.call("CBF.LOADCHUNK", key, 1, "x")

    def reserve_large(self, client, key):
        return client.call("CBF.RESERVE", key, "0.01", 5_000_000)

    def reserve_steep(self, client, key):
        client.must("CBF.RESERVE", key, "0.01", 100, "EXPANSION", 32768)


@needs_module
class ContractTest(OneServerTest):
    @in_both_protocols
    def test_replies(self, client):
        yes, no = ("#t", "#f") if client.protocol == 3 else (":1", ":0")
        for words, reply in (
                (("CBF.EXISTS", "f", "a", "b"), f"*[{no} {no}]"),
                (("CBF.COUNT", "f", "a", "b"), "*[:0 :0]"),
                (("CBF.REM", "f", "a", 1), "*[:0]"),
                (("EXISTS", "f"), ":0"),
                (("CBF.INFO", "f"), "-ERR not found"),
                (("CBF.SCANDUMP", "f", 0), "-ERR not found"),
                (("CBF.RESERVE", "f", "0.001", "1000"), "+OK"),
                (("CBF.RESERVE", "f", "0.001", "1000"), "-ERR item exists"),
                (("CBF.ADD", "f", "a", 1), f"*[{yes}]"),
                (("cbf.add", "f", "a", 2, "b", 2, "c", 3, "b", MOST_ID), f"*[{no} {yes} {yes} {no}]"),
                (("CBF.COUNT", "f", "a", "b", "c", "d"), "*[:2 :2 :1 :0]"),
                (("CBF.EXISTS", "f", "a", "d"), f"*[{yes} {no}]"),
                (("CBF.REM", "f", "a", 1, "d", 1, "a", 1, "a", 1), "*[:1 :0 :1 :0]"),
                (("CBF.COUNT", "f", "a"), "*[:0]"),
                (("CBF.ADD", "f", "", 0), f"*[{yes}]"),
                (("CBF.ADD", "made", "a", 5), f"*[{yes}]"),
                (("TYPE", "made"), "+mankai-cb")):
            self.assertEqual(render(client.call(*words)), reply, words)

    def test_errors(self):
        self.client.must("CBF.ADD", "f", "a", 1)
        for words, error in (
                (("CBF.ADD", "f", "a"), "wrong number of arguments"),
                (("CBF.ADD", "f", "a", 1, "b"), "wrong number of arguments"),
                (("CBF.REM", "f", "a"), "wrong number of arguments"),
                (("CBF.COUNT", "f"), "wrong number of arguments"),
                (("CBF.EXISTS", "f"), "wrong number of arguments"),
                (("CBF.INFO", "f", "x"), "wrong number of arguments"),
                (("CBF.RESERVE", "g", "0.01"), "wrong number of arguments"),
                (("CBF.SCANDUMP", "f"), "wrong number of arguments"),
                (("CBF.LOADCHUNK", "f", 1), "wrong number of arguments"),
                (("CBF.ADD", "f", "b", 2, "a", "x"), "ERR bad id"),
                (("CBF.ADD", "f", "b", -1), "ERR bad id"),
                (("CBF.ADD", "f", "b", 1 << 63), "ERR bad id"),
                (("CBF.REM", "f", "a", ""), "ERR bad id"),
                (("CBF.RESERVE", "g", "x", 100), "ERR bad error rate"),
                (("CBF.RESERVE", "g", "0", 100), "ERR error rate must be in the range"),
                (("CBF.RESERVE", "g", "1", 100), "ERR error rate must be in the range"),
                (("CBF.RESERVE", "g", "nan", 100), "ERR (bad )?error rate"),
                (("CBF.RESERVE", "g", "0.01", "x"), "ERR bad capacity"),
                (("CBF.RESERVE", "g", "0.01", 0), "ERR capacity must be in the range"),
                (("CBF.RESERVE", "g", "0.01", (1 << 30) + 1), "ERR capacity must be in the range"),
                (("CBF.RESERVE", "g", "0.01", 10, "EXPANSION", 0), "ERR expansion must be in the range"),
                (("CBF.RESERVE", "g", "0.01", 10, "EXPANSION", "x"), "ERR bad expansion"),
                (("CBF.RESERVE", "g", "0.01", 10, "EXPANSION"), "Unknown argument"),
                (("CBF.RESERVE", "g", "0.01", 10, "SEED", "12"), "ERR bad seed"),
                (("CBF.RESERVE", "g", "0.01", 10, "FOO", 1), "Unknown argument"),
                (("CBF.SCANDUMP", "f", "x"), "ERR the iterator"),
                (("CBF.SCANDUMP", "f", -1), "ERR the iterator"),
                (("CBF.LOADCHUNK", "g", 0, "x"), "ERR the iterator")):
            self.assertRegex(render(self.client.call(*words)), f"-.*{error}", words)
        self.assertEqual(self.client.must("EXISTS", "g"), 0)
        self.assertEqual(self.client.must("CBF.COUNT", "f", "a", "b"), [1, 0])  # a bad id stops the whole command

    @in_both_protocols
    def test_facts(self, client):
        client.must("CBF.RESERVE", "f", "0.01", 100, "EXPANSION", 4)
        client.must("CBF.ADD", "f", *pairs(ITEMS[:250]))
        info = client.must("CBF.INFO", "f")
        pairs_of_it = info if client.protocol == 3 else zip(info[::2], info[1::2])
        fields = {bytes(name).decode(): value for name, value in pairs_of_it}
        self.assertEqual(client.must("MEMORY", "USAGE", "f") > fields.pop("Size") > 0, True)
        self.assertEqual(float(fields.pop("Error rate")), 0.01)
        self.assertEqual(fields, {"Capacity": 500, "Number of filters": 2, "Number of items": 250, "Expansion rate": 4,
                                  "Greatest id": 249, "Overfull filters": 0, "Stuck counters": 0})

    def test_a_seed_makes_filters_that_are_alike(self):
        for key in ("f", "g"):
            self.client.must("CBF.RESERVE", key, "0.01", 50, "SEED", "0123456789abcdef" * 2)
        self.client.must("CBF.ADD", "f", *pairs(ITEMS))
        for number, item in enumerate(ITEMS):  # one by one is the same as all at once
            self.client.must("CBF.ADD", "g", item, number)
        self.assertEqual(*self.client.must("DEBUG", "DIGEST-VALUE", "f", "g"))
        self.client.must("CBF.REM", "f", *pairs(ITEMS[:100]))
        for number, item in enumerate(ITEMS[:100]):
            self.client.must("CBF.REM", "g", item, number)
        self.assertEqual(*self.client.must("DEBUG", "DIGEST-VALUE", "f", "g"))
        self.client.must("CBF.RESERVE", "h", "0.01", 50)
        self.client.must("CBF.ADD", "h", *pairs(ITEMS))
        self.assertNotEqual(*self.client.must("DEBUG", "DIGEST-VALUE", "f", "h"))

    def test_a_count_ends_at_15_and_its_item_stays(self):
        self.client.must("CBF.RESERVE", "f", "0.0001", 100)
        self.client.must("CBF.ADD", "f", *("a", 1) * 15)
        self.assertEqual(self.client.must("CBF.COUNT", "f", "a"), [15])
        self.assertEqual(self.client.must("CBF.REM", "f", *("a", 1) * 20), [-1] * 20)
        self.assertEqual(self.client.must("CBF.EXISTS", "f", "a"), [1])

    def test_an_item_that_two_filters_may_hold_stays(self):
        """The same item under one id, with a new sub-filter opened in between at that id."""
        self.client.must("CBF.RESERVE", "f", "0.0001", 10, "EXPANSION", 1, "SEED", "0123456789abcdef" * 2)
        self.client.must("CBF.ADD", "f", "a", 7)
        self.client.must("CBF.ADD", "f", *(word for item in ITEMS[:9] for word in (item, 7)))
        self.client.must("CBF.ADD", "f", "a", 7)
        self.assertEqual(self.client.must("CBF.REM", "f", "a", 7, "item1", 7), [-1, 1])
        self.assertEqual(self.client.must("CBF.COUNT", "f", "a", "item1"), [2, 0])

    def test_defaults_are_configuration(self):
        for name, value, bad in (("cbf-error-rate", "0.25", "1"), ("cbf-initial-size", "77", "0"),
                                 ("cbf-expansion-factor", "5", "32769")):
            name = f"bf.{name}"
            before = bytes(self.client.must("CONFIG", "GET", name)[1]).decode()
            self.addCleanup(self.client.config, name, before)
            self.client.config(name, value)
            self.assertEqual(self.client.must("CONFIG", "GET", name), [name.encode(), value.encode()])
            self.assertIsInstance(self.client.call("CONFIG", "SET", name, bad), Error)
        self.client.must("CBF.ADD", "f", "a", 1)
        info = self.client.must("CBF.INFO", "f")
        fields = dict(zip(map(bytes, info[::2]), info[1::2]))
        self.assertEqual((fields[b"Capacity"], fields[b"Expansion rate"], bytes(fields[b"Error rate"])),
                         (77, 5, b"0.25"))


@needs_module
class ModelTest(OneServerTest):
    """Random commands against an exact multiset of items and ids. The seeds are fixed, so that every run is the same."""

    def check(self, present):
        items = sorted({item for item, _ in present})
        if not items:
            return
        counts = self.client.must("CBF.COUNT", "f", *items)
        truth = {}
        for item, _ in present:
            truth[item] = truth.get(item, 0) + 1
        for item, count in zip(items, counts):
            self.assertGreaterEqual(count, min(truth[item], 15), item)
        self.assertEqual(self.client.must("CBF.EXISTS", "f", *items), [1] * len(items))

    def run_commands(self, dice, ids):
        self.client.must("DEL", "f")
        self.client.must("CBF.RESERVE", "f", "0.000001", dice.choice((5, 40, 1000)), "EXPANSION", dice.choice((1, 2, 4)),
                         "SEED", f"{dice.getrandbits(128):032x}")
        present, stays, removed = [], 0, 0
        for step in range(120):
            batch = [(f"{dice.randrange(400)}", ids(dice, step)) for _ in range(dice.choice((1, 1, 5, 60)))]
            if dice.random() < 0.6 or not present:
                replies = self.client.must("CBF.ADD", "f", *(word for pair in batch for word in pair))
                self.assertEqual(len(replies), len(batch))
                present += batch
                continue
            gone = dice.sample(present, min(len(present), len(batch)))
            strangers = [(f"stranger{dice.randrange(10**6)}", number) for _, number in batch[:5]]
            for pair, reply in zip([*gone, *strangers], self.client.must(
                    "CBF.REM", "f", *(word for pair in [*gone, *strangers] for word in pair))):
                if pair in strangers:
                    self.assertEqual(reply, 0, pair)
                elif reply == 1:
                    present.remove(pair)
                    removed += 1
                else:
                    self.assertEqual(reply, -1, pair)
                    stays += 1
            if step % 10 == 0:
                self.check(present)
        self.check(present)
        fields = dict(zip(*[iter(self.client.must("CBF.INFO", "f"))] * 2))
        self.assertEqual(fields[b"Number of items"], len(present))
        return removed, stays

    def test_rising_ids(self):
        for number in range(2 * ROUNDS):
            dice = random.Random(SEED * 1000 + number)
            removed, stays = self.run_commands(dice, lambda dice, step: step)
            self.assertGreater(removed, 5 * stays)

    def test_ids_in_any_order(self):
        for number in range(2 * ROUNDS):
            dice = random.Random(SEED * 2000 + number)
            self.run_commands(dice, lambda dice, _: dice.choice((0, 7, MOST_ID, dice.getrandbits(63))))

    def test_a_large_command(self):
        self.client.must("CBF.RESERVE", "f", "0.01", 200, "SEED", "5" * 32)
        items = [f"item{number}" for number in range(20_000)]  # more than the module hashes in one go
        added = self.client.must("CBF.ADD", "f", *pairs(items))
        self.assertGreater(sum(added), 19_800)  # the others seemed to be in
        self.assertEqual(self.client.must("CBF.EXISTS", "f", *items), [1] * len(items))
        strangers = self.client.must("CBF.EXISTS", "f", *(f"stranger{number}" for number in range(10_000)))
        self.assertLess(sum(strangers), 150)  # 1 % of them
        self.assertEqual({*self.client.must("CBF.REM", "f", *pairs(items))}, {1}, "an id is in one sub-filter here")
        self.assertEqual(sum(self.client.must("CBF.EXISTS", "f", *items)), 0)


@needs_module
class PersistenceTest(PersistenceMatrix, RedisTest):
    family = Counting()

    def test_of_many_removals_those_that_were_done_are_appended(self):
        client = self.start(appendonly="yes", appendfsync="always").client()
        client.must("CBF.RESERVE", "f", "0.000001", 1000)
        client.must("CBF.ADD", "f", "a", 1, "b", 2)
        before = int(client.info("persistence")["aof_current_size"])
        client.must("CBF.REM", "f", *pairs(ITEMS), "a", 1, *pairs(ITEMS), "b", 2)
        self.assertLess(int(client.info("persistence")["aof_current_size"]) - before, 200)

    def test_removals_are_replicated_and_appended(self):
        primary = self.start(tcp=True, appendonly="yes", appendfsync="always")
        replica = self.start(tcp=True)
        replica.replicate(primary)
        client = primary.client()
        dice = random.Random(SEED)
        present = []
        client.must("CBF.RESERVE", "f", "0.05", 20)
        for step in range(60 * ROUNDS):
            batch = [(f"{dice.randrange(99)}", step) for _ in range(dice.randrange(1, 9))]
            client.must("CBF.ADD", "f", *(word for pair in batch for word in pair))
            present += batch
            gone = [present.pop(dice.randrange(len(present))) for _ in range(3) if present]
            client.must("CBF.REM", "f", "nobody", step, *(word for pair in gone for word in pair))
        replica.wait_for_primary(primary)
        digest = client.must("DEBUG", "DIGEST-VALUE", "f")
        self.assertEqual(replica.client().must("DEBUG", "DIGEST-VALUE", "f"), digest)
        primary.restart(kill=True)
        self.assertEqual(primary.client().must("DEBUG", "DIGEST-VALUE", "f"), digest)


@needs_module
class KeyTest(KeyMatrix, OneServerTest):
    family = Counting()


@needs_module
class ForgeryTest(ForgeryMatrix, OneServerTest):
    family = Counting()


if __name__ == "__main__":
    main()
