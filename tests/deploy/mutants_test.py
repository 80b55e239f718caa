"""What deploy/check-mutants.sh finds to change in sources, and how it writes the changes behind switches."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "deploy" / "mutants"))
from changes import changes_of, crosses, switched  # pylint: disable=wrong-import-position


def spans(text, kind):
    """What of `text` the changes of that kind would take the place of."""
    return [text[slice(*change.span)] for change in changes_of(text) if change.kind == kind]


def changed(text, kind):
    """`text` with the first change of that kind, as number 7."""
    change = next(change for change in changes_of(text) if change.kind == kind)
    return switched(text, {7: change}).split("#line 1\n")[1]


class Operands(unittest.TestCase):
    def test_end_at_operators_that_bind_less(self):
        text = "  return a + b * c < d && e;\n"
        self.assertEqual(spans(text, "< to <="), ["a + b * c < d"])
        self.assertEqual(spans(text, "+ to -"), ["a + b * c"])
        self.assertEqual(spans(text, "* to /"), ["b * c"])
        self.assertEqual(spans(text, "&& to ||"), ["a + b * c < d && e"])

    def test_operators_of_one_level_bind_from_the_left(self):
        self.assertEqual(spans("  x = a - b - c;\n", "- to +"), ["a - b", "a - b - c"])

    def test_end_at_brackets_commas_and_statements(self):
        self.assertEqual(spans("  Call(x, a[i] + b.c(d, e), y);\n", "+ to -"), ["a[i] + b.c(d, e)"])
        self.assertEqual(spans("  if (ready) x += y;\n", "+= to -="), ["x += y"])
        self.assertEqual(spans("  for (int i = 0; i < Size(a); ++i) {\n", "< to <="), ["i < Size(a)"])
        self.assertEqual(spans("  const int x = c ? a + b : d;\n", "+ to -"), ["a + b"])

    def test_hold_templates_and_members_on_the_next_line(self):
        self.assertEqual(spans("  return static_cast<std::pair<int, int>>(a) == b;\n", "== to !="),
                         ["static_cast<std::pair<int, int>>(a) == b"])
        self.assertEqual(spans("  return x &&\n         list\n             ->front();\n", "&& to ||"),
                         ["x &&\n         list\n             ->front()"])

    def test_what_is_no_operator_is_left_alone(self):
        for text in ["  std::map<int, int> x(*p, -q, &r);\n", '  Say("a < b");  // a < b\n', "  auto&& x = y;\n",
                     "#if A < B\n", "static_assert(sizeof(a) < sizeof(b));\n", "template <int A = 1>\n"]:
            self.assertFalse([c.kind for c in changes_of(text) if c.kind not in ("0 to 1", "1 to 2")], text)


class Switches(unittest.TestCase):
    def test_keep_what_was_there_in_their_second_half(self):
        self.assertEqual(changed("  x = a < b;\n", "< to <="),
                         "  x = (::planwright_mutants::On(7) ? a <= b : a < b);\n")
        self.assertEqual(changed("  if (a(b)) c();\n", "condition turned round"),
                         "  if ((::planwright_mutants::On(7) ? !(a(b)) : static_cast<bool>(a(b)))) c();\n")
        self.assertEqual(changed("  x = std::max(a, b);\n", "max to min"),
                         "  x = (::planwright_mutants::On(7) ? std::min(a, b) : std::max(a, b));\n")
        self.assertEqual(changed("  x = true;\n", "true to false"),
                         "  x = (::planwright_mutants::On(7) ? false : true);\n")

    def test_stand_within_each_other(self):
        text = "  x = a + 1 < b;\n"
        written = switched(text, dict(enumerate(changes_of(text))))
        self.assertEqual(written.count("On(0)"), 2)  # The sum, in both halves of the comparison.
        self.assertEqual(written.count("("), written.count(")"))

    def test_leave_lines_where_they_are(self):
        text = "  x = a +  // sum\n      b;\n  y = 1;\n"
        lines = switched(text, dict(enumerate(changes_of(text)))).split("#line 1\n")[1].split("\n")
        self.assertEqual(len(lines), len(text.split("\n")))
        self.assertIn("y = ", lines[2])

    def test_make_constants_of_their_lines_values_of_the_run(self):
        self.assertEqual(changed("constexpr int kMost = 7;\n", "7 to 8"),
                         "const int kMost = (::planwright_mutants::On(7) ? 8 : 7);\n")


class Crossing(unittest.TestCase):
    def test_texts_that_hold_each_other_do_not_cross(self):
        changes = changes_of("  x = a + b * c < d && (e || f);\n")
        self.assertFalse(any(crosses(one, other) for one in changes for other in changes if one is not other))

    def test_of_two_changes_of_one_text_one_is_made(self):
        turned, compared = (next(change for change in changes_of("  if (a != b) return;\n") if word in change.kind)
                            for word in ("turned round", "!="))
        self.assertEqual(turned.span, compared.span)
        self.assertTrue(crosses(turned, compared))


if __name__ == "__main__":
    unittest.main()
