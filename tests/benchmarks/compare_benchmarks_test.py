#!/usr/bin/env python3
"""deploy/compare-benchmarks.py on outputs written by hand. Run in the root of the repository."""

import pathlib
import subprocess
import tempfile
import unittest

HEAD = """| workload | objective ms | bound ms | gap | solve CPU ms | process CPU ms |
| --- | ---: | ---: | ---: | ---: | ---: |
"""


def output(*rows):
    lines = [f"| {name} | {objective} | {bound} | 0 % | {cpu} | 20.0 |\n" for name, objective, bound, cpu in rows]
    return "Some words.\n\n" + HEAD + "".join(lines) + "\nMore words.\n"


def compare(before, after, *flags):
    with tempfile.TemporaryDirectory() as folder:
        paths = [pathlib.Path(folder) / name for name in ("before", "after")]
        for path, text in zip(paths, (before, after)):
            path.write_text(text, encoding="utf-8")
        command = ["/usr/bin/python3", "deploy/compare-benchmarks.py", *map(str, paths), *flags]
        return subprocess.run(command, capture_output=True, text=True, check=False)


class CompareBenchmarksTest(unittest.TestCase):
    def test_equal_outputs_are_fine(self):
        text = output(("a", 10, 10, 5))
        done = compare(text, text)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("1.00", done.stdout)

    def test_worse_plans_weaker_bounds_and_slower_searches_are_named(self):
        done = compare(output(("a", 10, 9, 50)), output(("a", 11, 8, 60)))
        self.assertEqual(done.returncode, 1)
        self.assertIn("worse plan, weaker bound, slower", done.stdout)

    def test_small_differences_of_time_are_noise(self):
        self.assertEqual(compare(output(("a", 1, 1, 0.2)), output(("a", 1, 1, 0.9))).returncode, 0)
        self.assertEqual(compare(output(("a", 1, 1, 50)), output(("a", 1, 1, 60)), "--tolerance=0.3").returncode, 0)

    def test_rows_without_figures_and_missing_workloads_are_left_out(self):
        done = compare(output(("a", 1, 1, 1), ("gone", 1, 1, 1)), output(("a", 1, 1, 1), ("new", "-", "-", "-")))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("only before: gone", done.stdout)
        self.assertNotIn("new", done.stdout)

    def test_files_without_the_table_are_refused(self):
        done = compare("nothing\n", output(("a", 1, 1, 1)))
        self.assertEqual(done.returncode, 2)
        self.assertIn("no table with the columns", done.stderr)


if __name__ == "__main__":
    unittest.main()
