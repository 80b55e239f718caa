#include "core/planner/joint/plan_row.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>
#include <vector>

#include "core/base/known.h"
#include "core/joint/cost/stage_cost.h"

namespace planwright {
namespace {

struct Node {
  std::size_t number_of_class = 0;
  std::vector<DeviceId> devices;
};

std::vector<Node> NodesOf(const TrainingCluster& training) {
  std::vector<Node> nodes;
  auto next = training.devices.begin();
  for (std::size_t number = 0; number < training.classes.size(); ++number) {
    const TrainingClass& part = training.classes[number];
    for (int32_t node = 0; node < part.nodes; ++node) {
      nodes.push_back({number, {next, next + part.devices_per_node}});
      next += part.devices_per_node;
    }
  }
  return nodes;
}

// Devices that the stages use come first, in their order.
void SortByUse(const std::map<DeviceId, std::size_t>& rank_of, std::vector<DeviceId>& devices) {
  const auto place = [&](DeviceId device) {
    const auto rank = rank_of.find(device);
    return rank == rank_of.end() ? rank_of.size() : rank->second;
  };
  std::stable_sort(devices.begin(), devices.end(), [&](DeviceId a, DeviceId b) { return place(a) < place(b); });
}

std::size_t FirstRank(const std::map<DeviceId, std::size_t>& rank_of, const Node& node) {
  const auto rank = rank_of.find(node.devices.front());
  return rank == rank_of.end() ? rank_of.size() : rank->second;
}

bool IsOn(const std::vector<DeviceId>& devices, const std::vector<Replica>& replicas) {
  return std::equal(devices.begin(), devices.end(), replicas.begin(), replicas.end(),
                    [](DeviceId device, const Replica& replica) { return device == replica.device; });
}

}  // namespace

std::optional<PlanRow> RowOfPlan(const TrainingCluster& training, const Plan& plan) {
  std::map<DeviceId, std::size_t> rank_of;
  for (const Stage& stage : plan.stages) {
    for (const Replica& replica : stage.replicas) rank_of.emplace(replica.device, rank_of.size());
  }
  std::vector<Node> nodes = NodesOf(training);
  for (Node& node : nodes) SortByUse(rank_of, node.devices);
  std::stable_sort(nodes.begin(), nodes.end(),
                   [&](const Node& a, const Node& b) { return FirstRank(rank_of, a) < FirstRank(rank_of, b); });
  PlanRow row{{{}, {}, training.inside, training.between, training.groups, training.node_span, training.pairs},
              Known(plan.joint)};
  std::size_t before = training.classes.size();
  for (const Node& node : nodes) {
    if (node.number_of_class != before) {
      row.training.classes.push_back(training.classes[node.number_of_class]);
      row.training.classes.back().nodes = 0;
      before = node.number_of_class;
    }
    ++row.training.classes.back().nodes;
    row.training.devices.insert(row.training.devices.end(), node.devices.begin(), node.devices.end());
  }
  const std::vector<DeviceId>& devices = row.training.devices;
  const DeviceRow slots(row.training);
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    const std::vector<Replica>& replicas = plan.stages[s].replicas;
    JointStage& stage = row.plan.stages[s];
    const auto first = std::find(devices.begin(), devices.end(), replicas.front().device);
    if (first == devices.end()) return std::nullopt;
    stage.first_slot = static_cast<int32_t>(first - devices.begin());
    const auto taken = slots.At(slots.ClassOf(stage.first_slot)).TakenBy(stage.degrees.devices());
    if (devices.end() - first < taken || !IsOn(slots.DevicesOf(stage), replicas)) return std::nullopt;
  }
  return row;
}

}  // namespace planwright
