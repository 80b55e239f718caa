#include "core/mapping/prove/device_symmetry.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/base/index.h"
#include "core/base/random.h"

namespace planwright {
namespace {

// Networks with more kinds of links than that are irregular: their blocks are not looked for.
constexpr std::size_t kMostSpeeds = 64;

uint64_t Mix(uint64_t a, uint64_t b, uint64_t salt) { return RandomStream(a ^ salt, b).Next(); }

uint64_t LinkHash(const ReplicaModel& model, int32_t device, int32_t other) {
  return Mix(Index(other), (model.ClassOf(device, other) << 32U) + model.ClassOf(other, device), 0);
}

// Whether exchanging two disjoint lists of devices, position by position, leaves all links and kinds as they are.
bool CanExchange(const ReplicaModel& model, const std::vector<int32_t>& a, const std::vector<int32_t>& b) {
  std::vector<int32_t> image = FirstNumbers(Index(model.num_devices()));
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (model.KindOf(a[i]) != model.KindOf(b[i])) return false;
    std::swap(image[Index(a[i])], image[Index(b[i])]);
  }
  const auto keeps_links = [&](int32_t device) {
    for (int32_t other = 0; other < model.num_devices(); ++other) {
      if (other == device) continue;
      const int32_t to = image[Index(device)];
      const int32_t to_other = image[Index(other)];
      if (model.ClassOf(device, other) != model.ClassOf(to, to_other)) return false;
      if (model.ClassOf(other, device) != model.ClassOf(to_other, to)) return false;
    }
    return true;
  };
  return std::all_of(a.begin(), a.end(), keeps_links) && std::all_of(b.begin(), b.end(), keeps_links);
}

}  // namespace

DeviceSymmetry::DeviceSymmetry(const ReplicaModel& model)
    : twins_of_(FirstNumbers(Index(model.num_devices()))), block_of_(Index(model.num_devices()), 0), block_kind_({0}) {}

DeviceSymmetry DeviceSymmetry::None(const ReplicaModel& model) {
  DeviceSymmetry symmetry(model);
  symmetry.NumberRoles();
  return symmetry;
}

DeviceSymmetry DeviceSymmetry::Of(const ReplicaModel& model, const SolveLimits& limits) {
  if (model.num_devices() > kMostDevices) return None(model);
  DeviceSymmetry symmetry(model);
  Poller poller(limits);
  symmetry.FindTwins(model, poller);
  symmetry.FindBlocks(model, poller);
  if (poller.ShouldStopNow()) return None(model);
  symmetry.NumberRoles();
  return symmetry;
}

// Being twins is transitive, so the lowest device of each group stands for it.
void DeviceSymmetry::FindTwins(const ReplicaModel& model, Poller& poller) {
  const int32_t count = model.num_devices();
  std::vector<uint64_t> hash(Index(count), 0);
  for (int32_t device = 0; device < count && !poller.ShouldStopNow(); ++device) {
    for (int32_t other = 0; other < count; ++other) {
      if (other != device) hash[Index(device)] += LinkHash(model, device, other);
    }
  }
  std::vector<int32_t> firsts;
  for (int32_t device = 0; device < count && !poller.ShouldStopNow(); ++device) {
    const auto is_twin = [&](int32_t first) {
      return hash[Index(device)] - LinkHash(model, device, first) ==
                 hash[Index(first)] - LinkHash(model, first, device) &&
             CanExchange(model, {first}, {device});
    };
    const auto found = std::find_if(firsts.begin(), firsts.end(), is_twin);
    twins_of_[Index(device)] = static_cast<int32_t>(found - firsts.begin());
    if (found == firsts.end()) firsts.push_back(device);
  }
}

void DeviceSymmetry::FindBlocks(const ReplicaModel& model, Poller& poller) {
  std::vector<double> speeds;
  for (int32_t device = 0; device < model.num_devices(); ++device) {
    for (const NearDevice& near : model.NearOf(device)) {
      if (std::find(speeds.begin(), speeds.end(), near.ms_per_byte) != speeds.end()) continue;
      speeds.push_back(near.ms_per_byte);
      if (speeds.size() > kMostSpeeds) return;
    }
  }
  std::sort(speeds.begin(), speeds.end());
  for (const double speed : speeds) {
    if (poller.ShouldStopNow() || TryBlocks(model, speed, poller)) return;
  }
}

bool DeviceSymmetry::TryBlocks(const ReplicaModel& model, double most_ms_per_byte, Poller& poller) {
  const std::vector<int32_t> labels = model.PartsWithin(most_ms_per_byte);
  std::vector<std::vector<int32_t>> blocks(Index(*std::max_element(labels.begin(), labels.end())) + 1);
  for (int32_t device = 0; device < model.num_devices(); ++device) {
    blocks[Index(labels[Index(device)])].push_back(device);
  }
  if (blocks.size() == 1) return false;
  std::vector<int32_t> kinds;
  bool are_some_alike = false;
  for (std::size_t block = 0; block < blocks.size(); ++block) {
    if (poller.ShouldStopNow()) return false;
    auto kind = static_cast<int32_t>(block);
    for (std::size_t other = 0; other < block && Index(kind) == block; ++other) {
      if (Index(kinds[other]) != other || blocks[other].size() != blocks[block].size()) continue;
      if (CanExchange(model, blocks[other], blocks[block])) kind = static_cast<int32_t>(other);
    }
    are_some_alike = are_some_alike || (Index(kind) != block && blocks[block].size() > 1);
    kinds.push_back(kind);
  }
  if (!are_some_alike) return false;
  block_of_ = labels;
  block_kind_ = std::move(kinds);
  return true;
}

// Numbers groups of twins by their lowest devices, which exchanging blocks keeps in order. Twins of different blocks
// are blocks of one device that are alike: those are told apart, so that the key of a block speaks of its own devices
// only.
void DeviceSymmetry::NumberRoles() {
  std::map<std::pair<int32_t, int32_t>, int32_t> groups;
  std::vector<int32_t> next(block_kind_.size(), 0);
  for (std::size_t device = 0; device < twins_of_.size(); ++device) {
    const auto [group, is_new] =
        groups.try_emplace({twins_of_[device], block_of_[device]}, static_cast<int32_t>(groups.size()));
    if (is_new) {
      twin_groups_.emplace_back();
      role_.push_back(next[Index(block_of_[device])]++);
    }
    twins_of_[device] = group->second;
    twin_groups_[Index(group->second)].push_back(static_cast<int32_t>(device));
  }
}

std::vector<FreeSetKey> DeviceSymmetry::BlockKeys(const std::function<bool(int32_t)>& is_free) const {
  std::vector<FreeSetKey> keys(block_kind_.size());
  for (std::size_t group = 0; group < twin_groups_.size(); ++group) {
    const auto count =
        static_cast<uint64_t>(std::count_if(twin_groups_[group].begin(), twin_groups_[group].end(), is_free));
    if (count == 0) continue;
    FreeSetKey& key = keys[Index(block_of_[Index(twin_groups_[group].front())])];
    key.first += Mix(Index(role_[group]), count, 1);
    key.second += Mix(Index(role_[group]), count, 2);
  }
  return keys;
}

FreeSetKey DeviceSymmetry::KeyOf(const std::vector<FreeSetKey>& block_keys, int32_t salt) const {
  FreeSetKey key{.first = Index(salt), .second = 0};
  for (std::size_t block = 0; block < block_keys.size(); ++block) {
    const auto kind = Index(block_kind_[block]);
    key.first += Mix(block_keys[block].first, kind, 3);
    key.second += Mix(block_keys[block].second, kind, 4);
  }
  return key;
}

}  // namespace planwright
