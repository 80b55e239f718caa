#!/usr/bin/python3
"""Changes the sources of a tree by one operator, constant or condition at a time and runs the tests on each.

What is changed is drawn with a seed. A change that does not compile does not count; one that makes a test fail or hang
is noticed. Each line of the output is a change; the ones that nobody noticed stand again at the end. Exit code 1 where
there are any. Usually run by deploy/check-mutants.sh.
"""

import argparse
import os
import pathlib
import random
import re
import subprocess
import sys

FOLDERS = ["core/cost", "core/verify", "core/model", "server/codec"]

PROPERTIES = ["property_costing_test", "property_answers_test", "property_periodic_test", "property_modes_test",
              "property_planner_test"]

# The tests of each folder, cheapest first. The longest folder that fits counts.
TESTS = {
    "core/model": ["model_test", "core_verify_test", "cost_test", "planner_test", "codec_test"] + PROPERTIES,
    "core/cost": ["cost_test", "core_verify_test", "planner_test"] + PROPERTIES,
    "core/verify": ["core_verify_test", "cost_test", "planner_test"] + PROPERTIES,
    "core/verify/joint": ["verify_joint_test", "joint_operators_test", "joint_place_test", "joint_request_test"],
    "core/joint": ["joint_cost_test", "joint_operators_test", "joint_place_test", "joint_baselines_test",
                   "verify_joint_test", "joint_calibration_test", "joint_request_test", "joint_search_test"],
    "core": ["plan_digests_test", "graph_test", "schedule_test", "simulate_test", "search_test", "mapping_test",
             "sequence_test", "enumeration_test", "contiguous_test", "noncontiguous_test", "latency_test",
             "parmesan_test", "periodic_test", "mip_test", "planner_test"] + PROPERTIES,
    "server/codec": ["codec_test", "contract_test", "fuzz_request", "fuzz_given_plan", "engine_test", "service_test"],
    "server": ["serving_test", "engine_test", "service_test", "integration_test"],
    "client": ["client_cli_test", "client_report_test", "client_exporter_test", "client_importer_test",
               "client_page_test", "client_integration_test"],
}

# What a program without arguments would not do.
ARGUMENTS = {"fuzz_request": ["tests/fuzz/corpus/request"], "fuzz_given_plan": ["tests/fuzz/corpus/given_plan"]}

SECONDS_PER_TEST = 300

# Pairs of what is looked for and what takes its place. Spaces on both sides tell operators from templates, references
# and signs.
CHANGES = [(r" < ", " <= "), (r" <= ", " < "), (r" > ", " >= "), (r" >= ", " > "), (r" == ", " != "),
           (r" != ", " == "), (r" && ", " || "), (r" \|\| ", " && "), (r" \+ ", " - "), (r" - ", " + "),
           (r" \* ", " / "), (r" / ", " * "), (r" \+= ", " -= "), (r" -= ", " += "), (r"std::max\b", "std::min"),
           (r"std::min\b", "std::max"), (r"\btrue\b", "false"), (r"\bfalse\b", "true"), (r"\bif \(", "if (!"),
           (r"(?<![\w.'])(\d+)(?![\w.'])", None)]

# Lines where a change alters no answer: what is reserved, how often the clock is looked at, texts, includes.
PASSED_OVER = re.compile(r"^\s*(#|//|\*|using |static_assert|namespace )|InterruptionPoint|\.reserve\(|Polling|kGrain")


class Change:
    """One place of one file with what takes its place."""

    def __init__(self, path, line, start, end, text):
        self.path, self.line, self.start, self.end, self.text = path, line, start, end, text

    def applied_to(self, lines):
        changed = list(lines)
        old = changed[self.line]
        changed[self.line] = old[:self.start] + self.text + old[self.end:]
        return changed


def without_texts(line):
    """`line` with strings, characters and comments blanked, of the same length."""
    line = re.sub(r'"(\\.|[^"\\])*"', lambda m: '"' + "_" * (len(m.group()) - 2) + '"', line)
    line = re.sub(r"'(\\.|[^'\\])'", lambda m: "'" + "_" * (len(m.group()) - 2) + "'", line)
    comment = line.find("//")
    return line if comment < 0 else line[:comment]


def closing(code, start):
    """The position of the bracket that closes the one before `start`; -1: not on this line."""
    depth = 1
    for position in range(start, len(code)):
        depth += {"(": 1, ")": -1}.get(code[position], 0)
        if depth == 0:
            return position
    return -1


def changes_of(path, lines):
    found = []
    for number, line in enumerate(lines):
        if PASSED_OVER.search(line):
            continue
        code = without_texts(line)
        for pattern, text in CHANGES:
            for match in re.finditer(pattern, code):
                if text is None:
                    found.append(Change(path, number, match.start(1), match.end(1), str(int(match.group(1)) + 1)))
                elif text == "if (!":
                    end = closing(code, match.end())
                    if end < 0:
                        continue
                    condition = line[match.end():end]
                    if " = " in code[match.end():end] or ";" in code[match.end():end]:
                        continue
                    found.append(Change(path, number, match.start(), end, f"if (!({condition})"))
                else:
                    found.append(Change(path, number, match.start(), match.end(), text))
    return found


def tests_of(path):
    fitting = [folder for folder in TESTS if path.startswith(folder + "/")]
    return TESTS[max(fitting, key=len)]


def builds(build, target):
    command = ["cmake", "--build", build, "--parallel", str(os.cpu_count()), "--target", target]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def passes(tree, build, test):
    program = [str(pathlib.Path(build, "bin", test).resolve())] + ARGUMENTS.get(test, [])
    try:
        return subprocess.run(program, cwd=tree, capture_output=True, timeout=SECONDS_PER_TEST,
                              check=False).returncode == 0
    except subprocess.TimeoutExpired:
        return False


def judge(tree, build, change):
    """The test that noticed; "" where none did; None where the change does not compile."""
    for test in tests_of(change.path):
        if not builds(build, test):
            return None
        if not passes(tree, build, test):
            return test
    return ""


def check_unchanged(tree, build, tests):
    for test in tests:
        if not builds(build, test) or not passes(tree, build, test):
            sys.exit(f"{test} fails without any change")


def sources_below(tree, folder):
    return sorted(str(path.relative_to(tree)) for path in pathlib.Path(tree, folder).rglob("*.cc"))


def drawn(tree, folders, seed):
    """All changes, in the order in which they are tried."""
    paths = sorted({path for folder in folders for path in sources_below(tree, folder)})
    changes = []
    for path in paths:
        changes += changes_of(path, pathlib.Path(tree, path).read_text().split("\n"))
    random.Random(seed).shuffle(changes)
    return changes


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tree", default=".")
    parser.add_argument("--build", default="build/release")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("folders", nargs="*", default=FOLDERS)
    arguments = parser.parse_args()
    changes = drawn(arguments.tree, arguments.folders or FOLDERS, arguments.seed)
    check_unchanged(arguments.tree, arguments.build, sorted({t for c in changes for t in tests_of(c.path)}))
    tried, missed = 0, []
    for change in changes:
        if tried == arguments.count:
            break
        file = pathlib.Path(arguments.tree, change.path)
        original = file.read_text()
        lines = original.split("\n")
        changed = change.applied_to(lines)
        file.write_text("\n".join(changed))
        try:
            test = judge(arguments.tree, arguments.build, change)
        finally:
            file.write_text(original)
        if test is None:
            continue
        tried += 1
        row = f"{change.path}:{change.line + 1}: {lines[change.line].strip()}  ->  {changed[change.line].strip()}"
        print(f"{tried} {test or 'NOT NOTICED'} {row}", flush=True)
        if not test:
            missed.append(row)
    print(f"{tried - len(missed)} of {tried} changes noticed; not noticed:", *missed, sep="\n")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
