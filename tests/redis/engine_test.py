"""Filters as keys among others: what the engine promises for any key holds for them too.

Permissions, memory limits, transactions, notifications, client-side caching, scripts, many keys, large commands.
"""
import pathlib
import resource
import struct
import unittest

import gate_test
from client import Error, NULL_ARRAY, NULL_BULK, command, render, wait_for
from families import IMAGE_HEADER, XXHASH
from harness import GOLDEN_GUARD, MODULE, OneServerTest, RedisTest, in_both_protocols, main, module_of, needs_module, saved
from persistence_test import FOOTER, sealed

CHUNK = 64 << 10  # bytes of cells to a checksum; docs/formats/image.md
READS = ("bf.exists", "bf.mexists", "bf.card", "bf.info", "bf.scandump", "bf.debug")
WRITES = ("bf.reserve", "bf.add", "bf.madd", "bf.insert", "bf.loadchunk")


@needs_module
class CommandTableTest(OneServerTest):
    """What clients and the cluster ask about commands."""

    def test_every_command_says_what_it_does_to_its_key(self):
        for name, info in zip(READS + WRITES, self.client.must("COMMAND", "INFO", *READS, *WRITES), strict=True):
            with self.subTest(command=name):
                flags = {bytes(flag) for flag in info[2]}
                self.assertIn(b"readonly" if name in READS else b"write", flags)
                self.assertEqual(b"denyoom" in flags, name in WRITES)
                self.assertNotIn(b"movablekeys", flags)
                self.assertEqual(info[3:6], [1, 1, 1], "first key, last key, step")

    def test_keys_are_found(self):
        for words in (("BF.RESERVE", "f", "0.01", 100), ("BF.ADD", "f", "a"), ("BF.MADD", "f", "a", "b"),
                      ("BF.INSERT", "f", "NOCREATE", "ITEMS", "a"), ("BF.EXISTS", "f", "a"), ("BF.CARD", "f"),
                      ("BF.MEXISTS", "f", "a", "b"), ("BF.INFO", "f", "SIZE"), ("BF.SCANDUMP", "f", 0),
                      ("BF.LOADCHUNK", "f", 1, "x"), ("BF.REM", "f", "a", "b"), ("BF.CLEAR", "f")):
            self.assertEqual(self.client.must("COMMAND", "GETKEYS", *words), [b"f"], words)

    def test_every_command_of_the_module_has_a_description(self):
        names = [name for name in self.client.must("COMMAND", "LIST") if name.startswith(b"bf.")]
        self.assertGreaterEqual(len(names), len(READS + WRITES))
        docs = self.client.must("COMMAND", "DOCS", *names)
        for name, entry in zip(docs[::2], docs[1::2], strict=True):
            fields = dict(zip(map(bytes, entry[::2]), entry[1::2]))
            self.assertTrue(fields.get(b"summary"), name)

    def test_a_module_with_keys_stays(self):
        self.assertIsInstance(self.client.call("MODULE", "UNLOAD", module_of(self.client)[b"name"]), Error)
        self.assertEqual(self.client.must("BF.ADD", "f", "a"), 1)


@needs_module
class PermissionTest(OneServerTest):
    def test_every_family_is_told_and_documented(self):
        """The server lists the families; a new one needs its section of INFO, its ACL category and its page."""
        docs = pathlib.Path(__file__).parents[2] / "docs"
        pages = "".join(page.read_text() for page in (docs / "redis").glob("*.md"))
        names = [bytes(name).decode() for name in self.client.must("COMMAND", "LIST", "FILTERBY", "MODULE", "bf")]
        families = {name.partition(".")[0] for name in names} - {"mankai"}  # MANKAI.CONVERT
        for family in families:
            self.assertIn(f"`{family.upper()}.*`", (docs / "redis.md").read_text())
        self.assertEqual(len(families), sum(name in ("bf_filters", "bf_keys") for name in self.info_names()))
        for name in names:
            self.assertIn(f"{name.upper()}", pages)

    def info_names(self):
        text = bytes(self.client.must("INFO", "bf")).decode()
        return [line.partition(":")[0] for line in text.splitlines()]

    def test_commands_and_keys_are_guarded(self):
        self.client.must("BF.ADD", "mine", "a")
        self.client.must("BF.ADD", "yours", "a")
        user = self.as_user("+bf.exists", "+bf.info", "~mine")
        self.assertEqual(user.call("BF.EXISTS", "mine", "a"), 1)
        for words in (("BF.ADD", "mine", "b"), ("BF.EXISTS", "yours", "a"), ("BF.INFO", "yours"), ("BF.CARD", "mine")):
            self.assertRegex(user.call(*words), r"\ANOPERM ", words)

    def test_who_may_only_read_a_key_cannot_change_it(self):
        self.client.must("BF.ADD", "f", "a")
        reader = self.as_user("+@all", "%R~f")
        self.assertEqual(reader.call("BF.MEXISTS", "f", "a"), [1])
        self.assertEqual(reader.call("BF.CARD", "f"), 1)
        # The reply of BF.SCANDUMP has the seed of the filter's hash.
        self.assertNotIsInstance(self.as_user("+bf.scandump", "~f").call("BF.SCANDUMP", "f", 0), Error)
        reader = self.as_user("+@all", "%R~f")
        for words in (("BF.SCANDUMP", "f", 0), ("BF.ADD", "f", "b"), ("BF.MADD", "f", "b"), ("BF.INSERT", "f", "ITEMS", "b"),
                      ("BF.LOADCHUNK", "f", 2, "x"), ("BF.RESERVE", "f", "0.01", 10), ("BF.REM", "f", "a")):
            self.assertRegex(reader.call(*words), r"\ANOPERM ", words)


@needs_module
class MemoryTest(OneServerTest):
    def used(self):
        return int(self.client.info("memory")["used_memory"])

    def limit(self, more):
        limit = self.used() + more
        self.client.config("maxmemory", limit)
        self.addCleanup(self.client.config, "maxmemory", 0)
        return limit

    def test_filters_are_part_of_the_memory_that_is_counted(self):
        before = self.used()
        self.client.must("BF.RESERVE", "f", "0.01", 10_000_000)
        self.assertGreater(self.used() - before, 11 << 20)
        self.client.must("DEL", "f")
        self.assertLess(self.used() - before, 1 << 20)
        self.client.must("BF.RESERVE", "f", "0.01", 10_000_000)
        self.client.must("UNLINK", "f")
        wait_for("memory is freed", lambda: self.used() - before < 1 << 20)

    def test_cells_of_a_power_of_two_take_no_larger_block(self):
        if not self.client.info("memory")["mem_allocator"].startswith("jemalloc"):
            self.skipTest("not jemalloc")
        self.client.config("bf.layout", "redisbloom")
        self.addCleanup(self.client.config, "bf.layout", "mankai")
        cells = 1 << 20
        before = self.used()
        self.client.must("CF.RESERVE", "f", cells)
        self.assertLess(self.used() - before, 1.1 * cells)

    def test_cells_that_are_not_touched_take_no_physical_memory(self):
        statm = pathlib.Path(f"/proc/{self.server.process.pid}/statm")
        pages = int(statm.read_text().split()[1])
        for key in range(100):
            self.client.must("BF.RESERVE", key, "0.01", 500_000)
        taken = (int(statm.read_text().split()[1]) - pages) * resource.getpagesize()
        self.assertGreater(self.used(), 100 * 700_000)
        self.assertLess(taken, 100 * 350_000)

    def test_above_the_limit_nothing_is_added_and_everything_is_answered(self):
        self.client.must("BF.RESERVE", "f", "0.001", 1000)
        self.limit(4 << 20)
        for number in range(100_000):
            items = [f"{number}.{part}" for part in range(1000)]
            reply = self.client.call("BF.MADD", "f", *items)
            if isinstance(reply, Error) or any(isinstance(answer, Error) for answer in reply):
                break
            last = items
        self.assertRegex(render(reply), "OOM command not allowed|ERR problem inserting into filter")
        self.assertEqual(self.client.must("BF.MEXISTS", "f", *last), [1] * 1000)
        self.assertRegex(self.client.call("BF.RESERVE", "g", "0.001", 100_000_000), "OOM|Insufficient memory")
        self.client.must("DEL", "f")
        self.assertEqual(self.client.must("BF.ADD", "f", "a"), 1)

    def test_a_value_that_the_machine_cannot_hold_is_refused(self):
        """Zeros take no memory before they are touched, but DUMP and BGSAVE pass over all of them."""
        with open("/proc/meminfo", encoding="ascii") as file:
            sizes = {line.split(":")[0]: int(line.split()[1]) << 10 for line in file}
        cells = (sizes["MemTotal"] + sizes["SwapTotal"]) // 4 + (1 << 20)
        for words, error in ((("CMS.INITBYDIM", "f", cells // 4, 4), "CMS: Insufficient memory to create the key"),
                             (("TOPK.RESERVE", "f", 10, cells // 8, 4, "0.9"),
                              "ERR Insufficient memory to create topk data structure")):
            self.assertEqual(self.client.call(*words), error)
            self.assertEqual(self.client.must("EXISTS", "f"), 0)
        self.client.must("CMS.INITBYDIM", "f", cells // 16, 4)

    def test_filters_are_evicted_as_other_keys(self):
        self.client.config("maxmemory-policy", "allkeys-lru")
        self.addCleanup(self.client.config, "maxmemory-policy", "noeviction")
        limit = self.limit(2 << 20)
        for number in range(200):
            self.client.must("BF.RESERVE", f"f{number}", "0.01", 20000)  # 24 kB and more
        self.assertLess(self.client.must("DBSIZE"), 120)
        self.assertLess(self.used(), limit + (256 << 10))

    def test_one_command_cannot_take_more_than_the_limit(self):
        """The engine looks at its memory before a command, and one command may ask for gigabytes."""
        before = self.limit(50 << 20) - (50 << 20)
        self.client.must("BF.RESERVE", "fits", "0.01", 10_000_000)
        self.assertEqual(self.client.call("BF.RESERVE", "large", "0.01", 100_000_000),
                         "ERR Insufficient memory to create filter")
        self.assertEqual(self.client.must("EXISTS", "large"), 0)
        self.client.must("BF.RESERVE", "grows", "0.01", 10_000, "EXPANSION", 32768)
        reply = self.client.call("BF.MADD", "grows", *range(20_000))
        self.assertEqual(reply[-1], "ERR problem inserting into filter")
        self.assertEqual(self.client.must("BF.CARD", "grows"), 10_000)
        self.assertTrue(all(self.client.must("BF.MEXISTS", "grows", *range(len(reply) - 1))))
        self.client.config("maxmemory-policy", "allkeys-lru")
        self.addCleanup(self.client.config, "maxmemory-policy", "noeviction")
        self.assertEqual(self.client.call("BF.RESERVE", "large", "0.01", 100_000_000),
                         "ERR Insufficient memory to create filter")
        self.client.must("BF.RESERVE", "in place of another", "0.01", 30_000_000)
        self.assertLess(self.used() - before, 80 << 20)

    def test_flushing_in_the_background_frees_everything(self):
        before = self.used()
        for number in range(50):
            self.client.must("BF.RESERVE", f"f{number}", "0.01", 100_000)
            self.client.must("BF.MADD", f"f{number}", "a", "b")
        self.assertGreater(self.used() - before, 5 << 20)
        self.client.must("FLUSHALL", "ASYNC")
        wait_for("memory is freed", lambda: self.used() - before < 1 << 20)


@needs_module
class ReservationTest(RedisTest):
    """A filter's hash and rules are told by their names, and commands of older versions, which have none, mean what they meant."""

    SIPHASH, NH_SIPHASH = 2, 4  # docs/formats/image.md
    SEED = "00112233445566778899aabbccddeeff"
    # {key: (what an older version told to make it, what that is in full, how it is filled)}; the prefix is a key's name.
    OLD = {
        "bf": ("BF.RESERVE bf 0.01 100 EXPANSION 2 SEED {seed}", "BOUND total", "BF.MADD bf {items}"),
        "bf:low": ("BF.RESERVE bf:low 0.000001 1000 EXPANSION 2 SEED {seed}", "BOUND total", "BF.MADD bf:low {items}"),
        "bf:counted": ("BF.RESERVE bf:counted 0.01 100 EXPANSION 2 DELETABLE SEED {seed}", "", "BF.MADD bf:counted {items}"),
        "cbf": ("CBF.RESERVE cbf 0.01 100 EXPANSION 2 SEED {seed}", "", "CBF.ADD cbf {numbered}"),
        "url": ("URL.RESERVE url 0.01 100 EXPANSION 2 SEED {seed}", "RULES 1", "URL.ADD url {items} a.example/x%2Fy"),
        "fade": ("FADE.RESERVE fade 0.01 100 SLOTS 8 SEED {seed}", "", "FADE.PUT fade {items}"),
        "hot": ("HOT.RESERVE hot LAMBDA 0.5 EPOCH 1h MEMORY 4096 SEED {seed}", "", "HOT.INCRBYAT hot 1700000000000 {numbered}"),
        "hot:sized": ("HOT.RESERVE hot:sized LAMBDA 0.5 EPOCH 1h CAPACITY 100 ERROR 0.01 SEED {seed}", "",
                      "HOT.INCRBYAT hot:sized 1700000000000 {numbered}"),
    }

    def words(self, text, prefix=""):
        items = [f"a.example/{number}" for number in range(250)]  # more than a sub-filter
        numbered = " ".join(f"{item} {number + 1}" for number, item in enumerate(items))
        words = text.format(seed=self.SEED, items=" ".join(items), numbered=numbered).split()
        return [words[0], prefix + words[1], *words[2:]]

    def old_stream(self):
        return [self.words(text) for make, _, fill in self.OLD.values() for text in (make, fill)]

    @staticmethod
    def image_of(client, key):
        header = bytes(client.must(f"{key.partition(':')[0]}.SCANDUMP", key, 0)[1])
        return header[-IMAGE_HEADER - 8:-8]

    def digests(self, client):
        return [bytes(digest) for digest in client.must("DEBUG", "DIGEST-VALUE", *self.OLD)]

    def assert_is_old(self, client):
        """And the same bits as in a filter that is made by all names."""
        for key, (make, more, fill) in self.OLD.items():
            self.assertEqual(self.image_of(client, key)[12], self.SIPHASH, key)
            client.must("DEL", f"full:{key}")
            client.must(*self.words(f"{make} HASH siphash {more}", "full:"))
            client.must(*self.words(fill, "full:"))
            self.assertEqual(*client.must("DEBUG", "DIGEST-VALUE", key, f"full:{key}"), key)
        self.assertIn(b" hashes:8 ", bytes(client.must("BF.DEBUG", "bf:low")[1]))  # one cache line per item
        for key in ("url", "full:url"):
            self.assertEqual(dict(zip(*[iter(client.must("URL.INFO", key))] * 2))[b"URL rules"], 1)
            self.assertEqual(client.must("URL.SEEN", key, "a.example/x/y"), [1])  # which is another URL since

    def test_an_append_only_file_of_an_older_version(self):
        server = self.start(appendonly="yes", appendfsync="always", aof_use_rdb_preamble="no")
        server.client().must("SET", "beside", "x")
        server.stop()
        (file,) = (server.folder / "appendonlydir").glob("*.incr.aof")
        with open(file, "ab") as end:
            end.writelines(command(*words) for words in self.old_stream())
        server.start()
        client = server.client()
        self.assert_is_old(client)
        both = [*self.OLD, *(f"full:{key}" for key in self.OLD)]
        before = client.must("DEBUG", "DIGEST-VALUE", *both)
        client.must("DEBUG", "LOADAOF")  # what was told then, and what is told now
        self.assertEqual(client.must("DEBUG", "DIGEST-VALUE", *both), before)

    def test_a_window_of_an_older_version_has_its_rounding_twice(self):
        server = self.start(appendonly="yes", appendfsync="always", aof_use_rdb_preamble="no")
        once = f"HOT.RESERVE hot WINDOW 480s ROUNDING STRICT MEMORY 65536 HASH siphash SEED {self.SEED}".split()
        twice = [*once, "ROUNDING", "STRICT"]
        self.assertEqual(server.client().call(*twice), "ERR the option 'ROUNDING' is given twice")
        server.client().must(*once)
        server.stop()
        (file,) = (server.folder / "appendonlydir").glob("*.incr.aof")
        self.assertEqual(file.read_bytes().count(b"ROUNDING"), 1)
        with open(file, "ab") as end:
            end.write(command(twice[0], "old", *twice[2:]))
        server.start()
        self.assertEqual(*server.client().must("DEBUG", "DIGEST-VALUE", "hot", "old"))

    def test_a_replica_gets_by_name_what_was_asked_for_in_the_old_form(self):
        primary, replica = self.start(tcp=True), self.start(tcp=True)
        replica.replicate(primary)
        client = primary.client()
        for words in self.old_stream():
            client.must(*words)
        replica.wait_for_primary(primary)
        self.assertEqual(self.digests(replica.client()), self.digests(client))
        self.assert_is_old(client)

    def test_a_replica_gets_the_same_filter_of_a_low_rate(self):
        primary, replica = self.start(tcp=True), self.start(tcp=True)
        replica.replicate(primary)
        client = primary.client()
        client.must("BF.RESERVE", "low", "0.000001", 1000)
        client.must("BF.MADD", "low", *range(2000))
        client.must("BF.RESERVE", "alike", "0.000001", 1000, "SEED", self.SEED, "BOUND", "gradual")
        client.must("BF.INSERT", "fixed", "CAPACITY", 1000, "ERROR", "0.000001", "NONSCALING", "ITEMS", *range(1000))
        client.must("BF.RESERVE", "older", "0.000001", 1000, "NONSCALING", "SEED", self.SEED)
        replica.wait_for_primary(primary)
        keys = {"low": 16, "alike": 16, "fixed": 16, "older": 8}
        for one in (client, replica.client()):
            for key, hashes in keys.items():
                self.assertIn(b" hashes:%d " % hashes, bytes(one.must("BF.DEBUG", key)[1]))
            self.assertEqual(one.must("BF.MEXISTS", "fixed", *range(1000)), [1] * 1000)
        self.assertEqual(*(one.must("DEBUG", "DIGEST-VALUE", *keys) for one in (client, replica.client())))
        self.assertLess(*(client.must("MEMORY", "USAGE", key) for key in ("fixed", "older")))
        client.must("BF.CLEAR", "fixed")
        client.must("COPY", "fixed", "one")
        client.must("BF.ADD", "one", "a")
        client.must("BF.MERGE", "fixed", "one")
        self.assertEqual(client.must("BF.EXISTS", "fixed", "a"), 1)
        self.assertEqual(*(client.must("BF.INFO", key, "SIZE") for key in ("fixed", "one")))
        client.must("RESTORE", "again", 0, client.must("DUMP", "one"))
        self.assertEqual(*(client.must("DEBUG", "DIGEST-VALUE", key) for key in ("again", "one")))

    def test_filters_of_one_old_seed_are_merged_wherever_they_were_made(self):
        client = self.start().client()
        for key, more in (("a", ""), ("b", "HASH siphash"), ("c", "hash SIPHASH")):
            client.must(*f"BF.RESERVE {key} 0.01 100 SEED {self.SEED} {more}".split())
            client.must("BF.ADD", key, f"of {key}")
        client.must("BF.MERGE", "a", "b", "c")
        self.assertEqual(client.must("BF.MEXISTS", "a", "of a", "of b", "of c", "of d"), [1, 1, 1, 0])
        client.must("BF.RESERVE", "other", "0.01", 100, "HASH", "nh-siphash", "SEED", self.SEED)
        self.assertRegex(client.call("BF.MERGE", "a", "other"), "different seeds")

    def test_new_filters_have_the_new_hash_everywhere(self):
        """Of those that are reserved, and of those that are made by what is added first."""
        primary = self.start(tcp=True, appendonly="yes", appendfsync="always", aof_use_rdb_preamble="no")
        replica = self.start(tcp=True)
        replica.replicate(primary)
        client = primary.client()
        for key, (make, _, fill) in self.OLD.items():
            text = make.removesuffix("SEED {seed}")
            client.must(*self.words(text + ("HASH nh-siphash" if key == "cbf" else "")))
            client.must(*self.words(fill))
        for words in (("BF.ADD", "bf:added", "a"), ("CBF.ADD", "cbf:added", "a", 1), ("URL.ADD", "url:added", "a.example")):
            client.must(*words)
        keys = [*self.OLD, "bf:added", "cbf:added", "url:added"]
        before = client.must("DEBUG", "DIGEST-VALUE", *keys)
        replica.wait_for_primary(primary)

        def check(client):
            self.assertEqual(client.must("DEBUG", "DIGEST-VALUE", *keys), before)
            for key in keys:
                self.assertEqual(self.image_of(client, key)[12], self.NH_SIPHASH, key)
            self.assertEqual(dict(zip(*[iter(client.must("URL.INFO", "url"))] * 2))[b"URL rules"], 2)

        check(client)
        check(replica.client())
        (file,) = (primary.folder / "appendonlydir").glob("*.incr.aof")
        reservations = file.read_bytes().count(b".RESERVE\r\n")
        self.assertEqual((reservations, file.read_bytes().count(b"HASH\r\n$10\r\nnh-siphash\r\n")), (len(keys), len(keys)))
        self.assertEqual(file.read_bytes().count(b"RULES\r\n$1\r\n2\r\n"), 2)
        primary.restart(kill=True)
        check(primary.client())
        saved(primary.client(), "BGREWRITEAOF")
        primary.restart(kill=True)
        check(primary.client())

    def test_names_that_are_none(self):
        client = self.start().client()
        for make, _, _ in self.OLD.values():
            for more, error in (("HASH xxh3", "bad hash: give nh-siphash, aes4-prf or siphash"), ("HASH", "bad hash|no value"), ("SEED", "bad seed|no value"),
                                ("HASH nh-siphash SEED 0011223344556677", "bad seed: give 32 hexadecimal digits")):
                text = make.removesuffix("SEED {seed}") + more
                self.assertRegex(render(client.call(*self.words(text))), error, text)
        for rules in ("0", "3", "x", "-1", "4294967297"):
            self.assertRegex(client.call("URL.RESERVE", "f", "0.01", 10, "RULES", rules), "ERR bad rules: give 1 or 2")
        self.assertRegex(client.call("URL.RESERVE", "f", "0.01", 10, "RULES"), "Unknown argument")
        self.assertRegex(client.call("CBF.RESERVE", "f", "0.01", 10, "RULES", 2), "Unknown argument")
        self.assertEqual(client.must("DBSIZE"), 0)

    def test_an_option_that_is_given_twice_is_an_error(self):
        client = self.start().client()
        for key, (make, _, _) in self.OLD.items():
            self.assertEqual(client.call(*self.words(make + " HASH siphash hash siphash")), "ERR the option 'hash' is given twice", key)
        for words, name in (("URL.RESERVE f 0.01 10 RULES 1 RULES 1", "RULES"), ("TOPK.RESERVE f 3 HALFLIFE 1h HALFLIFE 2h", "HALFLIFE"), ("HOT.RESERVE f MEMORY 4096 MEMORY 65536", "MEMORY"),
                            ("CMS.INITBYDIM f 10 4 HASH siphash HASH siphash", "HASH"), ("CF.RESERVE f 64 EXPANSION 1 EXPANSION 2", "EXPANSION"),
                            ("BF.RESERVE f 0.01 10 DELETABLE DELETABLE", "DELETABLE"), ("BF.INSERT f TTL 60 TTL 90 ITEMS a", "TTL"),
                            ("FADE.RESERVE f 0.01 10 SLOTS 4 SLOTS 5", "SLOTS"), ("HOT.TOP f 5 OFFSET 1 OFFSET 2", "OFFSET")):
            self.assertEqual(client.call(*words.split()), f"ERR the option '{name}' is given twice", words)
        self.assertEqual(client.must("DBSIZE"), 0)
        client.must("BF.INSERT", "f", "CAPACITY", 10, "CAPACITY", 20, "ITEMS", "CAPACITY", "TTL", "TTL")  # as in RedisBloom

    def test_rules_and_hash_are_chosen_apart(self):
        client = self.start().client()
        for more, kind, rules in (("", 4, 2), ("RULES 1", 4, 1), ("HASH siphash", 2, 2), ("SEED {seed}", 2, 1),
                                  ("SEED {seed} RULES 2", 2, 2), ("SEED {seed} HASH nh-siphash", 4, 2),
                                  ("RULES 1 HASH nh-siphash SEED {seed}", 4, 1), ("HASH aes4-prf", 5, 2)):
            client.must("DEL", "url")
            client.must(*self.words(f"URL.RESERVE url 0.01 100 {more}"))
            image = bytes(client.must("URL.SCANDUMP", "url", 0)[1])[16:16 + IMAGE_HEADER]
            self.assertEqual((image[12], image[15]), (kind, rules), more)


def of_size(header, cells_bytes):
    """Forges the size of the last image that the header of a SCANDUMP announces, and all checksums."""
    header = bytearray(header)
    last, outer = len(header) - 8 - IMAGE_HEADER, 16

    def set_size(at, size):
        struct.pack_into("<Q", header, at + 16, size)
        struct.pack_into("<Q", header, at + 120, XXHASH(bytes(header[at:at + 120]), 120, 0))

    set_size(last, cells_bytes)
    if header[last - IMAGE_HEADER + 13] == 1 and last > outer:  # in one slice, behind an outer header
        trailer = 8 * ((cells_bytes + CHUNK - 1) // CHUNK + 1)
        set_size(last - IMAGE_HEADER, (IMAGE_HEADER + cells_bytes + trailer + 63) // 64 * 64)
    body = bytes(header[:-8])
    return body + struct.pack("<Q", XXHASH(body, len(body), (1 << 64) - 1))


def rdb_length(number):
    return b"\x81" + number.to_bytes(8, "big")


def rdb_string(data):
    return b"\x05" + rdb_length(len(data)) + data


def rdb_number(number):
    return b"\x02" + rdb_length(number)


@unittest.skipIf(XXHASH is None, "no libxxhash.so.0")
@needs_module
class AnnouncedSizeTest(RedisTest):
    """A value from outside takes the memory of what it brings, not of what its header says: no other key pays for it."""

    MAXMEMORY = 64 << 20
    SIZES = (1 << 20, 20 << 20, 50 << 20, 1288490240, 1374389534720)  # 1.2 GiB: 2^30 items; 1.25 TiB
    OTHERS = 2000

    def headers(self, client):
        """Returns {family: (a DUMP, the header of it)} of values that are small."""
        client.must("BF.RESERVE", "bf", "0.01", 10)
        client.must("BF.RESERVE", "bfd", "1e-9", 10, "DELETABLE")  # counters: pieces of cuckoo filters are bound
        client.must("CBF.RESERVE", "cbf", "0.01", 10)
        client.must("URL.RESERVE", "url", "0.01", 10)
        client.must("HOT.RESERVE", "hot", "MEMORY", 2048)
        client.must("FADE.RESERVE", "fade", "0.01", 10)
        client.must("CMS.INITBYDIM", "cms", 10, 4)
        client.must("TOPK.RESERVE", "topk", 10)
        found = {key: (client.must("DUMP", key), bytes(client.must(f"{command}.SCANDUMP", key, 0)[1]))
                 for key, command in (("bf", "BF"), ("bfd", "BF"), ("cbf", "CBF"), ("url", "URL"), ("hot", "HOT"),
                                      ("fade", "FADE"), ("cms", "CMS"), ("topk", "TOPK"))}
        image, cells = gate_test.slice_of(client, 10)
        gate_test.load(client, "gate", gate_test.pieces_of(gate_test.header_of(image, cells), cells))
        found["gate"] = client.must("DUMP", "gate"), gate_test.header_of(image, cells)
        client.must("FLUSHALL")
        return found

    def crowded(self, policy):
        server = self.start(maxmemory_policy=policy)
        client = server.client()
        headers = self.headers(client)
        client.pipeline([("SET", f"other{number}", "x" * 100, "EX", 100_000) for number in range(self.OTHERS)])
        client.config("maxmemory", self.MAXMEMORY)
        self.before = int(client.info("memory")["used_memory"])
        return client, headers

    def assert_others_stay(self, client, what, most=1 << 20):
        self.assertLess(int(client.info("memory")["used_memory"]) - self.before, most, what)
        client.must("DEL", "forged")
        client.must("SET", "one more", "x")
        self.assertEqual((client.must("DBSIZE"), client.info("stats")["evicted_keys"]), (self.OTHERS + 1, "0"), what)

    def test_restored_values(self):
        for policy in ("allkeys-lru", "volatile-lru"):
            client, headers = self.crowded(policy)
            for family, (dump, header) in headers.items():
                for size in self.SIZES:
                    forged = dump[:10] + rdb_string(of_size(header, size))
                    nothing_yet = rdb_number(0) + b"\0"
                    for behind in (nothing_yet, rdb_number(size), rdb_number(size) + rdb_string(b"x" * 1000)):
                        reply = client.call("RESTORE", "forged", 0, sealed(forged + behind, dump[-FOOTER:]))
                        if behind is nothing_yet:
                            self.assertEqual(reply, b"OK", family)
                            self.assertLess(client.must("MEMORY", "USAGE", "forged"), 4096)
                        else:
                            self.assertEqual(reply, "ERR Bad data format", family)
                        self.assert_others_stay(client, (policy, family, size))

    def test_pieces_take_twice_their_bytes_at_most(self):
        client, headers = self.crowded("allkeys-lru")
        piece = bytes(1 << 20)
        first = piece + struct.pack("<Q", XXHASH(piece, len(piece), 0))
        for family in ("bf", "bfd", "cbf", "url", "fade", "cms"):
            dump, header = headers[family]
            for size in self.SIZES[1:]:
                header = of_size(headers[family][1], size)
                forged = dump[:10] + rdb_string(header) + rdb_number(len(piece)) + rdb_string(first) + b"\0"
                self.assertEqual(client.must("RESTORE", "forged", 0, sealed(forged, dump[-FOOTER:])), b"OK")
                self.assertLess(client.must("MEMORY", "USAGE", "forged"), 3 << 20)
                self.assert_others_stay(client, (family, size), 8 << 20)  # the client's buffers, too
                command = f"{family.removesuffix('d').upper() if family != 'fade' else 'FADE'}.LOADCHUNK"
                if size > self.MAXMEMORY:
                    continue
                for chunk in ((1, header), (1 + len(piece), first)):
                    self.assertEqual(client.must(command, "forged", *chunk), b"OK")
                self.assertLess(client.must("MEMORY", "USAGE", "forged"), 3 << 20)
                self.assert_others_stay(client, (family, size), 8 << 20)

    def test_loaded_headers(self):
        client, headers = self.crowded("allkeys-lru")
        for family, (_, header) in headers.items():
            for size in self.SIZES:
                command = f"{'bf' if family == 'bfd' else family}.LOADCHUNK"
                reply = client.call(command, "forged", 1, of_size(header, size))
                if size < self.MAXMEMORY:
                    self.assertEqual(reply, b"OK", family)
                    self.assertLess(client.must("MEMORY", "USAGE", "forged"), 4096)
                else:
                    self.assertEqual(reply, "ERR Insufficient memory", family)
                self.assert_others_stay(client, (family, size))

    def test_rules(self):
        client, _ = self.crowded("volatile-lru")
        image = GOLDEN_GUARD.read_bytes()
        client.must("GUARD.LOADCHUNK", "forged", 0, len(image), image)
        dump = client.must("DUMP", "forged")
        client.must("DEL", "forged")
        for size in self.SIZES[:-1]:
            self.assertEqual(client.must("GUARD.LOADCHUNK", "forged", 0, size, image), b"OK")
            self.assert_others_stay(client, size)
            for received, data in ((0, b""), (len(image), image)):
                forged = dump[:10] + rdb_number(size) + rdb_number(received) + rdb_string(data) + b"\0"
                self.assertEqual(client.must("RESTORE", "forged", 0, sealed(forged, dump[-FOOTER:])), b"OK")
                self.assert_others_stay(client, size)

    def test_what_is_whole_is_still_loaded(self):
        """Pieces of 16 MiB, more of them than make one step of the memory."""
        client = self.start().client()
        client.must("BF.RESERVE", "f", "0.01", 40_000_000)
        client.must("BF.MADD", "f", *range(1000))
        client.must("RESTORE", "twin", 0, client.must("DUMP", "f"))
        client.must("COPY", "f", "copy")
        self.assertEqual(len(set(map(bytes, client.must("DEBUG", "DIGEST-VALUE", "f", "twin", "copy")))), 1)
        sizes = [client.must("MEMORY", "USAGE", key) for key in ("f", "twin", "copy")]
        self.assertLess(max(sizes) - min(sizes), 1024)


def limit_filters(client, limit):
    """Sets how large one filter may be. 7.0 puts the module's name in front of its configs."""
    (name,) = client.must("CONFIG", "GET", "*filter-memory-limit")[::2]
    client.must("CONFIG", "SET", name, limit)
    return int(client.must("CONFIG", "GET", name)[1])


@needs_module
class FilterLimitTest(RedisTest):
    """What one filter may take, whatever the server has."""

    TOO_LARGE = "ERR the filter would be larger than filter-memory-limit allows"
    LIMIT = 100 << 10

    def limited(self, **options):
        server = self.start(**options)
        client = server.client()
        self.assertEqual(limit_filters(client, "100kb"), self.LIMIT)
        return server, client

    def size(self, client, key):
        return client.must("BF.INFO", key, "SIZE")[0]

    def test_without_a_limit_there_is_none(self):
        client = self.start().client()
        self.assertEqual(client.must("CONFIG", "GET", "*filter-memory-limit")[1], b"0")
        client.must("BF.RESERVE", "f", "0.01", 1_000_000)

    def test_filters_are_not_made_larger(self):
        _, client = self.limited()
        for options in ((), ("NONSCALING",), ("DELETABLE",)):
            self.assertEqual(client.call("BF.RESERVE", "f", "0.01", 100_000, *options), self.TOO_LARGE)
        self.assertEqual(client.call("BF.INSERT", "f", "CAPACITY", 100_000, "ITEMS", "a"), self.TOO_LARGE)
        self.assertEqual(client.must("EXISTS", "f"), 0)
        client.must("BF.RESERVE", "f", "0.01", 50_000)
        self.assertLess(self.size(client, "f"), self.LIMIT)

    def test_filters_do_not_grow_larger(self):
        _, client = self.limited()
        for options in ((), ("EXPANSION", 1), ("DELETABLE",)):
            client.must("BF.RESERVE", "f", "0.01", 500, *options)
            reply = client.must("BF.MADD", "f", *range(40_000))
            self.assertEqual(reply[-1], self.TOO_LARGE)
            self.assertTrue(all(client.must("BF.MEXISTS", "f", *range(len(reply) - 1))))
            self.assertLess(self.size(client, "f"), self.LIMIT + 8192, "the cells count, and a little beside them")
            self.assertGreater(self.size(client, "f"), self.LIMIT // 4)
            self.assertEqual(client.call("BF.ADD", "f", f"{len(reply) - 1}"), self.TOO_LARGE)
            self.assertEqual(client.call("BF.ADD", "f", "0"), 0)
            limit_filters(client, 0)
            self.assertEqual(client.call("BF.ADD", "f", f"{len(reply) - 1}"), 1)
            limit_filters(client, self.LIMIT)
            client.must("DEL", "f")

    def test_filters_are_not_merged_or_loaded_into_larger_ones(self):
        _, client = self.limited()
        client.must("BF.RESERVE", "a", "0.01", 25_000)  # about 35 kB, and what it opens next is larger than the limit
        client.must("COPY", "a", "b")
        client.must("COPY", "a", "c")
        for number, key in enumerate("abc"):
            client.must("BF.MADD", key, *range(20_000 * number, 20_000 * (number + 1)))
        self.assertEqual(client.call("BF.MERGE", "a", "b", "c"), self.TOO_LARGE)
        self.assertEqual(client.call("BF.MERGE", "new", "a", "b", "c"), self.TOO_LARGE)
        limit_filters(client, 0)
        client.must("BF.RESERVE", "large", "0.01", 100_000)
        header, cells = client.must("BF.SCANDUMP", "large", 0), client.must("BF.SCANDUMP", "large", 1)
        limit_filters(client, self.LIMIT)
        self.assertEqual(client.call("BF.LOADCHUNK", "copy", *header), self.TOO_LARGE)
        self.assertEqual(client.must("EXISTS", "copy"), 0)
        limit_filters(client, 0)
        client.must("BF.LOADCHUNK", "copy", *header)
        client.must("BF.LOADCHUNK", "copy", *cells)

    def test_no_family_goes_over_it(self):
        _, client = self.limited()
        large = (("CBF.RESERVE", "f", "0.01", 100_000), ("URL.RESERVE", "f", "0.01", 100_000),
                 ("FADE.RESERVE", "f", "0.01", 100_000), ("HOT.RESERVE", "f", "MEMORY", 200_000),
                 ("CMS.INITBYDIM", "f", 10_000, 5), ("TOPK.RESERVE", "f", 10, 5000, 5, "0.9"))
        for words in large:
            self.assertEqual(client.call(*words), self.TOO_LARGE)
            limit_filters(client, 0)
            client.must(*words)
            family = words[0].partition(".")[0]
            header = client.must(f"{family}.SCANDUMP", "f", 0)
            limit_filters(client, self.LIMIT)
            self.assertEqual(client.call(f"{family}.LOADCHUNK", "copy", *header), self.TOO_LARGE)
            client.must("DEL", "f")
        added = client.must("CBF.ADD", "cbf", *(word for number in range(40_000) for word in (number, number)))
        self.assertEqual(added[-1], self.TOO_LARGE)
        self.assertTrue(all(client.must("CBF.EXISTS", "cbf", *range(added.index(self.TOO_LARGE)))))
        urls = [f"http://example.org/{number}" for number in range(100_000)]
        added = client.must("URL.ADD", "url", *urls)
        self.assertEqual(added[-1], self.TOO_LARGE)
        self.assertTrue(all(client.must("URL.SEEN", "url", *urls[:added.index(self.TOO_LARGE)])))

    def test_what_there_is_is_loaded_and_replicated(self):
        primary, replica = self.start(tcp=True, appendonly="yes", aof_use_rdb_preamble="no"), self.start(tcp=True)
        client = primary.client()
        limit_filters(replica.client(), self.LIMIT)
        replica.replicate(primary)
        client.must("BF.RESERVE", "f", "0.01", 1_000_000)
        client.must("BF.RESERVE", "grown", "0.01", 1000)
        client.must("BF.MADD", "grown", *range(30_000))
        limit_filters(client, self.LIMIT)
        before = bytes(client.must("DEBUG", "DIGEST"))
        replica.wait_for_primary(primary)
        self.assertEqual(replica.client().must("DEBUG", "DIGEST"), before)
        for words in (("DEBUG", "LOADAOF"), ("DEBUG", "RELOAD")):
            client.must(*words)
            self.assertEqual(client.must("DEBUG", "DIGEST"), before)


@needs_module
class FullTest(OneServerTest):
    """Filters that have as many sub-filters as one can have say so; they do not begin to know everything."""

    ITEMS = 4096  # as many as there are sub-filters of one item each

    def strangers(self, command):
        return sum(self.client.must(command, "f", *(f"http://stranger/{number}" for number in range(2000))))

    def test_bloom_filters(self):
        for rate, *options in (("0.01",), ("1e-9", "DELETABLE")):
            self.client.must("BF.RESERVE", "f", rate, 1, "EXPANSION", 1, *options)
            reply = self.client.must("BF.MADD", "f", *range(6000))
            self.assertEqual(reply[-1], "ERR problem inserting into filter")
            self.assertGreaterEqual(len(reply) - 1, self.ITEMS)
            self.assertTrue(all(self.client.must("BF.MEXISTS", "f", *range(len(reply) - 1))))
            self.assertLess(self.strangers("BF.MEXISTS"), 60)
            self.assertEqual(self.client.must("BF.MADD", "f", "0", "1"), [0, 0])
            self.assertEqual(self.client.call("BF.ADD", "f", str(len(reply) - 1)), reply[-1])
            self.client.must("DEL", "f")

    def test_urls(self):
        self.client.must("URL.RESERVE", "f", "0.01", 1, "EXPANSION", 1)
        urls = [f"http://example.org/{number}" for number in range(6000)]
        reply = self.client.must("URL.ADD", "f", *urls)
        done = reply.index("ERR the filter is full: reserve a larger one")
        self.assertGreaterEqual(done, self.ITEMS)
        self.assertEqual(set(reply[done:]), {reply[done]})
        self.assertTrue(all(self.client.must("URL.SEEN", "f", *urls[:done])))
        self.assertLess(self.strangers("URL.SEEN"), 60)

    def test_counting_filters(self):
        self.client.must("CBF.RESERVE", "f", "0.01", 1, "EXPANSION", 1)
        reply = self.client.must("CBF.ADD", "f", *(word for number in range(6000) for word in (number, number)))
        done = reply.index("ERR the filter is full: reserve a larger one")
        self.assertGreaterEqual(done, self.ITEMS)
        self.assertTrue(all(self.client.must("CBF.EXISTS", "f", *range(done))))
        self.assertLess(self.strangers("CBF.EXISTS"), 60)


@needs_module
class WorkTest(RedisTest):
    """A command that would keep everybody waiting for seconds is refused before anything is done."""

    TOO_MUCH = "ERR too many items in one command for a filter with so many sub-filters; send fewer items per command"
    MOST = 1 << 24  # items times sub-filters
    ADDS = (("BF", "BF.MADD", ()), ("BF", "BF.MADD", ("DELETABLE",)), ("CBF", "CBF.ADD", ()), ("URL", "URL.ADD", ()))

    @staticmethod
    def words(family, numbers):
        if family == "CBF":
            return [word for number in numbers for word in (number, number)]
        return [f"http://example.org/{number}" for number in numbers]

    @staticmethod
    def most_items(room):
        """How many new items are the most, where each `room` of them opens a sub-filter."""
        items = work = 0
        while work + (items // room + 1) <= WorkTest.MOST:
            work += items // room + 1
            items += 1
        return items

    def test_adding(self):
        client = self.start().client()
        for family, add, options in self.ADDS:
            client.must(f"{family}.RESERVE", "f", "0.01", 10, "EXPANSION", 1, *options)
            words = self.words(family, range(self.most_items(10) + 1))
            before = client.must("DEBUG", "DIGEST-VALUE", "f")
            self.assertEqual(client.call(add, "f", *words), self.TOO_MUCH)
            self.assertEqual(client.must("DEBUG", "DIGEST-VALUE", "f"), before)
            each = 2 if family == "CBF" else 1
            self.assertNotIn(self.TOO_MUCH, client.must(add, "f", *words[:-each]))
            client.must("DEL", "f")

    def test_nothing_is_made_for_what_is_refused(self):
        client = self.start().client()
        for name in ("bf", "url"):
            for setting, value in (("expansion-factor", 1), ("initial-size", 10)):
                # *bf-… is that of cbf, too; 7.0 puts the module's name in front.
                for found in client.must("CONFIG", "GET", f"*{name}-{setting}")[::2]:
                    client.must("CONFIG", "SET", found, value)
        for family, add in (("BF", "BF.MADD"), ("CBF", "CBF.ADD"), ("URL", "URL.ADD")):
            self.assertEqual(client.call(add, "f", *self.words(family, range(self.most_items(10) + 1))), self.TOO_MUCH)
            self.assertEqual(client.must("EXISTS", "f"), 0)

    def test_asking_and_removing(self):
        client = self.start().client()
        for family, add, options, *asks in ((*self.ADDS[0], "BF.MEXISTS"), (*self.ADDS[1], "BF.MEXISTS", "BF.REM"),
                                            (*self.ADDS[2], "CBF.EXISTS", "CBF.COUNT", "CBF.REM"),
                                            (*self.ADDS[3], "URL.SEEN")):
            # The sub-filters of a cuckoo filter hold more than their capacity here: such a rate has counters.
            client.must(f"{family}.RESERVE", "f", "1e-9" if options else "0.01", 1, "EXPANSION", 1, *options)
            client.must(add, "f", *self.words(family, range(1024)))
            facts = client.must(f"{family}.INFO", "f")
            slices = facts[facts.index(b"Number of filters") + 1]
            self.assertGreater(slices, 900)
            for ask in asks:
                words = self.words(family if ask == "CBF.REM" else "", range(5000, 5001 + self.MOST // slices))
                self.assertEqual(client.call(ask, "f", *words), self.TOO_MUCH, ask)
                each = 2 if ask == "CBF.REM" else 1
                self.assertEqual(len(client.must(ask, "f", *words[:-each])), self.MOST // slices)
            client.must("DEL", "f")

    def test_what_was_done_is_done_again(self):
        """From an AOF file, as of a version without this limit, and from a primary."""
        server = self.start(appendonly="yes", aof_use_rdb_preamble="no", appendfsync="always")
        client = server.client()
        client.must("BF.RESERVE", "f", "0.01", 10, "EXPANSION", 1)
        client.must("URL.RESERVE", "u", "0.01", 10)
        words = self.words("", range(self.most_items(10) + 1))
        url = "http://example.org/".ljust(100_000, "x")
        server.stop()
        (log,) = (server.folder / "appendonlydir").glob("*.incr.aof")
        with log.open("ab") as out:
            out.write(command("BF.MADD", "f", *words) + command("URL.ADD", "u", url))
        server.start()
        client = server.client()
        self.assertTrue(all(client.must("BF.EXISTS", "f", word) for word in words[:3] + words[-3:]))
        facts = client.must("URL.INFO", "u")
        self.assertEqual(facts[facts.index(b"Number of URLs") + 1], 1)


@needs_module
class DefragTest(OneServerTest):
    """Only engines built with their own allocator can do it: not Debian's."""

    def setUp(self):
        super().setUp()
        if isinstance(self.client.call("CONFIG", "SET", "activedefrag", "yes"), Error):
            self.skipTest("this engine cannot defragment")
        for name, value in (("active-defrag-ignore-bytes", 1), ("active-defrag-threshold-lower", 0),
                            ("active-defrag-cycle-min", 65), ("active-defrag-cycle-max", 75)):
            self.client.config(name, value)

    def moved(self):
        return int(self.client.info("bf_memory")["bf_cells_moved"])

    def test_filters_are_moved_and_stay_what_they_are(self):
        count = 6000
        seed = "SEED", "0" * 32  # of values whose answers a random one could change
        self.client.config("activedefrag", "no")
        self.client.pipeline([("BF.INSERT", f"f{number}", "CAPACITY", 50 + number % 40,
                               *((), ("DELETABLE",), ("EXPANSION", 1))[number % 3], "ITEMS", *range(1 + number % 300))
                              for number in range(count)])
        self.client.pipeline([("CBF.ADD", f"c{number}", "a", 1, "b", 2) for number in range(count // 3)])
        self.client.pipeline([("URL.ADD", f"u{number}", "http://a.example/") for number in range(count // 3)])
        for number in range(count // 3):
            self.client.pipeline([("HOT.RESERVE", f"h{number}", "MEMORY", 3000), ("HOT.INCRBYAT", f"h{number}", 10**12, "a", 5),
                                  ("FADE.RESERVE", f"d{number}", "0.01", 500, *seed), ("FADE.PUT", f"d{number}", "a", "b"),
                                  ("CMS.INITBYDIM", f"m{number}", 100, 5), ("CMS.INCRBY", f"m{number}", "a", 3),
                                  ("TOPK.RESERVE", f"t{number}", 2, *seed), ("TOPK.ADD", f"t{number}", "a", "b", "b")])
        self.client.must("DEBUG", "RELOAD")  # now each has one piece of memory
        self.client.pipeline([("BF.MADD", f"f{number}", *range(1000, 1200)) for number in range(0, count, 2)])
        self.client.pipeline([("DEL", *(f"{family}{number}" for family in "fcuhdmt")) for number in range(count) if number % 7])
        before = bytes(self.client.must("DEBUG", "DIGEST"))
        self.client.config("activedefrag", "yes")
        wait_for("cells are moved", lambda: self.moved() > 500)
        self.assertEqual(self.client.must("DEBUG", "DIGEST"), before)
        for number in range(0, count, 7):
            self.client.must("BF.MADD", f"f{number}", *range(2000, 2050))
            self.assertTrue(all(self.client.must("BF.MEXISTS", f"f{number}", *range(2000, 2050))))
        for number in range(0, count // 3, 7):
            self.assertEqual(self.client.must("CBF.REM", f"c{number}", "a", 1, "x", 1), [1, 0])
            self.assertEqual(self.client.must("URL.ADD", f"u{number}", "http://a.example/", "http://b.example/"), [0, 1])
            self.assertEqual(self.client.must("FADE.PUT", f"d{number}", "a", "b", "c"), [0, 0, 1])
            self.assertEqual(self.client.must("CMS.INCRBY", f"m{number}", "a", 2), [5])
            self.assertEqual(self.client.must("TOPK.ADD", f"t{number}", "c")[0], b"a")
            self.client.must("HOT.INCRBYAT", f"h{number}", 10**12, "a", 2, "b", 1)
            self.assertEqual(self.client.must("HOT.TOP", f"h{number}", "AT", 10**12), [b"a", b"b"])

    def test_loaded_rules_are_moved_and_stay_what_they_are(self):
        count = 6000
        image = GOLDEN_GUARD.read_bytes()
        self.client.config("activedefrag", "no")
        self.client.pipeline([("GUARD.LOADCHUNK", f"g{number}", 0, len(image), image) for number in range(count)])
        self.client.pipeline([("GUARD.ALLOW", f"g{number}", f"h{number}.evil.example") for number in range(count)])
        self.client.pipeline([("DEL", f"g{number}") for number in range(count) if number % 7])
        digest = bytes(self.client.must("DEBUG", "DIGEST"))
        before = self.moved()
        self.client.config("activedefrag", "yes")
        wait_for("rules are moved", lambda: self.moved() > before + 100)
        self.client.config("activedefrag", "no")
        self.assertEqual(self.client.must("DEBUG", "DIGEST"), digest)
        for number in range(0, count, 7):
            self.assertEqual(self.client.must("GUARD.UNBLOCK", f"g{number}", "other.example/foo", "not.there.example"), [1, 0])
            self.assertEqual(
                self.client.must("GUARD.CHECK", f"g{number}", "x.evil.example", f"h{number}.evil.example", "other.example/foo"),
                [b"evil.example", NULL_BULK, NULL_BULK])


@needs_module
class ChangeTest(OneServerTest):
    """Who is told of a change, and of nothing else."""

    def test_a_transaction_sees_a_change_of_what_it_watches(self):
        other = self.server.client()
        self.client.must("BF.ADD", "f", "a")
        for words, changes in ((("BF.ADD", "f", "b"), True), (("BF.ADD", "f", "a"), False), (("DEL", "f"), True),
                               (("BF.INSERT", "f", "ITEMS", "a"), True), (("BF.EXISTS", "f", "a"), False)):
            self.client.must("WATCH", "f")
            other.must(*words)
            self.client.must("MULTI")
            self.client.must("PING")
            self.assertEqual(self.client.must("EXEC") is NULL_ARRAY, changes, words)

    @in_both_protocols
    def test_a_transaction_and_a_script_answer_as_the_commands(self, client):
        truth = (lambda value: bool(value)) if client.protocol == 3 else int
        client.pipeline([("MULTI",), ("BF.ADD", "f", "a"), ("BF.MEXISTS", "f", "a", "zzz"), ("BF.CARD", "f")])
        self.assertEqual(render(client.must("EXEC")),
                         render([truth(1), [truth(1), truth(0)], 1]))
        script = "return {redis.call('BF.ADD', KEYS[1], 'b'), redis.call('BF.MADD', KEYS[1], 'b', 'c')[2]}"
        self.assertEqual(client.must("EVAL", script, 1, "f"), [1, 1])
        self.assertEqual(client.must("EVAL", "return redis.pcall('BF.RESERVE', KEYS[1], '2', '1').err", 1, "f")[:3],
                         b"ERR")

    def test_events_are_published(self):
        self.client.config("notify-keyspace-events", "KEA")
        self.addCleanup(self.client.config, "notify-keyspace-events", "")
        listener = self.server.client()
        listener.must("PSUBSCRIBE", "__keyspace@0__:f")
        for words, told in ((("BF.RESERVE", "f", "0.01", 100), [b"bf.reserve"]), (("BF.ADD", "f", "a"), [b"bf.add"]),
                            (("BF.ADD", "f", "a"), []), (("BF.MADD", "f", "a", "b"), [b"bf.add"]),
                            (("BF.EXISTS", "f", "a"), []), (("DEL", "f"), [b"del"]),
                            (("BF.RESERVE", "f", "1e-9", 100, "DELETABLE"), [b"bf.reserve"]),
                            (("BF.MADD", "f", "a", "a"), [b"bf.add"]), (("BF.REM", "f", "a", "b"), [b"bf.rem"]),
                            (("BF.REM", "f", "b"), []), (("BF.CLEAR", "f"), [b"bf.clear"])):
            self.client.must(*words)
            self.client.must("PUBLISH", "__keyspace@0__:f", "that is all")
            heard = []
            while (message := listener.receive())[3] != b"that is all":
                heard.append(bytes(message[3]))
            self.assertEqual(heard, told, words)

    def test_caches_of_clients_are_told(self):
        reader = self.server.client(3)
        reader.must("CLIENT", "TRACKING", "ON")
        self.client.must("BF.ADD", "f", "a")
        reader.must("BF.MEXISTS", "f", "a", "b")
        self.client.must("BF.ADD", "f", "a")
        reader.must("PING")
        self.assertEqual(reader.pushes, [], "nothing changed")
        self.client.must("BF.ADD", "f", "b")
        reader.must("PING")
        self.assertEqual(reader.pushes, [[b"invalidate", [b"f"]]])


@needs_module
class SizeTest(OneServerTest):
    """Many keys, and large commands."""

    def used(self):
        return int(self.client.info("memory")["used_memory"])

    def test_a_hundred_thousand_small_filters(self):
        count, step = 100_000, 10_000
        before = self.used()
        for start in range(0, count, step):
            keys = range(start, start + step)
            self.assertEqual(self.client.pipeline([("BF.ADD", f"f{key}", key) for key in keys]), [1] * step)
        each = (self.used() - before) / count
        self.assertLess(each, 1000, "bytes for a filter of 100 items, its key included")
        digest = self.client.must("DEBUG", "DIGEST")
        self.client.must("DEBUG", "RELOAD")
        self.assertEqual(self.client.must("DBSIZE"), count)
        self.assertEqual(self.client.must("DEBUG", "DIGEST"), digest)
        for start in range(0, count, step):
            keys = range(start, start + step, 10)
            replies = self.client.pipeline([("BF.EXISTS", f"f{key}", key) for key in keys])
            self.assertEqual(replies, [1] * len(keys))
        self.client.must("FLUSHALL", "ASYNC")
        self.assertEqual(self.client.must("DBSIZE"), 0)
        wait_for("memory is freed", lambda: self.used() - before < 4 << 20)

    @in_both_protocols
    def test_a_batch_of_a_hundred_thousand_items(self, client):
        items = [f"item{number}" for number in range(100_000)]
        client.must("BF.RESERVE", "f", "0.001", 200_000)
        new = client.must("BF.MADD", "f", *items)
        self.assertEqual(len(new), len(items))
        self.assertEqual(client.must("BF.CARD", "f"), sum(new))
        self.assertGreater(sum(new), 99_500)
        self.assertTrue(all(client.must("BF.MEXISTS", "f", *items)))
        self.assertFalse(any(client.must("BF.MADD", "f", *items)))

    def test_commands_in_a_pipeline_are_answered_in_order(self):
        replies = self.client.pipeline([(command, "f", number % 7) for number in range(2000)
                                        for command in ("BF.EXISTS", "BF.ADD", "BF.EXISTS")])
        self.assertEqual(replies[:21], [0, 1, 1] * 7)
        self.assertEqual(replies[21:], [1, 0, 1] * 1993)

    def test_answers_are_those_of_the_filter_that_the_key_has_now(self):
        """Items are hashed before their key is open, as the filter that was used last by that name hashes."""
        items = {name: [f"{name}{number}" for number in range(300)] for name in "fgh"}

        def make(key, name):
            self.client.must("BF.RESERVE", key, "0.01", 1_000_000)
            new = self.client.pipeline([("BF.ADD", key, item) for item in items[name]])
            self.assertEqual(new, [1] * len(new))

        def check(key, name):
            for command, word in (("BF.EXISTS", 1), ("BF.ADD", 0)):
                replies = self.client.pipeline([(command, key, item) for item in items[name]])
                self.assertEqual(replies, [word] * len(replies), f"{command} {key}")
            for other in items.keys() - {name}:
                found = self.client.pipeline([("BF.EXISTS", key, item) for item in items[other]])
                self.assertEqual(sum(found), 0, f"{key} is empty but for {name}")

        make("f", "f")
        make("g", "g")
        check("f", "f")
        self.client.must("RENAME", "g", "f")
        check("f", "g")
        self.client.must("DEL", "f")
        self.assertEqual(self.client.must("BF.EXISTS", "f", items["g"][0]), 0)
        make("f", "h")
        check("f", "h")
        self.client.must("FLUSHALL", "ASYNC")
        make("f", "f")
        check("f", "f")
        self.client.must("DEBUG", "RELOAD")
        check("f", "f")
        self.client.must("SET", "f", "text")
        self.assertIsInstance(self.client.call("BF.ADD", "f", "a"), Error)


@needs_module
class LoadTest(RedisTest):
    """The module's name and version, and the arguments after its path."""

    def test_clients_see_what_it_replaces_and_operators_what_it_is(self):
        client = self.start().client()
        module = module_of(client)
        self.assertEqual(module[b"name"], b"bf")
        self.assertGreaterEqual(module[b"ver"], 20820)  # the newest RedisBloom for Redis 7
        self.assertRegex(client.info("bf_mankai")["bf_mankai_version"], r"\A\d+\.\d+\.\d+\Z")

    def test_the_old_name_keeps_old_configurations(self):
        server = self.start(module_arguments=("NAME", "mankai", "INITIAL_SIZE", 500),
                            **{"mankai.filter-memory-limit": "1mb", "mankai.bloom-tightening-ratio": "0.75"})
        client = server.client()
        self.assertEqual(module_of(client)[b"name"], b"mankai")
        self.assertIn("mankai_filters", client.info("mankai_bf"))
        self.assertIsInstance(client.call("BF.RESERVE", "f", "0.01", 10_000_000), Error)
        self.assertEqual(client.must("CONFIG", "GET", "mankai.bloom-tightening-ratio")[1], b"0.75")
        client.must("BF.ADD", "g", "a")
        self.assertEqual(client.must("BF.INFO", "g", "CAPACITY"), [500])

    def test_a_second_module_is_refused_and_the_first_works(self):
        server = self.start(enable_module_command="yes")
        client = server.client()
        client.must("BF.ADD", "f", "a")
        for arguments, why in (((), "a module named bf is loaded already"),
                               (("NAME", "mankai"), "the engine refuses the type of bf")):
            copy = server.folder / f"{len(arguments)}.so"
            copy.write_bytes(MODULE.read_bytes())
            copy.chmod(0o755)
            self.assertIsInstance(client.call("MODULE", "LOAD", copy, *arguments), Error)
            self.assertIn(why, server.log())
        self.assertEqual(module_of(client)[b"name"], b"bf")
        self.assertEqual(client.must("BF.EXISTS", "f", "a"), 1)
        self.assertEqual(client.must("CONFIG", "GET", "bf.bloom-capacity")[1], b"100")

    def test_arguments_set_the_defaults(self):
        for size, rate, expansions in (("INITIAL_SIZE", "ERROR_RATE", "CF_MAX_EXPANSIONS"),
                                       ("bf-initial-size", "bf-error-rate", "cf-max-expansions"),
                                       ("bloom-capacity", "bloom-fp-rate", "cf-max-expansions")):
            with self.subTest(size):
                client = self.start(module_arguments=(size, 5000, expansions, 7, rate, "0.001")).client()
                client.must("BF.ADD", "f", "a")
                self.assertEqual(client.must("BF.INFO", "f", "CAPACITY"), [5000])
                self.assertRegex(bytes(client.must("BF.DEBUG", "f")[1]), rb" ratio:0.0005\Z")
                self.assertEqual(client.must("CONFIG", "GET", "*cf-max-expansions")[1], b"7")

    def test_wrong_arguments_stop_the_server_and_say_why(self):
        for *arguments, why in (("INITIAL_SIZE", 0, "invalid"), ("ERROR_RATE", 2, "invalid"), ("ERROR_RATE", "x", "invalid"),
                                ("NONSENSE", 1, "unknown"), ("NAME", "other", "must be bf or mankai"),
                                ("bloom-use-random-seed", "maybe", "invalid"), ("INITIAL_SIZE", "no value")):
            with self.subTest(arguments=arguments), self.assertRaisesRegex(AssertionError, why):
                self.start(module_arguments=arguments)


@needs_module
class SettingsTest(RedisTest):
    """The names of RedisBloom, of valkey-bloom and of this module."""

    # {value: its names, its default, another value, a value that is refused}
    SETTINGS = {
        "rate": (("bf.bf-error-rate", "bf.bloom-fp-rate"), b"0.01", b"0.05", "1"),
        "capacity": (("bf.bf-initial-size", "bf.bloom-capacity"), b"100", b"777", "0"),
        "expansion": (("bf.bf-expansion-factor", "bf.bloom-expansion"), b"2", b"0", "32769"),
        "bytes": (("bf.filter-memory-limit", "bf.bloom-memory-usage-limit"), b"0", b"1048576", "-1"),
        "tightening": (("bf.bloom-tightening-ratio",), b"0.5", b"0.75", "0"),
        "seed": (("bf.bloom-use-random-seed",), b"yes", b"no", "2"),
        "defragmentation": (("bf.bloom-defrag-enabled",), b"yes", b"no", ""),
        "bucket size": (("bf.cf-bucket-size",), b"2", b"255", "256"),
        "cuckoo capacity": (("bf.cf-initial-size",), b"1024", b"1073741824", "1073741825"),
        "iterations": (("bf.cf-max-iterations",), b"20", b"65535", "65536"),
        "cuckoo expansion": (("bf.cf-expansion-factor",), b"1", b"32768", "32769"),
        "expansions": (("bf.cf-max-expansions",), b"32", b"65536", "65537"),
    }

    def skip_without_prefix(self, client):
        if not client.must("CONFIG", "GET", "bf.bf-error-rate"):
            self.skipTest("Redis 8 has RedisBloom's names without `bf.`")

    @staticmethod
    def get(client, name):
        return bytes(client.must("CONFIG", "GET", name)[1])

    def test_every_name_of_a_value_sets_it(self):
        client = self.start().client()
        self.skip_without_prefix(client)
        for names, default, other, bad in self.SETTINGS.values():
            for name in names:
                for value in (other, default):
                    client.config(name, value)
                    self.assertEqual([self.get(client, each) for each in names], [value] * len(names), name)
                self.assertIsInstance(client.call("CONFIG", "SET", name, bad), Error, name)
                self.assertEqual(self.get(client, name), default)

    def test_one_name_in_the_configuration_is_not_undone_by_the_default_of_another(self):
        self.skip_without_prefix(self.start().client())
        for which in (0, -1):
            server = self.start(**{names[which]: other.decode() for names, _, other, _ in self.SETTINGS.values()})
            client = server.client()
            self.assert_all_other(client)
            client.must("CONFIG", "REWRITE")
            server.restart()
            client = server.client()
            self.assert_all_other(client)
            for names, default, _, _ in self.SETTINGS.values():
                client.config(names[which], default)
            client.must("CONFIG", "REWRITE")
            server.restart()
            client = server.client()
            for names, default, _, _ in self.SETTINGS.values():
                self.assertEqual([self.get(client, name) for name in names], [default] * len(names))

    def assert_all_other(self, client):
        for names, _, other, _ in self.SETTINGS.values():
            self.assertEqual([self.get(client, name) for name in names], [other] * len(names))


if __name__ == "__main__":
    main()
