#include "core/cost/terms/transfer.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <variant>

#include "core/base/interruption.h"
#include "core/base/known.h"
#include "core/topology/grid.h"

namespace planwright {
namespace {

// Speed of all pairs of a host_staged or uniform interconnect.
LinkSpeed CommonSpeed(const Interconnect& interconnect) {
  if (const auto* staged = std::get_if<HostStagedInterconnect>(&interconnect)) {
    return {staged->bandwidth_bytes_per_second, staged->latency};
  }
  const auto& uniform = std::get<UniformInterconnect>(interconnect);
  return {uniform.bandwidth_bytes_per_second, uniform.latency};
}

Picoseconds TimeOver(const LinkSpeed& speed, int64_t bytes) {
  if (!speed.bandwidth_bytes_per_second.has_value()) return Picoseconds(0);
  const Picoseconds time = TransferTime(bytes, *speed.bandwidth_bytes_per_second);
  return Picoseconds(SaturatingAdd(time.count(), speed.latency.count()));
}

}  // namespace

TransferRules RulesOf(const Interconnect& interconnect) {
  const bool host_staged = std::holds_alternative<HostStagedInterconnect>(interconnect);
  return {.pay_once = host_staged, .cpus_pay = !host_staged};
}

bool GivenTimesCount(const Interconnect& interconnect) {
  return std::holds_alternative<HostStagedInterconnect>(interconnect) ||
         std::holds_alternative<UniformInterconnect>(interconnect);
}

LinkSpeed Slower(const LinkSpeed& a, const LinkSpeed& b) {
  return {std::min(a.bandwidth_bytes_per_second, b.bandwidth_bytes_per_second), std::max(a.latency, b.latency)};
}

Network::Network(const Interconnect& interconnect) : given_times_count_(GivenTimesCount(interconnect)) {
  if (given_times_count_) speeds_ = {CommonSpeed(interconnect)};
  if (const auto* hierarchy = std::get_if<HierarchyInterconnect>(&interconnect)) AddLevels(hierarchy->levels, 1);
  if (const auto* grid = std::get_if<GridInterconnect>(&interconnect)) AddDistances(*grid);
  if (const auto* links = std::get_if<LinksInterconnect>(&interconnect)) AddPairs(PairClasses(*links));
  if (const auto* matrix = std::get_if<MatrixInterconnect>(&interconnect)) AddPairs(PairClasses(*matrix));
  if (const auto* nodes = std::get_if<NodesInterconnect>(&interconnect)) AddNodes(*nodes);
}

void Network::AddLevels(const std::vector<HierarchyInterconnect::Level>& levels, std::size_t leaf_size) {
  std::size_t group_size = leaf_size;
  first_level_ = speeds_.size();
  for (const HierarchyInterconnect::Level& level : levels) {
    if (level.fan_out == 1) continue;
    group_size *= static_cast<std::size_t>(level.fan_out);
    group_sizes_.push_back(group_size);
    speeds_.push_back({level.bandwidth_bytes_per_second, level.latency});
  }
}

void Network::AddDistances(const GridInterconnect& grid) {
  if (grid.non_adjacent == GridInterconnect::NonAdjacent::kLinkBandwidth) {
    speeds_ = {{grid.link_bandwidth_bytes_per_second, grid.latency}};
    return;
  }
  distances_ = grid;
  for (int32_t hops = 1; hops <= GridDiameter(grid); ++hops) {
    speeds_.push_back({grid.link_bandwidth_bytes_per_second / hops, grid.latency});
  }
}

void Network::AddPairs(PairClasses pairs) {
  for (const Route& route : pairs.speeds()) speeds_.push_back({route.bandwidth_bytes_per_second, route.latency});
  pairs_ = std::make_shared<const PairClasses>(std::move(pairs));
}

void Network::AddNodes(const NodesInterconnect& nodes) {
  AddPairs(PairClasses(nodes));
  node_size_ = static_cast<std::size_t>(nodes.devices_per_node);
  AddLevels(nodes.levels, *node_size_);
}

std::size_t Network::LinkClassOf(DeviceId a, DeviceId b) const {
  InterruptionPoint();
  if (distances_.has_value()) return static_cast<std::size_t>(HopsBetween(*distances_, a, b) - 1);
  if (node_size_.has_value()) {
    const std::size_t size = *node_size_;
    if (a.index() / size != b.index() / size) return LevelClassOf(a, b);
    return pairs_->ClassOf(DeviceId(a.index() % size), DeviceId(b.index() % size));
  }
  if (pairs_ != nullptr) return pairs_->ClassOf(a, b);
  return group_sizes_.empty() ? 0 : LevelClassOf(a, b);
}

std::size_t Network::LevelClassOf(DeviceId a, DeviceId b) const {
  // The outermost group holds all devices, so no level beyond the last one is asked.
  std::size_t level = 0;
  while (level + 1 < group_sizes_.size() && a.index() / group_sizes_[level] != b.index() / group_sizes_[level]) ++level;
  return first_level_ + level;
}

LinkSpeed Network::FastestLink() const {
  LinkSpeed fastest = speeds_.front();
  for (const LinkSpeed& speed : speeds_) {
    fastest.bandwidth_bytes_per_second = std::max(fastest.bandwidth_bytes_per_second, speed.bandwidth_bytes_per_second);
    fastest.latency = std::min(fastest.latency, speed.latency);
  }
  return fastest;
}

LinkSpeed Network::SlowestLink() const {
  LinkSpeed slowest = speeds_.front();
  for (const LinkSpeed& speed : speeds_) slowest = Slower(slowest, speed);
  return slowest;
}

Picoseconds Network::TransferTime(const Tensor& tensor, std::size_t link_class) const {
  InterruptionPoint(/*units=*/4);
  if (given_times_count_ && tensor.transfer.has_value()) return *tensor.transfer;
  return TimeOver(speeds_[link_class], tensor.size_bytes);
}

Picoseconds TensorTransferTime(const Tensor& tensor, const Interconnect& interconnect) {
  if (tensor.transfer.has_value()) return *tensor.transfer;
  return TimeOver(CommonSpeed(interconnect), tensor.size_bytes);
}

bool GradientsFollowTensors(const OperatorGraph& graph, Workload workload) {
  return workload == Workload::kTraining && !HasBackwardOperators(graph);
}

LinkSpeed RingSpeed(const Network& network, const std::vector<DeviceId>& ring) {
  LinkSpeed slowest = network.speed(network.LinkClassOf(ring.back(), ring.front()));
  for (std::size_t i = 1; i < ring.size(); ++i) {
    slowest = Slower(slowest, network.speed(network.LinkClassOf(ring[i - 1], ring[i])));
  }
  return slowest;
}

int64_t ParameterBytes(const OperatorGraph& graph, const std::vector<OperatorId>& operators) {
  int64_t bytes = 0;
  for (const OperatorId op : operators) bytes += graph.operators[op.index()].parameter_bytes;
  return bytes;
}

Picoseconds AllReduceTime(int64_t parameter_bytes, int32_t replicas, const LinkSpeed& speed, AllReduce::Factor factor) {
  if (replicas == 1) return Picoseconds(0);
  const int64_t steps = 2 * (int64_t{replicas} - 1);
  const int64_t chunks = factor == AllReduce::Factor::kRing ? steps : steps / 2;
  const Picoseconds time = TransferTime(parameter_bytes, chunks, replicas, Known(speed.bandwidth_bytes_per_second));
  return Picoseconds(SaturatingAdd(time.count(), SaturatingMultiply(steps, speed.latency.count())));
}

}  // namespace planwright
