#!/usr/bin/env python3
"""Checks that a shared library exports the functions of its header and no other name, each under its version, and that
a page of the documentation names each.

Usage: tests/c/exported_symbols_test.py LIBRARY SONAME HEADER MAP [PAGE]
"""
import re
import subprocess
import sys


def without_comments(text):
    return re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)


def declared(header):
    """Returns the names of the functions that a header declares."""
    text = re.sub(r"^\s*#.*$", "", without_comments(header), flags=re.MULTILINE)
    return set(re.findall(r"\bMANKAI_\w*API\b[^;(]*?(\w+)\s*\(", text))


def mapped(version_script):
    """Returns {name: version} of a version script."""
    names = {}
    for version, body in re.findall(r"(\w[\w.]*)\s*\{(.*?)\}", without_comments(version_script), flags=re.DOTALL):
        for name in re.findall(r"[\w*]+(?=;)", body.split("local:")[0]):
            names[name] = version
    return names


def exported(library):
    """Returns {name: version} of what a library offers, without the versions' own names."""
    listed = subprocess.run(["nm", "--dynamic", "--defined-only", "--with-symbol-versions", library],
                            capture_output=True, text=True, check=True).stdout
    names = {}
    for line in listed.split("\n"):
        words = line.split()
        if len(words) == 3 and words[1] != "A":
            name, _, version = words[2].partition("@@")
            names[name] = version
    return names


def soname(library):
    listed = subprocess.run(["readelf", "--dynamic", "--wide", library], capture_output=True, text=True, check=True)
    found = re.search(r"\(SONAME\).*\[(.*)\]", listed.stdout)
    return found.group(1) if found else None


def main():
    library, expected_soname, header_path, map_path, *pages = sys.argv[1:]
    with open(header_path, encoding="utf-8") as header, open(map_path, encoding="utf-8") as script:
        in_header, in_map = declared(header.read()), mapped(script.read())
    offered = exported(library)
    wrong = []
    if not in_header:
        wrong.append(f"{header_path} declares nothing")
    wrong += [f"{name}: declared, not in {map_path}" for name in sorted(in_header - in_map.keys())]
    wrong += [f"{name}: in {map_path}, not declared" for name in sorted(in_map.keys() - in_header)]
    wrong += [f"{name}: in {map_path}, not exported" for name in sorted(in_map.keys() - offered.keys())]
    wrong += [f"{name}: exported, not in {map_path}" for name in sorted(offered.keys() - in_map.keys())]
    wrong += [f"{name}: version {version} instead of {in_map[name]}" for name, version in sorted(offered.items())
              if name in in_map and in_map[name] != version]
    for page in pages:
        with open(page, encoding="utf-8") as text:
            described = set(re.findall(r"\w+", text.read()))
        wrong += [f"{name}: declared, not in {page}" for name in sorted(in_header - described)]
    if soname(library) != expected_soname:
        wrong.append(f"SONAME is {soname(library)} instead of {expected_soname}")
    print("\n".join(wrong + [f"{len(offered)} names, {len(wrong)} findings"]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
