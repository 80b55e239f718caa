// planwright_madpipe_benchmark: what it takes to allocate the chains of MadPipe's evaluation, phase 1 against phase 1
// (docs/benchmarks.md): the contiguous optimum, MadPipe-DP by Pareto frontiers, and MadPipe-DP on the grid of the
// paper.
#include <algorithm>
#include <cmath>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/flags/usage_config.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/base/limits.h"
#include "core/partition/periodic/contiguous_optimum.h"
#include "core/partition/periodic/madpipe.h"
#include "core/schedule/pattern_search.h"
#include "tests/benchmarks/chain_settings.h"
#include "tests/benchmarks/table.h"
#include "tests/reference/madpipe_grid.h"
#include "tests/support/paper_chains.h"

ABSL_FLAG(std::vector<std::string>, devices, (std::vector<std::string>{"4", "8"}), "numbers of devices");
ABSL_FLAG(std::vector<std::string>, memory_gb, (std::vector<std::string>{"8"}), "memory of a device in 10^9 bytes");
ABSL_FLAG(std::vector<std::string>, bandwidth_gb, (std::vector<std::string>{"12"}), "of a link in 10^9 bytes/s");
ABSL_FLAG(int, runs, 5, "of each program, the median counts");
ABSL_FLAG(int, grid_runs, 1, "of the grid; 0 leaves it out");

namespace planwright::benchmarks {
namespace {

std::string Period(std::optional<Picoseconds> period) {
  return period.has_value() ? absl::StrFormat("%.2f", ToMilliseconds(*period)) : "-";
}

std::string Period(const std::optional<PeriodicAllocation>& allocation) {
  return Period(allocation.has_value() ? std::optional(allocation->period) : std::nullopt);
}

std::string Cpu(double ms) { return absl::StrFormat("%.3f", ms); }

class Benchmark {
 public:
  void Run() {
    Table table({{"chain", 12},
                 {"L", 3},
                 {"P", 2},
                 {"M", 4},
                 {"GB/s", 4},
                 {"PipeDream ms", 12},
                 {"contiguous ms", 13},
                 {"CPU ms", 8},
                 {"Pareto ms", 9},
                 {"CPU ms", 8},
                 {"tight ms", 9},
                 {"CPU ms", 8},
                 {"grid ms", 8},
                 {"CPU ms", 8},
                 {"speed-up", 8},
                 {"pattern ms", 10},
                 {"CPU ms", 8}},
                std::cout);
    for (const std::string& model : PaperModels()) {
      for (const double bandwidth : Numbers(absl::GetFlag(FLAGS_bandwidth_gb))) {
        const Chain chain = MakePaperChain(model, bandwidth, StoredTensors::kBoundary);
        for (const double devices : Numbers(absl::GetFlag(FLAGS_devices))) {
          for (const double memory : Numbers(absl::GetFlag(FLAGS_memory_gb))) {
            AddRow(model, chain, bandwidth, DevicesOf(devices, memory), table);
          }
        }
      }
    }
    if (rows_ > 0) {
      std::cout << absl::StrFormat("geometric mean of the speed-up over %d rows: %.0f\n", rows_,
                                   std::exp(log_speed_up_ / rows_));
    }
  }

 private:
  void AddRow(const std::string& model, const Chain& chain, double bandwidth, const ChainDevices& devices,
              Table& table) {
    const int runs = absl::GetFlag(FLAGS_runs);
    const auto contiguous = Measure(runs, [&] { return ContiguousOptimum(chain, devices); });
    const auto pareto = Measure(runs, [&] { return MadpipeOptimum(chain, devices, SpecialMemory::kPaper); });
    const auto tight = Measure(runs, [&] { return MadpipeOptimum(chain, devices, SpecialMemory::kTight); });
    Timed<std::optional<PeriodicAllocation>> grid;
    if (absl::GetFlag(FLAGS_grid_runs) > 0) {
      grid = Measure(absl::GetFlag(FLAGS_grid_runs), [&] { return MadpipeGrid(chain, devices); });
    }
    const double speed_up = grid.cpu_ms / pareto.cpu_ms;
    if (pareto.value.has_value() && grid.value.has_value()) {
      log_speed_up_ += std::log(speed_up);
      ++rows_;
    }
    std::vector<std::string> cells = {model,
                                      absl::StrCat(chain.layers.size()),
                                      absl::StrCat(devices.count),
                                      absl::StrCat(*devices.memory_bytes / 1'000'000'000),
                                      absl::StrCat(bandwidth),
                                      Period(PipedreamPeriod(chain, devices)),
                                      Period(contiguous.value),
                                      Cpu(contiguous.cpu_ms),
                                      Period(pareto.value),
                                      Cpu(pareto.cpu_ms),
                                      Period(tight.value),
                                      Cpu(tight.cpu_ms),
                                      Period(grid.value),
                                      Cpu(grid.cpu_ms),
                                      absl::StrFormat("%.0f", speed_up)};
    if (pareto.value.has_value()) {
      SolveLimits limits;
      limits.work = 3'000;
      const auto pattern =
          Measure(runs, [&] { return PatternSearch(chain, devices, pareto.value->allocation, limits); });
      const std::optional<PeriodicPattern>& found = pattern.value.pattern;
      cells.push_back(Period(found.has_value() ? std::optional(found->period) : std::nullopt));
      cells.push_back(Cpu(pattern.cpu_ms));
    }
    table.AddRow(std::move(cells));
  }

  int rows_ = 0;
  double log_speed_up_ = 0;
};

}  // namespace
}  // namespace planwright::benchmarks

int main(int argc, char** argv) {
  // --help shows the flags of files named after the program unless told otherwise.
  absl::FlagsUsageConfig usage;
  usage.contains_help_flags = [](absl::string_view file) { return absl::StrContains(file, "madpipe_main"); };
  absl::SetFlagsUsageConfig(usage);
  absl::SetProgramUsageMessage("measures allocations of the chains of MadPipe's evaluation");
  absl::ParseCommandLine(argc, argv);
  planwright::benchmarks::Benchmark().Run();
  return 0;
}
