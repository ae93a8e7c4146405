#!/usr/bin/env python3
"""Shows which verdicts the bench gives, and that its targets can be read."""
import pathlib
import re
import unittest

import summarise

PEERS = {"plain w 0.01 ours hit": [2, 2, 2], "plain w 0.01 boost a hit": [4, 2, 9], "plain w 0.01 boost b hit": [3, 3, 3],
         "native w 0.01 boost a hit": [1, 1, 1], "plain w 0.01 limit hit": [1, 1, 1], "guard build, seconds": [1, 9, 2]}


class Verdicts(unittest.TestCase):
    def assert_row(self, wanted, ours, theirs, *expected, limit=""):
        target = {"work": "w", "against": "a", "wanted": wanted, "ours": ours, "theirs": theirs, "limit": limit}
        got, shown_limit, *rest = summarise.judge(target, PEERS)[3:]
        self.assertEqual([got, *([shown_limit] if limit else []), *rest], list(expected))

    def test_a_rival_of_the_same_run_that_is_hardest_to_beat_counts(self):
        self.assert_row(">= 1.5", r"(\S+ w \S+) ours hit", r"\1 boost .* hit", "1.5", "plain w 0.01 boost b hit", "met")
        self.assert_row(">= 1.6", r"(\S+ w \S+) ours hit", r"\1 boost .* hit", "1.5", "plain w 0.01 boost b hit",
                        "**MISSED**")

    def test_a_ratio_is_the_median_of_pairs_and_a_ceiling_is_ours_over_theirs(self):
        self.assert_row(">= 2", r"(.*) ours hit", r"\1 boost a hit", "2", "", "met")
        self.assert_row("<= 0.4", r"(.*) ours hit", r"\1 boost a hit", "0.5", "", "**MISSED**")

    def test_a_value_is_judged_in_its_unit(self):
        self.assert_row("<= 2000 ms", "guard build, seconds", "", "2e+03 ms", "", "met")

    def test_a_target_is_out_of_reach_if_the_limit_misses_it_wherever_ours_does(self):
        for wanted, verdict in (("1", "met"), ("2", "**MISSED**"), ("4", "**MISSED**, out of reach")):
            self.assert_row(f">= {wanted}", r"(plain .*) ours hit", r"\1 boost b hit", "1.5", "3", "", verdict,
                            limit=r"\1 limit hit")
        self.assert_row(">= 4", r"(.*) ours hit", r"\1 boost b hit", "1.5", "", "", "**MISSED**", limit="not there")
        # The native one misses without a limit.
        self.assert_row(">= 4", r"(.*) (?:ours|boost a) hit", r"\1 (?:boost b|boost a) hit", "0.75", "3",
                        "plain w 0.01 boost b hit", "**MISSED**", limit=r"\1 limit hit")

    def test_what_has_no_series_is_not_measured(self):
        self.assert_row(">= 1", r"(.*) ours hit", r"\1 rocksdb hit", "", "", "not measured")
        self.assert_row("<= 1 s", "opening", "", "", "", "not measured")

    def test_every_target_can_be_read(self):
        _, rows = summarise.read(pathlib.Path(summarise.__file__).with_name("targets.tsv"))
        for row in rows:
            self.assertIn(len(row), (5, 6), row)
            self.assertRegex(row["wanted"], r"^[<>]= [\d.]+( (ns|ms|s|B|MB))?$")
            groups = re.compile(row["ours"]).groups
            for number in re.findall(r"\\(\d)", row["theirs"] + (row.get("limit") or "")):
                self.assertLessEqual(int(number), groups, row)



if __name__ == "__main__":
    unittest.main()
