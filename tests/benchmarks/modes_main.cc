// planwright_modes_benchmark: contiguous plans under overlap, replication, GPIPE and two-level hierarchies, and
// non-contiguous ones under replication and GPIPE, on the published workloads (docs/benchmarks.md). Like
// planwright_benchmark it measures the CLI as a child process.
#include <array>
#include <cmath>
#include <fstream>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "nlohmann/json.hpp"
#include "tests/benchmarks/child_process.h"
#include "tests/benchmarks/measurement.h"
#include "tests/benchmarks/program.h"
#include "tests/benchmarks/table.h"
#include "tests/support/shared_dir.h"

namespace planwright::benchmarks {
namespace {

using Json = nlohmann::json;

struct ModeWorkload {
  std::string_view name;
  // Table 1: time per sample in ms of the best contiguous split without any of these modes.
  std::string_view paper;
};

constexpr std::array<ModeWorkload, 9> kWorkloads = {{{"layer_bert24_inference", "17.79"},
                                                     {"layer_bert24_training", "41.75"},
                                                     {"layer_resnet50_inference", "33.77"},
                                                     {"layer_resnet50_training", "78.63"},
                                                     {"layer_gnmt_inference", "32.91"},
                                                     {"layer_inceptionv3_inference", "51.55"},
                                                     {"operator_bert_l-3_inference", "27.92"},
                                                     {"operator_bert_l-6_inference", "29.58"},
                                                     {"operator_bert_l-3_training", "65.30"}}};

// Of non-contiguous searches, in moves: two or three seconds.
constexpr char kFreeWork[] = "--work_limit=30000000";
// Host link of replicas, as in the paper's C.2.
constexpr double kHostBytesPerSecond = 12e9;
// A byte takes a picosecond inside a group, so that sizes are the file's times; ten between groups.
constexpr double kInsideBytesPerSecond = 1e12;
constexpr double kBetweenBytesPerSecond = 1e11;
constexpr double kPicosecondsPerMillisecond = 1e9;

Json WithBandwidth(Json request) {
  request["cluster"]["interconnect"]["host_staged"]["bandwidth_bytes_per_second"] = kHostBytesPerSecond;
  return request;
}

// Two groups of three accelerators of the file's class.
Json OnHierarchy(Json request) {
  for (Json& tensor : request["graph"]["tensors"]) {
    const double transfer_ms = tensor.value("transfer_ms", 0.0);
    tensor.erase("transfer_ms");
    tensor["size_bytes"] = absl::StrFormat("%.0f", std::round(transfer_ms * kPicosecondsPerMillisecond));
  }
  Json& cluster = request["cluster"];
  Json accelerators = Json::array();
  for (const Json& device_class : cluster["device_classes"]) {
    if (device_class.value("kind", "") != "DEVICE_KIND_CPU") accelerators.push_back(device_class);
  }
  cluster["device_classes"] = accelerators;
  cluster["device_groups"] = Json::array();
  cluster["devices"] = Json::array();
  for (int i = 0; i < 6; ++i) {
    cluster["devices"].push_back({{"name", absl::StrCat("acc", i)}, {"device_class", accelerators[0]["name"]}});
  }
  const Json inside = {{"fan_out", 3}, {"bandwidth_bytes_per_second", kInsideBytesPerSecond}};
  const Json between = {{"fan_out", 2}, {"bandwidth_bytes_per_second", kBetweenBytesPerSecond}};
  cluster["interconnect"] = {{"hierarchy", {{"levels", {inside, between}}}}};
  return request;
}

class Benchmark {
 public:
  void Run() {
    Table table({{"workload", 28},
                 {"mode", 16},
                 {"paper ms", 8},
                 {"objective ms", 12},
                 {"bound ms", 12},
                 {"gap", 7},
                 {"stop", 10},
                 {"solve CPU ms", 12},
                 {"process CPU ms", 14}},
                std::cout);
    for (const ModeWorkload& workload : kWorkloads) {
      if (IsSelected(workload.name)) AddRows(workload, table);
    }
  }

 private:
  void AddRows(const ModeWorkload& workload, Table& table) {
    const std::string name(workload.name);
    const auto path = SharedFile(absl::StrCat("workloads/device-placement/throughput/", name, ".json"));
    if (!path.has_value()) {
      table.AddRow({name, "file absent"});
      return;
    }
    const auto imported = RunProcess({cli_, "import", "--local", "--graph=" + *path});
    const Json request = imported.ok() ? Json::parse(imported->output, nullptr, false) : Json();
    if (!request.is_object()) {
      table.AddRow({name, "cannot be imported"});
      return;
    }
    const std::string paper(workload.paper);
    AddRow(name, "none", paper, request, {}, table);
    AddRow(name, "overlapped", "", request, {"--overlap=overlapped"}, table);
    AddRow(name, "full duplex", "", request, {"--overlap=full_duplex"}, table);
    const std::vector<std::string> replicated = {"--replication=per_stage", "--allreduce=half"};
    AddRow(name, "replicated", "", WithBandwidth(request), replicated, table);
    AddRow(name, "free, replicated", "", WithBandwidth(request), Free(replicated), table);
    if (absl::StrContains(name, "training")) {
      AddRow(name, "GPIPE", "", request, {"--schedule=gpipe"}, table);
      AddRow(name, "free, GPIPE", "", request, Free({"--schedule=gpipe"}), table);
    }
    AddRow(name, "2 x 3", "", OnHierarchy(request), {}, table);
  }

  static std::vector<std::string> Free(std::vector<std::string> flags) {
    flags.insert(flags.end(), {"--split=non_contiguous", kFreeWork});
    return flags;
  }

  void AddRow(const std::string& name, const std::string& mode, const std::string& paper, const Json& request,
              const std::vector<std::string>& flags, Table& table) {
    std::vector<std::string> command = {
        cli_, "plan", "--local", "--output=json", "--threads=1", "--graph=" + Written(request)};
    command.insert(command.end(), flags.begin(), flags.end());
    const absl::StatusOr<Measurement> measured = MeasureOnce(command);
    if (!measured.ok()) {
      table.AddRow({name, mode, paper, std::string(measured.status().message())});
      return;
    }
    const PlanFigures& plan = measured->plan;
    table.AddRow({name, mode, paper, Fixed(plan.objective_ms, 6), Fixed(plan.lower_bound_ms, 6),
                  Fixed(100 * plan.relative_gap, 2) + " %", plan.stop_reason, Fixed(plan.solve_cpu_ms, 1),
                  Fixed(measured->process_cpu_ms, 1)});
  }

  // The path of a file that holds `request` until the next call.
  std::string Written(const Json& request) const {
    const std::string path = (scratch_.path() / "request.json").string();
    std::ofstream(path) << request;
    return path;
  }

  const std::string cli_ = PlanwrightPath();
  const ScratchDirectory scratch_;
};

}  // namespace
}  // namespace planwright::benchmarks

int main(int argc, char** argv) {
  planwright::benchmarks::ParseFlags(
      argc, argv, "modes_main",
      "measures contiguous plans of several modes on the workloads of a paper; run it in the root of the repository");
  planwright::benchmarks::Benchmark().Run();
  return 0;
}
