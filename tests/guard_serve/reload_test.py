"""`mankai guard serve` gets another file while many ask: no answer is lost."""
import os
import signal
import time

import serving
from serving import Load, check_target

OLD = b"old.example\n"
NEW = b"new.example\n"
NEW_TARGET = check_target("http://new.example/")


class Reload(serving.ServeTest):
    def setUp(self):
        super().setUp()
        self.build(rules=OLD)

    def answer(self, process, url="http://new.example/"):
        return self.ask(process, check_target(url)).json()["answer"]

    def reloads(self, process, result="good"):
        return self.metrics(process)[f'mankai_guard_reloads_total{{result="{result}"}}']

    def test_under_load(self):
        process = self.serve("--no-watch")
        load = Load(process.port, NEW_TARGET)
        load.wait_for(50)
        for i in range(1, 5):
            self.build(rules=NEW if i % 2 else OLD)
            os.kill(process.pid, signal.SIGHUP)
            self.wait_for(lambda: self.reloads(process) == i, "a reload")
            self.assertEqual(self.answer(process), "blocked" if i % 2 else "ok")
            load.wait_for(50)
        load.end()
        self.assertEqual(load.failures, [])
        url = b'{"url":"http://new.example/","answer":'
        self.assertEqual(set(load.answers), {(200, url + b'"ok"}\n'), (200, url + b'"blocked","rule":"new.example"}\n')})

    def test_a_replaced_file_is_noticed(self):
        process = self.serve()
        self.assertEqual(self.answer(process), "ok")
        self.build(rules=NEW)
        self.wait_for(lambda: self.answer(process) == "blocked", "the new file")
        self.run_mankai("guard", "add", "list.mkg", "old.example")
        self.wait_for(lambda: self.answer(process, "http://old.example/") == "blocked", "the added rule")
        self.assertEqual(self.reloads(process, "failed"), 0)
        self.assertIn("list.mkg: loaded again", self.stop(process))

    def test_an_update_is_noticed(self):
        self.write("a.txt", OLD)
        self.write("sources.toml", b'exact = true\n[[list]]\nname = "a"\npath = "a.txt"\n')
        update = ("guard", "update", "list.mkg", "--from", "sources.toml")
        self.run_mankai(*update, "--force")
        process = self.serve()
        self.assertEqual(self.answer(process), "ok")
        self.write("a.txt", NEW)
        self.run_mankai(*update)
        self.wait_for(lambda: self.answer(process) == "blocked", "the new list")

    def test_no_watch(self):
        process = self.serve("--no-watch")
        self.build(rules=NEW)
        time.sleep(1.5)  # longer than between two looks
        self.assertEqual(self.answer(process), "ok")

    def test_a_broken_file_is_not_taken(self):
        process = self.serve("--no-watch")
        good = self.read("list.mkg")
        for i, bad in enumerate([b"", b"nothing", good[:-1], good[:100] + b"\xff" + good[101:], None], 1):
            (self.dir / "list.mkg").unlink()
            if bad is not None:
                self.write("list.mkg", bad)
            os.kill(process.pid, signal.SIGHUP)
            self.wait_for(lambda: self.reloads(process, "failed") == i, "a failed reload")
            self.assertEqual(self.answer(process, "http://old.example/"), "blocked")
        self.build(rules=NEW)
        os.kill(process.pid, signal.SIGHUP)
        self.wait_for(lambda: self.answer(process) == "blocked", "the repaired file")
        said = self.stop(process).splitlines()
        self.assertEqual(len([line for line in said if "list.mkg" in line and "still serving" in line]), 5, said)

    def test_a_broken_file_is_told_of_once(self):
        process = self.serve()
        os.rename(self.write("bad.mkg", b"nothing"), self.dir / "list.mkg")  # at once: an empty file would be another failure
        self.wait_for(lambda: self.reloads(process, "failed") == 1, "a failed reload")
        time.sleep(1.5)  # longer than between two looks
        self.assertEqual(self.reloads(process, "failed"), 1)

    def test_a_missing_file_is_told_of_once(self):
        process = self.serve()
        os.rename(self.dir / "list.mkg", self.dir / "away.mkg")
        self.wait_for(lambda: self.reloads(process, "failed") == 1, "a failed reload")
        time.sleep(2.5)  # longer than two looks take
        self.assertEqual(self.reloads(process, "failed"), 1)
        self.assertEqual(self.answer(process, "http://old.example/"), "blocked")
        os.rename(self.dir / "away.mkg", self.dir / "list.mkg")
        self.wait_for(lambda: self.reloads(process) == 1, "the file that is back")
        self.assertRegex(self.stop(process), r"^mankai: list.mkg: [^\n]*still serving the previous file\nmankai: list.mkg: loaded again\n$")

    def test_a_file_written_over_in_place(self):
        self.build("other.mkg", b"".join(b"host%d.example\n" % i for i in range(20000)) + NEW)
        process = self.serve()
        load = Load(process.port, NEW_TARGET, 2)
        with open(self.dir / "list.mkg", "r+b") as file:  # as cp does, and worse
            file.truncate(0)
            load.wait_for(20)
            data = self.read("other.mkg")
            file.write(data[:1000])
            file.flush()
            load.wait_for(20)
            file.write(data[1000:])
        self.wait_for(lambda: self.answer(process) == "blocked", "the whole file")
        load.end()
        self.assertEqual(load.failures, [])


if __name__ == "__main__":
    serving.harness.main()
