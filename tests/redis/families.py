"""What every family of commands over a native type must stand: a matrix for its suite to mix in.

A suite describes its family and mixes the tests in:

    class Counting(Family): ...
    class PersistenceTest(PersistenceMatrix, RedisTest): family = Counting()
    class KeyTest(KeyMatrix, OneServerTest): family = Counting()
    class ForgeryTest(ForgeryMatrix, OneServerTest): family = Counting()
"""
import ctypes
import random
import re
import struct

from client import Error, render, wait_for
from harness import ROUNDS, SEED, saved
from persistence_test import FOOTER, Forgery, sealed


try:
    XXHASH = ctypes.CDLL("libxxhash.so.0").XXH3_64bits_withSeed
    XXHASH.restype, XXHASH.argtypes = ctypes.c_uint64, (ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint64)
except OSError:
    XXHASH = None
IMAGE_HEADER = 128  # bytes; docs/formats/image.md
KIND_PARAMS = 64    # where the kind's own parameters begin in it


def pairs(counts):
    return [word for item, count in counts.items() for word in (item, count)]


def with_parameter(header, place):
    """Forges a parameter of the last image that a header announces, and makes its checksums right."""
    image = bytearray(header[-IMAGE_HEADER - 8:-8])
    image[place] ^= 0x55
    image[-8:] = struct.pack("<Q", XXHASH(bytes(image[:-8]), IMAGE_HEADER - 8, 0))
    forged = header[:-IMAGE_HEADER - 8] + bytes(image)
    return forged + struct.pack("<Q", XXHASH(forged, len(forged), (1 << 64) - 1))


def bound_to(header, cells):
    """Makes the checksums of pieces right behind a header, for families whose pieces are of one moment."""
    images = header[16:-8]
    moment = XXHASH(images, len(images), (1 << 64) - 1)
    return [(end, data[:-8] + struct.pack("<Q", XXHASH(data[:-8], len(data) - 8, (end - len(data) + 7) ^ moment)))
            for end, data in cells]


class Family:
    """What the matrix wants to know. Commands are called `PREFIX.SCANDUMP` and so on."""

    prefix = None
    keys = ()             # those that `fill` makes; of a few kilobytes each
    category = None       # of ACLs
    reads = ()            # all commands that need no more than to read the key, as (name, arguments behind it...)
    writes = ()           # all others; SCANDUMP, which gives away the seed, needs as much
    sources = {}          # command: its other keys, which it only reads
    events = ()           # (words of a command on the key "f", the events that it tells), in order
    grows = True          # or it takes no memory once it is there
    refused = r"\AERR "  # what LOADCHUNK says of bad chunks
    of_another_type = {}  # command: what it says of a key of another type, if not WRONGTYPE
    has_checksums = True  # in its own values
    is_of_one_moment = False  # its pieces fit no header but that of the same moment

    def fill(self, client):
        """Makes the keys, always in the same way."""
        raise NotImplementedError

    def ask(self, client, key):
        """Returns the replies to everything that can be asked about a key."""
        raise NotImplementedError

    def add(self, client, key, words):
        """Adds what has not been there, named by words. Returns the reply, a list."""
        raise NotImplementedError

    def change_nothing(self, client, key):
        """Sends writes to a filled key that are refused or have no effect."""
        raise NotImplementedError

    def reserve_large(self, client, key):
        """Makes an empty key of 33 to 40 megabytes. Returns the reply."""
        raise NotImplementedError

    def reserve_steep(self, client, key):
        """Makes an empty key whose next slice, after 100 words, takes more than 4 megabytes."""
        raise NotImplementedError

    # What follows from these.

    def command(self, name):
        return f"{self.prefix}.{name}"

    def answers(self, client):
        return {key: [*map(render, self.ask(client, key)), client.must("TTL", key) > 0] for key in self.keys}

    def state(self, client):
        """What must be the same on both sides: answers, a digest for each key, one of all."""
        return (self.answers(client), [bytes(digest) for digest in client.must("DEBUG", "DIGEST-VALUE", *self.keys)],
                bytes(client.must("DEBUG", "DIGEST")))

    def chunks(self, client, key):
        return list(client.chunks(self.prefix, key))


def _filled(family, client):
    family.fill(client)
    client.must("EXPIRE", family.keys[0], 1000)
    client.must("SET", "beside", "a string")


class PersistenceMatrix:
    """Ways out of a server and back. Mixed into RedisTest."""

    family = None

    def started(self, **options):
        server = self.start(**options)
        client = server.client()
        _filled(self.family, client)
        return server, client, self.family.state(client)

    def assert_state(self, client, before, what=""):
        now = self.family.state(client)
        for key in self.family.keys:
            self.assertEqual(now[0][key], before[0][key], f"answers of {key} {what}")
        self.assertEqual(now[1:], before[1:], f"digests {what}")

    def test_rdb_files(self):
        server, client, before = self.started()
        self.assertEqual(len(set(before[1])), len(before[1]), "keys that differ have one digest")
        client.must("DEBUG", "RELOAD")
        self.assert_state(client, before, "after DEBUG RELOAD")
        client.must("BGSAVE")  # the child has the state of now
        self.family.add(client, self.family.keys[-1], [f"late{number}" for number in range(200)])
        self.assertNotEqual(self.family.state(client)[1], before[1])
        wait_for("BGSAVE ends", lambda: client.info("persistence")["rdb_bgsave_in_progress"] == "0")
        server.restart(kill=True)
        self.assert_state(server.client(), before, "after a restart")

    def test_append_only_files(self):
        """Appended one by one, rewritten as commands and with an RDB file in front, and appended again."""
        for preamble in ("no", "yes"):
            with self.subTest(rdb_preamble=preamble):
                server, client, before = self.started(appendonly="yes", appendfsync="always",
                                                      aof_use_rdb_preamble=preamble)
                server.restart(kill=True)
                client = server.client()
                self.assert_state(client, before, "appended")
                saved(client, "BGREWRITEAOF")
                client.must("DEBUG", "LOADAOF")
                self.assert_state(client, before, "rewritten")
                self.family.add(client, self.family.keys[-1], [f"later{number}" for number in range(50)])
                self.family.add(client, "new since", ["a"])
                later = self.family.state(client)
                self.assertNotEqual(later[1], before[1])
                server.restart(kill=True)
                client = server.client()
                self.assert_state(client, later, "appended to")
                self.assertEqual(client.must("EXISTS", "new since"), 1)
                server.close()

    def test_replicas(self):
        """Synchronized in full, followed, synchronized in part, and made the primary."""
        primary, client, before = self.started(tcp=True)
        replica = self.start(tcp=True)
        replica.replicate(primary)
        there = replica.client()
        self.assert_state(there, before, "synchronized")
        dice = random.Random(SEED)
        for number in range(40 * ROUNDS):
            key = dice.choice([*self.family.keys, "made meanwhile"])
            self.family.add(client, key, [f"{number}.{part}" for part in range(dice.randrange(1, 9))])
        client.must("COPY", self.family.keys[-1], "copied")
        replica.wait_for_primary(primary)
        self.assert_state(there, self.family.state(client), "that followed")

        client.must("CLIENT", "KILL", "TYPE", "replica")
        self.family.add(client, self.family.keys[-1], ["meanwhile"])
        client.must("DEL", "made meanwhile")
        replica.wait_for_primary(primary)
        self.assert_state(there, self.family.state(client), "that came back")
        stats = client.info("stats")
        self.assertEqual(stats["sync_full"], "1")
        self.assertGreaterEqual(int(stats["sync_partial_ok"]), 1)  # a busy machine may break the link again

        last = self.family.state(client)
        primary.kill()
        there.must("REPLICAOF", "NO", "ONE")
        self.assert_state(there, last, "that took over")
        self.family.add(there, self.family.keys[-1], ["after"])

    def test_what_changes_nothing_is_not_replicated(self):
        server, client, before = self.started(tcp=True)
        replica = self.start(tcp=True)
        replica.replicate(server)
        client.config("repl-ping-replica-period", 3600)  # pings move the offset, too
        last = []

        def is_quiet():
            last.append(client.info("replication")["master_repl_offset"])
            return last[-2:-1] == last[-1:]

        wait_for("the pings that were on their way", is_quiet, step=1.1)
        for key in self.family.keys:
            self.family.change_nothing(client, key)
            self.family.ask(client, key)
            self.family.chunks(client, key)
        self.assertEqual(client.info("replication")["master_repl_offset"], last[-1])
        self.assert_state(client, before)
        self.family.add(client, self.family.keys[-1], ["something new"])
        self.assertNotEqual(client.info("replication")["master_repl_offset"], last[-1])

    def test_what_is_no_filter_after_all_is_dropped_everywhere(self):
        """A header whose checksums are right and whose fields make no sense together shows when the last cells come."""
        if XXHASH is None:
            self.skipTest("no libxxhash.so.0")
        primary, replica = self.start(tcp=True), self.start(tcp=True)
        client = primary.client()
        self.family.fill(client)
        replica.replicate(primary)
        (first, header), *cells = self.family.chunks(client, self.family.keys[0])
        dropped = 0
        for place in range(KIND_PARAMS, KIND_PARAMS + 24, 4):
            forged = with_parameter(header, place)
            client.must(self.family.command("LOADCHUNK"), "f", first, forged)
            pieces = bound_to(forged, cells) if self.family.is_of_one_moment else cells
            replies = [client.call(self.family.command("LOADCHUNK"), "f", *chunk) for chunk in pieces]
            if isinstance(replies[-1], Error):
                self.assertEqual(replies[-1], "ERR received bad data")
                dropped += 1
            replica.wait_for_primary(primary)
            for server in (primary, replica):
                self.assertEqual(server.client().must("EXISTS", "f"), int(replies[-1] == b"OK"), f"parameter at {place}")
            client.must("DEL", "f")
        self.assertGreater(dropped, 0)

    def test_a_large_key_moves_in_chunks(self):
        """Between two chunks the server may save, end, and go on."""
        server = self.start(appendonly="yes", aof_use_rdb_preamble="no", rdbcompression="no")
        client = server.client()
        self.assertEqual(self.family.reserve_large(client, "large"), b"OK")
        self.family.add(client, "large", [f"word{number}" for number in range(500)])
        chunks = self.family.chunks(client, "large")
        self.assertGreater(len(chunks), 3)
        self.assertLessEqual(max(len(data) for _, data in chunks), 16 << 20)
        ways_out = (lambda: client.must("DEBUG", "RELOAD"), lambda: saved(client, "BGREWRITEAOF"),
                    lambda: client.must("DEBUG", "LOADAOF"), lambda: client.must("COPY", "half", "other", "REPLACE"))
        for number, chunk in enumerate(chunks):
            if number:
                self.assertRegex(render(self.family.ask(client, "half")[0]), "the filter is not complete")
            self.assertEqual(client.must(self.family.command("LOADCHUNK"), "half", *chunk), b"OK")
            if number < len(ways_out):
                ways_out[number]()
        self.assertEqual(*client.must("DEBUG", "DIGEST-VALUE", "large", "half"))
        self.assertEqual(*(list(map(render, self.family.ask(client, key))) for key in ("large", "half")))


class KeyMatrix:
    """A key among others while the server runs. Mixed into OneServerTest."""

    family = None

    def test_dump_restore_and_copy(self):
        _filled(self.family, self.client)
        before = self.family.state(self.client)
        for key in self.family.keys:
            lives, dump = self.client.must("PTTL", key), self.client.must("DUMP", key)
            self.assertEqual(self.client.call("RESTORE", key, 0, dump), "BUSYKEY Target key name already exists.")
            self.assertEqual(self.client.must("RESTORE", key, max(lives, 0), dump, "REPLACE"), b"OK")
        self.assertEqual(self.family.state(self.client), before)
        for way in (lambda: self.client.must("COPY", key, "twin"),
                    lambda: self.client.must("RESTORE", "twin", max(self.client.must("PTTL", key), 0),
                                             self.client.must("DUMP", key))):
            for key in self.family.keys:
                way()
                self.assertEqual(*self.client.must("DEBUG", "DIGEST-VALUE", key, "twin"))
                self.assertEqual(list(map(render, self.family.ask(self.client, "twin"))), before[0][key][:-1])
                self.family.add(self.client, "twin", [f"of the twin alone {number}" for number in range(20)])
                first, second = self.client.must("DEBUG", "DIGEST-VALUE", key, "twin")
                self.assertNotEqual(first, second)
                self.client.must("DEL", "twin")
        self.assertEqual(self.family.state(self.client), before)

    def test_other_databases(self):
        _filled(self.family, self.client)
        asked = self.family.answers(self.client)
        for key in self.family.keys:
            self.assertEqual(self.client.must("MOVE", key, 3), 1)
        self.client.must("SWAPDB", 0, 3)
        self.assertEqual(self.family.answers(self.client), asked)

    def test_every_command_is_described(self):
        names = [bytes(name).decode() for name in self.client.must("COMMAND", "LIST", "FILTERBY", "MODULE", "bf")]
        names = [name for name in names if name.upper().startswith(f"{self.family.prefix}.")]
        described = {name.upper() for name, *_ in (*self.family.reads, *self.family.writes)}
        self.assertEqual({name.upper() for name in names}, described)
        for name in names:
            fields = dict(zip(*[iter(self.client.must("COMMAND", "DOCS", name)[1])] * 2))
            for field in (b"summary", b"complexity", b"since", b"arguments"):
                self.assertTrue(fields.get(field), f"{name}: {field}")
            self.assertIn(bytes(fields[b"arguments"][0][1]), (b"key", b"destination"), name)

    def test_keys_are_found_and_what_is_done_to_them(self):
        for commands, flag in ((self.family.reads, b"RO"), (self.family.writes, b"RW")):
            for name, *words in commands:
                sources = [(key.encode(), b"RO") for key in self.family.sources.get(name, ())]
                found = self.client.must("COMMAND", "GETKEYSANDFLAGS", name, "the key", *words)
                self.assertEqual([bytes(key) for key, _ in found], [b"the key", *(key for key, _ in sources)], name)
                for (_, flags), wanted in zip(found, [flag, *(wanted for _, wanted in sources)]):
                    self.assertIn(wanted, [bytes(word) for word in flags], name)

    def test_permissions(self):
        _filled(self.family, self.client)
        mine, yours = self.family.keys[:2]
        first, second = self.family.reads[:2]
        user = self.as_user(f"+{first[0]}", f"~{mine}")
        self.assertNotIsInstance(user.call(first[0], mine, *first[1:]), Error)
        self.assertRegex(user.call(first[0], yours, *first[1:]), r"\ANOPERM ")
        self.assertRegex(user.call(second[0], mine, *second[1:]), r"\ANOPERM ")
        reader = self.as_user("+@all", f"%R~{mine}")
        for name, *words in self.family.reads:
            self.assertNotIsInstance(reader.call(name, mine, *words), Error, name)
        for name, *words in self.family.writes:
            self.assertRegex(reader.call(name, mine, *words), r"\ANOPERM ", name)
        dump = [(name, mine, *words) for name, *words in self.family.writes if name.endswith(".SCANDUMP")]
        for rules in (("+@read", "~*"), ("+@read", *(f"+{name}" for name, *_ in self.family.reads), "~*"),
                      ("+@all", f"%R~{mine}")):
            for words in dump:  # the reply has the seed
                self.assertRegex(self.as_user(*rules).call(*words), r"\ANOPERM ", rules)
        for words in dump:
            self.assertNotIsInstance(self.as_user("+@all", f"%RW~{mine}").call(*words), Error)
        if self.family.category.encode() in self.client.must("ACL", "CAT"):  # newer than 7.0
            for words in dump:
                self.assertRegex(self.as_user("+@all", "-@dangerous", "~*").call(*words), r"\ANOPERM ")
            user = self.as_user(f"+@{self.family.category}", "~*")
            for name, *words in self.family.reads:
                self.assertNotIsInstance(user.call(name, mine, *words), Error, name)
            self.assertRegex(user.call("GET", "beside"), r"\ANOPERM ")

    def test_another_type_is_refused(self):
        self.client.must("BF.ADD", "b", "a")
        self.client.must("SET", "f", "a string")
        for key in ("f", "b"):
            for name, *words in (*self.family.reads, *self.family.writes):
                refused = self.family.of_another_type.get(name, "WRONGTYPE")
                self.assertRegex(render(self.client.call(name, key, *words)), refused, name)
        self.assertEqual(self.client.must("GET", "f"), b"a string")

    def test_events_are_published(self):
        self.client.config("notify-keyspace-events", "KEA")
        self.addCleanup(self.client.config, "notify-keyspace-events", "")
        listener = self.server.client()
        listener.must("PSUBSCRIBE", "__keyspace@0__:f")
        for words, told in self.family.events:
            self.client.must(*words)
            self.client.must("PUBLISH", "__keyspace@0__:f", "that is all")
            heard = []
            while (message := listener.receive())[3] != b"that is all":
                heard.append(bytes(message[3]).decode())
            self.assertEqual(heard, told, words)

    def used(self):
        return int(self.client.info("memory")["used_memory"])

    def test_memory_is_counted_and_given_back(self):
        before = self.used()
        self.family.reserve_large(self.client, "f")
        took = self.used() - before
        self.assertGreater(took, 32 << 20)
        usage = self.client.must("MEMORY", "USAGE", "f")
        self.assertGreater(took, usage - (1 << 20))
        self.assertLess(took, usage * 1.3)  # the allocator has sizes that are up to a quarter apart
        info = self.client.info(f"bf_{self.family.prefix.lower()}")
        self.assertEqual(info["bf_filters"], "1")
        self.client.must("UNLINK", "f")
        wait_for("memory is freed", lambda: self.used() - before < 1 << 20)
        self.assertEqual(self.client.info(f"bf_{self.family.prefix.lower()}")["bf_filters"], "0")
        # So much is not given back while others wait. The engine counts it a moment after it has freed it.
        wait_for("freeing beside others is counted", lambda: self.client.info("memory")["lazyfreed_objects"] != "0")

    def test_above_the_limit_nothing_is_made_and_what_is_there_answers(self):
        _filled(self.family, self.client)
        before = self.family.state(self.client)
        self.client.config("maxmemory", self.used() + (4 << 20))
        self.addCleanup(self.client.config, "maxmemory", 0)
        self.assertRegex(self.family.reserve_large(self.client, "f"), "OOM command not allowed|Insufficient memory")
        self.assertEqual(self.client.must("EXISTS", "f"), 0)
        self.assertEqual(self.family.state(self.client), before)
        if not self.family.grows:
            self.client.config("maxmemory", 1)
            self.family.add(self.client, self.family.keys[-1], ["what needs no memory"])
            self.assertNotEqual(self.family.state(self.client), before)
            return
        self.family.reserve_steep(self.client, "steep")
        refused = self.family.add(self.client, "steep", [f"word{number}" for number in range(200)])[-1]
        self.assertEqual(render(refused), "-ERR Insufficient memory")
        self.assertEqual(self.family.state(self.client)[:2], before[:2])


class ForgeryMatrix(Forgery):
    """Untrusted bytes: refused, or a value that can be used. Mixed into OneServerTest."""

    family = None

    def use(self, key):
        """All that can be done with a key, whatever it says."""
        return self.client.pipeline([
            *((name, key, *words) for name, *words in (*self.family.reads, *self.family.writes)),
            (self.family.command("SCANDUMP"), key, 1), (self.family.command("SCANDUMP"), key, 1 << 40),
            ("MEMORY", "USAGE", key), ("DEBUG", "DIGEST-VALUE", key), ("DUMP", key), ("COPY", key, "copy", "REPLACE"),
            ("PING",),
        ])

    def test_payloads(self):
        self.family.fill(self.client)
        dice = random.Random(SEED)
        for key in self.family.keys:
            dump = self.client.must("DUMP", key)
            body, footer = dump[:-FOOTER], dump[-FOOTER:]
            self.assertEqual(self.try_restore(sealed(body, footer)), 1)
            for length in sorted({*range(0, 64, 3), *range(0, len(body), max(1, len(body) // (40 * ROUNDS))),
                                  len(body) - 1}):
                # The footer may begin with the missing bytes.
                if self.try_restore(sealed(body[:length], footer)) and self.family.has_checksums:
                    self.assertEqual(self.restored, dump, f"{key}: {length}")
            for _ in range(60 * ROUNDS):
                forged = bytearray(body)
                for _ in range(dice.choice((1, 1, 2, 8))):
                    # Behind the type and its name, where the module's part begins; headers more often than cells.
                    place = dice.randrange(10, min(len(body), dice.choice((40, 120, 300, len(body)))))
                    forged[place] = dice.choice((0, 1, 127, 128, 255, dice.randrange(256)))
                self.try_restore(sealed(bytes(forged), footer))

    def test_lengths_that_no_memory_holds_are_refused_at_once(self):
        self.family.fill(self.client)
        dump = self.client.must("DUMP", self.family.keys[0])
        body, footer = dump[:-FOOTER], dump[-FOOTER:]
        before = int(self.client.info("memory")["used_memory"])
        for place in range(10, min(len(body), 120), 1 if ROUNDS > 1 else 3):
            for length in (b"\x81" + b"\xff" * 8, b"\x81" + (1 << 40).to_bytes(8, "big"), b"\x80\x7f\xff\xff\xff"):
                self.try_restore(sealed(body[:place] + length + body[place + len(length):], footer))
        self.client.must("DEL", "forged", "copy")
        self.assertLess(int(self.client.info("memory")["used_memory"]), before + (8 << 20))

    def load(self, chunks):
        self.client.must("DEL", "forged")
        replies = self.client.pipeline([(self.family.command("LOADCHUNK"), "forged", *chunk) for chunk in chunks])
        if self.client.must("EXISTS", "forged"):
            self.assertEqual(self.use("forged")[-1], b"PONG")
        return replies

    def test_chunks(self):
        self.family.fill(self.client)
        dice = random.Random(SEED)
        load = self.family.command("LOADCHUNK")
        whole = {key: self.family.chunks(self.client, key) for key in self.family.keys}
        for key, chunks in whole.items():
            self.assertEqual({render(reply) for reply in self.load(chunks)}, {"+OK"})
            (first, header), *cells = chunks
            for length in range(0, len(header), max(1, len(header) // (30 * ROUNDS))):
                self.assertIsInstance(self.load([(first, header[:length]), *cells])[0], Error, f"{key}: {length}")
            for length in range(0, len(cells[0][1]), max(1, len(cells[0][1]) // 20)):
                self.assertIsInstance(self.load([(first, header), (cells[0][0], cells[0][1][:length])])[1], Error)
            for _ in range(40 * ROUNDS):
                forged = [list(chunk) for chunk in chunks]
                chosen = dice.choice(forged)
                if dice.random() < 0.2:
                    chosen[0] = dice.choice((-(1 << 63), -1, 0, 2, 63, chosen[0] + 1, 1 << 31, (1 << 63) - 1))
                else:
                    data = bytearray(chosen[1])
                    data[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
                    chosen[1] = bytes(data)
                self.assertTrue(any(isinstance(reply, Error) for reply in self.load(forged)))
            # Of another key, and to one that is there.
            for other in self.family.keys:
                self.load([chunks[0], *whole[other][1:]])
            before = self.client.must("DEBUG", "DIGEST-VALUE", key)
            for chunk in chunks:
                self.assertRegex(self.client.call(load, key, *chunk), self.family.refused)
            self.assertEqual(self.client.must("DEBUG", "DIGEST-VALUE", key), before)
        for words in (("f", 2, "x"), ("f", 1, "x"), ("f", 1, dice.randbytes(500)), ("f", "x", "x"), ("f", -1, "x")):
            self.assertRegex(self.client.call(load, *words), self.family.refused)
        self.assertEqual(self.client.must("EXISTS", "f"), 0)

    def test_the_chunks_of_another_family_are_refused(self):
        self.client.must("BF.ADD", "b", "a")
        for iterator in (0, 1):
            chunk = self.client.must("BF.SCANDUMP", "b", iterator)
            self.assertRegex(self.client.call(self.family.command("LOADCHUNK"), "f", *chunk), r"\AERR ")
        self.assertEqual(self.client.must("EXISTS", "f"), 0)
        self.family.fill(self.client)
        for chunk in self.family.chunks(self.client, self.family.keys[0]):
            self.assertTrue(re.search("ERR|WRONGTYPE", self.client.call("BF.LOADCHUNK", "f", *chunk)))
