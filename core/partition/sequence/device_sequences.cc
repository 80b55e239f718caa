#include "core/partition/sequence/device_sequences.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <set>
#include <utility>

#include "core/base/index.h"
#include "core/base/interruption.h"

namespace planwright {
namespace {

// Devices from which sequences to the nearest ones begin.
constexpr std::size_t kMostFirstDevices = 8;
// More pairs would take too long to look at.
constexpr std::size_t kMostDevicesToCompare = 2048;

DeviceSequence InClusterOrder(const SearchRequest& request) {
  DeviceSequence sequence;
  for (std::size_t i = 0; i < request.cluster.devices.size(); ++i) sequence.emplace_back(i);
  return sequence;
}

// What all operators that it can run take on the class of the device.
std::vector<int64_t> TimesOfDevices(const SearchRequest& request) {
  std::vector<int64_t> of_class(request.cluster.device_classes.size(), 0);
  for (std::size_t i = 0; i < of_class.size(); ++i) {
    InterruptionPoint(2 * request.graph.operators.size());
    for (std::size_t op = 0; op < request.graph.operators.size(); ++op) {
      of_class[i] = SaturatingAdd(of_class[i], request.costs.time(OperatorId(op), DeviceClassId(i)).total().count());
    }
  }
  return Mapped(request.cluster.devices, [&](const Device& device) { return of_class[device.device_class.index()]; });
}

std::vector<int64_t> MemoryOfDevices(const SearchRequest& request) {
  return MappedNumbers(request.cluster.devices.size(), [&](std::size_t i) {
    return UsableMemoryBytes(request.cluster, DeviceId(i)).value_or(kMaxQuantity);
  });
}

bool AreAlike(const std::vector<int64_t>& values) {
  return std::ranges::adjacent_find(values, std::not_equal_to<>()) == values.end();
}

bool ClassesDiffer(const Cluster& cluster) {
  return std::ranges::adjacent_find(cluster.devices, [](const Device& a, const Device& b) {
           return a.device_class != b.device_class;
         }) != cluster.devices.end();
}

DeviceSequence Ascending(DeviceSequence sequence, const std::vector<int64_t>& values) {
  std::ranges::stable_sort(sequence, {}, [&](DeviceId device) { return values[device.index()]; });
  return sequence;
}

DeviceSequence Nearest(const SearchRequest& request, DeviceSequence sequence) {
  const Network& network = request.costs.network();
  // The smallest id wins among equals: what is left stays sorted but for its first device.
  for (std::size_t i = 1; i + 1 < sequence.size(); ++i) {
    InterruptionPoint(16 * sequence.size());
    std::sort(sequence.begin() + static_cast<std::ptrdiff_t>(i), sequence.end());
    std::size_t nearest = i;
    for (std::size_t j = i + 1; j < sequence.size(); ++j) {
      const LinkSpeed& known = network.speed(network.LinkClassOf(sequence[i - 1], sequence[nearest]));
      const LinkSpeed& speed = network.speed(network.LinkClassOf(sequence[i - 1], sequence[j]));
      const auto key = [](const LinkSpeed& link) {
        return std::pair(-link.bandwidth_bytes_per_second.value_or(0), link.latency);
      };
      if (key(speed) < key(known)) nearest = j;
    }
    std::swap(sequence[i], sequence[nearest]);
  }
  return sequence;
}

}  // namespace

bool DevicesDiffer(const SearchRequest& request) {
  return request.costs.network().num_link_classes() > 1 || ClassesDiffer(request.cluster) ||
         !AreAlike(MemoryOfDevices(request)) || !request.problem.pinned.empty() || !request.problem.forbidden.empty();
}

DeviceSequence WithinLimits(const SearchRequest& request, const DeviceSequence& sequence) {
  std::vector<int64_t> left = Mapped(request.device_limits, [&](const DeviceLimit& limit) { return limit.most; });
  DeviceSequence kept;
  for (const DeviceId device : sequence) {
    std::vector<std::size_t> counting;
    for (std::size_t i = 0; i < left.size(); ++i) {
      if (std::ranges::binary_search(request.device_limits[i].devices, device)) counting.push_back(i);
    }
    if (std::ranges::any_of(counting, [&](std::size_t limit) { return left[limit] == 0; })) continue;
    for (const std::size_t limit : counting) --left[limit];
    kept.push_back(device);
  }
  return kept;
}

std::vector<DeviceSequence> DeviceSequences(const SearchRequest& request) {
  std::vector<DeviceSequence> sequences;
  std::set<DeviceSequence> known;
  const auto add = [&](const DeviceSequence& sequence) {
    DeviceSequence within = WithinLimits(request, sequence);
    if (!within.empty() && known.insert(within).second) sequences.push_back(std::move(within));
  };
  const DeviceSequence plain = InClusterOrder(request);
  add(plain);
  if (!DevicesDiffer(request)) return sequences;
  const DeviceSequence reversed(plain.rbegin(), plain.rend());
  add(reversed);
  for (const std::vector<int64_t>& values : {MemoryOfDevices(request), TimesOfDevices(request)}) {
    if (AreAlike(values)) continue;
    const DeviceSequence ascending = Ascending(plain, values);
    const DeviceSequence descending = Ascending(reversed, values);
    add(DeviceSequence(descending.rbegin(), descending.rend()));
    add(ascending);
  }
  if (request.costs.network().num_link_classes() < 2 || plain.size() > kMostDevicesToCompare) return sequences;
  const std::size_t stride = (plain.size() + kMostFirstDevices - 1) / kMostFirstDevices;
  for (std::size_t first = 0; first < plain.size(); first += stride) {
    DeviceSequence begun = plain;
    std::swap(begun.front(), begun[first]);
    add(Nearest(request, std::move(begun)));
  }
  return sequences;
}

DeviceSequence Completed(const SearchRequest& request, DeviceSequence sequence) {
  std::vector<bool> is_there(request.cluster.devices.size(), false);
  for (const DeviceId device : sequence) is_there[device.index()] = true;
  for (std::size_t i = 0; i < is_there.size(); ++i) {
    if (!is_there[i]) sequence.emplace_back(i);
  }
  return sequence;
}

DeviceSequence InLanes(const DeviceSequence& sequence, int32_t replicas) {
  const std::size_t length = sequence.size() / Index(replicas);
  DeviceSequence lanes;
  for (std::size_t i = 0; i < length; ++i) {
    for (std::size_t lane = 0; lane < Index(replicas); ++lane) lanes.push_back(sequence[lane * length + i]);
  }
  return lanes;
}

DeviceSequence Varied(DeviceSequence sequence, RandomStream& random) {
  const std::size_t size = sequence.size();
  const auto a = static_cast<std::ptrdiff_t>(random.Below(size));
  const auto b = static_cast<std::ptrdiff_t>(random.Below(size));
  const auto [low, high] = std::minmax(a, b);
  const auto first = sequence.begin() + low;
  const auto last = sequence.begin() + high;
  switch (random.Below(4)) {
    case 0:
      std::iter_swap(first, last);
      break;
    case 1:
      std::reverse(first, last + 1);
      break;
    case 2:
      std::rotate(first, first + 1, last + 1);
      break;
    default:
      std::rotate(first, last, last + 1);
  }
  return sequence;
}

}  // namespace planwright
