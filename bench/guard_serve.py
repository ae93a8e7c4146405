#!/usr/bin/env python3
"""`mankai guard serve` under wrk: /check beside an empty handler of the same server, batches, and reloads.

Usage: bench/guard_serve.py MANKAI RESULTS_DIR

The empty handler is /healthz, which answers two letters. Both are asked in turns (A B A B), in runs of BENCH_SECONDS (3)
each, BENCH_RUNS (5) times; the ratio is the median of the pairs. wrk has a core of its own where there are two. Writes
RESULTS_DIR/guard_serve.tsv and prints it. BENCH_STRICT=1 fails where wrk is missing.
"""
import os
import pathlib
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

RULES = 200_000
RUNS = int(os.environ.get("BENCH_RUNS", "5"))
SECONDS = os.environ.get("BENCH_SECONDS", "3")
CONNECTIONS = "32"
TARGETS = {
    "empty": "/healthz",
    "check, not listed": "/check?url=https%3A%2F%2Fwww.unlisted.example%2Fnews%2F2024%2Fpage.html%3Fid%3D7",
    "check, listed": "/check?url=https%3A%2F%2Fwww.host77.example%2Fnews%2F2024%2Fpage.html%3Fid%3D7",
}


class Run:
    """What one run of wrk says."""

    def __init__(self, url, *arguments):
        output = subprocess.run(["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{SECONDS}s", "--latency", *arguments, url],
                                capture_output=True, check=True, text=True).stdout
        self.rate = float(re.search(r"Requests/sec:\s+([\d.]+)", output)[1])
        self.p99 = re.search(r"99%\s+(\S+)", output)[1]
        self.requests = int(re.search(r"(\d+) requests in", output)[1])
        broken = re.search(r"Socket errors: (.*)", output)
        wrong = re.search(r"Non-2xx or 3xx responses: (\d+)", output)
        self.errors = f"{broken[1] if broken else 0}{'; wrong answers ' + wrong[1] if wrong else ''}"


def build(mankai, folder, first):
    """Puts a guard of RULES rules in the place of the old one."""
    rules = "".join(f"host{i}.example\n" for i in range(first, first + RULES))
    (folder / "list.txt").write_text(rules)
    subprocess.run([mankai, "guard", "build", "--force", "list.mkg", "list.txt"], cwd=folder, check=True,
                   capture_output=True)


def serve(mankai, folder):
    process = subprocess.Popen([mankai, "guard", "serve", "list.mkg", "--listen", "127.0.0.1:0", "--no-watch"],
                               cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return process, process.stdout.readline().split()[-1]


def reloads(url):
    with urllib.request.urlopen(url + "/metrics") as answer:
        return int(re.search(r'reloads_total\{result="good"\} (\d+)', answer.read().decode())[1])


def rows(mankai, folder):
    build(mankai, folder, 0)
    process, url = serve(mankai, folder)
    try:
        pairs = {name: [] for name in TARGETS}
        for _ in range(RUNS):
            for name, target in TARGETS.items():
                pairs[name].append(Run(url + target))
        for name, runs in pairs.items():
            ratio = statistics.median(run.rate / empty.rate for run, empty in zip(runs, pairs["empty"]))
            yield name, statistics.median(run.rate for run in runs), f"{ratio:.3f}", runs[-1].p99, runs[-1].errors
        script = folder / "batch.lua"
        script.write_text('wrk.method = "POST"\nwrk.body = string.rep("https://www.unlisted.example/news/7\\n", 1000)\n')
        batch = Run(url + "/check", "-s", str(script))
        yield "batch of 1000, URLs", batch.rate * 1000, "-", batch.p99, batch.errors
        wrk = subprocess.Popen([sys.executable, __file__, "--one", url + TARGETS["check, listed"]],
                               stdout=subprocess.PIPE, text=True)
        count = 0
        while wrk.poll() is None:
            build(mankai, folder, count % 2)
            os.kill(process.pid, signal.SIGHUP)
            count += 1
            while wrk.poll() is None and reloads(url) < count:
                time.sleep(0.01)
        rate, p99, errors = wrk.stdout.read().rstrip("\n").split("\t")
        yield f"check, beside {reloads(url)} reloads", float(rate), "-", p99, errors
    finally:
        process.terminate()
        process.wait()


def main():
    if sys.argv[1] == "--one":
        run = Run(sys.argv[2])
        print(run.rate, run.p99, run.errors, sep="\t")
        return 0
    mankai, results = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
    with open(results / "guard_serve.tsv", "w", encoding="utf-8") as file:
        def put(*fields):
            print(*fields, sep="\t", file=file, flush=True)
            print(*fields, sep="\t", flush=True)

        if not shutil.which("wrk"):
            put("MISSING", "wrk")
            return int(os.environ.get("BENCH_STRICT") == "1")
        put(f"# {RULES} rules, {CONNECTIONS} connections, {RUNS} runs of {SECONDS} s, {os.cpu_count()} processors")
        put("request", "per_second", "ratio_to_empty", "p99", "errors")
        with tempfile.TemporaryDirectory() as folder:
            for name, rate, *rest in rows(mankai, pathlib.Path(folder)):
                put(name, round(rate), *rest)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
