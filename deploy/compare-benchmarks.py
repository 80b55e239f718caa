#!/usr/bin/env python3
"""Compares two outputs of planwright_benchmark.

    deploy/compare-benchmarks.py BEFORE AFTER [--tolerance=0.1]

Prints, for every workload of the main table that both have, the objective, the bound and the median CPU times side by
side. Exit code 1 where a plan got worse, a bound got weaker, or the solve CPU of a workload grew by more than the
tolerance and by more than a millisecond; 2 where a file holds no such table.
"""

import sys

COLUMNS = ("objective ms", "bound ms", "solve CPU ms", "process CPU ms")
SLACK_MS = 1.0


def fail(message):
    print(f"compare-benchmarks: {message}", file=sys.stderr)
    sys.exit(2)


def cells_of(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def read_table(path):
    """{workload: {column: figure}} of the first table that has all columns; rows without figures are left out."""
    try:
        with open(path, encoding="utf-8") as file:
            lines = [line for line in file if line.lstrip().startswith("|")]
    except OSError as error:
        fail(f"{path}: {error.strerror}")
    heads = [i for i, line in enumerate(lines) if all(column in cells_of(line) for column in COLUMNS)]
    if not heads:
        fail(f"{path}: no table with the columns {', '.join(COLUMNS)}")
    head = cells_of(lines[heads[0]])
    table = {}
    for line in lines[heads[0] + 2 :]:
        cells = cells_of(line)
        if len(cells) != len(head):
            break
        try:
            table[cells[0]] = {column: float(cells[head.index(column)]) for column in COLUMNS}
        except ValueError:
            continue
    return table


def verdicts(before, after, tolerance):
    """What got worse, in words."""
    if after["objective ms"] > before["objective ms"] * (1 + 1e-9):
        yield "worse plan"
    if after["bound ms"] < before["bound ms"] * (1 - 1e-9):
        yield "weaker bound"
    growth = after["solve CPU ms"] - before["solve CPU ms"]
    if growth > max(SLACK_MS, tolerance * before["solve CPU ms"]):
        yield "slower"


def main(arguments):
    tolerance = 0.1
    paths = []
    for argument in arguments:
        if argument.startswith("--tolerance="):
            tolerance = float(argument.partition("=")[2])
        else:
            paths.append(argument)
    if len(paths) != 2:
        fail(__doc__.strip())
    before, after = (read_table(path) for path in paths)
    print(f"{'workload':<32}{'objective ms':>26}{'bound ms':>26}{'solve CPU ms':>22}{'ratio':>7}")
    is_worse = False
    for workload in before:
        if workload not in after:
            continue
        old, new = before[workload], after[workload]
        found = list(verdicts(old, new, tolerance))
        is_worse = is_worse or bool(found)
        ratio = new["solve CPU ms"] / old["solve CPU ms"] if old["solve CPU ms"] > 0 else float("nan")
        print(
            f"{workload:<32}{old['objective ms']:>13.4f}{new['objective ms']:>13.4f}{old['bound ms']:>13.4f}"
            f"{new['bound ms']:>13.4f}{old['solve CPU ms']:>11.1f}{new['solve CPU ms']:>11.1f}{ratio:>7.2f}"
            f"  {', '.join(found)}".rstrip()
        )
    for name, one, other in (("only before", before, after), ("only after", after, before)):
        missing = [workload for workload in one if workload not in other]
        if missing:
            print(f"{name}: {', '.join(missing)}")
    return 1 if is_worse else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
