#include "client/report/simulation_report.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/report/enum_text.h"
#include "client/report/quantities.h"
#include "client/report/table.h"

namespace planwright::client {
namespace {

using Resource = v1::SimulationSummary::Resource;

// The columns of a timeline, where lines are long enough.
constexpr std::size_t kMostColumns = 96;
constexpr std::size_t kMaxRows = 32;
constexpr std::size_t kMaxNameLength = 16;
constexpr char kIdle = '.';

std::string Percent(double share) { return absl::StrFormat("%.1f %%", share * 100); }

std::string SimulationHeadline(const v1::SimulationSummary& summary, const std::string& title) {
  const std::string line = Printable(absl::StrCat(title, title.empty() ? "" : ": ", "a step of ",
                                                  CountedText(summary.micro_batches(), "micro-batch", "micro-batches"),
                                                  " takes ", DurationText(summary.step_time_ms())));
  return Wrapped(line, 2) + "\n";
}

bool AreOnLinks(const v1::SimulationSummary& summary) {
  return summary.collectives() == v1::SimulatePlanRequest::COLLECTIVES_ON_LINKS;
}

// What contention does to the step.
std::string ContentionText(const v1::SimulationSummary& summary) {
  const double alone_ms = summary.step_time_without_contention_ms();
  if (alone_ms <= 0 || summary.step_time_ms() <= alone_ms) return "none: the step takes what the plan says";
  return absl::StrCat(DurationText(summary.step_time_ms() - alone_ms), " on top of ", DurationText(alone_ms), ", ",
                      TwoDigitPercent((summary.step_time_ms() / alone_ms - 1) * 100));
}

std::string Overview(const v1::SimulationSummary& summary) {
  Table table({{""}, {""}});
  std::string schedule = EnumText(v1::ScheduleKind_Name(summary.schedule()), "SCHEDULE_KIND_");
  if (summary.recomputation() == v1::MemoryModel::RECOMPUTATION_FULL) schedule += ", with recomputation";
  const bool shares = summary.contention() == v1::SimulatePlanRequest::CONTENTION_FAIR_SHARE;
  table.AddRow({"schedule", schedule + (shares ? ", links share fairly" : ", links one transfer at a time")});
  if (AreOnLinks(summary)) {
    const std::string layers = CountedText(summary.layers_per_task(), "layer", "layers");
    table.AddRow({"collectives", absl::StrCat("on links, ", layers, " at a time")});
    table.AddRow({"contention", ContentionText(summary)});
  }
  table.AddRow({"throughput", absl::StrFormat("%.4g micro-batches/s, %.4g samples/s",
                                              summary.micro_batches_per_second(), summary.samples_per_second())});
  if (summary.period_ms() > 0) table.AddRow({"period", DurationText(summary.period_ms())});
  table.AddRow({"bubbles", Percent(summary.bubble_fraction())});
  table.AddRow({"peak memory", BytesText(summary.peak_memory_bytes())});
  return table.ToString();
}

bool IsExchange(std::string_view operation) { return operation.ends_with("_exchange"); }

char SymbolOf(const v1::SimulatedTask& task) {
  const auto last_digit = static_cast<char>(task.micro_batch() % 10);
  const std::string& operation = task.operation();
  if (operation == "forward") return static_cast<char>('0' + last_digit);
  if (operation == "backward" || operation == "backward_input") return static_cast<char>('a' + last_digit);
  if (operation == "backward_weight") return 'W';
  if (operation == "recompute") return 'R';
  if (operation == "update") return 'U';
  if (IsExchange(operation)) return '=';
  return operation == "allreduce" ? '#' : '-';
}

// What one device does for most of each column.
class Row {
 public:
  explicit Row(std::size_t columns) : shares_(columns) {}

  void Add(const v1::SimulatedTask& task, double column_ms) {
    if (column_ms <= 0) return;
    const double first = task.start_ms() / column_ms;
    const double last = std::min(task.end_ms() / column_ms, static_cast<double>(shares_.size()));
    for (auto column = static_cast<std::size_t>(first); column < shares_.size() && static_cast<double>(column) < last;
         ++column) {
      const auto begin = static_cast<double>(column);
      shares_[column][SymbolOf(task)] += std::min(last, begin + 1) - std::max(first, begin);
    }
  }

  std::string ToString() const {
    std::string text;
    for (const std::map<char, double>& column : shares_) {
      double busy = 0;
      char symbol = kIdle;
      for (const auto& [each, share] : column) {
        busy += share;
        if (symbol == kIdle || share > column.at(symbol)) symbol = each;
      }
      text.push_back(busy >= 0.5 ? symbol : kIdle);
    }
    return text;
  }

 private:
  // By symbol.
  std::vector<std::map<char, double>> shares_;
};

// Operations as people ask for them.
struct TimeColumn {
  const char* heading;
  std::vector<std::string_view> operations;
};

const std::vector<TimeColumn>& TimeColumns() {
  static const auto& columns = *new std::vector<TimeColumn>{
      {"compute", {"forward", "backward", "backward_input", "backward_weight", "recompute"}},
      {"tensor", {"tensor_exchange"}},
      {"context", {"context_exchange"}},
      {"expert", {"expert_exchange"}},
      {"data", {"data_exchange"}},
      {"transfers", {"send", "receive"}},
      {"step end", {"allreduce"}},
      {"update", {"update"}}};
  return columns;
}

// Milliseconds of a resource, and of them what contention added.
struct SpentTime {
  double busy_ms = 0;
  double added_ms = 0;
};

SpentTime TimeOf(const Resource& resource, const std::vector<std::string_view>& operations) {
  SpentTime time;
  for (const auto& entry : resource.operation_times()) {
    if (std::find(operations.begin(), operations.end(), entry.operation()) == operations.end()) continue;
    time.busy_ms += entry.busy_ms();
    time.added_ms += entry.added_by_contention_ms();
  }
  return time;
}

double AddedTo(const Resource& resource) {
  double added_ms = 0;
  for (const auto& entry : resource.operation_times()) added_ms += entry.added_by_contention_ms();
  return added_ms;
}

std::vector<const Resource*> DeviceResources(const v1::SimulationSummary& summary) {
  std::vector<const Resource*> devices;
  for (const Resource& resource : summary.resources()) {
    if (resource.kind() == Resource::KIND_DEVICE) devices.push_back(&resource);
  }
  return devices;
}

// Those in which any device spends time.
std::vector<TimeColumn> ColumnsOf(const std::vector<const Resource*>& devices) {
  std::vector<TimeColumn> columns;
  for (const TimeColumn& column : TimeColumns()) {
    const auto has_some = [&](const Resource* device) { return TimeOf(*device, column.operations).busy_ms > 0; };
    if (std::any_of(devices.begin(), devices.end(), has_some)) columns.push_back(column);
  }
  return columns;
}

// Shares of the step by column, that of bubbles, and what contention adds in milliseconds.
std::vector<double> SpentBy(const Resource& device, const std::vector<TimeColumn>& columns, double step_ms) {
  std::vector<double> spent;
  spent.reserve(columns.size() + 2);
  for (const TimeColumn& column : columns) spent.push_back(TimeOf(device, column.operations).busy_ms / step_ms);
  spent.push_back(1 - device.utilization());
  spent.push_back(AddedTo(device));
  return spent;
}

void AddSpent(const std::string& name, const std::vector<double>& spent, Table& table) {
  std::vector<std::string> cells = {name};
  for (std::size_t i = 0; i + 1 < spent.size(); ++i) cells.push_back(Percent(spent[i]));
  cells.push_back(absl::StrFormat("%.3f", spent.back()));
  table.AddRow(std::move(cells));
}

// What each device spends the step on: with collectives as tasks.
std::string TimesSection(const v1::SimulationSummary& summary) {
  if (!AreOnLinks(summary) || summary.step_time_ms() <= 0) return "";
  const std::vector<const Resource*> devices = DeviceResources(summary);
  const std::vector<TimeColumn> columns = ColumnsOf(devices);
  std::vector<Table::Column> headings = {Table::Cutting("device")};
  for (const TimeColumn& column : columns) headings.push_back({column.heading, kRight});
  headings.push_back({"bubbles", kRight});
  headings.push_back({"added ms", kRight});
  Table table(headings);
  std::vector<double> means(columns.size() + 2, 0);
  for (std::size_t number = 0; number < devices.size(); ++number) {
    const std::vector<double> spent = SpentBy(*devices[number], columns, summary.step_time_ms());
    for (std::size_t i = 0; i < spent.size(); ++i) means[i] += spent[i] / static_cast<double>(devices.size());
    if (number < kMaxRows) AddSpent(devices[number]->name(), spent, table);
  }
  if (devices.size() > 1) AddSpent("mean of all", means, table);
  return absl::StrCat("\nShares of the step; added: by contention to exchanges and transfers\n", table.ToString());
}

std::string DeviceLoadsSection(const v1::SimulationSummary& summary) {
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
  const bool are_shared = AreOnLinks(summary);
  std::vector<Table::Column> headings = {
      Table::Cutting("link", 24), {"transfers", kRight}, {"busy ms", kRight}, {"utilization", kRight}};
  if (are_shared) headings.push_back({"added ms", kRight});
  Table table(headings);
  for (std::size_t i = 0; i < std::min(links.size(), kMaxRows); ++i) {
    std::vector<std::string> cells = {links[i]->name(), GroupedText(links[i]->tasks()),
                                      absl::StrFormat("%.3f", links[i]->busy_ms()), Percent(links[i]->utilization())};
    if (are_shared) cells.push_back(absl::StrFormat("%.3f", AddedTo(*links[i])));
    table.AddRow(std::move(cells));
  }
  const std::string rest =
      links.size() > kMaxRows ? absl::StrCat("  and ", links.size() - kMaxRows, " more, less busy\n") : "";
  return absl::StrCat("\nLinks\n", table.ToString(), rest);
}

}  // namespace

namespace {

bool IsPass(std::string_view operation) {
  const std::vector<std::string_view>& passes = TimeColumns().front().operations;
  return std::find(passes.begin(), passes.end(), operation) != passes.end();
}

// Where columns are too wide for some pass, which need not be what its device does for most of one.
std::string LeftOutText(const v1::TimelineChunk& timeline, double column_ms) {
  const bool has_short = std::any_of(timeline.tasks().begin(), timeline.tasks().end(), [&](const auto& task) {
    return IsPass(task.operation()) && task.end_ms() - task.start_ms() < column_ms;
  });
  return has_short ? "; passes shorter than a column may be left out" : "";
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
      "- transfer, # all-reduce, ",
      AreOnLinks(simulation.summary) ? "= exchange inside layers, U update, " : "", ". idle; a column is ",
      DurationText(column_ms), LeftOutText(simulation.timeline, column_ms));
  return absl::StrCat(table.ToString(), rest, Wrapped(symbols, 2), "\n");
}

std::string SimulationReport(const Simulation& simulation, const std::string& title) {
  const v1::SimulationSummary& summary = simulation.summary;
  const std::string timeline =
      simulation.timeline.tasks().empty() ? "" : absl::StrCat("\nTimeline\n", TimelineText(simulation));
  return absl::StrCat(SimulationHeadline(summary, title), Overview(summary), timeline, TimesSection(summary),
                      DeviceLoadsSection(summary), LinksSection(summary),
                      WarningsText({summary.warnings().begin(), summary.warnings().end()}));
}

}  // namespace planwright::client
