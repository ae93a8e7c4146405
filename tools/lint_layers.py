#!/usr/bin/env python3
"""Checks that includes and link edges go only in the directions that the architecture allows.

Usage: tools/lint_layers.py [ROOT]

mankai/layers.txt is the one table, which CMake links by; docs/architecture.md explains it. A layer may always include
itself. Tests and fuzz targets may include anything. Everything outside mankai/ sees public headers only, so no
`detail/`, and the same holds between layers.
"""
import pathlib
import re
import sys

import tree

def read_table(text):
    """Returns the layers that each layer may include, of a text such as mankai/layers.txt."""
    lines = (line for line in text.splitlines() if line and not line.startswith("#"))
    return {layer: set(below.split()) for layer, below in (line.split(":") for line in lines)}


MAY_INCLUDE = read_table((tree.ROOT / "mankai/layers.txt").read_text())

# The folders of the Redis module: all know the engine, the families know not each other.
MODULE_BASE = {"engine": set(), "image": {"engine"}}
MODULE_FAMILY = {"engine", "image"}

# The third-party headers a layer may know; the rest of the library needs the standard library and the system only.
MAY_USE = {
    "xxhash.h": {"hash", "file"},
    "sodium": {"hash"},
    "hwy": {"hash", "kernel", "url"},
    "idn2.h": {"url"},
    "libpsl.h": {"url"},
    "unicase.h": {"url"},
    "uninorm.h": {"url"},
    "unistr.h": {"url"},
    "unictype.h": {"url"},
    "isa-l": {"input"},
    "zlib.h": set(),
    "zstd.h": {"input"},
    "lzma.h": {"input"},
    "sqlite3.h": {"gate/database"},
    "libpq-fe.h": {"gate/database"},
    "hiredis": {"remote"},
    "openssl": {"remote"},
    "CLI": set(),
    "nlohmann": {"input"},
    "fmt": set(),
    "re2": set(),
}

SOURCE = re.compile(r"\.(hpp|cpp|h|c|inc)$")
INCLUDE = re.compile(r'^\s*#\s*include\s+(["<])([^">]+)[">]', re.MULTILINE)


def is_test(path):
    return path.startswith(("tests/", "fuzz/")) or bool(re.search(r"_(test|fuzz|test_support)\.(cpp|hpp)$", path))


def layer_of(path):
    """Returns the layer of a path such as mankai/base/bits.hpp, else None; the umbrella header has no layer."""
    parts = path.split("/")
    if parts[0] != "mankai" or len(parts) < 3:
        return None
    return next((layer for layer in ("/".join(parts[1:3]), parts[1]) if layer in MAY_INCLUDE), parts[1])


def module_complaint(path, target):
    """Returns why one folder of the Redis module may not include another one, or None."""
    here, there = (name.split("/")[2:-1] for name in (path, target))
    if not here or here == there:  # the module's own file includes everybody
        return None
    if not there or there[0] not in MODULE_BASE.get(here[0], MODULE_FAMILY):
        return f"modules/redis/{here[0]} may not include this folder"
    return None


def complaint(path, target):
    """Returns why `path` may not include `target` (a path below the root or a system header), or None."""
    layer = layer_of(path)
    if not target.startswith("mankai/"):
        if path.startswith("modules/redis/") and target.startswith("modules/redis/"):
            return module_complaint(path, target)
        folders = (path.split("/")[0], target.split("/")[0])
        if folders[0] == "bench" and target.startswith("lab/traffic/"):
            return None
        if folders == ("apps", "lab"):  # the product does not contain the lab
            return None if path.startswith("apps/mankai-lab/") else "only apps/mankai-lab includes the lab"
        if folders[1] in ("apps", "modules", "lab", "bench") and folders[0] != folders[1]:
            return "nobody includes apps, modules, lab or bench"
        users = MAY_USE.get(target, MAY_USE.get(target.split("/")[0]))
        if layer and users is not None and layer not in users:
            return f"layer {layer} may not use this library"
        return None
    other = layer_of(target)
    if other is None:
        return "a layer may not include the umbrella header" if layer else None
    if layer == other:
        return None
    if "/detail/" in target:
        return "detail/ is private to its layer"
    if layer and layer not in MAY_INCLUDE:
        return f"layer {layer} is not in mankai/layers.txt"
    if layer and other not in MAY_INCLUDE[layer]:
        return f"layer {layer} may not include {other}"
    if path.startswith("bindings/") and other != "c":
        return "bindings include mankai/c/mankai.h only"
    return None


def check_includes(root, paths):
    found = []
    known = set(paths)
    for path in paths:
        if not SOURCE.search(path) or is_test(path):
            continue
        source = tree.text(root, path) or ""
        for match in INCLUDE.finditer(source):
            target = match.group(2)
            line = source.count("\n", 0, match.start(2)) + 1
            if match.group(1) == '"' and not target.startswith("mankai/") and path.startswith("mankai/"):
                beside = str(pathlib.PurePosixPath(path).parent / target)
                if beside in known:
                    found.append(f'{path}:{line}: write "{beside}": includes name the path from the root')
                    continue
            why = complaint(path, target)
            if why:
                found.append(f"{path}:{line}: {target}: {why}")
    return found


def main():
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else tree.ROOT
    paths = tree.files(root)
    found = check_includes(root, paths)
    print("\n".join(found + [f"lint_layers: {len(found)} findings"]))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
