#!/usr/bin/python3
"""Changes one operator, constant or condition of a tree's sources at a time and says which changes no test noticed.

All changes are compiled at once, each behind a switch that the environment turns (tests/support/mutants.h);
one that does not compile does not count. The tests run once without any change on, which records which case reaches
which change and how long it takes; then, for each change, only the cases that reach it, cheapest first, until one fails
or takes several times as long as it should. Each line of the output is a change; the ones that nobody noticed stand
again at the end. Exit code 1 where there are any. Usually run by deploy/check-mutants.sh, on a tree that may be changed.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent / "mutants"
sys.path.insert(0, str(HERE))
from changes import changes_of, crosses, switched  # pylint: disable=wrong-import-position

FOLDERS = ["core/cost", "core/verify", "core/model", "server/codec"]

PROPERTIES = ["property_costing_test", "property_answers_test", "property_periodic_test", "property_modes_test",
              "property_planner_test"]
PLANNER = ["planner_test", "plan_digests_test"]
CORE = ["core_verify_test", "cost_test", "codec_test", "engine_test"] + PLANNER + PROPERTIES

# The programs that are asked of a change, by its folder or file; the longest that fits counts.
PROGRAMS = {
    "core/model": ["model_test", "graph_test", "simulate_test", "search_test"] + CORE,
    "core/model/joint_validator.cc": ["model_test", "joint_request_test", "joint_search_test", "codec_test"],
    "core/cost": ["schedule_test", "simulate_test"] + CORE,
    "core/verify": CORE,
    "core/verify/joint": ["verify_joint_test", "joint_operators_test", "joint_place_test", "joint_request_test"],
    "core/joint": ["joint_cost_test", "joint_step_test", "joint_slots_test", "joint_waits_test", "joint_operators_test",
                   "joint_roundrobin_test", "joint_place_test", "joint_baselines_test", "verify_joint_test",
                   "joint_calibration_test", "joint_request_test", "joint_search_test"],
    "core/mapping": ["mapping_test", "mapping_baselines_test"] + PLANNER + PROPERTIES,
    "core/partition": ["search_test", "sequence_test", "enumeration_test", "contiguous_test", "noncontiguous_test",
                       "latency_test", "parmesan_test", "periodic_test", "mip_test", "reference_test"] + PLANNER + PROPERTIES,
    "core": ["graph_test", "schedule_test", "simulate_test", "search_test", "mapping_test", "sequence_test",
             "enumeration_test", "contiguous_test", "noncontiguous_test", "latency_test", "parmesan_test",
             "periodic_test", "mip_test"] + CORE,
    "server/codec": ["codec_test", "contract_test", "fuzz_request", "fuzz_given_plan", "engine_test", "service_test",
                     "integration_test"],
    "server": ["codec_test", "connections_test", "observability_test", "engine_test", "serving_test", "service_test",
               "store_test", "daemon_test", "pages_unit_test", "integration_test"],
    "client": ["client_cli_test", "client_exporter_test", "client_importer_test", "client_input_report_test",
               "client_library_test", "client_onnx_test", "client_page_test", "client_report_test",
               "client_review_test", "client_timeline_report_test", "client_integration_test"],
}

# What a program without arguments would not do.
ARGUMENTS = {"fuzz_request": ["tests/fuzz/corpus/request"], "fuzz_given_plan": ["tests/fuzz/corpus/given_plan"]}

# Cases of at most so many milliseconds are asked in all programs before longer ones are in any.
TIERS = [100, 1000, float("inf")]


class Mutant:
    """One change of one file."""

    def __init__(self, path, text, change):
        self.path, self.change = path, change
        start, end = change.place
        self.line = text.count("\n", 0, start) + 1
        self.first_line = text.count("\n", 0, change.span[0]) + 1
        self.last_line = text.count("\n", 0, change.span[1]) + 1
        begin = text.rfind("\n", 0, start) + 1
        stop = text.find("\n", end)
        self.row = f"{path}:{self.line}: {text[begin:start].lstrip()}[{text[start:end]}]{text[end:stop]}  ({change.kind})"


def sources_below(tree, folder):
    return sorted(str(path.relative_to(tree)) for path in pathlib.Path(tree, folder).rglob("*.cc"))


def drawn(tree, folders, seed):
    """All mutants of the folders, in the order in which they are tried."""
    mutants = []
    for path in sorted({path for folder in folders for path in sources_below(tree, folder)}):
        text = pathlib.Path(tree, path).read_text()
        mutants += [Mutant(path, text, change) for change in changes_of(text)]
    random.Random(seed).shuffle(mutants)
    return mutants


def without_crossing(mutants):
    """The first of those whose texts are the same, or overlap without one holding the other."""
    taken = collections.defaultdict(list)
    for mutant in mutants:
        if not any(crosses(mutant.change, other.change) for other in taken[mutant.path]):
            taken[mutant.path].append(mutant)
    kept = {mutant for of_path in taken.values() for mutant in of_path}
    return [mutant for mutant in mutants if mutant in kept]


class Tree:
    """A tree whose sources are changed, and its build."""

    def __init__(self, tree, build, parallel):
        self.tree, self.build = pathlib.Path(tree).resolve(), pathlib.Path(build).resolve()
        self.parallel = parallel
        commands = json.loads((self.build / "compile_commands.json").read_text())
        self.objects = {}
        for command in commands:
            object_file = re.search(r" -o (\S+)", command["command"]).group(1)
            if not object_file.startswith("tests/"):
                self.objects[os.path.relpath(command["file"], self.tree)] = object_file
        self.originals = {}

    def write(self, path, numbered):
        file = self.tree / path
        original = self.originals.setdefault(path, file.read_text())
        text = switched(original, numbered) if numbered else original
        if file.read_text() != text:
            file.write_text(text)

    def ninja(self, targets):
        return subprocess.run(["ninja", "-C", str(self.build), "-k", "0", "-j", str(self.parallel), *targets],
                              capture_output=True, text=True, check=False)

    def compile(self, mutants):
        """Writes the mutants, numbered by their positions, and returns the positions of those that compile."""
        left = {number: mutant for number, mutant in enumerate(mutants) if mutant.path in self.objects}
        dirty = {mutant.path for mutant in left.values()}
        while dirty:
            for path in dirty:
                self.write(path, {n: m.change for n, m in left.items() if m.path == path})
            output = self.ninja([self.objects[path] for path in dirty]).stdout
            dirty = {path for path in dirty if f"FAILED: {self.objects[path]}" in output}
            for path in dirty:
                lines = {int(line) for line in re.findall(re.escape(path) + r":(\d+):\d+:\s+(?:error|required from here)", output)}
                of_path = [n for n, m in left.items() if m.path == path]
                hit = [n for n in of_path if any(left[n].first_line <= line <= left[n].last_line for line in lines)]
                if not of_path:
                    sys.exit(f"{path} does not compile without any change:\n{output}")
                for number in hit or of_path:
                    del left[number]
        return sorted(left)

    def build_programs(self, programs):
        done = self.ninja([f"bin/{program}" for program in programs])
        if done.returncode != 0:
            sys.exit(done.stdout[-5000:])


class Case:
    """A case of a test program, or a program without cases (no name), and what it takes."""

    def __init__(self, program, name, seconds):
        self.program, self.name, self.seconds = program, name, seconds
        self.reached = set()


def environment(**extra):
    shared = os.environ.get("PLANWRIGHT_SHARED_DIR", str(pathlib.Path.cwd().parent / "shared"))
    return {**os.environ, "PLANWRIGHT_SHARED_DIR": shared, "XDG_CONFIG_HOME": "/nonexistent", **extra}


def passes(tree, program, cases, seconds, **extra):
    """Within several times `seconds` of processor time, or many times of the clock; `cases`: none of them: all."""
    command = ["prlimit", f"--cpu={int(10 + 8 * seconds)}", str(tree.build / "bin" / program),
               *ARGUMENTS.get(program, [])]
    if cases:
        extra["GTEST_FILTER"] = ":".join(cases)
    process = subprocess.Popen(command, cwd=tree.tree, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               start_new_session=True, env=environment(GTEST_FAIL_FAST="1", **extra))
    try:
        return process.wait(60 + 30 * seconds) == 0
    except subprocess.TimeoutExpired:
        return False
    finally:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()


def numbers_reached(path):
    return {number for number, byte in enumerate(path.read_bytes()) if byte} if path.exists() else set()


def record_cases(tree, program, folder):
    """Runs a program without any change, and returns its cases."""
    reached, listing = folder / f"{program}.reached", folder / f"{program}.cases"
    start = time.monotonic()
    if not passes(tree, program, [], 600, PLANWRIGHT_MUTANTS_REACHED=str(reached), PLANWRIGHT_MUTANTS_CASES=str(listing)):
        sys.exit(f"{program} fails without any change")
    seconds = time.monotonic() - start
    if not listing.exists():
        whole = Case(program, "", seconds)
        whole.reached = numbers_reached(reached)
        return [whole]
    cases, of_program, of_suites = [], set(), collections.defaultdict(set)
    for line in listing.read_text().splitlines():
        what, name, milliseconds, *numbers = line.split(" ")
        numbers = {int(number) for number in numbers}
        if what == "program":
            of_program |= numbers
        elif what == "suite":
            of_suites[name] |= numbers
        else:
            cases.append(Case(program, name, int(milliseconds) / 1000))
            cases[-1].reached = numbers
    for case in cases:
        case.reached |= of_program | of_suites[case.name.split(".")[0]]
    return cases


def programs_of(path):
    fitting = [folder for folder in PROGRAMS if f"{path}/".startswith(folder + "/")]
    return PROGRAMS[max(fitting, key=len)]


def judge(tree, mutant, number, cases):
    """The program and case that noticed, or "" where none did; how many cases reach the change."""
    programs = set(programs_of(mutant.path))
    asked = [case for case in cases if case.program in programs and number in case.reached]
    lower = -1
    for upper in TIERS:
        tier = collections.defaultdict(list)
        for case in asked:
            if lower < 1000 * case.seconds <= upper:
                tier[case.program].append(case)
        lower = upper
        for program, chosen in sorted(tier.items(), key=lambda item: sum(case.seconds for case in item[1])):
            names = [case.name for case in chosen if case.name]
            if not passes(tree, program, names, sum(case.seconds for case in chosen), PLANWRIGHT_MUTANT=str(number)):
                return program, len(asked)
    return "", len(asked)


def chosen_mutants(arguments):
    mutants = drawn(arguments.tree, arguments.folders, arguments.seed)
    if arguments.lines:
        lines = set(arguments.lines.split(","))
        return without_crossing([m for m in mutants if f"{m.path}:{m.line}" in lines])
    # Some do not compile.
    return without_crossing(mutants[:arguments.count + arguments.count // 3 + 10])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tree", required=True, help="a copy of the sources, which is changed")
    parser.add_argument("--build", required=True, help="its configured build")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--lines", help="every change of these lines instead, as FILE:LINE,FILE:LINE")
    parser.add_argument("--numbers", help="only these of the changes are asked about, as NUMBER,NUMBER of an earlier run")
    parser.add_argument("--programs", help="only these of the programs are asked, as NAME,NAME")
    parser.add_argument("--parallel", type=int, default=os.cpu_count())
    parser.add_argument("folders", nargs="*", default=FOLDERS)
    arguments = parser.parse_args()
    tree = Tree(arguments.tree, arguments.build, arguments.parallel)
    mutants = chosen_mutants(arguments)
    numbers = tree.compile(mutants)
    print(f"{len(numbers)} of {len(mutants)} changes compile", flush=True)
    numbers = numbers if arguments.lines else numbers[:arguments.count]
    if arguments.numbers:
        numbers = [number for number in numbers if number in {int(asked) for asked in arguments.numbers.split(",")}]
    programs = {program for number in numbers for program in programs_of(mutants[number].path)}
    programs = sorted(programs & set(arguments.programs.split(",")) if arguments.programs else programs)
    print(f"{len(programs)} programs are asked", flush=True)
    tree.build_programs(programs)
    folder = tree.build / "reached"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    with concurrent.futures.ThreadPoolExecutor(arguments.parallel) as workers:
        cases = [case for of_program in workers.map(lambda p: record_cases(tree, p, folder), programs)
                 for case in of_program]
        missed = []
        verdicts = workers.map(lambda number: judge(tree, mutants[number], number, cases), numbers)
        for number, (program, reaching) in zip(numbers, verdicts):
            verdict = program or (f"NOT NOTICED by {reaching} cases" if reaching else "NOT REACHED")
            print(f"{number} {verdict} {mutants[number].row}", flush=True)
            if not program:
                missed.append(f"{number} {verdict} {mutants[number].row}")
    print(f"{len(numbers) - len(missed)} of {len(numbers)} changes noticed; not noticed:", *missed, sep="\n")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
