"""How deploy/run-tidy.py puts sources together, and what it takes for a finding."""

import importlib.util
import pathlib
import unittest

PATH = pathlib.Path(__file__).resolve().parents[2] / "deploy" / "run-tidy.py"
SPEC = importlib.util.spec_from_file_location("run_tidy", PATH)
run_tidy = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(run_tidy)


class NamesTest(unittest.TestCase):
    def test_are_those_of_unnamed_namespaces_and_tests(self):
        text = ("namespace a {\nnamespace {\n\nconstexpr int kMost = 3;\nclass Row {\n  int inner = 0;\n};\n"
                "std::vector<int> RowsOf(const Row& row) {\n  return {};\n}\nusing testing::Eq;\nusing Rows = int;\n\n"
                "TEST(RowTest, IsEmpty) {\n}\n\n}  // namespace\n\nint Known(int x) { return x; }\n\n}  // namespace a\n")
        self.assertEqual(run_tidy.names_of_unnamed(text), {"kMost", "Row", "RowsOf", "Rows", "RowTest, IsEmpty"})


class FlagsTest(unittest.TestCase):
    def test_are_those_that_say_how_sources_are_read(self):
        command = "/usr/bin/c++ -DX=1 -I/a -isystem /b -O3 -Wall -Werror -std=c++20 -o x.o -c x.cc"
        self.assertEqual(run_tidy.flags_of(command), ("-DX=1", "-I/a", "-isystem", "/b", "-std=c++20"))


class FindingsTest(unittest.TestCase):
    def test_hold_what_stands_below_them(self):
        output = ("/a/b.cc:3:5: error: no [misc-x,-warnings-as-errors]\n    3 | code\n/a/b.cc:4:5: note: because\n"
                  "/a/c.h:1:1: warning: no [misc-y]\n")
        found = run_tidy.findings_in(output)
        self.assertEqual([line.split(":")[0] for line in found], ["/a/b.cc", "/a/c.h"])
        self.assertIn("because", next(iter(found.values())))


if __name__ == "__main__":
    unittest.main()
