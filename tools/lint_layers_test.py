#!/usr/bin/env python3
"""Shows that lint_layers can fail, and where it must not."""
import pathlib
import tempfile
import unittest

import lint_layers


class Layers(unittest.TestCase):
    def findings(self, path, source, *others):
        with tempfile.TemporaryDirectory() as root:
            paths = [path, *others]
            for name in paths:
                pathlib.Path(root, name).parent.mkdir(parents=True, exist_ok=True)
                pathlib.Path(root, name).write_text(source if name == path else "")
            return lint_layers.check_includes(root, paths)

    def assert_fails(self, path, source, why, *others):
        found = self.findings(path, source, *others)
        self.assertEqual(len(found), 1, found)
        self.assertIn(why, found[0])

    def assert_passes(self, path, source):
        self.assertEqual(self.findings(path, source), [])

    def test_the_table_has_no_cycle(self):
        left = dict(lint_layers.MAY_INCLUDE)
        while left:
            bottom = [layer for layer, below in left.items() if not below & set(left)]
            self.assertTrue(bottom, f"a cycle among {sorted(left)}")
            for layer in bottom:
                del left[layer]

    def test_downward_and_own_includes_pass(self):
        self.assert_passes("mankai/filter/a.hpp", '#include "mankai/base/bits.hpp"\n#include "mankai/kernel/k.hpp"\n')
        self.assert_passes("mankai/kernel/a.cpp", '#include "mankai/kernel/detail/k.hpp"\n#include "mankai/hash/p.hpp"\n')

    def test_upward_include_fails_with_its_line(self):
        self.assert_fails("mankai/base/a.hpp", '#pragma once\n#include "mankai/filter/f.hpp"\n',
                          "mankai/base/a.hpp:2: mankai/filter/f.hpp: layer base may not include filter")

    def test_filters_know_no_files(self):
        self.assert_fails("mankai/filter/a.cpp", '#include "mankai/file/file.hpp"\n', "may not include file")
        self.assert_fails("mankai/file/a.cpp", "#include <mankai/filter/f.hpp>\n", "may not include filter")

    def test_another_layers_detail_fails(self):
        self.assert_fails("mankai/filter/a.hpp", '#include "mankai/kernel/detail/k.hpp"\n', "private")
        self.assert_fails("apps/mankai/add.cpp", '#include "mankai/filter/detail/k.hpp"\n', "private")

    def test_tests_may_include_anything(self):
        self.assert_passes("mankai/base/a_test.cpp", '#include "mankai/seen/detail/x.hpp"\n')
        self.assert_passes("fuzz/image_fuzz.cpp", '#include "mankai/filter/detail/x.hpp"\n')

    def test_nobody_includes_an_app(self):
        self.assert_fails("mankai/seen/a.cpp", '#include "apps/mankai/args.hpp"\n', "nobody includes")
        self.assert_fails("bench/a.cpp", '#include "apps/mankai/args.hpp"\n', "nobody includes")
        self.assert_passes("apps/mankai/a.cpp", '#include "apps/mankai/args.hpp"\n')

    def test_only_the_lab_program_includes_the_lab(self):
        self.assert_passes("apps/mankai-lab/a.cpp", '#include "lab/lab.hpp"\n')
        self.assert_fails("apps/mankai/a.cpp", '#include "lab/lab.hpp"\n', "lab")
        self.assert_fails("bench/a.cpp", '#include "lab/lab.hpp"\n', "lab")
        self.assert_passes("bench/a.cpp", '#include "lab/traffic/url_generator.hpp"\n')
        self.assert_fails("apps/mankai/a.cpp", '#include "lab/traffic/url_generator.hpp"\n', "lab")
        self.assert_fails("mankai/input/a.cpp", '#include "lab/traffic/url_generator.hpp"\n', "lab")
        self.assert_fails("mankai/seen/a.cpp", '#include "lab/lab.hpp"\n', "lab")

    def test_families_of_the_redis_module_know_not_each_other(self):
        self.assert_passes("modules/redis/hot/a.cpp", '#include "modules/redis/image/x.hpp"\n')
        self.assert_passes("modules/redis/module.cpp", '#include "modules/redis/hot/x.hpp"\n')
        self.assert_fails("modules/redis/hot/a.cpp", '#include "modules/redis/bloom/x.hpp"\n', "may not include")
        self.assert_fails("modules/redis/engine/a.cpp", '#include "modules/redis/image/x.hpp"\n', "may not include")

    def test_a_layer_within_a_layer_has_its_own_edges(self):
        self.assert_passes("mankai/gate/database/a.cpp", '#include "mankai/gate/gate.hpp"\n#include <sqlite3.h>\n')
        self.assert_fails("mankai/gate/a.cpp", '#include "mankai/gate/database/a.hpp"\n', "may not include")
        self.assert_fails("mankai/gate/a.cpp", "#include <sqlite3.h>\n", "may not use")

    def test_heavy_headers_stay_out_of_the_library(self):
        self.assert_fails("mankai/store/a.cpp", "#include <CLI/CLI.hpp>\n", "may not use")
        self.assert_fails("mankai/filter/a.cpp", "#include <hwy/highway.h>\n", "may not use")
        self.assert_passes("mankai/kernel/a.cpp", "#include <hwy/highway.h>\n")

    def test_includes_name_the_path_from_the_root(self):
        self.assert_fails("mankai/base/a.cpp", '#include "bits.hpp"\n', "from the root", "mankai/base/bits.hpp")


if __name__ == "__main__":
    unittest.main()
