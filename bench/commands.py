#!/usr/bin/env python3
"""`mankai` on large inputs, beside other programs where there are some: wall time and peak memory of whole processes.

Usage: bench/commands.py MANKAI RESULTS_DIR

Commands of a group take turns, BENCH_RUNS (5) times. Writes RESULTS_DIR/commands.tsv, with all samples, and prints
medians. BENCH_SCALE (1) makes the inputs smaller, to try it out; BENCH_STRICT=1 fails where a program is missing.
"""
import os
import pathlib
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

RUNS = int(os.environ.get("BENCH_RUNS", "5"))
SCALE = float(os.environ.get("BENCH_SCALE", "1"))
URLS = int(5_000_000 * SCALE)
RULES = int(1_100_000 * SCALE)
KEYS = int(840_000_000 * SCALE)  # 1.06 GB at 1%


def once(command, folder):
    """Runs it, with the file `stdin` of its folder; returns seconds, bytes at most, and lines written."""
    output = folder / "output"
    with open(folder / "stdin", "rb") as standard_input, open(output, "wb") as file:
        start = time.perf_counter()
        process = subprocess.Popen(command, cwd=folder, stdin=standard_input, stdout=file, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise subprocess.CalledProcessError(process.returncode, command)
    with open(output, "rb") as file:
        lines = sum(block.count(b"\n") for block in iter(lambda: file.read(1 << 20), b""))
    return seconds, usage.ru_maxrss * 1024, lines


def make(mankai, folder, what, count, name, more=()):
    with open(folder / name, "wb") as file:
        subprocess.run([mankai, "gen", what, "--count", str(count), *more], stdout=file, check=True)


def dedup(mankai, folder):
    make(mankai, folder, "urls", URLS, "stdin")
    awks = {awk: [awk, "!seen[$0]++"] for awk in ("mawk", "gawk") if shutil.which(awk)}
    return {"mankai dedup": [mankai, "dedup", "--keys", "10M"], **awks}


def guard(mankai, folder):
    make(mankai, folder, "blocklist", RULES, "list.txt")
    return {"guard build": [mankai, "guard", "build", "--force", "list.mkg", "list.txt"]}


def opening(mankai, folder):
    if shutil.disk_usage(folder).free < 3 << 30:
        return {}
    subprocess.run([mankai, "create", "--keys", str(KEYS), "large.mk"], cwd=folder, check=True, capture_output=True)
    with open(folder / "stdin", "rb") as keys:
        subprocess.run([mankai, "add", "large.mk"], cwd=folder, stdin=keys, check=True, capture_output=True)
    return {"open 1 GB": [mankai, "check", "large.mk", "a key"]}


def threads(mankai, folder):
    """Commands with --threads, on two compressed files each; guard checks by the guard that was built before. Beside
    them, two processes with one thread and one file each: what the processors give to work that is divided at all."""
    texts = [subprocess.run([mankai, *command, "--help"], capture_output=True, check=True, text=True).stdout
             for command in (["dedup"], ["hot"], ["guard", "check"])]
    if os.cpu_count() < 2 or not all("--threads" in text for text in texts):
        return {}
    for seed in ("1", "2"):
        for what in ("urls", "log"):
            make(mankai, folder, what, URLS // 8, f"{what}{seed}", ("--seed", seed))
            subprocess.run(["gzip", "-1", f"{what}{seed}"], cwd=folder, check=True)
    commands = {}
    for name, words, inputs in (("dedup", ["dedup"], ["urls1.gz", "urls2.gz"]),
                                ("hot", ["hot"], ["log1.gz", "log2.gz"]),
                                ("guard check", ["guard", "check", "list.mkg"], ["--input=urls1.gz", "--input=urls2.gz"])):
        one, two, *both = ([mankai, *words, "--threads", count, *some]
                           for count, some in (("1", inputs), ("2", inputs), ("1", inputs[:1]), ("1", inputs[1:])))
        commands |= {f"{name}, 1 thread": one, f"{name}, 2 threads": two,
                     f"{name}, 2 processes": ["sh", "-c", "{} & {} && wait $!".format(*map(shlex.join, both))]}
    return commands


def main():
    mankai, results = str(pathlib.Path(sys.argv[1]).resolve()), pathlib.Path(sys.argv[2])
    missing = [program for program in (mankai, "mawk", "gawk", "gzip") if not shutil.which(program)]
    with open(results / "commands.tsv", "w", encoding="utf-8") as file, tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        print("command", "seconds", "bytes", "lines", sep="\t", file=file)
        for program in missing:
            print("MISSING", program, sep="\t")
        for group in (dedup, guard, opening, threads) if mankai not in missing else ():
            samples = {}
            commands = group(mankai, folder)
            for _ in range(RUNS):
                for label, command in commands.items():
                    samples.setdefault(label, []).append(once(command, folder))
            for label, runs in samples.items():
                seconds, peaks, lines = zip(*runs)
                print(label, " ".join(f"{one:.4f}" for one in seconds), " ".join(map(str, peaks)), lines[0], sep="\t",
                      file=file, flush=True)
                print(f"{label:26} {statistics.median(seconds):8.3f} s {statistics.median(peaks) / 1e6:8.1f} MB "
                      f"{lines[0]:10} lines", flush=True)
    return int(bool(missing) and os.environ.get("BENCH_STRICT") == "1")


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
