// planwright_latency_benchmark: latency plans on the workloads of Table 4 of device-placement (docs/benchmarks.md).
//
// Like planwright_benchmark it measures the CLI as a child process. Files of the table that are not published with us
// are made from the throughput files of the same graphs by what section 7 of the paper says: 600 MiB or 2 GiB per
// accelerator, 1.4 to 1.8 times the size of the model in all, 8 CPUs; transfers of layer graphs, which are 1,000 times
// too short there, are made longer.
#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
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
          "seconds of CPU of each search, as work limits of 1e8 units a second");
ABSL_FLAG(int, seeds, 5, "seeds 1 .. N");

namespace planwright::benchmarks {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kWorkPerSecond = 100'000'000;

// How a file is made from a throughput file.
struct Derivation {
  int64_t memory_bytes = 0;
  int accelerators = 0;
  double transfer_factor = 1;
};

struct LatencyWorkload {
  std::string_view name;
  int subgraphs = 1;
  // nullopt: the file of this name is published for latency.
  std::optional<Derivation> derivation;
  // Table 4: latencies in ms of greedy, max-load DP, Scotch, expert and the integer program, and the gap of the last.
  std::array<std::string_view, 6> paper = {};
};

constexpr int64_t kSmall = int64_t{600} << 20U;
constexpr int64_t kLarge = int64_t{2} << 30U;

const std::vector<LatencyWorkload>& Workloads() {
  static const std::vector<LatencyWorkload> kWorkloads = {
      {"operator_bert_l-3_inference", 1, {}, {"416.20", "415.90", "497.75", "-", "408.47", "<1 %"}},
      {"operator_bert_l-6_inference",
       1,
       Derivation{kSmall, 5, 1},
       {"494.13", "445.48", "564.61", "-", "438.06", "12.6 %"}},
      {"layer_bert24_inference", 1, {}, {"100.22", "108.03", "108.03", "111.94", "100.22", "<1 %"}},
      {"layer_resnet50_inference",
       1,
       Derivation{kLarge, 14, 1000},
       {"4197.06", "1443.79", "3610.87", "OOM", "1191.02", "93.1 %"}},
      {"layer_inceptionv3_inference",
       1,
       Derivation{kLarge, 12, 1000},
       {"2485.24", "1621.74", "3068.00", "OOM", "1318.08", "93.5 %"}},
      {"layer_inceptionv3_inference", 2, Derivation{kLarge, 12, 1000}, {}},
      {"layer_gnmt_inference", 1, {}, {"268.50", "244.33", "636.91", "293.40", "225.6", "<1 %"}},
  };
  return kWorkloads;
}

std::string Derive(const std::string& source, const LatencyWorkload& workload, const fs::path& directory) {
  std::ifstream in(source);
  nlohmann::json graph = nlohmann::json::parse(in);
  graph["maxSizePerFPGA"] = workload.derivation->memory_bytes;
  graph["maxFPGAs"] = workload.derivation->accelerators;
  graph["maxCPUs"] = 8;
  for (nlohmann::json& edge : graph["edges"]) {
    edge["cost"] = edge["cost"].get<double>() * workload.derivation->transfer_factor;
  }
  const fs::path path = directory / absl::StrCat(std::string(workload.name), ".json");
  std::ofstream(path) << graph;
  return path.string();
}

class Benchmark {
 public:
  void Run() {
    Table table({{"workload", 28},
                 {"q", 2},
                 {"CPU s", 6},
                 {"best ms", 9},
                 {"median ms", 9},
                 {"worst ms", 9},
                 {"bound ms", 9},
                 {"gap", 7},
                 {"greedy", 8},
                 {"max-load", 8},
                 {"Scotch", 8},
                 {"expert", 7},
                 {"IP", 8},
                 {"IP gap", 7}},
                std::cout);
    for (const LatencyWorkload& workload : Workloads()) {
      if (!IsSelected(workload.name)) continue;
      for (const std::string& seconds : absl::GetFlag(FLAGS_seconds)) AddRow(workload, seconds, table);
    }
  }

 private:
  // Empty: the file it needs is not there.
  std::string PathOf(const LatencyWorkload& workload) {
    const char* folder = workload.derivation.has_value() ? "throughput/" : "latency/";
    const std::optional<std::string> path =
        SharedFile(absl::StrCat("workloads/device-placement/", folder, std::string(workload.name), ".json"));
    if (!path.has_value()) return "";
    return workload.derivation.has_value() ? Derive(*path, workload, scratch_.path()) : *path;
  }

  void AddRow(const LatencyWorkload& workload, const std::string& seconds, Table& table) {
    const std::string path = PathOf(workload);
    double limit = 0;
    if (path.empty() || !absl::SimpleAtod(seconds, &limit)) {
      table.AddRow({std::string(workload.name), "", path.empty() ? "file absent" : "bad --seconds"});
      return;
    }
    const absl::StatusOr<std::vector<std::string>> figures = MeasureSeeds(
        {cli_, "plan", "--local", "--output=json", "--threads=1", "--time_limit=600s", "--objective=min_latency",
         "--graph=" + path, absl::StrCat("--max_subgraphs_per_device=", workload.subgraphs),
         absl::StrFormat("--work_limit=%.0f", limit * kWorkPerSecond)},
        absl::GetFlag(FLAGS_seeds), 3);
    if (!figures.ok()) {
      table.AddRow({std::string(workload.name), "", std::string(figures.status().message())});
      return;
    }
    std::vector<std::string> cells = {std::string(workload.name), absl::StrCat(workload.subgraphs)};
    cells.insert(cells.end(), figures->begin(), figures->end());
    cells.insert(cells.end(), workload.paper.begin(), workload.paper.end());
    table.AddRow(std::move(cells));
  }

  const std::string cli_ = PlanwrightPath();
  ScratchDirectory scratch_;
};

}  // namespace
}  // namespace planwright::benchmarks

int main(int argc, char** argv) {
  planwright::benchmarks::ParseFlags(
      argc, argv, "latency_main",
      "measures latency plans on the workloads of a paper; run it in the root of the repository");
  planwright::benchmarks::Benchmark().Run();
  return 0;
}
