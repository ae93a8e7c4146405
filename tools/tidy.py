#!/usr/bin/env python3
"""Runs clang-tidy on many files at once and remembers what was clean.

Usage: tools/tidy.py --build DIR (--all | --changed) [--jobs N]

DIR holds compile_commands.json of a clang configuration. A file is checked again only when its preprocessed text
(comments included, since NOLINT is one), .clang-tidy or clang-tidy itself changed.

--changed looks at the .cpp files that differ from a base, uncommitted ones included; for a header, at its own .cpp or
the sources that include it. The base is, in this order: $MANKAI_BASE; the point where this branch left origin/main;
else, as in a fresh clone of main, there is no base and the most recently committed sources are taken, at most
$MANKAI_TIDY_LIMIT (default 24) of them, so that the running time stays bounded.
"""
import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
CLANG_TIDY = os.environ.get("CLANG_TIDY", "clang-tidy-19")


def git(*arguments):
    done = subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, text=True, check=False)
    return done.stdout.split("\n")[:-1] if done.returncode == 0 else []


def base_commit():
    """Returns the commit that changes are counted from, or None."""
    if os.environ.get("MANKAI_BASE"):
        return os.environ["MANKAI_BASE"]
    left = git("merge-base", "HEAD", "origin/main")
    return left[0] if left and left != git("rev-parse", "HEAD") else None


def sources_of(changed, database):
    """Maps changed paths to the sources to check: a .cpp is its own, a header stands for those that include it."""
    chosen = []
    for path in changed:
        if path in database:
            chosen.append(path)
        elif path.endswith(".hpp"):
            own = [p for p in (path[:-4] + ".cpp", path[:-4] + "_test.cpp") if p in database]
            including = [p for p in database if f'#include "{path}"' in (ROOT / p).read_text(errors="replace")]
            chosen += own or including
    return list(dict.fromkeys(chosen))


def changed_sources(database):
    uncommitted = git("diff", "--name-only", "HEAD") + git("ls-files", "--others", "--exclude-standard")
    base = base_commit()
    if base:
        return sources_of(uncommitted + git("diff", "--name-only", f"{base}...HEAD"), database)
    limit = int(os.environ.get("MANKAI_TIDY_LIMIT", "24"))
    recent = git("log", "--name-only", "--format=", "-n", "200")
    return sources_of(uncommitted + [path for path in recent if path], database)[:limit]


def read_database(build):
    """Returns {path below the root: compile command} for our own sources."""
    entries = json.loads((build / "compile_commands.json").read_text())
    inside = {}
    for entry in entries:
        path = pathlib.Path(entry["file"])
        if path.suffix == ".cpp" and path.is_relative_to(ROOT) and not path.is_relative_to(build) and path.exists():
            inside[str(path.relative_to(ROOT))] = entry
    return inside


def fingerprint(entry, salt):
    """Hashes what clang-tidy would see; None if the file does not even preprocess."""
    command = shlex.split(entry["command"])
    if pathlib.Path(command[0]).name == "ccache":
        command = command[1:]
    command = [word for i, word in enumerate(command) if word not in ("-c", "-o") and command[i - 1] != "-o"]
    done = subprocess.run(command + ["-E", "-C"], cwd=entry["directory"], capture_output=True, check=False)
    if done.returncode != 0:
        return None
    return hashlib.sha256(salt + done.stdout).hexdigest()


def check(path, entry, build, salt):
    """Returns (path, clean, output)."""
    mark = fingerprint(entry, salt)
    stamp = build / "tidy" / (path.replace("/", "__") + ".clean")
    if mark and stamp.exists() and stamp.read_text() == mark:
        return path, True, ""
    done = subprocess.run([CLANG_TIDY, "-p", str(build), "--quiet", str(ROOT / path)],
                          capture_output=True, text=True, check=False)
    if done.returncode == 0 and mark:
        stamp.parent.mkdir(exist_ok=True)
        stamp.write_text(mark)
    errors = [line for line in done.stderr.split("\n") if not re.match(r"\d+ warnings?( and| generated)", line)]
    return path, done.returncode == 0, done.stdout + ("" if done.returncode == 0 else "\n".join(errors))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--all", action="store_true")
    which.add_argument("--changed", action="store_true")
    arguments = parser.parse_args()

    build = arguments.build.resolve()
    database = read_database(build)
    paths = sorted(database) if arguments.all else changed_sources(database)
    version = subprocess.run([CLANG_TIDY, "--version"], capture_output=True, check=True).stdout
    salt = version + (ROOT / ".clang-tidy").read_bytes()
    dirty = 0
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for path, clean, output in pool.map(lambda p: check(p, database[p], build, salt), paths):
            if not clean:
                dirty += 1
                print(f"{path}\n{output}", flush=True)
    print(f"clang-tidy: {len(paths)} files, {dirty} with findings")
    return 1 if dirty else 0


if __name__ == "__main__":
    sys.exit(main())
