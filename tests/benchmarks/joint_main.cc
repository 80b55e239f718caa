// The joint search on models that people train and on chains made for it: what it finds, what it proves, and the CPU
// time of the whole request (search, bounds, what choices are worth, verification), the median of five:
//
//   planwright_joint_benchmark [--runs=5] [--only=TEXT]
#include <cstdint>
#include <iostream>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/base/random.h"
#include "core/base/task_arena.h"
#include "core/joint/cost/training_cluster.h"
#include "core/joint/cost/transformer_pricer.h"
#include "core/planner/planner.h"
#include "core/zoo/zoo.h"
#include "tests/benchmarks/measurement.h"
#include "tests/benchmarks/table.h"

ABSL_FLAG(int, runs, 5, "of each case; times are medians");
ABSL_FLAG(std::string, only, "", "cases whose name holds this");

namespace planwright {
namespace {

struct Case {
  std::string name;
  OperatorGraph graph;
  Cluster cluster;
  PlanningProblem problem;
};

Case CaseOf(const std::string& name, const std::string& model, const std::string& cluster, int64_t global_batch) {
  Case made{name, *MakeZooModel(model), *MakeZooCluster(cluster), {}};
  made.graph.transformer = TransformerShapeOf(model);
  made.problem.joint.emplace().global_batch = global_batch;
  return made;
}

// The second half of the nodes is of the class of `other`.
Case Mixed(Case made, const std::string& other) {
  const Cluster from = *MakeZooCluster(other);
  made.cluster.device_classes.push_back(from.device_classes.front());
  const DeviceClassId added(made.cluster.device_classes.size() - 1);
  std::vector<Device>& devices = made.cluster.devices;
  for (std::size_t d = devices.size() / 2; d < devices.size(); ++d) devices[d].device_class = added;
  return made;
}

// On the fewest devices that hold the model, or that train so many tokens per second.
Case Fewest(Case made, std::optional<double> tokens_per_second) {
  made.problem.objective = Objective::kMinDevices;
  made.problem.joint->target_tokens_per_second = tokens_per_second;
  return made;
}

// As the figures have it: data and tensor degrees, optimizer sharding, three recomputations, 1F1B.
Case Plain(Case made, bool per_stage) {
  JointSettings& joint = *made.problem.joint;
  joint.context_degrees = {1};
  joint.shardings = {Sharding::kOptimizer};
  joint.orders = {PipelineOrder::kOneFOneB};
  joint.per_stage = per_stage;
  made.name += per_stage ? ", by stage" : ", uniform";
  return made;
}

// With context degrees, all shardings and all schedules besides, for which five times the figures are wanted.
Case WithAll(Case made, bool per_stage) {
  JointSettings& joint = *made.problem.joint;
  joint.context_degrees = {1, 2, 4, 8};
  joint.shardings = {Sharding::kNone, Sharding::kOptimizer, Sharding::kGradients, Sharding::kParameters};
  joint.orders = {PipelineOrder::kOneFOneB, PipelineOrder::kGpipe, PipelineOrder::kInterleaved,
                  PipelineOrder::kZeroBubble};
  joint.per_stage = per_stage;
  made.name += per_stage ? ", all choices by stage" : ", all choices";
  return made;
}

void AddUnlikeRows(const TransformerPricer& pricer, const Degrees& degrees, int64_t samples,
                   std::vector<MeasuredLayer>& rows) {
  const std::vector<LayerPrice> prices = pricer.Price({.device_class = DeviceClassId(0),
                                                       .degrees = degrees,
                                                       .samples = samples,
                                                       .sharding = Sharding::kOptimizer,
                                                       .crosses_nodes = degrees.devices() > 8,
                                                       .devices_per_node = 8});
  if (prices.empty()) return;
  for (std::size_t layer = 1; layer + 1 < pricer.labels().size(); ++layer) {
    RandomStream random(layer);
    const double factor = 0.5 + static_cast<double>(random.Below(1'500)) / 1'000;
    const LayerPrice& price = prices[static_cast<std::size_t>(pricer.kinds()[layer])];
    MeasuredLayer row;
    row.layer = pricer.labels()[layer];
    row.tensor_degree = degrees.tensor;
    row.context_degree = degrees.context;
    row.samples = samples;
    row.forward_ms = factor * ToMilliseconds(Picoseconds(price.forward_ps));
    row.backward_ms = factor * ToMilliseconds(Picoseconds(price.backward_ps));
    rows.push_back(std::move(row));
  }
}

// Every layer takes its own time: between half and twice of what is computed, at every degree.
Case Unlike(Case made) {
  std::vector<DeviceId> devices;
  for (std::size_t d = 0; d < made.cluster.devices.size(); ++d) devices.emplace_back(d);
  const TrainingCluster training = *MakeTrainingCluster(made.cluster, devices, 0);
  const TransformerPricer pricer(*made.graph.transformer, made.cluster, training.inside, training.between);
  std::vector<MeasuredLayer> rows;
  for (const int64_t samples : {1, 2, 4, 8, 16}) {
    for (const int32_t tensor : {1, 2, 4, 8}) {
      for (const int32_t context : {1, 2, 4, 8}) AddUnlikeRows(pricer, {tensor, context}, samples, rows);
    }
  }
  made.graph.transformer->measured_layers = std::move(rows);
  return made;
}

std::string Chain(int layers) {
  return absl::StrCat("transformer?kind=llama&layers=", layers,
                      "&hidden=8192&heads=64&kv_heads=8&ffn=28672&vocab=128256&sequence=4096");
}

std::vector<Case> Chains() {
  return {CaseOf("100 layers, 1,024 devices", Chain(100), "dgx-h100:128", 1'024),
          CaseOf("200 layers, 4,096 devices", Chain(200), "dgx-h100:512", 4'096),
          Unlike(CaseOf("200 unlike layers, 4,096 devices", Chain(200), "dgx-h100:512", 4'096)),
          CaseOf("100 layers, 16,384 devices", Chain(100), "dgx-h100:2048", 16'384),
          Mixed(CaseOf("100 layers, 256 and 256 of two classes", Chain(100), "dgx-h100:64", 512), "dgx-a100:64")};
}

std::vector<Case> Cases() {
  std::vector<Case> cases;
  cases.push_back(CaseOf("GPT-175B, 64 A100", "gpt-175b", "dgx-a100:8", 1'536));
  cases.push_back(CaseOf("GPT-175B, 1,000 A100", "gpt-175b", "dgx-a100:125", 1'500));
  cases.push_back(CaseOf("Llama-3 70B, 64 H100", "llama3-70b", "dgx-h100:8", 512));
  cases.push_back(CaseOf("Llama-3 70B, 48 A100 of 40 GB", "llama3-70b", "dgx-a100:6?memory_gib=40", 768));
  cases.push_back(CaseOf("Llama-3 405B, 4,096 H100", "llama3-405b", "dgx-h100:512", 2'048));
  cases.push_back(CaseOf("DeepSeek-V3, 2,048 H800", "deepseek-v3", "dgx-h100:256?inside_gb=160", 15'360));
  cases.push_back(Mixed(CaseOf("Llama-3 70B, 64 H100 and 64 A100", "llama3-70b", "dgx-h100:16", 512), "dgx-a100:16"));
  const Case of_many = CaseOf("Llama-3 70B, fewest of 1,024 H100", "llama3-70b", "dgx-h100:128", 1'024);
  cases.push_back(Fewest(of_many, std::nullopt));
  cases.push_back(Fewest(of_many, 300'000));
  cases.back().name += ", 300,000 tokens/s";
  for (const bool has_all : {false, true}) {
    for (const bool per_stage : {false, true}) {
      for (const Case& chain : Chains()) cases.push_back(has_all ? WithAll(chain, per_stage) : Plain(chain, per_stage));
    }
  }
  return cases;
}

std::string Percent(double share) { return absl::StrFormat("%.2g %%", share * 100); }

std::string DegreesOf(const Plan& plan) {
  const JointPlan& joint = *plan.joint;
  const Degrees& degrees = joint.stages.front().degrees;
  std::string text = absl::StrCat("p", joint.stages.size());
  if (joint.chunks > 1) absl::StrAppend(&text, " v", joint.chunks);
  for (const auto& [letter, degree] :
       {std::pair{"t", degrees.tensor}, {"c", degrees.context}, {"e", degrees.expert}, {"d", degrees.data}}) {
    if (degree > 1) absl::StrAppend(&text, " ", letter, degree);
  }
  return text;
}

void Measure(const Case& from, benchmarks::Table& table) {
  std::vector<double> cpu_ms;
  absl::StatusOr<Plan> plan = absl::UnknownError("not run");
  for (int run = 0; run < absl::GetFlag(FLAGS_runs); ++run) {
    TaskArena arena(1);
    PlannerObserver observer;
    const ModelLimits limits;
    plan = MakePlan({from.graph, from.cluster, from.problem, SolverOptions{}}, limits, SolveLimits(), arena, observer);
    if (!plan.ok()) return table.AddRow({from.name, std::string(plan.status().message())});
    cpu_ms.push_back(plan->provenance.cpu_time_ms);
  }
  const JointPlan& joint = *plan->joint;
  const double equal = joint.uniform_configurations.empty()
                           ? 0
                           : ToMilliseconds(joint.uniform_configurations.front().step) / ToMilliseconds(joint.step) - 1;
  table.AddRow({from.name, DegreesOf(*plan), absl::StrFormat("%.2f s", ToMilliseconds(joint.step) / 1e3),
                Percent(joint.peak_share), Percent(RelativeGap(joint.step, joint.step_bound)),
                Percent(RelativeGap(joint.simulated_step, joint.simulated_bound)),
                joint.uniform_configurations.empty() ? "none fits" : "+" + Percent(equal),
                absl::StrFormat("%.0f ms", benchmarks::Median(cpu_ms))});
}

}  // namespace
}  // namespace planwright

int main(int argc, char** argv) {
  absl::SetProgramUsageMessage("Measures the joint search.");
  absl::ParseCommandLine(argc, argv);
  planwright::benchmarks::Table table({{"case", 60},
                                       {"plan", 18},
                                       {"step", 9},
                                       {"of peak", 7},
                                       {"gap", 9},
                                       {"simulated gap", 13},
                                       {"equal stages", 12},
                                       {"CPU", 9}},
                                      std::cout);
  for (const planwright::Case& each : planwright::Cases()) {
    if (each.name.find(absl::GetFlag(FLAGS_only)) != std::string::npos) planwright::Measure(each, table);
  }
}
