#!/usr/bin/python3
"""Checks sources with clang-tidy 19, several at a time.

Most of the time of clang-tidy goes into the headers of libraries, so sources with the same flags whose unnamed
namespaces do not clash are included by one file, which is checked in their place; where that does not compile, its
sources are checked in smaller batches. Prints every finding once; exit code 1 where there are any, 77 where there is no
clang-tidy 19. REQUIRES: a configured build whose generated headers are there. Usually run by deploy/check-tidy.sh.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = "clang-tidy-19"
FOLDERS = ["core", "server", "client", "tests"]
# What says how sources are read, not what is warned of or how they are optimised.
KEPT_FLAG = re.compile(r"-(I|D|U|isystem|std=|pthread)")
FINDING = re.compile(r"^(/[^:]+):(\d+):(\d+): (?:warning|error): .* \[[\w.,-]+\]$")
BROKEN = "clang-diagnostic-error"
# They read optional values that ASSERT_TRUE looked at, which clang-tidy does not see.
TESTS = "tests/"


def flags_of(command):
    """What is kept of the flags, as a tuple, so that sources with the same ones can be told."""
    words = shlex.split(command)
    kept = []
    for word, following in zip(words[1:], words[2:] + [""]):
        if word == "-isystem":
            kept += [word, following]
        elif KEPT_FLAG.match(word):
            kept.append(word)
    return tuple(kept)


def compiled_by(file):
    """The sources that a file of PLANWRIGHT_UNITY includes, or the file itself; not those that are yet to be made."""
    if file.parent.name != "Unity":
        return [file]
    included = re.findall(r'^#include "(.*)"$', file.read_text(), re.MULTILINE)
    return [source for source in included if os.path.exists(source)]


def commands_below(build):
    """The flags of every source of ours, by path."""
    found = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        for source in compiled_by(pathlib.Path(entry["file"])):
            path = os.path.relpath(source, ROOT)
            if path.split("/")[0] in FOLDERS:
                found.setdefault(path, flags_of(entry["command"]))
    return found


def names_of_unnamed(text):
    """What the unnamed namespaces of a source declare at their top, and its tests; more than that does no harm."""
    names = set(re.findall(r"^(?:TYPED_)?TEST(?:_F|_P)?\((\w+, \w+)\)", text, re.MULTILINE))
    for block in re.findall(r"^namespace \{\n(.*?)^\}  // namespace$", text, re.MULTILINE | re.DOTALL):
        for line in block.split("\n"):
            declared = (re.match(r"(?:class|struct|enum class|enum|union|concept|using(?=.* = )) (\w+)", line) or
                        re.match(r"[\w:][\w:<>,*& ]*?(?<!\w)(\w+)(?:\(|\[| = |\{|;)", line))
            if declared and not re.match(r"using [^=]*$|[A-Z_]+\(", line):
                names.add(declared.group(1))
    return names


def are_tests(paths):
    return all(path.startswith(TESTS) for path in paths)


def batches_of(paths, flags, size):
    """`paths` in groups of at most `size` with the same flags and no name twice."""
    batches = []
    for path in sorted(paths):
        names = names_of_unnamed((ROOT / path).read_text())
        for batch in batches:
            is_alike = batch["flags"] == flags[path] and are_tests([path]) == are_tests(batch["paths"])
            if is_alike and len(batch["paths"]) < size and not names & batch["names"]:
                break
        else:
            batch = {"flags": flags[path], "paths": [], "names": set()}
            batches.append(batch)
        batch["paths"].append(path)
        batch["names"] |= names
    return [(batch["flags"], batch["paths"]) for batch in batches]


def tidied(folder, name, flags, paths):
    """The findings of one batch, and whether it compiled."""
    # The analyzer looks into what a file of this name includes as if it were the file itself.
    source = folder / f"UnifiedSource-{name}.cc"
    lines = [f'#include "{path}"  // NOLINT(bugprone-suspicious-include)\n' for path in paths]
    source.write_text("".join(lines))
    checks = ["--checks=-bugprone-unchecked-optional-access"] if are_tests(paths) else []
    command = [PROGRAM, *checks, "--quiet", "--warnings-as-errors=*", r"--header-filter=/(core|server|client|tests)/[^.]*\.(h|cc)$",
               str(source), "--", "-xc++", f"-I{ROOT}", *flags]
    output = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout
    return findings_in(output), BROKEN not in output


def findings_in(output):
    """{place and message: the finding with what stands below it}"""
    findings, current = {}, None
    for line in output.split("\n"):
        if FINDING.match(line):
            current = line
            findings[current] = ""
        if current:
            findings[current] += line + "\n"
    return findings


def check_batch(folder, name, flags, paths):
    findings, compiles = tidied(folder, name, flags, paths)
    if compiles or len(paths) == 1:
        return findings
    half = len(paths) // 2
    return {**check_batch(folder, f"{name}a", flags, paths[:half]),
            **check_batch(folder, f"{name}b", flags, paths[half:])}


def changed_paths(known, most):
    """The first `most` sources of ours that differ from the commit before the last one."""
    git = subprocess.run(["git", "diff", "--name-only", "--diff-filter=d", "HEAD~1"], cwd=ROOT, capture_output=True,
                         text=True, check=False)
    if git.returncode != 0:
        print("skipped: git knows no commit before the last one")
        sys.exit(77)
    # A header is looked at by way of its source.
    changed = {re.sub(r"\.h$", ".cc", path) for path in git.stdout.split()}
    return sorted(changed & set(known))[:most]


def chosen_paths(arguments, known):
    if arguments.changed:
        return changed_paths(known, arguments.changed)
    wanted = arguments.paths or FOLDERS
    return [path for path in known if any(path == w or path.startswith(w.rstrip("/") + "/") for w in wanted)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build/release", help="where compile_commands.json is")
    parser.add_argument("--batch", type=int, default=16, help="sources at a time, at most")
    parser.add_argument("--parallel", type=int, default=os.cpu_count())
    parser.add_argument("--changed", type=int, metavar="N",
                        help="only the first N sources that the last commit or the working copy changed")
    parser.add_argument("paths", nargs="*", help="folders and files; default: all sources")
    arguments = parser.parse_args()
    if shutil.which(PROGRAM) is None:
        print(f"skipped: {PROGRAM} is not here; run deploy/setup.sh checks")
        return 77
    flags = commands_below(ROOT / arguments.build)
    paths = chosen_paths(arguments, flags)
    batches = batches_of(paths, flags, arguments.batch)
    folder = ROOT / "build" / "tidy"
    folder.mkdir(parents=True, exist_ok=True)
    findings = {}
    with concurrent.futures.ThreadPoolExecutor(arguments.parallel) as workers:
        for found in workers.map(lambda item: check_batch(folder, str(item[0]), *item[1]), enumerate(batches)):
            for finding, text in found.items():
                if finding not in findings:
                    print(text, end="", flush=True)
            findings.update(found)
    print(f"{len(paths)} sources in {len(batches)} batches: {len(findings)} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
