#include "client/report/simulation_report.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/report/enum_text.h"
#include "client/report/quantities.h"
#include "client/report/table.h"

namespace planwright::client {
namespace {

using Resource = v1::SimulationSummary::Resource;

constexpr Table::Align kRight = Table::Align::kRight;
// The columns of a timeline, where lines are long enough.
constexpr std::size_t kMostColumns = 96;
constexpr std::size_t kMaxRows = 32;
constexpr std::size_t kMaxNameLength = 16;
constexpr char kIdle = '.';

std::string Percent(double share) { return absl::StrFormat("%.1f %%", share * 100); }

std::string Headline(const v1::SimulationSummary& summary, const std::string& title) {
  const std::string line = Printable(absl::StrCat(title, title.empty() ? "" : ": ", "a step of ",
                                                  CountedText(summary.micro_batches(), "micro-batch", "micro-batches"),
                                                  " takes ", DurationText(summary.step_time_ms())));
  return Wrapped(line, 2) + "\n";
}

std::string Overview(const v1::SimulationSummary& summary) {
  Table table({{""}, {""}});
  std::string schedule = EnumText(v1::ScheduleKind_Name(summary.schedule()), "SCHEDULE_KIND_");
  if (summary.recomputation() == v1::MemoryModel::RECOMPUTATION_FULL) schedule += ", with recomputation";
  const bool shares = summary.contention() == v1::SimulatePlanRequest::CONTENTION_FAIR_SHARE;
  table.AddRow({"schedule", schedule + (shares ? ", links share fairly" : ", links one transfer at a time")});
  table.AddRow({"throughput", absl::StrFormat("%.4g micro-batches/s, %.4g samples/s",
                                              summary.micro_batches_per_second(), summary.samples_per_second())});
  if (summary.period_ms() > 0) table.AddRow({"period", DurationText(summary.period_ms())});
  table.AddRow({"bubbles", Percent(summary.bubble_fraction())});
  table.AddRow({"peak memory", BytesText(summary.peak_memory_bytes())});
  return table.ToString();
}

char SymbolOf(const v1::SimulatedTask& task) {
  const auto last_digit = static_cast<char>(task.micro_batch() % 10);
  const std::string& operation = task.operation();
  if (operation == "forward") return static_cast<char>('0' + last_digit);
  if (operation == "backward" || operation == "backward_input") return static_cast<char>('a' + last_digit);
  if (operation == "backward_weight") return 'W';
  if (operation == "recompute") return 'R';
  return operation == "allreduce" ? '#' : '-';
}

// What one device does for most of each column.
class Row {
 public:
  explicit Row(std::size_t columns) : busy_(columns), most_(columns), symbols_(columns, kIdle) {}

  void Add(const v1::SimulatedTask& task, double column_ms) {
    if (column_ms <= 0) return;
    const double first = task.start_ms() / column_ms;
    const double last = std::min(task.end_ms() / column_ms, static_cast<double>(symbols_.size()));
    for (auto column = static_cast<std::size_t>(first); column < symbols_.size() && static_cast<double>(column) < last;
         ++column) {
      const auto begin = static_cast<double>(column);
      const double share = std::min(last, begin + 1) - std::max(first, begin);
      busy_[column] += share;
      if (share <= most_[column]) continue;
      most_[column] = share;
      symbols_[column] = SymbolOf(task);
    }
  }

  std::string ToString() const {
    std::string text(symbols_.size(), kIdle);
    for (std::size_t column = 0; column < symbols_.size(); ++column) {
      if (busy_[column] >= 0.5) text[column] = symbols_[column];
    }
    return text;
  }

 private:
  std::vector<double> busy_;
  std::vector<double> most_;
  std::string symbols_;
};

std::string DevicesSection(const v1::SimulationSummary& summary) {
  Table table({Table::Cutting("device"),
               {"tasks", kRight},
               {"busy ms", kRight},
               {"bubbles", kRight},
               {"peak memory", kRight},
               {"at ms", kRight},
               {"limit", kRight}});
  for (const Resource& resource : summary.resources()) {
    if (resource.kind() != Resource::KIND_DEVICE) continue;
    table.AddRow({resource.name(), GroupedText(resource.tasks()), absl::StrFormat("%.3f", resource.busy_ms()),
                  Percent(1 - resource.utilization()), BytesText(resource.peak_memory_bytes()),
                  absl::StrFormat("%.3f", resource.peak_memory_at_ms()),
                  resource.has_memory_limit_bytes() ? BytesText(resource.memory_limit_bytes()) : "-"});
  }
  return absl::StrCat("\nDevices\n", table.ToString());
}

// Lists the busiest links.
std::string LinksSection(const v1::SimulationSummary& summary) {
  std::vector<const Resource*> links;
  for (const Resource& resource : summary.resources()) {
    if (resource.kind() == Resource::KIND_LINK) links.push_back(&resource);
  }
  if (links.empty()) return "";
  std::stable_sort(links.begin(), links.end(),
                   [](const Resource* a, const Resource* b) { return a->busy_ms() > b->busy_ms(); });
  Table table({Table::Cutting("link", 24), {"transfers", kRight}, {"busy ms", kRight}, {"utilization", kRight}});
  for (std::size_t i = 0; i < std::min(links.size(), kMaxRows); ++i) {
    table.AddRow({links[i]->name(), GroupedText(links[i]->tasks()), absl::StrFormat("%.3f", links[i]->busy_ms()),
                  Percent(links[i]->utilization())});
  }
  const std::string rest =
      links.size() > kMaxRows ? absl::StrCat("  and ", links.size() - kMaxRows, " more, less busy\n") : "";
  return absl::StrCat("\nLinks\n", table.ToString(), rest);
}

std::string WarningsSection(const v1::SimulationSummary& summary) {
  if (summary.warnings().empty()) return "";
  return absl::StrCat("\nWarnings\n", ListText({summary.warnings().begin(), summary.warnings().end()}));
}

}  // namespace

std::string TimelineText(const Simulation& simulation) {
  const auto& resources = simulation.summary.resources();
  // Beside the names, and the blanks before both.
  const std::size_t columns = std::min(kMostColumns, CurrentLineLengths().report - kMaxNameLength - 4);
  const double column_ms = simulation.summary.step_time_ms() / static_cast<double>(columns);
  std::vector<Row> rows(static_cast<std::size_t>(resources.size()), Row(columns));
  for (const v1::SimulatedTask& task : simulation.timeline.tasks()) {
    rows[static_cast<std::size_t>(task.resource())].Add(task, column_ms);
  }
  Table table({{""}, {""}});
  std::size_t devices = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Resource& resource = resources.Get(static_cast<int>(i));
    if (resource.kind() != Resource::KIND_DEVICE || ++devices > kMaxRows) continue;
    const std::string& name = resource.name();
    table.AddRow({Shortened(name, kMaxNameLength), rows[i].ToString()});
  }
  const std::string rest = devices > kMaxRows ? absl::StrCat("  and ", devices - kMaxRows, " more devices\n") : "";
  const std::string symbols = absl::StrCat(
      "  0-9 forward, a-j backward (the last digit of the micro-batch), W weights, R recomputation, "
      "- transfer, # all-reduce, . idle; a column is ",
      DurationText(column_ms));
  return absl::StrCat(table.ToString(), rest, Wrapped(symbols, 2), "\n");
}

std::string SimulationReport(const Simulation& simulation, const std::string& title) {
  const v1::SimulationSummary& summary = simulation.summary;
  const std::string timeline =
      simulation.timeline.tasks().empty() ? "" : absl::StrCat("\nTimeline\n", TimelineText(simulation));
  return absl::StrCat(Headline(summary, title), Overview(summary), timeline, DevicesSection(summary),
                      LinksSection(summary), WarningsSection(summary));
}

}  // namespace planwright::client
