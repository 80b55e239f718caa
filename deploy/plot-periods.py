#!/usr/bin/python3
"""Draws Figures 6 to 8 of MadPipe from the output of planwright_periodic_benchmark --csv=FILE, by matplotlib.

Usage: plot-periods.py FILE.csv FILE.svg
"""
import csv
import sys
from statistics import geometric_mean

import matplotlib

METHODS = (
    ("pipedream_ms", "PipeDream, 1F1B*", "#d95f02"),
    ("madpipe_ms", "MadPipe", "#7570b3"),
    ("contiguous_ms", "best contiguous, 1F1B*", "#1b9e77"),
    ("general_ms", "several stages per device", "#333333"),
)
BOUND = ("bound_ms", "bound", "#999999")
MEMORIES = range(3, 17)


def read_rows(path):
    with open(path, newline="", encoding="utf-8") as file:
        return [{key: value if key == "model" else float(value) if value else None for key, value in row.items()}
                for row in csv.DictReader(file)]


def plot(axes, points, color, **style):
    """A line through (x, y), broken where a value is missing."""
    axes.plot([x for x, _ in points], [float("nan") if y is None else y for _, y in points], color=color, **style)


def set_up(axes, title, x_label, x_values, y_range):
    axes.set(title=title, xlabel=x_label, xlim=(x_values[0], x_values[-1]), ylim=y_range, xticks=list(x_values))
    axes.grid(axis="y", color="#dddddd")
    axes.spines[["top", "right"]].set_visible(False)


def draw_periods(axes, rows, devices, y_range):
    """Figure 6: ResNet-50, one number of devices."""
    set_up(axes, f"Period, ms: ResNet-50, {devices} devices, 12 GB/s", "memory of a device, GB", MEMORIES, y_range)
    chosen = [row for row in rows
              if row["model"] == "resnet50" and row["devices"] == devices and row["bandwidth_gb"] == 12]
    chosen.sort(key=lambda row: row["memory_gb"])
    for key, label, color in (BOUND, *METHODS):
        style = {"linestyle": ":"} if key == BOUND[0] else {}
        plot(axes, [(row["memory_gb"], row[key]) for row in chosen], color, label=label, **style)


def draw_ratios(axes, rows):
    """Figure 7: geometric means over models, devices and bandwidths, where both can run."""
    set_up(axes, "Period / that of several stages, all networks", "memory of a device, GB", MEMORIES, (0.95, 1.65))
    for key, _, color in METHODS:
        points = []
        for memory in MEMORIES:
            ratios = [row[key] / row["general_ms"] for row in rows
                      if row["memory_gb"] == memory and row[key] and row["general_ms"]]
            points.append((memory, geometric_mean(ratios) if ratios else None))
        plot(axes, points, color)


def draw_speed_ups(axes, rows):
    """Figure 8: against one device without limits, for little and for much memory."""
    set_up(axes, "Speed-up, all networks: 8 GB (dashed), 16 GB", "devices", range(2, 9), (1, 8))
    for memory, dashes in ((8, "--"), (16, "-")):
        for key, _, color in METHODS:
            points = []
            for devices in range(2, 9):
                chosen = [row for row in rows if row["memory_gb"] == memory and row["devices"] == devices
                          and row["bandwidth_gb"] == 12]
                speed_ups = [row["sequential_ms"] / row[key] for row in chosen if row[key]]
                points.append((devices, geometric_mean(speed_ups) if len(speed_ups) == len(chosen) else None))
            plot(axes, points, color, linestyle=dashes)


def main(csv_path, svg_path):
    matplotlib.use("svg")
    # Text stays text, and equal data make equal files.
    matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "planwright", "font.size": 9})
    from matplotlib import pyplot

    rows = read_rows(csv_path)
    figure, panels = pyplot.subplots(2, 2, figsize=(10, 7.5))
    draw_periods(panels[0][0], rows, 4, (100, 500))
    draw_periods(panels[0][1], rows, 8, (50, 350))
    draw_ratios(panels[1][0], rows)
    draw_speed_ups(panels[1][1], rows)
    figure.legend(*panels[0][0].get_legend_handles_labels(), loc="upper center", ncols=5, frameon=False)
    figure.tight_layout(rect=(0, 0, 1, 0.96))
    figure.savefig(svg_path, metadata={"Date": None})


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
