#include "core/joint/cost/exchange.h"

#include <algorithm>

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
      devices_per_node_(query.devices_per_node),
      inside_(Reached(query.inside.value_or(inside), efficiency)),
      between_(Reached(query.between.value_or(furthest), efficiency)) {}

bool Exchange::Leaves(const RankGroup& group) const {
  return crosses_nodes_ && group.ranks * group.stride > devices_per_node_;
}

int64_t Exchange::InNode(const RankGroup& group) const {
  return std::clamp<int64_t>(devices_per_node_ / group.stride, 1, group.ranks);
}

TrainingLink Exchange::LinkOf(const RankGroup& group) const {
  if (!Leaves(group)) return inside_;
  const double ports = static_cast<double>(InNode(group)) * between_.bytes_per_second;
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
  const bool leaves = Leaves(group);
  const auto in_node = static_cast<double>(leaves ? InNode(group) : group.ranks);
  const double inside = bytes * (in_node - 1) / ranks / inside_.bytes_per_second;
  const double between = bytes * (ranks - in_node) / ranks / between_.bytes_per_second;
  const auto latency = static_cast<double>(leaves ? between_.latency_ps : inside_.latency_ps);
  return std::max(inside, between) * kPicosecondsPerSecond + latency;
}

}  // namespace planwright
