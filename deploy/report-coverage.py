#!/usr/bin/python3
"""Reads what `llvm-cov export --summary-only` prints and writes lines and branches by folder as tables of Markdown.

    llvm-cov-19 export --summary-only ... | deploy/report-coverage.py [--least=90] [FOLDER ...]

Then come the files of which less than --least per cent of the lines were run. Default folders: core server client.
Usually run by deploy/check-coverage.sh.
"""

import argparse
import collections
import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


class Count:
    """How many lines and branches there are, and how many of them were run."""

    def __init__(self, lines=0, lines_run=0, branches=0, branches_run=0):
        self.lines, self.lines_run, self.branches, self.branches_run = lines, lines_run, branches, branches_run

    def __add__(self, other):
        return Count(self.lines + other.lines, self.lines_run + other.lines_run, self.branches + other.branches,
                     self.branches_run + other.branches_run)

    def share_of_lines(self):
        return 100 * self.lines_run / self.lines if self.lines else 100

    def row(self, name):
        branches = f"{100 * self.branches_run / self.branches:.1f}" if self.branches else "-"
        return f"| {name} | {self.lines} | {self.share_of_lines():.1f} | {self.branches} | {branches} |"


def counts_of(export, folders):
    """By path, relative to the root of the sources, of each file below one of the folders."""
    counts = {}
    for entry in export["data"][0]["files"]:
        path = pathlib.Path(entry["filename"])
        if path.is_relative_to(ROOT) and path.relative_to(ROOT).parts[0] in folders:
            lines, branches = entry["summary"]["lines"], entry["summary"]["branches"]
            counts[path.relative_to(ROOT)] = Count(lines["count"], lines["covered"], branches["count"],
                                                   branches["covered"])
    return counts


def by_folder(counts):
    """The sums of each folder by itself, and of each top folder with all below it."""
    sums = collections.defaultdict(Count)
    for path, count in counts.items():
        sums[f"{path.parts[0]}, with all below"] += count
        sums[str(path.parent)] += count
    return sums


def print_table(first_column, rows):
    print(f"| {first_column} | lines | run, % | branches | run, % |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for name, count in sorted(rows):
        print(count.row(name))
    print()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--least", type=float, default=90, help="files with a smaller share of lines are listed")
    parser.add_argument("folders", nargs="*", default=["core", "server", "client"])
    arguments = parser.parse_args()
    counts = counts_of(json.load(sys.stdin), arguments.folders)
    print_table("folder", by_folder(counts).items())
    print_table(f"file below {arguments.least:g} %",
                [(path, count) for path, count in counts.items() if count.share_of_lines() < arguments.least])


if __name__ == "__main__":
    main()
