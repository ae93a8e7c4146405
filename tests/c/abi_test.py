#!/usr/bin/env python3
"""Compares the ABI that a header declares with the recorded one: functions, structs and constants.

A library is generated that defines what the header declares, since that has debug information in every build; another
test compares the exports of the real library with the header. A changed or removed function, field or constant is
incompatible with programs that exist. A compatible change, such as an added function, must be recorded.

Usage: tests/c/abi_test.py [--write] COMPILER HEADER RECORDED
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77  # SKIP_RETURN_CODE
INCOMPATIBLE = 8  # a bit of abidiff's exit code
FAILED = 3  # bits of errors and wrong usage


def source_of(header_path):
    """Returns C source with a definition of each function, and an array for each constant, as long as its value."""
    with open(header_path, encoding="utf-8") as header:
        text = re.sub(r"/\*.*?\*/", "", header.read(), flags=re.DOTALL)
    lines = [f'#include "{os.path.abspath(header_path)}"', "#include <stdlib.h>"]
    for declaration in re.findall(r"^MANKAI_API ([^;]*);", text, flags=re.MULTILINE):
        lines.append(f"{declaration} {{ abort(); }}")
    for body in re.findall(r"\benum\s*\w*\s*\{(.*?)\}", text, flags=re.DOTALL):
        for name in re.findall(r"\b(MANKAI_\w+)\s*=", body):
            lines.append(f"char value_of_{name}[{name} + 1];")
    return "\n".join(lines) + "\n"


def write_abi(compiler, header, folder):
    source, library, abi = (os.path.join(folder, name) for name in ("abi.c", "libabi.so", "new.abi"))
    with open(source, "w", encoding="utf-8") as file:
        file.write(source_of(header))
    subprocess.run([compiler, "-g", "-O0", "-fPIC", "-shared", "-Wno-unused-parameter", source, "-o", library], check=True)
    subprocess.run(["abidw", "--no-corpus-path", "--no-comp-dir-path", "--no-show-locs", "--type-id-style", "hash",
                    "--out-file", abi, library], check=True)
    return abi


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--write", action="store_true", help="record the header's ABI")
    parser.add_argument("compiler")
    parser.add_argument("header")
    parser.add_argument("recorded")
    request = parser.parse_args()
    if shutil.which("abidiff") is None:
        print("SKIPPED: abidiff is not installed (Debian: abigail-tools), so the ABI was not compared")
        return SKIPPED
    with tempfile.TemporaryDirectory() as folder:
        abi = write_abi(request.compiler, request.header, folder)
        if request.write:
            shutil.copyfile(abi, request.recorded)
            return 0
        compared = subprocess.run(["abidiff", request.recorded, abi], capture_output=True, text=True, check=False)
    print(compared.stdout + compared.stderr)
    if compared.returncode & FAILED:
        print(f"abidiff failed with exit code {compared.returncode}")
        return 1
    if compared.returncode & INCOMPATIBLE:
        print("incompatible: programs built with an older header would break; add a function or a field at the end instead")
        return 1
    if compared.returncode != 0:
        print(f"changed: if programs built with an older header keep working, increase MANKAI_ABI_VERSION and record it: "
              f"tests/c/abi_test.py --write {request.compiler} {request.header} {request.recorded}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
