#include "core/mapping/prove/machine_tiles.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <set>
#include <utility>

#include "core/mapping/prove/load_bounds.h"

namespace planwright {
namespace {

constexpr std::size_t kMostWays = 200;

using Digits = std::array<int32_t, 3>;

int32_t Product(const Digits& digits) { return digits[0] * digits[1] * digits[2]; }

// All ways to write `product` with digits that divide those of `most`.
std::vector<Digits> Factorizations(int32_t product, const Digits& most) {
  std::vector<Digits> all;
  for (int32_t a = 1; a <= std::min(product, most[0]); ++a) {
    if (product % a != 0 || most[0] % a != 0) continue;
    for (int32_t b = 1; b <= std::min(product / a, most[1]); ++b) {
      const int32_t c = product / a / b;
      if (product / a % b == 0 && most[1] % b == 0 && most[2] % c == 0) all.push_back({a, b, c});
    }
  }
  return all;
}

// The boxes that fill the machine, in order of their lowest devices; devices of each ascending.
MachineTiles BoxesOf(const Digits& machine, const Digits& box) {
  const Digits count = {machine[0] / box[0], machine[1] / box[1], machine[2] / box[2]};
  MachineTiles tiles(Index(Product(count)));
  for (int32_t device = 0; device < Product(machine); ++device) {
    const int32_t x = device % machine[0] / box[0];
    const int32_t y = device / machine[0] % machine[1] / box[1];
    const int32_t z = device / machine[0] / machine[1] / box[2];
    tiles[Index((z * count[1] + y) * count[0] + x)].push_back(device);
  }
  return tiles;
}

bool AreAlike(const ReplicaModel& model, const std::vector<int32_t>& a, const std::vector<int32_t>& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (model.KindOf(a[i]) != model.KindOf(b[i])) return false;
    for (std::size_t j = 0; j < a.size(); ++j) {
      if (i != j && model.ClassOf(a[i], a[j]) != model.ClassOf(b[i], b[j])) return false;
    }
  }
  return true;
}

double BoundOf(const ReplicaModel& model, const std::vector<int32_t>& tile) {
  const MappingInstance instance = InstanceOfTile(model, tile);
  const ReplicaModel part(instance, model.link_times());
  return StarBound(part, StarLoads(part, {}));
}

}  // namespace

std::vector<MachineTiles> TilesOf(const ReplicaModel& model, int32_t most_devices, Poller& poller) {
  const int32_t devices = model.num_devices();
  const int32_t stages = model.num_stages();
  std::vector<std::pair<double, MachineTiles>> ways;
  if (devices != stages * model.num_replicas()) return {};
  std::set<std::vector<int32_t>> seen;
  for (const Digits& machine : Factorizations(devices, {devices, devices, devices})) {
    for (int32_t size = stages; size <= std::min(most_devices, devices / 2); size += stages) {
      for (const Digits& box : Factorizations(size, machine)) {
        if (ways.size() >= kMostWays || poller.ShouldStopNow()) break;
        MachineTiles tiles = BoxesOf(machine, box);
        if (!seen.insert(tiles.front()).second) continue;
        const auto is_alike = [&](const auto& tile) { return AreAlike(model, tiles.front(), tile); };
        if (!std::all_of(tiles.begin(), tiles.end(), is_alike)) continue;
        const double bound = BoundOf(model, tiles.front());
        ways.emplace_back(bound, std::move(tiles));
      }
    }
  }
  std::stable_sort(ways.begin(), ways.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<MachineTiles> all;
  all.reserve(ways.size());
  for (auto& [bound, tiles] : ways) all.push_back(std::move(tiles));
  return all;
}

MappingInstance InstanceOfTile(const ReplicaModel& model, const std::vector<int32_t>& tile) {
  MappingInstance instance = model.instance();
  std::fill(instance.device_kind.begin(), instance.device_kind.end(), -1);
  for (const int32_t device : tile) instance.device_kind[model.device(device).index()] = model.KindOf(device);
  instance.replicas = StageReplicas(model.num_stages(), static_cast<int32_t>(tile.size()) / model.num_stages());
  return instance;
}

}  // namespace planwright
