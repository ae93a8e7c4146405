"""CF.*: cuckoo filters with RedisBloom's contract, times to live, an exact model, and what every family must stand.

Usage: cuckoo_test.py MODULE [unittest arguments...]
"""
import random
import time

from client import Error, render
from families import Family, ForgeryMatrix, KeyMatrix, PersistenceMatrix
from harness import OneServerTest, ROUNDS, RedisTest, SEED, in_both_protocols, main, needs_module, saved

ITEMS = [f"item{number}" for number in range(300)]
DAY = 86400


class Cuckoo(Family):
    prefix = "CF"
    category = "cuckoo"
    refused = r"\A(ERR |Invalid header|Invalid position)"
    is_of_one_moment = True
    keys = ("default", "grown", "fixed", "emptied", "expiring")
    reads = (("CF.EXISTS", "a"), ("CF.MEXISTS", "a", "item1"), ("CF.COUNT", "item1"), ("CF.INFO",), ("CF.DEBUG",), ("CF.TTL", "a"))
    writes = (("CF.RESERVE", 100), ("CF.ADD", "a"), ("CF.ADDNX", "a"), ("CF.INSERT", "ITEMS", "a"),
              ("CF.INSERTNX", "ITEMS", "a"), ("CF.DEL", "a"), ("CF.MDEL", "a", "b"), ("CF.COMPACT",),
              ("CF.ADVANCE", 1), ("CF.LOADCHUNK", 1, "x"), ("CF.SCANDUMP", 0))
    # RedisBloom's contract: what only asks is told that there is nothing.
    of_another_type = {"CF.EXISTS": r"\A:0\Z", "CF.COUNT": r"\A:0\Z", "CF.MEXISTS": r"\A\*\[:0 :0\]\Z", "CF.TTL": r"\A:-2\Z",
                       "CF.DEL": "-Not found", "CF.MDEL": "-Not found", "CF.COMPACT": "-Cuckoo filter was not found"}
    events = ((("CF.RESERVE", "f", 100), ["cf.reserve"]), (("CF.ADD", "f", "a"), ["cf.add"]),
              (("CF.ADDNX", "f", "a"), []), (("CF.ADDNX", "f", "b"), ["cf.addnx"]),
              (("CF.INSERT", "f", "ITEMS", "a", "c"), ["cf.insert"]), (("CF.DEL", "f", "a"), ["cf.del"]),
              (("CF.DEL", "f", "nobody"), []), (("CF.COUNT", "f", "a"), []), (("CF.COMPACT", "f"), ["cf.compact"]),
              (("DEL", "f"), ["del"]), (("CF.ADD", "f", "a"), ["cf.reserve", "cf.add"]))

    def fill(self, client):
        client.must("CF.INSERT", "default", "ITEMS", *ITEMS[:60])
        client.must("CF.RESERVE", "grown", 20, "EXPANSION", 2)
        client.must("CF.INSERT", "grown", "ITEMS", *ITEMS)
        client.must("CF.MDEL", "grown", *ITEMS[:30])
        client.must("CF.RESERVE", "fixed", 500, "EXPANSION", 0, "ERROR", "0.001")
        client.must("CF.INSERT", "fixed", "ITEMS", *ITEMS[:200], *ITEMS[:50])
        client.must("CF.RESERVE", "emptied", 100)
        client.must("CF.INSERT", "emptied", "ITEMS", *ITEMS[:50])
        client.must("CF.MDEL", "emptied", *ITEMS[:50])
        client.must("CF.RESERVE", "expiring", 100, "TTL", 30 * DAY)
        client.must("CF.INSERT", "expiring", "EX", 20 * DAY, "ITEMS", *ITEMS[:60])
        client.must("CF.INSERT", "expiring", "ITEMS", *ITEMS[50:90])

    def ask(self, client, key):
        asked = (*ITEMS, *(f"stranger{number}" for number in range(300)))
        return client.pipeline([("CF.MEXISTS", key, *asked), *(("CF.COUNT", key, item) for item in asked[:100]),
                                ("CF.INFO", key), ("CF.DEBUG", key)])

    def add(self, client, key, words):
        return client.must("CF.INSERT", key, "ITEMS", *words)

    def change_nothing(self, client, key):
        client.must("CF.ADDNX", "default", "item1")
        client.call("CF.RESERVE", key, 10)
        client.call("CF.ADD", key, "a", "EX", 0)
        client.call("CF.LOADCHUNK", key, 1, "x")

    def reserve_large(self, client, key):
        return client.call("CF.RESERVE", key, 19_000_000)

    def reserve_steep(self, client, key):
        client.must("CF.RESERVE", key, 100, "EXPANSION", 32768)


def fields_of(reply):
    return {bytes(name).decode(): value for name, value in zip(reply[::2], reply[1::2])}


@needs_module
class ContractTest(OneServerTest):
    @in_both_protocols
    def test_replies(self, client):
        yes, no = ("#t", "#f") if client.protocol == 3 else (":1", ":0")
        for words, reply in (
                (("CF.EXISTS", "f", "a"), no),
                (("CF.MEXISTS", "f", "a", "b"), f"*[{no} {no}]"),
                (("CF.COUNT", "f", "a"), ":0"),
                (("CF.DEL", "f", "a"), "-Not found"),
                (("CF.COMPACT", "f"), "-Cuckoo filter was not found"),
                (("CF.INFO", "f"), "-ERR not found"),
                (("CF.DEBUG", "f"), "-ERR not found"),
                (("CF.SCANDUMP", "f", 0), "-ERR not found"),
                (("CF.INSERT", "f", "NOCREATE", "ITEMS", "a"), "-ERR not found"),
                (("CF.TTL", "f", "a"), ":-2"),
                (("EXISTS", "f"), ":0"),
                (("CF.RESERVE", "f", 1000, "BUCKETSIZE", 4), "+OK"),
                (("CF.RESERVE", "f", 1000), "-ERR item exists"),
                (("CF.ADD", "f", "a"), yes),
                (("cf.add", "f", "a"), yes),
                (("CF.ADDNX", "f", "a"), no),
                (("CF.ADDNX", "f", "b"), yes),
                (("CF.COUNT", "f", "a"), ":2"),
                (("CF.EXISTS", "f", "a"), yes),
                (("CF.MEXISTS", "f", "a", "c"), f"*[{yes} {no}]"),
                (("CF.TTL", "f", "a"), ":-1"),
                (("CF.INSERT", "f", "ITEMS", "a", "c"), f"*[{yes} {yes}]"),
                (("CF.INSERT", "f", "CAPACITY", 5000, "ITEMS", "c"), f"*[{yes}]"),
                (("CF.INSERTNX", "f", "ITEMS", "a", "d"), "*[:0 :1]"),
                (("CF.DEL", "f", "a"), yes),
                (("CF.DEL", "f", "a"), yes),
                (("CF.DEL", "f", "a"), yes),
                (("CF.DEL", "f", "a"), no),
                (("CF.MDEL", "f", "c", "c", "c"), f"*[{yes} {yes} {no}]"),
                (("CF.COMPACT", "f"), "+OK"),
                (("TYPE", "f"), "+mankai-cf")):
            self.assertEqual(render(client.call(*words)), reply, words)

    def test_errors(self):
        self.client.must("CF.ADD", "f", "a")
        for words, error in (
                (("CF.ADD", "f"), "wrong number of arguments"),
                (("CF.ADD", "f", "a", "EX"), "wrong number of arguments"),
                (("CF.EXISTS", "f", "a", "b"), "wrong number of arguments"),
                (("CF.INSERT", "f", "ITEMS"), "wrong number of arguments"),
                (("CF.RESERVE", "g"), "wrong number of arguments"),
                (("CF.RESERVE", "g", "x"), "Bad capacity"),
                (("CF.RESERVE", "g", 3), r"Capacity must be in the range \[2 \* BUCKETSIZE, 1073741824\]"),
                (("CF.RESERVE", "g", (1 << 30) + 1), "Capacity must be in the range"),
                (("CF.RESERVE", "g", 100, "BUCKETSIZE"), "Unknown argument"),
                (("CF.RESERVE", "g", 100, "BUCKETSIZE", "x"), "Couldn't parse BUCKETSIZE"),
                (("CF.RESERVE", "g", 100, "BUCKETSIZE", 256), r"BUCKETSIZE: value must be in the range \[1, 255\]"),
                (("CF.RESERVE", "g", 100, "MAXITERATIONS", 0), r"MAXITERATIONS: value must be in the range \[1, 65535\]"),
                (("CF.RESERVE", "g", 100, "EXPANSION", 32769), r"EXPANSION: value must be in the range \[0, 32768\]"),
                (("CF.RESERVE", "g", 100, "ERROR", "1"), "ERR error rate"),
                (("CF.RESERVE", "g", 100, "TTL", 0), "ERR TTL must be"),
                (("CF.RESERVE", "g", 100, "TTL", -1), "ERR TTL must be"),
                (("CF.RESERVE", "g", 100, "TTL", "nan"), "ERR TTL must be"),
                (("CF.RESERVE", "g", 100, "TTL", 100, "RESOLUTION", 1), "thirteenth"),
                (("CF.RESERVE", "g", 100, "RESOLUTION", 1), "without a time to live"),
                (("CF.RESERVE", "g", 100, "FOO", 1), "Unknown argument"),
                (("CF.INSERT", "g", "CAPACITY", "x", "ITEMS", "a"), "Bad capacity"),
                (("CF.INSERT", "g", "FOO", "ITEMS", "a"), "Unknown argument"),
                (("CF.ADD", "f", "a", "FOO", 1), "Unknown argument"),
                (("CF.ADD", "f", "a", "EX", 3, "b"), "wrong number of arguments"),
                (("CF.ADD", "f", "a", "EX", 3, "b", "c"), "wrong number of arguments"),
                (("CF.ADD", "f", "a", "EX", 3, "PX", 4), "ERR syntax error: give one of EX, PX, EXAT and PXAT"),
                (("CF.ADDNX", "f", "a", "EX", 3, "PX", 4), "ERR syntax error: give one of EX, PX, EXAT and PXAT"),
                (("CF.INSERT", "g", "EX", 3, "PX", 4, "ITEMS", "a"), "ERR syntax error: give one of EX, PX, EXAT and PXAT"),
                (("CF.INSERTNX", "g", "EX", 3, "EX", 3, "ITEMS", "a"), "ERR syntax error: give one of EX, PX, EXAT and PXAT"),
                (("CF.ADD", "f", "a", "EX", 100), "do not expire"),
                (("CF.ADD", "f", "a", "EX", 0), "time to live"),
                (("CF.ADD", "f", "a", "PX", -5), "time to live"),
                (("CF.ADD", "f", "a", "EX", "nan"), "time to live"),
                (("CF.ADVANCE", "f", 1), "do not expire"),
                (("CF.SCANDUMP", "f", "x"), "Invalid position")):
            self.assertRegex(render(self.client.call(*words)), f"-.*{error}", words)
        self.assertEqual(self.client.must("EXISTS", "g"), 0)

    @in_both_protocols
    def test_facts(self, client):
        client.must("CF.RESERVE", "f", 100, "EXPANSION", 3, "MAXITERATIONS", 7, "BUCKETSIZE", 5)
        client.must("CF.INSERT", "f", "ITEMS", *ITEMS[:250])
        client.must("CF.MDEL", "f", *ITEMS[:20])
        reply = client.must("CF.INFO", "f")
        fields = {bytes(name).decode(): value for name, value in (reply if client.protocol == 3 else zip(reply[::2], reply[1::2]))}
        self.assertGreater(client.must("MEMORY", "USAGE", "f"), fields.pop("Size"))
        self.assertGreater(fields.pop("Number of buckets"), 60)
        self.assertEqual(fields, {"Number of filters": 1, "Number of items inserted": 230, "Number of items deleted": 20,
                                  "Bucket size": 5, "Expansion rate": 4, "Max iterations": 7})
        self.assertRegex(bytes(client.must("CF.DEBUG", "f")).decode(),
                         r"\Abktsize:5 buckets:\d+ items:230 deletes:20 filters:1 max_iterations:7 expansion:4\Z")

    def test_a_fixed_filter_is_full_in_the_end(self):
        self.client.must("CF.RESERVE", "f", 100, "EXPANSION", 0)
        replies = self.client.must("CF.INSERT", "f", "ITEMS", *ITEMS)
        self.assertEqual({*replies[:100]}, {1})
        self.assertIn(-1, replies)
        refused = ITEMS[replies.index(-1)]
        self.assertEqual(self.client.call("CF.ADD", "f", refused), "Filter is full")
        self.assertEqual(self.client.must("CF.MEXISTS", "f", *(item for item, reply in zip(ITEMS, replies) if reply == 1)),
                         [1] * replies.count(1))

    def test_expansions_have_a_limit(self):
        self.client.config("bf.cf-max-expansions", 2)
        self.addCleanup(self.client.config, "bf.cf-max-expansions", 32)
        self.client.must("CF.RESERVE", "f", 10, "EXPANSION", 1)
        self.client.must("CF.INSERT", "f", "ITEMS", *ITEMS[:40])
        self.assertEqual(self.client.call("CF.ADD", "f", "another"), "Maximum expansions reached")

    def test_a_seed_makes_filters_that_are_alike(self):
        for key in ("f", "g"):
            self.client.must("CF.RESERVE", key, 50, "EXPANSION", 2, "SEED", "0123456789abcdef" * 2)
        self.client.must("CF.INSERT", "f", "ITEMS", *ITEMS)
        for item in ITEMS:  # one by one is the same as all at once
            self.client.must("CF.ADD", "g", item)
        self.assertEqual(*self.client.must("DEBUG", "DIGEST-VALUE", "f", "g"))

    def test_compaction_drops_filters(self):
        self.client.must("CF.RESERVE", "f", 50, "EXPANSION", 1)
        self.client.must("CF.INSERT", "f", "ITEMS", *ITEMS)
        before = fields_of(self.client.must("CF.INFO", "f"))
        self.client.must("CF.MDEL", "f", *ITEMS[40:])
        self.client.must("CF.COMPACT", "f")
        after = fields_of(self.client.must("CF.INFO", "f"))
        self.assertLess(after["Number of filters"], before["Number of filters"])
        self.assertLess(after["Size"], before["Size"])
        self.assertEqual(self.client.must("CF.MEXISTS", "f", *ITEMS[:40]), [1] * 40)


@needs_module
class ExpiryTest(OneServerTest):
    def test_what_expires_leaves_room_at_the_limit_of_expansions(self):
        self.client.config("bf.cf-max-expansions", 2)
        self.addCleanup(self.client.config, "bf.cf-max-expansions", 32)
        for room in (10, 1000):
            self.client.must("CF.RESERVE", "f", room, "TTL", 1000, "SEED", "0123456789abcdef" * 2)
            # The limit is checked once per command.
            replies = self.client.pipeline([("CF.ADD", "f", f"item{number}") for number in range(3 * room)])
            self.assertEqual(replies[-1], "Maximum expansions reached")
            self.client.must("CF.ADVANCE", "f", int(time.time() + 2000) * 1000)
            self.assertEqual(self.client.must("CF.ADD", "f", "another"), 1)
            self.assertEqual(self.client.must("CF.EXISTS", "f", "another"), 1)
            self.client.must("DEL", "f")

    def test_items_live_for_their_time(self):
        # Generations of half a second.
        self.client.must("CF.RESERVE", "f", 1000, "TTL", 6.5, "ERROR", "0.0001", "SEED", "0123456789abcdef" * 2)
        start = time.monotonic()
        self.client.must("CF.INSERT", "f", "PX", 1500, "ITEMS", *ITEMS[:50])
        self.client.must("CF.INSERT", "f", "ITEMS", *ITEMS[50:100])
        found = self.client.must("CF.MEXISTS", "f", *ITEMS[:100])
        short, long = (self.client.must("CF.TTL", "f", item) for item in (ITEMS[0], ITEMS[60]))
        if time.monotonic() - start < 0.5:  # a slow machine may ask when they have expired
            self.assertEqual(found, [1] * 100)
            self.assertIn(short, (1, 2))
            self.assertIn(long, (6, 7))
        self.assertEqual(self.client.must("CF.TTL", "f", "stranger"), -2)
        while any(found := self.client.must("CF.MEXISTS", "f", *ITEMS[:50])):
            # It may be asked just before its time; a slow machine makes it later, never earlier.
            self.assertLess(time.monotonic() - start, 60)
            time.sleep(0.05)
        self.assertGreater(time.monotonic() - start, 1.4)
        if time.monotonic() - start < 6:
            self.assertEqual(self.client.must("CF.MEXISTS", "f", *ITEMS[50:100]), [1] * 50)

    def test_times_are_absolute_or_relative_and_the_later_wins(self):
        now = int(time.time())
        self.client.must("CF.RESERVE", "f", 1000, "TTL", 13 * DAY)
        self.client.must("CF.ADD", "f", "a", "EX", 3 * DAY)
        self.client.must("CF.ADD", "f", "b", "EXAT", now + 5 * DAY)
        self.client.must("CF.ADD", "f", "c", "PXAT", (now + 7 * DAY) * 1000)
        self.client.must("CF.ADD", "f", "c", "PX", DAY * 1000)
        for item, days in (("a", 3), ("b", 5), ("c", 7)):
            left = self.client.must("CF.TTL", "f", item)
            self.assertGreaterEqual(left, days * DAY - 60, item)
            self.assertLessEqual(left, (days + 1) * DAY, item)
        for words in (("EX", 15 * DAY), ("EXAT", now - 100), ("EX", 0)):
            self.assertIsInstance(self.client.call("CF.ADD", "f", "d", *words), Error, words)
        self.assertEqual(self.client.must("CF.EXISTS", "f", "d"), 0)
        self.assertEqual(self.client.must("CF.DEL", "f", "a"), 1)
        self.assertEqual(self.client.must("CF.EXISTS", "f", "a"), 0)


@needs_module
class ModelTest(OneServerTest):
    """Random commands against an exact multiset. A rate this high makes keys collide all the time."""

    def test_members_are_never_lost(self):
        for number in range(2 * ROUNDS):
            dice = random.Random(SEED * 1000 + number)
            self.client.must("DEL", "f")
            self.client.must("CF.RESERVE", "f", 30, "ERROR", "0.3", "EXPANSION", dice.choice((1, 2, 4)), "SEED",
                             f"{dice.getrandbits(128):032x}")
            members = []
            for step in range(60):
                batch = [f"{dice.randrange(500)}" for _ in range(dice.choice((1, 5, 40)))]
                if dice.random() < 0.6 or not members:
                    self.client.must("CF.INSERT", "f", "ITEMS", *batch)
                    members += batch
                elif dice.random() < 0.1:
                    self.client.must("CF.COMPACT", "f")
                else:
                    gone = dice.sample(members, min(len(members), len(batch)))
                    self.assertEqual(self.client.must("CF.MDEL", "f", *gone), [1] * len(gone))
                    for item in gone:
                        members.remove(item)
                if members:
                    asked = sorted({*members})
                    self.assertEqual(self.client.must("CF.MEXISTS", "f", *asked), [1] * len(asked), f"step {step}")
                    for item in asked[:10]:
                        self.assertGreaterEqual(self.client.must("CF.COUNT", "f", item), min(members.count(item), 8))


@needs_module
class PersistenceTest(PersistenceMatrix, RedisTest):
    family = Cuckoo()

    def test_replicas_have_the_primarys_time(self):
        primary, replica = self.start(tcp=True), self.start(tcp=True)
        replica.replicate(primary)
        client = primary.client()
        client.must("CF.RESERVE", "f", 1000, "TTL", 13)
        for round_ in range(3):
            client.must("CF.INSERT", "f", "PX", 2000 + round_ * 3000, "ITEMS", *ITEMS[round_ * 50:round_ * 50 + 50])
            client.must("CF.DEL", "f", ITEMS[round_ * 50])
            time.sleep(1.1)
        replica.wait_for_primary(primary)
        there = replica.client()
        self.assertEqual(*(each.must("DEBUG", "DIGEST-VALUE", "f") for each in (client, there)))
        replica_says = there.must("CF.MEXISTS", "f", *ITEMS[:150])
        for asked, told in zip(client.must("CF.MEXISTS", "f", *ITEMS[:150]), replica_says):
            self.assertGreaterEqual(told, asked, "a replica lets nothing expire by itself")


    def test_a_growth_without_memory_changes_nothing(self):
        primary, replica = self.start(tcp=True), self.start(tcp=True)
        replica.replicate(primary)
        client = primary.client()
        client.config("bf.filter-memory-limit", 10_000)
        client.must("CF.RESERVE", "f", 1000, "EXPANSION", 2, "TTL", 500, "SEED", "0123456789abcdef" * 2)
        for batch in range(3):
            replies = client.must("CF.INSERT", "f", "ITEMS", *(f"{batch}:{i}" for i in range(3000)))
        self.assertNotIn(1, replies)
        replica.wait_for_primary(primary)
        self.assertEqual(*(each.must("DEBUG", "DIGEST-VALUE", "f") for each in (client, replica.client())))

    def test_a_primary_that_refused_items_takes_what_its_successor_takes(self):
        """A full filter searches fewer buckets for room. One on a replica has not refused anything; as a primary it searches more."""
        old, new = self.start(tcp=True, repl_backlog_size="16mb"), self.start(tcp=True, repl_backlog_size="16mb")
        new.replicate(old)
        cuckoo, expiring = [f"cf{number}" for number in range(4)], [f"bf{number}" for number in range(6)]
        items = [f"item{i}" for i in range(5400)]
        for number, key in enumerate(cuckoo):
            old.client().must("CF.RESERVE", key, 5000, "EXPANSION", 0, "SEED", f"{number:032x}")
            self.assertIn(-1, old.client().must("CF.INSERT", key, "ITEMS", *items[:5300]))
        for number, key in enumerate(expiring):
            old.client().must("BF.RESERVE", key, "0.01", 5000, "NONSCALING", "SEED", f"{number:032x}", "TTL", 100_000)
            self.assertIsInstance(old.client().must("BF.MADD", key, *items)[-1], Error)
        new.wait_for_primary(old)
        new.client().must("REPLICAOF", "NO", "ONE")
        old.replicate(new)
        more = [f"more{i}" for i in range(3000)]
        for key in cuckoo:
            self.assertIn(1, new.client().must("CF.INSERT", key, "ITEMS", *more))
        for key in expiring:
            new.client().pipeline([("BF.ADD", key, item) for item in more])
        old.wait_for_primary(new)
        self.assertEqual(new.client().info("stats")["sync_full"], "0")
        self.assertEqual(*(each.client().must("DEBUG", "DIGEST-VALUE", *cuckoo, *expiring) for each in (old, new)))


@needs_module
class KeyTest(KeyMatrix, OneServerTest):
    family = Cuckoo()


def in_their_layout(method):
    def run(self, client, *words):
        client.config("bf.layout", "redisbloom")
        try:
            return method(self, client, *words)
        finally:
            client.config("bf.layout", "mankai")

    return run


class Chain(Cuckoo):
    """Filters in RedisBloom's layout."""

    keys = ("default", "grown", "fixed", "emptied")
    has_checksums = False
    is_of_one_moment = False

    @in_their_layout
    def fill(self, client):
        client.must("CF.INSERT", "default", "ITEMS", *ITEMS[:60])
        client.must("CF.RESERVE", "grown", 20, "EXPANSION", 2, "BUCKETSIZE", 4, "MAXITERATIONS", 9)
        client.must("CF.INSERT", "grown", "ITEMS", *ITEMS)
        client.must("CF.MDEL", "grown", *ITEMS[:30], "absent")
        client.must("CF.RESERVE", "fixed", 200, "EXPANSION", 0)
        client.must("CF.INSERT", "fixed", "ITEMS", *ITEMS, *ITEMS[:50])
        client.must("CF.INSERTNX", "emptied", "CAPACITY", 50, "ITEMS", *ITEMS)
        client.must("CF.MDEL", "emptied", *ITEMS)
        client.must("CF.COMPACT", "emptied")

    @in_their_layout
    def reserve_large(self, client, key):
        return super().reserve_large(client, key)

    @in_their_layout
    def reserve_steep(self, client, key):
        super().reserve_steep(client, key)


@needs_module
class TakeoverTest(RedisTest):
    """Filters in RedisBloom's layout (takeover_test.py has its answers)."""

    def test_replicas_and_files_have_the_same_bytes(self):
        primary, replica = self.start(tcp=True, appendonly="yes", aof_use_rdb_preamble="no"), self.start(tcp=True)
        replica.replicate(primary)
        client, family = primary.client(), Chain()
        family.fill(client)
        self.assertEqual({client.must("TYPE", key) for key in family.keys}, {b"MBbloomCF"})
        digests = client.must("DEBUG", "DIGEST-VALUE", *family.keys)
        replica.wait_for_primary(primary)
        self.assertEqual(replica.client().must("DEBUG", "DIGEST-VALUE", *family.keys), digests)
        for way in (("DEBUG", "LOADAOF"), ("DEBUG", "RELOAD"), ("BGREWRITEAOF",), ("DEBUG", "LOADAOF")):
            saved(client, *way) if way == ("BGREWRITEAOF",) else client.must(*way)
            self.assertEqual(client.must("DEBUG", "DIGEST-VALUE", *family.keys), digests, way)

    def test_a_primary_of_redisbloom_is_obeyed(self):
        """In the spelling of its clients, and beyond the limits of ours."""
        server = self.start(appendonly="yes", aof_use_rdb_preamble="no")
        server.stop()
        log = b"".join(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words) for words in (
            line.encode().split() for line in (
                "CF.RESERVE a 64 JUNK 1 expansion 0 EXPANSION 4 BUCKETSIZE 4", "CF.RESERVE EXPANSION 4 MAXITERATIONS 7",
                "CF.INSERT b cap 3 I x y", "CF.INSERTNX b nix c 9 items x z", "CF.INSERT mx CAPACITY 2 ITEMS a b c d e f g h i j k l m",
                "CF.ADD mx n", "CF.RESERVE full 4 EXPANSION 0", "CF.INSERT full ITEMS 1 2 3 4 5 6 7", "CF.ADD full 8",
                "CF.DEL b y", "CF.DEL b absent", "CF.COMPACT mx")))
        (path,) = server.folder.glob("appendonlydir/*.incr.aof")
        path.write_bytes(log)
        server.start()
        self.assertNotIn("== CRITICAL ==", server.log(10**6))
        client = server.client()
        for key, text in (("a", "bktsize:4 buckets:16 items:0 deletes:0 filters:1 max_iterations:20 expansion:0"),
                          ("EXPANSION", "bktsize:2 buckets:2 items:0 deletes:0 filters:1 max_iterations:7 expansion:4"),
                          ("b", "bktsize:2 buckets:1 items:2 deletes:0 filters:1 max_iterations:20 expansion:1"),
                          ("full", "bktsize:2 buckets:2 items:4 deletes:0 filters:1 max_iterations:20 expansion:0")):
            self.assertEqual(bytes(client.must("CF.DEBUG", key)).decode(), text)
        self.assertEqual(client.must("CF.MEXISTS", "mx", *"abcdefghijklmn"), [1] * 14)


@needs_module
class ChainTest(OneServerTest):
    def setUp(self):
        super().setUp()
        self.client.config("bf.layout", "redisbloom")
        self.addCleanup(self.client.config, "bf.layout", "mankai")

    def test_replies(self):
        for words, reply in (
                (("CF.RESERVE", "f", 100, "BUCKETSIZE", 4), "+OK"),
                (("CF.SCANDUMP", "f", 0), "*[:0 $-1]"),
                (("CF.ADD", "f", "a", "EX", 10), "-ERR items of this filter do not expire: reserve it with TTL"),
                (("CF.ADD", "new", "a", "PX", 10), "-ERR items of this filter do not expire: reserve it with TTL"),
                (("CF.ADVANCE", "f", 1), "-ERR items of this filter do not expire: reserve it with TTL"),
                (("CF.ADD", "f", "a"), ":1"),
                (("CF.ADDNX", "f", "a"), ":0"),
                (("CF.INSERT", "f", "ITEMS", "a", "b"), "*[:1 :1]"),
                (("CF.INSERTNX", "f", "ITEMS", "a", "c"), "*[:0 :1]"),
                (("CF.COUNT", "f", "a"), ":2"),
                (("CF.TTL", "f", "a"), ":-1"),
                (("CF.TTL", "f", "absent"), ":-2"),
                (("CF.MDEL", "f", "a", "a", "a"), "*[:1 :1 :0]"),
                (("CF.INSERT", "g", "NOCREATE", "ITEMS", "a"), "-ERR not found"),
                (("CF.RESERVE", "f", 100), "-ERR item exists"),
                (("CF.RESERVE", "own", 100, "TTL", 100), "+OK"),
                (("TYPE", "own"), "+mankai-cf"),
                (("TYPE", "f"), "+MBbloomCF"),
                (("EXISTS", "g", "new"), ":0")):
            self.assertEqual(render(self.client.call(*words)), reply, words)

    def test_errors_of_chunks(self):
        self.client.must("CF.INSERT", "f", "CAPACITY", 16, "ITEMS", "a")
        (_, header), (end, cells) = Chain().chunks(self.client, "f")
        for words, reply in (
                (("g", "x", cells), "Invalid position"), (("g", 0, cells), "Invalid position"),
                (("g", 1, cells), "Invalid header"), (("g", 1, header[:32]), "Invalid header"),
                (("g", 1, bytes(9) + header[9:]), "Couldn't create filter!"),
                (("g", end, cells), "ERR not found"), (("f", 1, header), "ERR item exists"),
                (("f", end + 1, cells), "Couldn't load chunk!"), (("f", end - 1, cells), "Couldn't load chunk!"),
                (("f", -1, cells), "Couldn't load chunk!"), (("f", 2, b""), "Couldn't load chunk!")):
            self.assertEqual(self.client.call("CF.LOADCHUNK", *words), reply, words)
        self.assertEqual(render(self.client.call("CF.SCANDUMP", "f", end)), "*[:0 $-1]")
        for name, chunk in (("LOADCHUNK", (1, header)), ("LOADCHUNK", (end - 8, cells[:-8])), ("LOADCHUNK", (end, cells[-8:]))):
            self.client.must(f"CF.{name}", "g", *chunk)
        self.assertEqual(*self.client.must("DEBUG", "DIGEST-VALUE", "f", "g"))
        self.client.config("bf.filter-memory-limit", 64)
        self.addCleanup(self.client.config, "bf.filter-memory-limit", 0)
        self.assertRegex(self.client.call("CF.LOADCHUNK", "h", 1, header), "filter-memory-limit")

    def test_a_limit_that_a_filter_just_meets_lets_it_be_loaded(self):
        cells = 1 << 16
        self.client.must("CF.INSERT", "f", "CAPACITY", cells, "ITEMS", "a")
        header = self.client.must("CF.SCANDUMP", "f", 0)[1]
        self.addCleanup(self.client.config, "bf.filter-memory-limit", 0)
        for limit in range(cells, cells + 1024, 8):
            self.client.config("bf.filter-memory-limit", limit)
            if self.client.call("CF.RESERVE", "g", cells) == b"OK":
                break
            self.assertRegex(self.client.call("CF.LOADCHUNK", "h", 1, header), "filter-memory-limit")
        self.client.must("CF.LOADCHUNK", "h", 1, header)

    def test_expansions_have_a_limit(self):
        self.client.config("bf.cf-max-expansions", 1)
        self.addCleanup(self.client.config, "bf.cf-max-expansions", 32)
        self.assertEqual(self.client.call("CF.ADD", "f", "a"), "Maximum expansions reached")
        self.assertEqual(self.client.must("CF.EXISTS", "f", "a"), 0)
        self.assertEqual(self.client.must("TYPE", "f"), b"MBbloomCF")

    def test_a_batch_that_would_take_seconds_is_refused(self):
        items = [str(number) for number in range(20_000)]
        for options in (("EXPANSION", 0, "MAXITERATIONS", 65535), ("EXPANSION", 1)):
            self.client.must("DEL", "f")
            self.client.must("CF.RESERVE", "f", 4, *options)
            self.assertRegex(self.client.call("CF.INSERT", "f", "ITEMS", *items), "too many items")


@needs_module
class ForgeryTest(ForgeryMatrix, OneServerTest):
    family = Cuckoo()


@needs_module
class ChainPersistenceTest(PersistenceMatrix, RedisTest):
    family = Chain()
    # Of images:
    test_what_is_no_filter_after_all_is_dropped_everywhere = None
    test_a_large_key_moves_in_chunks = None


@needs_module
class ChainKeyTest(KeyMatrix, OneServerTest):
    family = Chain()


@needs_module
class ChainForgeryTest(ForgeryMatrix, OneServerTest):
    family = Chain()
    test_chunks = None  # RedisBloom's have no checksums: see ChainTest


if __name__ == "__main__":
    main()
