#include "core/joint/cost/exchange.h"

#include <algorithm>
#include <numeric>

#include "core/base/units.h"

namespace planwright {
namespace {

TrainingLink Reached(TrainingLink link, double efficiency) {
  link.bytes_per_second *= efficiency;
  return link;
}

}  // namespace

Exchange::Exchange(const PriceQuery& query, const TrainingLink& inside, const TrainingLink& furthest, double efficiency)
    : crosses_nodes_(query.crosses_nodes),
      devices_(query.degrees.devices()),
      devices_per_node_(query.devices_per_node),
      inside_(Reached(query.inside.value_or(inside), efficiency)),
      between_(Reached(query.between.value_or(furthest), efficiency)) {}

bool Exchange::Leaves(const RankGroup& group) const {
  return crosses_nodes_ && devices_per_node_ % (group.ranks * group.stride) != 0;
}

Exchange::RanksInNodes Exchange::InNodes(const RankGroup& group) const {
  if (!Leaves(group)) return {group.ranks, group.ranks};
  const int64_t node = devices_per_node_;
  const int64_t devices = group.ranks * group.stride;
  RanksInNodes ranks{group.ranks, 1};
  // Of neighbouring devices in one node; neighbouring groups share them in turn.
  const auto add = [&](int64_t count) {
    if (count == 0) return;
    ranks.least = std::min(ranks.least, std::max<int64_t>(1, count / group.stride));
    ranks.most = std::max(ranks.most, CeilDivide(count, group.stride));
  };
  const int64_t different = node / std::gcd(node, devices);
  for (int64_t first = 0; first < std::min(devices_, different * devices); first += devices) {
    const int64_t in_first = std::min(devices, node - first % node);
    add(in_first);
    add(std::min(node, (devices - in_first) / node * node));
    add((devices - in_first) % node);
  }
  return ranks;
}

TrainingLink Exchange::LinkOf(const RankGroup& group) const {
  if (!Leaves(group)) return inside_;
  const double ports = static_cast<double>(InNodes(group).least) * between_.bytes_per_second;
  return {std::min(inside_.bytes_per_second, ports), between_.latency_ps};
}

double Exchange::Ring(double bytes, const RankGroup& group) const {
  if (group.ranks <= 1 || bytes <= 0) return 0;
  const auto ranks = static_cast<double>(group.ranks);
  const TrainingLink link = LinkOf(group);
  return bytes * (ranks - 1) / ranks / link.bytes_per_second * kPicosecondsPerSecond +
         static_cast<double>(link.latency_ps);
}

double Exchange::Received(double bytes, const RankGroup& group) const {
  if (group.ranks <= 1 || bytes <= 0) return 0;
  const TrainingLink link = LinkOf(group);
  return bytes / link.bytes_per_second * kPicosecondsPerSecond + static_cast<double>(link.latency_ps);
}

double Exchange::AllToAll(double bytes, const RankGroup& group) const {
  if (group.ranks <= 1 || bytes <= 0) return 0;
  const auto ranks = static_cast<double>(group.ranks);
  const auto [least, most] = InNodes(group);
  const double inside = bytes * static_cast<double>(most - 1) / ranks / inside_.bytes_per_second;
  const double between = bytes * (ranks - static_cast<double>(least)) / ranks / between_.bytes_per_second;
  const auto latency = static_cast<double>(Leaves(group) ? between_.latency_ps : inside_.latency_ps);
  return std::max(inside, between) * kPicosecondsPerSecond + latency;
}

}  // namespace planwright
