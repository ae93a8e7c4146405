"""The pages for people of `mankai guard serve`, in a real browser.

With MANKAI_PAGES=FOLDER in the environment the screenshots are kept there.
"""
import base64
import hashlib
import os
import pathlib
import re
import sys

import serving
from serving import redirect_target

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "browser"))
from browser import Browser  # noqa: E402

BLOCKED = "http://evil.example/" + "a-long-path-without-any-place-to-break-it-" * 4 + "?<b>x</b>=\u00e9"


class Pages(serving.ServeTest):
    @classmethod
    def setUpClass(cls):
        cls.browser = Browser()
        cls.addClassCleanup(cls.browser.close)

    def setUp(self):
        super().setUp()
        self.write("rules.txt", serving.LIST)
        self.run_mankai("guard", "build", "--seed", "1", "list.mkg", "rules.txt")
        self.process = self.serve()

    def url(self, target):
        return f"http://127.0.0.1:{self.process.port}{redirect_target(target)}"

    def keep(self, page, name):
        folder = pathlib.Path(os.environ.get("MANKAI_PAGES", self.dir))
        page.screenshot(folder / name)
        self.assertGreater((folder / name).stat().st_size, 1000)

    def assert_fine(self, page, url):
        # That a page has an error's status is what the console should say; anything else is a fault.
        self.assertEqual([error for error in page.errors if "status of 40" not in error], [])
        self.assertEqual(page.overflow(), [])
        self.assertEqual([asked for asked in page.requests if not asked.startswith("data:")], [url], "loads nothing else")

    def test_a_blocked_link(self):
        for width, dark, name in [(1280, False, "warning.png"), (360, False, "warning-phone.png"), (360, True, "warning-dark.png")]:
            with self.subTest(name):
                page = self.browser.page(width=width, dark=dark)
                page.goto(self.url(BLOCKED))
                self.assert_fine(page, self.url(BLOCKED))
                self.assertEqual(page.text("h1"), "This link is blocked")
                self.assertEqual(page.evaluate("[...document.querySelectorAll('dd')].map(e => e.textContent)"),
                                 [BLOCKED.replace("\u00e9", "%C3%A9"), "evil.example"])
                self.assertIn("1%", page.text())
                self.assertEqual(page.count("a, form, script, b"), 0)
                color = page.evaluate("getComputedStyle(document.body).backgroundColor")
                self.assertEqual(color, "rgb(23, 23, 27)" if dark else "rgb(255, 255, 255)", "the style sheet is in force")
                self.keep(page, name)

    def test_a_link_that_cannot_be_followed(self):
        page = self.browser.page(width=360)
        page.goto(self.url("javascript:alert(1)"))
        self.assert_fine(page, self.url("javascript:alert(1)"))
        self.assertEqual(page.text("h1"), "This link cannot be followed")
        self.assertIn("javascript:alert(1)", page.text("dd"))
        self.keep(page, "refusal-phone.png")

    def test_a_good_link_is_followed(self):
        page = self.browser.page()
        there = f"http://127.0.0.1:{self.process.port}/healthz?from=here"
        page.goto(self.url(there))
        self.assertEqual(page.evaluate("location.href"), there)
        self.assertEqual(page.evaluate("document.referrer"), "")

    def test_the_policy_allows_the_style_sheet_only(self):
        answer = self.ask(self.process, redirect_target("http://evil.example/"))
        style = re.search(r"<style>(.*?)</style>", answer.text, re.DOTALL)[1]
        digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
        self.assertIn(f"style-src 'sha256-{digest}'", answer.headers["content-security-policy"])


if __name__ == "__main__":
    serving.harness.main()
