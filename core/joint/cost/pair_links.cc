#include "core/joint/cost/pair_links.h"

#include <algorithm>
#include <cstddef>

namespace planwright {
namespace {

void Add(const PairLinks& pairs, DeviceId a, DeviceId b, TrainingLink& slowest) {
  if (a != b) slowest = Slower(slowest, pairs.Between(a, b));
}

}  // namespace

TrainingLink Slower(const TrainingLink& a, const TrainingLink& b) {
  return {std::min(a.bytes_per_second, b.bytes_per_second), std::max(a.latency_ps, b.latency_ps)};
}

StageLinks LinksWithin(const PairLinks& pairs, std::span<const DeviceId> ranks, const Degrees& degrees) {
  StageLinks links;
  const auto tensor = static_cast<std::size_t>(degrees.tensor);
  const std::size_t copies = ranks.size() / tensor;
  const bool in_rings = degrees.context == 1 && degrees.expert == 1;
  for (std::size_t copy = 0; copy < copies; ++copy) {
    for (std::size_t part = 0; part < tensor; ++part) {
      const DeviceId own = ranks[copy * tensor + part];
      Add(pairs, own, ranks[copy * tensor + (part + 1) % tensor], links.tensor);
      const std::size_t last = in_rings ? copy + 1 : copies - 1;
      for (std::size_t other = copy + 1; other <= last; ++other) {
        Add(pairs, own, ranks[other % copies * tensor + part], links.copies);
      }
    }
  }
  return links;
}

TrainingLink LinkAcross(const PairLinks& pairs, std::span<const DeviceId> a, std::span<const DeviceId> b) {
  TrainingLink slowest = kNoLink;
  const std::size_t most = std::max(a.size(), b.size());
  for (std::size_t rank = 0; rank < most; ++rank) {
    Add(pairs, a[rank * a.size() / most], b[rank * b.size() / most], slowest);
  }
  return slowest;
}

}  // namespace planwright
