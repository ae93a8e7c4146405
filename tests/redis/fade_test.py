"""FADE.*: recent keys are found; which keys are overwritten, and when, follows the formula."""
import math
import random

from client import render
from families import Family, ForgeryMatrix, KeyMatrix, PersistenceMatrix
from harness import OneServerTest, RedisTest, ROUNDS, SEED, in_both_protocols, main, needs_module

ITEMS = [f"item{number}" for number in range(1200)]


class Fade(Family):
    prefix = "FADE"
    category = "fade"
    keys = ("young", "overwritten", "slots", "strict", "empty")
    reads = (("FADE.SEEN", "a", "item1"), ("FADE.INFO",))
    writes = (("FADE.RESERVE", "0.01", 10), ("FADE.PUT", "a", "b"), ("FADE.LOADCHUNK", 1, "x"), ("FADE.SCANDUMP", 0))
    events = ((("FADE.RESERVE", "f", "0.01", 100), ["fade.reserve"]), (("FADE.PUT", "f", "a"), ["fade.put"]),
              (("FADE.PUT", "f", "a", "b"), ["fade.put"]), (("FADE.SEEN", "f", "a"), []), (("DEL", "f"), ["del"]))
    grows = False

    def fill(self, client):
        for key, rate, capacity, count, *options in (
                ("young", "0.02", 1000, 300), ("overwritten", "0.1", 50, 1200), ("slots", "0.02", 400, 800, "SLOTS", 6),
                ("strict", "0.00001", 500, 1200), ("empty", "0.02", 77, 0)):
            client.must("FADE.RESERVE", key, rate, capacity, *options)
            if count:
                client.must("FADE.PUT", key, *ITEMS[-count:], *ITEMS[:20])

    def ask(self, client, key):
        return client.pipeline([("FADE.SEEN", key, *ITEMS, "stranger"), ("FADE.INFO", key)])

    def add(self, client, key, words):
        if not client.must("EXISTS", key):
            client.must("FADE.RESERVE", key, "0.01", 100)
        return client.must("FADE.PUT", key, *words)

    def change_nothing(self, client, key):
        client.call("FADE.PUT", key)
        client.call("FADE.RESERVE", key, "0.01", 100)
        client.call("FADE.LOADCHUNK", key, 1, "x")

    def reserve_large(self, client, key):
        return client.call("FADE.RESERVE", key, "0.01", 22_000_000)


@needs_module
class ContractTest(OneServerTest):
    @in_both_protocols
    def test_replies(self, client):
        self.check(client, """
            FADE.RESERVE f 0.001 1000 SEED 00112233445566778899aabbccddeeff => +OK
            FADE.RESERVE f 0.001 1000 => -ERR item exists
            FADE.PUT f a b a => *[:1 :1 :0] | *[#t #t #f]
            FADE.PUT f a => *[:0] | *[#f]
            FADE.SEEN f a b absent => *[:1 :1 :0] | *[#t #t #f]
            FADE.SEEN f a => *[:1] | *[#t]
            fade.put f '' => *[:1] | *[#t]
            FADE.SEEN f '' A => *[:1 :0] | *[#t #f]
            FADE.RESERVE g 1e-3 5000 SLOTS 8 SEED 00112233445566778899aabbccddeeff => +OK
            FADE.RESERVE h 0.49 1073741824 seed 00112233445566778899AABBCCDDEEFF slots 1 => +OK
            DEL h => :1
            """)
        facts = client.must("FADE.INFO", "g")
        names = [name for name, _ in facts] if client.protocol == 3 else facts[::2]
        self.assertEqual([bytes(name).decode() for name in names],
                         ["Capacity", "Error rate", "Size", "Slots", "Slots per item", "Bits per slot", "Half-life",
                          "Items put", "False positive rate"])
        self.assertIn("+Slots per item" + (": :8" if client.protocol == 3 else " :8"), render(facts))

    @in_both_protocols
    def test_errors(self, client):
        rate = "must be a number between 0 and 0.5, both excluded"
        capacity = "must be an integer in the range [1, 1073741824]"
        self.check(client, f"""
            FADE.RESERVE f 0.01 => -ERR wrong number of arguments for 'fade.reserve' command
            FADE.RESERVE f x 100 => -ERR the error rate {rate}
            FADE.RESERVE f 0 100 => -ERR the error rate {rate}
            FADE.RESERVE f 0.5 100 => -ERR the error rate {rate}
            FADE.RESERVE f nan 100 => -ERR the error rate {rate}
            FADE.RESERVE f 0.01 x => -ERR the capacity {capacity}
            FADE.RESERVE f 0.01 0 => -ERR the capacity {capacity}
            FADE.RESERVE f 0.01 1073741825 => -ERR the capacity {capacity}
            FADE.RESERVE f 0.01 100 SLOTS => -Unknown argument received
            FADE.RESERVE f 0.01 100 SLOTS 0 => -ERR slots must be an integer in the range [1, 32]
            FADE.RESERVE f 0.01 100 SLOTS 33 => -ERR slots must be an integer in the range [1, 32]
            FADE.RESERVE f 0.01 100 SEED xyz => -ERR bad seed: give 32 hexadecimal digits
            FADE.RESERVE f 0.01 100 FOO 1 => -Unknown argument received
            EXISTS f => :0
            FADE.RESERVE f 0.01 100 => +OK
            FADE.PUT f => -ERR wrong number of arguments for 'fade.put' command
            FADE.SEEN f => -ERR wrong number of arguments for 'fade.seen' command
            FADE.INFO f x => -ERR wrong number of arguments for 'fade.info' command
            """)

    @in_both_protocols
    def test_items_are_binary_safe_and_of_any_length(self, client):
        items = [bytes([byte]) for byte in range(256)] + [b"", b"\r\n", b"\x00" * 100, b"x" * 1_000_000]
        client.must("FADE.RESERVE", "f", "0.000001", 100_000, "SLOTS", 4, "SEED", "5" * 32)
        self.assertEqual(client.must("FADE.PUT", "f", *items), [1] * len(items))
        self.assertEqual(client.must("FADE.SEEN", "f", *items), [1] * len(items))
        self.assertEqual(client.must("FADE.PUT", "f", *items), [0] * len(items))


def survival(facts, age):
    """The share of items that are known when so many more have come."""
    slots, per_item = facts["Slots"], facts["Slots per item"]
    chance = 1 / (2 ** facts["Bits per slot"] - 1)
    kept = (1 - 1 / slots) ** (per_item * age)
    return 1 - (1 - kept - (1 - kept) * chance) ** per_item


@needs_module
class ModelTest(OneServerTest):
    def facts(self, key):
        facts = self.client.must("FADE.INFO", key)
        return {bytes(name).decode(): float(value) for name, value in zip(facts[::2], facts[1::2])}

    def assert_share(self, known, asked, expected, where):
        share = known / asked
        self.assertLess(abs(share - expected), 5 * math.sqrt(expected * (1 - expected) / asked) + 0.01, where)

    def test_items_are_forgotten_by_the_formula(self):
        """Many small filters, since items of one filter are overwritten together."""
        for options in ((), ("SLOTS", 4)):
            known, ages = {}, (1, 20, 100, 200, 500, 1000)
            filters, band = 80 * ROUNDS, 10
            for number in range(filters):
                self.client.must("FADE.RESERVE", f"f{options}{number}", "0.02", 100, *options, "SEED",
                                 f"{SEED * 1000 + number:032x}")
                items = [f"{number}.{item}" for item in range(1100)]
                self.client.must("FADE.PUT", f"f{options}{number}", *items)
                for age in ages:
                    asked = items[-age - band // 2:len(items) - age + band // 2] if age > band else items[-age:]
                    seen = self.client.must("FADE.SEEN", f"f{options}{number}", *asked)
                    known[age] = known.get(age, 0) + sum(seen)
            facts = self.facts(f"f{options}0")
            self.assertEqual(facts["Slots per item"], options[1] if options else 2)
            for age in ages:
                self.assert_share(known[age], filters * (band if age > band else 1), survival(facts, age),
                                  (options, age))
            self.assertGreaterEqual(facts["Half-life"], 100)
            self.assertLess(abs(survival(facts, facts["Half-life"]) - 0.5), 0.02)

    def test_strangers_are_taken_for_known_no_more_often_than_was_asked_for(self):
        for rate in (0.05, 0.002):
            key = f"rate {rate}"
            self.client.must("FADE.RESERVE", key, rate, 500, "SEED", f"{SEED:032x}")
            for last in (300, 1000, 20_000):  # the rate grows to its plateau
                self.client.must("FADE.PUT", key, *range(last))
                strangers = [f"s{number}" for number in range(8000)]
                wrong = sum(self.client.must("FADE.SEEN", key, *strangers)) / len(strangers)
                expected = self.facts(key)["False positive rate"]
                self.assertLess(wrong, expected + 5 * math.sqrt(rate / len(strangers)) + rate / 4, last)
                self.assertLessEqual(expected, rate * 1.0001)

    def test_an_item_that_comes_again_is_young_again(self):
        self.client.must("FADE.RESERVE", "f", "0.0001", 200, "SEED", f"{SEED:032x}")
        dice, known = random.Random(SEED), []
        for turn in range(300):
            known += self.client.must("FADE.SEEN", "f", "again") if turn else []
            self.client.must("FADE.PUT", "f", "again", *(dice.getrandbits(60) for _ in range(3)))
        # At age 3 nearly all are known, at the age of the first, 1200, hardly one.
        self.assertGreater(sum(known), 280)
        self.assertEqual(self.facts("f")["Items put"], 1200)

    def test_put_answers_as_seen_would(self):
        dice = random.Random(SEED)
        for key in ("one", "many"):
            self.client.must("FADE.RESERVE", key, "0.1", 30, "SEED", "0123456789abcdef" * 2)
        for _ in range(40 * ROUNDS):
            items = [f"{dice.randrange(100)}" for _ in range(dice.randrange(1, 150))]
            expected = []
            for item in items:
                expected.append(1 - self.client.must("FADE.SEEN", "one", item)[0])
                self.assertEqual(self.client.must("FADE.PUT", "one", item), expected[-1:])
            self.assertEqual(self.client.must("FADE.PUT", "many", *items), expected)
        self.assertEqual(*self.client.must("DEBUG", "DIGEST-VALUE", "one", "many"))


@needs_module
class PersistenceTest(PersistenceMatrix, RedisTest):
    family = Fade()


@needs_module
class KeyTest(KeyMatrix, OneServerTest):
    family = Fade()

    def test_what_commands_say_of_themselves(self):
        for name, flags in (("reserve", {"write", "denyoom"}), ("loadchunk", {"write", "denyoom"}),
                            ("put", {"write", "fast"}), ("seen", {"readonly", "fast"}), ("info", {"readonly", "fast"}),
                            ("scandump", {"readonly"})):
            (info,) = self.client.must("COMMAND", "INFO", f"fade.{name}")
            self.assertEqual({bytes(flag).decode() for flag in info[2]}, flags | {"module"}, name)

    def test_keys_that_are_absent(self):
        for name, *words in (*self.family.reads, self.family.writes[1]):
            self.assertEqual(self.client.call(name, "f", *words), "ERR not found", name)
        self.assertEqual(self.client.must("EXISTS", "f"), 0)


@needs_module
class ForgeryTest(ForgeryMatrix, OneServerTest):
    family = Fade()


if __name__ == "__main__":
    main()
