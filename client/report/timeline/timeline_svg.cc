#include "client/report/timeline/timeline_svg.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/report/quantities.h"
#include "client/report/svg_text.h"

namespace planwright::client {
namespace {

constexpr std::size_t kMostRows = 64;
constexpr std::size_t kColumns = 1000;
constexpr double kLeft = 170;
constexpr double kRight = 20;
constexpr double kTop = 84;
constexpr double kRowHeight = 24;
constexpr double kBarHeight = 20;
// Pixels of a digit, with some air.
constexpr double kDigitWidth = 7;

// The colours differ in lightness too.
struct Kind {
  std::string_view name;
  const char* colour;
};
constexpr std::array<Kind, 6> kKinds = {{{"forward", "#9ecae1"},
                                         {"backward", "#2b5c8a"},
                                         {"weights", "#74a9cf"},
                                         {"recomputation", "#c7e9c0"},
                                         {"transfer", "#fdae6b"},
                                         {"all-reduce", "#8c6bb1"}}};

std::size_t KindOf(std::string_view operation) {
  if (operation == "forward") return 0;
  if (operation == "backward" || operation == "backward_input") return 1;
  if (operation == "backward_weight") return 2;
  if (operation == "recompute") return 3;
  return operation == "allreduce" ? 5 : 4;
}

struct Cell {
  // nullptr: nothing.
  const v1::SimulatedTask* task = nullptr;
  // How much of the column it takes.
  double share = 0;
};

// What a resource does in each column for longest.
std::vector<Cell> CellsOf(const std::vector<const v1::SimulatedTask*>& tasks, double column_ms) {
  std::vector<Cell> cells(kColumns);
  for (const v1::SimulatedTask* task : tasks) {
    const double first = task->start_ms() / column_ms;
    const double last = std::min(task->end_ms() / column_ms, static_cast<double>(kColumns));
    for (auto column = static_cast<std::size_t>(first); static_cast<double>(column) < last; ++column) {
      const auto begin = static_cast<double>(column);
      const double share = std::min(last, begin + 1) - std::max(first, begin);
      if (share > cells[column].share) cells[column] = {task, share};
    }
  }
  // Where it mostly idles it is drawn idle.
  for (Cell& cell : cells) {
    if (cell.share < 0.25) cell.task = nullptr;
  }
  return cells;
}

std::string BarOf(const v1::SimulatedTask& task, std::size_t first, std::size_t end, double y) {
  const Kind& kind = kKinds[KindOf(task.operation())];
  const auto width = static_cast<double>(end - first);
  std::string bar = absl::StrFormat("<rect x=\"%.0f\" y=\"%.0f\" width=\"%.0f\" height=\"%.0f\" fill=\"%s\"/>\n",
                                    kLeft + static_cast<double>(first), y, width, kBarHeight, kind.colour);
  const std::string number = absl::StrCat(task.micro_batch());
  const bool is_pass = kind.name == "forward" || kind.name == "backward";
  if (!is_pass || width < kDigitWidth * static_cast<double>(number.size()) + 2) return bar;
  absl::StrAppendFormat(
      &bar, "<text x=\"%.1f\" y=\"%.0f\" font-size=\"10\" text-anchor=\"middle\" fill=\"%s\">%s</text>\n",
      kLeft + static_cast<double>(first) + width / 2, y + 14, kind.name == "forward" ? "#333333" : "white", number);
  return bar;
}

std::string RowOf(const std::string& name, const std::vector<Cell>& cells, double y) {
  std::string row = absl::StrFormat("<g><title>%s</title>\n<text x=\"%.0f\" y=\"%.0f\" text-anchor=\"end\">%s</text>\n",
                                    SvgText(name), kLeft - 8, y + 14, SvgLabel(name));
  for (std::size_t first = 0; first < cells.size();) {
    std::size_t end = first + 1;
    while (end < cells.size() && cells[end].task == cells[first].task) ++end;
    if (cells[first].task != nullptr) absl::StrAppend(&row, BarOf(*cells[first].task, first, end, y));
    first = end;
  }
  return row + "</g>\n";
}

std::string Legend() {
  std::string legend;
  double x = kLeft;
  for (const Kind& kind : kKinds) {
    absl::StrAppendFormat(&legend,
                          "<rect x=\"%.0f\" y=\"42\" width=\"12\" height=\"12\" fill=\"%s\"/>"
                          "<text x=\"%.0f\" y=\"52\">%s</text>\n",
                          x, kind.colour, x + 18, std::string(kind.name));
    x += 120;
  }
  return legend;
}

}  // namespace

std::string TimelineSvg(const Simulation& simulation, const std::string& title) {
  const v1::SimulationSummary& summary = simulation.summary;
  const auto rows = std::min(static_cast<std::size_t>(summary.resources_size()), kMostRows);
  std::vector<std::vector<const v1::SimulatedTask*>> tasks(rows);
  for (const v1::SimulatedTask& task : simulation.timeline.tasks()) {
    const auto resource = static_cast<std::size_t>(task.resource());
    if (resource < rows) tasks[resource].push_back(&task);
  }
  std::string svg = absl::StrFormat("<text x=\"16\" y=\"26\" font-size=\"16\">%s: %s, a step of %s</text>\n",
                                    SvgText(title), DurationText(summary.step_time_ms()),
                                    CountedText(summary.micro_batches(), "micro-batch", "micro-batches"));
  absl::StrAppend(&svg, Legend());
  const double column_ms = summary.step_time_ms() > 0 ? summary.step_time_ms() / static_cast<double>(kColumns) : 1;
  for (std::size_t row = 0; row < rows; ++row) {
    absl::StrAppend(&svg, RowOf(summary.resources(static_cast<int>(row)).name(), CellsOf(tasks[row], column_ms),
                                kTop + kRowHeight * static_cast<double>(row)));
  }
  const double bottom = kTop + kRowHeight * static_cast<double>(rows);
  absl::StrAppendFormat(
      &svg, "<text x=\"%.0f\" y=\"%.0f\">0</text><text x=\"%.0f\" y=\"%.0f\" text-anchor=\"end\">%s</text>\n", kLeft,
      bottom + 16, kLeft + static_cast<double>(kColumns), bottom + 16, DurationText(summary.step_time_ms()));
  if (static_cast<std::size_t>(summary.resources_size()) > rows) {
    absl::StrAppendFormat(&svg, "<text x=\"16\" y=\"%.0f\">and %d more</text>\n", bottom + 16,
                          static_cast<std::size_t>(summary.resources_size()) - rows);
  }
  return SvgPicture(kLeft + static_cast<double>(kColumns) + kRight, bottom + 40, svg);
}

}  // namespace planwright::client
