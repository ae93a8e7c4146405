"""GATE.*: a gate whose changes come with their positions. Contract, an exact model, and what every family must stand.

Usage: gate_test.py MODULE [unittest arguments...]

Gates are made elsewhere and loaded. Here they are made of a slice of a CBF.* filter, which is the same kind.
"""
import random
import struct
import unittest

from client import Error, render
from families import Family, IMAGE_HEADER, KeyMatrix, PersistenceMatrix, XXHASH, with_parameter
from harness import OneServerTest, ROUNDS, RedisTest, SEED, in_both_protocols, main, needs_module

SOURCE = "mankai_5f21c07a"
PREFIX = 16  # bytes; docs/formats/redis_dump.md
ALL = (1 << 64) - 1


def header_of(image, cells, position=0, source=SOURCE, mark=""):
    """Returns the header of a gate with the header of its image."""
    state = struct.pack("<Q16s32sQ", position, mark.encode(), source.encode(), XXHASH(cells, len(cells), 0))
    body = b"mankaigt" + struct.pack("<H6x", 1) + state + image
    return body + struct.pack("<Q", XXHASH(body, len(body), ALL))


def image_of(header):
    return header[-IMAGE_HEADER - 8:-8]


def piece_of(header, cells, start, end):
    """Returns what loads these of the cells behind that header."""
    bound, part = header[PREFIX:-8], cells[start:end]
    return 1 + end, part + struct.pack("<Q", XXHASH(part, len(part), start ^ XXHASH(bound, len(bound), ALL)))


def pieces_of(header, cells, most=16 << 20):
    return [(1, header), *(piece_of(header, cells, start, min(start + most, len(cells)))
                           for start in range(0, len(cells), most))]


def slice_of(client, capacity, *items):
    """Returns the header of a filter's image and its cells, which are the same for the same arguments."""
    client.must("CBF.RESERVE", "slices", "0.01", capacity, "SEED", "0123456789abcdef" * 2)
    for number, item in enumerate(items):
        client.must("CBF.ADD", "slices", item, number)
    (_, header), *chunks = client.chunks("CBF", "slices")
    client.must("DEL", "slices")
    return image_of(header), b"".join(chunk[:-8] for _, chunk in chunks)


def chunks_of(client, capacity, position=0, most=16 << 20):
    """Returns what makes an empty gate, and is the same for the same arguments."""
    image, cells = slice_of(client, capacity)
    return pieces_of(header_of(image, cells, position), cells, most)


def load(client, key, chunks):
    for chunk in chunks:
        if client.must("GATE.LOADCHUNK", key, *chunk) != b"OK":
            raise AssertionError(f"{key}: {chunk[0]}")


def facts(client, key):
    reply = client.must("GATE.INFO", key)
    pairs = reply if client.protocol == 3 else list(zip(reply[::2], reply[1::2]))
    return {bytes(name).decode(): value for name, value in pairs}


class Gates(Family):
    prefix = "GATE"
    category = "gate"
    keys = ("small", "counted", "moved")
    reads = (("GATE.MAYBE", 0, "a"), ("GATE.INFO",))
    writes = (("GATE.APPLY", SOURCE, 0, "", 1, "", 1, "a"), ("GATE.LOADCHUNK", 1, "x"))
    grows = False

    def fill(self, client):
        for number, key in enumerate(self.keys):
            load(client, key, chunks_of(client, 300 + number))
        client.must("GATE.APPLY", "counted", SOURCE, 0, "", 7, "x", 40, *(f"word{number % 25}" for number in range(40)), "word1")
        client.must("GATE.APPLY", "moved", SOURCE, 0, "", "0/16B3748", "", 0)

    def ask(self, client, key):
        return [client.call("GATE.MAYBE", key, 0, *(f"word{number}" for number in range(50))),
                client.call("GATE.INFO", key)]

    def add(self, client, key, words):
        if not client.must("EXISTS", key):
            load(client, key, chunks_of(client, 200))
        known = facts(client, key)
        at, mark = known["Position"], bytes(known["Mark"])
        return [client.must("GATE.APPLY", key, SOURCE, at, mark, at + 1, mark, len(words), *words)]

    def change_nothing(self, client, key):
        client.call("GATE.APPLY", key, SOURCE, 1 << 40, "", 1 << 41, "", 1, "a")
        client.call("GATE.APPLY", key, "another", 0, "", 1, "", 1, "a")
        client.call("GATE.LOADCHUNK", key, 1, "x")

    def reserve_large(self, client, key):
        try:
            load(client, key, LARGE)
        except AssertionError as error:
            return str(error)
        return b"OK"

    def chunks(self, client, key):  # there are none to ask for
        return []


LARGE = []  # of 33 to 40 megabytes


@needs_module
@unittest.skipUnless(XXHASH, "no libxxhash.so.0")
class ContractTest(OneServerTest):
    @in_both_protocols
    def test_replies(self, client):
        yes, no = ("#t", "#f") if client.protocol == 3 else (":1", ":0")
        chunks = chunks_of(client, 100, 5)
        for words, reply in (
                (("GATE.MAYBE", "f", 0, "a", "b"), f"*[{yes} {yes}]"),  # a key that is not there knows nothing
                (("GATE.APPLY", "f", SOURCE, 0, "", 1, "", 0), "-ERR not found"),
                (("GATE.INFO", "f"), "-ERR not found"),
                (("GATE.LOADCHUNK", "f", *chunks[0]), "+OK"),
                (("GATE.MAYBE", "f", 0, "a"), f"*[{yes}]"),  # nor does one that is not whole
                (("GATE.LOADCHUNK", "f", *chunks[1]), "+OK"),
                (("TYPE", "f"), "+mankai-gt"),
                (("GATE.MAYBE", "f", 0, "a", "b", ""), f"*[{no} {no} {no}]"),
                (("GATE.MAYBE", "f", 5, "a"), f"*[{no}]"),
                (("GATE.MAYBE", "f", 6, "a"), f"*[{yes}]"),
                (("GATE.APPLY", "f", SOURCE, 5, "", 6, "m", 3, "a", "", "a"), "+OK"),
                (("GATE.MAYBE", "f", 6, "a", "b", ""), f"*[{yes} {no} {yes}]"),
                (("GATE.MAYBE", "f", "0/7", "b"), f"*[{yes}]"),
                (("GATE.APPLY", "f", SOURCE, 5, "", 6, "m", 1, "b"), f"-GATEPOSITION the gate is at position 6 of {SOURCE}"),
                (("GATE.APPLY", "f", "other", 6, "m", 7, "n", 1, "b"), f"-GATEPOSITION the gate is at position 6 of {SOURCE}"),
                (("GATE.APPLY", "f", SOURCE, 6, "n", 7, "n", 1, "b"), f"-GATEPOSITION the gate is at position 6 of {SOURCE}"),
                (("GATE.APPLY", "f", SOURCE, 6, "m", "1/0", "0123456789abcdef", 1, "b", "a", "c"), "+OK"),
                (("GATE.MAYBE", "f", "1/0", "a", "b", "c"), f"*[{yes} {yes} {no}]"),
                (("GATE.APPLY", "f", SOURCE, 1 << 32, "0123456789abcdef", 1 << 32, "n", 0, "a"), "+OK"),
                (("GATE.MAYBE", "f", 1 << 32, "a", "b"), f"*[{no} {yes}]")):
            self.assertEqual(render(client.call(*words)), reply, words)
        found = facts(client, "f")
        self.assertGreater(found.pop("Size"), 0)
        self.assertLessEqual(float(found.pop("Error rate")), 0.01)
        self.assertGreaterEqual(found.pop("Capacity"), 100)
        self.assertEqual(bytes(found.pop("Source")), SOURCE.encode())
        self.assertEqual(bytes(found.pop("Mark")), b"n")
        self.assertEqual(found, {"Position": 1 << 32, "Number of items": 2, "Stuck counters": 0})

    def test_errors(self):
        load(self.client, "f", chunks_of(self.client, 100))
        for words, error in (
                (("GATE.MAYBE", "f", 0), "wrong number of arguments"),
                (("GATE.APPLY", "f", SOURCE, 0, "", 1, ""), "wrong number of arguments"),
                (("GATE.INFO", "f", "x"), "wrong number of arguments"),
                (("GATE.MAYBE", "f", "soon", "a"), "bad position"), (("GATE.MAYBE", "f", -1, "a"), "bad position"),
                (("GATE.MAYBE", "f", 1 << 63, "a"), "bad position"), (("GATE.MAYBE", "f", "", "a"), "bad position"),
                (("GATE.MAYBE", "f", "0/", "a"), "bad position"), (("GATE.MAYBE", "f", "/1", "a"), "bad position"),
                (("GATE.MAYBE", "f", "0/100000000", "a"), "bad position"),
                (("GATE.MAYBE", "f", "80000000/0", "a"), "bad position"),
                (("GATE.APPLY", "f", SOURCE, 0, "", "x", "", 0), "bad position"),
                (("GATE.APPLY", "f", SOURCE, 0, "", 1, "a b", 0), "bad position"),
                (("GATE.APPLY", "f", SOURCE, 0, "", 1, "0123456789abcdefg", 0), "bad position"),
                (("GATE.APPLY", "f", SOURCE, 1, "", 0, "", 0), "the new position is before the old one"),
                (("GATE.APPLY", "f", SOURCE, 0, "", 0, "", 1, "a"), "the new position equals the old one"),
                (("GATE.APPLY", "f", SOURCE, 0, "", 1, "", 2, "a"), "bad count: give the number of items to insert; the others are removed"),
                (("GATE.APPLY", "f", SOURCE, 0, "", 1, "", -1, "a"), "bad count"),
                (("GATE.APPLY", "f", SOURCE, 0, "", 1, "", "x", "a"), "bad count")):
            self.assertRegex(render(self.client.call(*words)), f"-.*{error}", words)
        self.assertEqual(facts(self.client, "f")["Position"], 0)

    def test_what_is_no_gate_is_not_loaded(self):
        image, cells = slice_of(self.client, 100)
        good = pieces_of(header_of(image, cells), cells)
        others = [pieces_of(header, cells) for header in (
            header_of(image, cells, source=""), header_of(image, cells, source="a b"), header_of(image, cells, source="a\0b"),
            header_of(image, cells, mark="a b"), header_of(image, cells, 1 << 63),
            header_of(image, cells[1:]))]  # cells that are not all that it says
        header, (end, piece) = good[0][1], good[1]
        for number, (first, last) in enumerate((
                *((other[0][1], other[1][1]) for other in others), (header[:-1] + b"x", piece), (b"mankaicb" + header[8:], piece),
                (header, piece[:-1] + b"x"))):
            self.client.must("DEL", "f")
            self.client.call("GATE.LOADCHUNK", "f", 1, first)
            self.assertIsInstance(self.client.call("GATE.LOADCHUNK", "f", end, last), Error, number)
            self.assertEqual(self.client.must("GATE.MAYBE", "f", 0, "a"), [1])
        for place in range(64, 88, 4):  # parameters that may make no sense together
            self.client.must("DEL", "f")
            odd = with_parameter(header, place)
            self.client.must("GATE.LOADCHUNK", "f", 1, odd)
            self.client.call("GATE.LOADCHUNK", "f", *pieces_of(odd, cells)[1])
            self.client.call("GATE.APPLY", "f", SOURCE, 0, "", 1, "", 1, "a", "b")
            self.assertEqual(self.client.must("GATE.MAYBE", "f", 0, "a"), [1], place)
        self.client.must("DEL", "f")
        load(self.client, "f", good)

    def test_a_piece_of_another_load_is_not_taken(self):
        """Of the same sizes and counts: at another position, of other keys there, of another source."""
        image, cells = slice_of(self.client, 100, "a")
        half = len(cells) // 2
        load_of = lambda *more: pieces_of(header_of(image, *more), more[0], half)
        wanted = load_of(cells, 7)
        answers = None
        for other in (load_of(cells, 6), load_of(slice_of(self.client, 100, "b")[1], 7), load_of(cells, 7, "another"),
                      load_of(cells, 7, SOURCE, "m")):
            self.client.must("DEL", "f")
            for number, chunk in enumerate(wanted):
                for late in other[1:]:
                    self.assertIsInstance(self.client.call("GATE.LOADCHUNK", "f", *late), Error, number)
                self.client.must("GATE.LOADCHUNK", "f", *chunk)
            for late in other:
                self.assertIsInstance(self.client.call("GATE.LOADCHUNK", "f", *late), Error)
            given = bytes(self.client.must("DEBUG", "DIGEST-VALUE", "f")[0])
            self.assertEqual(answers or given, given)
            answers = given
            self.assertEqual(self.client.must("GATE.MAYBE", "f", 7, "a", "b"), [1, 0])


@needs_module
@unittest.skipUnless(XXHASH, "no libxxhash.so.0")
class ModelTest(OneServerTest):
    def test_nothing_that_is_in_is_ever_empty(self):
        """Beside a multiset, with commands that come twice, too early, or from somebody else."""
        dice = random.Random(SEED)
        load(self.client, "f", chunks_of(self.client, 400))
        held, at = {}, 0
        for _ in range(300 * ROUNDS):
            came = [f"k{dice.randrange(300)}" for _ in range(dice.randrange(4))]
            present = [key for key, count in held.items() if count > 0]
            went = dice.sample(present, min(len(present), dice.randrange(4)))
            step = dice.randrange(1, 1000)
            for words in ((SOURCE, at + step, "", at + 2 * step, ""), ("another", at, "", at + step, "")):
                self.assertIsInstance(self.client.call("GATE.APPLY", "f", *words, len(came), *came, *went), Error)
            self.client.must("GATE.APPLY", "f", SOURCE, at, "", at + step, "", len(came), *came, *went)
            self.assertIsInstance(self.client.call("GATE.APPLY", "f", SOURCE, at, "", at + step, "", len(came), *came, *went), Error)
            at += step
            for key, change in (*((key, 1) for key in came), *((key, -1) for key in went)):
                held[key] = held.get(key, 0) + change
            asked = [f"k{number}" for number in range(300)]
            answers = self.client.must("GATE.MAYBE", "f", dice.choice((0, at)), *asked)
            self.assertEqual([key for key, answer in zip(asked, answers) if held.get(key, 0) > 0 and answer != 1], [])
            self.assertLess(sum(answers) - sum(held.get(key, 0) > 0 for key in asked), 30)
            self.assertEqual(self.client.must("GATE.MAYBE", "f", at + 1, *asked), [1] * 300)
        self.assertEqual(facts(self.client, "f")["Number of items"], sum(held.values()))


@needs_module
@unittest.skipUnless(XXHASH, "no libxxhash.so.0")
class PersistenceTest(PersistenceMatrix, RedisTest):
    family = Gates()
    # Of pieces that are asked for.
    test_what_is_no_filter_after_all_is_dropped_everywhere = None
    test_a_large_key_moves_in_chunks = None


@needs_module
@unittest.skipUnless(XXHASH, "no libxxhash.so.0")
class KeyTest(KeyMatrix, OneServerTest):
    family = Gates()

    def setUp(self):
        super().setUp()
        if not LARGE:
            # The server keeps a buffer as large as a piece.
            LARGE.extend(chunks_of(self.client, 6_100_000, most=1 << 20))
        (first, header), (last, cells) = chunks_of(self.client, 100)
        self.family.events = (
            (("GATE.LOADCHUNK", "f", first, header), ["gate.loadchunk"]),
            (("GATE.LOADCHUNK", "f", last, cells), ["gate.loadchunk"]),
            (("GATE.APPLY", "f", SOURCE, 0, "", 1, "", 1, "a"), ["gate.apply"]), (("GATE.MAYBE", "f", 0, "a"), []),
            (("DEL", "f"), ["del"]))


if __name__ == "__main__":
    main()
