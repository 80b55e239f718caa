#include "core/partition/mip/throughput_program.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/base/index.h"

namespace planwright {
namespace {

using Entry = IntegerProgram::Entry;

class ThroughputBuilder {
 public:
  ThroughputBuilder(const NetInstance& instance, bool is_contiguous, Picoseconds upper, Picoseconds unit)
      : instance_(instance), blocks_(instance.blocks), is_contiguous_(is_contiguous), upper_(upper), unit_(unit) {}

  ThroughputProgram Build() && {
    result_.unit = unit_;
    program().title = Title();
    max_load_ = program().AddContinuous("MaxLoad", 0, Scaled(upper_.count()));
    program().columns[Index(max_load_)].objective = 1;
    AddPlaces();
    for (std::size_t device = 0; device < num_devices(); ++device) AddDevice(device);
    if (is_contiguous_) {
      AddOrder();
      AddPrecedence();
    } else if (!instance_.has_pins) {
      BreakSymmetry();
    }
    return std::move(result_);
  }

 private:
  IntegerProgram& program() { return result_.program; }
  std::size_t num_devices() const { return instance_.devices.size(); }
  const DevicePool& PoolOf(std::size_t device) const { return blocks_.pools[instance_.devices[device].pool]; }
  bool AreAlike(std::size_t a, std::size_t b) const { return instance_.devices[a].pool == instance_.devices[b].pool; }
  int32_t Place(int32_t group, std::size_t device) const { return result_.place[Index(group)][device]; }
  double Scaled(int64_t time) const { return static_cast<double>(time) / static_cast<double>(unit_.count()); }

  std::string Title() const {
    return absl::StrFormat(
        "Max load of %s splits of %d groups of operators on %d devices.\n"
        "1 of the objective is %.9f ms. x_G_D: group G is on device D; z_N_D: device D holds net N partly.\n",
        is_contiguous_ ? "contiguous" : "non-contiguous", instance_.num_groups(), num_devices(), ToMilliseconds(unit_));
  }

  void AddPlaces() {
    for (int32_t group = 0; group < instance_.num_groups(); ++group) {
      std::vector<int32_t>& places = result_.place.emplace_back();
      std::vector<Entry> somewhere;
      for (std::size_t device = 0; device < num_devices(); ++device) {
        places.push_back(program().AddBinary(absl::StrCat("x_", group, "_", device)));
        somewhere.push_back({places.back(), 1});
        const bool fits =
            instance_.may_run[Index(group)][device] && PoolOf(device).time[Index(group)] <= upper_.count();
        if (!fits) program().Fix(places.back(), 0);
      }
      program().AddEquals(absl::StrCat("one_", group), std::move(somewhere), 1);
    }
  }

  void AddDevice(std::size_t device) {
    const DevicePool& pool = PoolOf(device);
    std::vector<Entry> compute;
    compute.reserve(blocks_.operators.size() + blocks_.nets.size() + 1);
    for (int32_t group = 0; group < instance_.num_groups(); ++group) {
      compute.push_back({Place(group, device), Scaled(pool.time[Index(group)])});
    }
    const std::optional<int64_t>& memory_bytes = pool.memory_bytes;
    std::vector<Entry> transfers;
    std::vector<Entry> buffers;
    for (std::size_t index = 0; index < blocks_.nets.size(); ++index) {
      const Net& net = blocks_.nets[index];
      const bool pays = pool.pays_transfers && net.weight > 0;
      const bool buffered = memory_bytes.has_value() && net.buffer_bytes > 0;
      if (!pays && !buffered) continue;
      const int32_t partly = AddPartlyHeld(net, index, device);
      if (pays) transfers.push_back({partly, Scaled(net.weight)});
      if (buffered) buffers.push_back({partly, static_cast<double>(net.buffer_bytes)});
    }
    if (memory_bytes.has_value()) AddMemory(device, *memory_bytes, std::move(buffers));
    AddLoad(device, std::move(compute), std::move(transfers));
  }

  // z >= x_a - x_b around the net: 1 as soon as the device holds one end and not the next.
  int32_t AddPartlyHeld(const Net& net, std::size_t index, std::size_t device) {
    const int32_t partly = program().AddContinuous(absl::StrCat("z_", index, "_", device), 0, 1);
    for (std::size_t pin = 0; pin < net.blocks.size(); ++pin) {
      const int32_t a = Place(net.blocks[pin], device);
      const int32_t b = Place(net.blocks[(pin + 1) % net.blocks.size()], device);
      program().AddAtLeast(absl::StrCat("cut_", index, "_", device, "_", pin), {{partly, 1}, {a, -1}, {b, 1}}, 0);
    }
    return partly;
  }

  void AddLoad(std::size_t device, std::vector<Entry> compute, std::vector<Entry> transfers) {
    const Entry max_load{max_load_, -1};
    if (instance_.rule().overlap == Overlap::kSerial) {
      compute.insert(compute.end(), transfers.begin(), transfers.end());
    } else {
      // Under FULL_DUPLEX in and out are at best halves of what crosses.
      const double share = instance_.rule().overlap == Overlap::kFullDuplex ? 2 : 1;
      transfers.push_back({max_load_, -share});
      program().AddAtMost(absl::StrCat("transfers_", device), std::move(transfers), 0);
    }
    compute.push_back(max_load);
    program().AddAtMost(absl::StrCat("load_", device), std::move(compute), 0);
  }

  void AddMemory(std::size_t device, int64_t memory_bytes, std::vector<Entry> needs) {
    const UnitMemory& memory = blocks_.memory;
    const auto available = static_cast<double>(memory_bytes - memory.reserved);
    bool has_workspace = false;
    for (int32_t group = 0; group < instance_.num_groups(); ++group) {
      const double kept = static_cast<double>(memory.linear[Index(group)]) +
                          static_cast<double>(memory.parameters[Index(group)]) * memory.parameter_factor;
      needs.push_back({Place(group, device), kept});
      has_workspace = has_workspace || memory.workspace[Index(group)] > 0;
      if (kept > available) program().Fix(Place(group, device), 0);
    }
    if (has_workspace) needs.push_back({AddWorkspace(device), 1});
    const double unit = std::max(available, 1.0);
    for (Entry& entry : needs) entry.coefficient /= unit;
    program().AddAtMost(absl::StrCat("memory_", device), std::move(needs), std::max(available, 0.0) / unit);
  }

  int32_t AddWorkspace(std::size_t device) {
    const int32_t largest = program().AddContinuous(absl::StrCat("workspace_", device), 0, IntegerProgram::kInfinity);
    for (int32_t group = 0; group < instance_.num_groups(); ++group) {
      const auto bytes = static_cast<double>(blocks_.memory.workspace[Index(group)]);
      if (bytes == 0) continue;
      program().AddAtLeast(absl::StrCat("needs_workspace_", group, "_", device),
                           {{largest, 1}, {Place(group, device), -bytes}}, 0);
    }
    return largest;
  }

  // The i-th longest group is on one of the first i devices of its pool: others are renamed.
  void BreakSymmetry() {
    for (std::size_t first = 0; first < num_devices(); ++first) {
      if (first > 0 && AreAlike(first, first - 1)) continue;
      const DevicePool& pool = PoolOf(first);
      std::vector<int32_t> by_time = FirstNumbers(blocks_.operators.size());
      std::stable_sort(by_time.begin(), by_time.end(),
                       [&](int32_t a, int32_t b) { return pool.time[Index(a)] > pool.time[Index(b)]; });
      for (std::size_t rank = 0; rank < by_time.size() && rank + 1 < pool.devices.size(); ++rank) {
        for (std::size_t device = first + rank + 1; device < first + pool.devices.size(); ++device) {
          program().Fix(Place(by_time[rank], device), 0);
        }
      }
    }
  }

  // Adds one order of all devices; those of a pool are in theirs.
  void AddOrder() {
    const std::size_t count = num_devices();
    result_.before.assign(count, std::vector<int32_t>(count, -1));
    for (std::size_t a = 0; a < count; ++a) {
      for (std::size_t b = 0; b < count; ++b) {
        if (a == b) continue;
        result_.before[a][b] = program().AddBinary(absl::StrCat("before_", a, "_", b));
        if (AreAlike(a, b)) program().Fix(result_.before[a][b], a < b ? 1 : 0);
      }
    }
    for (std::size_t a = 0; a < count; ++a) {
      for (std::size_t b = a + 1; b < count; ++b) {
        program().AddEquals(absl::StrCat("ordered_", a, "_", b), {{result_.before[a][b], 1}, {result_.before[b][a], 1}},
                            1);
        for (std::size_t c = 0; c < count; ++c) {
          if (c == a || c == b) continue;
          AddTransitivity(a, b, c);
          AddTransitivity(b, a, c);
        }
      }
    }
  }

  void AddTransitivity(std::size_t a, std::size_t b, std::size_t c) {
    program().AddAtMost(absl::StrCat("transitive_", a, "_", b, "_", c),
                        {{result_.before[a][b], 1}, {result_.before[b][c], 1}, {result_.before[a][c], -1}}, 1);
  }

  void AddPrecedence() {
    for (int32_t from = 0; from < blocks_.precedence.num_vertices(); ++from) {
      for (const int32_t to : blocks_.precedence.successors(from)) AddEdge(from, to);
    }
  }

  // `to` on device b forbids `from` on later ones.
  void AddEdge(int32_t from, int32_t to) {
    for (std::size_t b = 0; b < num_devices(); ++b) {
      std::vector<Entry> later{{Place(to, b), 1}};
      for (std::size_t a = 0; a < num_devices(); ++a) {
        if (a == b) continue;
        if (AreAlike(a, b)) {
          if (a > b) later.push_back({Place(from, a), 1});
          continue;
        }
        program().AddAtMost(absl::StrCat("edge_", from, "_", to, "_", a, "_", b),
                            {{Place(from, a), 1}, {Place(to, b), 1}, {result_.before[a][b], -1}}, 1);
      }
      if (later.size() > 1) program().AddAtMost(absl::StrCat("edge_", from, "_", to, "_", b), std::move(later), 1);
    }
  }

  const NetInstance& instance_;
  const BlockInstance& blocks_;
  const bool is_contiguous_;
  const Picoseconds upper_;
  const Picoseconds unit_;
  ThroughputProgram result_;
  int32_t max_load_ = 0;
};

}  // namespace

std::vector<int32_t> ThroughputProgram::DeviceOf(const std::vector<double>& solution) const {
  std::vector<int32_t> device_of;
  for (const std::vector<int32_t>& columns : place) {
    const auto is_less = [&](int32_t a, int32_t b) { return solution[Index(a)] < solution[Index(b)]; };
    device_of.push_back(
        static_cast<int32_t>(std::max_element(columns.begin(), columns.end(), is_less) - columns.begin()));
  }
  return device_of;
}

std::vector<int32_t> ThroughputProgram::DeviceOrder(const std::vector<double>& solution) const {
  std::vector<int32_t> order = FirstNumbers(before.size());
  std::vector<int64_t> predecessors(before.size(), 0);
  for (std::size_t first = 0; first < before.size(); ++first) {
    for (std::size_t second = 0; second < before.size(); ++second) {
      if (first != second) predecessors[second] += std::llround(solution[Index(before[first][second])]);
    }
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](int32_t a, int32_t b) { return predecessors[Index(a)] < predecessors[Index(b)]; });
  return order;
}

NetInstance ContiguousNetInstance(const PlanningInput& input) {
  NetInstance instance;
  instance.blocks = BuildBlockInstance(input, MergeRule::kExact);
  for (std::size_t pool = 0; pool < instance.blocks.pools.size(); ++pool) {
    for (const DeviceId device : instance.blocks.pools[pool].devices) instance.devices.push_back({device, pool});
  }
  for (std::size_t block = 0; block < instance.blocks.operators.size(); ++block) {
    std::vector<bool>& may_run = instance.may_run.emplace_back();
    for (const NetDevice& device : instance.devices) {
      may_run.push_back(instance.blocks.pools[device.pool].supported[block]);
    }
  }
  return instance;
}

ThroughputProgram BuildThroughputProgram(const NetInstance& instance, bool is_contiguous, Picoseconds upper,
                                         Picoseconds unit) {
  return ThroughputBuilder(instance, is_contiguous, upper, unit).Build();
}

}  // namespace planwright
