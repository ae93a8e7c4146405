#!/usr/bin/env python3
"""Values of RedisBloom and valkey-bloom in our server: they answer, grow and are saved as they were there.

The fixtures are what RedisBloom 2.8.20 saved and answered (../shared/data/redisbloom, with a README).
"""
import base64
import contextlib
import gzip
import hashlib
import json
import pathlib
import random
import re
import socket
import struct
import threading
import unittest
import zlib

from client import Error, Map, Null, wait_for
from harness import OneServerTest, RedisTest, main, needs_module, saved

FIXTURES = pathlib.Path(__file__).parents[3] / "shared" / "data" / "redisbloom"
FOOTER = 10  # of a DUMP payload: RDB version, checksum


def fixture(name):
    return json.loads(gzip.decompress((FIXTURES / name).read_bytes()))


def unpacked(text):
    return zlib.decompress(base64.b64decode(text))


def items_of(described):
    if "hex" in described:
        return [bytes.fromhex(item) for item in described["hex"]]
    first = described["from"]
    return [f"{described['prefix']}{number}".encode() for number in range(first, first + described["count"])]


def rewrite_and_load(client):
    """Makes the server write an AOF file, and take its data from that."""
    client.must("CONFIG", "SET", "appendonly", "yes")
    is_written = {"aof_enabled": "1", "aof_rewrite_in_progress": "0", "aof_rewrite_scheduled": "0"}  # behind another child
    wait_for("the AOF is written", lambda: is_written.items() <= client.info("persistence").items())
    client.must("DEBUG", "LOADAOF")


def plain(reply):
    """A reply as the fixtures have it."""
    if isinstance(reply, Error):
        return f"-{reply}"
    if isinstance(reply, Map):
        return [plain(part) for pair in reply for part in pair]
    if isinstance(reply, list):
        return [plain(part) for part in reply]
    if isinstance(reply, Null):
        return None
    if isinstance(reply, bytes):
        return reply.decode("latin-1")
    return reply


def expected(reply):
    if isinstance(reply, list):
        return [expected(part) for part in reply]
    if isinstance(reply, dict):
        return reply["bulk"] if "bulk" in reply else bytes.fromhex(reply["hex"]).decode("latin-1")
    if isinstance(reply, str):
        return reply[1:] if reply[0] == "+" else reply
    return reply


def numbers(info):
    """Doubles as numbers: Valkey 9 and Redis 8.6 write fewer digits of them than earlier versions."""
    return [float(part) if re.fullmatch(r"0\.\d+", str(part)) else part for part in info]


def words_of(step):
    return [bytes.fromhex(word["hex"]) if isinstance(word, dict) else word for word in step]


def letters(reply, errors):
    """Answers as the fixtures have them: one letter an item."""
    replies = reply if isinstance(reply, list) else [reply]
    codes = {text: letter for letter, text in errors.items()}
    out = ""
    for one in replies:
        text = f"-{one}" if isinstance(one, Error) else None
        out += codes.get(text, f"[{text}]") if text else "n" if one == -1 else str(int(one))
    return out


class Subject:
    """A key of a fixture on a server."""

    MEMBERS = {"BF": "BF.MEXISTS", "CF": "CF.MEXISTS", "TOPK": "TOPK.QUERY"}

    def __init__(self, test, client, described):
        self.test, self.client = test, client
        self.key, self.family = described["key"], described["family"]

    def do(self, step):
        if "do" in step:
            self.test.assertEqual(plain(self.client.call(*words_of(step["do"]))), expected(step["reply"]), step["do"])
            return
        items, got = items_of(step["items"]), ""
        if "each" in step:
            for item in items:
                got += letters(self.client.call(*words_of(step["each"]), item, *words_of(step["after"])), step["errors"])
        else:
            for start in range(0, len(items), step["size"]):
                some = items[start:start + step["size"]]
                got += letters(self.client.call(*words_of(step["many"]), *some), step["errors"])
        self.test.assertEqual(got, step["answers"], step)

    def chunks(self):
        """What SCANDUMP returns, hashed as the fixtures hash it."""
        digest = hashlib.sha256()
        for iterator, data in self.client.chunks(self.family, self.key):
            digest.update(struct.pack("<Q", iterator) + data)
        return digest.hexdigest()

    def check(self, facts):
        for name, fact in facts.items():
            with self.test.subTest(key=self.key, fact=name):
                getattr(self, f"check_{name}")(fact)

    def check_chunks_sha256(self, fact):
        self.test.assertEqual(self.chunks(), fact)

    def check_probes(self, fact):
        for probe in fact:
            items = items_of(probe["items"])
            if not items:
                continue
            for name in ("exists", "in"):
                if name in probe:
                    got = self.client.must(self.MEMBERS[self.family], self.key, *items)
                    self.test.assertEqual("".join(str(int(answer)) for answer in got), probe[name])
            if "counts" in probe:
                items = items[:len(probe["counts"])]
                if self.family == "CF":
                    got = [self.client.must("CF.COUNT", self.key, item) for item in items]
                else:
                    got = self.client.must("CMS.QUERY" if self.family == "CMS" else "TOPK.COUNT", self.key, *items)
                self.test.assertEqual(got, probe["counts"])

    def check_info(self, fact):
        self.test.assertEqual(numbers(plain(self.client.must(f"{self.family}.INFO", self.key))), numbers(expected(fact)))

    def check_debug(self, fact):
        self.test.assertEqual(plain(self.client.must(f"{self.family}.DEBUG", self.key)), expected(fact))

    def check_card(self, fact):
        self.test.assertEqual(self.client.must("BF.CARD", self.key), fact)

    def check_list(self, fact):
        self.test.assertEqual(plain(self.client.must("TOPK.LIST", self.key, "WITHCOUNT")), expected(fact))

    def check_memory_usage(self, fact):
        """Ours is what we use."""

    def check_chunks(self, fact):
        """Their hash is another fact."""

    def check_dump(self, fact):
        if self.family != "TOPK":  # which has addresses of the server that saved it
            self.test.assertEqual(self.client.must("DUMP", self.key)[:-FOOTER], unpacked(fact)[:-FOOTER])


@needs_module
@unittest.skipUnless(FIXTURES.is_dir(), "SKIPPED: the fixtures of RedisBloom are not here (../shared)")
class FixturesTest(OneServerTest):
    options = {"appendonly": "no", "aof_use_rdb_preamble": "no"}

    def subjects(self, name="keys.json.gz"):
        for described in fixture(name)["keys"]:
            yield described, Subject(self, self.client, described)

    def restore(self, described):
        self.client.must("SELECT", described["db"])
        self.client.must("RESTORE", described["key"], 0, unpacked(described["facts"]["dump"]))

    def test_a_restored_value_answers_and_grows_as_there(self):
        for described, subject in self.subjects():
            self.restore(described)
            subject.check(described["facts"])
        for described, subject in self.subjects():
            if "then" not in described:
                continue
            self.client.must("SELECT", described["db"])
            with self.subTest(key=described["key"]):
                for step in described["then"]:
                    subject.do(step)
            subject.check(described["facts_then"])

    def check_all(self):
        for described, subject in self.subjects():
            self.client.must("SELECT", described["db"])
            subject.check(described["facts"])

    def test_values_survive_rdb_and_aof_files_and_copies(self):
        for described, _ in self.subjects():
            self.restore(described)
        before = self.client.must("DEBUG", "DIGEST")
        self.client.must("DEBUG", "RELOAD")
        self.assertEqual(self.client.must("DEBUG", "DIGEST"), before)
        self.check_all()
        rewrite_and_load(self.client)
        self.assertEqual(self.client.must("DEBUG", "DIGEST"), before)
        self.check_all()
        self.client.must("CONFIG", "SET", "appendonly", "no")
        for described, _ in self.subjects():
            self.client.must("SELECT", described["db"])
            self.client.must("COPY", described["key"], "copy")
            self.client.must("RENAME", "copy", described["key"])
        self.check_all()

    def test_chunks_make_the_same_value(self):
        for described, subject in self.subjects():
            if not described["facts"].get("chunks"):  # RedisBloom has none of an empty cuckoo filter
                continue
            for iterator, data in described["facts"]["chunks"]:
                self.client.must(f"{described['family']}.LOADCHUNK", described["key"], iterator, unpacked(data))
            subject.check(described["facts"])

    def test_older_encodings(self):
        for case in fixture("older.json.gz"):
            with self.subTest(case=case["note"], type=case["type"], encver=case["encver"]):
                self.client.must("DEL", "k")
                reply = self.client.call("RESTORE", "k", 0, unpacked(case["payload"]))
                is_old_cuckoo = case["type"] == "MBbloomCF" and int(case["encver"]) < 4
                if "to come" in case["note"] or is_old_cuckoo:
                    self.assertIsInstance(reply, Error)
                    continue
                self.assertEqual(plain(reply), "OK")
                items = items_of(case["items"]) + (items_of(case["probes"]) if "probes" in case else [])
                family = "BF" if case["type"] == "MBbloom--" else "CF"
                got = "".join(str(int(one)) for one in self.client.must(f"{family}.MEXISTS", "k", *items))
                self.assertEqual(got, case.get("expected_exists", case["redisbloom_exists"]))

    def test_forged_values(self):
        self.client.must("CONFIG", "SET", "bf.filter-memory-limit", "64mb")
        for case in fixture("forged.json.gz"):
            with self.subTest(case=case["name"], ask=case["ask"], command=case["command"][0]):
                self.client.must("DEL", "forged")
                reply = self.client.call(*case["command"], unpacked(case["data"]))
                if case["ask"].startswith("refuse"):
                    self.assertIsInstance(reply, Error)
                elif case["ask"].startswith("accept") and "or refuse" not in case["ask"]:
                    self.assertEqual(plain(reply), "OK")
                for words in (("BF.MADD", "forged", "a", "b"), ("CF.ADD", "forged", "a"), ("CMS.INCRBY", "forged", "a", 1),
                              ("TOPK.ADD", "forged", "a", "b"), ("BF.INFO", "forged"), ("DUMP", "forged")):
                    self.client.call(*words)

    def test_filters_of_valkey_bloom(self):
        for case in fixture("valkey-bloom.json.gz"):
            for words in (("RESTORE", "k", 0, unpacked(case["dump"])), ("BF.LOAD", "k", unpacked(case["load"]))):
                with self.subTest(case=case["seed"][:8], capacity=case["capacity"], command=words[0]):
                    self.client.must("DEL", "k")
                    self.client.must(*words)
                    # An item found when it was added (0) is there; one that a full filter refused (f) may be.
                    got = self.client.must("BF.MEXISTS", "k", *items_of(case["items"]))
                    added = [answer for answer, then in zip(got, case["answers"]) if then != "f"]
                    self.assertEqual(added, [1] * len(added))
                    got = self.client.must("BF.MEXISTS", "k", *items_of(case["probes"]))
                    self.assertEqual("".join(str(int(one)) for one in got), case["exists"])
                    digest = self.client.must("DEBUG", "DIGEST-VALUE", "k")
                    self.client.must("DEBUG", "RELOAD")
                    self.assertEqual(self.client.must("DEBUG", "DIGEST-VALUE", "k"), digest)

    def bloom_filters(self):
        """The key of each filter that grows, loaded, and items to ask it for."""
        for described in fixture("keys.json.gz")["keys"]:
            if described["family"] != "BF":
                continue
            self.restore(described)
            if self.grows(described["key"]):
                probes = described["facts"].get("probes", [])
                yield described["key"], [item for probe in probes for item in items_of(probe["items"])]
        self.client.must("SELECT", 0)
        for number, case in enumerate(fixture("valkey-bloom.json.gz")):
            name = f"valkey:{number}"
            self.client.must("BF.LOAD", name, unpacked(case["load"]))
            if self.grows(name):
                yield name, items_of(case["items"]) + items_of(case["probes"])

    def grows(self, name):
        return plain(self.client.must("BF.INFO", name))[-1] is not None

    def facts(self, name):
        flat = plain(self.client.must("BF.INFO", name))
        return {fact: value for fact, value in zip(flat[::2], flat[1::2]) if fact != "Size"}

    def fpr(self, name):
        return float(plain(self.client.must("BF.INFO", name, "FPR"))[0])

    def answers(self, name, items):
        return [answer for start in range(0, len(items), 1000)
                for answer in self.client.must("BF.MEXISTS", name, *items[start:start + 1000])]

    def test_a_converted_filter_answers_as_before_and_grows_by_our_sub_filters(self):
        converted = 0
        for name, probes in self.bloom_filters():
            with self.subTest(key=name):
                before = self.answers(name, probes)
                facts = self.facts(name)
                self.client.must("PEXPIRE", name, 10**9)
                self.client.must("MANKAI.CONVERT", name)
                self.assertGreater(self.client.must("PTTL", name), 10**8)
                self.client.must("PERSIST", name)
                self.assertEqual(self.client.must("TYPE", name), b"mankai-cv")
                self.assertEqual(self.answers(name, probes), before)
                self.assertEqual(self.facts(name), facts)
                error, absent = self.fpr(name), [f"absent:{number}" for number in range(20000)]
                wrong = sum(self.answers(name, absent))  # small links have more than their formula says
                capacity, cardinality = (self.client.must("BF.INFO", name, fact)[0] for fact in ("CAPACITY", "ITEMS"))
                new = [f"new:{number}" for number in range(min(capacity * 3, 30000))]
                fresh = sum(self.client.must("BF.MADD", name, *new[start:start + 1000]).count(1)
                            for start in range(0, len(new), 1000))
                self.assertEqual(self.client.must("BF.CARD", name), cardinality + fresh)
                self.assertNotIn(0, self.answers(name, new))
                still = self.answers(name, probes)
                self.assertEqual([0 for was, now in zip(before, still) if was and not now], [])
                if len(new) > capacity - cardinality:
                    self.assertGreater(self.client.must("BF.INFO", name, "FILTERS")[0], facts["Number of filters"])
                self.assertGreaterEqual(self.fpr(name), error)
                more = sum(self.answers(name, absent)) - wrong
                self.assertLess(more / len(absent), 1.3 * (self.fpr(name) - error) + 0.003)
                digest = self.client.must("DEBUG", "DIGEST-VALUE", name)
                self.client.must("COPY", name, "copy", "REPLACE")
                self.assertEqual(self.client.must("DEBUG", "DIGEST-VALUE", "copy"), digest)
                self.client.must("RESTORE", "copy", 0, self.client.must("DUMP", name), "REPLACE")
                self.assertEqual(self.client.must("DEBUG", "DIGEST-VALUE", "copy"), digest)
                self.assertGreater(self.client.must("MEMORY", "USAGE", name), capacity / 8)
                self.client.must("MANKAI.CONVERT", name)  # changes nothing
                self.assertEqual(self.client.must("DEBUG", "DIGEST-VALUE", name), digest)
                self.client.must("UNLINK", "copy")
                converted += 1
        self.assertGreater(converted, 5)
        before = self.client.must("DEBUG", "DIGEST")
        self.client.must("DEBUG", "RELOAD")
        self.assertEqual(self.client.must("DEBUG", "DIGEST"), before)
        rewrite_and_load(self.client)
        self.assertEqual(self.client.must("DEBUG", "DIGEST"), before)

    def test_the_error_of_a_converted_filter_stays_below_that_of_the_source(self):
        self.client.must("CONFIG", "SET", "bf.layout", "redisbloom")
        self.client.must("BF.RESERVE", "f", 0.01, 1000)
        items = [f"item:{number}" for number in range(100000)]
        self.client.must("BF.MADD", "f", *items[:1500])  # the second link has room for 1500 more
        self.client.must("MANKAI.CONVERT", "f")
        self.client.must("BF.MADD", "f", *items[1500:2900])
        self.assertEqual(self.client.must("BF.INFO", "f", "FILTERS"), [2])
        for start in range(2900, len(items), 1000):
            self.client.must("BF.MADD", "f", *items[start:start + 1000])
        self.assertEqual(self.answers("f", items).count(0), 0)
        absent = self.answers("f", [f"absent:{number}" for number in range(100000)])
        self.assertLess(sum(absent) / 100000, 0.011)
        self.assertLess(self.fpr("f"), 0.0101)

    def test_damaged_converted_filters(self):
        self.client.must("CONFIG", "SET", "bf.layout", "redisbloom")
        self.client.must("CONFIG", "SET", "bf.filter-memory-limit", "64mb")
        self.client.must("DEBUG", "SET-SKIP-CHECKSUM-VALIDATION", 1)
        self.client.must("BF.RESERVE", "whole", 0.01, 50)
        self.client.must("BF.MADD", "whole", *range(120))
        self.client.must("MANKAI.CONVERT", "whole")
        chance = random.Random(18)
        for grows in (False, True):
            if grows:
                self.client.must("BF.MADD", "whole", *range(1000))
            payload = self.client.must("DUMP", "whole")
            loaded = 0
            for _ in range(2000):
                damaged = bytearray(payload)
                for _ in range(chance.choice((1, 1, 2, 8))):
                    # Most bytes are cells and checksums, so the fields at both ends get more of the damage.
                    place = chance.choice((chance.randrange(250), chance.randrange(len(damaged) - FOOTER)))
                    damaged[place] = chance.choice((0, 1, 0x7f, 0xff, chance.randrange(256)))
                if chance.random() < 0.1:
                    del damaged[chance.randrange(12, len(damaged)):-FOOTER]
                reply = self.client.call("RESTORE", "damaged", 0, bytes(damaged), "REPLACE")
                if isinstance(reply, Error):
                    continue
                loaded += 1
                for words in (("BF.MADD", "damaged", *range(5000, 5300)), ("BF.MEXISTS", "damaged", "a", "b"), ("BF.INFO", "damaged"),
                              ("BF.DEBUG", "damaged"), ("MEMORY", "USAGE", "damaged"), ("DUMP", "damaged"), ("BF.CLEAR", "damaged")):
                    self.client.call(*words)
            self.assertGreater(loaded, 20)  # harmless damage, of cells for example
        self.client.must("PING")

    def test_what_cannot_be_converted(self):
        self.client.must("CONFIG", "SET", "bf.layout", "redisbloom")
        self.client.must("BF.RESERVE", "fixed", 0.01, 100, "NONSCALING")
        self.client.must("CF.RESERVE", "cuckoo", 100)
        self.client.must("CMS.INITBYDIM", "sketch", 10, 3)
        self.client.must("TOPK.RESERVE", "list", 3)
        self.client.must("SET", "text", "x")
        for name, reason in (("fixed", "does not grow"), ("cuckoo", "only Bloom filters"), ("sketch", "do not grow"),
                             ("list", "do not grow"), ("text", "WRONGTYPE"), ("absent", "not found")):
            reply = self.client.call("MANKAI.CONVERT", name)
            self.assertIsInstance(reply, Error, name)
            self.assertIn(reason, str(reply))
        self.client.must("BF.RESERVE", "grows", 0.01, 100)
        self.assertIn("unknown argument", str(self.client.call("MANKAI.CONVERT", "grows", "NOW")).lower())
        self.client.must("MANKAI.CONVERT", "grows")
        self.assertIn("DUMP", str(self.client.call("BF.SCANDUMP", "grows", 0)))
        self.assertIsInstance(self.client.call("BF.MERGE", "fixed", "grows"), Error)
        self.client.must("BF.MADD", "grows", *range(1000))
        self.client.must("BF.CLEAR", "grows")
        self.assertEqual(self.client.must("TYPE", "grows"), b"mankai-bf")
        self.assertEqual(self.client.must("BF.CARD", "grows"), 0)
        self.client.must("MANKAI.CONVERT", "grows")

    def test_a_file_with_digests_says_what_to_do(self):
        server = self.server
        payload = unpacked(next(case for case in fixture("forged.json.gz") if "t-digests" in case["ask"])["data"])
        self.assertIsInstance(self.client.call("RESTORE", "digest", 0, payload), Error)
        self.assertIn('key "digest" of type TDIS-TYPE: t-digests are not taken over: delete them on the source, '
                      "or set bf.t-digests to carry", server.log(10**6))


class Primary(threading.Thread):
    """A server that a replica follows: sends an RDB file, then commands."""

    def __init__(self, rdb, stream):
        super().__init__(daemon=True)
        self.rdb, self.stream = rdb, stream
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.start()

    def run(self):
        with self.listener, self.listener.accept()[0] as connection, contextlib.suppress(ConnectionError):
            self.serve(connection)

    def serve(self, connection):
        buffer = b""
        while True:
            buffer += connection.recv(4096)
            if b"\r\nPSYNC\r\n" in buffer.upper():  # a capability is called psync2
                break
            if buffer.endswith(b"\r\n") and buffer:
                connection.sendall(b"+PONG\r\n" * buffer.upper().count(b"PING") + b"+OK\r\n" * buffer.upper().count(b"REPLCONF"))
                buffer = b""
        connection.sendall(b"+FULLRESYNC " + b"a" * 40 + b" 0\r\n" + b"$%d\r\n" % len(self.rdb) + self.rdb + self.stream)
        while connection.recv(4096):
            pass


@needs_module
@unittest.skipUnless(FIXTURES.is_dir(), "SKIPPED: the fixtures of RedisBloom are not here (../shared)")
class StreamTest(RedisTest):
    def start(self, **options):
        return super().start(**{"bf.redisbloom-version": 2, **options})  # that of the fixtures

    def check(self, client, described):
        for one in described:
            client.must("SELECT", one.get("db", 0))
            facts = {name: fact for name, fact in one["facts"].items()}
            if one["family"] == "TOPK" and one["key"] == "topk":
                facts.pop("dump", None)
            Subject(self, client, one).check(facts)

    def test_a_file_of_redisbloom_is_loaded(self):
        server = self.start()
        server.stop()
        (server.folder / "dump.rdb").write_bytes(gzip.decompress((FIXTURES / "setup.rdb.gz").read_bytes()))
        server.start()
        self.check(server.client(), fixture("keys.json.gz")["keys"])

    def test_a_replica_converts_as_its_primary(self):
        primary, replica = self.start(tcp=True), self.start()
        client, follower = primary.client(), replica.client()
        client.must("CONFIG", "SET", "bf.layout", "redisbloom")
        replica.replicate(primary)
        client.must("BF.RESERVE", "f", 0.01, 100)
        for start in range(0, 5000, 500):
            client.must("BF.MADD", "f", *range(start, start + 500))
            if start == 500:
                client.must("MANKAI.CONVERT", "f")
        replica.wait_for_primary(primary)
        self.assertEqual(follower.must("TYPE", "f"), b"mankai-cv")
        self.assertEqual(follower.must("DEBUG", "DIGEST"), client.must("DEBUG", "DIGEST"))

    def follow(self, mode, rdb):
        """A server with one saved key follows a primary that sends this file."""
        server = self.start(repl_diskless_load=mode)
        client = server.client()
        client.must("SET", "ours", "v")
        client.must("SAVE")
        self.primary = Primary(rdb, b"")
        client.must("REPLICAOF", "127.0.0.1", self.primary.port)
        return server

    def test_a_load_that_fails_keeps_the_data_where_the_engine_allows_it(self):
        """docs/takeover.md has the table."""
        digests = gzip.decompress((FIXTURES / "tdigest.rdb.gz").read_bytes())
        later = b"REDIS9999" + digests[9:]
        failed = "Failed trying to load the "  # "MASTER" or "PRIMARY synchronization DB"
        for mode, kept in (("swapdb", [1]), ("disabled", [0, 1])):  # Valkey 9 checks the version before it deletes
            with self.subTest("the version is too new", mode=mode):
                server = self.follow(mode, later)
                wait_for("the load fails", lambda: failed in server.log(1000))
                self.assertIn(server.client().must("DBSIZE"), kept)
        with self.subTest("a value is refused", mode="swapdb"):
            server = self.follow("swapdb", digests)
            wait_for("the process ends", lambda: not server.is_running())
            self.assertIn('key "digest" of type TDIS-TYPE', server.log(1000))
            server.restart()
            self.assertEqual(server.client().must("GET", "ours"), b"v")
        with self.subTest("a value is refused", mode="disabled"):
            server = self.follow("disabled", digests)
            wait_for("the process ends", lambda: not server.is_running())
            self.assertRaises(AssertionError, server.restart)  # its file is the primary's now

    def test_digests_are_carried(self):
        server = self.start(**{"bf.t-digests": "carry", "aof_use_rdb_preamble": "no"})
        server.stop()
        (server.folder / "dump.rdb").write_bytes(gzip.decompress((FIXTURES / "tdigest.rdb.gz").read_bytes()))
        server.start()
        client = server.client()
        before = client.must("DEBUG", "DIGEST")
        client.must("DEBUG", "RELOAD")
        self.assertEqual(client.must("DEBUG", "DIGEST"), before)
        rewrite_and_load(client)
        self.assertEqual(client.must("DEBUG", "DIGEST"), before)

    def assert_no_error(self, server):
        errors = [line for line in server.log(10**6).split("\n") if "== CRITICAL ==" in line]
        self.assertEqual(errors, [])

    def load_aof(self, name):
        server = self.start(aof_load_truncated="no")
        path = server.folder / "fixture.aof"
        path.write_bytes(gzip.decompress((FIXTURES / name).read_bytes()))
        server.stop()
        (server.folder / "appendonlydir").mkdir()
        path.rename(server.folder / "appendonlydir" / "appendonly.aof.1.base.aof")
        (server.folder / "appendonlydir" / "appendonly.aof.manifest").write_text("file appendonly.aof.1.base.aof seq 1 type b\n")
        configuration = server.folder / "redis.conf"
        configuration.write_text(configuration.read_text() + "appendonly yes\n")
        server.start()
        self.assert_no_error(server)
        return server

    def test_aof_files_of_redisbloom_are_loaded(self):
        keys = fixture("keys.json.gz")["keys"]
        certain = [one for one in keys if one["family"] != "TOPK" or one["key"] in ("topk:certain",)]
        with self.subTest("setup.aof"):
            self.check(self.load_aof("setup.aof.gz").client(), certain)
        with self.subTest("rewritten.aof"):
            lost = ("cms:db1", "topk:db1")  # by RedisBloom
            self.check(self.load_aof("rewritten.aof.gz").client(), [one for one in keys if one["key"] not in lost])
        with self.subTest("stream.aof"):
            self.check(self.load_aof("stream.aof.gz").client(), fixture("stream.json.gz")["keys"])

    def test_a_replica_follows_redisbloom(self):
        empty = self.start()
        saved(empty.client(), "BGSAVE")
        rdb = (empty.folder / "dump.rdb").read_bytes()
        stream = gzip.decompress((FIXTURES / "stream.aof.gz").read_bytes())
        primary = Primary(rdb, stream)
        server = self.start()
        client = server.client()
        client.must("REPLICAOF", "127.0.0.1", primary.port)
        wait_for("the stream is applied",
                 lambda: int(client.info("replication").get("slave_repl_offset", "0")) >= len(stream))
        self.assert_no_error(server)
        self.check(client, fixture("stream.json.gz")["keys"])
        before = client.must("DEBUG", "DIGEST")
        client.must("REPLICAOF", "NO", "ONE")
        client.must("DEBUG", "RELOAD")
        self.assertEqual(client.must("DEBUG", "DIGEST"), before)


@needs_module
class NewValuesTest(RedisTest):
    """Values that are created here in the layout of RedisBloom or valkey-bloom: with the config `layout`, and from a stream."""

    NO_CHUNKS = "ERR the value is in RedisBloom's layout, which has no chunks: copy it by DUMP and RESTORE"

    def start_pair(self, layout="redisbloom"):
        primary = self.start(tcp=True, **{"bf.layout": layout})
        replica = self.start()  # whose clients get our layout
        replica.replicate(primary)
        return primary, replica

    def assert_kept(self, primary, replica):
        """By the replica, and by both files."""
        replica.wait_for_primary(primary)
        client = primary.client()
        before = client.must("DEBUG", "DIGEST")
        self.assertEqual(replica.client().must("DEBUG", "DIGEST"), before)
        self.assertNotIn("== CRITICAL ==", replica.log(10**6))
        client.must("DEBUG", "RELOAD")
        self.assertEqual(client.must("DEBUG", "DIGEST"), before)
        client.must("CONFIG", "SET", "aof-use-rdb-preamble", "no")
        rewrite_and_load(client)
        self.assertEqual(client.must("DEBUG", "DIGEST"), before)

    def test_filters_of_valkey_bloom(self):
        primary, replica = self.start_pair("valkey-bloom")
        client = primary.client()
        client.must("CONFIG", "SET", "bf.bloom-tightening-ratio", "0.25")
        client.must("BF.ADD", "added", "a")
        client.must("BF.RESERVE", "fixed", "0.9", 100, "NONSCALING")
        client.must("BF.INSERT", "grows", "ERROR", "0.001", "CAPACITY", 10, "EXPANSION", 3, "ITEMS", *range(20))
        self.assertEqual([client.must("TYPE", key) for key in ("added", "fixed", "grows")], [b"bloomfltr"] * 3)
        # A single fact is the value alone.
        self.assertEqual([client.must("BF.INFO", "grows", fact) for fact in ("CAPACITY", "FILTERS", "ITEMS", "EXPANSION")],
                         [40, 2, client.must("BF.CARD", "grows"), 3])
        self.assertIsNone(plain(client.must("BF.INFO", "fixed", "EXPANSION")))
        self.assertRegex(plain(client.must("BF.DEBUG", "fixed"))[1], r" ratio:0\.9\Z")
        self.assertRegex(plain(client.must("BF.DEBUG", "grows"))[2], r" ratio:0\.00025\Z")
        # What is replicated of an empty filter has no cells.
        offset = int(client.info("replication")["master_repl_offset"])
        client.must("BF.RESERVE", "large", "0.01", 10_000_000)
        self.assertLess(int(client.info("replication")["master_repl_offset"]) - offset, 100_000)
        client.must("DEL", "large")
        # Words of ours, and values that valkey-bloom does not have.
        client.must("BF.RESERVE", "ours", "0.01", 100, "DELETABLE")
        client.must("CF.ADD", "cuckoo", "a")
        client.must("CMS.INITBYDIM", "sketch", 10, 2)
        client.must("TOPK.RESERVE", "list", 3)
        self.assertEqual([client.must("TYPE", key) for key in ("ours", "cuckoo", "sketch", "list")],
                         [b"mankai-bf", b"mankai-cf", b"mankai-cm", b"mankai-tk"])
        for is_random, seeds in (("yes", 2), ("no", 1)):
            client.must("CONFIG", "SET", "bf.bloom-use-random-seed", is_random)
            for key in ("one", "two"):
                client.must("DEL", key)
                client.must("BF.RESERVE", key, "0.01", 100)
            self.assertEqual(len(set(client.must("DEBUG", "DIGEST-VALUE", "one", "two"))), seeds)
        self.assert_kept(primary, replica)

    def test_sketches(self):
        primary, replica = self.start_pair()
        client = primary.client()
        client.must("CMS.INITBYDIM", "plain", 100, 3)
        client.must("CMS.INITBYPROB", "other", "0.02", "0.125")
        client.must("CMS.INITBYDIM", "bytes", 100, 3, "CELL_SIZE", 1)
        client.must("CMS.INITBYDIM", "ours", 100, 3, "HASH", "nh-siphash")
        self.assertEqual([client.must("TYPE", key) for key in ("plain", "other", "bytes", "ours")],
                         [b"CMSk-TYPE", b"CMSk-TYPE", b"mankai-cs", b"mankai-cm"])
        self.assertEqual(client.must("CMS.INCRBY", "plain", "a", 3, "b", 1 << 33),
                         [3, Error("CMS: INCRBY overflow")])
        self.assertEqual(client.must("CMS.INCRBY", "bytes", "a", 200, "a", 100, "a", -50, "a", -151),
                         [200, Error("CMS: INCRBY overflow"), 150, Error("CMS: INCRBY underflow")])
        self.assertEqual(client.must("CMS.QUERY", "bytes", "a", "b"), [150, 0])
        self.assertEqual(client.must("CMS.INFO", "bytes")[-2:], [b"cell_size", 1])
        self.assertEqual(len(client.must("CMS.INFO", "plain")), 6)
        client.must("CMS.MERGE", "other", 2, "plain", "other")
        for words, error in (
                (("CMS.INCRBY", "plain", "a", -1), "CMS: Number cannot be negative"),
                (("CMS.INCRBY", "bytes", "a", -(1 << 63)), "CMS: invalid increment"),
                (("CMS.MERGE", "plain", 1, "ours"),
                 "CMS: layout is not equal: one of the sketches was taken over from RedisBloom"),
                (("CMS.MERGE", "plain", 1, "bytes"), "CMS: cell size is not equal"),
                (("CMS.INITBYDIM", "new", 10, 3, "CELL_SIZE", 3), "CMS: CELL_SIZE must be 1, 2, 4 or 8"),
                (("CMS.INITBYDIM", "new", 10, 3, "CELL_SIZE", 1, "HASH", "nh-siphash"), "CMS: unknown argument"),
                (("CMS.SCANDUMP", "plain", 0), self.NO_CHUNKS), (("CMS.LOADCHUNK", "plain", 5, "data"), self.NO_CHUNKS)):
            self.assertEqual(client.call(*words), Error(error), words)
        for key in ("plain", "bytes"):
            client.must("RESTORE", f"{key}:again", 0, client.must("DUMP", key))
            self.assertEqual(client.must("CMS.QUERY", f"{key}:again", "a", "b"), client.must("CMS.QUERY", key, "a", "b"))
        self.assert_kept(primary, replica)

    def test_lists(self):
        primary, replica = self.start_pair()
        client = primary.client()
        client.must("TOPK.RESERVE", "chance", 20, 30, 2, "0.9")
        client.must("TOPK.RESERVE", "default", 3)
        client.must("TOPK.RESERVE", "ours", 3, "HALFLIFE", "1h")
        client.must("TOPK.RESERVE", "hashed", 3, 8, 7, "0.5", "HASH", "nh-siphash")
        self.assertEqual([client.must("TYPE", key) for key in ("chance", "default", "ours", "hashed")],
                         [b"TopK-TYPE", b"TopK-TYPE", b"mankai-tk", b"mankai-tk"])
        *info, decay = client.must("TOPK.INFO", "default")
        self.assertEqual((info, float(decay)), ([b"k", 3, b"width", 8, b"depth", 7, b"decay"], 0.9))
        for start in range(0, 3000, 100):
            client.must("TOPK.ADD", "chance", *(f"item{number * number % 97}" for number in range(start, start + 100)))
        self.assertEqual(plain(client.must("TOPK.INCRBY", "default", "a", 5, "b", 0)), [None, None])
        self.assertEqual(client.must("TOPK.QUERY", "default", "a", "b", "c"), [1, 1, 0])
        self.assertEqual(client.must("TOPK.LIST", "default", "WITHCOUNT"), [b"a", 5])
        got = client.must("TOPK.INCRBY", "default", "c", 7, "d", 100001, "e", 1)
        self.assertEqual([type(one) is Error for one in got], [False, True, True])
        self.assertEqual(client.must("TOPK.COUNT", "default", "a", "c", "d", "e"), [5, 7, 0, 0])
        for words in (("TOPK.SCANDUMP", "default", 0), ("TOPK.LOADCHUNK", "default", 5, "data")):
            self.assertEqual(client.call(*words), Error(self.NO_CHUNKS), words)
        self.assertEqual(client.call("TOPK.RESERVE", "new", 1 << 24), Error("ERR k must be in the range [1, 16777215]"))
        self.assert_kept(primary, replica)
        # After that, chance goes on alike.
        replica.replicate(primary)
        for start in range(0, 3000, 100):
            client.must("TOPK.ADD", "chance", *(f"other{number * number % 97}" for number in range(start, start + 100)))
        self.assert_kept(primary, replica)

    def test_memory_of_lists_is_limited(self):
        client = self.start(**{"bf.layout": "redisbloom", "bf.filter-memory-limit": "64kb"}).client()
        client.must("TOPK.RESERVE", "list", 100)
        before = client.must("MEMORY", "USAGE", "list")
        client.must("TOPK.ADD", "list", *(f"{number:01300}" for number in range(30)))
        self.assertGreaterEqual(client.must("MEMORY", "USAGE", "list"), before + 30 * 1300)
        self.assertEqual(client.call("TOPK.ADD", "list", *(f"{number:01300}" for number in range(30, 60))),
                         Error("ERR the filter would be larger than filter-memory-limit allows"))
        self.assertEqual(plain(client.must("TOPK.ADD", "list", "short")), [None])

    def follow(self, *commands):
        """Returns a client of a replica after a primary's commands, which must not fail."""
        empty = self.start()
        saved(empty.client(), "BGSAVE")
        words = [[word if isinstance(word, bytes) else str(word).encode() for word in command] for command in commands]
        stream = b"".join(b"*%d\r\n" % len(one) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in one)
                          for one in words)
        primary = Primary((empty.folder / "dump.rdb").read_bytes(), stream)
        server = self.start()
        client = server.client()
        client.must("REPLICAOF", "127.0.0.1", primary.port)
        wait_for("the stream is applied",
                 lambda: int(client.info("replication").get("slave_repl_offset", "0")) >= len(stream))
        self.assertNotIn("== CRITICAL ==", server.log(10**6))
        return client

    def test_a_stream_with_refused_increments_is_no_error(self):
        client = self.follow(
            ("CMS.INITBYDIM", "sketch", 10, 2), ("CMS.INCRBY", "sketch", "a", 5, "b", 1 << 33),
            ("CMS.INCRBY", "sketch", "a", -2),  # of 8.12
            ("CMS.INITBYPROB", "bytes", "0.1", "0.1", "cell_size", 1), ("CMS.INCRBY", "bytes", "a", 256, "b", -1),
            ("TOPK.RESERVE", "list", (1 << 24) + 1, 1, 1, "1"), ("TOPK.INCRBY", "list", "a", 3, "b", "x", "c", 1))
        self.assertEqual(client.must("CMS.QUERY", "sketch", "a", "b"), [3, (1 << 32) - 1])
        self.assertEqual(client.must("CMS.QUERY", "bytes", "a", "b"), [0, 0])
        self.assertEqual(client.must("TOPK.LIST", "list", "WITHCOUNT"), [b"a", 3])

    def test_values_that_an_existing_filter_does_not_need_may_be_invalid(self):
        client = self.follow(
            ("BF.RESERVE", "k", "0.01", 100), ("BF.INSERT", "k", "CAPACITY", 0, "CAP", 2, "I", "a"),
            ("BF.INSERT", "k", "capacity", 0, "ERROR", 7, "EXPANSION", -1, "ITEMS", "b"),
            ("BF.INSERT", "new", "CAPACITY", 0, "CAP", 2, "I", "a"),  # the last value counts
            ("CF.RESERVE", "q", 100), ("CF.INSERT", "q", "CAPACITY", 4294967297, "ITEMS", "a"))
        self.assertEqual(client.must("BF.MEXISTS", "k", "a", "b", "c"), [1, 1, 0])
        self.assertEqual(client.must("BF.INFO", "new", "CAPACITY"), [2])
        self.assertEqual(client.must("CF.EXISTS", "q", "a"), 1)

    def test_a_stream_of_valkey_bloom_with_all_its_options(self):
        seed = bytes(range(224, 256))
        client = self.follow(
            ("BF.INSERT", "k", "CAPACITY", 100, "ERROR", "0.01", "TIGHTENING", "0.5", "SEED", seed, "EXPANSION", 2),
            # As clients spell it: additions are replicated verbatim.
            ("BF.INSERT", "k", "VALIDATESCALETO", 1000, "NOCREATE", "ITEMS", "a", "b"),
            ("BF.INSERT", "no ratio", "CAPACITY", 100, "ERROR", "0.01", "SEED", seed, "EXPANSION", 2, "ITEMS", "a", "b"))
        self.assertEqual([client.must("TYPE", key) for key in ("k", "no ratio")], [b"bloomfltr"] * 2)
        self.assertEqual(client.must("BF.MEXISTS", "k", "a", "b", "c"), [1, 1, 0])
        self.assertEqual(*(client.must("DEBUG", "DIGEST-VALUE", key) for key in ("k", "no ratio")))


if __name__ == "__main__":
    main()
