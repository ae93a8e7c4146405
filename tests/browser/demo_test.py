#!/usr/bin/env python3
"""The page of `mankai demo` in a real browser. Usage: demo_test.py MANKAI SCREENSHOT_FOLDER [unittest arguments...]"""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

from browser import Browser

MANKAI = pathlib.Path(sys.argv[1]).resolve()
SCREENSHOTS = pathlib.Path(sys.argv[2]).resolve()
SECTIONS = {"seen": "Have I seen it?", "hot": "What is hot right now?", "guard": "Is it blocked?",
            "gate": "Is there anything to fetch?"}
PLOTS = ("plot-fading", "plot-hot")
WIDTHS = (360, 768, 1280)
# The ratio of the Web Content Accessibility Guidelines between a text and what is behind it, of every text there is.
WORST_CONTRAST = """(() => {
  const parse = c => c.match(/[\\d.]+/g).map(Number);
  const light = c => { const [r, g, b] = c.slice(0, 3).map(v => (v /= 255) <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4);
    return .2126 * r + .7152 * g + .0722 * b; };
  const behind = e => { for (; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor);
    if (c.length < 4 || c[3] > 0) return c; } return [255, 255, 255]; };
  let worst = [99, ''];
  for (const e of document.querySelectorAll('body *')) {
    if (![...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim()) || !e.getClientRects().length) continue;
    const style = getComputedStyle(e), ink = parse(e instanceof SVGElement ? style.fill : style.color);
    const [a, b] = [light(ink), light(behind(e))].sort((x, y) => y - x), ratio = (a + .05) / (b + .05);
    if (ratio < worst[0]) worst = [ratio, e.tagName + ': ' + e.textContent.slice(0, 40)];
  }
  return worst;
})()"""
SMALLEST_PLOT_TEXT = """Math.min(...[...document.querySelectorAll('.plot text')].filter(e => e.getClientRects().length)
  .map(e => e.getBoundingClientRect().height))"""
TEXT_OUTSIDE_PLOT = """[...document.querySelectorAll('.plot text')].filter(e => {
  if (!e.getClientRects().length) return false;
  const t = e.getBoundingClientRect(), p = e.ownerSVGElement.getBoundingClientRect();
  return t.left < p.left - .5 || t.right > p.right + .5 || t.top < p.top - .5 || t.bottom > p.bottom + .5;
}).map(e => e.textContent)"""


class DemoPage(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.path = pathlib.Path(folder.name) / "out" / "index.html"
        done = subprocess.run([MANKAI, "demo", "--events", "40k", "--json", "--out", cls.path.parent], check=True,
                              capture_output=True, timeout=100)
        cls.report = json.loads(done.stdout)
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        cls.browser = Browser()
        cls.addClassCleanup(cls.browser.close)
        cls.windows = {}

    @classmethod
    def open(cls, width=1280, dark=False):
        """The page in a window, which is loaded once for all tests."""
        if (width, dark) not in cls.windows:
            page = cls.windows[width, dark] = cls.browser.page(width=width, dark=dark)
            page.goto(cls.path.as_uri())
        return cls.windows[width, dark]

    def test_loads_nothing_and_complains_of_nothing_at_any_width(self):
        for width in WIDTHS:
            for dark in (False, True):
                with self.subTest(width=width, dark=dark):
                    page = self.open(width=width, dark=dark)
                    self.assertEqual(page.errors, [])
                    self.assertEqual([url for url in page.requests if not url.startswith("data:")],
                                     [self.path.as_uri()])
                    self.assertEqual(page.overflow(), [])
                    if not dark or width == WIDTHS[-1]:
                        page.screenshot(SCREENSHOTS / f"demo-{width}-{'dark' if dark else 'light'}.png")

    def test_the_four_questions_and_their_plots_are_there(self):
        for width in WIDTHS:
            with self.subTest(width=width):
                page = self.open(width=width)
                self.assertIn("Mankai", page.evaluate("document.title"))
                self.assertEqual(page.evaluate("document.documentElement.lang"), "en")
                for name, heading in SECTIONS.items():
                    self.assertEqual(page.text(f"#{name} h2"), heading)
                for plot in PLOTS:
                    shown = page.evaluate(f"""[...document.querySelectorAll('#{plot} svg.plot')]
                        .filter(e => e.getClientRects().length).map(e => [e.getAttribute('role'),
                        e.getAttribute('aria-labelledby').split(' ').every(i => document.getElementById(i).textContent),
                        e.querySelectorAll('polyline, circle').length > 1])""")
                    self.assertEqual(shown, [["img", True, True]], plot)

    def test_the_table_says_what_the_command_says(self):
        for width in WIDTHS:
            page = self.open(width=width)
            rows = page.evaluate("""[...document.querySelectorAll('tbody tr')].map(r => [...r.querySelectorAll('td')]
                .map(c => c.innerText))""")
            self.assertEqual(len(rows), len(self.report["questions"]))
            for row, question in zip(rows, self.report["questions"]):
                for cell, key in zip(row, ("asked", "answered_yes", "really_yes", "false_negatives", "false_positives")):
                    self.assertIn(f"{question[key]:,}", cell, question["question"])

    def test_text_can_be_read(self):
        for width in (360, 1280):
            for dark in (False, True):
                with self.subTest(width=width, dark=dark):
                    page = self.open(width=width, dark=dark)
                    ratio, where = page.evaluate(WORST_CONTRAST)
                    self.assertGreaterEqual(ratio, 4.5, where)
                    self.assertGreaterEqual(page.evaluate(SMALLEST_PLOT_TEXT), 12)
                    self.assertEqual(page.evaluate(TEXT_OUTSIDE_PLOT), [])

    def test_ids_are_unique_and_links_lead_somewhere(self):
        page = self.open()
        self.assertEqual(page.evaluate("""(() => { const ids = [...document.querySelectorAll('[id]')].map(e => e.id);
            return ids.filter((id, i) => ids.indexOf(id) !== i); })()"""), [])
        self.assertEqual(page.evaluate("""[...document.querySelectorAll('a, use')].map(e => e.getAttribute('href'))
            .filter(h => !h.startsWith('#') || !document.getElementById(h.slice(1)))"""), [])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
