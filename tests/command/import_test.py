#!/usr/bin/env python3
"""`mankai import` on the built command: files of dablooms become filters that answer the same and go on."""
import json

from dablooms_file import Filter, Scaling
from harness import CommandTest, main

CAPACITY, RATE, KEYS = 100, 0.05, 250
SHAPE = ("--capacity", str(CAPACITY), "--fpr", str(RATE))


def key(number):
    return f"http://example.org/spam/{number}"


def lines(keys):
    return "".join(f"{each}\n" for each in keys).encode()


def filled(keys=KEYS):
    bloom = Scaling(CAPACITY, RATE)
    for i in range(keys):
        bloom.add(key(i).encode(), i)
    for i in range(0, keys, 5):
        bloom.remove(key(i).encode(), i)
    bloom.flush()
    return bloom


class ImportDablooms(CommandTest):
    def answers(self, file, keys):
        return [line.startswith(b"yes") for line in self.out("check", file, stdin=lines(keys)).splitlines()]

    def test_answers_are_the_originals(self):
        bloom = filled()
        self.write("spam.bloom", bytes(bloom))
        report = self.out("import", "dablooms", "spam.bloom", *SHAPE)
        for part in (b"spam.bloom.mk", b"scaling", b"200", b"301, flushed", b"yes, all counters"):
            self.assertIn(part, report)
        asked = [key(i) for i in range(KEYS)] + [f"http://example.net/{i}" for i in range(5000)]
        self.assertEqual(self.answers("spam.bloom.mk", asked), [each.encode() in bloom for each in asked])
        self.assertEqual(self.read("spam.bloom"), bytes(bloom))
        self.run_mankai("verify", "spam.bloom.mk")
        info = json.loads(self.out("info", "--json", "spam.bloom.mk"))
        self.assertEqual([info[name] for name in ("kind", "layout", "hash", "slices", "keys_inserted", "max_id", "growth")],
                         ["scalable-counting-bloom", "dablooms", "murmur3", 3, 200, 249, 1])

    def test_it_goes_on(self):
        self.write("spam.bloom", bytes(filled()))
        self.run_mankai("import", "dablooms", "spam.bloom", *SHAPE, "-o", "spam.mk")
        self.run_mankai("add", "spam.mk", "--with-ids", stdin="".join(f"{key(i)}\t{i}\n" for i in range(250, 500)).encode())
        self.assertEqual(self.out("remove", "spam.mk", "--with-ids",
                                  stdin="".join(f"{key(i)}\t{i}\n" for i in range(1, 250, 5)).encode()), b"")
        left = [key(i) for i in range(500) if i >= 250 or i % 5 > 1]
        self.assertEqual(self.answers("spam.mk", left), [True] * len(left))
        info = json.loads(self.out("info", "--json", "spam.mk"))
        self.assertEqual((info["slices"], info["keys_inserted"]), (5, 400))

    def test_the_source_is_never_replaced(self):
        bloom = filled()
        self.write("spam.bloom", bytes(bloom))
        (self.dir / "link.bloom").symlink_to("spam.bloom")
        (self.dir / "hard.bloom").hardlink_to(self.dir / "spam.bloom")
        for output in ("spam.bloom", "./spam.bloom", "link.bloom", "hard.bloom"):
            self.error("import", "dablooms", "spam.bloom", *SHAPE, "-o", output, "--force", code=2, says="--output")
        self.assertEqual(self.read("spam.bloom"), bytes(bloom))

    def test_the_report_for_programs(self):
        self.write("spam.bloom", bytes(filled()))
        stdout, stderr = self.run_mankai("import", "dablooms", "spam.bloom", *SHAPE, "--output", "spam.mk", "--json")
        report = json.loads(stdout)
        self.assertEqual([report[name] for name in ("file", "output", "form", "keys", "max_id", "mem_seqnum", "disk_seqnum",
                                                    "removals", "ok", "filter_count", "damage")],
                         ["spam.bloom", "spam.mk", "scaling", 200, 249, 301, 301, 50, True, 3, []])
        self.assertEqual([(each["first_id"], each["keys"]) for each in report["filters"]], [(0, 79), (99, 79), (198, 42)])
        self.assertEqual(json.loads(self.out("info", "--json", "spam.mk"))["sequence"], 300)
        self.assertEqual(len(report["warnings"]), 1)
        self.assertIn(b"warning: spam.bloom: 300 changes, 200 keys: 50 were removed, if the file is complete", stderr)

    def test_a_counting_file(self):
        bloom = Filter(CAPACITY, RATE, 0)
        for i in range(80):
            bloom.change(key(i).encode(), 1)
        self.write("spam.bloom", bytes(bloom))
        report = json.loads(self.out("import", "dablooms", "spam.bloom", *SHAPE, "--json"))
        self.assertEqual((report["form"], report["keys"], "max_id" in report), ("counting", 80, False))
        self.assertEqual(self.answers("spam.bloom.mk", [key(i) for i in range(80)]), [True] * 80)
        self.run_mankai("remove", "spam.bloom.mk", key(3))

    def test_another_capacity_or_rate_is_refused(self):
        self.write("spam.bloom", bytes(filled()))
        for other in (("--capacity", "101", "--fpr", "0.05"), ("--capacity", "100", "--fpr", "0.01")):
            self.error("import", "dablooms", "spam.bloom", *other, code=3, says=["spam.bloom", "bytes", "another capacity"])
        for missing in (("--capacity", "100"), ("--fpr", "0.05")):
            self.error("import", "dablooms", "spam.bloom", *missing, code=2, says="is missing")
        self.error("import", "dablooms", "spam.bloom", "--capacity", "0", "--fpr", "0.05", code=2)
        self.error("import", "bitly", "spam.bloom", *SHAPE, code=2, says="dablooms")
        self.error("import", "dablooms", "ham.bloom", *SHAPE, code=4, says="ham.bloom")
        self.assertFalse((self.dir / "spam.bloom.mk").exists())
        self.assert_no_temporaries()

    def test_damage_is_refused_unless_asked_for(self):
        whole = bytes(filled())
        self.write("spam.bloom", whole[:200] + bytes(64) + whole[264:])
        self.error("import", "dablooms", "spam.bloom", *SHAPE, code=3,
                   says=["spam.bloom: filter 1 has 79 keys, but the counters", "offset 24", "--damaged"])
        self.assertFalse((self.dir / "spam.bloom.mk").exists())
        stdout, stderr = self.run_mankai("import", "dablooms", "spam.bloom", *SHAPE, "--damaged", "--json")
        self.assertFalse(json.loads(stdout)["ok"])
        self.assertIn(b"damage: spam.bloom: filter 1", stderr)
        self.run_mankai("verify", "spam.bloom.mk")
        self.write("torn.bloom", whole[:8] + bytes(16) + whole[24:])
        self.error("import", "dablooms", "torn.bloom", *SHAPE, code=3, says="a change was interrupted")
        self.write("cut.bloom", whole[:len(whole) // 2])
        self.error("import", "dablooms", "cut.bloom", *SHAPE, "--damaged", code=3, says="truncated")

    def test_a_file_that_exists_is_left_as_it_is(self):
        self.write("spam.bloom", bytes(filled()))
        self.write("spam.mk", b"mine")
        self.error("import", "dablooms", "spam.bloom", *SHAPE, "-o", "spam.mk", code=2, says=["spam.mk", "--force"])
        self.assertEqual(self.read("spam.mk"), b"mine")
        self.run_mankai("import", "dablooms", "spam.bloom", *SHAPE, "-o", "spam.mk", "--force")
        self.run_mankai("verify", "spam.mk")


if __name__ == "__main__":
    main()
