"""Files as bitly's dablooms 0.9.1 writes them, for the test of `mankai import`: from a description of the format."""
import math
import struct

MASK = (1 << 64) - 1


def rotate(x, bits):
    return (x << bits | x >> (64 - bits)) & MASK


def finish(x):
    x = (x ^ x >> 33) * 0xff51afd7ed558ccd & MASK
    x = (x ^ x >> 33) * 0xc4ceb9fe1a85ec53 & MASK
    return x ^ x >> 33


def murmur3(key, seed):
    """The lower half of MurmurHash3_x64_128."""
    one, two = 0x87c37b91114253d5, 0x4cf5ad432745937f
    h1 = h2 = seed
    padded = key + bytes(-len(key) % 16)
    for i in range(0, len(padded), 16):
        k1, k2 = struct.unpack_from("<QQ", padded, i)
        h1 ^= rotate(k1 * one & MASK, 31) * two & MASK
        if i + 16 <= len(key):
            h1 = ((rotate(h1, 27) + h2) * 5 + 0x52dce729) & MASK
        h2 ^= rotate(k2 * two & MASK, 33) * one & MASK
        if i + 16 <= len(key):
            h2 = ((rotate(h2, 31) + h1) * 5 + 0x38495ab5) & MASK
    h1, h2 = h1 ^ len(key), h2 ^ len(key)
    h1 = (h1 + h2) & MASK
    h2 = (h2 + h1) & MASK
    return (finish(h1) + finish(h2)) & MASK


class Filter:
    def __init__(self, capacity, rate, first_id):
        self.k = math.ceil(math.log(1 / rate) / math.log(2))
        self.cells = math.ceil(capacity * abs(math.log(rate)) / (self.k * math.log(2) ** 2))
        self.counters = bytearray(self.k * self.cells)
        self.first_id, self.keys = first_id, 0

    def places(self, key):
        digest = murmur3(key, 0x97c29b3a)
        h1, h2 = digest & 0xffffffff, digest >> 32
        return [i * self.cells + (h1 + i * h2 & 0xffffffff) % self.cells for i in range(self.k)]

    def change(self, key, difference):
        for place in self.places(key):
            self.counters[place] = min(max(self.counters[place] + difference, 0), 15)
        self.keys += difference

    def __bytes__(self):
        pairs = zip(self.counters[::2], self.counters[1::2] + bytes(len(self.counters) % 2))
        return struct.pack("<QII", self.first_id, self.keys, 0) + bytes(high << 4 | low for high, low in pairs)


class Scaling:
    def __init__(self, capacity, rate):
        self.capacity, self.rate = capacity, rate
        self.max_id, self.sequence, self.flushed = 0, 1, 0
        self.filters = [Filter(capacity, rate / 2, 0)]

    def filter_of(self, number):
        return next(f for f in reversed(self.filters) if number >= f.first_id)

    def add(self, key, number):
        chosen = self.filter_of(number)
        if number > self.max_id and chosen.keys >= self.capacity - 1:
            chosen = Filter(self.capacity, self.rate * 0.5 ** (len(self.filters) + 1), self.max_id + 1)
            self.filters.append(chosen)
        self.max_id = max(self.max_id, number)
        chosen.change(key, 1)
        self.sequence, self.flushed = self.sequence + 1, 0

    def remove(self, key, number):
        self.filter_of(number).change(key, -1)
        self.sequence, self.flushed = self.sequence + 1, 0

    def flush(self):
        self.flushed = self.sequence

    def __contains__(self, key):
        return any(all(f.counters[place] for place in f.places(key)) for f in self.filters)

    def __bytes__(self):
        return struct.pack("<QQQ", self.max_id, self.sequence, self.flushed) + b"".join(map(bytes, self.filters))
