#include "core/partition/mip/latency_program.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/base/index.h"

namespace planwright {
namespace {

using Entry = IntegerProgram::Entry;

constexpr int32_t kNoColumn = -1;

// The columns of one slot.
struct Slot {
  int32_t accelerator = 0;
  Pass pass = Pass::kForward;
  int32_t number = 0;
  int32_t start = kNoColumn;
  int32_t finish = kNoColumn;
};

class LatencyBuilder {
 public:
  LatencyBuilder(const LatencyInstance& instance, int32_t slots_per_pass, Picoseconds upper)
      : instance_(instance), upper_(upper) {
    result_.unit = upper;
    result_.slots_per_pass = slots_per_pass;
  }

  LatencyProgram Build() && {
    program().title = Title();
    total_latency_ = program().AddContinuous("TotalLatency", 0, 1);
    program().columns[Index(total_latency_)].objective = 1;
    AddSlots();
    AddPlaces();
    AddColocation();
    AddLatencies();
    for (std::size_t slot = 0; slot < slots_.size(); ++slot) AddSubgraph(slot);
    for (int32_t accelerator = 0; accelerator < instance_.num_accelerators(); ++accelerator) {
      AddSequence(accelerator);
      AddMemory(accelerator);
    }
    BreakSymmetry();
    return std::move(result_);
  }

 private:
  IntegerProgram& program() { return result_.program; }
  double Scaled(int64_t time) const { return static_cast<double>(time) / static_cast<double>(upper_.count()); }
  int32_t cpu() const { return static_cast<int32_t>(slots_.size()); }
  Pass PassOf(int32_t vertex) const { return instance_.pass[Index(vertex)]; }

  // The column that says that the vertex is in the slot; kNoColumn: it never is.
  int32_t Place(int32_t vertex, int32_t slot) const {
    return result_.place[Index(instance_.bundle_of[Index(vertex)])][Index(slot)];
  }
  bool MayHold(std::size_t slot, int32_t vertex) const { return PassOf(vertex) == slots_[slot].pass; }
  std::size_t FirstSlot(int32_t accelerator, int32_t pass) const {
    return Index((accelerator * instance_.num_passes + pass) * result_.slots_per_pass);
  }

  std::string Title() const {
    return absl::StrFormat(
        "Latency of %d operators on %d accelerators with %d subgraphs of each pass and a pool of CPUs.\n"
        "1 of the objective is %.9f ms. x_B_S: bundle B is in slot S; x_B_cpu: on the CPUs; in_T_S, out_T_S: slot S "
        "receives, sends tensor T.\n",
        instance_.num_vertices(), instance_.num_accelerators(), result_.slots_per_pass, ToMilliseconds(upper_));
  }

  void AddSlots() {
    for (int32_t accelerator = 0; accelerator < instance_.num_accelerators(); ++accelerator) {
      for (int32_t pass = 0; pass < instance_.num_passes; ++pass) {
        for (int32_t number = 0; number < result_.slots_per_pass; ++number) {
          const std::size_t index = slots_.size();
          Slot slot{accelerator, pass == 0 ? Pass::kForward : Pass::kBackward, number, kNoColumn, kNoColumn};
          slot.start = program().AddContinuous(absl::StrCat("start_", index), 0, 1);
          slot.finish = program().AddContinuous(absl::StrCat("finish_", index), 0, 1);
          result_.start.push_back(slot.start);
          slots_.push_back(slot);
        }
      }
    }
  }

  // (1) and what is not allowed.
  void AddPlaces() {
    for (std::size_t bundle = 0; bundle < instance_.bundles.size(); ++bundle) {
      const int32_t vertex = instance_.bundles[bundle].front();
      const std::size_t group = Index(instance_.group_of[Index(vertex)]);
      std::vector<int32_t>& places = result_.place.emplace_back(slots_.size() + 1, kNoColumn);
      std::vector<Entry> somewhere;
      for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
        if (!MayHold(slot, vertex)) continue;
        places[slot] = program().AddBinary(absl::StrCat("x_", bundle, "_", slot));
        somewhere.push_back({places[slot], 1});
        if (!instance_.allowed[group][Index(slots_[slot].accelerator)]) program().Fix(places[slot], 0);
      }
      places.back() = program().AddBinary(absl::StrCat("x_", bundle, "_cpu"));
      somewhere.push_back({places.back(), 1});
      if (!instance_.allowed_on_cpu[group]) program().Fix(places.back(), 0);
      program().AddEquals(absl::StrCat("one_", bundle), std::move(somewhere), 1);
    }
  }

  // All bundles of a group are on one device.
  void AddColocation() {
    for (const std::vector<int32_t>& members : instance_.groups) {
      const int32_t first = instance_.bundle_of[Index(members.front())];
      std::vector<int32_t> bundles =
          Mapped(members, [&](const int32_t vertex) { return instance_.bundle_of[Index(vertex)]; });
      std::sort(bundles.begin(), bundles.end());
      bundles.erase(std::unique(bundles.begin(), bundles.end()), bundles.end());
      for (const int32_t bundle : bundles) {
        if (bundle != first) Colocate(first, bundle);
      }
    }
  }

  void Colocate(int32_t first, int32_t second) {
    const auto& a = result_.place[Index(first)];
    const auto& b = result_.place[Index(second)];
    program().AddEquals(absl::StrCat("same_", second, "_cpu"), {{a.back(), 1}, {b.back(), -1}}, 0);
    const std::size_t slots_each = Index(instance_.num_passes * result_.slots_per_pass);
    for (int32_t accelerator = 0; accelerator < instance_.num_accelerators(); ++accelerator) {
      std::vector<Entry> difference;
      for (std::size_t slot = FirstSlot(accelerator, 0); slot < FirstSlot(accelerator, 0) + slots_each; ++slot) {
        if (a[slot] != kNoColumn) difference.push_back({a[slot], 1});
        if (b[slot] != kNoColumn) difference.push_back({b[slot], -1});
      }
      program().AddEquals(absl::StrCat("same_", second, "_", accelerator), std::move(difference), 0);
    }
  }

  // (8), (9), and TotalLatency.
  void AddLatencies() {
    for (int32_t vertex = 0; vertex < instance_.num_vertices(); ++vertex) {
      latency_.push_back(program().AddContinuous(absl::StrCat("latency_", vertex), 0, 1));
    }
    for (int32_t vertex = 0; vertex < instance_.num_vertices(); ++vertex) {
      const int32_t latency = latency_[Index(vertex)];
      program().AddAtLeast(absl::StrCat("last_", vertex), {{total_latency_, 1}, {latency, -1}}, 0);
      const int32_t on_cpu = Place(vertex, cpu());
      const double time = Scaled(instance_.cpu_time[Index(vertex)]);
      program().AddAtLeast(absl::StrCat("takes_", vertex), {{latency, 1}, {on_cpu, -time}}, 0);
      for (const int32_t before : instance_.precedence.predecessors(vertex)) {
        program().AddAtLeast(absl::StrCat("waits_", vertex, "_", before),
                             {{latency, 1}, {latency_[Index(before)], -1}, {on_cpu, -time}}, 0);
      }
      if (time > 1) program().Fix(on_cpu, 0);
    }
  }

  void AddSubgraph(std::size_t slot) {
    std::vector<Entry> duration{{slots_[slot].finish, 1}, {slots_[slot].start, -1}};
    const DevicePool& times = instance_.pool_of(slots_[slot].accelerator);
    for (int32_t vertex = 0; vertex < instance_.num_vertices(); ++vertex) {
      if (!MayHold(slot, vertex)) continue;
      duration.push_back({Place(vertex, static_cast<int32_t>(slot)), -Scaled(times.time[Index(vertex)])});
      // (10)
      program().AddAtLeast(
          absl::StrCat("ends_", vertex, "_", slot),
          {{latency_[Index(vertex)], 1}, {slots_[slot].finish, -1}, {Place(vertex, static_cast<int32_t>(slot)), -1}},
          -1);
    }
    buffers_of_slot_.emplace_back();
    for (std::size_t tensor = 0; tensor < instance_.tensors.size(); ++tensor) AddTransfers(slot, tensor, duration);
    // (7)
    program().AddEquals(absl::StrCat("takes_slot_", slot), std::move(duration), 0);
    AddContiguity(slot);
  }

  // (4), (5), (6) for one tensor.
  void AddTransfers(std::size_t slot, std::size_t index, std::vector<Entry>& duration) {
    const LatencyTensor& tensor = instance_.tensors[index];
    const int32_t producer = tensor.pins.front();
    const std::string suffix = absl::StrCat("_", index, "_", slot);
    const bool may_produce = MayHold(slot, producer);
    std::vector<int32_t> readers;
    for (std::size_t pin = 1; pin < tensor.pins.size(); ++pin) {
      if (MayHold(slot, tensor.pins[pin])) readers.push_back(Place(tensor.pins[pin], static_cast<int32_t>(slot)));
    }
    const int32_t produced = may_produce ? Place(producer, static_cast<int32_t>(slot)) : kNoColumn;
    const auto pays = [&](int32_t column) {
      duration.push_back({column, -Scaled(tensor.transfer)});
      if (tensor.buffer_bytes > 0) {
        buffers_of_slot_.back().push_back({column, static_cast<double>(tensor.buffer_bytes)});
      }
    };
    if (!readers.empty()) {
      const int32_t in = program().AddContinuous("in" + suffix, 0, 1);
      for (std::size_t reader = 0; reader < readers.size(); ++reader) {
        std::vector<Entry> received{{in, 1}, {readers[reader], -1}};
        if (may_produce) received.push_back({produced, 1});
        program().AddAtLeast(absl::StrCat("receives", suffix, "_", reader), std::move(received), 0);
      }
      program().AddAtLeast("after" + suffix, {{slots_[slot].start, 1}, {latency_[Index(producer)], -1}, {in, -1}}, -1);
      pays(in);
    }
    if (!may_produce) return;
    const int32_t out = program().AddContinuous("out" + suffix, 0, 1);
    for (std::size_t pin = 1; pin < tensor.pins.size(); ++pin) {
      std::vector<Entry> sent{{out, 1}, {produced, -1}};
      if (MayHold(slot, tensor.pins[pin])) sent.push_back({Place(tensor.pins[pin], static_cast<int32_t>(slot)), 1});
      program().AddAtLeast(absl::StrCat("sends", suffix, "_", pin), std::move(sent), 0);
    }
    pays(out);
  }

  // (2) by (11) to (13): z is 1 before the last vertices of the slot, and falls along every edge.
  void AddContiguity(std::size_t slot) {
    std::vector<int32_t> reaches;
    for (int32_t vertex = 0; vertex < instance_.num_vertices(); ++vertex) {
      reaches.push_back(program().AddContinuous(absl::StrCat("z_", vertex, "_", slot), 0, 1));
      if (!MayHold(slot, vertex)) continue;
      program().AddAtLeast(absl::StrCat("above_", vertex, "_", slot),
                           {{reaches.back(), 1}, {Place(vertex, static_cast<int32_t>(slot)), -1}}, 0);
    }
    for (const auto& [from, to] : instance_.precedence.edges()) {
      const std::string suffix = absl::StrCat("_", from, "_", to, "_", slot);
      program().AddAtLeast("falls" + suffix, {{reaches[Index(from)], 1}, {reaches[Index(to)], -1}}, 0);
      std::vector<Entry> left{{reaches[Index(to)], 1}};
      if (MayHold(slot, to)) left.push_back({Place(to, static_cast<int32_t>(slot)), -1});
      if (MayHold(slot, from)) left.push_back({Place(from, static_cast<int32_t>(slot)), 1});
      program().AddAtMost("left" + suffix, std::move(left), 1);
    }
  }

  // (14); between passes in either order.
  void AddSequence(int32_t accelerator) {
    for (int32_t pass = 0; pass < instance_.num_passes; ++pass) {
      const std::size_t first = FirstSlot(accelerator, pass);
      for (std::size_t slot = first + 1; slot < first + Index(result_.slots_per_pass); ++slot) {
        program().AddAtLeast(absl::StrCat("next_", slot), {{slots_[slot].start, 1}, {slots_[slot - 1].finish, -1}}, 0);
      }
    }
    if (instance_.num_passes == 1) return;
    for (int32_t forward = 0; forward < result_.slots_per_pass; ++forward) {
      for (int32_t backward = 0; backward < result_.slots_per_pass; ++backward) {
        AddEitherOrder(FirstSlot(accelerator, 0) + Index(forward), FirstSlot(accelerator, 1) + Index(backward));
      }
    }
  }

  void AddEitherOrder(std::size_t a, std::size_t b) {
    const int32_t a_first = program().AddBinary(absl::StrCat("before_", a, "_", b));
    program().AddAtLeast(absl::StrCat("then_", a, "_", b),
                         {{slots_[b].start, 1}, {slots_[a].finish, -1}, {a_first, -1}}, -1);
    program().AddAtLeast(absl::StrCat("then_", b, "_", a), {{slots_[a].start, 1}, {slots_[b].finish, -1}, {a_first, 1}},
                         0);
  }

  // (3*)
  void AddMemory(int32_t accelerator) {
    const std::optional<int64_t>& limit = instance_.pool_of(accelerator).memory_bytes;
    if (!limit.has_value()) return;
    const UnitMemory& memory = instance_.memory;
    std::vector<Entry> needs;
    const std::size_t first = FirstSlot(accelerator, 0);
    const std::size_t end = first + Index(instance_.num_passes * result_.slots_per_pass);
    for (std::size_t slot = first; slot < end; ++slot) {
      for (int32_t vertex = 0; vertex < instance_.num_vertices(); ++vertex) {
        if (!MayHold(slot, vertex)) continue;
        needs.push_back({Place(vertex, static_cast<int32_t>(slot)),
                         static_cast<double>(memory.linear[Index(vertex)]) +
                             static_cast<double>(memory.parameters[Index(vertex)]) * memory.parameter_factor});
      }
      needs.insert(needs.end(), buffers_of_slot_[slot].begin(), buffers_of_slot_[slot].end());
      AddSubgraphMemory(slot, needs);
    }
    const double unit = std::max(static_cast<double>(*limit), 1.0);
    for (Entry& entry : needs) entry.coefficient /= unit;
    program().AddAtMost(absl::StrCat("memory_", accelerator), std::move(needs), static_cast<double>(*limit) / unit);
  }

  // What a subgraph needs once: its largest workspace, and what is reserved.
  void AddSubgraphMemory(std::size_t slot, std::vector<Entry>& needs) {
    const UnitMemory& memory = instance_.memory;
    const bool has_workspace =
        std::any_of(memory.workspace.begin(), memory.workspace.end(), [](int64_t bytes) { return bytes > 0; });
    if (!has_workspace && memory.reserved == 0) return;
    const int32_t largest = program().AddContinuous(absl::StrCat("workspace_", slot), 0, IntegerProgram::kInfinity);
    needs.push_back({largest, 1});
    for (int32_t vertex = 0; vertex < instance_.num_vertices(); ++vertex) {
      if (!MayHold(slot, vertex)) continue;
      const auto bytes = static_cast<double>(memory.workspace[Index(vertex)] + memory.reserved);
      program().AddAtLeast(absl::StrCat("needs_workspace_", vertex, "_", slot),
                           {{largest, 1}, {Place(vertex, static_cast<int32_t>(slot)), -bytes}}, 0);
    }
  }

  bool AreAlike(int32_t a, int32_t b) const {
    return instance_.accelerators[Index(a)].pool == instance_.accelerators[Index(b)].pool &&
           std::all_of(instance_.allowed.begin(), instance_.allowed.end(),
                       [&](const std::vector<bool>& allowed) { return allowed[Index(a)] == allowed[Index(b)]; });
  }

  // The i-th group is on one of the first i of accelerators that are alike: others are renamed.
  void BreakSymmetry() {
    int32_t first = 0;
    for (int32_t accelerator = 1; accelerator < instance_.num_accelerators(); ++accelerator) {
      if (!AreAlike(first, accelerator)) first = accelerator;
      const int32_t rank = accelerator - first;
      for (int32_t group = 0; group < std::min(rank, instance_.num_groups()); ++group) {
        for (const int32_t vertex : instance_.groups[Index(group)]) Bar(vertex, accelerator);
      }
    }
  }

  void Bar(int32_t vertex, int32_t accelerator) {
    const std::size_t begin = FirstSlot(accelerator, 0);
    for (std::size_t slot = begin; slot < begin + Index(instance_.num_passes * result_.slots_per_pass); ++slot) {
      const int32_t column = Place(vertex, static_cast<int32_t>(slot));
      if (column != kNoColumn) program().Fix(column, 0);
    }
  }

  const LatencyInstance& instance_;
  const Picoseconds upper_;
  LatencyProgram result_;
  std::vector<Slot> slots_;
  // By vertex.
  std::vector<int32_t> latency_;
  std::vector<std::vector<Entry>> buffers_of_slot_;
  int32_t total_latency_ = 0;
};

}  // namespace

std::vector<int32_t> LatencyProgram::SlotOf(const LatencyInstance& instance,
                                            const std::vector<double>& solution) const {
  std::vector<int32_t> slot_of;
  for (int32_t vertex = 0; vertex < instance.num_vertices(); ++vertex) {
    const std::vector<int32_t>& places = place[Index(instance.bundle_of[Index(vertex)])];
    int32_t chosen = -1;
    double most = solution[Index(places.back())];
    for (std::size_t slot = 0; slot + 1 < places.size(); ++slot) {
      if (places[slot] == kNoColumn || solution[Index(places[slot])] <= most) continue;
      most = solution[Index(places[slot])];
      chosen = static_cast<int32_t>(slot);
    }
    slot_of.push_back(chosen);
  }
  return slot_of;
}

std::vector<std::vector<int32_t>> LatencyProgram::Sequences(const std::vector<double>& solution,
                                                            int32_t num_accelerators) const {
  std::vector<std::vector<int32_t>> sequences(Index(num_accelerators));
  const std::size_t slots_each = num_accelerators == 0 ? 1 : start.size() / Index(num_accelerators);
  for (std::size_t slot = 0; slot < start.size(); ++slot) {
    sequences[slot / slots_each].push_back(static_cast<int32_t>(slot));
  }
  for (std::vector<int32_t>& sequence : sequences) {
    std::stable_sort(sequence.begin(), sequence.end(), [&](int32_t a, int32_t b) {
      return solution[Index(start[Index(a)])] < solution[Index(start[Index(b)])];
    });
  }
  return sequences;
}

LatencyProgram BuildLatencyProgram(const LatencyInstance& instance, int32_t slots_per_pass, Picoseconds upper) {
  return LatencyBuilder(instance, slots_per_pass, upper).Build();
}

}  // namespace planwright
