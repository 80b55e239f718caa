"""Finds what can be changed in C++ as clang-format lays it out: one operator, constant or condition at a time.

There is no parser: binary operators stand between spaces and unary ones do not, templates open without a space, and
whatever is read wrongly does not compile and is dropped.
"""

import re

# Binary operators and what takes their place; the first number of PRECEDENCE binds tightest.
OTHER_OPERATOR = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "&&": "||", "||": "&&", "+": "-",
                  "-": "+", "*": "/", "/": "*", "+=": "-=", "-=": "+="}
LEVELS = [["*", "/", "%"], ["+", "-"], ["<<", ">>"], ["<=>"], ["<", "<=", ">", ">="], ["==", "!="], ["&"], ["^"],
          ["|"], ["&&"], ["||"], ["?", ":", "=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="], ["->"]]
PRECEDENCE = {operator: level for level, operators in enumerate(LEVELS) for operator in operators}
ASSIGNMENT = PRECEDENCE["="]
STATEMENT_WORDS = {"return", "else", "case", "throw", "do", "co_return"}

# Lines where a change alters no answer: what is reserved, how often the clock is looked at, declarations.
PASSED_OVER = re.compile(r"^\s*(#|using |static_assert|namespace |template )|InterruptionPoint|\.reserve\(|Polling|kGrain")

SKIPPED_TEXT = re.compile(
    r'(?P<raw>R"(?P<tag>\w*)\(.*?\)(?P=tag)")|(?P<text>"(?:\\.|[^"\\\n])*")|(?P<char>(?<!\w)\'(?:\\.|[^\'\\\n])+\')'
    r"|(?P<comment>//[^\n]*|/\*.*?\*/)", re.DOTALL)


class Change:
    """`span` of a file, and how it reads with the change and without, of the texts of its `parts`."""

    def __init__(self, kind, span, parts, changed, original, place):
        self.kind, self.span, self.parts = kind, span, parts
        self.changed, self.original = changed, original
        self.place = place  # What of the file the change itself is of, for people.


def blanks(text):
    return re.sub(r"[^\n]", " ", text)


def without_comments(text):
    return SKIPPED_TEXT.sub(lambda m: blanks(m.group()) if m.group("comment") else m.group(), text)


def without_texts(text):
    """`text` of the same length, comments blank and strings and characters of underscores."""
    def replaced(match):
        whole = match.group()
        if match.group("comment"):
            return blanks(whole)
        return '"' + re.sub(r"[^\n]", "_", whole[1:-1]) + '"'
    return SKIPPED_TEXT.sub(replaced, text)


def closing(code, start):
    """The position of the bracket that closes the one at `start`; None: there is none."""
    pairs = {"(": ")", "[": "]", "{": "}"}
    expected = []
    for position in range(start, len(code)):
        character = code[position]
        if character in pairs:
            expected.append(pairs[character])
        elif character in ")]}":
            if character != expected.pop():
                return None
            if not expected:
                return position
    return None


def opening(code, end):
    """The position of the bracket that the one at `end` closes; None: there is none."""
    pairs = {")": "(", "]": "[", "}": "{"}
    expected = []
    for position in range(end, -1, -1):
        character = code[position]
        if character in pairs:
            expected.append(pairs[character])
        elif character in "([{":
            if character != expected.pop():
                return None
            if not expected:
                return position
    return None


def angle(code, position, step):
    """The template bracket that matches the one at `position`; None: it is none."""
    depth = 0
    while 0 <= position < len(code) and code[position] not in ";{}":
        if code[position] == "<" and not code[position + 1].isspace():
            depth += 1
        elif code[position] == ">" and code[position - 1] != "-" and not code[position - 1].isspace():
            depth -= 1
        if depth == 0:
            return position
        position += step
    return None


def run_before(code, end):
    start = end
    while start > 0 and not code[start - 1].isspace():
        start -= 1
    return start


def run_after(code, start):
    end = start
    while end < len(code) and not code[end].isspace():
        end += 1
    return end


def atom_before(code, end):
    """Where the operand without spaces outside of brackets begins that ends at `end`."""
    start = end
    while start > 0 and not code[start - 1].isspace():
        character = code[start - 1]
        if character in ")]}":
            found = opening(code, start - 1)
            if found is None:
                return None
            start = found
        elif character == ">" and code[start - 2] == "-":
            start -= 2
        elif character == ">":
            found = angle(code, start - 1, -1)
            if found is None:
                return None
            start = found
        elif character in "([{,;<":
            break
        else:
            start -= 1
    return start


def atom_after(code, start):
    end = start
    while end < len(code) and not code[end].isspace():
        character = code[end]
        if character in "([{":
            found = closing(code, end)
            if found is None:
                return None
            end = found + 1
        elif character == "<":
            found = angle(code, end, 1)
            if found is None:
                return None
            end = found + 1
        elif character == "-" and code[end + 1] == ">":
            end += 2
        elif character in ")]},;>":
            break
        else:
            end += 1
    return end


def begins_with_member(text):
    return text.startswith(".") or text.startswith("->")


def left_operand(code, end, level):
    """Where the left operand begins of an operator of `level` that begins at `end`; None: not understood."""
    position, start, after_operand = end, None, False
    while True:
        while position > 0 and code[position - 1].isspace():
            position -= 1
        word_start = run_before(code, position)
        word = code[word_start:position]
        if word in PRECEDENCE:
            if start is None or PRECEDENCE[word] > level:
                break
            position, after_operand = word_start, False
            continue
        if position == 0 or code[position - 1] in "([{,;<":
            break
        if after_operand and not begins_with_member(code[start:]):
            break
        atom_start = atom_before(code, position)
        if atom_start is None:
            return None
        atom = code[atom_start:position]
        if atom in STATEMENT_WORDS or (atom.endswith(":") and not atom.endswith("::")) or not atom:
            break
        position = start = atom_start
        after_operand = True
    return start


def right_operand(code, start, level):
    """Where the right operand ends of an operator of `level` that ends at `start`; None: not understood."""
    position, end, after_operand = start, None, False
    while True:
        while position < len(code) and code[position].isspace():
            position += 1
        word = code[position:run_after(code, position)]
        if word in PRECEDENCE:
            if PRECEDENCE[word] >= level and level != ASSIGNMENT:
                break
            position, after_operand = position + len(word), False
            continue
        if position == len(code) or code[position] in ")]},;>":
            break
        if after_operand and not begins_with_member(word):
            break
        end = atom_after(code, position)
        if end is None or end == position:
            return None
        position, after_operand = end, True
    return end


def operator_changes(code):
    for match in re.finditer(r"(?<=\s)(<=|>=|==|!=|&&|\|\||\+=|-=|[<>+*/-])(?=\s)", code):
        operator = match.group()
        left = left_operand(code, match.start(), PRECEDENCE[operator])
        right = right_operand(code, match.end(), PRECEDENCE[operator])
        if left is None or right is None:
            continue
        other = OTHER_OPERATOR[operator]
        yield Change(f"{operator} to {other}", (left, right), [(left, match.start()), (match.end(), right)],
                     "{0}" + other + "{1}", "{0}" + operator + "{1}", match.span())


def condition_changes(code):
    for match in re.finditer(r"\bif \(", code):
        start = match.end()
        end = closing(code, start - 1)
        if end is None or re.search(r" = |;", code[start:end]):
            continue
        yield Change("condition turned round", (start, end), [(start, end)], "!({0})", "static_cast<bool>({0})",
                     (match.start(), end + 1))


def call_changes(code):
    for match in re.finditer(r"\bstd::(max|min)\b", code):
        end = atom_after(code, match.end())
        if end is None or end == match.end() or code[end - 1] != ")":
            continue
        other = {"max": "min", "min": "max"}[match.group(1)]
        yield Change(f"{match.group(1)} to {other}", (match.start(), end), [(match.end(), end)],
                     f"std::{other}" + "{0}", match.group() + "{0}", match.span())


def word_changes(code):
    for match in re.finditer(r"\b(true|false)\b", code):
        word, other = match.group(), {"true": "false", "false": "true"}[match.group()]
        yield Change(f"{word} to {other}", match.span(), [], other, word, match.span())
    for match in re.finditer(r"(?<![\w.'])(\d+)(?![\w.'])", code):
        other = str(int(match.group()) + 1)
        yield Change(f"{match.group()} to {other}", match.span(), [], other, match.group(), match.span())


def changes_of(text):
    """All changes of a file, in the order of their places."""
    code = without_texts(text)
    lines = code.split("\n")
    found = []
    for changes in (operator_changes(code), condition_changes(code), call_changes(code), word_changes(code)):
        found += [c for c in changes if not PASSED_OVER.search(lines[code.count("\n", 0, c.place[0])])]
    return sorted(found, key=lambda change: (change.place, change.span))


def crosses(one, other):
    """Neither holds the other, and they overlap; or both are of the same text, of which one switch can be made."""
    (a, b), (c, d) = one.span, other.span
    return one.span == other.span or a < c < b < d or c < a < d < b


def switched(text, numbered):
    """`text` with the changes of `numbered` ({number: change}) behind switches, on the same lines."""
    code = without_comments(text)
    order = sorted(numbered.items(), key=lambda item: (item[1].span[0], -item[1].span[1], item[0]))

    def rendered(start, end, inside):
        pieces, position = [], start
        while inside:
            number, change = inside[0]
            inner = [item for item in inside[1:] if item[1].span[1] <= change.span[1]]
            parts = [rendered(a, b, [i for i in inner if a <= i[1].span[0] and i[1].span[1] <= b])
                     for a, b in change.parts]
            changed = change.changed.format(*(part.replace("\n", " ") for part in parts))
            original = change.original.format(*parts)
            pieces += [code[position:change.span[0]], f"(::planwright_mutants::On({number}) ? {changed} : {original})"]
            position = change.span[1]
            inside = [item for item in inside[1:] if item[1].span[0] >= position]
        return "".join(pieces) + code[position:end]

    body = rendered(0, len(code), order)
    lines = body.split("\n")
    for change in numbered.values():
        # What is known during compilation has no switch.
        line = code.count("\n", 0, change.place[0])
        lines[line] = re.sub(r"\bconstexpr (?=.*=)", "const ", lines[line])
    return '#include "tests/support/mutants.h"\n#line 1\n' + "\n".join(lines)
