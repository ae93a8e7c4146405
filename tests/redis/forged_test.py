#!/usr/bin/env python3
"""Forged values of RedisBloom and valkey-bloom, of a few bytes and with right checksums: memory follows what arrives, growth stays in
proportion, and the work of a command is counted in full.
"""
import math
import struct

from client import Error
from harness import OneServerTest, main, needs_module
from persistence_test import FOOTER, sealed

MIB = 1 << 20
TOO_MANY = "too many items"
OUT_OF_PROPORTION = "grow by more than 128 MiB"


def valkey_blob(expansion, capacity=3, items=3):
    """What BF.LOAD takes: a filter of 4 bytes."""
    bitmap = struct.pack("<BQI32s4x", 1, 4, round(32 / capacity * math.log(2)), bytes(range(32)))
    return struct.pack("<BIddBQQ", 1, expansion, 0.01, 0.5, 1, 1, len(bitmap)) + bitmap + struct.pack("<qq", items, capacity)


def bloom_header(links, growth=2):
    """RedisBloom's, of links (capacity, rate, keys)."""
    out = struct.pack("<QIII", sum(keys for _, _, keys in links), len(links), 1 | 4, growth)
    for capacity, rate, keys in links:
        per_key = abs(math.log(rate)) / 0.480453013918201
        size = math.ceil(math.floor(capacity * per_key) / 64) * 8
        out += struct.pack("<QQQddIQB", size, size * 8, keys, rate, per_key, math.ceil(0.693147180559945 * per_key), capacity, 0)
    return out


def cuckoo_header(buckets, filters, bucket_size=2, iterations=20, expansion=1, items=0):
    return struct.pack("<QQQQHHH", items, buckets, 0, filters, bucket_size, iterations, expansion)


def number(value):
    """A length as RDB files have it."""
    return bytes([value]) if value < 64 else b"\x81" + struct.pack(">Q", value)


def cuckoo_payload(cells, footer, buckets, expansion, bucket_size=2):
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    module = 0
    for letter in "MBbloomCF":
        module = module << 6 | letters.index(letter)
    out = b"\x07" + number(module << 10 | 4)
    for field in (len(cells), buckets, 0, 0, bucket_size, 1, expansion):
        out += b"\x02" + number(field)
    for one in cells:
        out += b"\x02" + number(len(one) // bucket_size) + b"\x05" + number(len(one)) + one
    return sealed(out + b"\x00", footer)


def item_of_hash(number):
    """The item of 8 bytes with this MurmurHash64A of seed 0."""
    multiplier = 0xC6A4A7935BD1E995
    inverse = pow(multiplier, -1, 1 << 64)

    def unmixed(value):
        return (value ^ value >> 47) * inverse % (1 << 64)

    mixed = unmixed(unmixed(number)) ^ 8 * multiplier % (1 << 64)
    return struct.pack("<Q", unmixed(mixed * inverse % (1 << 64)))


@needs_module
class ForgedTest(OneServerTest):
    options = {"appendonly": "no"}

    def used(self):
        return int(self.client.info("memory")["used_memory"])

    def assert_refused(self, pattern, *words):
        before = self.used()
        self.assertRegex(str(self.client.call(*words)), pattern, words[:3])
        self.assertLess(self.used() - before, MIB, words[:3])

    def test_growth_stays_in_proportion(self):
        self.client.must("SET", "text", "x")
        footer = self.client.must("DUMP", "text")[-FOOTER:]
        self.client.must("BF.LOAD", "valkey", valkey_blob(1 << 28))
        self.client.must("BF.LOADCHUNK", "redisbloom", 1, bloom_header([(3, 0.01, 3)], growth=1 << 28))
        self.client.must("RESTORE", "cuckoo", 0, cuckoo_payload([b"\1" * 2, b"\1" * 65536], footer, 1, 32768))
        for words in (("BF.ADD", "valkey", "a"), ("BF.MADD", "valkey", "a", "b"), ("BF.ADD", "redisbloom", "a"),
                      ("BF.INSERT", "redisbloom", "ITEMS", "a"), ("CF.ADD", "cuckoo", "a"), ("CF.INSERT", "cuckoo", "ITEMS", "a", "b")):
            self.assert_refused(OUT_OF_PROPORTION, *words)
        self.assertEqual([self.client.must("BF.INFO", key, "FILTERS") for key in ("valkey", "redisbloom")], [1, [1]])
        # Our sub-filters grow by a factor of at most 2^20.
        self.client.must("MANKAI.CONVERT", "valkey")
        self.assertEqual(self.client.must("BF.ADD", "valkey", "a"), 1)
        self.assertLess(self.client.must("MEMORY", "USAGE", "valkey"), 8 * MIB)

    def test_other_growth_is_granted(self):
        for key, expansion in (("two", 2), ("large", 1 << 20)):
            self.client.must("BF.LOAD", key, valkey_blob(expansion))
            self.assertEqual(self.client.must("BF.MADD", key, "a", "b"), [1, 1])
            self.assertEqual(self.client.must("BF.INFO", key, "FILTERS"), 2)

    def test_headers_take_no_memory(self):
        gigabyte = 850_000_000  # keys of a link of about a gigabyte
        header = bloom_header([(gigabyte, 0.01, 1), (gigabyte, 0.005, 0)])
        before = self.used()
        self.client.must("BF.LOADCHUNK", "f", 1, header)
        self.client.must("CF.LOADCHUNK", "g", 1, cuckoo_header(1 << 29, 2))
        self.client.must("CF.LOADCHUNK", "many", 1, cuckoo_header(1 << 20, 100))
        self.assertLess(self.used() - before, MIB)
        self.assertEqual(self.client.must("BF.MEXISTS", "f", "a", "b"), [0, 0])
        self.assertEqual(self.client.must("CF.MEXISTS", "g", "a", "b"), [0, 0])
        self.assertEqual(self.client.must("CF.COUNT", "g", "a"), 0)
        size = struct.unpack_from("<Q", header, 20)[0]
        for words, error in ((("BF.ADD", "f", "a"), OUT_OF_PROPORTION), (("BF.CLEAR", "f"), OUT_OF_PROPORTION),
                             (("CF.ADD", "g", "a"), OUT_OF_PROPORTION), (("CF.DEL", "g", "a"), OUT_OF_PROPORTION),
                             (("CF.ADD", "many", "a"), OUT_OF_PROPORTION), (("CF.MDEL", "g", "a"), OUT_OF_PROPORTION), (("CF.COMPACT", "g"), OUT_OF_PROPORTION),
                             (("BF.LOADCHUNK", "f", 1 + size, "x"), "invalid offset"),
                             (("CF.LOADCHUNK", "g", 1 + (1 << 30), "x"), "Couldn't load chunk!")):
            self.assert_refused(error, *words)
        self.client.must("BF.LOADCHUNK", "f", 1 + MIB, b"\1" * MIB)
        self.client.must("BF.LOADCHUNK", "f", 1 + 2 * MIB, b"\1" * MIB)
        self.client.must("BF.LOADCHUNK", "f", 1 + 2 * MIB, b"\1" * MIB)
        self.client.must("CF.LOADCHUNK", "g", 1 + (1 << 30) + MIB, b"\1" * MIB)
        self.assertLess(self.used() - before, 7 * MIB)
        header_again, cells = (data for _, data in self.client.chunks("BF", "f"))
        self.assertEqual((header_again, cells[:2 * MIB], set(cells[2 * MIB:])), (header, b"\1" * (2 * MIB), {0}))
        self.client.must("COPY", "f", "copy")
        self.assertLess(self.used() - before, 11 * MIB)
        self.assertEqual(list(self.client.chunks("BF", "copy")), list(self.client.chunks("BF", "f")))

    def test_a_header_beyond_the_limits_is_refused(self):
        self.client.config("bf.filter-memory-limit", "64mb")
        self.addCleanup(self.client.config, "bf.filter-memory-limit", 0)
        self.assert_refused("filter-memory-limit", "BF.LOADCHUNK", "f", 1, bloom_header([(850_000_000, 0.01, 0)]))
        self.assert_refused("filter-memory-limit", "CF.LOADCHUNK", "f", 1, cuckoo_header(1 << 29, 2))
        # One of more than half of the limit is not counted twice.
        self.client.must("CF.LOADCHUNK", "f", 1, cuckoo_header(1 << 24, 1))
        self.client.must("CF.LOADCHUNK", "f", 1 + MIB, b"\1" * MIB)

    def test_large_filters_are_loaded_in_chunks(self):
        self.client.config("bf.layout", "redisbloom")
        self.addCleanup(self.client.config, "bf.layout", "mankai")
        self.client.must("BF.RESERVE", "f", 0.01, 20_000_000, "EXPANSION", 1)
        self.client.must("CF.RESERVE", "g", 20_000_000)
        self.client.must("BF.MADD", "f", *range(5000))
        self.client.must("CF.INSERT", "g", "ITEMS", *range(5000))
        for family, key in (("BF", "f"), ("CF", "g")):
            for iterator, data in self.client.chunks(family, key):
                self.client.must(f"{family}.LOADCHUNK", f"{key}:loaded", iterator, data)
            self.assertEqual(*self.client.must("DEBUG", "DIGEST-VALUE", key, f"{key}:loaded"))
            self.client.must(f"{family}.ADD", f"{key}:loaded", "new")

    def test_probes_of_all_links_are_counted(self):
        self.client.must("BF.LOADCHUNK", "f", 1, bloom_header([(1, 1e-300, 1)] * 4096))
        items = [f"item{i}" for i in range(100)]
        self.assertRegex(self.client.call("BF.MEXISTS", "f", *items), TOO_MANY)
        self.assertRegex(self.client.call("BF.MADD", "f", *items), TOO_MANY)
        self.assertEqual(self.client.must("BF.MEXISTS", "f", *items[:30]), [0] * 30)
        self.client.must("BF.LOADCHUNK", "usual", 1, bloom_header([(1000, 0.01, 0)]))
        self.assertEqual(len(self.client.must("BF.MEXISTS", "usual", *range(200_000))), 200_000)

    def test_moves_and_buckets_of_cuckoo_filters_are_counted(self):
        items = [f"item{i}" for i in range(1000)]
        for header in (cuckoo_header(16, 1, iterations=65535, expansion=0), cuckoo_header(16, 1, iterations=65535)):
            self.client.must("CF.LOADCHUNK", "f", 1, header)
            self.assertRegex(self.client.call("CF.INSERT", "f", "ITEMS", *items), TOO_MANY)
            self.client.must("CF.INSERT", "f", "ITEMS", *items[:100])
            self.client.must("DEL", "f")
        self.client.must("CF.LOADCHUNK", "f", 1, cuckoo_header(1, 4096, bucket_size=255))
        self.assertRegex(self.client.call("CF.MEXISTS", "f", *items), TOO_MANY)
        self.client.must("CF.MEXISTS", "f", *items[:100])

    def test_items_that_collide_are_counted_as_they_are_added(self):
        """Murmur2 with a public seed can be inverted: of these items every four open a sub-filter."""
        self.client.config("bf.layout", "redisbloom")
        self.addCleanup(self.client.config, "bf.layout", "mankai")
        self.client.must("CF.RESERVE", "f", 1024, "MAXITERATIONS", 1)
        items = [item_of_hash(i * 65536 * 255) for i in range(1, 60_001)]
        replies = self.client.must("CF.INSERT", "f", "ITEMS", *items)
        added = replies.count(1)
        self.assertEqual(replies[:added], [1] * added)
        self.assertTrue(0 < added < 20_000)
        self.assertTrue(all(TOO_MANY in str(reply) for reply in replies[added:]))
        self.assertEqual(self.client.must("CF.INFO", "f")[7], added)
        self.assertEqual(self.client.must("CF.MEXISTS", "f", *items[:100]), [1] * 100)
        # Items that do not collide are taken as estimated.
        self.client.must("CF.RESERVE", "g", 1024, "MAXITERATIONS", 1)
        self.assertEqual(self.client.must("CF.INSERT", "g", "ITEMS", *range(60_000)), [1] * 60_000)

    def test_compactions_are_counted(self):
        self.client.must("CF.LOADCHUNK", "f", 1, cuckoo_header(1 << 20, 2))
        items = [f"item{i}" for i in range(100)]
        self.assertRegex(self.client.call("CF.MDEL", "f", *items), TOO_MANY)
        self.assertEqual(self.client.must("CF.MDEL", "f", *items[:20]), [0] * 20)
        # Where there are many items, few deletions compact.
        self.client.must("CF.LOADCHUNK", "g", 1, cuckoo_header(1 << 20, 2, items=1 << 20))
        self.assertEqual(self.client.must("CF.MDEL", "g", *items), [0] * 100)

    def test_rows_draws_and_bytes_of_sketches_are_counted(self):
        self.client.config("bf.layout", "redisbloom")
        self.addCleanup(self.client.config, "bf.layout", "mankai")
        self.client.must("TOPK.RESERVE", "list", 3)
        pairs = [word for i in range(1000) for word in (f"item{i}", 100_000)]
        self.assertRegex(self.client.call("TOPK.INCRBY", "list", *pairs), TOO_MANY)
        self.client.must("TOPK.INCRBY", "list", *pairs[:80])
        self.client.must("TOPK.RESERVE", "deep", 3, 1, 1 << 20, "0.9")
        for command in ("TOPK.ADD", "TOPK.QUERY", "TOPK.COUNT"):
            self.assertRegex(self.client.call(command, "deep", *range(20)), TOO_MANY)
            self.client.must(command, "deep", "a")
        self.client.must("CMS.INITBYDIM", "sketch", 10, 1000)
        self.assertRegex(self.client.call("CMS.QUERY", "sketch", "x" * MIB, "y" * MIB), TOO_MANY)
        self.assertRegex(self.client.call("CMS.INCRBY", "sketch", "x" * MIB, 1, "y" * MIB, 1), TOO_MANY)
        self.assertEqual(self.client.must("CMS.QUERY", "sketch", "a", "b"), [0, 0])
        self.client.must("CMS.INITBYDIM", "wide", 1 << 22, 1)
        self.assertRegex(self.client.call("CMS.MERGE", "wide", 17, *["wide"] * 17), "too many counters")
        self.client.must("CMS.MERGE", "wide", 1, "wide")
        self.assertNotIsInstance(self.client.call("CMS.INCRBY", "sketch", "a", 1), Error)


if __name__ == "__main__":
    main()
