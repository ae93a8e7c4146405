#!/usr/bin/env python3
"""mankai hot, on the built command: against an exact model, in every format, with state, follow, signals, odd bytes."""
import datetime
import gzip
import json
import lzma
import math
import os
import pathlib
import pty
import random
import re
import resource
import select
import signal
import subprocess
import time
import unittest

from harness import MANKAI, PATIENCE, SHARED, CommandTest, default_signals, main

START = 1_456_000_000  # seconds; 2016-02-20T20:26:40Z
MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()


def iso(seconds):
    return datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def clf_time(seconds):
    when = datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc)
    return f"{when:%d}/{MONTHS[when.month - 1]}/{when:%Y:%H:%M:%S} +0000"


def combined(seconds, target, client="10.0.0.1", status=200, referrer="-", agent="curl/8"):
    return (f'{client} - - [{clf_time(seconds)}] "GET {target} HTTP/1.1" {status} 512 "{referrer}" "{agent}"\n').encode()


def exact(events, half_life=3600.0, epoch=None, now=None):
    """Returns {key: decayed count} as of the newest event; events are (seconds, key)."""
    epoch = epoch or half_life / 64
    factor = 2 ** (-epoch / half_life)
    newest = max(seconds for seconds, _ in events) if now is None else now
    counts = {}
    for seconds, key in events:
        age = math.floor(newest / epoch) - math.floor(seconds / epoch)
        counts[key] = counts.get(key, 0) + factor ** age
    return counts


def rows(stdout):
    return [line.split("\t") for line in stdout.decode().splitlines()]


def some_events(count, seed=1, keys=40):
    chance = random.Random(seed)
    now = START
    events = []
    for _ in range(count):
        now += chance.randrange(8)
        events.append((now, f"/page/{min(int(chance.paretovariate(0.8)), keys)}"))
    return events


class HotTest(CommandTest):
    def run_mankai(self, *arguments, **options):
        """With a fixed seed, unless a state has its own: keys that share their cells would disturb counts."""
        if arguments[0] == "hot" and not {"--seed", "--state"} & set(arguments):
            arguments = (*arguments, "--seed", "1")
        return super().run_mankai(*arguments, **options)


def wait_for_looks(process, count=3, seconds=20):
    """Waits until a follower has looked at its file so many times more, and has counted what it has read before."""
    def reads():
        return int(re.search(r"^syscr: (\d+)$", pathlib.Path(f"/proc/{process.pid}/io").read_text(encoding="ascii"), re.M)[1])

    before, deadline = reads(), time.monotonic() + seconds
    while reads() < before + count:
        if time.monotonic() > deadline:
            raise AssertionError("it does not look at its file")
        time.sleep(0.02)


class Counts(HotTest):
    def check_top(self, stdout, events, most=20, **decay):
        truth = exact(events, **decay)
        printed = rows(stdout)
        self.assertEqual(len(printed), min(most, len(truth)))
        for rank, (shown_rank, count, rate, last_seen, key) in enumerate(printed, 1):
            self.assertEqual(int(shown_rank), rank)
            self.assertAlmostEqual(float(count), truth[key], delta=0.02 + 0.001 * truth[key])
            self.assertEqual(last_seen, iso(max(seconds for seconds, other in events if other == key)))
            self.assertGreater(float(rate), 0)
        counts = [float(row[1]) for row in printed]
        self.assertEqual(counts, sorted(counts, reverse=True))

    def test_header_names_the_columns_in_a_pipe(self):
        self.write("k.log", b"2016-03-28T12:00:00Z a\n2016-03-28T12:00:01Z a\n")
        lines = self.out("hot", "--header", "--format", "keys", "k.log").decode().splitlines()
        self.assertEqual(lines[0], "rank\tcount\tper hour\tlast seen\tkey")
        self.assertEqual(len(lines), 2)
        self.assertEqual(self.out("hot", "--format", "keys", "k.log").decode().splitlines(), lines[1:])
        series = self.out("hot", "--header", "--every", "1s", "--format", "keys", "k.log").decode().splitlines()
        self.assertEqual([line.split("\t")[0] for line in series].count("as of"), 1)

    def test_counts_fade_by_the_time_of_the_records(self):
        events = some_events(3000)
        log = b"".join(combined(seconds, path + "?q=%d" % seconds) for seconds, path in events)
        self.check_top(self.out("hot", stdin=log), events)
        self.check_top(self.out("hot", "--half-life", "10m", "--top", "5", stdin=log), events, most=5, half_life=600.0)
        self.assertEqual(self.out("hot", stdin=b""), b"")

    def test_lambda_and_epoch(self):
        events = [(START, "a"), (START + 600, "a"), (START + 1200, "b")]
        log = b"".join(combined(*event) for event in events)
        printed = {row[4]: float(row[1]) for row in rows(self.out("hot", "--lambda", "0.5", "--epoch", "10m", stdin=log))}
        self.assertAlmostEqual(printed["a"], 0.75, delta=0.02)
        self.assertAlmostEqual(printed["b"], 1, delta=0.02)
        self.error("hot", "--lambda", "0.5", code=2, says="--epoch")
        self.error("hot", "--lambda", "0.5", "--epoch", "1m", "--half-life", "1h", code=2, says="--half-life")
        self.error("hot", "--lambda", "1.5", "--epoch", "1m", code=2, says="lambda")
        self.error("hot", "--half-life", "1h", "--epoch", "10m", code=2, says=["--epoch", "10m", "56250ms"])
        self.out("hot", "--half-life", "1h", "--epoch", "30s", stdin=log)

    def test_rate_is_times_an_hour(self):
        log = b"".join(combined(START + 36 * i, "/steady") for i in range(3000))  # 100 an hour, for 30 half-lives
        self.assertAlmostEqual(float(rows(self.out("hot", stdin=log))[0][2]), 100, delta=2)

    def test_keys(self):
        log = (combined(START, "/a?x=1", "10.0.0.1", 200, "http://r.example/1?q", "one") +
               combined(START, "/a?x=2", "10.0.0.2", 404, "http://r.example/1?q", "two") +
               combined(START, "/b", "10.0.0.1", 200, "-", "-"))
        wanted = {("--by", "path"): {"/a": 2, "/b": 1},
                  ("--query",): {"/a?x=1": 1, "/a?x=2": 1, "/b": 1},
                  ("--by", "client"): {"10.0.0.1": 2, "10.0.0.2": 1},
                  ("--by", "status"): {"200": 2, "404": 1},
                  ("--by", "referrer"): {"http://r.example/1?q": 2},
                  ("--by", "agent"): {"one": 1, "two": 1},
                  ("--match", r"\?x=(\d)"): {"1": 1, "2": 1},
                  ("--match", "/[ab]"): {"/a": 2, "/b": 1},
                  ("--match", "nowhere"): {}}
        for arguments, counts in wanted.items():
            with self.subTest(arguments):
                printed = {row[4]: round(float(row[1])) for row in rows(self.out("hot", *arguments, stdin=log))}
                self.assertEqual(printed, counts)
        self.error("hot", "--by", "color", code=2, says=["color", "path"])
        self.error("hot", "--match", "a(b", code=2, says=["--match", "a(b"])
        vhost = b"".join(b"www%d.example:443 " % i + combined(START, "/x?y") for i in (1, 1, 2))
        for by, counts in (("host", {"www1.example": 2, "www2.example": 1}),
                           ("url", {"www1.example/x": 2, "www2.example/x": 1})):
            printed = {row[4]: round(float(row[1])) for row in rows(self.out("hot", "--by", by, stdin=vhost))}
            self.assertEqual(printed, counts)

    def test_formats(self):
        events = [(START, "/a"), (START + 10, "/b"), (START + 20, "/a")]
        logs = {
            "combined": b"".join(combined(*event) for event in events),
            "squid": b"".join(b"%d.123 45 10.0.0.1 TCP_MISS/200 512 GET %s - DIRECT/1.2.3.4 text/html\n" %
                              (seconds, b"http://s.example" + path.encode()) for seconds, path in events),
            "w3c": b"#Version: 1.0\n#Fields: date time c-ip cs-method cs-uri-stem sc-status\n" + b"".join(
                b"%s 10.0.0.1 GET %s 200\n" % (iso(seconds)[:-1].replace("T", " ").encode(), path.encode())
                for seconds, path in events),
            "json": b"".join(json.dumps({"time": iso(seconds), "request_uri": path, "status": 200}).encode() + b"\n"
                             for seconds, path in events),
            "keys": b"".join(b"%d %s\n" % (seconds, path.encode()) for seconds, path in events),
        }
        for name, log in logs.items():
            for arguments in ([], ["--format", name]):
                with self.subTest(name, arguments=arguments):
                    stdout, stderr = self.run_mankai("hot", "--json", *arguments, stdin=log)
                    report = json.loads(stdout)
                    self.assertEqual(report["format"], name)
                    prefix = "http://s.example" if name == "squid" else ""
                    self.assertEqual([row["key"] for row in report["top"]], [prefix + "/a", prefix + "/b"])
                    self.assertEqual(report["newest"][:19], iso(START + 20)[:19])
                    self.assertEqual((report["records"], report["malformed"], stderr), (3, 0, b""))
        self.error("hot", "--format", "xml", code=2, says=["xml", "combined"])
        log = b'{"ts": %d, "req": {"uri": "/z"}}\n' % START
        self.assertEqual(rows(self.out("hot", "--json-fields", "time=ts,target=req.uri", stdin=log))[0][4], "/z")
        self.error("hot", "--json-fields", "color=red", code=2, says=["--json-fields", "color=red"])

    def test_keys_are_kept_as_they_are(self):
        log = b"what is this? a key\nnul\0 tab\t\xff\nwhat is this? a key\n"
        self.assertEqual(self.out("hot", "--format", "keys", stdin=log),
                         b"1\t2.000\t-\t-\twhat is this? a key\n2\t1.000\t-\t-\tnul\0 tab\t\xff\n")
        report = json.loads(self.out("hot", "--format", "keys", "--json", stdin=b"\xff\\\xc3\xa9\n\\\n"))
        self.assertEqual({row["key"]: row.get("key_is_escaped", False) for row in report["top"]},
                         {"\\xff\\\\\u00e9": True, "\\": False})
        self.assertEqual(report["without_time"], 2)
        self.assertNotIn("rate", report["top"][0], "without times there is no rate")

    def test_what_is_utf8_in_json(self):
        good = ["\x7f", "\u0080", "\u07ff", "\u0800", "\ud7ff", "\ue000", "\uffff", "\U00010000", "\U0010ffff", "a\u00e9b"]
        bad = [b"\x80", b"\xc1\xbf", b"\xe0\x9f\xbf", b"\xed\xa0\x80", b"\xf0\x8f\xbf\xbf", b"\xf4\x90\x80\x80", b"\xf5", b"\xc3",
               b"\xe2\x82", b"\xe2(\xa1", b"\xff"]
        log = b"".join(key.encode() + b"\n" for key in good) + b"".join(key + b"\n" for key in bad)
        report = json.loads(self.out("hot", "--format", "keys", "--json", "--top", "99", stdin=log))
        shown = {row["key"]: row.get("key_is_escaped", False) for row in report["top"]}
        self.assertEqual({key for key, is_escaped in shown.items() if not is_escaped}, set(good))
        escaped = {"".join(f"\\x{byte:02x}" if byte > 127 else chr(byte) for byte in key) for key in bad}
        self.assertEqual({key for key, is_escaped in shown.items() if is_escaped}, escaped)

    def test_a_line_feed_in_a_key_makes_no_row(self):
        log = json.dumps({"time": iso(START), "request_uri": "/a\n9\tx"}).encode() + b"\n"
        self.assertEqual(self.out("hot", stdin=log).count(b"\n"), 1)
        self.assertIn(rb"/a\x0a9", self.out("hot", stdin=log))
        self.assertEqual(json.loads(self.out("hot", "--json", stdin=log))["top"][0]["key"], "/a\n9\tx")

    def test_several_inputs_plain_and_compressed(self):
        self.write("1.log.gz", gzip.compress(combined(START, "/a") + b"#c\n"))
        self.write("2.log.xz", lzma.compress(b"%d /a\n" % (START + 1)))
        zstd = subprocess.run(["zstd", "-c"], input=combined(START + 2, "/a"), capture_output=True, check=True).stdout
        self.write("3.log.zst", zstd)
        report = json.loads(self.out("hot", "--json", "1.log.gz", "2.log.xz", "3.log.zst", "-", stdin=combined(START + 3, "/b")))
        self.assertEqual([(row["key"], round(row["count"])) for row in report["top"]], [("/a", 3), ("/b", 1)])
        self.error("hot", "1.log.gz", "missing.log", code=4, says="missing.log")

    def test_malformed_lines_are_counted_and_the_first_is_named(self):
        self.write("a.log", combined(START, "/a") + b"garbage\n" + combined(START, "/a").replace(b"/Feb/", b"/Foo/"))
        stdout, stderr = self.run_mankai("hot", "a.log")
        self.assertEqual(rows(stdout)[0][4], "/a")
        self.assertRegex(stderr, rb"\Amankai: 2 of 3 lines are malformed[^\n]*a\.log:2: [^\n]+\n\Z")
        report = json.loads(self.run_mankai("hot", "--json", "a.log")[0])
        self.assertEqual((report["lines"], report["records"], report["malformed"]), (3, 1, 2))
        self.assertIn("a.log:2: ", report["first_malformed"])

    def test_late_records_are_counted_and_reported(self):
        events = [(START + 7200, "/a"), (START, "/a"), (START + 7100, "/b"), (START + 7100, "/b")]
        stdout, stderr = self.run_mankai("hot", stdin=b"".join(combined(*event) for event in events))
        self.check_top(stdout, events)
        self.assertIn(b"3 records arrived late, 1 of them by more than 5m", stderr)
        report = json.loads(self.out("hot", "--json", "--late", "1m", stdin=b"".join(combined(*event) for event in events)))
        self.assertEqual((report["late"], report["late_beyond_tolerance"]), (3, 3))

    def test_late_beyond_the_tolerance_is_a_part_of_late(self):
        # Epochs of 2 h 37 min: what is 10 minutes behind is seldom in an epoch before the newest record's.
        events = [(START + 60 * i - (600 if i % 2 else 0), "/a") for i in range(2000)]
        log = b"".join(combined(*event) for event in events)
        report = json.loads(self.run_mankai("hot", "--json", "--half-life", "7d", stdin=log)[0])
        self.assertGreater(report["late"], 0)
        self.assertLessEqual(report["late_beyond_tolerance"], report["late"])

    def test_all_time_prints_totals(self):
        year = 365 * 86400
        log = combined(START, "/new") + combined(START - 3 * year, "/old") * 7 + combined(START, "/new")
        stdout, stderr = self.run_mankai("hot", "--all-time", stdin=log)
        self.assertEqual([(row[1], row[2], row[4]) for row in rows(stdout)], [("7.000", "-", "/old"), ("2.000", "-", "/new")])
        self.assertEqual(stderr, b"")
        report = json.loads(self.out("hot", "--all-time", "--exact", "--json", stdin=log))
        self.assertEqual((report["half_life_seconds"], report["lambda"], "rate" in report["top"][0]), (None, 1, False))
        self.out("hot", "--all-time", "--state", "s.mk", stdin=log)
        self.assertEqual(rows(self.out("hot", "--state", "s.mk", stdin=log))[0][1], "14.000")
        self.error("hot", "--state", "s.mk", "--half-life", "1h", stdin=log, code=2, says="s.mk")
        for other in (["--half-life", "1h"], ["--lambda", "1", "--epoch", "1h"], ["--epoch", "1h"]):
            self.error("hot", "--all-time", *other, stdin=log, code=2, says=["--all-time", "--half-life"])

    def test_window_counts_the_last_hours(self):
        day = START // 10800 * 10800  # the start of a pane of three hours
        events = [(day - 86400 - 1, "/before"), (day - 86400, "/oldest")]
        events += [(day - 3600 * i, "/hourly") for i in range(30, 0, -1)] + [(day, "/new"), (day, "/new")]
        log = b"".join(combined(*event) for event in events)
        counts = lambda *options: {row[4]: float(row[1]) for row in rows(self.out("hot", *options, stdin=log))}
        self.assertEqual(counts("--window", "24h"), {"/hourly": 24, "/new": 2, "/oldest": 1})
        self.assertEqual(counts("--window", "24h", "--at", iso(day + 10800)), {"/hourly": 21, "/new": 2})
        self.assertEqual(counts("--window", "24h", "--at", iso(day + 10800 * 9)), {})
        report = json.loads(self.out("hot", "--window", "24h", "--json", stdin=log))
        self.assertEqual((report["window_seconds"], report["half_life_seconds"], report["epoch_seconds"]), (86400, None, 10800))
        self.assertEqual(report["top"][0]["rate"], 1)
        self.assertNotIn("window_seconds", json.loads(self.out("hot", "--json", stdin=log)))
        self.out("hot", "--window", "24h", "--state", "w.mk", stdin=log)
        self.assertEqual(rows(self.out("hot", "--state", "w.mk", stdin=log))[0][1], "48.000")
        for other in (["--half-life", "1h"], ["--all-time"], ["--window", "12h"]):
            self.error("hot", *other, "--state", "w.mk", stdin=log, code=2, says=["w.mk", "a window of 1d"])
        self.out("hot", "--state", "h.mk", stdin=log)
        self.error("hot", "--window", "1d", "--state", "h.mk", stdin=log, code=2, says=["h.mk", "a window of 1d"])
        late = combined(day, "/new") + combined(day - 100 * 86400, "/ancient")
        self.assertIn(b"counted at its own time, if that is in the window", self.run_mankai("hot", "--window", "1d", stdin=late)[1])
        for other in (["--half-life", "1h"], ["--all-time"], ["--lambda", "1", "--epoch", "1h"], ["--exact"]):
            self.error("hot", "--window", "1d", *other, code=2, says=["--window", "cannot be combined"])
        self.error("hot", "--window", "7us", code=2, says="multiple of 8 us")
        self.error("create", "x.mk", "--kind", "decayed-top", "--bytes", "64KiB", "--window", "1d", "--half-life", "1h", code=2, says="window")

    def test_an_old_log_behind_a_new_one_is_worth_nothing(self):
        year = 365 * 86400
        self.write("new.log", b"".join(combined(START, "/new") for _ in range(1000)))
        self.write("old.log", b"".join(combined(START - 3 * year, "/old") for _ in range(50000)))
        report = json.loads(self.run_mankai("hot", "--exact", "--json", "new.log", "old.log")[0])
        self.assertEqual([row["key"] for row in report["top"]], ["/new"])  # what is worth 0.000 has no row
        self.assertLess(report["error_largest"], 0.001)
        other = json.loads(self.run_mankai("hot", "--exact", "--json", "old.log", "new.log")[0])
        self.assertEqual([row["key"] for row in other["top"]], ["/new"])
        rare = json.loads(self.run_mankai("hot", "--json", "--min-count", "0", "old.log", "new.log")[0])
        self.assertEqual([row["key"] for row in rare["top"]], ["/new", "/old"])

    def test_records_of_the_far_future_are_left_out(self):
        good = b"%d /a\n" % START
        far = b"3000000000 /x\n"
        self.write("a.log", good + far + good + b"3000000001 /y\n" + good)
        stdout, stderr = self.run_mankai("hot", "--format", "keys", "--state", "s.mk", "--json", "a.log")
        report = json.loads(stdout)
        self.assertEqual([(row["key"], row["count"]) for row in report["top"]], [("/a", 3)])
        self.assertEqual((report["in_future"], report["first_in_future"]), (2, "a.log:2: 2065-01-24T05:20:00Z"))
        self.assertIn(b"2 records have timestamps more than 1d in the future and were skipped", stderr)
        self.assertIn(b"a.log:2: 2065-01-24", stderr)
        self.assertEqual(float(rows(self.out("hot", "--state", "s.mk", stdin=good))[0][1]), 4)
        soon = int(time.time()) + 3600
        for arguments, keys in ((["--format", "keys"], {"/a", "/soon"}),
                                (["--format", "keys", "--future", "1s"], {"/a"}),
                                (["--format", "keys", "--future", "36500d"], {"/x", "/soon", "/a"})):
            log = good + b"%d /soon\n" % soon + (far if "36500d" in arguments else b"")
            printed = rows(self.run_mankai("hot", "--min-count", "0", *arguments, stdin=log)[0])
            self.assertEqual({row[4] for row in printed}, keys, arguments)

    def test_a_line_too_long_is_an_error(self):
        self.error("hot", "--max-line", "100", code=4, says="line 1", stdin=b"x" * 200 + b"\n")


class Options(HotTest):
    def setUp(self):
        super().setUp()
        self.events = some_events(2000, seed=5)
        self.log = self.write("a.log", b"".join(combined(*event) for event in self.events))

    def counts(self, *arguments, **options):
        return {row[4]: float(row[1]) for row in rows(self.out("hot", *arguments, **options))}

    def test_at_later_fades_and_at_earlier_leaves_out(self):
        last = self.events[-1][0]
        now = self.counts("a.log")
        later = self.counts("--at", iso(last + 3600), "a.log")
        self.assertEqual(now.keys(), later.keys())
        for key, count in now.items():
            self.assertAlmostEqual(later[key], count / 2, delta=0.03 + 0.02 * count)
        middle = self.events[1000][0]
        before = [event for event in self.events if event[0] <= middle]
        self.write("half.log", b"".join(combined(*event) for event in before))
        self.assertEqual(self.out("hot", "--at", str(middle), "a.log"), self.out("hot", "half.log"))
        report = json.loads(self.out("hot", "--json", "--at", str(middle), "a.log"))
        self.assertEqual((report["records"], report["left_out"]), (len(before), 2000 - len(before)))
        self.assertEqual(self.run_mankai("hot", "--at", str(middle), "a.log")[1], b"")
        self.assertEqual(self.run_mankai("hot", "--at", str(self.events[0][0] - 60), "a.log"),
                         (b"", f"mankai: nothing was counted: 2,000 records are later than --at, the first one at {iso(self.events[0][0])}\n".encode()))
        self.write("plain", b"/x\n/x\n/y\n")
        self.assertEqual(self.out("hot", "--at", iso(last), "plain"), self.out("hot", "plain"))
        self.error("hot", "--at", "yesterday", code=2, says="--at")
        self.error("hot", "--at", str(middle), "--follow", code=2, says="--follow")

    def test_every_prints_a_table_a_period(self):
        lines = [json.loads(line) for line in self.out("hot", "--json", "--every", "30m", "--top", "3", "a.log").splitlines()]
        periods = sorted({seconds // 1800 for seconds, _ in self.events})
        self.assertEqual([line["at"] for line in lines],
                         [iso((period + 1) * 1800) for period in periods[:-1]] + [iso(self.events[-1][0])])
        for line, period in zip(lines, periods):
            until = [event for event in self.events if event[0] < (period + 1) * 1800]
            now = None if period == periods[-1] else (period + 1) * 1800
            truth = exact(until, now=now)
            for row in line["top"]:
                self.assertAlmostEqual(row["count"], truth[row["key"]], delta=0.02 + 0.001 * truth[row["key"]])
        table = rows(self.out("hot", "--every", "30m", "--top", "3", "a.log"))
        self.assertEqual([row[0] for row in table], [line["at"] for line in lines for _ in line["top"]])
        self.assertEqual({len(row) for row in table}, {6})

    def test_wanted_keys_in_their_order(self):
        self.write("wanted", b"/page/3\nnever\n/page/1\n")
        printed = rows(self.out("hot", "--keys", "wanted", "a.log"))
        self.assertEqual([row[2] for row in printed], ["/page/3", "never", "/page/1"])
        truth = exact(self.events)
        for count, _, key in printed:
            self.assertAlmostEqual(float(count), truth.get(key, 0), delta=0.05)
        report = json.loads(self.out("hot", "--json", "--exact", "--keys", "wanted", "a.log"))
        self.assertEqual([(row["key"], "rank" in row) for row in report["keys"]],
                         [("/page/3", False), ("never", False), ("/page/1", False)])
        self.assertEqual(report["keys"][1]["exact"], 0)
        self.error("hot", "--keys", "wanted", "--top", "3", "a.log", code=2, says="--top")
        self.error("hot", "--keys", "missing", "a.log", code=4, says="missing")

    def test_everything_above_a_count(self):
        truth = exact(self.events)
        printed = self.counts("--min-count", "1", "a.log")
        self.assertTrue({key for key, count in truth.items() if count >= 1} <= printed.keys())
        self.assertTrue(all(count >= 1 for count in printed.values()))
        self.assertEqual(len(self.counts("--min-count", "0", "a.log")), len(truth))
        self.assertEqual(len(self.counts("--min-count", "0", "--top", "2", "a.log")), 2)

    def test_exact_stands_beside(self):
        stdout, stderr = self.run_mankai("hot", "--exact", "a.log")
        truth = exact(self.events)
        for _, count, _, _, true_count, error, key in rows(stdout):
            self.assertAlmostEqual(float(true_count), truth[key], delta=0.002)
            self.assertAlmostEqual(float(error), float(count) - float(true_count), delta=0.0021)
            self.assertGreaterEqual(float(error), 0)
        self.assertIn(b"20 of the 20 rows", stderr)
        report = json.loads(self.run_mankai("hot", "--exact", "--json", "a.log")[0])
        self.assertEqual((report["top_agreeing"], report["top_exact"]), (20, 20))
        self.assertAlmostEqual(report["top"][0]["error"], report["top"][0]["count"] - report["top"][0]["exact"])
        self.error("hot", "--exact", "--state", "s.mk", "a.log", code=2, says="--state")

    def test_memory(self):
        for size in ("64KiB", "256K", "1MiB"):
            report = json.loads(self.out("hot", "--json", "--memory", size, "a.log"))
            wanted = {"64KiB": 65536, "256K": 256000, "1MiB": 1048576}[size]
            self.assertLessEqual(report["memory_bytes"], wanted)
            self.assertGreater(report["memory_bytes"], 0.8 * wanted)
        for few in ("0", "1", "655"):
            self.error("hot", "--memory", few, "a.log", code=2, says="--memory: too few bytes; give at least 656\n")
        self.out("hot", "--memory", "656", "a.log")
        self.error("hot", "--window", "1h", "--memory", "4751", "a.log", code=2, says="--memory: too few bytes; give at least 4752\n")
        self.out("hot", "--window", "1h", "--memory", "4752", "a.log")
        self.error("hot", "--memory", "280T", "a.log", code=4, says="cannot allocate")
        self.error("hot", "--top", "0", "a.log", code=2, says="--top")

    def test_help_names_every_option(self):
        text = self.out("hot", "--help").decode()
        for option in ("--format", "--by", "--query", "--match", "--half-life", "--lambda", "--epoch", "--memory", "--top",
                       "--at", "--every", "--keys", "--min-count", "--state", "--json", "--exact", "--follow", "--late",
                       "--future", "--from", "--durability", "--position"):
            self.assertIn(option, text)


class State(HotTest):
    def test_carried_on_equals_one_run(self):
        events = some_events(3000, seed=9)
        parts = [events[:1111], events[1111:]]
        for i, part in enumerate(parts):
            self.write(f"{i}.log", b"".join(combined(*event) for event in part))
        whole = self.out("hot", "--seed", "1", "0.log", "1.log")
        self.out("hot", "--seed", "1", "--state", "s.mk", "0.log")
        self.assertEqual(self.out("hot", "--state", "s.mk", "1.log"), whole)
        self.assertEqual(self.out("hot", "--state", "s.mk", stdin=b""), whole)
        report = json.loads(self.out("hot", "--json", "--state", "s.mk", stdin=b""))
        self.assertEqual((report["records"], report["records_in_all"]), (0, 3000))
        self.out("hot", "--state", "s.mk", "--seed", "1", "--half-life", "1h", "--memory", "256KiB", stdin=b"")
        self.error("hot", "--state", "s.mk", "--seed", "2", code=2, says="s.mk")
        self.error("hot", "--hash", "xxh3", "--seed", "0123456789abcdef0123456789abcdef", code=2, says="keyed hashes take 128")
        self.error("hot", "--state", "s.mk", "--half-life", "2h", code=2, says=["s.mk", "epoch"])
        self.error("hot", "--state", "s.mk", "--memory", "1MiB", code=2, says="s.mk")
        self.error("hot", "--state", "s.mk", "--at", str(START), code=2, says=["s.mk", "--at"])
        self.assert_no_temporaries()

    def test_a_state_knows_what_it_counts(self):
        log = combined(START, "/a?x=1")
        sorts = {"path": [], "query": ["--query"], "client": ["--by", "client"], "url": ["--by", "url"],
                 "match": ["--match", "x=(.)"], "other": ["--match", "x=(..?)"]}
        for name, arguments in sorts.items():
            self.out("hot", "--state", f"{name}.mk", *arguments, stdin=log)
        before = {name: self.read(f"{name}.mk") for name in sorts}
        for name in sorts:
            for other, arguments in sorts.items():
                if other != name:
                    words = {"path": "--by path", "query": "--by path --query", "client": "--by client", "url": "--by url"}
                    self.error("hot", "--state", f"{name}.mk", *arguments, stdin=log, code=2,
                               says=[f"{name}.mk", words.get(name, "--match")])
            self.assertEqual(self.read(f"{name}.mk"), before[name])
            self.out("hot", "--state", f"{name}.mk", *sorts[name], stdin=log)
        # --query says nothing about a client; --by nothing beside --match.
        self.out("hot", "--state", "client.mk", "--by", "client", "--query", stdin=log)
        self.out("hot", "--state", "match.mk", "--by", "client", "--match", "x=(.)", stdin=log)
        self.run_mankai("create", "--like", "path.mk", "like.mk")
        self.error("hot", "--state", "like.mk", "--by", "client", stdin=log, code=2, says="like.mk")
        self.run_mankai("create", "any.mk", "--kind", "decayed-top", "--bytes", "256KiB")
        for arguments in (["--by", "client"], []):
            stderr = self.run_mankai("hot", "--state", "any.mk", *arguments, stdin=log)[1].decode()
            self.assertRegex(stderr, r"\Amankai: warning: any\.mk: does not store what it counts[^\n]*new --state file[^\n]*\n\Z")
            self.assertIn(" ".join(arguments) or "--by path", stderr)
        for arguments in ([], ["--state", "path.mk"], ["--state", "new.mk"]):
            self.assertEqual(self.run_mankai("hot", *arguments, stdin=log)[1], b"")
        self.run_mankai("create", "--like", "path.mk", "a.mk")
        self.error("merge", "a.mk", "client.mk", code=2, says="client.mk")

    def test_damaged_states_and_other_files_are_refused(self):
        self.write("text", b"not a filter at all\n" * 100)
        self.error("hot", "--state", "text", code=3, says="text")
        self.new_filter("bloom.mk")
        self.error("hot", "--state", "bloom.mk", code=2, says="bloom.mk")
        self.run_mankai("create", "urls.mk", "--kind", "decayed-top", "--bytes", "64KiB", "--canonical")
        self.error("hot", "--state", "urls.mk", code=2, says=["urls.mk", "canonical"])
        self.out("hot", "--state", "s.mk", stdin=combined(START, "/a"))
        image = bytearray(self.read("s.mk"))
        image[len(image) // 2] ^= 1
        self.write("s.mk", bytes(image))
        self.error("hot", "--state", "s.mk", code=3, says="s.mk")

    def test_a_broken_input_prints_what_was_read_and_leaves_the_state(self):
        self.out("hot", "--state", "s.mk", stdin=combined(START, "/a"))
        before = self.read("s.mk")
        log = gzip.compress(b"".join(combined(START + i, "/b") for i in range(20000)))
        self.write("broken.gz", log[:len(log) // 2])
        stdout, stderr = self.run_mankai("hot", "--state", "s.mk", "broken.gz", code=3)
        self.assertEqual(rows(stdout)[0][4], "/b")
        self.assertIn(b"s.mk is unchanged", stderr)
        self.assertEqual(self.read("s.mk"), before)

    def test_what_nobody_got_is_not_counted(self):
        self.out("hot", "--state", "s.mk", stdin=combined(START, "/a"))
        before = self.read("s.mk")
        with open("/dev/full", "wb") as full:
            done = subprocess.run([MANKAI, "hot", "--state", "s.mk"], input=combined(START, "/b"), cwd=self.dir, stdout=full,
                                  stderr=subprocess.PIPE, check=False, timeout=60)
        self.assertEqual(done.returncode, 4)
        self.assertIn(b"s.mk is unchanged", done.stderr)
        self.assertEqual(self.read("s.mk"), before)

    def test_a_state_that_cannot_be_written_says_what_is_in_it(self):
        self.out("hot", "--state", "s.mk", stdin=combined(START, "/a"))
        before = self.read("s.mk")

        os.mkfifo(self.dir / "log")
        process = self.start("hot", "--state", "s.mk", "log",
                             preexec_fn=lambda: signal.signal(signal.SIGXFSZ, signal.SIG_IGN))
        with open(self.dir / "log", "wb") as log:  # returns once the state is open
            resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (1000, 1000))
            log.write(combined(START, "/b"))
        _, stderr = process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, 4)
        self.assertIn(b"s.mk is unchanged", stderr)
        self.assertEqual(self.read("s.mk"), before)

    @unittest.skipUnless("MANKAI_PRELOADED" in os.environ, "needs a library that ctest names")
    def test_a_state_whose_folder_cannot_be_synchronized_has_the_records(self):
        self.out("hot", "--state", "s.mk", stdin=combined(START, "/a"))
        os.mkfifo(self.dir / "log")
        process = self.start("hot", "--state", "s.mk", "log", env={
            **os.environ, "LD_PRELOAD": os.environ["MANKAI_PRELOADED"],
            "ASAN_OPTIONS": "verify_asan_link_order=0:" + os.environ.get("ASAN_OPTIONS", "")})
        with open(self.dir / "log", "wb") as log:  # returns once the state is open
            self.write("sync fails", b"")
            log.write(combined(START, "/b"))
        _, stderr = process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, 4)
        self.assertRegex(stderr.decode(), r"cannot be synchronized.*; s\.mk has these records, unless power is lost: do not count them again\n\Z")
        self.assertEqual({row[4] for row in rows(self.out("hot", "--state", "s.mk", stdin=b""))}, {"/a", "/b"})

    def test_signals_print_and_save(self):
        for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 0), (signal.SIGHUP, 129)):
            with self.subTest(signal=number):
                name = f"{number}.mk"
                self.write("a.log", combined(START, "/a"))
                process = self.start("hot", "--follow", "--state", name, "a.log", preexec_fn=default_signals)
                self.wait_until_waiting(process)
                process.send_signal(number)
                stdout, stderr = process.communicate(timeout=20)
                self.assertEqual(process.returncode, code, stderr)
                self.assertEqual(rows(stdout)[0][4], "/a")
                self.assertEqual(rows(self.out("hot", "--state", name, stdin=b""))[0][4], "/a")

    def follow_on(self, *arguments):
        process = self.start("hot", "--follow", "--state", "s.mk", *arguments, "a.log",
                             preexec_fn=default_signals)
        self.wait_until_waiting(process)
        return process

    def append(self, line):
        with open(self.dir / "a.log", "ab") as log:
            log.write(line)

    def counted(self):
        """Asks beside the follower."""
        counts = [line.split("\t") for line in self.out("count", "s.mk", "/a", "/b").decode().splitlines()]
        return {key: round(float(count)) for count, key in counts if round(float(count)) > 0}

    def test_following_on_counts_nothing_twice(self):
        self.write("a.log", combined(START, "/a") * 3)
        process = self.follow_on()
        process.send_signal(signal.SIGINT)
        stderr = process.communicate(timeout=20)[1]
        self.assertNotIn(b"--from", stderr)
        process = self.follow_on()
        self.append(combined(START, "/b"))
        self.wait_until(lambda: self.counted() == {"/a": 3, "/b": 1})
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=20)
        self.assertEqual(rows(stdout)[0][4], "/a")
        self.assertIn(b"s.mk: has records already", stderr)
        self.assertEqual(self.counted(), {"/a": 3, "/b": 1})
        process = self.follow_on("--from", "start")
        process.send_signal(signal.SIGINT)
        self.assertNotIn(b"has records already", process.communicate(timeout=20)[1])
        self.assertEqual(self.counted(), {"/a": 6, "/b": 2})
        self.assert_no_temporaries()

    def test_a_follower_that_is_killed_has_kept_what_it_counted(self):
        self.write("a.log", combined(START, "/a") * 3)
        process = self.follow_on()
        self.wait_until(lambda: self.counted() == {"/a": 3})
        self.append(combined(START, "/b") * 2)
        self.wait_until(lambda: self.counted() == {"/a": 3, "/b": 2})
        process.kill()
        process.communicate(timeout=20)
        self.assertEqual(self.counted(), {"/a": 3, "/b": 2})

    def test_where_following_begins(self):
        self.write("a.log", combined(START, "/a"))
        process = self.start("hot", "--follow", "--from", "end", "a.log", preexec_fn=default_signals)
        self.wait_until_waiting(process)
        self.append(combined(START, "/b"))
        wait_for_looks(process)
        process.send_signal(signal.SIGINT)
        self.assertEqual([row[4] for row in rows(process.communicate(timeout=20)[0])], ["/b"])
        self.error("hot", "--from", "end", "a.log", code=2, says="--follow")
        self.error("hot", "--follow", "--from", "middle", "a.log", code=2, says="--from")
        self.error("hot", "--follow", "--state", "s.mk", "--position", "here", "a.log", code=2, says="--follow")
        self.error("hot", "--durability", "never", "a.log", code=2, says="--state")

    def wait_until_waiting(self, process):
        """It has read the log, and looks for more."""
        self.wait_until(lambda: self.has_open(process, "a.log"))
        wait_for_looks(process, 2)

    @staticmethod
    def has_open(process, name):
        folder = f"/proc/{process.pid}/fd"
        return any(os.readlink(f"{folder}/{fd}").endswith("/" + name) for fd in os.listdir(folder))

    def wait_until(self, condition, seconds=20):
        deadline = time.monotonic() + seconds
        while not condition():
            self.assertLess(time.monotonic(), deadline, "waited in vain")
            time.sleep(0.02)


class Follow(CommandTest):
    """With --every, so that what has been read shows: a record of the next period prints the last one."""

    def start_following(self):
        return self.start("hot", "--follow", "--every", "1h", "a.log", preexec_fn=default_signals)

    def next_row(self, process, seconds=20):
        deadline = time.monotonic() + seconds
        line = b""
        while not line.endswith(b"\n"):
            ready, _, _ = select.select([process.stdout], [], [], max(0, deadline - time.monotonic()))
            self.assertTrue(ready, f"nothing came within {seconds} s, only {line!r}")
            byte = os.read(process.stdout.fileno(), 1)
            self.assertTrue(byte, f"it ended: {process.poll()}")
            line += byte
        return line.decode().rstrip("\n").split("\t")

    def test_new_lines_rotation_and_truncation(self):
        hour = 3600
        start = START - START % hour
        self.write("a.log", combined(start, "/one"))
        process = self.start_following()
        with open(self.dir / "a.log", "ab") as log:
            log.write(combined(start + hour, "/two"))
        self.assertEqual(self.next_row(process)[5], "/one")
        os.rename(self.dir / "a.log", self.dir / "a.log.1")
        with open(self.dir / "a.log.1", "ab") as log:
            log.write(combined(start + hour + 1, "/two"))  # to the old file, after it was renamed
        self.write("a.log", combined(start + 2 * hour, "/three"))
        two = self.next_row(process)
        self.assertEqual((two[5], round(float(two[2]))), ("/two", 1))  # two of them an hour ago: 2 · 1/2
        self.assertEqual(self.next_row(process)[5], "/one")
        with open(self.dir / "a.log", "r+b") as log:
            log.truncate(0)
        wait_for_looks(process)  # at the short file, before it grows again
        with open(self.dir / "a.log", "ab") as log:
            log.write(combined(start + 3 * hour, "/four"))
        self.assertEqual({self.next_row(process)[5] for _ in range(3)}, {"/one", "/two", "/three"})
        process.send_signal(signal.SIGINT)
        rest = process.communicate(timeout=20)[0]
        self.assertEqual(process.returncode, 130)
        self.assertEqual(rows(rest)[0][5], "/four")

    def test_a_file_that_comes_later_is_waited_for(self):
        process = self.start_following()
        self.assertIn(b"a.log", process.stderr.readline())
        self.write("a.log", combined(START, "/one") + combined(START + 7200, "/two"))
        self.assertEqual(self.next_row(process)[5], "/one")

    def test_live_table_on_a_terminal(self):
        self.write("a.log", combined(START, "/one\x1b[2J"))
        controller, terminal = pty.openpty()
        process = subprocess.Popen([MANKAI, "hot", "--follow", "a.log"], cwd=self.dir, stdin=subprocess.DEVNULL, stdout=terminal,
                                   stderr=subprocess.PIPE, preexec_fn=default_signals)
        os.close(terminal)
        self.addCleanup(os.close, controller)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        shown = self.read_terminal(controller, rb"/one")
        self.assertIn(rb"/one\x1b[2J", shown)
        self.assertNotIn(b"\x1b[2J", shown.replace(rb"\x1b", b""))
        with open(self.dir / "a.log", "ab") as log:
            log.write(combined(START + 1, "/two"))
        self.assertRegex(self.read_terminal(controller, rb"/two"), rb"\x1b\[\d+A\r\x1b\[J")
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(20), 130)
        end = self.read_terminal(controller, None)
        self.assertRegex(end, rb"rank +count +per hour +last seen +key")

    def read_terminal(self, controller, until, seconds=20):
        deadline = time.monotonic() + seconds
        shown = b""
        while until is None or not re.search(until, shown):
            self.assertLess(time.monotonic(), deadline, f"not shown: {until} in {shown!r}")
            if not select.select([controller], [], [], 0.1)[0]:
                continue
            try:
                shown += os.read(controller, 65536)
            except OSError:  # the other end is closed
                self.assertIsNone(until, shown)
                return shown
        return shown


class RealLogs(CommandTest):
    def test_top_20_is_the_exact_one(self):
        folder = SHARED / "data/logs"
        if not folder.exists():
            self.skipTest(f"SKIPPED: the shared logs {folder} are not on this machine")
        for log in sorted(folder.glob("*.zst")):
            with self.subTest(log.name):
                stdout, _ = self.run_mankai("hot", "--exact", "--json", "--memory", "256KiB", "--seed", "1", log)
                report = json.loads(stdout)
                self.assertEqual((report["top_agreeing"], report["top_exact"]), (20, 20))
                self.assertLessEqual(report["memory_bytes"], 256 * 1024)
                self.assertLess(report["malformed"], 0.01 * report["lines"])
                print(f"{log.name}: {report['lines']} lines, {report['malformed']} malformed, largest error "
                      f"{report['error_largest']:.4f}")


if __name__ == "__main__":
    main()
