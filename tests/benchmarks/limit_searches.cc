#include "tests/benchmarks/limit_searches.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/strings/str_format.h"
#include "core/planner/algorithms/algorithms.h"
#include "core/planner/algorithms/capabilities.h"
#include "core/zoo/zoo.h"
#include "tests/support/lattices.h"

namespace planwright::benchmarks {
namespace {

constexpr std::array<std::string_view, 16> kModels = {"zoo:gpt-175b",
                                                      "zoo:llama3-405b",
                                                      "zoo:transformer?layers=300",
                                                      "zoo:transformer?layers=1000",
                                                      "zoo:inception-v3",
                                                      "zoo:densenet121",
                                                      "zoo:bert-large",
                                                      "zoo:gnmt",
                                                      "zoo:swin-l",
                                                      "zoo:semantic-fpn",
                                                      "zoo:resnet152",
                                                      "zoo:vgg16",
                                                      "inc_5x8_lo",
                                                      "grid_8x30_hi",
                                                      "tow_4x64_lo",
                                                      "tow_8x60_hi"};

constexpr std::array<std::string_view, 20> kClusters = {
    "zoo:pcie:8",           "zoo:dgx1-v100:1",       "zoo:dgx1-mesh:1",        "zoo:dgx1-mesh:2",
    "zoo:dgx-a100:4",       "zoo:dgx-h100:64",       "zoo:dgx-h100:512",       "zoo:gb200-nvl72:1",
    "zoo:gb200-nvl72:8",    "zoo:mesh2d:8",          "zoo:torus2d:16",         "zoo:torus3d:4",
    "zoo:fat-tree:2",       "zoo:dragonfly:3",       "zoo:random-blk1:64",     "zoo:random-blk2:256",
    "zoo:random-uniform:8", "zoo:random-uniform:64", "zoo:random-uniform:512", "zoo:random-uniform:1024"};

// The joint search divides these into layers, or takes what their shapes say.
constexpr std::array<std::string_view, 14> kTrainedModels = {"zoo:gpt-175b",
                                                             "zoo:llama3-405b",
                                                             "zoo:transformer?layers=200",
                                                             "zoo:transformer?layers=1000",
                                                             "zoo:deepseek-v3",
                                                             "zoo:mixtral-8x7b",
                                                             "zoo:inception-v3",
                                                             "zoo:densenet121",
                                                             "zoo:bert-large",
                                                             "zoo:gnmt",
                                                             "zoo:swin-l",
                                                             "zoo:semantic-fpn",
                                                             "zoo:resnet152",
                                                             "zoo:vgg16"};

// Replicas take turns where the interconnect is uniform and without latency.
constexpr std::array<std::string_view, 3> kUniformClusters = {"zoo:nodes:1?devices=16&inside_us=0",
                                                              "zoo:nodes:1?devices=256&inside_us=0",
                                                              "zoo:nodes:1?devices=2048&inside_us=0"};

LimitMode Throughput(std::string_view name, ScheduleKind schedule, Replication replication,
                     std::optional<int32_t> micro_batches) {
  LimitMode mode{name, {}};
  mode.problem.schedule = schedule;
  mode.problem.replication = replication;
  mode.problem.micro_batches = micro_batches;
  return mode;
}

std::vector<LimitMode> Modes() {
  using enum ScheduleKind;
  using enum Replication;
  std::vector<LimitMode> modes = {
      Throughput("throughput", kSteadyState, kNone, {}),   Throughput("free", kSteadyState, kNone, {}),
      Throughput("overlapped", kSteadyState, kNone, {}),   Throughput("replicated", kSteadyState, kPerStage, {}),
      Throughput("copies", kSteadyState, kUniform, {}),    Throughput("gpipe", kGpipe, kNone, 8),
      Throughput("gpipe copies", kGpipe, kUniform, 64),    Throughput("1f1b", kOneFOneB, kNone, 64),
      Throughput("1f1b copies", kOneFOneB, kUniform, 512), Throughput("1f1b per stage", kOneFOneB, kPerStage, 64),
      Throughput("1f1b limit", kOneFOneB, kPerStage, {}),  Throughput("pipedream", kPipedreamAsync, kUniform, 64),
      Throughput("periodic", kPeriodic, kNone, {}),        Throughput("periodic free", kPeriodic, kNone, {}),
      Throughput("latency", kSteadyState, kNone, {}),      Throughput("devices", kSteadyState, kNone, {}),
      Throughput("explained", kSteadyState, kNone, {}),    Throughput("layers", kSteadyState, kUniform, {})};
  for (LimitMode& mode : modes) {
    if (mode.name == "free" || mode.name == "periodic free") mode.problem.split = Split::kNonContiguous;
    if (mode.problem.schedule == kPeriodic || mode.name == "overlapped") mode.problem.overlap = Overlap::kOverlapped;
    if (mode.name == "latency") mode.problem.objective = Objective::kMinLatency;
    if (mode.name == "layers") mode.problem.granularity = Granularity::kLayer;
    if (mode.name == "explained") mode.explain = true;
    if (mode.name == "devices") {
      mode.problem.objective = Objective::kMinDevices;
      mode.problem.target_period = Picoseconds(int64_t{200'000'000'000});
    }
  }
  return modes;
}

LimitMode Joint(std::string_view name, std::vector<PipelineOrder> orders) {
  LimitMode mode{name, {}};
  JointSettings& joint = mode.problem.joint.emplace();
  joint.global_batch = 1'536;
  joint.orders = std::move(orders);
  return mode;
}

std::vector<LimitMode> JointModes() {
  using enum PipelineOrder;
  std::vector<LimitMode> modes = {Joint("joint", {}),
                                  Joint("joint 1f1b", {kOneFOneB}),
                                  Joint("joint interleaved", {kInterleaved}),
                                  Joint("joint gpipe", {kGpipe}),
                                  Joint("joint zero bubble", {kZeroBubble}),
                                  Joint("joint all orders", {kOneFOneB, kInterleaved, kGpipe, kZeroBubble}),
                                  Joint("joint by stage", {kOneFOneB}),
                                  Joint("joint alike", {kOneFOneB}),
                                  Joint("joint fewest", {}),
                                  Joint("joint part", {}),
                                  Joint("joint turns", {})};
  for (LimitMode& mode : modes) {
    JointSettings& joint = *mode.problem.joint;
    if (mode.name == "joint by stage") joint.per_stage = true;
    if (mode.name == "joint alike") joint.first_layers_alike = true;
    if (mode.name == "joint fewest") mode.problem.objective = Objective::kMinDevices;
    if (mode.name == "joint part") mode.problem.devices_to_use.max_devices = 40;
    if (mode.name == "joint turns") mode.problem.replication = Replication::kPerStage;
  }
  return modes;
}

const LimitMode& PickFrom(const std::vector<LimitMode>& modes, RandomStream& random) {
  return modes[static_cast<std::size_t>(random.Below(modes.size()))];
}

}  // namespace

LimitSearch LimitSearches::Draw(RandomStream& random) {
  static const std::vector<LimitMode>& modes = *new std::vector<LimitMode>(Modes());
  const auto pick = [&](std::size_t count) { return static_cast<std::size_t>(random.Below(count)); };
  const AlgorithmRow& algorithm = Algorithms()[pick(Algorithms().size())];
  for (;;) {
    const std::string_view model = kModels[pick(kModels.size())];
    const std::string_view cluster = kClusters[pick(kClusters.size())];
    const LimitMode& mode = PickFrom(modes, random);
    SolverOptions options;
    options.algorithm = algorithm.algorithm;
    options.explain = mode.explain;
    LimitSearch search{std::string(algorithm.name),
                       absl::StrFormat("%s, %s, %s on %s", algorithm.name, mode.name, model, cluster),
                       GraphOf(model, /*has_shape=*/false),
                       ClusterOf(cluster),
                       mode.problem,
                       options};
    Violations refusals;
    CheckSupported(search.graph, search.cluster, search.problem, options, refusals);
    if (refusals.empty() && CheckRequest(search.request(), ModelLimits()).ok()) return search;
  }
}

LimitSearch LimitSearches::DrawJoint(RandomStream& random) {
  static const std::vector<LimitMode>& modes = *new std::vector<LimitMode>(JointModes());
  const auto pick = [&](std::size_t count) { return static_cast<std::size_t>(random.Below(count)); };
  const LimitMode& mode = PickFrom(modes, random);
  const bool takes_turns = mode.problem.replication == Replication::kPerStage;
  for (;;) {
    const std::string_view model = kTrainedModels[pick(kTrainedModels.size())];
    const std::string_view cluster =
        takes_turns ? kUniformClusters[pick(kUniformClusters.size())] : kClusters[pick(kClusters.size())];
    const OperatorGraph& graph = GraphOf(model, /*has_shape=*/!takes_turns && random.Below(2) == 0);
    LimitSearch search{
        std::string(mode.name),
        absl::StrFormat("%s, %s%s on %s", mode.name, graph.transformer.has_value() ? "shape of " : "", model, cluster),
        graph,
        ClusterOf(cluster),
        mode.problem,
        {}};
    if (CheckRequest(search.request(), ModelLimits()).ok()) return search;
  }
}

const OperatorGraph& LimitSearches::GraphOf(std::string_view name, bool has_shape) {
  std::map<std::string_view, OperatorGraph>& graphs = has_shape ? shaped_graphs_ : graphs_;
  const auto found = graphs.find(name);
  if (found != graphs.end()) return found->second;
  if (!name.starts_with("zoo:")) return graphs.emplace(name, MakeLattice(name)->graph).first->second;
  OperatorGraph graph = *MakeZooModel(name.substr(4));
  if (has_shape) graph.transformer = TransformerShapeOf(name.substr(4));
  return graphs.emplace(name, std::move(graph)).first->second;
}

const Cluster& LimitSearches::ClusterOf(std::string_view name) {
  const auto found = clusters_.find(name);
  if (found != clusters_.end()) return found->second;
  return clusters_.emplace(name, *MakeZooCluster(name.substr(4))).first->second;
}

}  // namespace planwright::benchmarks
