#include "core/mapping/problem/ring_order.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/mapping/problem/evaluation.h"

namespace planwright {
namespace {

// The ring of one stage.
class RingOrdering {
 public:
  RingOrdering(const MappingInstance& instance, const LinkTimes& links, const SolveLimits& limits,
               const Mapping& mapping, int32_t stage)
      : instance_(instance), links_(links), limits_(limits), mapping_(mapping), stage_(stage) {}

  // Starts at replica 0; of replicas as near the first.
  std::vector<int32_t> NearestNeighbours() const {
    std::vector<int32_t> ring = FirstNumbers(Index(instance_.replicas.Of(stage_)));
    for (std::size_t i = 1; i + 1 < ring.size() && !CheckInterruption(limits_).has_value(); ++i) {
      const auto nearest =
          std::min_element(ring.begin() + static_cast<std::ptrdiff_t>(i), ring.end(), [&](int32_t a, int32_t b) {
            return std::pair(Time(ring[i - 1], a), a) < std::pair(Time(ring[i - 1], b), b);
          });
      std::swap(ring[i], *nearest);
    }
    return ring;
  }

  // Replaces the slowest link and another one by two that are faster than it, as long as there are such.
  void Improve(std::vector<int32_t>& ring) const {
    while (!CheckInterruption(limits_).has_value()) {
      const auto [slowest, time] = SlowestLink(ring);
      const std::size_t partner = PartnerOf(ring, slowest, time);
      if (partner == ring.size()) return;
      std::vector<int32_t> turned = ring;
      std::rotate(turned.begin(), turned.begin() + static_cast<std::ptrdiff_t>((slowest + 1) % ring.size()),
                  turned.end());
      const std::size_t length = (partner + ring.size() - slowest) % ring.size();
      std::reverse(turned.begin(), turned.begin() + static_cast<std::ptrdiff_t>(length));
      // The other way round the links in between may be slower, and some may be as slow as the one replaced.
      if (SlowestLinks(turned) >= SlowestLinks(ring)) return;
      ring = std::move(turned);
    }
  }

  // The time of the slowest link and how many there are.
  std::pair<double, std::size_t> SlowestLinks(const std::vector<int32_t>& ring) const {
    std::pair<double, std::size_t> slowest = {0, 0};
    for (std::size_t i = 0; i < ring.size(); ++i) {
      const double time = Time(ring[i], ring[(i + 1) % ring.size()]);
      if (time > slowest.first) slowest = {time, 0};
      if (time == slowest.first) ++slowest.second;
    }
    return slowest;
  }

 private:
  double Time(int32_t from, int32_t to) const {
    return links_
        .Between(mapping_.devices[instance_.VertexOf(stage_, from)], mapping_.devices[instance_.VertexOf(stage_, to)])
        .Of(instance_.allreduce_bytes[Index(stage_)], instance_.AllReduceHops(stage_));
  }

  // The place that the first slowest link leaves, and its time.
  std::pair<std::size_t, double> SlowestLink(const std::vector<int32_t>& ring) const {
    std::pair<std::size_t, double> slowest = {0, -1};
    for (std::size_t i = 0; i < ring.size(); ++i) {
      const double time = Time(ring[i], ring[(i + 1) % ring.size()]);
      if (time > slowest.second) slowest = {i, time};
    }
    return slowest;
  }

  // The place whose link is best replaced with the one that leaves `place`; ring.size(): none.
  std::size_t PartnerOf(const std::vector<int32_t>& ring, std::size_t place, double time) const {
    std::size_t best = ring.size();
    const std::size_t next = (place + 1) % ring.size();
    for (std::size_t other = 0; other < ring.size(); ++other) {
      if (other == place || other == next) continue;
      const double joined = std::max(Time(ring[place], ring[other]), Time(ring[next], ring[(other + 1) % ring.size()]));
      if (joined >= time) continue;
      time = joined;
      best = other;
    }
    return best;
  }

  const MappingInstance& instance_;
  const LinkTimes& links_;
  const SolveLimits& limits_;
  const Mapping& mapping_;
  int32_t stage_;
};

}  // namespace

Mapping OrderRings(const MappingInstance& instance, const LinkTimes& links, const SolveLimits& limits,
                   Mapping mapping) {
  if (!instance.free_ring_order) return mapping;
  for (std::size_t stage = 0; stage < mapping.rings.size(); ++stage) {
    if (mapping.rings[stage].size() < 2) continue;
    const auto id = static_cast<int32_t>(stage);
    const RingOrdering ordering(instance, links, limits, mapping, id);
    std::vector<int32_t> ring = ordering.NearestNeighbours();
    ordering.Improve(ring);
    ordering.Improve(mapping.rings[stage]);
    if (ordering.SlowestLinks(ring) >= ordering.SlowestLinks(mapping.rings[stage])) continue;
    const double before = AllReduceMs(instance, links, mapping, id);
    std::swap(ring, mapping.rings[stage]);
    // Bandwidth and latency count apart.
    if (AllReduceMs(instance, links, mapping, id) > before) std::swap(ring, mapping.rings[stage]);
  }
  return mapping;
}

}  // namespace planwright
