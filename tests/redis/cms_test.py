"""CMS.*: count-min sketches with RedisBloom's contract, an exact model, and what every family must stand.

Usage: cms_test.py MODULE [unittest arguments...]
"""
import collections
import hashlib
import random
import shlex

from client import Error, render
from families import Family, ForgeryMatrix, KeyMatrix, PersistenceMatrix, pairs
from harness import OneServerTest, ROUNDS, RedisTest, SEED, in_both_protocols, main, needs_module

ITEMS = [f"item{number}" for number in range(300)]
MOST = (1 << 32) - 1
SECRET = "0123456789abcdef" * 2


class Sketches(Family):
    prefix = "CMS"
    category = "cms"
    grows = False
    of_another_type = dict.fromkeys(("CMS.INITBYDIM", "CMS.INITBYPROB"), "CMS: key already exists")
    keys = ("narrow", "deep", "saturated", "merged", "secret")
    reads = (("CMS.QUERY", "a", "item1"), ("CMS.INFO",))
    writes = (("CMS.INITBYDIM", 10, 4), ("CMS.INITBYPROB", "0.1", "0.1"), ("CMS.INCRBY", "a", 1),
              ("CMS.MERGE", 1, "narrow"), ("CMS.LOADCHUNK", 1, "x"), ("CMS.SCANDUMP", 0))
    sources = {"CMS.MERGE": ("narrow",)}
    events = ((("CMS.INITBYDIM", "f", 10, 4), ["cms.initbydim"]), (("CMS.INCRBY", "f", "a", 5), ["cms.incrby"]),
              (("CMS.INCRBY", "f", "a", 0), []), (("CMS.QUERY", "f", "a"), []), (("CMS.MERGE", "f", 1, "f"), ["cms.merge"]),
              (("DEL", "f"), ["del"]), (("CMS.INITBYPROB", "f", "0.1", "0.1"), ["cms.initbydim"]))

    def fill(self, client):
        client.must("CMS.INITBYDIM", "narrow", 50, 4)
        client.must("CMS.INCRBY", "narrow", *pairs({item: number + 1 for number, item in enumerate(ITEMS)}))
        client.must("CMS.INITBYPROB", "deep", "0.01", "0.0001")
        client.must("CMS.INCRBY", "deep", *pairs(dict.fromkeys(ITEMS, 3)))
        client.must("CMS.INITBYDIM", "saturated", 7, 2)
        client.must("CMS.INCRBY", "saturated", "a", MOST - 5, "b", 1 << 40, "a", 3)
        client.must("CMS.INITBYDIM", "merged", 50, 4)
        client.must("CMS.MERGE", "merged", 2, "narrow", "narrow", "WEIGHTS", 3, -2)
        client.must("CMS.MERGE", "merged", 2, "merged", "narrow", "WEIGHTS", 10, 1)
        client.must("CMS.INITBYDIM", "secret", 50, 4, "HASH", "nh-siphash", "SEED", SECRET)
        client.must("CMS.INCRBY", "secret", *pairs({item: number + 1 for number, item in enumerate(ITEMS)}))

    def ask(self, client, key):
        asked = (*ITEMS, *(f"absent{number}" for number in range(100)), "a", "b")
        return client.pipeline([("CMS.QUERY", key, *asked), ("CMS.INFO", key)])

    def add(self, client, key, words):
        client.call("CMS.INITBYDIM", key, 50, 4)
        return client.must("CMS.INCRBY", key, *pairs(dict.fromkeys(words, 2)))

    def change_nothing(self, client, key):
        client.call("CMS.INITBYDIM", key, 10, 4)
        client.must("CMS.INCRBY", "narrow", "a", 0, "b", 0)
        client.call("CMS.INCRBY", key, "a", 1, "b", -1)
        client.call("CMS.MERGE", key, 1, key, "WEIGHTS", -1)
        client.call("CMS.LOADCHUNK", key, 1, "x")

    def reserve_large(self, client, key):
        return client.call("CMS.INITBYDIM", key, 1_800_000, 5)


@needs_module
class ContractTest(OneServerTest):
    # What RedisBloom 2.8.20 replies, in RESP2 and RESP3; CMS.INFO is a map in RESP3.
    CONTRACT = """
        SET str x => +OK
        CMS.INITBYDIM => -ERR wrong number of arguments for 'cms.initbydim' command
        CMS.INITBYDIM c x 5 => -CMS: invalid width
        CMS.INITBYDIM c 0 5 => -CMS: invalid width
        CMS.INITBYDIM c -5 5 => -CMS: invalid width
        CMS.INITBYDIM c 5 0 => -CMS: invalid depth
        CMS.INITBYDIM c 5 x => -CMS: invalid depth
        CMS.INITBYDIM c 5 -1 => -CMS: invalid depth
        CMS.INITBYDIM c 9223372036854775807 2 => -CMS: invalid init arguments
        CMS.INITBYDIM c 4611686018427387904 2 => -CMS: invalid init arguments
        CMS.INITBYDIM c 4611686018427387903 2 => -CMS: Insufficient memory to create the key
        CMS.INITBYDIM c 2294967296 2294967296 => -CMS: Insufficient memory to create the key
        CMS.INITBYPROB p 1e-16 1e-16 => -CMS: Insufficient memory to create the key
        CMS.INITBYDIM c 10 4 => +OK
        CMS.INITBYDIM c 10 4 => -CMS: key already exists
        CMS.INITBYDIM c x 4 => -CMS: key already exists
        CMS.INITBYPROB c 2 4 => -CMS: key already exists
        CMS.INITBYDIM str 10 4 => -CMS: key already exists
        CMS.INITBYPROB p 0 0.1 => -CMS: invalid overestimation value
        CMS.INITBYPROB p 1 0.1 => -CMS: invalid overestimation value
        CMS.INITBYPROB p x 0.1 => -CMS: invalid overestimation value
        CMS.INITBYPROB p nan 0.1 => -CMS: invalid overestimation value
        CMS.INITBYPROB p 0.1 0 => -CMS: invalid prob value
        CMS.INITBYPROB p 0.1 1 => -CMS: invalid prob value
        CMS.INITBYPROB p 0.1 x => -CMS: invalid prob value
        CMS.INITBYPROB p 1e-300 0.5 => -CMS: invalid init arguments
        CMS.INITBYPROB p 0.1 1e-60 => -CMS: invalid init arguments
        CMS.INITBYPROB p 0.1 0.9999999999 => -CMS: invalid init arguments
        CMS.INITBYPROB p 0.01 0.01 => +OK
        CMS.INFO p => *[+width :200 +depth :7 +count :0]
        CMS.INITBYPROB p149 0.1 1e-45 => +OK
        CMS.INFO p149 => *[+width :20 +depth :149 +count :0]
        CMS.INITBYPROB p1 0.1 0.5 => +OK
        CMS.INFO p1 => *[+width :20 +depth :1 +count :0]
        CMS.INITBYPROB p2 0.3 0.25 => +OK
        CMS.INFO p2 => *[+width :7 +depth :2 +count :0]
        CMS.INITBYPROB p5 0.3 0.03125 => +OK
        CMS.INFO p5 => *[+width :7 +depth :5 +count :0]
        CMS.INCRBY c => -ERR wrong number of arguments for 'cms.incrby' command
        CMS.INCRBY c x => -ERR wrong number of arguments for 'cms.incrby' command
        CMS.INCRBY c x 1 y => -ERR wrong number of arguments for 'cms.incrby' command
        CMS.INCRBY c x y => -CMS: Cannot parse number
        CMS.INCRBY c x 9223372036854775808 => -CMS: Cannot parse number
        CMS.INCRBY c x -1 => -CMS: Number cannot be negative
        CMS.INCRBY c x 5 y -1 => -CMS: Number cannot be negative
        CMS.INCRBY c x 5 y 6 x 1 => *[:5 :6 :6]
        CMS.INCRBY absent x y => -CMS: key does not exist
        CMS.INCRBY str x 5 => -WRONGTYPE Operation against a key holding the wrong kind of value
        CMS.INCRBY c x 0 => *[:6]
        CMS.QUERY c => -ERR wrong number of arguments for 'cms.query' command
        CMS.QUERY c x y z => *[:6 :6 :0]
        CMS.QUERY absent x => -CMS: key does not exist
        CMS.QUERY str x => -WRONGTYPE Operation against a key holding the wrong kind of value
        CMS.INFO c => *[+width :10 +depth :4 +count :12]
        CMS.INFO absent => -CMS: key does not exist
        CMS.INFO str => -WRONGTYPE Operation against a key holding the wrong kind of value
        CMS.INITBYDIM o 1 2 => +OK
        CMS.INCRBY o x 4294967294 => *[:4294967294]
        CMS.INCRBY o x 1 => *[-CMS: INCRBY overflow]
        CMS.INCRBY o x 1 => *[-CMS: INCRBY overflow]
        CMS.INCRBY o y 9223372036854775807 => *[-CMS: INCRBY overflow]
        CMS.INCRBY o y 0 => *[-CMS: INCRBY overflow]
        CMS.QUERY o x y => *[:4294967295 :4294967295]
        CMS.INFO o => *[+width :1 +depth :2 +count :-9223372032559808513]
        CMS.MERGE => -ERR wrong number of arguments for 'cms.merge' command
        CMS.MERGE d 1 => -ERR wrong number of arguments for 'cms.merge' command
        CMS.MERGE d 1 c => -CMS: key does not exist
        CMS.MERGE d x c => -CMS: key does not exist
        CMS.INITBYDIM d 10 4 => +OK
        CMS.MERGE d x c => -CMS: invalid numkeys
        CMS.MERGE d 0 c => -CMS: Number of keys must be positive
        CMS.MERGE d -1 c => -CMS: Number of keys must be positive
        CMS.MERGE d 0 c WEIGHTS => -CMS: Number of keys must be positive
        CMS.MERGE d 2 c => -CMS: wrong number of keys
        CMS.MERGE d 1 c c => -CMS: wrong number of keys
        CMS.MERGE d 9223372036854775807 c => -CMS: wrong number of keys
        CMS.MERGE d 1 c BLAH 1 => -CMS: wrong number of keys
        CMS.MERGE d 1 c WEIGHTSX 2 => -CMS: wrong number of keys
        CMS.MERGE d 1 weights => -CMS: wrong number of keys/weights
        CMS.MERGE d 2 c WEIGHTS 1 2 => -CMS: wrong number of keys/weights
        CMS.MERGE d 1 c WEIGHTS 1 2 => -CMS: wrong number of keys/weights
        CMS.MERGE d 1 c WEIGHTS => -CMS: wrong number of keys/weights
        CMS.MERGE d 1 c c WEIGHTS => -CMS: wrong number of keys/weights
        CMS.MERGE d 2 c c WEIGHTS 1 => -CMS: wrong number of keys/weights
        CMS.MERGE d 2 c c WEIGHTS 1 x => -CMS: invalid weight value
        CMS.MERGE d 1 absent WEIGHTS x => -CMS: invalid weight value
        CMS.MERGE d 2 absent c WEIGHTS 1 x => -CMS: key does not exist
        CMS.MERGE d 2 o c WEIGHTS 1 x => -CMS: width/depth is not equal
        CMS.MERGE d 2 str c WEIGHTS 1 x => -WRONGTYPE Operation against a key holding the wrong kind of value
        CMS.MERGE d 1 absent => -CMS: key does not exist
        CMS.MERGE d 1 str => -WRONGTYPE Operation against a key holding the wrong kind of value
        CMS.MERGE d 1 o => -CMS: width/depth is not equal
        CMS.MERGE d 2 o absent => -CMS: width/depth is not equal
        CMS.MERGE d 2 absent o => -CMS: key does not exist
        CMS.MERGE str 1 c => -WRONGTYPE Operation against a key holding the wrong kind of value
        CMS.MERGE d 2 c c weights 2 3 => +OK
        CMS.QUERY d x y => *[:30 :30]
        CMS.INFO d => *[+width :10 +depth :4 +count :60]
        CMS.MERGE d 2 c d WEIGHTS 1 -1 => -CMS: MERGE overflow
        CMS.MERGE d 1 c WEIGHTS -1 => -CMS: MERGE overflow
        CMS.MERGE d 1 c WEIGHTS 4294967295 => -CMS: MERGE overflow
        CMS.MERGE d 1 c WEIGHTS 9223372036854775807 => -CMS: MERGE overflow
        CMS.MERGE d 2 c c WEIGHTS 9223372036854775807 -9223372036854775807 => -CMS: MERGE overflow
        CMS.QUERY d x y => *[:30 :30]
        CMS.MERGE d 2 c c WEIGHTS 500000000000000000 -500000000000000000 => +OK
        CMS.QUERY d x y => *[:0 :0]
        CMS.MERGE d 1 c => +OK
        CMS.MERGE d 2 d d => +OK
        CMS.QUERY d x y => *[:12 :12]
        CMS.MERGE d 1 c WEIGHTS 0 => +OK
        CMS.INFO d => *[+width :10 +depth :4 +count :0]
        """

    @in_both_protocols
    def test_replies(self, client):
        for line in self.CONTRACT.strip().splitlines():
            words, _, reply = line.strip().partition(" => ")
            if words.startswith("CMS.INFO") and reply[0] == "*" and client.protocol == 3:
                parts = reply[2:-1].split(" ")
                reply = "%{" + " ".join(f"{name}: {value}" for name, value in zip(parts[::2], parts[1::2])) + "}"
            self.assertEqual(render(client.call(*shlex.split(words))), reply, words)

    def test_what_is_ours(self):
        for words, reply in (
                (("CMS.INITBYDIM", "f", 10, 4, "CELL_SIZE", 4), "-CMS: unknown argument"),
                (("CMS.INITBYDIM", "f", 10, 4, "SEED", 4), "-ERR bad seed: give 32 hexadecimal digits"),
                (("CMS.INITBYPROB", "f", "0.1", "0.1", "HASH"), "-ERR bad hash: give nh-siphash, aes4-prf or siphash"),
                (("CMS.INITBYDIM", "f", 10, 65537), "-CMS: invalid init arguments"),
                (("CMS.INITBYDIM", "f", 1 << 46, 2), "-CMS: Insufficient memory to create the key"),
                (("CMS.INITBYDIM", "f", 1 << 46, 65537), "-CMS: Insufficient memory to create the key"),
                (("EXISTS", "f"), ":0"),
                (("CMS.INITBYDIM", "f", 10, 4), "+OK"),
                (("TYPE", "f"), "+mankai-cm"),
                (("CMS.INITBYDIM", "secret", 10, 4, "HASH", "nh-siphash"), "+OK"),
                (("CMS.MERGE", "f", 1, "secret"), "-CMS: hash/seed is not equal"),
                (("CMS.MERGE", "secret", 1, "f"), "-CMS: hash/seed is not equal"),
                (("CMS.INITBYDIM", "f2", 10, 4, "HASH", "nh-siphash", "SEED", "0" * 32), "+OK"),
                (("CMS.MERGE", "f", 2, "f2", "f"), "+OK"),  # the default by its name
                (("CMS.INITBYDIM", "deep", 1, 65536), "+OK"),
                (("CMS.QUERY", "deep", *range(256)), f"*[{' '.join([':0'] * 256)}]"),
                (("CMS.QUERY", "deep", *range(257)), "-ERR too many items in one command for a sketch of so many rows; "
                                                     "send fewer items per command")):
            self.assertEqual(render(self.client.call(*words)), reply, words)
        self.client.must("CMS.INITBYDIM", "large", 1 << 20, 16)
        self.assertEqual(self.client.call("CMS.MERGE", "large", 33, *["large"] * 33),
                         "ERR too many counters in one command; merge fewer sketches per command")

    def test_the_bytes_stay(self):
        """Sketches of other servers and of older files are merged with new ones: an item has the same cells for ever."""
        self.client.must("CMS.INITBYDIM", "f", 100, 5)
        self.client.must("CMS.INCRBY", "f", *pairs({item: number for number, item in enumerate(ITEMS)}))
        header, cells = (data for _, data in Sketches().chunks(self.client, "f"))
        self.assertEqual([hashlib.sha256(data).hexdigest()[:16] for data in (header, cells)], ["8efa065e41a3fb69", "d32b63a3348e6319"])


@needs_module
class ModelTest(OneServerTest):
    """Random commands against exact counts."""

    def test_counts_are_never_too_low_and_seldom_too_high(self):
        for number in range(2 * ROUNDS):
            dice = random.Random(SEED * 1000 + number)
            self.client.must("DEL", "f")
            self.client.must("CMS.INITBYPROB", "f", "0.02", "0.1", "HASH", "nh-siphash", "SEED", f"{dice.getrandbits(128):032x}")
            exact = collections.Counter()
            for _ in range(60):
                batch = [(f"{int(dice.paretovariate(0.7)) % 5000}", dice.choice((0, 1, 1, 1, 7, 1000)))
                         for _ in range(dice.choice((1, 2, 63, 64, 65, 200)))]
                replies = self.client.must("CMS.INCRBY", "f", *(word for pair in batch for word in pair))
                for (item, increment), reply in zip(batch, replies, strict=True):
                    exact[item] += increment
                    self.assertGreaterEqual(reply, exact[item])
            asked = [*sorted(exact), *(f"absent{number}" for number in range(2000))]
            counts = self.client.must("CMS.QUERY", "f", *asked)
            self.assertTrue(all(count >= exact[item] for item, count in zip(asked, counts, strict=True)))
            too_high = sum(count > exact[item] + 0.02 * exact.total() for item, count in zip(asked, counts))
            # Their probability is 1/16 at most; by chance alone more than 1/8 has a probability below 1e-9.
            self.assertLess(too_high, len(asked) / 8)
            self.assertEqual(self.client.must("CMS.INFO", "f")[5], exact.total())

    def test_a_wide_sketch_is_exact(self):
        self.client.must("CMS.INITBYDIM", "f", 1 << 20, 5)
        exact = {item: number * number for number, item in enumerate(ITEMS)}
        self.client.must("CMS.INCRBY", "f", *pairs(exact))
        self.assertEqual(self.client.must("CMS.QUERY", "f", *exact), [*exact.values()])

    def test_one_by_one_is_the_same_as_all_at_once(self):
        dice = random.Random(SEED)
        many = [(dice.choice(ITEMS), dice.choice((1, 3, 1 << 31))) for _ in range(500)]
        for key in ("f", "g"):
            self.client.must("CMS.INITBYDIM", key, 40, 3)
        at_once = self.client.must("CMS.INCRBY", "f", *(word for pair in many for word in pair))
        single = [self.client.must("CMS.INCRBY", "g", *pair)[0] for pair in many]
        self.assertEqual(list(map(render, at_once)), list(map(render, single)))
        self.assertIn("-CMS: INCRBY overflow", map(render, at_once))
        self.assertEqual(*self.client.must("DEBUG", "DIGEST-VALUE", "f", "g"))

    def test_a_merged_sketch_is_that_of_all_increments(self):
        """Bit for bit, for weights of both signs."""
        dice = random.Random(SEED)
        for _ in range(20 * ROUNDS):
            self.client.must("FLUSHALL")
            sources = [f"s{number}" for number in range(dice.randrange(1, 6))]
            weights = [dice.choice((1, 1, 2, 3, 1000)) for _ in sources]
            exact = collections.Counter()
            for key in (*sources, "merged", "direct"):
                self.client.must("CMS.INITBYDIM", key, 30, 4)
            self.client.must("CMS.INCRBY", "merged", "what is replaced", 5)
            for key, weight in zip(sources, weights, strict=True):
                counts = {dice.choice(ITEMS): dice.randrange(1, 1000) for _ in range(100)}
                self.client.must("CMS.INCRBY", key, *pairs(counts))
                for item, count in counts.items():
                    exact[item] += weight * count
            self.client.must("CMS.INCRBY", "direct", *pairs(exact))
            words = () if set(weights) == {1} else ("WEIGHTS", *weights)
            self.client.must("CMS.MERGE", "merged", len(sources), *sources, *words)
            self.assertEqual(*self.client.must("DEBUG", "DIGEST-VALUE", "merged", "direct"))
            self.client.must("CMS.MERGE", "merged", 2, "merged", sources[-1], "WEIGHTS", 1, -weights[-1])
            self.client.must("CMS.MERGE", "direct", len(sources), *sources, "WEIGHTS", *weights[:-1], 0)
            self.assertEqual(*self.client.must("DEBUG", "DIGEST-VALUE", "merged", "direct"))


@needs_module
class PersistenceTest(PersistenceMatrix, RedisTest):
    family = Sketches()

    def test_the_hash_is_replicated_by_its_name(self):
        server = self.start(appendonly="yes", appendfsync="always", aof_use_rdb_preamble="no")
        client = server.client()
        client.must("CMS.INITBYPROB", "f", "0.01", "0.01")
        client.must("CMS.INITBYDIM", "secret", 10, 4, "HASH", "nh-siphash")
        (file,) = (server.folder / "appendonlydir").glob("*.incr.aof")
        words = file.read_bytes().split(b"\r\n")
        self.assertEqual((words.count(b"CMS.INITBYDIM"), words.count(b"nh-siphash"), words.count(b"0" * 32)), (2, 2, 1))

    def test_merges_are_replicated(self):
        primary, replica = self.start(tcp=True), self.start(tcp=True)
        replica.replicate(primary)
        client = primary.client()
        self.family.fill(client)
        client.must("CMS.MERGE", "narrow", 2, "narrow", "merged", "WEIGHTS", 50, -4)
        self.assertIsInstance(client.call("CMS.MERGE", "narrow", 1, "merged", "WEIGHTS", -4), Error)
        replica.wait_for_primary(primary)
        self.assertEqual(self.family.state(replica.client()), self.family.state(client))
        self.assertNotIn("CRITICAL", replica.log())  # a count that is unknown is an error to clients only


@needs_module
class KeyTest(KeyMatrix, OneServerTest):
    family = Sketches()

    def test_the_number_of_sources_says_which_are_keys(self):
        for number, keys in ((2, [b"d", b"a", b"b"]), (0, [b"d"]), (-1, [b"d"]), ("x", [b"d"]), (1 << 63, [b"d"]),
                             ((1 << 63) - 1, [b"d", b"a", b"b", b"WEIGHTS", b"1", b"2"])):
            self.assertEqual(self.client.must("COMMAND", "GETKEYS", "CMS.MERGE", "d", number, "a", "b", "WEIGHTS", 1, 2), keys)
        for words in (("COMMAND", "GETKEYS", "CMS.MERGE", "d", 1), ("ACL", "DRYRUN", "default", "CMS.MERGE", "d", 1)):
            self.assertIsInstance(self.client.call(*words), Error)
        self.assertEqual(self.client.must("ACL", "DRYRUN", "default", "CMS.MERGE", "d", 1, "a"), b"OK")

    def test_sources_of_a_merge_need_permission_to_read(self):
        self.family.fill(self.client)
        user = self.as_user("+cms.merge", "~merged", "%R~narrow")
        user.must("CMS.MERGE", "merged", 1, "narrow")
        for words in (("merged", 2, "narrow", "secret"), ("narrow", 1, "merged")):
            self.assertRegex(user.call("CMS.MERGE", *words), r"\ANOPERM ")


@needs_module
class ForgeryTest(ForgeryMatrix, OneServerTest):
    family = Sketches()


if __name__ == "__main__":
    main()
