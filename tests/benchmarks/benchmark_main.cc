// planwright_benchmark: quality, time and memory of `planwright plan` on named workloads (docs/benchmarks.md).
//
// Measures the CLI as a child process, so that start-up, parsing, planning, verification and printing all count. This
// program links none of our libraries and stays small, because a child's peak memory is never less than its parent's.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "tests/benchmarks/child_process.h"
#include "tests/benchmarks/measurement.h"
#include "tests/benchmarks/program.h"
#include "tests/benchmarks/table.h"
#include "tests/benchmarks/workloads.h"
#include "tests/support/shared_dir.h"

ABSL_FLAG(int, threads, 1, "threads of the search");
ABSL_FLAG(int, repetitions, 5, "runs of each workload; times are medians");
ABSL_FLAG(std::string, time_limit, "60s", "limit of each search");
ABSL_FLAG(bool, compare_threads, true, "measure large workloads again, with one and two threads");

namespace planwright::benchmarks {
namespace {

namespace fs = std::filesystem;

class Benchmark {
 public:
  void Run() {
    std::vector<const Workload*> selected;
    for (const Workload& workload : Workloads()) {
      if (IsSelected(workload.name)) selected.push_back(&workload);
    }
    MeasureAll(selected);
    std::erase_if(selected, [](const Workload* workload) { return !workload->measures_threads; });
    if (absl::GetFlag(FLAGS_compare_threads) && !selected.empty()) CompareThreads(selected);
  }

 private:
  // The arguments that name graph and cluster. NOT_FOUND: a published file is not there.
  absl::StatusOr<std::vector<std::string>> GraphArguments(const Workload& workload) {
    switch (workload.source) {
      case Source::kPublished:
        return PublishedArguments(workload.name);
      case Source::kLattice:
        return LatticeArguments(workload.name);
      case Source::kZoo: {
        const std::size_t at = workload.name.find('@');
        return std::vector<std::string>{absl::StrCat("--graph=zoo:", std::string(workload.name.substr(0, at))),
                                        absl::StrCat("--cluster=zoo:", std::string(workload.name.substr(at + 1)))};
      }
    }
    return absl::InternalError("unknown source");
  }

  static absl::StatusOr<std::vector<std::string>> PublishedArguments(std::string_view name) {
    const std::string relative = absl::StrCat("workloads/device-placement/throughput/", std::string(name), ".json");
    const std::optional<std::string> path = SharedFile(relative);
    if (!path.has_value()) return absl::NotFoundError("file absent");
    return std::vector<std::string>{"--graph=" + *path};
  }

  absl::StatusOr<std::vector<std::string>> LatticeArguments(std::string_view name) {
    const fs::path path = scratch_.path() / absl::StrCat(std::string(name), ".json");
    if (!fs::exists(path)) {
      const auto made = RunProcess({(ProgramFolder() / "planwright_make_lattice").string(), std::string(name)});
      if (!made.ok()) return made.status();
      if (made->exit_code != 0) return absl::InternalError("planwright_make_lattice failed");
      std::ofstream(path) << made->output;
    }
    return std::vector<std::string>{"--graph=" + path.string()};
  }

  absl::StatusOr<std::vector<std::string>> Command(const Workload& workload, int threads) {
    absl::StatusOr<std::vector<std::string>> command = GraphArguments(workload);
    if (!command.ok()) return command.status();
    command->insert(command->begin(), {cli_, "plan", "--local", "--output=json"});
    command->push_back(absl::StrCat("--threads=", threads));
    command->push_back(absl::StrCat("--time_limit=", absl::GetFlag(FLAGS_time_limit)));
    return command;
  }

  // One measurement for each number of threads. The runs take turns, so that a load that comes and goes hits all.
  absl::StatusOr<std::vector<Measurement>> Measure(const Workload& workload, const std::vector<int>& threads) {
    std::vector<std::vector<Measurement>> runs(threads.size());
    for (int run = 0; run < absl::GetFlag(FLAGS_repetitions); ++run) {
      for (std::size_t i = 0; i < threads.size(); ++i) {
        const absl::StatusOr<std::vector<std::string>> command = Command(workload, threads[i]);
        if (!command.ok()) return command.status();
        absl::StatusOr<Measurement> measured = MeasureOnce(*command);
        if (!measured.ok()) return measured.status();
        runs[i].push_back(*std::move(measured));
      }
    }
    std::vector<Measurement> summaries;
    std::ranges::transform(runs, std::back_inserter(summaries), Summarize);
    return summaries;
  }

  void MeasureAll(const std::vector<const Workload*>& workloads);
  void CompareThreads(const std::vector<const Workload*>& workloads);

  const std::string cli_ = PlanwrightPath();
  ScratchDirectory scratch_;
};

std::string Count(const std::optional<int64_t>& count) { return count ? absl::StrCat(*count) : "-"; }
std::string Megabytes(int64_t bytes) { return Fixed(static_cast<double>(bytes) / 1e6, 1); }

void Benchmark::MeasureAll(const std::vector<const Workload*>& workloads) {
  Table table({{"workload", 28},
               {"objective ms", 12},
               {"bound ms", 12},
               {"gap", 7},
               {"stop", 10},
               {"solve CPU ms", 12},
               {"process CPU ms", 14},
               {"RSS MB", 7},
               {"ideals", 9},
               {"passes", 6},
               {"ref CPU s", 9},
               {"ref MB", 6}},
              std::cout);
  double published_cpu_ms = 0;
  int published = 0;
  for (const Workload* workload : workloads) {
    const absl::StatusOr<std::vector<Measurement>> measured = Measure(*workload, {absl::GetFlag(FLAGS_threads)});
    if (!measured.ok()) {
      table.AddRow({std::string(workload->name), std::string(measured.status().message())});
      continue;
    }
    const Measurement& process = measured->front();
    const PlanFigures& plan = process.plan;
    table.AddRow({std::string(workload->name), Fixed(plan.objective_ms, 6), Fixed(plan.lower_bound_ms, 6),
                  Fixed(100 * plan.relative_gap, 2) + " %", plan.stop_reason, Fixed(plan.solve_cpu_ms, 1),
                  Fixed(process.process_cpu_ms, 1), Megabytes(process.peak_resident_bytes), Count(plan.ideals),
                  Count(plan.passes), Fixed(workload->reference.cpu_s, 3), Fixed(workload->reference.memory_mb, 1)});
    if (workload->source == Source::kPublished) {
      published_cpu_ms += process.process_cpu_ms;
      ++published;
    }
  }
  if (published == 0) return;
  std::cout << "\nProcess CPU of the " << published << " published files: " << Fixed(published_cpu_ms, 1) << " ms\n";
}

void Benchmark::CompareThreads(const std::vector<const Workload*>& workloads) {
  std::cout << '\n';
  Table table({{"workload", 28},
               {"wall ms, 1", 10},
               {"wall ms, 2", 10},
               {"speed-up", 8},
               {"CPU ms, 1", 10},
               {"CPU ms, 2", 10},
               {"CPU ratio", 9}},
              std::cout);
  for (const Workload* workload : workloads) {
    const absl::StatusOr<std::vector<Measurement>> measured = Measure(*workload, {1, 2});
    if (!measured.ok()) {
      table.AddRow({std::string(workload->name), std::string(measured.status().message())});
      continue;
    }
    const PlanFigures& one = measured->front().plan;
    const PlanFigures& two = measured->back().plan;
    table.AddRow({std::string(workload->name), Fixed(one.solve_wall_ms, 1), Fixed(two.solve_wall_ms, 1),
                  Fixed(one.solve_wall_ms / two.solve_wall_ms, 2), Fixed(one.solve_cpu_ms, 1),
                  Fixed(two.solve_cpu_ms, 1), Fixed(two.solve_cpu_ms / one.solve_cpu_ms, 2)});
  }
}

}  // namespace
}  // namespace planwright::benchmarks

int main(int argc, char** argv) {
  planwright::benchmarks::ParseFlags(
      argc, argv, "benchmark_main",
      "measures `planwright plan` on named workloads; run it in the root of the repository");
  planwright::benchmarks::Benchmark().Run();
  return 0;
}
