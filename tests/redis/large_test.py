"""A filter larger than the protocol's strings, through every way out of a server and back, the same to the last bit.

With MANKAI_REDIS_ROUNDS=1 the filter is of 40 MiB, three pieces; with more it is of 600 MiB, above the 512 MB that a
string of the protocol may have, and the times of the way are told. It takes 2 GB of memory and of disk then, and a
minute or more.
"""
import sys
import time

from harness import ROUNDS, RedisTest, main, needs_module, saved

MEBIBYTES = 40 if ROUNDS == 1 else 600
BITS_OF_KEY = 10.1  # at 1 %
STEP = 10_000
BATCHES = 10 if ROUNDS == 1 else 50


@needs_module
class LargeTest(RedisTest):
    def setUp(self):
        self.started = time.monotonic()

    def told(self, what):
        now = time.monotonic()
        if ROUNDS > 1:
            print(f"{MEBIBYTES} MiB: {what}: {now - self.started:.1f} s", file=sys.stderr)
        self.started = now

    def fill(self, client):
        client.must("BF.RESERVE", "f", "0.01", int((MEBIBYTES << 23) / BITS_OF_KEY) + 1, "NONSCALING")
        for batch in range(BATCHES):
            client.must("BF.MADD", "f", *range(batch * STEP, (batch + 1) * STEP))
        self.assertGreater(client.must("MEMORY", "USAGE", "f"), MEBIBYTES << 20)
        self.told(f"{BATCHES * STEP} items added")

    def copy_in_chunks(self, client, key, other):
        for iterator, chunk in client.chunks("BF", key):
            self.assertLessEqual(len(chunk), 16 << 20)
            client.must("BF.LOADCHUNK", other, iterator, chunk)

    def assert_same(self, client, digest, what):
        self.told(what)
        self.assertEqual(bytes(client.must("DEBUG", "DIGEST")), digest, what)
        self.assertEqual(client.must("BF.MEXISTS", "f", *range(STEP)), [1] * STEP)
        self.started = time.monotonic()

    def test_every_way_out_of_a_server_and_back(self):
        primary = self.start(tcp=True, appendonly="yes", aof_use_rdb_preamble="no", rdbcompression="no")
        client = primary.client()
        self.fill(client)
        self.copy_in_chunks(client, "f", "loaded")
        self.told("BF.SCANDUMP into BF.LOADCHUNK")
        self.assertEqual(*client.must("DEBUG", "DIGEST-VALUE", "f", "loaded"))
        client.must("DEL", "loaded")
        digest = bytes(client.must("DEBUG", "DIGEST"))

        self.started = time.monotonic()
        saved(client, "BGREWRITEAOF")
        self.told("BGREWRITEAOF")
        primary.restart(kill=True)
        self.assert_same(primary.client(), digest, "a start from the AOF")

        replica = self.start(tcp=True, rdbcompression="no")
        replica.replicate(primary)
        self.assert_same(replica.client(), digest, "a replica's full synchronization")
        primary.close()

        replica.client().must("REPLICAOF", "NO", "ONE")
        replica.client().must("SAVE")
        self.told("SAVE")
        replica.restart(kill=True)
        self.assert_same(replica.client(), digest, "a start from the RDB file")


if __name__ == "__main__":
    main()
