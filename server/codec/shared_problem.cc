#include "server/codec/shared_problem.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <unordered_map>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "core/model/device_selection.h"
#include "server/codec/canonical_hash.h"
#include "server/codec/canonical_order.h"
#include "server/codec/digest.h"

namespace planwright::server {
namespace {

// What joins the members of every group of one level, innermost first.
struct Joint {
  std::size_t fan_out = 1;
  std::optional<double> bandwidth_bytes_per_second = std::nullopt;
  Picoseconds latency{0};
  // The machine whose places the members are at, which some links join better than others; nullptr: all are joined
  // alike.
  const NodesInterconnect* node = nullptr;
  // A group of one counts too: what passes a level passes those below it.
  bool counts_alone = false;
};

// The tree of an interconnect by its levels; empty: it is none.
struct JointMaker {
  std::size_t num_devices;

  std::vector<Joint> operator()(const HostStagedInterconnect& flat) const { return Flat(flat); }
  std::vector<Joint> operator()(const UniformInterconnect& flat) const { return Flat(flat); }
  std::vector<Joint> operator()(const HierarchyInterconnect& hierarchy) const { return Levels(hierarchy.levels); }
  std::vector<Joint> operator()(const NodesInterconnect& nodes) const {
    std::vector<Joint> joints = Levels(nodes.levels);
    joints.insert(joints.begin(), {.fan_out = static_cast<std::size_t>(nodes.devices_per_node), .node = &nodes});
    return joints;
  }
  template <typename Interconnect>
  std::vector<Joint> operator()(const Interconnect& /*named*/) const {
    return {};
  }

 private:
  static std::vector<Joint> Levels(const std::vector<HierarchyInterconnect::Level>& levels) {
    std::vector<Joint> joints;
    joints.reserve(levels.size());
    for (const HierarchyInterconnect::Level& level : levels) {
      joints.push_back({static_cast<std::size_t>(level.fan_out), level.bandwidth_bytes_per_second, level.latency});
    }
    return joints;
  }
  template <typename Interconnect>
  std::vector<Joint> Flat(const Interconnect& flat) const {
    return {{num_devices, flat.bandwidth_bytes_per_second, flat.latency}};
  }
};

// What a problem says of single devices.
class Roles {
 public:
  Roles(const OperatorGraph& graph, const PlanningProblem& problem) {
    for (const OperatorDevice& pair : problem.pinned) Add(pair.device, "pinned", graph.operators[pair.op.index()].name);
    for (const OperatorDevice& pair : problem.forbidden) {
      Add(pair.device, "forbidden", graph.operators[pair.op.index()].name);
    }
    if (!problem.start_from.has_value()) return;
    const std::vector<Placement::Stage>& stages = problem.start_from->stages;
    for (std::size_t i = 0; i < stages.size(); ++i) {
      AddList(stages[i].devices, absl::StrCat("copy of ", i));
      AddList(stages[i].ring, absl::StrCat("in the ring of ", i));
    }
  }

  // In an order that does not depend on that of the problem's lists.
  std::vector<std::string> Of(DeviceId device) const {
    const auto found = roles_.find(device.index());
    if (found == roles_.end()) return {};
    std::vector<std::string> roles = found->second;
    std::sort(roles.begin(), roles.end());
    return roles;
  }

  // Whether all devices with a role are among `devices`, ascending.
  bool AreWithin(const std::vector<DeviceId>& devices) const {
    return std::all_of(roles_.begin(), roles_.end(), [&](const auto& entry) {
      return std::binary_search(devices.begin(), devices.end(), DeviceId(entry.first));
    });
  }

 private:
  void Add(DeviceId device, const std::string& role, const std::string& object) {
    roles_[device.index()].push_back(absl::StrCat(role, " ", object));
  }
  // Each has the role of its place in the list.
  void AddList(const std::vector<DeviceId>& devices, const std::string& role) {
    for (std::size_t i = 0; i < devices.size(); ++i) Add(devices[i], role, absl::StrCat(i));
  }

  // By device.
  std::unordered_map<std::size_t, std::vector<std::string>> roles_;
};

struct Subtree {
  // Position among all subtrees of its level, the empty ones included.
  std::size_t position = 0;
  // Equal for subtrees that differ in nothing but names.
  std::string code;
  // In canonical order.
  std::vector<DeviceId> devices;
};

Subtree Leaf(const Cluster& cluster, const Roles& roles, DeviceId id) {
  const Device& device = cluster.devices[id.index()];
  CanonicalHash hash("planwright.leaf.1");
  hash.Add(cluster.class_of(device).name);
  hash.Add(device.reserved_memory_bytes);
  const std::vector<std::string> own_roles = roles.Of(id);
  hash.Add(own_roles.size());
  for (const std::string& role : own_roles) hash.Add(role);
  return {.position = id.index(), .code = hash.Hex(), .devices = {id}};
}

// What joins each two members of a machine.
class NodeLinks {
 public:
  NodeLinks(const NodesInterconnect& node, const std::vector<Subtree>& members) : node_(node) {
    const auto size = static_cast<std::size_t>(node.devices_per_node);
    for (const Subtree& member : members) places_.push_back(static_cast<int32_t>(member.position % size));
  }

  JointKind operator()(std::size_t a, std::size_t b) const {
    for (const NodesInterconnect::Link& link : node_.links) {
      const bool is_it = (link.place_a == places_[a] && link.place_b == places_[b]) ||
                         (link.place_a == places_[b] && link.place_b == places_[a]);
      if (is_it) return {link.bandwidth_bytes_per_second, link.latency.count()};
    }
    return {node_.bandwidth_bytes_per_second, node_.latency.count()};
  }

 private:
  const NodesInterconnect& node_;
  std::vector<int32_t> places_;
};

// Puts the members of a machine into their canonical order, or, where that takes too long, leaves them at their places,
// which count then.
void OrderByLinks(const NodesInterconnect& node, std::vector<Subtree>& members, CanonicalHash& hash) {
  std::vector<std::string> codes;
  codes.reserve(members.size());
  for (const Subtree& member : members) codes.push_back(member.code);
  const NodeLinks links(node, members);
  const auto order = CanonicalOrder(codes, links);
  hash.Add(order.has_value());
  if (order.has_value()) {
    std::vector<Subtree> ordered;
    for (const std::size_t member : *order) ordered.push_back(std::move(members[member]));
    members = std::move(ordered);
  }
  const NodeLinks ordered_links(node, members);
  for (std::size_t a = 0; a < members.size(); ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      const auto [bandwidth, latency] = ordered_links(a, b);
      hash.Add(bandwidth);
      hash.Add(latency);
    }
  }
}

void OrderByCodes(const Joint& joint, std::vector<Subtree>& members, CanonicalHash& hash) {
  std::stable_sort(members.begin(), members.end(), [](const auto& a, const auto& b) { return a.code < b.code; });
  hash.Add(joint.bandwidth_bytes_per_second);
  hash.Add(joint.latency);
}

// The members of one group. A group of one is what its member is where nothing is joined.
Subtree Join(std::vector<Subtree> members, const Joint& joint) {
  const std::size_t position = members.front().position / joint.fan_out;
  if (members.size() > 1 || joint.counts_alone) {
    CanonicalHash hash(joint.node != nullptr ? "planwright.machine.1" : "planwright.group.1");
    if (joint.node != nullptr) {
      OrderByLinks(*joint.node, members, hash);
    } else {
      OrderByCodes(joint, members, hash);
    }
    hash.Add(members.size());
    for (const Subtree& member : members) hash.Add(member.code);
    for (std::size_t i = 1; i < members.size(); ++i) {
      std::vector<DeviceId>& devices = members.front().devices;
      devices.insert(devices.end(), members[i].devices.begin(), members[i].devices.end());
    }
    members.front().code = hash.Hex();
  }
  members.front().position = position;
  return std::move(members.front());
}

// The groups of one level. `members` by ascending position.
std::vector<Subtree> JoinAll(std::vector<Subtree> members, const Joint& joint) {
  std::vector<Subtree> groups;
  for (auto begin = members.begin(); begin != members.end();) {
    const std::size_t group = begin->position / joint.fan_out;
    const auto end = std::find_if(begin, members.end(),
                                  [&](const Subtree& other) { return other.position / joint.fan_out != group; });
    groups.push_back(Join({std::make_move_iterator(begin), std::make_move_iterator(end)}, joint));
    begin = end;
  }
  return groups;
}

// Devices that may be used and that the rules allow; empty: not to be shared.
std::vector<DeviceId> UsableDevices(const Cluster& cluster, const ModelLimits& limits,
                                    const DeviceSelection& selection) {
  Violations violations;
  ValidateCluster(cluster, limits, violations);
  if (!violations.empty()) return {};
  CheckSelection(cluster, selection, violations);
  if (!violations.empty()) return {};
  return SelectedDevices(cluster, selection);
}

// What joint plans depend on beside the devices that may be used: how many devices share ports, links of levels that
// all of them are below, and the order of classes.
void AddWhatJointPlansNeed(const Cluster& cluster, CanonicalHash& hash) {
  hash.Add(cluster.device_classes.size());
  for (const DeviceClass& device_class : cluster.device_classes) hash.Add(device_class.name);
  if (const auto* tree = std::get_if<HierarchyInterconnect>(&cluster.interconnect)) AddLevels(tree->levels, hash);
  const auto* nodes = std::get_if<NodesInterconnect>(&cluster.interconnect);
  if (nodes == nullptr) return;
  AddLevels(nodes->levels, hash);
  hash.Add(nodes->devices_per_node);
  hash.Add(nodes->bandwidth_bytes_per_second);
  hash.Add(nodes->latency);
  hash.Add(nodes->links.size());
  for (const NodesInterconnect::Link& link : nodes->links) {
    hash.Add(link.bandwidth_bytes_per_second);
    hash.Add(link.latency);
  }
}

// Calls devices by their positions. REQUIRES: every device that is named has one, but for devices_to_use.
v1::PlanningProblem WithPositions(v1::PlanningProblem problem, const std::vector<std::string>& devices) {
  std::unordered_map<std::string, std::size_t> positions;
  for (std::size_t i = 0; i < devices.size(); ++i) positions.emplace(devices[i], i);
  const auto rename = [&](std::string& device) { device = absl::StrCat(positions.at(device)); };
  for (v1::OperatorDevice& pair : *problem.mutable_pinned()) rename(*pair.mutable_device());
  for (v1::OperatorDevice& pair : *problem.mutable_forbidden()) rename(*pair.mutable_device());
  if (problem.has_start_from()) {
    for (auto& stage : *problem.mutable_start_from()->mutable_stages()) {
      for (std::string& device : *stage.mutable_devices()) rename(device);
      for (std::string& device : *stage.mutable_ring_order()) rename(device);
    }
  }
  const v1::DeviceSelection selection = problem.devices_to_use();
  problem.clear_devices_to_use();
  if (selection.has_max_devices()) problem.mutable_devices_to_use()->set_max_devices(selection.max_devices());
  return problem;
}

}  // namespace

std::optional<SharedProblem> ShareProblem(const OperatorGraph& graph, const Cluster& cluster, const ModelLimits& limits,
                                          const PlanningProblem& problem, const v1::PlanningProblem& resolved) {
  // Their names stand in the plan.
  if (!problem.absent_devices.empty()) return std::nullopt;
  std::vector<Joint> joints = std::visit(JointMaker{cluster.devices.size()}, cluster.interconnect);
  if (joints.empty()) return std::nullopt;
  for (Joint& joint : joints) joint.counts_alone = problem.joint.has_value();
  const std::vector<DeviceId> usable = UsableDevices(cluster, limits, problem.devices_to_use);
  const Roles roles(graph, problem);
  if (usable.empty() || !roles.AreWithin(usable)) return std::nullopt;
  std::vector<Subtree> subtrees;
  subtrees.reserve(usable.size());
  for (const DeviceId device : usable) subtrees.push_back(Leaf(cluster, roles, device));
  for (const Joint& joint : joints) subtrees = JoinAll(std::move(subtrees), joint);

  SharedProblem shared;
  for (const DeviceId device : subtrees.front().devices) shared.devices.push_back(cluster.devices[device.index()].name);
  CanonicalHash hash("planwright.shape.1");
  AddDeviceClasses(cluster, hash);
  hash.Add(InterconnectName(cluster.interconnect));
  hash.Add(subtrees.front().code);
  if (problem.joint.has_value()) AddWhatJointPlansNeed(cluster, hash);
  shared.cluster_digest = hash.Hex();
  shared.problem = WithPositions(resolved, shared.devices);
  return shared;
}

}  // namespace planwright::server
