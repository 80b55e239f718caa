"""planwright on a terminal: the live line of progress, lines that fit, and ^C.

Usage: terminal_test.py PLANWRIGHT
"""
import fcntl
import os
import pathlib
import pty
import re
import select
import signal
import struct
import sys
import tempfile
import termios
import time
import unittest

PLANWRIGHT = sys.argv[1]
PATIENCE_S = 60
ERASE_LINE = b"\r\x1b[K"
SEARCH = ["--graph=zoo:inception-v3", "--cluster=zoo:pcie:4", "--split=non_contiguous"]


def awaits_interrupts(child):
    """Whether the program takes SIGINT by itself by now."""
    blocked = re.search(r"SigBlk:\s*(\w+)", pathlib.Path(f"/proc/{child}/status").read_text())
    return int(blocked[1], 16) >> (signal.SIGINT - 1) & 1


def run(arguments, interrupt_when=None, columns=None):
    """The exit code and what the terminal shows. `interrupt_when`: of both; ^C as soon as it holds."""
    child, terminal = pty.fork()
    if child == 0:
        os.environ.pop("PLANWRIGHT_SERVER", None)
        if columns is not None:
            fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        os.execv(PLANWRIGHT, [PLANWRIGHT, *arguments])
    shown = b""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        readable, _, _ = select.select([terminal], [], [], 0.1)
        try:
            shown += os.read(terminal, 65536) if readable else b""
        except OSError:
            break
        if interrupt_when is not None and interrupt_when(child, shown):
            os.write(terminal, b"\x03")
            interrupt_when = None
    os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), shown


class TerminalTest(unittest.TestCase):
    def test_comparisons_say_where_they_are(self):
        code, shown = run(["compare", *SEARCH, "--algorithms=auto,greedy", "--time_limit=1500ms"])
        self.assertEqual(code, 0, shown)
        self.assertIn(b"1 of 2, auto: ", shown)
        self.assertIn(b"incumbent", shown)
        self.assertIn(ERASE_LINE, shown)

    def test_lines_fit_80_columns(self):
        problem = ["--graph=zoo:bert-large", "--cluster=zoo:pcie:4"]
        with tempfile.TemporaryDirectory() as folder:
            plan = f"{folder}/plan.json"
            for arguments in (["plan", *problem, f"--save={plan}"], ["simulate", *problem, f"--plan={plan}"],
                              ["compare", *problem, "--algorithms=auto,greedy,latency_annealing", "--time_limit=1s"],
                              ["topologies", "--show=dgx1-mesh:2"], ["models"], ["plan", *problem, "--schedule=nothing"]):
                _, shown = run(arguments, columns=80)
                # What is rewritten is cut one column earlier.
                for line in re.split(rb"\r\n|\r\x1b\[K", shown):
                    self.assertLessEqual(len(line.decode()), 80, (arguments, line))

    def test_an_interrupt_prints_the_best_plan(self):
        code, shown = run(["plan", *SEARCH, "--time_limit=50s"], lambda child, text: b"incumbent" in text)
        self.assertEqual(code, 130, shown)
        self.assertIn(b"interrupted: this is the best plan so far", shown)

    def test_an_interrupt_ends_the_wait_for_standard_input(self):
        code, shown = run(["plan", "--graph=-", "--cluster=zoo:pcie:2"], lambda child, text: awaits_interrupts(child))
        self.assertEqual(code, 130, shown)
        self.assertIn(b"error: interrupted", shown)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
