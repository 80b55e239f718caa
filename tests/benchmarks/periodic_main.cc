// planwright_periodic_benchmark: Figures 6 to 8 of MadPipe (docs/benchmarks.md). Periods by memory, number of devices
// and bandwidth: PipeDream's stages and the best contiguous ones under 1F1B*, MadPipe as in the paper, and allocations
// with any number of stages on any device.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <functional>
#include <iostream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/flags/usage_config.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/base/limits.h"
#include "core/base/task_arena.h"
#include "core/partition/periodic/contiguous_optimum.h"
#include "core/partition/periodic/general_allocations.h"
#include "core/partition/periodic/madpipe.h"
#include "core/schedule/pattern_search.h"
#include "tests/benchmarks/chain_settings.h"
#include "tests/benchmarks/table.h"
#include "tests/support/paper_chains.h"
#include "tests/support/pattern_oracle.h"

ABSL_FLAG(std::string, filter, "", "only models whose name contains this text");
ABSL_FLAG(std::vector<std::string>, devices, (std::vector<std::string>{"2", "4", "6", "8"}), "numbers of devices");
ABSL_FLAG(std::vector<std::string>, memory_gb,
          (std::vector<std::string>{"3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15", "16"}),
          "memory of a device in 10^9 bytes, ascending: each setting starts from the plan of the one before");
ABSL_FLAG(std::vector<std::string>, bandwidth_gb, (std::vector<std::string>{"12", "24"}), "of a link in 10^9 bytes/s");
ABSL_FLAG(int64_t, work, planwright::kGeneralAllocationWork, "units of work of each general search");
ABSL_FLAG(std::string, csv, "", "writes every period to this file");

namespace planwright::benchmarks {
namespace {

// A few nodes do not tell more than these.
constexpr int64_t kNodesPerPeriod = 3'000;
constexpr int32_t kMaxStagesPerDevice = 4;

struct Setting {
  std::string model;
  double bandwidth_gb = 0;
  double devices = 0;
  double memory_gb = 0;
};

// Periods; nullopt: nothing was found that fits.
struct Row {
  Setting setting;
  Picoseconds sequential{0};
  std::optional<Picoseconds> bound;
  std::optional<Picoseconds> pipedream;
  std::optional<Picoseconds> contiguous;
  std::optional<Picoseconds> madpipe_phase_1;
  std::optional<Picoseconds> madpipe;
  std::optional<Picoseconds> general;
  double pattern_cpu_ms = 0;
  double general_cpu_ms = 0;
};

using PeriodOf = std::function<std::optional<Picoseconds>(const Row&)>;

// The geometric mean of numerator / denominator over the rows that have both.
struct Mean {
  std::size_t rows = 0;
  double log_sum = 0;

  void Add(std::optional<Picoseconds> numerator, std::optional<Picoseconds> denominator) {
    if (!numerator.has_value() || !denominator.has_value()) return;
    ++rows;
    log_sum += std::log(ToMilliseconds(*numerator) / ToMilliseconds(*denominator));
  }
  std::string Text() const {
    return rows == 0 ? "-" : absl::StrFormat("%.3f", std::exp(log_sum / static_cast<double>(rows)));
  }
};

std::string Milliseconds(std::optional<Picoseconds> period) {
  return period.has_value() ? absl::StrFormat("%.3f", ToMilliseconds(*period)) : "";
}

class Benchmark {
 public:
  void Run() {
    for (const std::string& model : PaperModels()) {
      if (!absl::StrContains(model, absl::GetFlag(FLAGS_filter))) continue;
      for (const double bandwidth : Numbers(absl::GetFlag(FLAGS_bandwidth_gb))) {
        const Chain chain = MakePaperChain(model, bandwidth, StoredTensors::kBoundary);
        for (const double devices : Numbers(absl::GetFlag(FLAGS_devices))) {
          Climb({model, bandwidth, devices, 0}, chain);
        }
      }
    }
    PrintRatios();
    PrintSummary();
    if (!absl::GetFlag(FLAGS_csv).empty()) WriteCsv(absl::GetFlag(FLAGS_csv));
  }

  // Patterns that the oracle refused.
  int faults() const { return faults_; }

 private:
  // One setting of memory after the other.
  void Climb(Setting setting, const Chain& chain) {
    std::vector<ChainAllocation> known;
    for (const double memory : Numbers(absl::GetFlag(FLAGS_memory_gb))) {
      setting.memory_gb = memory;
      const ChainDevices devices = DevicesOf(setting.devices, memory);
      Row row;
      row.setting = setting;
      for (const ChainLayer& layer : chain.layers) row.sequential += layer.forward + layer.backward;
      row.pipedream = PipedreamPeriod(chain, devices);
      if (const auto contiguous = ContiguousOptimum(chain, devices)) row.contiguous = contiguous->period;
      std::vector<ChainAllocation> starts = known;
      RunMadpipe(chain, devices, row, starts);
      RunGeneral(chain, devices, row, std::move(starts), known);
      rows_.push_back(std::move(row));
    }
  }

  void RunMadpipe(const Chain& chain, const ChainDevices& devices, Row& row, std::vector<ChainAllocation>& starts) {
    const auto phase_1 = MadpipeOptimum(chain, devices, SpecialMemory::kPaper);
    if (!phase_1.has_value()) return;
    row.madpipe_phase_1 = phase_1->period;
    SolveLimits limits;
    limits.work = kNodesPerPeriod;
    const auto found = Measure(1, [&] { return PatternSearch(chain, devices, phase_1->allocation, limits); });
    row.pattern_cpu_ms = found.cpu_ms;
    if (found.value.pattern.has_value()) {
      row.madpipe = found.value.pattern->period;
      Check(chain, devices, phase_1->allocation, *found.value.pattern);
    }
    starts.push_back(phase_1->allocation);
  }

  void RunGeneral(const Chain& chain, const ChainDevices& devices, Row& row, std::vector<ChainAllocation> starts,
                  std::vector<ChainAllocation>& known) {
    const GeneralAllocationRequest request{chain, devices, kMaxStagesPerDevice, std::move(starts), 1};
    SolveLimits limits;
    limits.work = absl::GetFlag(FLAGS_work);
    const auto outcome =
        Measure(1, [&] { return FindGeneralAllocation(request, limits, arena_, [](const ScheduledAllocation&) {}); });
    row.bound = outcome.value.lower_bound;
    row.general_cpu_ms = outcome.cpu_ms;
    if (!outcome.value.best.has_value()) return;
    const auto& [allocation, pattern] = *outcome.value.best;
    row.general = pattern.period;
    Check(chain, devices, allocation, pattern);
    known = {allocation};
  }

  void Check(const Chain& chain, const ChainDevices& devices, const ChainAllocation& allocation,
             const PeriodicPattern& pattern) {
    std::string fault = FaultOf(chain, devices, allocation, pattern);
    for (const int64_t bytes : SweptPeaks(chain, devices, allocation, pattern)) {
      if (bytes > *devices.memory_bytes) fault = "a device stores more than it can";
    }
    if (fault.empty()) return;
    ++faults_;
    std::cerr << "wrong pattern: " << fault << "\n";
  }

  // Figure 7, with the general allocations as the measure.
  void PrintRatios() const {
    const PeriodOf pipedream = [](const Row& row) { return row.pipedream; };
    const PeriodOf contiguous = [](const Row& row) { return row.contiguous; };
    const PeriodOf madpipe = [](const Row& row) { return row.madpipe; };
    const PeriodOf general = [](const Row& row) { return row.general; };
    const PeriodOf bound = [](const Row& row) { return row.bound; };
    Table table({{"M GB", 5},
                 {"PipeDream runs", 14},
                 {"contiguous runs", 15},
                 {"general runs", 12},
                 {"PipeDream / MadPipe", 19},
                 {"PipeDream / contiguous", 22},
                 {"contiguous / general", 20},
                 {"MadPipe / general", 17},
                 {"PipeDream / general", 19},
                 {"general / bound", 15}},
                std::cout);
    for (const double memory : Numbers(absl::GetFlag(FLAGS_memory_gb))) {
      table.AddRow({absl::StrCat(memory), Count(memory, pipedream), Count(memory, contiguous), Count(memory, general),
                    Ratio(memory, pipedream, madpipe), Ratio(memory, pipedream, contiguous),
                    Ratio(memory, contiguous, general), Ratio(memory, madpipe, general),
                    Ratio(memory, pipedream, general), Ratio(memory, general, bound)});
    }
  }

  std::string Count(double memory_gb, const PeriodOf& period) const {
    const auto counts = [&](const Row& row) { return row.setting.memory_gb == memory_gb && period(row).has_value(); };
    return absl::StrCat(std::count_if(rows_.begin(), rows_.end(), counts));
  }

  std::string Ratio(double memory_gb, const PeriodOf& numerator, const PeriodOf& denominator) const {
    Mean mean;
    for (const Row& row : rows_) {
      if (row.setting.memory_gb == memory_gb) mean.Add(numerator(row), denominator(row));
    }
    return mean.Text();
  }

  void PrintSummary() const {
    std::vector<double> pattern_ms;
    double longest_ms = 0;
    std::size_t worse_with_more_memory = 0;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      if (rows_[i].madpipe_phase_1.has_value()) pattern_ms.push_back(rows_[i].pattern_cpu_ms);
      longest_ms = std::max(longest_ms, rows_[i].general_cpu_ms);
      const bool climbs = i > 0 && rows_[i].setting.memory_gb > rows_[i - 1].setting.memory_gb;
      if (climbs && rows_[i - 1].general.has_value() &&
          (!rows_[i].general.has_value() || *rows_[i].general > *rows_[i - 1].general)) {
        ++worse_with_more_memory;
      }
    }
    std::cout << absl::StrFormat(
        "%d settings; pattern search on MadPipe's allocations: median %.3f ms of CPU; general search: at most %.0f ms "
        "of CPU; worse with more memory: %d; wrong patterns: %d\n",
        rows_.size(), pattern_ms.empty() ? 0.0 : Median(pattern_ms), longest_ms, worse_with_more_memory, faults_);
  }

  void WriteCsv(const std::string& path) const {
    std::ofstream csv(path);
    csv << "model,bandwidth_gb,devices,memory_gb,sequential_ms,bound_ms,pipedream_ms,contiguous_ms,madpipe_phase_1_ms,"
           "madpipe_ms,general_ms,pattern_cpu_ms,general_cpu_ms\n";
    for (const Row& row : rows_) {
      csv << absl::StrCat(row.setting.model, ",", row.setting.bandwidth_gb, ",", row.setting.devices, ",",
                          row.setting.memory_gb, ",", Milliseconds(row.sequential), ",", Milliseconds(row.bound), ",",
                          Milliseconds(row.pipedream), ",", Milliseconds(row.contiguous), ",")
          << absl::StrCat(Milliseconds(row.madpipe_phase_1), ",", Milliseconds(row.madpipe), ",",
                          Milliseconds(row.general), ",", absl::StrFormat("%.3f", row.pattern_cpu_ms), ",",
                          absl::StrFormat("%.0f", row.general_cpu_ms), "\n");
    }
  }

  TaskArena arena_{1};
  std::vector<Row> rows_;
  int faults_ = 0;
};

}  // namespace
}  // namespace planwright::benchmarks

int main(int argc, char** argv) {
  // --help shows the flags of files named after the program unless told otherwise.
  absl::FlagsUsageConfig usage;
  usage.contains_help_flags = [](absl::string_view file) { return absl::StrContains(file, "periodic_main"); };
  absl::SetFlagsUsageConfig(usage);
  absl::SetProgramUsageMessage("periods of the chains of MadPipe's evaluation by memory, devices and bandwidth");
  absl::ParseCommandLine(argc, argv);
  planwright::benchmarks::Benchmark benchmark;
  benchmark.Run();
  return benchmark.faults() == 0 ? 0 : 1;
}
