"""URL.*: which URLs have been seen, however they are spelled. Contract, an exact model, and what every family must stand.

Usage: url_test.py MODULE [unittest arguments...]
"""
import random

from client import Error, render
from families import Family, ForgeryMatrix, KeyMatrix, PersistenceMatrix
from harness import OneServerTest, ROUNDS, RedisTest, SEED, in_both_protocols, main, needs_module

URLS = [f"http://host{number % 7}.example/path/{number}?q={number}" for number in range(300)]
NO_URL = "-ERR not a URL: it has no host"


def spelled(dice, url):
    """Returns another spelling of a canonical URL."""
    scheme, rest = url.split("://")
    host, _, path = rest.partition("/")
    host = "".join(dice.choice((letter, letter.upper())) for letter in host)
    if scheme == "http":
        scheme, host = dice.choice((("http", host), ("HTTP", host), ("http", host + ":80")))
    path = dice.choice(("", "./", "x/../", "x/y/../../")) + path
    path = "".join(f"%{ord(letter):02x}" if letter.isalnum() and dice.random() < 0.1 else letter for letter in path)
    return dice.choice(("", " ")) + f"{scheme}://{host}/{path}" + dice.choice(("", "#part", "#"))


class Urls(Family):
    prefix = "URL"
    category = "url"
    keys = ("default", "grown", "equal", "empty")
    reads = (("URL.SEEN", "http://a.example/"), ("URL.INFO",))
    writes = (("URL.RESERVE", "0.01", 10), ("URL.ADD", "http://a.example/"), ("URL.LOADCHUNK", 1, "x"), ("URL.SCANDUMP", 0))
    events = ((("URL.RESERVE", "f", "0.01", 100), ["url.reserve"]), (("URL.ADD", "f", "a.example"), ["url.add"]),
              (("URL.ADD", "f", "http://A.example/"), []), (("URL.ADD", "f", "mailto:x"), []),
              (("URL.ADD", "f", "a.example", "b.example", "mailto:x"), ["url.add"]),
              (("URL.SEEN", "f", "c.example"), []), (("DEL", "f"), ["del"]), (("URL.ADD", "f", "mailto:x"), []),
              (("URL.ADD", "f", "a.example"), ["url.reserve", "url.add"]))

    def fill(self, client):
        client.must("URL.ADD", "default", *URLS[:60])
        client.must("URL.RESERVE", "grown", "0.01", 20, "EXPANSION", 3)
        client.must("URL.ADD", "grown", *URLS)
        client.must("URL.RESERVE", "equal", "0.001", 50, "EXPANSION", 1)
        client.must("URL.ADD", "equal", *URLS[:200])
        client.must("URL.RESERVE", "empty", "0.01", 1000)

    def ask(self, client, key):
        asked = (*URLS, *(f"http://stranger.example/{number}" for number in range(300)))
        return client.pipeline([("URL.SEEN", key, *asked), ("URL.INFO", key)])

    def add(self, client, key, words):
        return client.must("URL.ADD", key, *(f"http://added.example/{word}" for word in words))

    def change_nothing(self, client, key):
        if key != "empty":
            client.must("URL.ADD", key, *URLS[:50], "mailto:x", "HTTP://HOST0.EXAMPLE:80/path/./0?q=0#x")
        client.must("URL.ADD", key, "mailto:x")
        client.call("URL.RESERVE", key, "0.01", 10)
        client.call("URL.LOADCHUNK", key, 1, "x")

    def reserve_large(self, client, key):
        return client.call("URL.RESERVE", key, "0.01", 23_000_000)

    def reserve_steep(self, client, key):
        client.must("URL.RESERVE", key, "0.01", 100, "EXPANSION", 32768)


@needs_module
class ContractTest(OneServerTest):
    @in_both_protocols
    def test_replies(self, client):
        yes, no = ("#t", "#f") if client.protocol == 3 else (":1", ":0")
        for words, reply in (
                (("URL.SEEN", "f", "http://a.example/", ""), f"*[{no} {NO_URL}]"),
                (("EXISTS", "f"), ":0"),
                (("URL.INFO", "f"), "-ERR not found"),
                (("URL.SCANDUMP", "f", 0), "-ERR not found"),
                (("URL.RESERVE", "f", "0.001", "1000"), "+OK"),
                (("URL.RESERVE", "f", "0.001", "1000"), "-ERR item exists"),
                (("URL.ADD", "f", "http://A.example"), f"*[{yes}]"),
                (("url.add", "f", "a.example/#x", "mailto:x", "a.example/b", "http://a.example/c/../b"),
                 f"*[{no} {NO_URL} {yes} {no}]"),
                (("URL.SEEN", "f", " HTTP://a.example:80/./", "a.example/c", "mailto:x", "A.EXAMPLE/%62"),
                 f"*[{yes} {no} {NO_URL} {yes}]"),
                (("URL.SEEN", "f", "https://a.example/"), f"*[{no}]"),  # another scheme, another page
                (("URL.SEEN", "f", "http://a.example/?"), f"*[{no}]"),
                (("URL.ADD", "f", "a.example/x%2Fy", "a.example/x/y", "a.example/x%2fy", "a.example/?q=%26", "a.example/?q=&"),
                 f"*[{yes} {yes} {no} {yes} {yes}]"),  # an escaped delimiter delimits nothing
                (("URL.ADD", "made", "mailto:x", ""), f"*[{NO_URL} {NO_URL}]"),
                (("EXISTS", "made"), ":0"),
                (("URL.ADD", "made", "mailto:x", "http://bücher.example/"), f"*[{NO_URL} {yes}]"),
                (("URL.SEEN", "made", "http://xn--bcher-kva.example"), f"*[{yes}]"),
                (("TYPE", "made"), "+mankai-ur")):
            self.assertEqual(render(client.call(*words)), reply, words)

    @in_both_protocols
    def test_a_key_is_made_for_whatever_it_would_take(self, client):
        """URLs in which the rules of block lists find no host, and those of keys do."""
        yes, no = ("#t", "#f") if client.protocol == 3 else (":1", ":0")
        for url in ("%2Fa", "mailto%3Aa@b", "javascript%3Ax", "http://%40/", "http://%3A80/"):
            client.must("DEL", "f")
            self.assertEqual(render(client.call("URL.SEEN", "f", url)), f"*[{no}]", url)
            self.assertEqual(render(client.call("URL.ADD", "f", url)), f"*[{yes}]", url)
            self.assertEqual(client.must("EXISTS", "f"), 1, url)
            self.assertEqual(render(client.call("URL.SEEN", "f", url)), f"*[{yes}]", url)
            self.assertEqual(render(client.call("URL.ADD", "f", url)), f"*[{no}]", url)

    def test_errors(self):
        for words, error in (
                (("URL.ADD", "f"), "wrong number of arguments"),
                (("URL.SEEN", "f"), "wrong number of arguments"),
                (("URL.INFO", "f", "x"), "wrong number of arguments"),
                (("URL.RESERVE", "f", "0.01"), "wrong number of arguments"),
                (("URL.RESERVE", "f", "0", 100), "ERR error rate must be in the range"),
                (("URL.RESERVE", "f", "0.01", 0), "ERR capacity must be in the range"),
                (("URL.RESERVE", "f", "0.01", 10, "EXPANSION", 0), "ERR expansion must be in the range"),
                (("URL.RESERVE", "f", "0.01", 10, "SEED", "x" * 32), "ERR bad seed"),
                (("URL.RESERVE", "f", "0.01", 10, "NONSCALING"), "Unknown argument"),
                (("URL.SCANDUMP", "f"), "wrong number of arguments"),
                (("URL.LOADCHUNK", "f", 1), "wrong number of arguments")):
            self.assertRegex(render(self.client.call(*words)), f"-.*{error}", words)
        self.assertEqual(self.client.must("EXISTS", "f"), 0)

    @in_both_protocols
    def test_facts(self, client):
        client.must("URL.RESERVE", "f", "0.01", 100, "EXPANSION", 4)
        client.must("URL.ADD", "f", *URLS[:250])
        info = client.must("URL.INFO", "f")
        pairs = info if client.protocol == 3 else zip(info[::2], info[1::2])
        fields = {bytes(name).decode(): value for name, value in pairs}
        self.assertEqual(client.must("MEMORY", "USAGE", "f") > fields.pop("Size") > 0, True)
        self.assertEqual(float(fields.pop("Error rate")), 0.01)
        self.assertLess(abs(fields.pop("Number of URLs") - 250), 9)  # those that seemed to be in are not counted
        self.assertEqual(fields, {"Capacity": 500, "Number of filters": 2, "Expansion rate": 4, "URL rules": 2})

    def test_a_seed_makes_filters_that_are_alike(self):
        for key in ("f", "g"):
            self.client.must("URL.RESERVE", key, "0.01", 50, "SEED", "0123456789abcdef" * 2)
        self.client.must("URL.ADD", "f", *URLS)
        dice = random.Random(SEED)
        for url in URLS:  # one by one, in another spelling, is the same as all at once
            self.client.must("URL.ADD", "g", spelled(dice, url))
        self.assertEqual(*self.client.must("DEBUG", "DIGEST-VALUE", "f", "g"))

    def test_urls_of_any_length_and_bytes(self):
        dice = random.Random(SEED)
        odd = [b"http://a.example/" + dice.randbytes(dice.randrange(1, 60)) for _ in range(300)]
        odd += [b"http://a.example/" + b"x" * (1 << length) for length in range(0, 16, 3)]
        odd.append(b"http://a.example/" + b"x" * ((64 << 10) - 17))
        replies = self.client.must("URL.ADD", "f", *odd)
        self.assertFalse([reply for reply in replies if isinstance(reply, Error)])
        self.assertEqual(self.client.must("URL.SEEN", "f", *odd), [1] * len(odd))
        noise = [dice.randbytes(dice.randrange(0, 40)) for _ in range(1000)]
        added = self.client.must("URL.ADD", "f", *noise)
        for was, now in zip(added, self.client.must("URL.SEEN", "f", *noise)):
            self.assertEqual(isinstance(was, Error), isinstance(now, Error))
            self.assertTrue(isinstance(now, Error) or now == 1)

    def test_defaults_are_configuration(self):
        for name, value in (("url-error-rate", "0.25"), ("url-initial-size", "77"), ("url-expansion-factor", "5")):
            name = f"bf.{name}"
            before = bytes(self.client.must("CONFIG", "GET", name)[1]).decode()
            self.addCleanup(self.client.config, name, before)
            self.client.config(name, value)
        self.client.must("URL.ADD", "f", "a.example")
        info = self.client.must("URL.INFO", "f")
        fields = dict(zip(map(bytes, info[::2]), info[1::2]))
        self.assertEqual((fields[b"Capacity"], fields[b"Expansion rate"], bytes(fields[b"Error rate"])),
                         (77, 5, b"0.25"))


@needs_module
class ModelTest(OneServerTest):
    """Random spellings of known URLs against an exact set."""

    def test_every_spelling_of_what_was_added_is_seen(self):
        for number in range(2 * ROUNDS):
            dice = random.Random(SEED * 1000 + number)
            self.client.must("DEL", "f")
            self.client.must("URL.RESERVE", "f", "0.000001", dice.choice((5, 40, 1000)), "EXPANSION",
                             dice.choice((1, 2, 4)), "SEED", f"{dice.getrandbits(128):032x}")
            seen = set()
            for _ in range(150):
                urls = [dice.choice(URLS).replace("http", dice.choice(("http", "https")))
                        for _ in range(dice.choice((1, 1, 4, 40)))]
                spellings = [spelled(dice, url) for url in urls]
                for place in range(len(urls)):
                    if dice.random() < 0.05:
                        urls[place], spellings[place] = None, dice.choice(("", "mailto:x", "/path", "://x"))
                if dice.random() < 0.3:
                    expected = [NO_URL if url is None else f":{int(url in seen)}" for url in urls]
                    self.assertEqual(list(map(render, self.client.must("URL.SEEN", "f", *spellings))), expected)
                    continue
                expected = []
                for url in urls:
                    expected.append(NO_URL if url is None else f":{int(url not in seen)}")
                    seen.add(url)
                self.assertEqual(list(map(render, self.client.must("URL.ADD", "f", *spellings))), expected)

    def test_long_urls_are_refused_each_for_itself(self):
        too_long = "ERR the URL is too long: at most 65536 bytes"
        for length, error in ((64 << 10, None), ((64 << 10) + 1, too_long), (20 << 20, too_long)):
            url = "http://a.example/".ljust(length, "x")
            expected = [1, error or 1, 1]
            self.assertEqual(self.client.must("URL.ADD", f"f{length}", "http://b.example/", url, "http://c.example/"),
                             expected)
            self.assertEqual(self.client.must("URL.SEEN", f"f{length}", "http://b.example/", url, "http://c.example/"),
                             expected)
        self.assertEqual(self.client.must("URL.ADD", "new", url), [too_long])
        self.assertEqual(self.client.must("EXISTS", "new"), 0)

    def test_a_large_command(self):
        self.client.must("URL.RESERVE", "f", "0.01", 200, "SEED", "5" * 32)
        urls = [f"http://example.com/{number}" for number in range(20_000)]  # more than the module reads in one go
        self.assertGreater(sum(self.client.must("URL.ADD", "f", *urls)), 19_800)  # the others seemed to be in
        self.assertEqual(self.client.must("URL.SEEN", "f", *urls), [1] * len(urls))
        strangers = self.client.must("URL.SEEN", "f", *(f"http://example.org/{number}" for number in range(10_000)))
        self.assertLess(sum(strangers), 150)  # 1 % of them


@needs_module
class PersistenceTest(PersistenceMatrix, RedisTest):
    family = Urls()

    def test_of_many_urls_the_new_ones_alone_are_appended(self):
        client = self.start(appendonly="yes", appendfsync="always").client()
        client.must("URL.ADD", "f", *URLS)
        before = int(client.info("persistence")["aof_current_size"])
        client.must("URL.ADD", "f", *URLS, "mailto:x", "http://new.example/1", *URLS, "http://new.example/2")
        self.assertLess(int(client.info("persistence")["aof_current_size"]) - before, 200)


@needs_module
class KeyTest(KeyMatrix, OneServerTest):
    family = Urls()


@needs_module
class ForgeryTest(ForgeryMatrix, OneServerTest):
    family = Urls()


if __name__ == "__main__":
    main()
