"""planwright top before a real planwrightd that knows its callers, in a pipe and on a terminal: top_test.py PLANWRIGHT
PLANWRIGHTD."""
import fcntl
import hashlib
import json
import os
import pathlib
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unittest

sys.path.append(str(pathlib.Path(__file__).parent.parent / "webhook/integration"))
from hook import PATIENCE_SECONDS, Process  # noqa: E402  (of another folder)

PROGRAM, DAEMON = sys.argv[1:3]
ROLES = {"root": "admin", "team-a": "planner", "team-b": "planner"}
HOME = b"\x1b[H"
LONG = ["--graph=zoo:inception-v3", "--cluster=zoo:pcie:4", "--split=non_contiguous", "--time_limit=50s"]


class Terminal:
    """A program on a pseudo-terminal of 80 columns."""

    def __init__(self, arguments, rows, environment):
        self.child, self.file = pty.fork()
        if self.child == 0:
            fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", rows, 80, 0, 0))
            os.execve(PROGRAM, [PROGRAM, *arguments], environment)
        self.shown = b""

    def resize(self, rows, columns):
        fcntl.ioctl(self.file, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def screen(self, number=-2):
        """One of the screens that are complete, as lines."""
        text = self.shown.split(HOME)[number].decode()
        return [line.removesuffix("\x1b[K") for line in text.replace("\x1b[J", "").split("\r\n")][:-1]

    def read_until(self, condition):
        end = time.monotonic() + PATIENCE_SECONDS
        while not condition():
            if time.monotonic() > end:
                raise AssertionError(self.shown)
            if select.select([self.file], [], [], 0.1)[0]:
                self.shown += os.read(self.file, 65536)

    def read_screens(self, count=2):
        """Until so many more are complete."""
        wanted = self.shown.count(HOME) + count + 1
        self.read_until(lambda: self.shown.count(HOME) >= wanted)

    def interrupt(self):
        """The exit code after ^C."""
        os.write(self.file, b"\x03")
        code = os.waitstatus_to_exitcode(os.waitpid(self.child, 0)[1])
        os.close(self.file)
        return code


class TopTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        (self.folder / "auth.json").write_text(json.dumps({"tokens": [
            {"name": name, "sha256": hashlib.sha256(name.encode()).hexdigest(), "tenant": name, "role": role}
            for name, role in ROLES.items()]}))

    def start(self, *flags):
        daemon = Process("serving grpc", DAEMON, "--listen_address=127.0.0.1:0", "--metrics_address=127.0.0.1:0",
                         f"--auth_config={self.folder / 'auth.json'}", "--drain_timeout=1ms", "--max_running=1", *flags)
        self.addCleanup(daemon.end)
        self.server = f"--server={daemon.addresses['serving grpc']}"
        self.metrics = f"--metrics_address={daemon.addresses['serving http']}"
        return daemon

    def environment(self, token):
        return {**os.environ, "PLANWRIGHT_TOKEN": token, "HOME": str(self.folder)}

    def run_program(self, *arguments, token="root"):
        return subprocess.run([PROGRAM, *arguments, self.server], capture_output=True, text=True,
                              env=self.environment(token), timeout=PATIENCE_SECONDS)

    def search(self, token, *flags):
        """A long search in the background."""
        search = subprocess.Popen([PROGRAM, "plan", *LONG, *flags, self.server], env=self.environment(token),
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(search.wait)
        self.addCleanup(search.terminate)

    def load(self):
        return json.loads(self.run_program("top", self.metrics, "--output=json").stdout)

    def load_once(self, condition):
        end = time.monotonic() + PATIENCE_SECONDS
        while not condition(load := self.load()):
            self.assertLess(time.monotonic(), end, load)
        return load

    def test_it_says_who_plans_what_and_what_the_queue_and_the_cache_hold(self):
        self.start(f"--store=sqlite:{self.folder / 'store.db'}")
        for _ in range(2):
            self.assertEqual(self.run_program("plan", "--graph=zoo:bert-base", "--cluster=zoo:pcie:2", token="team-a").returncode, 0)
        self.search("team-a")
        self.search("team-a", "--seed=2")
        self.search("team-b", "--seed=3")
        submitted = self.run_program("submit", *LONG, "--seed=4", "--request_id=nightly", token="team-b")
        self.assertEqual(submitted.returncode, 0, submitted.stderr)
        load = self.load_once(lambda load: load["queue"]["waiting"] >= 1 and load["operations"]
                              and {call["tenant"] for call in load["calls"]} == {"team-a", "team-b"})
        tenants = {tenant["name"]: tenant for tenant in load["tenants"]}
        self.assertEqual(tenants["team-a"]["running_calls"] + tenants["team-a"]["waiting_calls"], 2)
        self.assertGreaterEqual(tenants["team-a"]["calls"], 2)
        self.assertGreater(tenants["team-a"]["search_seconds"], 0)
        self.assertEqual((load["cache"]["hits"], load["total_calls"]), (1, 3))
        self.assertEqual({call["method"] for call in load["calls"]}, {"StreamPlan"})
        self.assertEqual([one["operation"]["metadata"]["request_id"] for one in load["operations"]], ["nightly"])
        text = self.run_program("top", self.metrics).stdout
        for word in ("queue  ", "answered 1 of ", "team-a", "team-b", "nightly", "StreamPlan"):
            self.assertIn(word, text)
        self.assertIn("waiting:", self.run_program("top", self.metrics, "--output=yaml").stdout)

    def test_a_server_may_store_nothing_and_serve_no_metrics(self):
        self.start("--store=none")
        shown = self.run_program("top")
        self.assertEqual(shown.returncode, 0, shown.stderr)
        self.assertRegex(shown.stdout, "queue and cache are not known: .*:9464")
        wrong = self.run_program("top", "--metrics_address=127.0.0.1:1")
        self.assertEqual(wrong.returncode, 4)
        self.assertIn("http://127.0.0.1:1/metrics", wrong.stderr)

    def test_only_administrators_see_it(self):
        self.start("--store=none")
        for token in ("team-a", "nobody"):
            shown = self.run_program("top", self.metrics, token=token)
            self.assertEqual((shown.returncode, shown.stdout), (4, ""))

    def test_on_a_terminal_it_looks_again_until_an_interrupt(self):
        daemon = self.start("--store=none")
        top = Terminal(["top", self.server, self.metrics, "--interval=100ms"], 40, self.environment("root"))
        top.read_screens()
        self.assertIn("There are no calls.", top.screen())
        self.search("team-a")
        # A call is listed a moment before it counts among those of its tenant that run.
        top.read_until(lambda: any("StreamPlan" in line for line in top.screen())
                       and any(re.search("team-a +1 ", line) for line in top.screen()))
        top.resize(6, 60)
        top.read_screens()
        self.assertEqual(len(top.screen()), 5)
        self.assertLessEqual(max(map(len, top.screen())), 60)
        # A server that is gone may come back: what was seen last stays.
        daemon.process.send_signal(signal.SIGKILL)
        top.read_until(lambda: "no answer" in top.screen()[0])
        self.assertIn("queue", top.screen()[2])
        self.assertEqual(top.interrupt(), 0)

    def test_a_server_that_says_nothing_does_not_hold_an_interrupt_up(self):
        daemon = self.start("--store=none")
        top = Terminal(["top", self.server, self.metrics, "--interval=100ms"], 40, self.environment("root"))
        top.read_screens()
        daemon.process.send_signal(signal.SIGSTOP)
        time.sleep(0.5)
        begin = time.monotonic()
        self.assertEqual(top.interrupt(), 0)
        self.assertLess(time.monotonic() - begin, 8)
        daemon.process.send_signal(signal.SIGCONT)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
