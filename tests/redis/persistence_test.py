"""Filters after every way out of a server and back: RDB, AOF, DUMP, COPY, replication; and payloads that are forged.

The same data is looked at from outside (answers to many questions) and from inside (DEBUG DIGEST) before and after.
Against `-` the same runs check the engine's own sets, and so the suite.
"""
import random
import struct
import unittest

from client import Error, render, wait_for
from harness import (ADD, CARD, EXISTS, MADD, MEXISTS, MODULE, OneServerTest, ROUNDS, RedisTest, SEED, main,
                     needs_module, saved)

ITEMS = [f"item{number}" for number in range(400)]
QUESTIONS = [*ITEMS, *(f"stranger{number}" for number in range(1600))]

# name, the command that makes it (module only), how many items
FILTERS = (
    ("default", (), 60),
    ("grown", ("BF.RESERVE", "grown", "0.01", 10), 400),
    ("grown by nothing", ("BF.RESERVE", "grown by nothing", "0.01", 40, "EXPANSION", 1), 300),
    ("nonscaling", ("BF.RESERVE", "nonscaling", "0.001", 1000, "NONSCALING"), 200),
    ("full", ("BF.RESERVE", "full", "0.3", 20, "NONSCALING"), 100),
    ("empty", ("BF.RESERVE", "empty", "0.01", 1000), 0),
    ("large", ("BF.RESERVE", "large", "0.001", 1_000_000), 350),
    ("deletable", ("BF.RESERVE", "deletable", "0.01", 50, "DELETABLE", "SEED", "0123456789abcdef" * 2), 300),
    ("counters", ("BF.RESERVE", "counters", "0.01", 50, "EXPANSION", 3, "DELETABLE"), 300),
    ("expiring", ("BF.RESERVE", "expiring", "0.01", 50, "TTL", 2_600_000), 300),
    ("expiring, deletable", ("BF.RESERVE", "expiring, deletable", "0.01", 50, "TTL", 2_600_000, "DELETABLE"), 300),
    (b"\x00\xff\r\n", (), 5),
)
KEYS = [name for name, _, _ in FILTERS]


def fill(client, items=ITEMS):
    for name, reserve, count in FILTERS:
        if MODULE and reserve and not client.must("EXISTS", name):
            client.must(*reserve)
        if count:
            client.must(MADD, name, *items[:count])
    client.must("EXPIRE", "default", 1000)
    client.must("SET", "beside", "a string")


def answers(client):
    """Returns everything that a client can ask, as text."""
    found = {}
    for name in KEYS:
        found[name] = [render(client.call(MEXISTS, name, *QUESTIONS)), render(client.call(CARD, name)),
                       render(client.call("TYPE", name)), client.call("TTL", name) > 0]
        if MODULE:
            found[name] += [render(client.call("BF.INFO", name)), render(client.call("BF.DEBUG", name))]
    return found


def digests(client):
    return {name: bytes(client.must("DEBUG", "DIGEST-VALUE", name)[0]) for name in KEYS if client.must("EXISTS", name)}


def state(client):
    """What must be the same on both sides: answers, a digest for each key, one of all."""
    return answers(client), digests(client), bytes(client.must("DEBUG", "DIGEST"))


class PersistenceTest(RedisTest):
    maxDiff = 2000

    def assert_same(self, client, before):
        now = state(client)
        for name in KEYS:
            self.assertEqual(now[0][name], before[0][name], f"answers of {name}")
        self.assertEqual(now[1:], before[1:], "digests")

    def filled(self, **options):
        server = self.start(**options)
        client = server.client()
        fill(client)
        return server, client, state(client)

    def test_different_data_has_different_digests(self):
        _, client, before = self.filled()
        self.assertEqual(len(set(before[1].values())), len(before[1]))
        client.must(ADD, "large", "one more")
        after = digests(client)
        self.assertNotEqual(after["large"], before[1]["large"])
        del after["large"], before[1]["large"]
        self.assertEqual(after, before[1])

    def test_debug_reload(self):
        _, client, before = self.filled()
        client.must("DEBUG", "RELOAD")
        self.assert_same(client, before)

    def test_save_and_restart(self):
        for compression in ("yes", "no"):
            with self.subTest(rdbcompression=compression):
                server, client, before = self.filled(rdbcompression=compression)
                client.must("SAVE")
                client.must(ADD, "large", "lost with the process")
                server.restart(kill=True)
                self.assert_same(server.client(), before)
                server.close()

    def test_save_in_the_background_under_writes(self):
        server, client, before = self.filled()
        client.must("BGSAVE")  # the child has the state of now
        client.pipeline([(ADD, "large", f"late{number}") for number in range(2000)])
        wait_for("BGSAVE ends", lambda: client.info("persistence")["rdb_bgsave_in_progress"] == "0")
        self.assertEqual(client.info("persistence")["rdb_last_bgsave_status"], "ok")
        server.restart(kill=True)
        self.assert_same(server.client(), before)

    def test_appended_commands_survive_the_process(self):
        server, _, before = self.filled(appendonly="yes", appendfsync="always")
        server.restart(kill=True)
        self.assert_same(server.client(), before)

    def test_rewritten_append_only_file(self):
        for preamble in ("yes", "no"):
            with self.subTest(rdb_preamble=preamble):
                server, client, before = self.filled(appendonly="yes", appendfsync="always",
                                                     aof_use_rdb_preamble=preamble)
                saved(client, "BGREWRITEAOF")
                client.must("DEBUG", "LOADAOF")
                self.assert_same(client, before)
                client.must(MADD, "grown", *(f"later{number}" for number in range(200)))
                client.must(ADD, "new since", "a")
                later = state(client)
                self.assertNotEqual(later[1]["grown"], before[1]["grown"])
                server.restart(kill=True)
                client = server.client()
                self.assert_same(client, later)
                self.assertEqual(client.call(EXISTS, "new since", "a"), 1)
                server.close()

    def test_rewriting_under_writes_loses_none(self):
        for preamble in ("yes", "no"):
            with self.subTest(rdb_preamble=preamble):
                server, client, _ = self.filled(appendonly="yes", appendfsync="always", aof_use_rdb_preamble=preamble)
                client.must("BGREWRITEAOF")
                client.pipeline([(ADD, "large", f"late{number}") for number in range(2000)])
                wait_for("the rewrite ends", lambda: client.info("persistence")["aof_rewrite_in_progress"] == "0")
                self.assertEqual(client.info("persistence")["aof_last_bgrewrite_status"], "ok")
                before = state(client)
                server.restart(kill=True)
                self.assert_same(server.client(), before)
                server.close()

    @needs_module
    def test_a_filter_that_is_half_loaded(self):
        """Between two chunks of BF.LOADCHUNK the server may save, end, and go on."""
        server = self.start(appendonly="yes", appendfsync="always", aof_use_rdb_preamble="no")
        client = server.client()
        client.must("BF.RESERVE", "f", "0.001", 20_000_000)
        client.must("BF.MADD", "f", *ITEMS)
        chunks, iterator = [], 0
        while (reply := client.must("BF.SCANDUMP", "f", iterator))[0] != 0:
            iterator = reply[0]
            chunks.append(reply)
        self.assertGreater(len(chunks), 3)
        ways_out = (lambda: client.must("DEBUG", "RELOAD"), lambda: saved(client, "BGREWRITEAOF"),
                    lambda: client.must("DEBUG", "LOADAOF"), lambda: client.must("COPY", "half", "other"),
                    lambda: client.must("RENAME", "half", "elsewhere") and client.must("RENAME", "elsewhere", "half"))
        for number, chunk in enumerate(chunks):
            self.assertEqual(client.must("BF.LOADCHUNK", "half", *chunk), b"OK")
            ways_out[number % len(ways_out)]()
        answered = [render(client.must(MEXISTS, key, *QUESTIONS)) for key in ("half", "f")]
        self.assertEqual(*answered)
        self.assertEqual(*client.must("DEBUG", "DIGEST-VALUE", "f", "half"))
        server.restart(kill=True)
        client = server.client()
        self.assertEqual(*client.must("DEBUG", "DIGEST-VALUE", "f", "half"))

    def test_transactions_and_scripts_are_appended_as_a_whole(self):
        server = self.start(appendonly="yes", appendfsync="always")
        client = server.client()
        client.pipeline([("MULTI",), (ADD, "f", "a"), (MADD, "f", "b", "c"), ("EXEC",)])
        client.must("EVAL", f"return redis.call('{MADD}', KEYS[1], 'd', 'e')", 1, "f")
        server.restart(kill=True)
        self.assertEqual(server.client().must(MEXISTS, "f", *"abcde"), [1] * 5)


class KeyspaceTest(OneServerTest):
    """Keys that leave and come back while the server runs."""

    def test_dump_and_restore(self):
        fill(self.client)
        before = state(self.client)
        for name in KEYS:
            if not self.client.must("EXISTS", name):
                continue  # an empty set does not exist
            lives = self.client.must("PTTL", name)
            dump = self.client.must("DUMP", name)
            self.assertEqual(self.client.call("RESTORE", name, 0, dump), "BUSYKEY Target key name already exists.")
            self.assertEqual(self.client.must("RESTORE", name, max(lives, 0), dump, "REPLACE"), b"OK")
        after = state(self.client)
        self.assertEqual(after, before)

    def test_a_restored_key_is_on_its_own(self):
        fill(self.client)
        self.client.must("RESTORE", "twin", 0, self.client.must("DUMP", "large"))
        self.assert_independent("large", "twin")

    def test_a_copied_key_is_on_its_own(self):
        fill(self.client)
        for name in KEYS:
            if self.client.must("EXISTS", name):
                self.assertEqual(self.client.must("COPY", name, "twin", "REPLACE"), 1)
                self.assertEqual(render(self.client.must(MEXISTS, "twin", *QUESTIONS)),
                                 render(self.client.must(MEXISTS, name, *QUESTIONS)))
                self.assertEqual(self.client.must("DEBUG", "DIGEST-VALUE", "twin"),
                                 self.client.must("DEBUG", "DIGEST-VALUE", name))
        self.client.must("COPY", "large", "twin", "REPLACE")
        self.assert_independent("large", "twin")

    def assert_independent(self, first, second):
        before = self.client.must("DEBUG", "DIGEST-VALUE", first, second)
        self.assertEqual(before[0], before[1])
        self.assertEqual(self.client.must(MADD, second, "x1", "x2", "x3") in ([1, 1, 1], 3), True)
        after = self.client.must("DEBUG", "DIGEST-VALUE", first, second)
        self.assertEqual(after[0], before[0])
        self.assertNotEqual(after[1], before[1])
        self.client.must("DEL", first)
        self.assertEqual(self.client.must(MEXISTS, second, *ITEMS[:50]), [1] * 50)

    def test_filters_that_differ_in_an_item_alone_have_different_digests(self):
        fill(self.client)
        for name in ("one", "other", "same"):
            self.client.must("COPY", "large", name)
        for name, item in (("one", "x"), ("other", "y"), ("same", "x")):
            self.client.must(ADD, name, item)
        one, other, same = self.client.must("DEBUG", "DIGEST-VALUE", "one", "other", "same")
        self.assertNotEqual(one, other)
        self.assertEqual(one, same)

    def test_another_database(self):
        fill(self.client)
        asked = render(self.client.must(MEXISTS, "grown", *QUESTIONS))
        self.assertEqual(self.client.must("MOVE", "grown", 3), 1)
        self.client.must("SWAPDB", 0, 3)
        self.assertEqual(render(self.client.must(MEXISTS, "grown", *QUESTIONS)), asked)
        self.client.must("FLUSHALL", "ASYNC")
        self.assertEqual(self.client.must(EXISTS, "grown", ITEMS[0]), 0)


class ReplicationTest(RedisTest):
    """A primary and a replica, whose data is the same to the last digest."""

    def pair(self, **options):
        primary, replica = self.start(tcp=True, **options), self.start(tcp=True, **options)
        fill(primary.client())
        replica.replicate(primary)
        return primary, replica

    def assert_same(self, primary, replica):
        replica.wait_for_primary(primary)
        before, after = state(primary.client()), state(replica.client())
        for name in KEYS:
            self.assertEqual(after[0][name], before[0][name], f"answers of {name}")
        self.assertEqual(after[1:], before[1:], "digests")

    def test_full_synchronization(self):
        for diskless, load in (("yes", "disabled"), ("no", "disabled"), ("yes", "on-empty-db"), ("yes", "swapdb")):
            with self.subTest(diskless=diskless, load=load):
                primary, replica = self.pair(repl_diskless_sync=diskless, repl_diskless_load=load)
                self.assert_same(primary, replica)
                self.assertEqual(primary.client().info("stats")["sync_full"], "1")
                primary.close()
                replica.close()

    def test_commands_that_follow(self):
        primary, replica = self.pair()
        client = primary.client()
        dice = random.Random(SEED)
        for _ in range(300 * ROUNDS):
            items = [f"{dice.getrandbits(16)}" for _ in range(dice.randrange(1, 20))]
            client.call(MADD, dice.choice(KEYS), *items)
            client.call(ADD, dice.choice(KEYS), items[0])
        client.must("DEL", "nonscaling")
        client.must(MADD, "nonscaling", *ITEMS)
        if MODULE:
            client.must("BF.INSERT", "inserted", "CAPACITY", 30, "ERROR", "0.001", "EXPANSION", 3, "ITEMS", *ITEMS)
            for _ in range(100):
                client.must("BF.REM", "deletable", *dice.sample(ITEMS, 3))
                client.must("BF.MADD", "deletable", *dice.sample(ITEMS, 3))
            client.must("BF.INSERT", "inserted too", "NONSCALING", "DELETABLE", "ITEMS", *ITEMS)
            client.must("BF.CLEAR", "large")
            client.must("BF.ADD", "large", "after")
            client.must("COPY", "grown", "merged")
            client.must("BF.ADD", "merged", "more")
            client.must("BF.MERGE", "merged", "grown")
            client.must("BF.MERGE", "another", "merged", "grown")
        self.assert_same(primary, replica)

    def test_partial_synchronization(self):
        primary, replica = self.pair(repl_backlog_size="16mb")
        client = primary.client()
        client.must("CLIENT", "KILL", "TYPE", "replica")
        client.must(MADD, "grown", *(f"meanwhile{number}" for number in range(1000)))
        client.must("DEL", "default")
        client.must(ADD, "default", "meanwhile")
        self.assert_same(primary, replica)
        self.assertGreaterEqual(int(client.info("stats")["sync_partial_ok"]), 1)
        self.assertEqual(client.info("stats")["sync_full"], "1")

    def test_a_replica_takes_over(self):
        primary, replica = self.pair()
        client = replica.client()
        self.assertRegex(client.call(ADD, "default", "x"), r"\AREADONLY ")
        primary.kill()
        client.must("REPLICAOF", "NO", "ONE")
        self.assertEqual(client.must(MEXISTS, "grown", *ITEMS), [1] * len(ITEMS))
        self.assertIn(client.call(ADD, "default", "x"), (0, 1))
        self.assertEqual(client.call(EXISTS, "default", "x"), 1)

    def test_what_changes_nothing_is_not_replicated(self):
        """Else a log grows, and replicas work, for items that are there already."""
        primary, replica = self.pair()
        client = primary.client()
        # Pings of the primary move the offset too; without them only commands do.
        client.config("repl-ping-replica-period", 3600)
        replica.wait_for_primary(primary)
        wait_for("the pings that were on their way", lambda: self.is_quiet(client), step=1.1)
        before = client.info("replication")["master_repl_offset"]
        client.must(ADD, "grown", ITEMS[0])
        client.must(MADD, "grown", *ITEMS)
        client.must(EXISTS, "grown", "x")
        if MODULE:
            client.must("BF.INSERT", "grown", "ITEMS", *ITEMS)
            client.call("BF.RESERVE", "grown", "0.01", 100)
            client.call("BF.INFO", "grown")
            client.must("BF.SCANDUMP", "grown", 0)
            client.must("BF.MADD", "full", *QUESTIONS)  # full: what is not in it stays out
            client.must("BF.REM", "deletable", "a", "stranger")
        self.assertEqual(client.info("replication")["master_repl_offset"], before)
        client.must(ADD, "large", "something new")
        self.assertNotEqual(client.info("replication")["master_repl_offset"], before)

    def is_quiet(self, client):
        last, self._offset = getattr(self, "_offset", None), client.info("replication")["master_repl_offset"]
        return last == self._offset


def crc64(data, table=[]):
    """The checksum at the end of a DUMP: CRC-64 of Jones, reflected, starting from 0."""
    if not table:
        for byte in range(256):
            for _ in range(8):
                byte = byte >> 1 ^ (0x95AC9329AC4BC9B5 if byte & 1 else 0)
            table.append(byte)
    value = 0
    for byte in data:
        value = table[(value ^ byte) & 255] ^ value >> 8
    return value


FOOTER = 10  # bytes at the end of a DUMP: version of the RDB format, checksum


def sealed(body, footer):
    """Puts a right checksum under a forged body, so that it reaches the module."""
    body += footer[:2]
    return body + struct.pack("<Q", crc64(body))


class ChecksumTest(unittest.TestCase):
    def test_the_checksum_is_the_one_of_the_engine(self):
        self.assertEqual(crc64(b"123456789"), 0xE9C6D914C4B8D9CA)  # the check value of CRC-64/REDIS


class Forgery:
    """RESTORE of untrusted bytes, which are then used by `use(key)`. Mixed into OneServerTest."""

    def try_restore(self, payload):
        reply = self.client.call("RESTORE", "forged", 0, payload, "REPLACE")
        if isinstance(reply, Error):
            self.assertRegex(reply, "Bad data format|DUMP payload version or checksum are wrong")
            return 0
        self.restored = self.client.must("DUMP", "forged")  # before it is used, and changed
        self.assertEqual(self.use("forged")[-1], b"PONG")
        return 1


@needs_module
class ForgeryTest(Forgery, OneServerTest):
    """Untrusted bytes: refused, or a filter that can be used; the server goes on in any case."""

    def make(self):
        self.client.must("BF.RESERVE", "small", "0.01", 20)
        self.client.must("BF.MADD", "small", *ITEMS[:15])
        self.client.must("BF.RESERVE", "grown", "0.05", 4)
        self.client.must("BF.MADD", "grown", *ITEMS[:40])
        self.client.must("BF.RESERVE", "fixed", "0.01", 30, "NONSCALING")
        self.client.must("BF.MADD", "fixed", *ITEMS[:10])
        self.client.must("BF.RESERVE", "deletable", "0.05", 8, "DELETABLE")
        self.client.must("BF.MADD", "deletable", *ITEMS[:15])
        return ["small", "grown", "fixed", "deletable"]

    def use(self, key):
        """All that can be done with a filter, whatever it says."""
        return self.client.pipeline([
            ("BF.EXISTS", key, "a"), ("BF.MEXISTS", key, *ITEMS[:20]), ("BF.CARD", key), ("BF.INFO", key),
            ("BF.DEBUG", key), ("BF.ADD", key, "new"), ("BF.MADD", key, *ITEMS[:80]), ("BF.SCANDUMP", key, 0),
            ("BF.SCANDUMP", key, 1), ("BF.SCANDUMP", key, 1 << 40), ("MEMORY", "USAGE", key),
            ("BF.REM", key, *ITEMS[:30]), ("BF.MADD", key, *ITEMS[:80]), ("BF.INFO", key, "FPR"),
            ("DEBUG", "DIGEST-VALUE", key), ("DUMP", key), ("COPY", key, "copy", "REPLACE"), ("PING",),
        ])

    def test_a_sealed_payload_that_was_not_forged_is_accepted(self):
        for key in self.make():
            dump = self.client.must("DUMP", key)
            self.assertEqual(sealed(dump[:-FOOTER], dump[-FOOTER:]), dump)
            self.assertEqual(self.try_restore(dump), 1)

    def test_cut_payloads_are_refused(self):
        for key in self.make():
            dump = self.client.must("DUMP", key)
            body = dump[:-FOOTER]
            step = max(1, len(body) // (300 * ROUNDS))
            for length in sorted({*range(min(64, len(body))), *range(0, len(body), step), len(body) - 1}):
                # The footer may begin with the missing bytes.
                if self.try_restore(sealed(body[:length], dump[-FOOTER:])):
                    self.assertEqual(self.restored, dump, f"{key}: {length}")
                if length % 50 == 0:
                    self.assertEqual(self.try_restore(dump[:length]), 0, f"{key}: {length}, not sealed")

    def test_changed_payloads_do_no_harm(self):
        dice = random.Random(SEED)
        for key in self.make():
            dump = self.client.must("DUMP", key)
            for _ in range(500 * ROUNDS):
                body = bytearray(dump[:-FOOTER])
                for _ in range(dice.choice((1, 1, 1, 2, 8))):
                    # Behind the type and its name, where the module's part begins; headers more often than cells.
                    place = dice.randrange(10, dice.choice((40, 120, 300, len(body))))
                    body[place % len(body)] = dice.choice((0, 1, 127, 128, 255, dice.randrange(256)))
                self.try_restore(sealed(bytes(body), dump[-FOOTER:]))

    def test_bits_that_flip_are_noticed(self):
        """A filter carries a checksum of its own: a flipped bit in it cannot come back as a smaller filter."""
        dump = self.client.must("DUMP", self.make()[0])
        body, accepted = dump[:-FOOTER], 0
        places = range(10, len(body) - 1, max(1, len(body) // (400 * ROUNDS)))
        for place in places:
            forged = bytearray(body)
            forged[place] ^= 0x10
            accepted += self.try_restore(sealed(bytes(forged), dump[-FOOTER:]))
        self.assertLess(accepted, len(places) // 10, f"{accepted} of {len(places)} accepted")

    def test_lengths_that_no_memory_holds_are_refused_at_once(self):
        key = self.make()[0]
        dump = self.client.must("DUMP", key)
        body = dump[:-FOOTER]
        before = int(self.client.info("memory")["used_memory"])
        for place in range(10, min(len(body), 400)):
            for length in (b"\x81" + b"\xff" * 8, b"\x81" + struct.pack(">Q", 1 << 40), b"\x80\x7f\xff\xff\xff"):
                self.try_restore(sealed(body[:place] + length + body[place + len(length):], dump[-FOOTER:]))
        self.client.must("FLUSHALL")
        self.assertLess(int(self.client.info("memory")["used_memory"]), before + (8 << 20))

    def chunks(self, key):
        return list(self.client.chunks("BF", key))

    def load(self, chunks):
        self.client.must("DEL", "forged")
        replies = self.client.pipeline([("BF.LOADCHUNK", "forged", *chunk) for chunk in chunks])
        self.assertEqual(self.use("forged")[-1], b"PONG")
        return replies

    def test_cut_chunks(self):
        for key in self.make():
            (first, header), *cells = self.chunks(key)
            for length in range(len(header)):
                reply = self.load([(first, header[:length]), *cells])[0]
                self.assertIsInstance(reply, Error, f"{key}: a header of {length} of {len(header)} bytes")
            for length in range(len(cells[0][1])):
                self.load([(first, header), (cells[0][0], cells[0][1][:length])])

    def test_changed_chunks(self):
        dice = random.Random(SEED)
        for key in self.make():
            chunks = self.chunks(key)
            for _ in range(400 * ROUNDS):
                forged = [list(chunk) for chunk in chunks]
                for _ in range(dice.choice((1, 1, 2, 5))):
                    chosen = dice.choice((forged[0], forged[0], dice.choice(forged)))
                    if dice.random() < 0.15:
                        chosen[0] = dice.choice((-(1 << 63), -1, 0, 1, 2, 63, chosen[0] + 1, 1 << 31, (1 << 63) - 1))
                    elif chosen[1]:
                        data = bytearray(chosen[1])
                        width = dice.choice((1, 1, 4, 8))
                        place = dice.randrange(len(data))
                        data[place:place + width] = dice.choice((b"\xff", b"\x00", b"\x7f", b"\x80")) * width
                        chosen[1] = bytes(data[:len(chosen[1])])
                if dice.random() < 0.2:
                    dice.shuffle(forged)
                self.load(forged)

    def test_chunks_of_one_filter_in_another(self):
        keys = self.make()
        for one in keys:
            for other in keys:
                self.load([self.chunks(one)[0], *self.chunks(other)[1:]])
                self.client.pipeline([("BF.LOADCHUNK", other, *chunk) for chunk in self.chunks(one)])
                self.assertEqual(self.use(other)[-1], b"PONG")

    def test_noise(self):
        dice = random.Random(SEED)
        for _ in range(300 * ROUNDS):
            noise = dice.randbytes(dice.choice((0, 1, 20, 76, 129, 500)))
            reply = self.load([(1, noise), (dice.randrange(600), noise)])[0]
            self.assertEqual(reply, "ERR received bad data")


if __name__ == "__main__":
    main()
