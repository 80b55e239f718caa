#!/usr/bin/python3
"""Draws Figures 6 to 8 of MadPipe from the output of planwright_periodic_benchmark --csv=FILE.

Usage: plot-periods.py FILE.csv FILE.svg
"""
import csv
import math
import sys

METHODS = (
    ("pipedream_ms", "PipeDream, 1F1B*", "#d95f02"),
    ("madpipe_ms", "MadPipe", "#7570b3"),
    ("contiguous_ms", "best contiguous, 1F1B*", "#1b9e77"),
    ("general_ms", "several stages per device", "#333333"),
)
WIDTH, HEIGHT = 330, 230
LEFT, TOP, GAP_X, GAP_Y = 60, 70, 75, 95


def number(text):
    return float(text) if text else None


def read_rows(path):
    with open(path, newline="", encoding="utf-8") as file:
        return [{key: value if key == "model" else number(value) for key, value in row.items()}
                for row in csv.DictReader(file)]


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


class Panel:
    """One set of axes; points are in units of the data."""

    def __init__(self, column, row, title, x_label, x_range, y_range, y_ticks):
        self.left = LEFT + column * (WIDTH + GAP_X)
        self.top = TOP + row * (HEIGHT + GAP_Y)
        self.x_range, self.y_range = x_range, y_range
        self.parts = []
        self.text(self.left, self.top - 12, title, weight="bold")
        self.text(self.left + WIDTH / 2, self.top + HEIGHT + 36, x_label, anchor="middle")
        for tick in y_ticks:
            self.line([(x_range[0], tick), (x_range[1], tick)], "#dddddd", 1)
            self.text(self.left - 6, self.y(tick) + 4, f"{tick:g}", anchor="end")

    def x(self, value):
        low, high = self.x_range
        return self.left + (value - low) / (high - low) * WIDTH

    def y(self, value):
        low, high = self.y_range
        return self.top + HEIGHT - (min(value, high) - low) / (high - low) * HEIGHT

    def ticks_x(self, values):
        for value in values:
            self.text(self.x(value), self.top + HEIGHT + 18, f"{value:g}", anchor="middle")

    def text(self, x, y, text, anchor="start", weight="normal"):
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-weight="{weight}">{text}</text>')

    def line(self, points, color, width, dashes=""):
        """Broken where a value is missing."""
        runs, run = [], []
        for x, y in points:
            if y is None:
                runs, run = runs + [run], []
            else:
                run.append(f"{self.x(x):.1f},{self.y(y):.1f}")
        for places in runs + [run]:
            if places:
                self.parts.append(f'<polyline points="{" ".join(places)}" fill="none" stroke="{color}" '
                                  f'stroke-width="{width}" stroke-dasharray="{dashes}"/>')


def by_memory(rows, key):
    """Points (memory, value) of rows of one setting."""
    return [(row["memory_gb"], row[key]) for row in sorted(rows, key=lambda row: row["memory_gb"])]


def draw_periods(rows, column, devices, y_range, y_ticks):
    """Figure 6: ResNet-50, one number of devices."""
    panel = Panel(column, 0, f"Period, ms: ResNet-50, {devices} devices, 12 GB/s", "memory of a device, GB", (3, 16),
                  y_range, y_ticks)
    panel.ticks_x(range(3, 17))
    chosen = [row for row in rows
              if row["model"] == "resnet50" and row["devices"] == devices and row["bandwidth_gb"] == 12]
    panel.line(by_memory(chosen, "bound_ms"), "#999999", 1, "3 3")
    for key, _, color in METHODS:
        panel.line(by_memory(chosen, key), color, 2)
    return panel


def draw_ratios(rows):
    """Figure 7: geometric means over models, devices and bandwidths, where both can run."""
    panel = Panel(0, 1, "Period / that of several stages, all networks", "memory of a device, GB",
                  (3, 16), (0.95, 1.65), (1, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6))
    panel.ticks_x(range(3, 17))
    for key, _, color in METHODS:
        points = []
        for memory in range(3, 17):
            ratios = [row[key] / row["general_ms"] for row in rows
                      if row["memory_gb"] == memory and row[key] and row["general_ms"]]
            points.append((memory, geometric_mean(ratios)))
        panel.line(points, color, 2)
    return panel


def draw_speed_ups(rows):
    """Figure 8: against one device without limits, for little and for much memory."""
    panel = Panel(1, 1, "Speed-up, all networks: 8 GB (dashed), 16 GB", "devices", (2, 8), (1, 8),
                  range(1, 9))
    panel.ticks_x(range(2, 9))
    for memory, dashes in ((8, "6 4"), (16, "")):
        for key, _, color in METHODS:
            points = []
            for devices in range(2, 9):
                chosen = [row for row in rows if row["memory_gb"] == memory and row["devices"] == devices
                          and row["bandwidth_gb"] == 12]
                speed_ups = [row["sequential_ms"] / row[key] for row in chosen if row[key]]
                points.append((devices, geometric_mean(speed_ups) if len(speed_ups) == len(chosen) else None))
            panel.line(points, color, 2, dashes)
    return panel


def legend():
    parts, x = [], LEFT
    for _, name, color in METHODS + (("", "bound", "#999999"),):
        parts.append(f'<line x1="{x}" y1="24" x2="{x + 24}" y2="24" stroke="{color}" stroke-width="3"/>'
                     f'<text x="{x + 30}" y="28">{name}</text>')
        x += 50 + 7 * len(name)
    return parts


def main(csv_path, svg_path):
    rows = read_rows(csv_path)
    panels = [draw_periods(rows, 0, 4, (100, 500), range(100, 501, 100)),
              draw_periods(rows, 1, 8, (50, 350), range(50, 351, 50)), draw_ratios(rows), draw_speed_ups(rows)]
    width, height = 2 * (WIDTH + GAP_X) + LEFT - 20, TOP + 2 * (HEIGHT + GAP_Y) - 20
    with open(svg_path, "w", encoding="utf-8") as svg:
        svg.write(f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
                  f'viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12">\n'
                  '<rect width="100%" height="100%" fill="white"/>\n')
        for part in legend() + [part for panel in panels for part in panel.parts]:
            svg.write(part + "\n")
        svg.write("</svg>\n")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
