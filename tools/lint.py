#!/usr/bin/env python3
"""Small checks of the tree that no compiler makes: citations, dead files, TODOs, paths, doc comments, links, words.

Usage: tools/lint.py [--only CHECK] [ROOT]

Each check is a function (root, paths) -> findings, one line each; CHECKS at the end lists them.
"""
import argparse
import fnmatch
import os.path
import pathlib
import re
import sys

import tree

CODE = re.compile(r"\.(hpp|cpp|h|c|inc)$")
# Inputs of tests are data: they may look like anything.
DATA = re.compile(r"(^|/)(corpus|golden|vectors|data)/|\.(json|tsv|txt|bin)$")


def numbered(root, path):
    return enumerate((tree.text(root, path) or "").split("\n"), start=1)


def check_citations(root, paths):
    """A [Key2020] in a comment must resolve in docs/references.md."""
    references = (tree.text(root, "docs/references.md") or "") if "docs/references.md" in paths else ""
    known = set(re.findall(r"\[([A-Z]\w*\d{4}[a-z]?)\]", references))
    found = []
    for path in paths:
        if not CODE.search(path):
            continue
        for line, text in numbered(root, path):
            if "//" in text:
                for key in re.findall(r"\[([A-Z][A-Za-z]+\d{4}[a-z]?)\]", text.split("//", maxsplit=1)[1]):
                    if key not in known:
                        found.append(f"{path}:{line}: [{key}] is not in docs/references.md")
    return found


def globs_of(build):
    """What file(GLOB ...) and mankai_layer(...) of a CMakeLists.txt take, tests aside."""
    globs = [word for call in re.findall(r"file\(GLOB([^)]*)\)", build) for word in call.split() if "*" in word]
    return globs + (["*.cpp", "*/*.cpp"] if "mankai_layer(" in build else [])


def check_dead_files(root, paths):
    """Every source is named by a CMakeLists.txt above it or included by another file."""
    sources = [path for path in paths if re.search(r"\.(hpp|cpp|c)$", path)]
    included = set()
    for path in sources + [path for path in paths if path.endswith((".cpp.in", ".hpp.in"))]:
        included |= {name for name in re.findall(r'#\s*include\s+["<]([^">]+)[">]', tree.text(root, path) or "")
                     if name != path}
    builds = {os.path.dirname(path): tree.text(root, path) for path in paths
              if os.path.basename(path) == "CMakeLists.txt"}
    found = []
    for path in sources:
        if path in included:
            continue
        named = False
        for folder in pathlib.PurePosixPath(path).parents:
            here = "" if str(folder) == "." else str(folder)
            relative = os.path.relpath(path, here or ".")
            named = named or re.search(rf"(?<![\w/.-]){re.escape(relative)}(?![\w.])", builds.get(here, "")) is not None
            is_test = re.search(r"_test(_support)?\.cpp$", path)
            named = named or any(fnmatch.fnmatch(relative, glob) and not (is_test and glob[-9:] != "_test.cpp")
                                 for glob in globs_of(builds.get(here, "")))
        # mankai_test(NAME ...) may build the file's name; a word of the stem is enough within its own folder.
        stem = pathlib.PurePosixPath(path).stem
        nearest = builds.get(os.path.dirname(path), "")
        if not named and not re.search(rf"\b{re.escape(stem)}\b", nearest):
            found.append(f"{path}: no CMakeLists.txt names it and no file includes it")
    return found


def check_todo(root, paths):
    """A TODO carries an issue number, as TODO(#12), or does not exist."""
    found = []
    for path in paths:
        if DATA.search(path) or path.endswith(".md") or path.startswith("tools/lint"):
            continue
        for line, text in numbered(root, path):
            if re.search(r"\b(TODO|FIXME|HACK)\b(?!\(#\d+\))", text):
                found.append(f"{path}:{line}: a TODO needs an issue number: TODO(#12)")
    return found


def check_machine_paths(root, paths):
    """No path of the machine that somebody happened to work on."""
    found = []
    for path in paths:
        if DATA.search(path):
            continue
        for line, text in numbered(root, path):
            match = re.search(r"(?<![\w.}-])/(?:work|home|root)/[\w.-]*", text)
            if match:
                found.append(f"{path}:{line}: machine path {match.group(0)}")
    return found


def check_prefetches(root, paths):
    """Prefetches go through prefetch_line of base/bits.hpp, whose calls no compiler takes for dead code."""
    return [f"{path}:{line}: __builtin_prefetch instead of prefetch_line" for path in paths
            if CODE.search(path) and path != "mankai/base/bits.hpp"
            for line, text in numbered(root, path) if "__builtin_prefetch" in text]


def blank_literals(source):
    """Blanks comments other than `///`, strings and characters, keeping every line in its place."""
    def blank(match):
        token = match.group(0)
        if token.startswith("///"):
            return "///"
        return re.sub(r"[^\n]", " ", token) if token.startswith("/") else '""' + "\n" * token.count("\n")

    return re.sub(r'//[^\n]*|/\*.*?\*/|R"\(.*?\)"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])+\'',
                  blank, source, flags=re.DOTALL)


def declarations(source):
    """Yields (line, text, previous line) of the declarations at namespace level; bodies appear as `{...}`."""
    lines = blank_literals(source).split("\n")
    depth = 0  # of braces that are not a namespace's
    start, text, parentheses, continued = None, "", 0, False
    for number, line in enumerate(lines, start=1):
        stripped = line.strip()
        if continued or (start is None and stripped.startswith("#")):
            continued = stripped.endswith("\\")
            continue
        if start is None and depth == 0:
            if not stripped or stripped.startswith("///"):
                continue
            if re.match(r'(inline )?namespace\b[^;{]*\{$|extern "" \{$|\}$', stripped):
                continue
            start, text = number, ""
        for character in stripped.split("///", maxsplit=1)[0]:
            opened = character == "{"
            if opened:
                depth += 1
            if depth == 0 or opened and depth == 1:
                text += character
            elif depth == 1 and character in ";":
                text += character  # one mark for each statement of the body
            if character == "}":
                depth -= 1
                if depth == 0:
                    text += "}"
            parentheses += (character == "(") - (character == ")")
        text += " "
        ended = stripped.endswith((";", "}")) or re.search(r"}\s*(requires|;)?$", stripped)
        if start is not None and depth == 0 and parentheses == 0 and ended:
            yield start, text, lines[start - 2].strip() if start > 1 else ""
            start, text = None, ""


def needs_comment(text):
    """Tells whether a declaration must carry a `///`: types, concepts, and functions of more than one statement."""
    words = re.sub(r"\[\[[^\]]*\]\]|alignas\([^)]*\)", "", text).strip()
    words = re.sub(r"^template\s*<.*?>\s*(?=(class|struct|union|enum|concept|inline|constexpr|requires|\w+[\s&*<]))", "",
                   words)
    if re.match(r"(using|static_assert|typedef|friend|template|extern|MANKAI_|HWY_|\}|namespace)", words):
        return False
    if re.match(r"(class|struct|union|enum|concept)\b", words):
        return "{" in words or words.startswith("concept")
    if "(" not in words or re.match(r"[^({]*=[^=]", words):
        return False
    body = re.search(r"\{([^}]*)\}", words)
    return not (body and body.group(1).count(";") <= 1)


def check_doc_comments(root, paths):
    """Public declarations say what they promise; a function of one statement says it itself."""
    found = []
    for path in paths:
        if not re.match(r"mankai/.*\.hpp$", path) or "/detail/" in path or re.search(r"(_test\w*|-inl)\.hpp$", path):
            continue
        for line, text, previous in declarations(tree.text(root, path) or ""):
            # A function right below another one belongs to the group that the comment above it explains.
            grouped = previous.endswith((";", "}")) and "(" in text and not re.search(r"\bconcept\b", text)
            if needs_comment(text) and not previous.startswith("///") and not grouped:
                found.append(f"{path}:{line}: no /// comment: {' '.join(text.split('{')[0].split())[:70]}")
    return found


def check_links(root, paths):
    """Relative links of Markdown pages lead somewhere."""
    found = []
    for path in paths:
        if not path.endswith(".md"):
            continue
        page = re.sub(r"```.*?```", lambda m: "\n" * m.group(0).count("\n"), tree.text(root, path) or "", flags=re.DOTALL)
        for line, text in enumerate(page.split("\n"), start=1):
            for target in re.findall(r"\]\(([^)\s#]+)(?:#[^)]*)?\)", re.sub(r"`[^`]*`", "", text)):
                if re.match(r"[a-z]+:", target):
                    continue
                if not pathlib.Path(root, os.path.dirname(path), target).exists():
                    found.append(f"{path}:{line}: link to {target}, which does not exist")
    return found


# What people read says it in the words of the field: (pattern, what to say instead).
WORDS = [(re.compile(pattern, re.IGNORECASE), say) for pattern, say in [
    (r"\bstrangers?\b|\bstrange (?:keys?|items?|ones?)\b", "absent key"),
    (r"\bunless given\b", "[default: X]"),
    (r"\bthat (is|are) none\b", "invalid, or no match"),
    (r"\bend of the (process|machine)\b|\b(process|machine)'s end\b", "process crash; power loss"),
    (r"\b(bits?|bytes?|ns|digits|probes|cells|counters|lines?|looks?|objects?|records|requests|slots) an? "
     r"(key|rule|line|epoch|second|hour|request|record|slice|slot|step)\b(?! (ago|later|before))", "per"),
    (r"\btak(e|es|en|ing)( \w+){0,3} for (known|seen|members?|a member|repeats|a repeat)\b", "false positive"),
    (r"\b(go|goes|went|going|gone) on (where|from|behind)\b", "continue"),
    (r"\blately\b", "decayed, or recently"),
    (r"\bexcludes? each other\b", "cannot be combined"),
    (r"\bplays? no part\b", "has no effect with"),
    (r"\bof the future\b", "in the future"),
    (r"\bbegins? anew\b", "restarts"),
    (r"\btold (the time|times)\b|\btime is told\b", "the caller passes the time"),
    (r"\bstands? at\b", "is at"),
    (r"\bor is none\b", "or is invalid"),
    (r"\bwrongly yes\b|\bshare of wrong answers\b", "false positive"),
]]
# Tables of the words themselves.
WORD_LISTS = {"tools/lint.py", "tools/lint_test.py"}
PROSE = re.compile(r"\.(md|py|sh|cmake|hpp|cpp|h|c)$|(^|/)(CMakeLists\.txt|Makefile)$")


def read_by_people(path, text):
    """The prose, comments and strings of a file, each on its line."""
    if path.endswith(".md"):
        return text
    mark = "//" if CODE.search(path) else "#"
    parts = re.compile(rf'{mark}[^\n]*|"""(?:.|\n)*?"""|"(?:\\.|[^"\\\n])*"|\n')
    # A string without a space is a name.
    return "".join(part for part in parts.findall(text) if part == "\n" or " " in part)


def check_words(root, paths):
    """Pages, comments and messages say it in the words of the field."""
    found = []
    for path in paths:
        if DATA.search(path) or path in WORD_LISTS or not PROSE.search(path):
            continue
        for line, text in enumerate(read_by_people(path, tree.text(root, path) or "").split("\n"), start=1):
            for pattern, say in WORDS:
                match = pattern.search(text)
                if match:
                    found.append(f"{path}:{line}: \"{match.group(0)}\": say \"{say}\"")
    return found


CHECKS = {
    "citations": check_citations,
    "dead-files": check_dead_files,
    "todo": check_todo,
    "machine-paths": check_machine_paths,
    "prefetches": check_prefetches,
    "doc-comments": check_doc_comments,
    "links": check_links,
    "words": check_words,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--only", choices=CHECKS)
    parser.add_argument("root", nargs="?", type=pathlib.Path, default=tree.ROOT)
    arguments = parser.parse_args()
    paths = tree.files(arguments.root)
    found = []
    for name, check in CHECKS.items():
        if arguments.only in (None, name):
            found += [f"{finding} [{name}]" for finding in check(arguments.root, paths)]
    print("\n".join(found + [f"lint: {len(found)} findings"]))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
