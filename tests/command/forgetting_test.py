#!/usr/bin/env python3
"""The kinds that forget, on the built command: times, fading counts, windows, values, sizes."""
import json
import math

from harness import CommandTest, main

TIMED = ("time-decaying-counts", "time-decaying-pooled-counts", "time-decaying-tiered-counts", "decayed-top",
         "rotating-bloom")
COUNTING = TIMED[:4]


def lines(keys):
    return "".join(f"{key}\n" for key in keys).encode()


class Time(CommandTest):
    def create(self, kind, *more):
        self.run_mankai("create", "f.mk", "--kind", kind, "--keys", "1000", "--seed", "7", "--force", *more)

    def count(self, key, *more):
        text = self.out("count", "f.mk", *more, key).decode()
        count, _, found = text.rstrip("\n").partition("\t")
        self.assertEqual(found, key)
        return float(count)

    def test_counts_halve_in_a_half_life(self):
        for kind in COUNTING:
            with self.subTest(kind=kind):
                self.create(kind, "--half-life", "1h", "--epoch", "1h")
                self.run_mankai("add", "f.mk", "--at", "2026-03-28T12:00:00Z", stdin=lines(["a"] * 800 + ["b"] * 2))
                self.assertEqual(self.count("a"), 800)
                self.assertEqual(self.count("a", "--at", "2026-03-28T13:00:00Z"), 400)
                self.assertEqual(self.count("a", "--at", "2026-03-28T15:59:59Z"), 100)
                self.assertEqual(self.count("a"), 800, "asking for a later time changes nothing")
                self.run_mankai("advance", "f.mk", "--at", "2026-03-28 14:30:00")
                self.assertEqual(self.count("a"), 200)
                self.run_mankai("add", "f.mk", "--at", "2026-03-28T14:45:00Z", "a")
                self.assertEqual(self.count("a"), 201)

    def test_a_strict_count_is_never_too_low(self):
        self.create("time-decaying-counts", "--lambda", "0.9", "--epoch", "10m")
        truth = 0.0
        for hour in range(20):
            self.run_mankai("add", "f.mk", "--at", str(1_500_000_000 + hour * 600), stdin=lines(["k"] * (hour % 3)))
            truth = truth * 0.9 + hour % 3
            count = self.count("k")
            self.assertGreaterEqual(count, truth * 0.99999)
            self.assertLess(count, truth + 0.05)

    def test_a_window_is_kept_for_certain_and_forgotten_after(self):
        self.create("rotating-bloom", "--window", "7d", "--generations", "8")
        self.run_mankai("add", "f.mk", "--at", "2026-03-01", stdin=lines(f"old/{i}" for i in range(300)))
        self.run_mankai("add", "f.mk", "--at", "2026-03-05", stdin=lines(f"new/{i}" for i in range(300)))
        old, new = lines(f"old/{i}" for i in range(300)), lines(f"new/{i}" for i in range(300))
        self.assertEqual(self.out("check", "--absent", "f.mk", "--at", "2026-03-08", stdin=old + new), b"")
        self.assertEqual(self.out("check", "--absent", "f.mk", "--at", "2026-03-12", stdin=new), b"")
        self.assertGreater(self.out("check", "--absent", "f.mk", "--at", "2026-03-10", stdin=old).count(b"\n"), 280)

    def test_time_does_not_go_back(self):
        for kind in TIMED:
            with self.subTest(kind=kind):
                self.create(kind)
                self.run_mankai("add", "f.mk", "--at", "2026-03-28", "a")
                before = self.read("f.mk")
                for command in (["add", "f.mk", "b"], ["check", "f.mk", "a"], ["advance", "f.mk"]):
                    self.error(*command, "--at", "2020-01-01", code=2, says=["f.mk", "back"])
                self.assertEqual(self.read("f.mk"), before)

    def test_without_a_time_keys_come_now(self):
        self.create("time-decaying-counts", "--half-life", "1h")
        self.run_mankai("add", "f.mk", "a")
        self.assertAlmostEqual(self.count("a", "--at", "now"), 1, delta=0.1)
        self.assertLess(self.count("a", "--at", "2999-01-01"), 0.02)

    def test_a_filter_ahead_of_now_takes_keys_at_its_own_time(self):
        self.create("time-decaying-counts")
        self.run_mankai("add", "f.mk", "--at", "2999-01-01", "a")
        _, stderr = self.run_mankai("add", "f.mk", "a")
        self.assertIn(b"2999-01-01T00:00:00Z", stderr)
        self.assertEqual(self.count("a"), 2)

    def test_adding_at_a_far_time_expires_what_was_added_before(self):
        for kind, *more in (["cuckoo", "--max-ttl", "13h"], ["rotating-bloom", "--window", "13h"]):
            with self.subTest(kind=kind):
                self.create(kind, *more)
                self.run_mankai("add", "f.mk", "old")
                self.run_mankai("add", "f.mk", "--at", "2999-01-01", "new")
                _, stderr = self.run_mankai("add", "f.mk", "newer")
                self.assertIn(b"in the future", stderr)
                self.assertEqual(self.out("check", "--present", "f.mk", stdin=lines(["old", "new", "newer"])), b"new\nnewer\n")
                self.assertEqual(self.out("check", "--present", "f.mk", "--at", "2999-01-02", stdin=b"new\n"), b"")

    def test_a_state_ahead_of_now_is_a_warning(self):
        self.create("rotating-bloom", "--window", "13h")
        self.run_mankai("add", "f.mk", "--at", "2999-01-01", "a")
        printed, stderr = self.run_mankai("dedup", "--state", "f.mk", stdin=b"a\nb\n")
        self.assertEqual(printed, b"b\n")
        self.assertRegex(stderr, rb"\Amankai: warning: f.mk: its time is 2998-12-31T\S+, in the future, [^\n]+\n\Z")
        self.assertEqual(self.run_mankai("dedup", "--state", "g.mk", "--forget", "13h", stdin=b"a\n")[1], b"")

    def test_kinds_without_time_take_none(self):
        self.run_mankai("create", "g.mk", "--keys", "100")
        self.run_mankai("add", "g.mk", "a")
        for command in (["add", "g.mk", "b"], ["check", "g.mk", "a"], ["advance", "g.mk"]):
            self.error(*command, "--at", "now", code=2, says=["no time", "rotating-bloom"])
        self.error("advance", "g.mk", code=2, says="--at")
        self.error("add", "g.mk", "b", "--at", "yesterday", code=2, says="--at")


class Shapes(CommandTest):
    def test_what_was_asked_for_is_in_info_and_in_a_filter_made_like_it(self):
        for spec, fields in (
                ("time-decaying-counts:keys=100,half-life=64s", {"epoch_seconds": 1}),
                ("time-decaying-counts:keys=100,lambda=0.5,epoch=10m,policy=floor,width=16,rule=minimum",
                 {"lambda": 0.5, "half_life_seconds": 600, "policy": "floor", "width_bits": 16, "rule": "minimum"}),
                ("rotating-bloom:keys=100,window=7d,generations=8", {"window_seconds": 604800, "generations": 8}),
                ("fading-fingerprints:keys=100,slots=307,k=2,width=8,min-matches=2",
                 {"slots": 307, "fingerprint_bits": 8, "min_matches": 2}),
                ("cuckoo:keys=100,max-ttl=13h", {"max_ttl_seconds": 46800, "ttl_resolution_seconds": 3600}),
                ("cuckoo:keys=100,max-ttl=10h,ttl-resolution=2h", {"max_ttl_seconds": 36000, "ttl_resolution_seconds": 7200}),
                ("decayed-top:bytes=64KiB,half-life=1h", {"half_life_seconds": 3600})):
            with self.subTest(spec=spec):
                self.run_mankai("create", "f.mk", "--spec", spec, "--force")
                self.run_mankai("create", "g.mk", "--like", "f.mk", "--force")
                for name in ("f.mk", "g.mk"):
                    info = json.loads(self.out("info", "--json", name))
                    for key, value in fields.items():
                        if isinstance(value, float) or key.endswith("seconds"):
                            self.assertAlmostEqual(info[key], value, delta=abs(value) * 1e-6, msg=key)
                        else:
                            self.assertEqual(info[key], value, key)

    def test_counts_that_would_stay_for_ever_are_refused_unless_forced(self):
        spec = ["create", "f.mk", "--kind", "time-decaying-counts", "--keys", "10", "--lambda", "0.99", "--epoch", "1m",
                "--fraction-bits", "4"]
        self.error(*spec, code=2, says=["1/64", "force"])
        self.run_mankai(*spec, "--forced")

    def test_nonsense_is_refused(self):
        for more, says in ((["--lambda", "2"], "lambda"), (["--lambda", "0.9"], "epoch"), (["--half-life", "1y"], "365000d"),
                           (["--half-life", "1h", "--epoch", "2h"], "epoch"),
                           (["--lambda", "0.9", "--epoch", "1m", "--half-life", "1h"], "cannot be combined")):
            self.error("create", "f.mk", "--kind", "time-decaying-counts", "--keys", "10", *more, code=2, says=says)
        self.error("create", "f.mk", "--keys", "10", "--half-life", "1h", code=2, says=["half-life", "blocked-bloom"])
        self.error("create", "f.mk", "--kind", "rotating-bloom", "--keys", "10", "--generations", "1", code=2,
                   says="generations")

    def test_a_bad_time_to_live_is_refused_with_the_units_and_limits(self):
        for ttl in ("5x", "0", "2000y", "365001d", "nan"):
            self.error("create", "f.mk", "--kind", "cuckoo", "--keys", "10", "--max-ttl", ttl, code=2,
                       says=["--max-ttl", f"'{ttl}'", "us, ms, s, m, h, d or w", "from 1us to 365000d"])

    def test_a_filter_whose_keys_expire_shows_the_resolution_of_times_to_live(self):
        self.run_mankai("create", "f.mk", "--kind", "cuckoo", "--keys", "10", "--max-ttl", "13h")
        self.assertIn(b"resolution of times to live   1h", self.out("info", "f.mk"))
        self.assertNotIn("epoch_seconds", json.loads(self.out("info", "--json", "f.mk")))

    def test_plan_for_a_memory_of_events_holds_what_it_says(self):
        rows = json.loads(self.out("plan", "--events", "20k", "--survival", "90%", "--fpr", "1%", "--json"))
        self.assertEqual({row["kind"] for row in rows}, {"fading-fingerprints", "rotating-bloom"})
        for row in rows:
            self.assertLessEqual(row["fpr"], 0.01)
            self.assertGreaterEqual(row["survival"], 0.9)
            if row["kind"] == "rotating-bloom":
                more = ["--generations", str(row["generations"])]
            else:
                more = ["--slots", str(row["slots"]), "--k", str(row["probes_per_key"]), "--width", str(row["width"]),
                        "--min-matches", str(row["min_matches"])]
            self.run_mankai("create", "f.mk", "--kind", row["kind"], "--keys", "20k", "--fpr", "1%", "--seed", "3",
                            "--force", *more)
            self.assertEqual(json.loads(self.out("info", "--json", "f.mk"))["bytes"], row["bytes"])
            if row["kind"] == "fading-fingerprints":
                self.run_mankai("add", "f.mk", stdin=lines(range(30_000)))
                found = self.out("check", "--present", "f.mk", stdin=lines(range(9_500, 10_500))).count(b"\n")
                spread = 4 * math.sqrt(1000 * row["survival"] * (1 - row["survival"]) + 1)
                self.assertGreater(found, 1000 * row["survival"] - spread)
        self.error("plan", "--events", "10k", code=2, says="--fpr")
        self.error("plan", "--keys", "10k", "--survival", "0.9", "--fpr", "1%", code=2, says="--events")


class Values(CommandTest):
    def test_values_come_back_the_strongest_first(self):
        self.run_mankai("create", "f.mk", "--kind", "recent-values", "--keys", "1000", "--seed", "7")
        self.run_mankai("add", "f.mk", "--value", "5", "shoes")
        self.run_mankai("add", "f.mk", "--with-values", stdin=b"shoes\t9\nshoes\t9\nhats\t4\nshoes\t9\n")
        rows = [line.split("\t") for line in self.out("recall", "f.mk", "shoes", "hats").decode().splitlines()]
        self.assertEqual([row[1:] for row in rows if row[2] == "shoes"][0], ["9", "shoes"])
        self.assertEqual([row[1:] for row in rows if row[2] == "hats"], [["4", "hats"]])
        self.assertEqual(self.out("recall", "f.mk", "nobody"), b"")

    def test_values_and_kinds_that_keep_none_do_not_mix(self):
        self.run_mankai("create", "f.mk", "--kind", "recent-values", "--keys", "1000")
        self.run_mankai("create", "g.mk", "--keys", "1000")
        self.error("add", "f.mk", "shoes", code=2, says="--value")
        self.error("add", "g.mk", "--value", "3", "shoes", code=2, says=["no values", "recent-values"])
        self.error("add", "f.mk", "--value", "4294967296", "shoes", code=2, says="4294967295")
        self.error("add", "f.mk", "--with-values", stdin=b"shoes\n", code=2, says=["line 1", "KEY<TAB>VALUE"])
        self.error("recall", "g.mk", "shoes", code=2, says="no values")


class Times(CommandTest):
    def test_a_time_before_that_of_the_filter_is_refused_with_both(self):
        self.run_mankai("create", "t.mk", "--kind", "rotating-bloom", "--keys", "1k", "--window", "1h")
        self.run_mankai("add", "t.mk", "--at", "2026-03-28", "KEY")
        for command in (["advance", "t.mk"], ["check", "t.mk", "KEY"], ["add", "t.mk", "KEY"]):
            self.error(*command, "--at", "2026-03-27", code=2,
                       says=["2026-03-27T00:00:00Z", "before 2026-03-28T00:00:00Z, the time of the filter"])


if __name__ == "__main__":
    main()
