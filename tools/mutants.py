#!/usr/bin/env python3
"""Plants bugs, one after the other, in a copy of the tree, and expects the tests to find each of them.

Usage: tools/mutants.py [--jobs N] [--only WORD...] [--check]

A mutant is a file below tests/mutants/:

    file: mankai/file/new_file.cpp
    tests: storage_crash_test store_crash_test
    damage: A file that was replaced may be found empty.
    --- find
    the text to replace, which stands in the file once
    --- replace
    what to put there

The tests must be green before, and one of them red, crash or hang with the bug in. Every call that makes something last
in mankai/file and mankai/store must have a mutant without it; --check looks only whether that is so and whether
each mutant still fits the sources. The copy is in build/mutants, and is kept for the next time.
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys

import tree

FOLDER = "tests/mutants/"
# A test that takes so long with a bug in it hangs.
TIMEOUT_S = 600
# Calls of something that makes contents or names last; what declares it, and comments, are none.
SYNC = re.compile(r"\b(?:fsync|fdatasync|msync|sync|sync_commits|sync_folder_of)\(")
NO_CALL = re.compile(r"//.*|^\s*(?:\[\[nodiscard\]\] |virtual )*(?:Result<void>|int) [\w:]+\([^)]*\)")


class Mutant:
    def __init__(self, path):
        self.name = pathlib.PurePosixPath(path).stem
        head, rest = tree.text(tree.ROOT, path).split("--- find\n")
        self.find, self.replace = rest.split("--- replace\n")
        fields = dict(re.findall(r"^(\w+): (.*)$", head, flags=re.MULTILINE))
        self.file, self.damage, self.tests = fields["file"], fields["damage"], fields["tests"].split()


def mutants():
    return [Mutant(path) for path in tree.files(tree.ROOT) if path.startswith(FOLDER) and path.endswith(".txt")]


def check(all_mutants):
    """Returns what is wrong with the mutants, one line each."""
    found = []
    covered = set()
    for mutant in all_mutants:
        source = tree.text(tree.ROOT, mutant.file)
        if source.count(mutant.find) != 1:
            found.append(f"{FOLDER}{mutant.name}.txt: its text stands {source.count(mutant.find)} times in {mutant.file}")
            continue
        first = source.count("\n", 0, source.index(mutant.find)) + 1
        kept = mutant.replace.split("\n")
        covered |= {(mutant.file, first + number) for number, line in enumerate(mutant.find.split("\n")) if line not in kept}
    for path in tree.files(tree.ROOT):
        if not re.match(r"mankai/(?:(?:file|store)/|seen/(?:detail/)?digest_)(?!.*_test\.).*\.[ch]pp$", path) or "/file_calls." in path:
            continue
        for number, line in enumerate(tree.text(tree.ROOT, path).split("\n"), start=1):
            if SYNC.search(NO_CALL.sub("", line)) and (path, number) not in covered:
                found.append(f"{path}:{number}: no mutant removes this: {line.strip()}")
    return found


def copy_tree(target):
    """Brings the copy up to date; files that did not change keep their times, so that little is built anew."""
    paths = set(tree.files(tree.ROOT))
    for path in paths:
        source, copy = tree.ROOT / path, target / path
        if not copy.exists() or copy.read_bytes() != source.read_bytes():
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, copy)
            shutil.copymode(source, copy)
    for copy in list(target.rglob("*")):
        if copy.is_file() and str(copy.relative_to(target)) not in paths:
            copy.unlink()


def build(source, target, tests, jobs):
    configured = subprocess.run(["cmake", "-S", source, "-B", target, "-G", "Ninja", "-DCMAKE_CXX_COMPILER=g++",
                                 "-DCMAKE_BUILD_TYPE=Release", "-DMANKAI_BUILD_TESTS=ON", "-DMANKAI_BUILD_APPS=OFF"],
                                stdout=subprocess.DEVNULL, check=False)
    return configured.returncode == 0 and subprocess.run(
        ["cmake", "--build", target, "--parallel", jobs, "--target", *tests], stdout=subprocess.DEVNULL,
        check=False).returncode == 0


def is_green(target, test):
    try:
        return subprocess.run([target / "tests" / test, "--gtest_brief=1"], capture_output=True, timeout=TIMEOUT_S,
                              check=False).returncode == 0
    except subprocess.TimeoutExpired:
        return False


def run(mutant, source, target, jobs):
    """Returns what became of it: the test that found it, or why there is none."""
    path = source / mutant.file
    original = path.read_text(encoding="utf-8")
    path.write_text(original.replace(mutant.find, mutant.replace), encoding="utf-8")
    try:
        if not build(source, target, mutant.tests, jobs):
            return None, "does not compile"
        for test in mutant.tests:
            if not is_green(target, test):
                return test, ""
        return None, "survived"
    finally:
        path.write_text(original, encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--jobs", default=str(os.cpu_count()))
    parser.add_argument("--only", nargs="+", default=[""], metavar="WORD", help="mutants with one of these in the name")
    parser.add_argument("--check", action="store_true", help="plant nothing")
    arguments = parser.parse_args()
    all_mutants = mutants()
    found = check(all_mutants)
    if found or arguments.check:
        print("\n".join(found + [f"mutants: {len(all_mutants)}, {len(found)} findings"]))
        return 1 if found else 0

    chosen = [mutant for mutant in all_mutants if any(word in mutant.name for word in arguments.only)]
    tests = sorted({test for mutant in chosen for test in mutant.tests})
    source, target = tree.ROOT / "build/mutants/tree", tree.ROOT / "build/mutants/build"
    source.mkdir(parents=True, exist_ok=True)
    copy_tree(source)
    red = [test for test in tests if not build(source, target, [test], arguments.jobs) or not is_green(target, test)]
    if red:
        print(f"mutants: red without any bug: {' '.join(red)}")
        return 1
    survivors = 0
    for mutant in chosen:
        killer, why = run(mutant, source, target, arguments.jobs)
        survivors += killer is None
        print(f"{mutant.name}: {'found by ' + killer if killer else why.upper() + ': ' + mutant.damage}", flush=True)
    print(f"mutants: {len(chosen) - survivors} of {len(chosen)} were found")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
