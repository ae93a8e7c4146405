#!/usr/bin/env python3
"""Runs the named steps one after the other, all of them even when one fails, and ends with `N passed, N failed`.

Usage: tools/test.py [--jobs N] STEP...     (steps: see STEPS at the end)

A step that builds counts each of its ctest tests; every other step counts as one. A build that breaks counts as one
failure. The exit code is 0 only when nothing failed.
"""
import argparse
import os
import pathlib
import platform
import subprocess
import sys
import time
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parent.parent


def run(*command, quiet=False, environment=None):
    """Runs a command in the root folder; a quiet one shows its output only when it fails."""
    sys.stdout.flush()
    done = subprocess.run([str(word) for word in command], cwd=ROOT, stdin=subprocess.DEVNULL, check=False,
                          stdout=subprocess.PIPE if quiet else None, stderr=subprocess.STDOUT if quiet else None,
                          env={**os.environ, **(environment or {})})
    if quiet and done.returncode != 0:
        print(done.stdout.decode(errors="replace"), flush=True)
    return done.returncode == 0


def build(preset, jobs, *options, target="all"):
    verbose = ["--verbose"] if os.environ.get("V") == "1" else []
    return (run("cmake", "--preset", preset, *options, quiet=True) and
            run("cmake", "--build", "--preset", preset, "--parallel", jobs, "--target", target, *verbose,
                quiet=not verbose))


def counted(report):
    """Returns (passed, failed) of a ctest JUnit report; a test that was skipped counts as neither."""
    suite = xml.etree.ElementTree.parse(report).getroot()
    failed = int(suite.get("failures")) + int(suite.get("errors", 0))
    return int(suite.get("tests")) - failed - int(suite.get("skipped", 0)) - int(suite.get("disabled", 0)), failed


def ctest(preset, jobs, only_release=False, environment=None, prefix=()):
    """Builds a preset and runs its tests; tests labeled `release_only` run in that build alone."""
    if not build(preset, jobs, "-DMANKAI_BUILD_TESTS=ON"):
        return 0, 1
    report = ROOT / "build" / f"{preset}-tests.xml"
    report.unlink(missing_ok=True)
    # Twice as many tests as processors: many of them wait most of the time, for disks, servers and clocks.
    fine = run(*prefix, "ctest", "--preset", preset, "--parallel", 2 * int(jobs), "--output-junit", report,
               *([] if only_release else ["-LE", "release_only"]), environment=environment)
    passed, failed = counted(report) if report.exists() else (0, 1)
    return passed, max(failed, 0 if fine else 1)


def step(fine):
    return (1, 0) if fine else (0, 1)


def sanitized(jobs):
    return ctest("asan", jobs, environment={"ASAN_OPTIONS": "detect_leaks=1:strict_string_checks=1",
                                            "UBSAN_OPTIONS": "print_stacktrace=1"})


def threads(jobs):
    # The thread sanitizer of g++ 12 knows no kernel that randomizes addresses by more than 28 bits.
    # A child of fork() opens a shared file again, with a thread of its own.
    return ctest("tsan", jobs, environment={"TSAN_OPTIONS": "halt_on_error=1:die_after_fork=0"},
                 prefix=("setarch", platform.machine(), "--addr-no-randomize"))


def tidy_changed(jobs):
    return step(run("cmake", "--preset", "clang", quiet=True) and
                run("tools/tidy.py", "--build", "build/clang", "--changed", "--jobs", jobs))


def headers(jobs):
    return step(build("clang", jobs, target="all_verify_interface_header_sets") and
                build("release", jobs, target="all_verify_interface_header_sets"))


def fuzz(jobs):
    return step(build("fuzz", jobs) and run("tools/fuzz.sh", "build/fuzz"))


STEPS = {
    "release": ("g++ release build and all tests", lambda jobs: ctest("release", jobs, only_release=True)),
    "asan": ("tests under AddressSanitizer and UndefinedBehaviorSanitizer", sanitized),
    "tidy": ("clang-tidy on changed files", tidy_changed),
    "lint": ("the whole lint", lambda jobs: step(run("tools/lint.sh", "format", "tree", "tidy",
                                                          environment={"JOBS": jobs}))),
    "clang": ("clang release build and tests", lambda jobs: ctest("clang", jobs)),
    "tsan": ("tests under ThreadSanitizer", threads),
    "headers": ("every public header compiles alone, with both compilers", headers),
    "fuzz": ("every fuzz target", fuzz),
    "packages": ("Debian packages, built twice and installed in a clean root",
                 lambda jobs: step(run("tests/packages/run.sh", jobs))),
    "neon": ("kernel tests on 64-bit ARM under qemu", lambda jobs: step(run("tools/test_neon.sh", jobs))),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--jobs", default=str(os.cpu_count()))
    parser.add_argument("steps", nargs="+", choices=STEPS)
    arguments = parser.parse_args()
    passed = failed = 0
    summary = []
    for name in arguments.steps:
        what, body = STEPS[name]
        print(f"== {name}: {what}", flush=True)
        started = time.monotonic()
        good, bad = body(arguments.jobs)
        summary.append(f"{name:8} {good:5} passed {bad:5} failed  {time.monotonic() - started:6.0f} s")
        passed, failed = passed + good, failed + bad
    print("\n".join(summary))
    print(f"{passed} passed, {failed} failed", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
