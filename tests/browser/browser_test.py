#!/usr/bin/env python3
"""The helper that looks at pages finds what is wrong with one, or the tests that use it could not fail."""
import os
import pathlib
import sys
import tempfile
import unittest
from unittest import mock

from browser import Browser, BrowserError, find_browser

HEAD = "<!doctype html><html lang='en'><meta name='viewport' content='width=device-width'><title>A page</title>"
GOOD = HEAD + "<p id='words'>It <b>stands</b>.<p><a href='other.html'>on</a>"
BAD = HEAD + """<style>@media (prefers-color-scheme: dark) { p { color: rgb(1, 2, 3) } }</style>
<p>x<div class='wide' style='width: 2000px'>y</div><img src='missing.png'>
<script>console.error('said so', 1); throw new Error('thrown');</script>"""


class BrowserTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.dir = pathlib.Path(folder.name)
        for name, text in (("good.html", GOOD), ("bad.html", BAD), ("other.html", HEAD + "there")):
            (cls.dir / name).write_text(text)
        cls.browser = Browser()
        cls.addClassCleanup(cls.browser.close)

    def open(self, name, **window):
        page = self.browser.page(**window)
        page.goto((self.dir / name).as_uri())
        return page

    def test_a_good_page_has_no_complaints_at_any_width(self):
        for width in (360, 1280):
            page = self.open("good.html", width=width)
            self.assertEqual(page.errors, [])
            self.assertEqual(page.overflow(), [])
            self.assertEqual(page.evaluate("window.innerWidth"), width)
            self.assertEqual(page.requests, [(self.dir / "good.html").as_uri()])
            self.assertEqual(page.text("#words"), "It stands.")
            self.assertEqual(page.count("p"), 2)

    def test_a_bad_page_is_found_out(self):
        for width in (360, 1280):
            page = self.open("bad.html", width=width)
            said = "\n".join(page.errors)
            for part in ("said so 1", "thrown", "ERR_FILE_NOT_FOUND"):
                self.assertIn(part, said)
            self.assertIn("DIV.wide", page.overflow())
            self.assertIn((self.dir / "missing.png").as_uri(), page.requests)
            page.goto((self.dir / "good.html").as_uri())
            self.assertEqual((page.errors, page.overflow()), ([], []), "a new page begins without them")

    def test_dark_and_light(self):
        for dark, color in ((True, "rgb(1, 2, 3)"), (False, "rgb(0, 0, 0)")):
            page = self.open("bad.html", dark=dark)
            self.assertEqual(page.evaluate("getComputedStyle(document.querySelector('p')).color"), color)

    def test_a_click_waits_for_the_page_behind_it(self):
        page = self.open("good.html")
        page.click("a")
        self.assertEqual(page.text(), "there")

    def test_a_screenshot_shows_the_whole_page(self):
        page = self.open("bad.html", width=1280, height=400)
        page.screenshot(self.dir / "page.png")
        header = (self.dir / "page.png").read_bytes()[:24]
        self.assertEqual(header[:8], b"\x89PNG\r\n\x1a\n")
        self.assertGreaterEqual(int.from_bytes(header[16:20], "big"), 2000)

    def test_errors_are_told(self):
        page = self.open("good.html")
        with self.assertRaisesRegex(BrowserError, "nothing_of_that_name"):
            page.evaluate("nothing_of_that_name()")
        with self.assertRaisesRegex(BrowserError, "ERR_FILE_NOT_FOUND"):
            page.goto((self.dir / "missing.html").as_uri())
        with self.assertRaises(BrowserError):
            page.call("No.suchMethod")

    def test_a_missing_browser_is_named_by_its_package(self):
        with mock.patch.dict(os.environ, {"PATH": str(self.dir)}):
            with self.assertRaisesRegex(BrowserError, "package chromium"):
                find_browser()


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
