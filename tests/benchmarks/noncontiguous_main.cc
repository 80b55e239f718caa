// planwright_noncontiguous_benchmark: non-contiguous plans on the workloads of Table 1 of device-placement
// (docs/benchmarks.md). Like planwright_benchmark it measures the CLI as a child process.
#include <array>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tests/benchmarks/program.h"
#include "tests/benchmarks/table.h"
#include "tests/support/shared_dir.h"

ABSL_FLAG(std::vector<std::string>, seconds, (std::vector<std::string>{"1", "3", "10"}),
          "seconds of CPU of each search, proofs included, as work limits of 1e7 moves a second");
ABSL_FLAG(int, seeds, 5, "seeds 1 .. N");

namespace planwright::benchmarks {
namespace {

// Moves and proofs take about half of the time each.
constexpr double kMovesPerSecond = 1e7;

struct NonContiguousWorkload {
  std::string_view name;
  // Table 1: time per sample in ms of the best contiguous split, of the integer program for non-contiguous ones and the
  // time it took, of expert, local search, PipeDream and Scotch.
  std::array<std::string_view, 7> paper;
};

constexpr std::array<NonContiguousWorkload, 9> kWorkloads = {{
    {"operator_bert_l-3_inference", {"27.92", "21.91", "2 s", "-", "24.32", "-", "35.94"}},
    {"operator_bert_l-6_inference", {"29.58", "28.33", "54 s", "-", "42.52", "-", "49.80"}},
    {"operator_bert_l-3_training", {"65.30", "54.21", "1 s", "-", "66.17", "-", "416.97"}},
    {"layer_bert24_inference", {"17.79", "17.71", "> 20 min", "20.08", "17.80", "17.79", "18.03"}},
    {"layer_resnet50_inference", {"33.77", "33.31", "14 s", "43.92", "35.63", "39.38", "34.50"}},
    {"layer_inceptionv3_inference", {"51.55", "51.52", "19 s", "102.48", "54.03", "60.42", "54.01"}},
    {"layer_gnmt_inference", {"32.91", "31.68", "9 s", "46.21", "31.75", "33.03", "34.92"}},
    {"layer_bert24_training", {"41.75", "39.79", "9 s", "49.40", "39.93", "41.75", "42.01"}},
    {"layer_resnet50_training", {"78.63", "76.65", "15 s", "112.11", "81.32", "83.67", "80.10"}},
}};

class Benchmark {
 public:
  void Run() {
    Table table({{"workload", 28},
                 {"limit s", 7},
                 {"CPU s", 6},
                 {"best ms", 9},
                 {"median ms", 9},
                 {"worst ms", 9},
                 {"bound ms", 9},
                 {"gap", 7},
                 {"DP", 6},
                 {"IP", 6},
                 {"IP time", 8},
                 {"expert", 6},
                 {"local", 6},
                 {"PipeDr.", 7},
                 {"Scotch", 6}},
                std::cout);
    for (const NonContiguousWorkload& workload : kWorkloads) {
      if (!IsSelected(workload.name)) continue;
      for (const std::string& seconds : absl::GetFlag(FLAGS_seconds)) AddRow(workload, seconds, table);
    }
  }

 private:
  void AddRow(const NonContiguousWorkload& workload, const std::string& seconds, Table& table) {
    const std::string name(workload.name);
    const std::optional<std::string> path =
        SharedFile(absl::StrCat("workloads/device-placement/throughput/", name, ".json"));
    double limit = 0;
    if (!path.has_value() || !absl::SimpleAtod(seconds, &limit)) {
      table.AddRow({name, path.has_value() ? "bad --seconds" : "file absent"});
      return;
    }
    const absl::StatusOr<std::vector<std::string>> figures = MeasureSeeds(
        {cli_, "plan", "--local", "--output=json", "--threads=1", "--time_limit=600s", "--split=non_contiguous",
         "--graph=" + *path, absl::StrFormat("--work_limit=%.0f", limit * kMovesPerSecond)},
        absl::GetFlag(FLAGS_seeds), 4);
    if (!figures.ok()) {
      table.AddRow({name, std::string(figures.status().message())});
      return;
    }
    std::vector<std::string> cells = {name, seconds};
    cells.insert(cells.end(), figures->begin(), figures->end());
    cells.insert(cells.end(), workload.paper.begin(), workload.paper.end());
    table.AddRow(std::move(cells));
  }

  const std::string cli_ = PlanwrightPath();
};

}  // namespace
}  // namespace planwright::benchmarks

int main(int argc, char** argv) {
  planwright::benchmarks::ParseFlags(
      argc, argv, "noncontiguous_main",
      "measures non-contiguous plans on the workloads of a paper; run it in the root of the repository");
  planwright::benchmarks::Benchmark().Run();
  return 0;
}
