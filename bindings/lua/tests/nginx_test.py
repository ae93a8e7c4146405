"""What examples/nginx shows: nginx with Lua refuses blocked links, and takes a new list without a restart.

Usage: nginx_test.py LIBRARY
"""
import http.client
import http.server
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests" / "support"))
from library_files import LibraryFiles  # noqa: E402

SKIPPED = 77  # what ctest takes for "skipped"
EXAMPLE = ROOT / "examples" / "nginx"
LIBRARY = pathlib.Path(sys.argv[1])
NGINX = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
LUA = pathlib.Path("/usr/lib/nginx/modules/ngx_http_lua_module.so")
PATIENCE = 60  # seconds; far more than is needed


class Application(http.server.BaseHTTPRequestHandler):
    def do_GET(self):  # noqa: N802: the name that the base class calls
        body = self.path.encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class NginxTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="mankai-nginx-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.folder.chmod(0o755)  # workers may be another user
        self.files = LibraryFiles(str(LIBRARY))
        self.list = self.folder / "blocked.mkg"
        self.files.guard(self.list, ["evil.example"], ["good.evil.example"])
        application = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Application)
        threading.Thread(target=application.serve_forever, daemon=True).start()
        self.addCleanup(application.server_close)
        self.addCleanup(application.shutdown)
        self.application_port = application.server_address[1]

    def configure(self):
        """Writes the example's configuration with this test's paths and ports."""
        text = (EXAMPLE / "nginx.conf").read_text()
        for old, new in (("127.0.0.1:8080", f"127.0.0.1:{self.port}"), ("127.0.0.1:8081", f"127.0.0.1:{self.application_port}"),
                         ("/var/lib/mankai/blocked.mkg", str(self.list)), ("refresh_every(10)", "refresh_every(0.05)"),
                         ("/usr/local/share/mankai/lua", str(ROOT / "bindings" / "lua")), ("/etc/nginx/lua", str(EXAMPLE)),
                         ("/var/log/nginx/error.log", "stderr"), ("/run/nginx.pid", "nginx.pid")):
            self.assertEqual(text.count(old), 1, old)
            text = text.replace(old, new)
        path = self.folder / "nginx.conf"
        path.write_text(text)
        return path

    def start(self):
        self.log = self.folder / "stderr"
        self.port = free_port()
        command = [NGINX, "-p", f"{self.folder}/", "-c", str(self.configure()), "-e", "stderr", "-g", "daemon off;"]
        with self.log.open("w", encoding="utf-8") as log:
            server = subprocess.Popen(command, stderr=log, env={**os.environ, "LD_LIBRARY_PATH": str(LIBRARY.parent)})
        self.addCleanup(server.wait)
        self.addCleanup(server.terminate)
        return server

    def start_and_wait(self):
        for _ in range(5):  # another process may take the port first
            server = self.start()
            self.wait_for(lambda server=server: server.poll() is not None or self.is_listening())
            if server.poll() is None:
                return
        self.fail(self.log.read_text())

    def is_listening(self):
        with socket.socket() as one:
            return one.connect_ex(("127.0.0.1", self.port)) == 0

    def wait_for(self, is_so):
        end = time.monotonic() + PATIENCE
        while not is_so():
            if time.monotonic() > end:
                self.fail(f"not within {PATIENCE} s; nginx says:\n{self.log.read_text()}")
            time.sleep(0.02)

    def get(self, path):
        client = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            client.request("GET", path)
            response = client.getresponse()
            return response.status, response.read().decode()
        finally:
            client.close()

    def go(self, url):
        return self.get("/go?" + urllib.parse.urlencode({"url": url}))[0]

    def test_blocked_links_are_refused(self):
        self.start_and_wait()
        path = "/go?" + urllib.parse.urlencode({"url": "http://fine.example/?a=b&c", "x": "y"})
        self.assertEqual(self.get(path), (200, path))
        self.assertEqual(self.go("http://good.evil.example/"), 200)
        for url in ("http://evil.example/", "https://cdn.EVIL.example/a?b", "evil.example", "http://%65vil.example/"):
            self.assertEqual(self.go(url), 403, url)
        self.assertEqual(self.get("/go?%75rl=http%3a%2f%2fevil.example")[0], 403)
        for path in ("/go", "/go?url", "/go?url=", "/go?url=http://fine.example/&url=http://evil.example/",
                     "/go?" + "a=b&" * 100 + "url=http://evil.example/"):
            self.assertEqual(self.get(path)[0], 400, path)
        self.assertIn("blocked by evil.example", self.log.read_text())

    def test_a_new_list_is_used_without_a_restart(self):
        self.start_and_wait()
        self.assertEqual((self.go("http://evil.example/"), self.go("http://new.example/")), (403, 200))
        self.files.guard(self.list, ["new.example"])
        self.wait_for(lambda: self.log.read_text().count("the list is replaced") == 2)  # a line per worker
        for _ in range(20):
            self.assertEqual((self.go("http://evil.example/"), self.go("http://new.example/")), (200, 403))
        self.list.unlink()
        self.wait_for(lambda: "the old one stays in use" in self.log.read_text())
        self.assertEqual(self.go("http://new.example/"), 403)

    def test_a_missing_list_is_an_error_at_the_start(self):
        self.list.unlink()
        self.assertEqual(self.start().wait(PATIENCE), 1)
        self.assertIn("blocked.mkg", self.log.read_text())


if __name__ == "__main__":
    if NGINX is None or not LUA.exists():
        print("SKIPPED: there is no nginx with Lua. tools/install_dependencies.sh test installs it.", file=sys.stderr)
        sys.exit(SKIPPED)
    unittest.main(argv=sys.argv[:1])
