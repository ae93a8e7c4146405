"""A headless Chromium for tests of pages, driven from Python's standard library alone.

    with Browser() as browser:
        page = browser.page(width=360, dark=True)
        page.goto("file:///…/index.html")
        assert page.errors == [] and not page.overflow()
        page.screenshot("page.png")

The DevTools protocol goes through two pipes (--remote-debugging-pipe): messages of JSON that end with a NUL byte. There
is no port that another process could find, and no driver beside the browser. https://chromedevtools.github.io/devtools-protocol/
"""
import base64
import fcntl
import json
import os
import pathlib
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

PATIENCE = 150  # seconds for any answer: more than a busy machine needs
NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-dev-shm-usage", "--no-first-run",
         "--no-default-browser-check", "--disable-background-networking", "--disable-component-update",
         "--disable-default-apps", "--disable-extensions", "--disable-sync", "--mute-audio", "--hide-scrollbars",
         "--force-color-profile=srgb", "--remote-debugging-pipe")
# The browser takes the pipes as its descriptors 3 and 4, whatever numbers they have here.
TRAMPOLINE = ("import os, sys; os.dup2(int(sys.argv[1]), 3); os.dup2(int(sys.argv[2]), 4); "
              "os.execv(sys.argv[3], sys.argv[3:])")


class BrowserError(Exception):
    """The browser is missing, has gone, does not answer, or refuses a command."""


def find_browser():
    """Returns the browser's path."""
    for name in NAMES:
        if path := shutil.which(name):
            return path
    raise BrowserError("no browser: install Debian's package chromium (tools/install_dependencies.sh test)")


def _high_pipe():
    """A pipe whose descriptors are not among those that the trampoline writes to."""
    ends = []
    for end in os.pipe():
        ends.append(fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10))
        os.close(end)
    return ends


class Browser:
    """A browser with a profile of its own, which is gone afterwards."""

    def __init__(self):
        self._profile = tempfile.TemporaryDirectory(prefix="mankai-browser-", ignore_cleanup_errors=True)
        commands_in, self._commands = _high_pipe()
        self._answers, answers_out = _high_pipe()
        self._log = open(pathlib.Path(self._profile.name) / "stderr", "wb+")
        self._process = subprocess.Popen(
            [sys.executable, "-c", TRAMPOLINE, str(commands_in), str(answers_out), find_browser(), *FLAGS,
             f"--user-data-dir={self._profile.name}/profile", "about:blank"],
            pass_fds=(commands_in, answers_out), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self._log,
            start_new_session=True)
        os.close(commands_in)
        os.close(answers_out)
        self._next_id = 0
        self._pages = {}
        self._bytes = b""
        self._answered = {}

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.close()

    def page(self, width=1280, height=800, dark=False):
        """Opens an empty page; below 600 pixels it says that it is a phone, with two pixels to each one."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = self._pages[session] = Page(self, session)
        for domain in ("Page", "Runtime", "Log", "Network"):
            page.call(f"{domain}.enable")
        is_phone = width < 600
        page.call("Emulation.setDeviceMetricsOverride", width=width, height=height, screenWidth=width,
                  screenHeight=height, mobile=is_phone, deviceScaleFactor=2 if is_phone else 1)
        page.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        return page

    def call(self, method, session=None, patience=PATIENCE, **parameters):
        """Sends a command and returns its result."""
        self._next_id += 1
        number = self._next_id
        message = {"id": number, "method": method, "params": parameters} | ({"sessionId": session} if session else {})
        data = json.dumps(message).encode() + b"\0"
        try:
            while data:
                data = data[os.write(self._commands, data):]
        except BrokenPipeError:
            raise BrowserError(f"the browser has gone before {method}: {self._last_words()}") from None
        self.wait(lambda: number in self._answered, method, patience)
        answer = self._answered.pop(number)
        if "error" in answer:
            raise BrowserError(f"{method}: {answer['error'].get('message')}")
        return answer["result"]

    def wait(self, is_done, what, patience=PATIENCE):
        """Takes messages until `is_done` says so."""
        deadline = time.monotonic() + patience
        while not is_done():
            ready, _, _ = select.select([self._answers], [], [], max(0, deadline - time.monotonic()))
            if not ready:
                raise BrowserError(f"no answer within {patience} s: {what}: {self._last_words()}")
            data = os.read(self._answers, 1 << 16)
            if not data:
                raise BrowserError(f"the browser has gone during {what}: {self._last_words()}")
            *messages, self._bytes = (self._bytes + data).split(b"\0")
            for message in messages:
                self._take(json.loads(message))

    def _take(self, message):
        if "id" in message:
            self._answered[message["id"]] = message
        elif page := self._pages.get(message.get("sessionId")):
            page.take(message["method"], message["params"])

    def _last_words(self):
        self._log.seek(0)
        return self._log.read().decode(errors="replace")[-2000:]

    def close(self):
        """Ends the browser and what it started; may be called twice."""
        if self._process.poll() is None:
            try:
                self.call("Browser.close")
                self._process.wait(timeout=10)
            except (BrowserError, subprocess.TimeoutExpired):
                pass
        try:
            os.killpg(self._process.pid, signal.SIGKILL)  # its own group: only what it started
        except ProcessLookupError:
            pass
        self._process.wait()
        if not self._log.closed:
            self._log.close()
            os.close(self._commands)
            os.close(self._answers)
        self._profile.cleanup()


class Page:
    """A tab. `errors` has what its console complained of, `requests` every URL that it asked for, since the last goto."""

    def __init__(self, browser, session):
        self._browser = browser
        self._session = session
        self._loads = 0
        self.errors = []
        self.requests = []

    def call(self, method, **parameters):
        return self._browser.call(method, session=self._session, **parameters)

    def take(self, method, parameters):
        if method == "Page.loadEventFired":
            self._loads += 1
        elif method == "Runtime.exceptionThrown":
            details = parameters["exceptionDetails"]
            self.errors.append(details.get("exception", {}).get("description") or details["text"])
        elif method == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "assert", "warning"):
            self.errors.append(" ".join(str(part.get("value", part.get("description"))) for part in parameters["args"]))
        elif method == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
            self.errors.append(parameters["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])

    def goto(self, url):
        """Loads a page and waits until all of it is there. A page that answers with an error status is there, too."""
        self.errors.clear()
        self.requests.clear()
        loads = self._loads
        failed = self.call("Page.navigate", url=url).get("errorText")
        if failed:
            raise BrowserError(f"{url}: {failed}")
        self._browser.wait(lambda: self._loads > loads, f"loading {url}")

    def click(self, selector):
        """Clicks on the element, which must lead to another page, and waits for that."""
        loads = self._loads
        self.evaluate(f"document.querySelector({json.dumps(selector)}).click()")
        self._browser.wait(lambda: self._loads > loads, f"a page behind {selector}")

    def evaluate(self, expression):
        """Returns the value of JavaScript, as far as JSON can say it."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise BrowserError(f"{expression}: {details.get('exception', {}).get('description') or details['text']}")
        return answer["result"].get("value")

    def text(self, selector="body"):
        """Returns what a reader sees of an element."""
        return self.evaluate(f"document.querySelector({json.dumps(selector)}).innerText")

    def count(self, selector):
        return self.evaluate(f"document.querySelectorAll({json.dumps(selector)}).length")

    def overflow(self):
        """Returns the elements that make the page wider than its window; none if it does not scroll sideways."""
        return self.evaluate("""(() => {
          const root = document.documentElement, width = root.clientWidth;
          if (root.scrollWidth <= width && window.innerWidth <= screen.width) return [];
          const wide = [...document.querySelectorAll('body *')].filter(e => e.getBoundingClientRect().right > width + 1);
          return wide.length ? wide.map(e => e.tagName + '.' + (e.getAttribute('class') || '')) : ['the page'];
        })()""")

    def screenshot(self, path):
        """Writes the whole page, from its top to its end, as a PNG."""
        for patience in (20, 40, PATIENCE):
            try:
                answer = self.call("Page.captureScreenshot", patience=patience, format="png", captureBeyondViewport=True)
                break
            except BrowserError:  # Chromium may wait for a frame that never comes
                if patience == PATIENCE:
                    raise
        pathlib.Path(path).write_bytes(base64.b64decode(answer["data"]))
