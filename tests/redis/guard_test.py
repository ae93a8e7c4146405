"""GUARD.*: rules and the URLs that they cover. Contract, an exact model, what every family must stand.

Usage: guard_test.py MODULE [unittest arguments...]
"""
import pathlib
import random
import struct
import sys

from client import Null, render, wait_for
from families import Family, ForgeryMatrix, KeyMatrix, PersistenceMatrix, XXHASH
from harness import GOLDEN_GUARD, OneServerTest, ROUNDS, RedisTest, SEED, in_both_protocols, main, needs_module, saved
from persistence_test import FOOTER, sealed

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "guard"))
import spellings  # noqa: E402

NO_RULE = "-ERR not a rule: it has no host, one that is too long, a wildcard or a fragment, or is a network"
NO_URL = "-ERR not a URL: it has no host"
URLS = [f"http://h{number % 5}.d{number % 7}.example/p{number % 3}/q{number % 11}" for number in range(200)]


def covering(url):
    """Returns every rule that covers a URL of plain letters, without a query."""
    host, _, path = url.split("://")[1].partition("/")
    labels = host.split(".")
    segments = [segment for segment in path.split("/") if segment]
    return {".".join(labels[first:]) + "".join(f"/{segment}" for segment in segments[:last])
            for first in range(len(labels)) for last in range(len(segments) + 1)}


class Rules(Family):
    prefix = "GUARD"
    category = "guard"
    keys = ("blocked", "held", "mixed")
    reads = (("GUARD.CHECK", "http://a.example/"), ("GUARD.INFO",))
    writes = (("GUARD.BLOCK", "a.example"), ("GUARD.UNBLOCK", "a.example"), ("GUARD.ALLOW", "a.example"),
              ("GUARD.DISALLOW", "a.example"), ("GUARD.LOADCHUNK", 0, 5, "12345"))
    events = ((("GUARD.UNBLOCK", "f", "a.example"), []), (("GUARD.BLOCK", "f", "mailto:x"), []),
              (("GUARD.BLOCK", "f", "a.example", "mailto:x"), ["guard.block"]), (("GUARD.BLOCK", "f", "A.example"), []),
              (("GUARD.CHECK", "f", "a.example"), []), (("GUARD.BLOCK", "f", "a.example", "ID", 7), ["guard.block"]),
              (("GUARD.UNBLOCK", "f", "a.example", "ID", 8), []), (("GUARD.UNBLOCK", "f", "a.example", "ID", 7), ["guard.unblock"]),
              (("GUARD.UNBLOCK", "f", "a.example"), ["guard.unblock"]), (("GUARD.ALLOW", "f", "a.example"), ["guard.allow"]),
              (("GUARD.ALLOW", "f", "a.example"), []), (("GUARD.DISALLOW", "f", "a.example"), ["guard.disallow"]),
              (("GUARD.DISALLOW", "f", "a.example"), []), (("DEL", "f"), ["del"]))

    def fill(self, client):
        client.must("GUARD.BLOCK", "blocked", *(f"h{number}.d{number % 3}.example/p{number % 2}" for number in range(60)))
        for number in range(9):
            client.must("GUARD.BLOCK", "held", "h1.d1.example", f"h{number}.d2.example", "ID", number)
        client.must("GUARD.BLOCK", "mixed", "d0.example", "d1.example", "h2.d2.example/p0")
        client.must("GUARD.UNBLOCK", "mixed", "d1.example")
        client.must("GUARD.ALLOW", "mixed", "h0.d0.example")

    def ask(self, client, key):
        return client.pipeline([("GUARD.CHECK", key, *URLS), ("GUARD.INFO", key)])

    def add(self, client, key, words):
        return client.must("GUARD.BLOCK", key, *(f"added.example/{word}" for word in words))

    def change_nothing(self, client, key):
        client.must("GUARD.BLOCK", key, "mailto:x")
        client.must("GUARD.UNBLOCK", key, "not.there.example", "mailto:x")
        client.must("GUARD.UNBLOCK", key, "h1.d1.example", "ID", 99)
        client.must("GUARD.DISALLOW", key, "not.there.example")
        client.call("GUARD.LOADCHUNK", key, 0, 5, "12345")

    def chunks(self, client, key):  # there are none to ask for
        return []


@needs_module
class ContractTest(OneServerTest):
    @in_both_protocols
    def test_replies(self, client):
        null = "_" if client.protocol == 3 else "$-1"
        for words, reply in (
                (("GUARD.CHECK", "f", "http://a.example/", ""), f"*[{null} {NO_URL}]"),
                (("GUARD.UNBLOCK", "f", "a.example", ""), f"*[:0 {NO_RULE}]"),
                (("GUARD.DISALLOW", "f", "a.example"), "*[:0]"),
                (("GUARD.INFO", "f"), "-ERR not found"),
                (("GUARD.BLOCK", "f", "", "mailto:x"), f"*[{NO_RULE} {NO_RULE}]"),
                (("EXISTS", "f"), ":0"),
                (("GUARD.BLOCK", "f", "Evil.example", "mailto:x", "a.example/p/", "http://a.example/p"),
                 f"*[:1 {NO_RULE} :1 :0]"),
                (("TYPE", "f"), "+mankai-gd"),
                (("GUARD.CHECK", "f", "http://x.y.EVIL.example:80/z", "a.example/p/q?r", "a.example/pq", "mailto:x",
                  "b.a.example/%70"), f'*["evil.example" "a.example/p" {null} {NO_URL} "a.example/p"]'),
                (("GUARD.ALLOW", "f", "good.evil.example", ""), f"*[:1 {NO_RULE}]"),
                (("GUARD.CHECK", "f", "http://good.evil.example/", "http://bad.evil.example/"),
                 f'*[{null} "evil.example"]'),
                (("GUARD.DISALLOW", "f", "good.evil.example", "good.evil.example"), "*[:1 :0]"),
                (("GUARD.BLOCK", "f", "evil.example", "ID", 5), "*[:1]"),
                (("GUARD.UNBLOCK", "f", "evil.example", "ID", 6), "*[:0]"),
                (("GUARD.UNBLOCK", "f", "evil.example", "ID", 5), "*[:2]"),
                (("GUARD.UNBLOCK", "f", "evil.example"), "*[:1]"),
                (("GUARD.BLOCK", "f", "id"), "*[:1]"),  # a host of one label
                (("GUARD.CHECK", "f", "http://evil.example/", "http://x.id/"), f'*[{null} "id"]')):
            self.assertEqual(render(client.call(*words)), reply, words)

    def test_no_spelling_leads_around_a_rule(self):
        self.client.must("GUARD.BLOCK", "f", *spellings.RULES)
        self.client.must("GUARD.ALLOW", "f", *spellings.EXCEPTIONS)
        null = render(self.client.must("GUARD.CHECK", "f", "http://ok.test/")[0])
        for urls, answer in ((spellings.BLOCKED, None), (spellings.INVALID, NO_URL), (spellings.OK, null)):
            for url, reply in zip(urls, self.client.must("GUARD.CHECK", "f", *urls), strict=True):
                with self.subTest(url):
                    if answer is None:
                        self.assertIn(bytes(reply).decode(), spellings.COVERED)
                    else:
                        self.assertEqual(render(reply), answer)

    def test_errors(self):
        for words, error in (
                (("GUARD.BLOCK", "f"), "wrong number of arguments"),
                (("GUARD.UNBLOCK", "f"), "wrong number of arguments"),
                (("GUARD.CHECK", "f"), "wrong number of arguments"),
                (("GUARD.INFO", "f", "x"), "wrong number of arguments"),
                (("GUARD.LOADCHUNK", "f", 0, 1), "wrong number of arguments"),
                (("GUARD.BLOCK", "f", "a.example", "ID", "x"), "ID must be a number"),
                (("GUARD.BLOCK", "f", "a.example", "ID", -1), "ID must be a number"),
                (("GUARD.LOADCHUNK", "f", 0, 3, "xxx"), "bad data"),
                (("GUARD.LOADCHUNK", "f", 0, 2, "xxx"), "bad data"),
                (("GUARD.LOADCHUNK", "f", 5, 9, "xxx"), "not found"),
                (("GUARD.LOADCHUNK", "f", -1, 9, "xxx"), "numbers of bytes"),
                (("GUARD.LOADCHUNK", "f", 0, 1 << 50, "xxx"), "numbers of bytes")):
            self.assertRegex(render(self.client.call(*words)), f"-.*{error}", words)
        self.assertEqual(self.client.must("EXISTS", "f"), 0)

    def test_facts(self):
        self.client.must("GUARD.BLOCK", "f", "a.example", "b.example", "c.example/x")
        self.client.must("GUARD.UNBLOCK", "f", "b.example")
        self.client.must("GUARD.ALLOW", "f", "d.example")
        info = self.client.must("GUARD.INFO", "f")
        fields = {bytes(name).decode(): value for name, value in zip(info[::2], info[1::2])}
        self.assertGreater(fields.pop("Size"), 0)
        self.assertEqual(fields, {"Rules": 2, "Added rules": 2, "Removed rules": 0, "Exceptions": 1, "URL rules": 1})

    def image_of(self, key):
        self.client.config("rdbcompression", "no")
        self.addCleanup(self.client.config, "rdbcompression", "yes")
        dump = self.client.must("DUMP", key)
        start = dump.index(b"MKGUAR")
        length, = struct.unpack_from("<Q", dump, start + 48)  # docs/formats/guard.md
        return dump[start:start + length]

    def test_a_piece_for_which_there_was_no_memory_can_be_sent_again(self):
        self.client.must("GUARD.BLOCK", "f", *(f"h{number}.example" for number in range(100_000)))
        image = self.image_of("f")
        half = len(image) // 2
        self.assertGreater(len(image), 1 << 20)  # smaller blocks are granted above maxmemory
        self.client.must("GUARD.LOADCHUNK", "g", 0, len(image), image[:half])
        # The engine counts the piece before the command, which then needs all bytes beside the first half.
        self.client.config("maxmemory", int(self.client.info("memory")["used_memory"]) + len(image))
        self.addCleanup(self.client.config, "maxmemory", 0)
        self.assertEqual(self.client.call("GUARD.LOADCHUNK", "g", half, len(image), image[half:]), "ERR Insufficient memory")
        self.assertRegex(render(self.client.call("GUARD.CHECK", "g", "h1.example")), "not complete")
        self.client.config("maxmemory", 0)
        self.client.must("GUARD.LOADCHUNK", "g", half, len(image), image[half:])
        self.assertEqual(*self.client.must("DEBUG", "DIGEST-VALUE", "f", "g"))

    def test_loading_in_pieces(self):
        """What comes half is saved and copied half, refuses questions, and is whole with the last byte."""
        self.client.must("GUARD.BLOCK", "f", *(f"h{number}.example" for number in range(100)))
        image = self.image_of("f")
        length = len(image)
        self.assertEqual(self.client.must("GUARD.LOADCHUNK", "g", 0, length, image), b"OK")
        self.assertEqual(*self.client.must("DEBUG", "DIGEST-VALUE", "f", "g"))
        self.client.must("DEL", "g")
        for offset in range(0, len(image), 1000):
            if offset:
                self.assertRegex(render(self.client.call("GUARD.CHECK", "g", "h1.example")), "not complete")
                self.assertRegex(render(self.client.call("GUARD.BLOCK", "g", "h1.example")), "not complete")
                self.assertRegex(render(self.client.call("GUARD.LOADCHUNK", "g", 1, len(image), "x")), "unexpected offset or total")
            self.assertEqual(self.client.must("GUARD.LOADCHUNK", "g", offset, len(image), image[offset:offset + 1000]), b"OK")
            self.client.must("DEBUG", "RELOAD")
            self.client.must("COPY", "g", "h", "REPLACE")
        self.assertEqual(*self.client.must("DEBUG", "DIGEST-VALUE", "f", "g"))
        self.assertEqual(*self.client.must("DEBUG", "DIGEST-VALUE", "f", "h"))
        dice = random.Random(SEED)
        for _ in range(200 * ROUNDS):  # damage is refused
            bad = bytearray(image)
            bad[dice.randrange(len(bad))] ^= 1 << dice.randrange(8)
            self.client.must("DEL", "bad")
            if self.client.call("GUARD.LOADCHUNK", "bad", 0, len(bad), bytes(bad)) == b"OK":
                self.assertEqual(self.client.must("GUARD.CHECK", "bad", *URLS), self.client.must("GUARD.CHECK", "f", *URLS))

    def test_above_the_limit_nothing_is_taken(self):
        """Whether rules, ids, or texts fill a key: it stays below the limit, what is there answers, and can go."""
        limit = 200_000
        self.addCleanup(self.client.config, "bf.filter-memory-limit", 0)
        self.client.config("bf.filter-memory-limit", 1000)
        self.assertRegex(render(self.client.call("GUARD.BLOCK", "f", "a.example")), "-ERR .*filter-memory-limit")
        self.assertEqual(self.client.must("EXISTS", "f"), 0)
        self.client.config("bf.filter-memory-limit", limit // 20)
        text = "x" * 20_000
        self.assertRegex(render(self.client.must("GUARD.ALLOW", "f", f"h.example/{text}")[0]), "-ERR .*filter-memory-limit")
        self.assertEqual(self.client.must("EXISTS", "f"), 0)
        self.client.config("bf.filter-memory-limit", limit)
        text = text[:5000]
        for block, unblock, covered in (
                (lambda number: ("GUARD.BLOCK", "f", f"h{number}.example"), ("GUARD.UNBLOCK", "f", "h0.example"), "h0.example"),
                (lambda number: ("GUARD.BLOCK", "f", "h.example", "ID", 9999 - number), ("GUARD.UNBLOCK", "f", "h.example"),
                 "h.example"),
                (lambda number: ("GUARD.ALLOW", "f", f"h{number}.example/{text}"),
                 ("GUARD.DISALLOW", "f", f"h0.example/{text}"), None)):
            with self.subTest(block(0)[:2], covered=covered):
                self.client.must("DEL", "f")
                replies = [render(reply[0]) for reply in self.client.pipeline([block(number) for number in range(5000)])]
                taken = replies.index("-ERR the filter would be larger than filter-memory-limit allows")
                self.assertEqual(set(replies[:taken]), {":1"})
                self.assertEqual(set(replies[taken:]), {replies[taken]})
                self.assertGreater(taken, 10)
                usage = self.client.must("MEMORY", "USAGE", "f")
                self.assertGreater(usage, limit / 3)
                self.assertLessEqual(usage, limit)
                if covered:
                    self.assertEqual(self.client.must("GUARD.CHECK", "f", covered), [covered.encode()])
                self.assertEqual(self.client.must(*unblock), [1])
                self.assertLessEqual(self.client.must("MEMORY", "USAGE", "f"), usage)

    def test_what_is_taken_from_loaded_rules_is_below_the_limit_too(self):
        image = GOLDEN_GUARD.read_bytes()
        self.client.config("bf.filter-memory-limit", len(image))
        self.addCleanup(self.client.config, "bf.filter-memory-limit", 0)
        self.assertRegex(render(self.client.call("GUARD.LOADCHUNK", "f", 0, len(image), image)), "filter-memory-limit")
        self.client.config("bf.filter-memory-limit", 0)
        self.client.must("GUARD.LOADCHUNK", "f", 0, len(image), image)
        before = self.client.must("MEMORY", "USAGE", "f")
        self.assertGreater(before, len(image))
        self.assertEqual(self.client.must("GUARD.UNBLOCK", "f", "other.example/foo"), [1])
        after = self.client.must("MEMORY", "USAGE", "f")
        self.assertGreater(after, before + 16)
        self.client.config("bf.filter-memory-limit", 1000)
        self.assertEqual(list(map(render, self.client.must("GUARD.UNBLOCK", "f", "added.example/here", "evil.example"))),
                         [":1", "-ERR the filter would be larger than filter-memory-limit allows"])
        self.assertEqual(self.client.must("GUARD.CHECK", "f", "evil.example"), [b"evil.example"])
        self.client.config("bf.filter-memory-limit", 0)
        self.assertEqual(self.client.must("GUARD.UNBLOCK", "f", "evil.example"), [1])

    def test_memory_is_counted_and_given_back(self):
        def used():
            return int(self.client.info("memory")["used_memory"])

        text = "x" * 3000
        before = used()
        for fill in (lambda number: ("GUARD.BLOCK", "f", *(f"h{number}.{part}.example/x" for part in range(1000))),
                     lambda number: ("GUARD.ALLOW", "f", *(f"h{number}.{part}.example/{text}" for part in range(40)))):
            for number in range(50):
                self.client.must(*fill(number))
            took = used() - before
            usage = self.client.must("MEMORY", "USAGE", "f")
            self.assertGreater(usage, took * 0.8)  # the allocator has sizes that are up to a quarter apart
            self.assertLess(usage, took * 1.2)
        self.client.must("COPY", "f", "g")
        self.assertGreater(used() - before, took * 1.6)
        self.assertEqual(self.client.must("MEMORY", "USAGE", "g"), usage)
        self.assertEqual(self.client.info("bf_guard")["bf_keys"], "2")
        self.client.must("UNLINK", "f", "g")
        wait_for("memory is freed", lambda: used() - before < 1 << 20)
        self.assertEqual(self.client.info("bf_guard")["bf_keys"], "0")

    def test_many_ids_of_a_rule(self):
        """In falling order, each inserted before all others."""
        count = 50_000
        before = int(self.client.info("memory")["used_memory"])
        replies = self.client.pipeline([("GUARD.BLOCK", "f", "h.example", "ID", number) for number in range(count, 0, -1)])
        self.assertEqual(sum(reply[0] for reply in replies), count)
        took = int(self.client.info("memory")["used_memory"]) - before
        self.assertAlmostEqual(self.client.must("MEMORY", "USAGE", "f"), took, delta=took * 0.3)
        self.client.must("DEBUG", "RELOAD")
        self.assertEqual(self.client.must("GUARD.UNBLOCK", "f", "h.example", "ID", 7), [2])
        self.assertEqual(self.client.must("GUARD.UNBLOCK", "f", "h.example"), [1])


class RulesModel:
    """What a key of rules must be: exact."""

    def __init__(self, key, urls, ids=(), exceptions=()):
        self.key, self.urls = key, urls
        self.rules = sorted({rule for url in urls for rule in covering(url)})
        self.ids = {rule: set(holders) for rule, holders in dict(ids).items()}
        self.exceptions = set(exceptions)

    def change(self, test, client, dice):
        """Sends a command in some spelling. Its reply must be the model's."""
        rule = dice.choice(self.rules)
        spelled = dice.choice((rule, rule.partition("/")[0].upper() + "".join(rule.partition("/")[1:]), f"http://{rule}"))
        chosen, holder, held = dice.random(), dice.randrange(3), self.ids.setdefault(rule, set())
        if chosen < 0.45:
            words, expected = ("GUARD.BLOCK", self.key, spelled, "ID", holder), int(holder not in held)
            held.add(holder)
        elif chosen < 0.6:
            words = ("GUARD.UNBLOCK", self.key, spelled, "ID", holder)
            expected = (1 if held == {holder} else 2) if holder in held else 0
            held.discard(holder)
        elif chosen < 0.7:
            words, expected = ("GUARD.UNBLOCK", self.key, spelled), int(bool(held))
            held.clear()
        elif chosen < 0.85:
            words, expected = ("GUARD.ALLOW", self.key, spelled), int(rule not in self.exceptions)
            self.exceptions.add(rule)
        else:
            words, expected = ("GUARD.DISALLOW", self.key, spelled), int(rule in self.exceptions)
            self.exceptions.discard(rule)
        test.assertEqual(client.must(*words), [expected], words)

    def assert_right(self, test, client):
        in_force = {rule for rule, held in self.ids.items() if held}
        for asked, answer in zip(self.urls, client.must("GUARD.CHECK", self.key, *self.urls)):
            rules = covering(asked)
            wanted = set() if rules & self.exceptions else rules & in_force
            found = set() if isinstance(answer, Null) else {bytes(answer).decode()}
            test.assertEqual(bool(found), bool(wanted), asked)
            test.assertLessEqual(found, wanted, asked)
        # All else that is in force there is not among the URLs.
        exceptions = client.must("GUARD.INFO", self.key)[7]
        test.assertEqual(exceptions, len(self.exceptions))


@needs_module
class ModelTest(OneServerTest):
    """Random rules, ids and exceptions against an exact model."""

    def test_what_is_blocked_is_what_the_model_says(self):
        for number in range(3 * ROUNDS):
            dice = random.Random(SEED * 1000 + number)
            self.client.must("DEL", "f")
            self.client.must("GUARD.BLOCK", "f", "only.so.that.there.is.a.key")
            model = RulesModel("f", URLS[:60])
            for _ in range(150):
                model.change(self, self.client, dice)
                model.assert_right(self, self.client)


@needs_module
class RestartedModelTest(RedisTest):
    """The same, of rules that were given by commands and of loaded ones, while the server is killed and started anew."""

    HOSTS = ("evil.example", "www.evil.example", "good.evil.example", "other.example", "x.other.example",
             "a.b.c.d.e.example", "d.e.example", "removed.example", "added.example", "stranger.example")
    PATHS = ("", "foo", "foo/x", "foobar", "1/2/3", "here")
    # Of GOLDEN_GUARD, as far as these URLs see it.
    LOADED = {"evil.example": {0}, "other.example/foo": {0}, "a.b.c.d.e.example": {0}, "x.other.example/1/2/3": {0},
              "added.example/here": {7, 9}}

    def ways_out(self, server, client, key):
        def again():
            server.restart(kill=True)
            return server.client()

        def rewritten(preamble):
            client.config("aof-use-rdb-preamble", preamble)
            saved(client, "BGREWRITEAOF")
            return again()

        def copied():
            client.must("COPY", key, "copy")
            client.must("RENAME", "copy", key)
            return client

        return (again, lambda: rewritten("no"), lambda: rewritten("yes"), copied,
                lambda: client.must("DEBUG", "RELOAD") and client)

    def test_what_is_blocked_is_what_the_model_says(self):
        image = GOLDEN_GUARD.read_bytes()
        server = self.start(appendonly="yes", appendfsync="always")
        client = server.client()
        client.must("GUARD.LOADCHUNK", "loaded", 0, len(image), image)
        client.must("GUARD.BLOCK", "given", "only.so.that.there.is.a.key")
        urls = [f"http://{host}/{path}" for host in self.HOSTS for path in self.PATHS]
        models = (RulesModel("loaded", urls, self.LOADED, {"good.evil.example"}), RulesModel("given", URLS[:60]))
        dice = random.Random(SEED)
        for _ in range(20 * ROUNDS):
            for model in models:
                for _ in range(dice.randrange(40)):
                    model.change(self, client, dice)
                model.assert_right(self, client)
            digests = client.must("DEBUG", "DIGEST-VALUE", "loaded", "given")
            client = dice.choice(self.ways_out(server, client, dice.choice(("loaded", "given"))))()
            self.assertEqual(client.must("DEBUG", "DIGEST-VALUE", "loaded", "given"), digests)
            for model in models:
                model.assert_right(self, client)


@needs_module
class PersistenceTest(PersistenceMatrix, RedisTest):
    family = Rules()
    # Of pieces that are asked for.
    test_what_is_no_filter_after_all_is_dropped_everywhere = None
    test_a_large_key_moves_in_chunks = None

    def test_rules_of_more_than_a_piece(self):
        """Bytes of guards go through files and to replicas in pieces of 16 MiB."""
        server = self.start(appendonly="yes", aof_use_rdb_preamble="no", rdbcompression="no", tcp=True)
        client = server.client()
        text = "x" * 60_000
        client.pipeline([("GUARD.ALLOW", "f", f"h{number}.example/{text}") for number in range(300)])
        client.must("GUARD.BLOCK", "f", "example")
        digest = client.must("DEBUG", "DIGEST-VALUE", "f")
        client.must("DEBUG", "RELOAD")
        self.assertEqual(client.must("DEBUG", "DIGEST-VALUE", "f"), digest)
        client.must("COPY", "f", "g")
        self.assertEqual(client.must("DEBUG", "DIGEST-VALUE", "g"), digest)
        client.must("DEL", "g")
        saved(client, "BGREWRITEAOF")
        server.restart(kill=True)
        client = server.client()
        self.assertEqual(client.must("DEBUG", "DIGEST-VALUE", "f"), digest)
        replica = self.start(tcp=True)
        replica.replicate(server)
        self.assertEqual(replica.client().must("DEBUG", "DIGEST-VALUE", "f"), digest)
        self.assertEqual(list(map(render, client.must("GUARD.CHECK", "f", f"h7.example/{text}/y", "h7.example/y"))),
                         ["$-1", '"example"'])

    def test_a_rule_that_looks_like_the_option_is_appended_as_a_rule(self):
        server = self.start(appendonly="yes")
        client = server.client()
        client.must("GUARD.BLOCK", "f", "ga")
        self.assertEqual(client.must("GUARD.BLOCK", "f", "tk", "id", "ml", "ga"), [1, 1, 1, 0])
        self.assertEqual(client.must("GUARD.BLOCK", "g", "evil.example", "ID", "1", "1"), [1, 1, 1, 0])
        self.assertEqual(client.must("GUARD.BLOCK", "h", "a", "c", "b", "id"), [1, 1, 1, 1])
        self.assertEqual(client.must("GUARD.UNBLOCK", "h", "a", "id", "c", "d"), [1, 1, 1, 0])
        digests = client.must("DEBUG", "DIGEST-VALUE", "f", "g", "h")
        server.restart(kill=True)
        self.assertEqual(server.client().must("DEBUG", "DIGEST-VALUE", "f", "g", "h"), digests)

    def test_of_many_rules_those_that_change_something_are_appended(self):
        client = self.start(appendonly="yes", appendfsync="always").client()
        rules = [f"h{number}.example" for number in range(300)]
        client.must("GUARD.BLOCK", "f", *rules)
        before = int(client.info("persistence")["aof_current_size"])
        client.must("GUARD.BLOCK", "f", *rules, "new.example", *rules)
        self.assertLess(int(client.info("persistence")["aof_current_size"]) - before, 200)


@needs_module
class KeyTest(KeyMatrix, OneServerTest):
    family = Rules()
    # Of families that reserve; ContractTest has what holds for rules.
    test_memory_is_counted_and_given_back = None
    test_above_the_limit_nothing_is_made_and_what_is_there_answers = None

    def test_what_commands_say_of_themselves(self):
        for name, flags in (("block", {"write", "denyoom", "fast"}), ("unblock", {"write", "fast"}),
                            ("allow", {"write", "denyoom", "fast"}), ("disallow", {"write", "fast"}),
                            ("check", {"readonly", "fast"}), ("info", {"readonly", "fast"}),
                            ("loadchunk", {"write", "denyoom"})):
            (info,) = self.client.must("COMMAND", "INFO", f"guard.{name}")
            self.assertEqual({bytes(flag).decode() for flag in info[2]}, flags | {"module"}, name)

    def test_a_loaded_key_takes_the_place_of_another(self):
        """As docs/redis/guard.md says of lists that come anew every day."""
        image = GOLDEN_GUARD.read_bytes()
        self.client.must("GUARD.BLOCK", "lists", "old.example")
        self.assertEqual(self.client.must("GUARD.LOADCHUNK", "lists:next", 0, len(image), image), b"OK")
        self.assertEqual(self.client.must("RENAME", "lists:next", "lists"), b"OK")
        self.assertEqual(list(map(render, self.client.must("GUARD.CHECK", "lists", "old.example", "www.evil.example"))),
                         ["$-1", '"evil.example"'])

    def test_long_urls_and_rules_are_refused_each_for_itself(self):
        url, rule = "http://a.example/".ljust((64 << 10) + 1, "x"), "b.example/".ljust((64 << 10) + 1, "/")
        too_long = render(self.client.must("GUARD.BLOCK", "f", "no host")[0])
        self.assertRegex(too_long, "ERR not a rule")
        self.assertEqual(list(map(render, self.client.must("GUARD.BLOCK", "f", "a.example", rule, "c.example"))),
                         [":1", too_long, ":1"])
        for name in ("GUARD.UNBLOCK", "GUARD.ALLOW", "GUARD.DISALLOW"):
            self.assertEqual(list(map(render, self.client.must(name, "f", rule))), [too_long])
            self.assertEqual(list(map(render, self.client.must(name, "new", rule))), [too_long])
        self.assertEqual(list(map(render, self.client.must("GUARD.BLOCK", "new", rule))), [too_long])
        self.assertEqual(self.client.must("EXISTS", "new"), 0)
        self.assertEqual(list(map(render, self.client.must("GUARD.CHECK", "f", url, "http://c.example/", url[:-1]))),
                         ["-ERR the URL is too long: at most 65536 bytes", '"c.example"', '"a.example"'])

    def test_urls_of_one_command_are_bounded(self):
        self.client.must("GUARD.BLOCK", "f", "a.example")
        plain = ["a.example/".ljust(1 << 16, "x")] * 32
        costly = ["a.example/%41".ljust(1 << 16, "x"), "a.example/ü".ljust((1 << 16) - 1, "x")] * 2
        urls = plain + costly
        self.assertEqual(self.client.must("GUARD.CHECK", "f", *urls), [b"a.example"] * len(urls))
        self.assertEqual(render(self.client.call("GUARD.CHECK", "f", *urls, "a.example/%41")),
                         "-ERR the URLs with escapes or bytes beyond ASCII are too long: at most 262144 bytes in one command; send fewer")

    def test_above_the_limit_rules_are_refused_and_checks_answered(self):
        self.client.must("GUARD.BLOCK", "f", "a.example")
        self.client.config("maxmemory", 1)
        self.addCleanup(self.client.config, "maxmemory", 0)
        self.assertRegex(render(self.client.call("GUARD.BLOCK", "f", "b.example")), "OOM command not allowed")
        self.assertEqual(render(self.client.must("GUARD.CHECK", "f", "a.example", "b.example")[0]), '"a.example"')
        self.assertEqual(render(self.client.must("GUARD.UNBLOCK", "f", "a.example")[0]), ":1")


@needs_module
class ForgeryTest(ForgeryMatrix, OneServerTest):
    family = Rules()
    # Of pieces that are asked for.
    test_chunks = None
    test_the_chunks_of_another_family_are_refused = None

    # Of docs/formats/guard.md.
    SECTIONS, HEADER, CHECKSUM, SEED_OF_HEADER = 56, 256, 248, 100

    def setUp(self):
        super().setUp()
        # So that bytes are forged, not a compression of them: another one of the same bytes is as good.
        self.client.config("rdbcompression", "no")

    def sealed_image(self, image):
        """Makes the checksums right."""
        for number in range(6):
            at = self.SECTIONS + 24 * number
            offset, length = struct.unpack_from("<QQ", image, at)
            if offset <= len(image) and length <= len(image) - offset:
                struct.pack_into("<Q", image, at + 16, XXHASH(bytes(image[offset:offset + length]), length, number))
        struct.pack_into("<Q", image, self.CHECKSUM, XXHASH(bytes(image[:self.CHECKSUM]), self.CHECKSUM, self.SEED_OF_HEADER))
        return bytes(image)

    def assert_usable(self):
        """What was taken can be used, saved, and read again."""
        for _ in range(2):
            self.assertEqual(self.client.must("COPY", "forged", "copy", "REPLACE"), 1)
            self.assertEqual(*self.client.must("DEBUG", "DIGEST-VALUE", "forged", "copy"))
            self.assertEqual(self.use("forged")[-1], b"PONG")

    def test_images_whose_checksums_are_right(self):
        if XXHASH is None:
            self.skipTest("no libxxhash.so.0")
        image = GOLDEN_GUARD.read_bytes()
        self.assertEqual(self.sealed_image(bytearray(image)), image)
        self.client.must("GUARD.LOADCHUNK", "golden", 0, len(image), image)
        dump = self.client.must("DUMP", "golden")
        at = dump.index(image)
        dice = random.Random(SEED)
        taken = 0
        for _ in range(1500 * ROUNDS):
            forged = bytearray(image)
            for _ in range(dice.choice((1, 1, 1, 2, 4))):
                place = dice.randrange(dice.choice((self.HEADER, len(image))))
                forged[place] = dice.choice((0, 1, 2, 127, 128, 255, forged[place] ^ 1 << dice.randrange(8)))
            forged = self.sealed_image(forged)
            self.client.must("DEL", "forged")
            reply = self.client.call("GUARD.LOADCHUNK", "forged", 0, len(forged), forged)
            if reply != b"OK":
                self.assertEqual(reply, "ERR received bad data")
                self.assertEqual(self.client.must("EXISTS", "forged"), 0)
            payload = sealed(dump[:at] + forged + dump[at + len(forged):-FOOTER], dump[-FOOTER:])
            self.assertEqual(self.client.call("RESTORE", "restored", 0, payload, "REPLACE") == b"OK", reply == b"OK")
            if reply == b"OK":
                taken += 1
                self.assert_usable()
        self.assertGreater(taken, 10)
        self.client.must("DEBUG", "RELOAD")

    def test_pieces(self):
        """That overlap, leave out, come too late or are too long, belong to another image, or to a key that is there."""
        image = GOLDEN_GUARD.read_bytes()
        dice = random.Random(SEED)
        for _ in range(100 * ROUNDS):
            self.client.must("DEL", "forged")
            have = begun = None
            for _ in range(12):
                offset = dice.choice((have or 0, have or 0, have or 0, 0, 1, (have or 0) + 1, len(image)))
                total = dice.choice((len(image),) * 9 + (len(image) + 1,))
                piece = image[offset:offset + dice.choice((0, 100, 400, len(image)))]
                is_right = (offset, total) == (have, begun) and 0 < offset < begun if begun else offset == 0
                reply = self.client.call("GUARD.LOADCHUNK", "forged", offset, total, piece)
                self.assertEqual(render(reply) == "+OK", is_right, (offset, total, have, begun))
                if is_right:
                    have, begun = (have or 0) + len(piece), total
                    self.assertEqual(self.use("forged")[-1], b"PONG")
            if have == begun == len(image):
                self.assertEqual(self.client.must("GUARD.INFO", "forged")[0], b"Rules")


if __name__ == "__main__":
    main()
