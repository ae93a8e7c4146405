#!/usr/bin/env python3
"""The kinds beyond the default, on the built command: counting, growing, numbered, URLs."""
import json
import random

from harness import SHARED, CommandTest, main

KINDS = ("bloom", "blocked-bloom", "counting-bloom", "scalable-bloom", "scalable-counting-bloom", "layered-url-bloom")


def lines(keys):
    return "".join(f"{key}\n" for key in keys).encode()


class EveryKind(CommandTest):
    def test_add_check_info_verify_merge_clear(self):
        members = [f"example.org/page/{i}" for i in range(1500)]
        others = [f"example.org/other/{i}" for i in range(500)]
        strangers = [f"example.net/page/{i}" for i in range(2000)]
        for kind in KINDS:
            with self.subTest(kind=kind):
                self.run_mankai("create", "a.mk", "--kind", kind, "--keys", "1000", "--seed", "7", "--force")
                self.run_mankai("create", "b.mk", "--like", "a.mk", "--force")
                self.run_mankai("add", "a.mk", stdin=lines(members))
                self.run_mankai("add", "b.mk", stdin=lines(others))
                self.assertEqual(self.out("check", "--absent", "a.mk", stdin=lines(members)), b"")
                self.run_mankai("verify", "a.mk", "b.mk")
                self.run_mankai("merge", "a.mk", "b.mk")
                self.assertEqual(self.out("check", "--absent", "a.mk", stdin=lines(members + others)), b"")
                found = self.out("check", "--present", "a.mk", stdin=lines(strangers)).count(b"\n")
                self.assertLess(found, 0.2 * len(strangers))
                info = json.loads(self.out("info", "--json", "a.mk"))
                self.assertEqual((info["kind"], info["file_bytes"]), (kind, (self.dir / "a.mk").stat().st_size))
                self.assertEqual(info["sequence"], 1501)  # a key each, and the merge
                self.assertAlmostEqual(info["keys_inserted"], 2000, delta=120)
                self.run_mankai("clear", "a.mk")
                self.assertEqual(self.out("check", "--present", "a.mk", stdin=lines(members)), b"")
                self.assertEqual(json.loads(self.out("info", "--json", "a.mk"))["keys_inserted"], 0)

    def test_a_damaged_file_of_any_kind_is_found_and_named(self):
        for kind in KINDS:
            with self.subTest(kind=kind):
                self.run_mankai("create", "f.mk", "--kind", kind, "--keys", "100", "--force")
                self.run_mankai("add", "f.mk", stdin=lines(f"a/{i}" for i in range(300)))
                whole = self.read("f.mk")
                image = json.loads(self.out("info", "--json", "f.mk"))["bytes"]
                for place in (13, 100, 130, image // 2, image - 70):
                    self.write("bad.mk", whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1:])
                    self.error("check", "bad.mk", "a", code=3, says=["bad.mk"])
                    self.error("verify", "bad.mk", code=3, says=["bad.mk"])
                place = len(whole) - 100  # in the second copy of the footer: the first one serves
                self.write("bad.mk", whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1:])
                self.assertIn(b"footer is corrupt", self.out("verify", "bad.mk"))
                self.assertEqual(self.out("check", "bad.mk", "a/299"), self.out("check", "f.mk", "a/299"))
                for size in (0, 100, 128, 200, len(whole) - 1):
                    self.write("bad.mk", whole[:size])
                    self.error("add", "bad.mk", "a", code=3, says=["bad.mk"])
                    self.assertEqual(self.read("bad.mk"), whole[:size])

    def test_merging_a_filter_with_itself_is_refused(self):
        self.run_mankai("create", "f.mk", "--kind", "counting-bloom", "--keys", "100")
        self.error("merge", "f.mk", "./f.mk", code=2, says="itself")

    def test_an_option_of_another_kind_is_refused(self):
        for kind, option in (("blocked-bloom", ["--layout", "partitioned"]), ("bloom", ["--growth", "3"]),
                             ("counting-bloom", ["--first-id", "3"]), ("scalable-bloom", ["--layering", "faithful"])):
            self.error("create", "f.mk", "--keys", "10", "--kind", kind, *option, code=2, says=[option[0][2:], kind])

    def test_modes_are_kept_in_the_file(self):
        for spec, fields in (("counting-bloom:keys=100,layout=partitioned,k=5", {"layout": "partitioned"}),
                             ("scalable-bloom:keys=100,growth=1,tightening=0.9,bound=first",
                              {"growth": 1, "tightening": 0.9, "bound": "first"}),
                             ("scalable-counting-bloom:keys=100,layout=partitioned,growth=4,first-id=17",
                              {"layout": "partitioned", "growth": 4, "first_id": 17}),
                             ("layered-url-bloom:keys=100,layering=faithful", {"layering": "faithful"})):
            self.run_mankai("create", "f.mk", "--spec", spec, "--force")
            self.run_mankai("create", "g.mk", "--like", "f.mk", "--force")
            for name in ("f.mk", "g.mk"):
                info = json.loads(self.out("info", "--json", name))
                self.assertEqual({key: info[key] for key in fields}, fields)


class Counting(CommandTest):
    def test_count_and_remove_against_a_multiset(self):
        chance = random.Random(5)
        for kind in ("counting-bloom", "scalable-counting-bloom"):
            with self.subTest(kind=kind):
                self.run_mankai("create", "f.mk", "--kind", kind, "--keys", "2000", "--fpr", "1e-6", "--seed", "1", "--force")
                added = [f"key{chance.randrange(400)}" for _ in range(1200)]
                self.run_mankai("add", "f.mk", stdin=lines(added))
                truth = {key: added.count(key) for key in set(added)}
                gone = chance.sample(added, 500) + ["stranger1", "stranger2"]
                self.assertEqual(self.out("remove", "f.mk", stdin=lines(gone)), b"absent\tstranger1\nabsent\tstranger2\n")
                for key in gone[:-2]:
                    truth[key] -= 1
                printed = self.out("count", "f.mk", stdin=lines(truth)).decode().split("\n")[:-1]
                self.assertEqual(printed, [f"{count}\t{key}" for key, count in truth.items()])
                self.assertEqual(json.loads(self.out("info", "--json", "f.mk"))["keys_inserted"], 700)

    def test_counters_end_at_15_and_the_key_stays(self):
        self.run_mankai("create", "f.mk", "--kind", "counting-bloom", "--keys", "100")
        self.run_mankai("add", "f.mk", stdin=b"often\n" * 20)
        self.assertEqual(self.out("count", "f.mk", "often"), b"15+\toften\n")
        self.assertEqual(self.out("remove", "f.mk", stdin=b"often\n" * 19), b"stuck\toften\n" * 19)
        self.assertEqual(self.out("check", "f.mk", "often"), b"yes\toften\n")
        self.assertEqual(json.loads(self.out("info", "--json", "f.mk"))["saturated_cells"], 8)

    def test_quiet_answers_by_exit_code_and_the_summary_counts(self):
        self.run_mankai("create", "f.mk", "--kind", "counting-bloom", "--keys", "100")
        self.run_mankai("add", "f.mk", "a", "b")
        self.assertEqual(self.out("remove", "--quiet", "f.mk", "a"), b"")
        self.run_mankai("remove", "--quiet", "f.mk", "a", code=1)
        _, stderr = self.run_mankai("remove", "--json", "f.mk", "b", "c")
        report = json.loads(stderr)
        self.assertEqual((report["keys_read"], report["keys_removed"], report["keys_refused"], report["keys_inserted"]),
                         (2, 1, 1, 0))

    def test_kinds_that_cannot_say_which_can(self):
        self.run_mankai("create", "f.mk", "--keys", "100")
        before = self.read("f.mk")
        self.error("remove", "f.mk", "a", code=2, says=["blocked-bloom", "counting-bloom", "f.mk"])
        self.error("count", "f.mk", "a", code=2, says=["blocked-bloom", "counting-bloom", "f.mk"])
        self.error("add", "f.mk", "--id", "4", "a", code=2, says=["ids", "scalable-counting-bloom", "f.mk"])
        self.assertEqual(self.read("f.mk"), before)


class Ids(CommandTest):
    def new(self, *options):
        self.run_mankai("create", "f.mk", "--kind", "scalable-counting-bloom", "--keys", "100", "--fpr", "1e-6", "--seed",
                        "1", "--force", *options)

    def test_ids_from_lines_arguments_and_in_sequence(self):
        self.new()
        self.run_mankai("add", "f.mk", "--with-ids", stdin=b"a\t10\nb with\ttab\t20\n")
        self.run_mankai("add", "f.mk", "--id", "30", "c", "d")
        self.run_mankai("add", "f.mk", "e")
        self.assertEqual(json.loads(self.out("info", "--json", "f.mk"))["max_id"], 31)
        self.assertEqual(self.out("remove", "f.mk", "--with-ids", stdin=b"b with\ttab\t20\nx\t20\n"), b"absent\tx\t20\n")
        self.assertEqual(self.out("check", "--present", "f.mk", "a", "b with\ttab", "c", "d", "e"), b"a\nc\nd\ne\n")

    def test_one_id_for_all_grows_too(self):
        self.new()
        self.run_mankai("add", "f.mk", "--id", "5", stdin=lines(range(5000)))
        info = json.loads(self.out("info", "--json", "f.mk"))
        self.assertGreater(info["slices"], 4)
        self.assertFalse(info["over_capacity"])
        self.assertEqual(self.out("remove", "f.mk", "--id", "5", stdin=lines(range(5000))), b"")

    def test_ids_below_the_first_and_wrong_lines_leave_the_file_as_it_was(self):
        self.new("--first-id", "100")
        self.run_mankai("add", "f.mk", "--id", "100", "a")
        before = self.read("f.mk")
        self.error("add", "f.mk", "--id", "99", "b", code=2, says=["99", "100", "f.mk"])
        self.error("add", "f.mk", "--with-ids", stdin=b"a\t101\nno tab\n", code=2, says=["line 2", "tab"])
        self.error("add", "f.mk", "--with-ids", stdin=b"a\tx\n", code=2, says=["line 1", "'x'"])
        self.error("add", "f.mk", "--with-ids", "--id", "3", code=2, says="--id")
        self.error("add", "f.mk", "--with-ids", "a", code=2, says="--with-ids")
        self.assertEqual(self.read("f.mk"), before)
        self.assertEqual(self.out("remove", "f.mk", "--id", "4", "a"), b"below-ids\ta\n")
        self.assertEqual(self.out("check", "f.mk", "a"), b"yes\ta\n")


class Urls(CommandTest):
    def test_spellings_of_a_url_are_one_key(self):
        for mode in ("repaired", "faithful"):
            self.run_mankai("create", "u.mk", "--kind", "layered-url-bloom", "--keys", "1000", "--fpr", "1e-6", "--seed",
                            "1", "--layering", mode, "--force")
            self.run_mankai("add", "u.mk", "http://www.Example.org/a/./b?q", "mailto:nobody", "example.org")
            self.assertEqual(
                self.out("check", "--present", "u.mk", "https://www.example.org:443/a/b?q", "www.example.org/x/../a/b?q",
                         "www.example.org/a/b", "http://example.org/", "mailto:nobody", "mailto:other"),
                b"https://www.example.org:443/a/b?q\nwww.example.org/x/../a/b?q\nhttp://example.org/\nmailto:nobody\n")

    def test_keys_are_urls(self):
        self.run_mankai("create", "u.mk", "--kind", "layered-url-bloom", "--keys", "100", "--seed", "1")
        _, stderr = self.run_mankai("add", "u.mk", stdin=lines(f"a.com/{i}/x/y/z" for i in range(100)))
        self.assertEqual(stderr, b"")
        self.assertAlmostEqual(json.loads(self.out("info", "--json", "u.mk"))["keys_inserted"], 100, delta=3)

    def test_real_urls(self):
        path = SHARED / "data/urls/userbait-11k.txt.zst"
        if not path.exists():
            self.skipTest(f"SKIPPED: the shared data set {path} is not on this machine")
        self.run_mankai("create", "u.mk", "--kind", "layered-url-bloom", "--keys", "12k", "--fpr", "0.1%")
        self.run_mankai("add", "u.mk", "--input", str(path))
        self.assertEqual(self.out("check", "--absent", "u.mk", "--input", str(path)), b"")


class Canonical(CommandTest):
    def test_every_kind_of_whole_keys_takes_urls(self):
        for kind in KINDS[:-1]:
            self.run_mankai("create", "f.mk", "--kind", kind, "--keys", "1000", "--fpr", "1e-6", "--seed", "1",
                            "--canonical", "--force")
            self.run_mankai("create", "g.mk", "--like", "f.mk", "--force")
            self.run_mankai("add", "g.mk", "HTTP://Example.org/a/../b", "mailto:me")
            self.run_mankai("merge", "f.mk", "g.mk")
            self.assertEqual(self.out("check", "--present", "f.mk", "example.org/b", "mailto:me", "example.org/a"),
                             b"example.org/b\nmailto:me\n")
        self.run_mankai("create", "raw.mk", "--kind", KINDS[-2], "--keys", "1000", "--fpr", "1e-6", "--seed", "1", "--force")
        self.error("merge", "f.mk", "raw.mk", code=2, says=["raw.mk", "canonical"])
        self.error("create", "u.mk", "--kind", "layered-url-bloom", "--keys", "10", "--canonical", code=2, says="canonical")

    def test_rules_of_a_later_version_are_refused(self):
        self.run_mankai("create", "f.mk", "--keys", "1000", "--canonical", "--seed", "1")
        whole = bytearray(self.read("f.mk"))
        self.assertEqual(whole[15], 2)
        whole[15] = 3
        self.write("f.mk", bytes(whole))
        self.error("check", "f.mk", "a", code=3, says="f.mk")


class Dedup(CommandTest):
    def test_grow_keeps_the_rate_for_any_number(self):
        text = lines(range(200000))
        stdout, stderr = self.run_mankai("dedup", "--grow", "--keys", "1000", "--fpr", "1%", "--seed", "2", stdin=text + text)
        self.assertEqual(stderr, b"")
        self.assertGreater(stdout.count(b"\n"), 198000)
        self.assertEqual(len(set(stdout.split(b"\n"))), stdout.count(b"\n") + 1, "a repeat was printed")

    def test_grow_with_a_state(self):
        for _ in range(2):
            self.run_mankai("dedup", "--grow", "--state", "s.mk", "--seed", "2", stdin=lines(range(5000)))
        self.assertEqual(self.out("dedup", "--grow", "--state", "s.mk", stdin=lines(range(5000))), b"")
        info = json.loads(self.out("info", "--json", "s.mk"))
        self.assertEqual((info["kind"], info["initial_keys"]), ("scalable-bloom", 1000000))
        self.run_mankai("dedup", "--state", "plain.mk", "--keys", "1000", stdin=b"a\n")
        self.error("dedup", "--grow", "--state", "plain.mk", stdin=b"a\n", code=2, says=["plain.mk", "was created as"])
        self.error("dedup", "--grow", "--kind", "bloom", code=2, says="--grow")

    def test_kinds_that_count_are_refused(self):
        for kind in ("counting-bloom", "scalable-counting-bloom"):
            self.error("dedup", "--kind", kind, stdin=b"a\n", code=2, says=[kind, "scalable-bloom"])
            self.run_mankai("create", "c.mk", "--kind", kind, "--keys", "10", "--force")
            self.error("dedup", "--state", "c.mk", stdin=b"a\n", code=2, says=[kind, "c.mk"])

    def test_a_line_without_the_field_is_no_url(self):
        text = b"a\tfoo.com/x\nfoo.com/x\nb\tFOO.com/x\n"
        self.assertEqual(self.out("dedup", "--field", "2", "--canonical", "--seed", "1", stdin=text),
                         b"a\tfoo.com/x\nfoo.com/x\n")

    def test_a_state_knows_how_its_keys_were_made(self):
        self.run_mankai("dedup", "--canonical", "--state", "u.mk", "--keys", "1000", "--seed", "1", stdin=b"A.com\n")
        self.assertEqual(self.out("dedup", "--state", "u.mk", stdin=b"http://a.com/\nb.com\n"), b"b.com\n")
        self.assertEqual(self.out("check", "u.mk", "B.com/"), b"yes\tB.com/\n")
        self.assertEqual(json.loads(self.out("info", "--json", "u.mk"))["canonical_version"], 2)
        self.run_mankai("dedup", "--state", "raw.mk", "--keys", "1000", stdin=b"A.com\n")
        self.error("dedup", "--canonical", "--state", "raw.mk", stdin=b"x\n", code=2, says=["raw.mk", "was created as"])

    def test_canonical_keeps_different_urls_apart(self):
        text = (b"http://h/a%2Fb\nhttp://h/a/b\nhttp://h/a%3Fb\nhttp://h/a?b\nhttp://h/?q=a%26b=1\nhttp://h/?q=a&b=1\n"
                b"http://h/%2541\nhttp://h/A\n")
        self.assertEqual(self.out("dedup", "--canonical", "--seed", "1", stdin=text), text)
        self.assertEqual(self.out("dedup", "--canonical", "--seed", "1", stdin=b"http://h/%41%2f\nhttp://h/A%2F\n"),
                         b"http://h/%41%2f\n")

    def test_canonical_compares_spellings_and_prints_lines(self):
        text = (b"http://a.com/x/../y\nHTTP://A.com:80/y\nhttp://a.com/y?\n  http://a.com/y#f\nhttps://a.com/y\n"
                b"http:///\nhttp:///\n\xff\xfe.com/\n%FF%FE.com\n")
        stdout = self.out("dedup", "--canonical", "--seed", "1", stdin=text)
        self.assertEqual(stdout, b"http://a.com/x/../y\nhttp://a.com/y?\nhttps://a.com/y\nhttp:///\n\xff\xfe.com/\n")
        self.assertEqual(self.out("dedup", "--canonical", "--field", "2", "--seed", "1", stdin=b"1\tA.com\n2\ta.com/\n"),
                         b"1\tA.com\n")


if __name__ == "__main__":
    main()
