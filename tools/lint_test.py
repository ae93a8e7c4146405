#!/usr/bin/env python3
"""Shows that each check of lint can fail, and where it must not."""
import pathlib
import tempfile
import unittest

import lint

HOME = "/ho" + "me/"  # so that this file passes its own check


class Lint(unittest.TestCase):
    def findings(self, check, files):
        with tempfile.TemporaryDirectory() as root:
            for path, text in files.items():
                pathlib.Path(root, path).parent.mkdir(parents=True, exist_ok=True)
                pathlib.Path(root, path).write_text(text)
            return lint.CHECKS[check](root, sorted(files))

    def test_citations_resolve(self):
        source = {"mankai/a.hpp": "// as in [Bloom1970], a[Index2] is none\nint x = a[Kk2000];\n"}
        self.assertEqual(len(self.findings("citations", source)), 1)
        source["docs/references.md"] = "- **[Bloom1970]** B. Bloom\n"
        self.assertEqual(self.findings("citations", source), [])

    def test_a_source_that_nobody_builds_is_dead(self):
        tree = {"CMakeLists.txt": "add_subdirectory(x)\n", "x/CMakeLists.txt": "add_library(x a.cpp)\n",
                "x/a.cpp": '#include "x/a.hpp"\n', "x/a.hpp": "", "x/b.cpp": "", "x/c.hpp": '#include "x/c.hpp"\n',
                "y/CMakeLists.txt": "mankai_layer(y)\nmankai_test(y_test SOURCES a_test.cpp)\n",
                "y/a.cpp": "", "y/a_test.cpp": "", "y/b_test.cpp": ""}
        found = self.findings("dead-files", tree)
        self.assertEqual([line.split(":")[0] for line in found], ["x/b.cpp", "x/c.hpp", "y/b_test.cpp"])

    def test_todo_needs_an_issue(self):
        word = "TO" + "DO"
        found = self.findings("todo", {"a.cpp": f"// {word}: later\n// {word}(#12): known\n"})
        self.assertEqual(len(found), 1)
        self.assertTrue(found[0].startswith("a.cpp:1:"))

    def test_machine_paths_are_found_and_urls_are_not(self):
        found = self.findings("machine-paths", {"a.md": f"see {HOME}ann/x\nhttps://example.com{HOME}x\n"})
        self.assertEqual(found, [f"a.md:1: machine path {HOME}ann"])

    def test_prefetches_go_through_one_function(self):
        prefetch = "__builtin" + "_prefetch(x);\n"
        found = self.findings("prefetches", {"mankai/base/bits.hpp": prefetch, "a.cpp": "\n" + prefetch})
        self.assertEqual([line.split(" ")[0] for line in found], ["a.cpp:2:"])

    def test_public_declarations_are_documented(self):
        header = """#pragma once
#define X(a) \\
  (a)
namespace mankai {
struct Bare { int x; };
struct Forward;
/// Documented; the second overload belongs to it.
int twice(int x);
int twice(long x);

template <class T>
[[nodiscard]] constexpr T identity(T x) noexcept {
  return x;
}

template <class T>
  requires(sizeof(T) == 8)
T two_steps(T x) {
  T y = x;  // { unbalanced in a comment
  return y;
}

int undocumented(int a,
                 int b);
concept Odd = true;
inline constexpr int kX = f(3);
}  // namespace mankai
"""
        found = self.findings("doc-comments", {"mankai/x/a.hpp": header})
        self.assertEqual([line.split(":")[1] for line in found], ["5", "16", "23", "25"])
        self.assertEqual(self.findings("doc-comments", {"mankai/x/detail/a.hpp": header}), [])

    def test_links_lead_somewhere(self):
        found = self.findings("links", {"docs/a.md": "[b](b.md#x) [c](https://x.y/z)\n`[d](e)`\n[f](../f.md)\n", "f.md": ""})
        self.assertEqual(found, ["docs/a.md:1: link to b.md, which does not exist"])

    def test_words_of_prose_comments_and_messages(self):
        files = {"a.md": "per key\n10 bits a key\n", "a.py": "# a stranger\n",
                 "a.cpp": 'int strangers;  // fine\n// 0.01 unless\n// given\nfail("of the future");\n',
                 "tests/golden/a.txt": "a stranger\n"}
        found = self.findings("words", files)
        self.assertEqual([line.split(": ")[0] for line in found], ["a.cpp:4", "a.md:2", "a.py:1"])


if __name__ == "__main__":
    unittest.main()
