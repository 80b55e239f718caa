#include "core/partition/noncontiguous/net_annealing.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/index.h"
#include "core/model/colocation.h"
#include "core/partition/noncontiguous/net_descent.h"
#include "core/partition/noncontiguous/team_assignments.h"

namespace planwright {
namespace {

// As many slices run at a time, so that the number of threads changes nothing; but the first ones, which are short and
// find the most, one by one, so that each learns from those before it.
constexpr std::size_t kBatch = 4;
constexpr int64_t kSlicesAlone = 16;
// Moves of the first slices, and how the next ones grow.
constexpr int64_t kFirstSliceMoves = 600'000;
constexpr double kSliceGrowth = 1.4;
constexpr int64_t kSlicesPerGrowth = 8;
constexpr int64_t kMaxSliceMoves = 500'000'000;
// Every so many slices one reheats the incumbent, to a share of its arm's heat between these: the coolest find what a
// few moves mend, the hottest leave poor incumbents.
constexpr int64_t kSlicesPerReheat = 4;
constexpr double kCoolestReheat = 0.01;
constexpr double kHottestReheat = 0.15;
// Share of the moves that a multilevel slice spends on clusters, and the heat of the rest.
constexpr double kCoarseShare = 0.4;
constexpr double kFineHeat = 0.2;
// Moves of the descent from a new incumbent, as a share of those of its slice.
constexpr double kDescentShare = 0.3;

constexpr std::array<AnnealingSettings, 5> kSettings = {{{.lambda = 0.02, .ambition = 0.005, .heat = 0.05},
                                                         {.lambda = 0.3, .ambition = 0.015, .heat = 0.015},
                                                         {.lambda = 0.005, .ambition = 0.005, .heat = 0.05},
                                                         {.lambda = 1, .ambition = 0.015, .heat = 0.01},
                                                         {.lambda = 0.08, .ambition = 0.01, .heat = 0.025}}};

// A load above that of any assignment.
int64_t LoadAboveAny(const NetTables& tables) {
  int64_t load = 1;
  for (const DevicePool& pool : tables.instance().blocks.pools) {
    for (const int64_t time : pool.time) load = SaturatingAdd(load, time);
  }
  for (int32_t net = 0; net < tables.num_nets(); ++net) {
    const int64_t sends = int64_t{2} * tables.num_devices();
    load = SaturatingAdd(load, SaturatingMultiply(sends, tables.weight(net)));
  }
  int64_t parameter_bytes = 0;
  for (int32_t group = 0; group < tables.num_groups(); ++group) parameter_bytes += tables.parameter_bytes(group);
  if (!tables.replicates()) return load;
  return SaturatingAdd(load, tables.rule().AllReduceLoad(parameter_bytes, tables.num_devices()));
}

// Memory of the device that is not yet promised to groups, shares of buffers and workspace apart.
class RoomOfDevices {
 public:
  explicit RoomOfDevices(const NetTables& tables) : tables_(tables), sums_(Index(tables.num_devices())) {}

  int64_t With(int32_t group, int32_t device) const {
    const UnitMemory& memory = tables_.instance().blocks.memory;
    MemorySums sums = sums_[Index(device)];
    sums.Add(memory, Index(group));
    return tables_.memory_limit(device) - sums.Total(memory, 0, memory.workspace[Index(group)]);
  }
  void Take(int32_t group, int32_t device) { sums_[Index(device)].Add(tables_.instance().blocks.memory, Index(group)); }

 private:
  const NetTables& tables_;
  std::vector<MemorySums> sums_;
};

// The first team with room for each group, the largest groups first; where none has, the one that lacks least.
// `replicas` as in NetAssignment.
NetAssignment FlatStart(const NetTables& tables, std::vector<int32_t> replicas) {
  std::vector<int32_t> order = FirstNumbers(Index(tables.num_groups()));
  const UnitMemory& memory = tables.instance().blocks.memory;
  const auto bytes = [&](int32_t group) {
    return MemorySums::Of(memory, Index(group)).Total(memory, 0, memory.workspace[Index(group)]);
  };
  std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) { return bytes(a) > bytes(b); });
  RoomOfDevices room(tables);
  std::vector<int32_t> device_of(order.size(), 0);
  for (const int32_t group : order) {
    int32_t best = kDropped;
    for (int32_t device = 0; device < tables.num_devices(); ++device) {
      if (!tables.may_run(group, device) || (!replicas.empty() && replicas[Index(device)] == 0)) continue;
      if (best == kDropped || room.With(group, device) > room.With(group, best)) best = device;
      if (room.With(group, device) < 0) continue;
      best = device;
      break;
    }
    device_of[Index(group)] = best;
    room.Take(group, best);
  }
  return {std::move(device_of), std::move(replicas)};
}

}  // namespace

NetAnnealing::NetAnnealing(const NetTables& tables, int64_t seed, const SolveLimits& limits, TaskArena& arena)
    : tables_(tables),
      seed_(static_cast<uint64_t>(seed)),
      limits_(limits),
      arena_(arena),
      choices_(seed_),
      flat_start_(FlatStart(tables, {})),
      incumbent_load_(LoadAboveAny(tables)) {
  for (std::size_t arm = 0; arm < kArms; ++arm) {
    arms_[arm].settings = kSettings[arm / 2];
    arms_[arm].is_multilevel = arm % 2 == 1;
  }
  if (NetState(tables, flat_start_).fits_memory()) Offer(flat_start_);
}

int64_t NetAnnealing::BytesFor(const NetInstance& instance) {
  int64_t pins = 0;
  for (const NetCharge& charge : instance.charges) pins += static_cast<int64_t>(charge.groups.size());
  const auto rows = static_cast<int64_t>(instance.charges.size() + instance.may_run.size());
  const int64_t cells = SaturatingMultiply(rows, static_cast<int64_t>(instance.devices.size()));
  // A count for each net and device, a flag for each group and device; some numbers for each pin. Twice, for what is
  // contracted.
  const int64_t bytes = SaturatingAdd(SaturatingMultiply(cells, 4), SaturatingMultiply(pins, 64));
  return SaturatingMultiply(bytes, 2 * static_cast<int64_t>(kBatch));
}

void NetAnnealing::Offer(NetAssignment assignment) {
  const int64_t load = NetState(tables_, assignment).Objective();
  if (load >= incumbent_load_) return;
  incumbent_ = std::move(assignment);
  incumbent_load_ = load;
}

bool NetAnnealing::RunBatch() {
  std::vector<Slice> batch = NextBatch();
  arena_.ParallelFor(batch.size(), 1, [&](std::size_t i) { Run(batch[i]); });
  for (Slice& slice : batch) Merge(slice);
  return planned_moves_ < limits_.work && !CheckInterruption(limits_).has_value();
}

std::vector<NetAnnealing::Slice> NetAnnealing::NextBatch() {
  std::vector<Slice> batch;
  const std::size_t size = slices_ < kSlicesAlone ? 1 : kBatch;
  while (batch.size() < size && planned_moves_ < limits_.work) batch.push_back(NextSlice());
  return batch;
}

NetAnnealing::Slice NetAnnealing::NextSlice() {
  Slice slice;
  slice.stream = static_cast<uint64_t>(slices_) + 1;
  slice.moves = std::min(SliceMoves(), limits_.work - planned_moves_);
  slice.reheats = slices_ % kSlicesPerReheat == kSlicesPerReheat - 1 && !incumbent_.empty();
  slice.arm = ChooseArm();
  const auto descent_moves = static_cast<int64_t>(kDescentShare * static_cast<double>(slice.moves));
  slice.descent_moves = std::min(descent_moves, limits_.work - planned_moves_ - slice.moves);
  planned_moves_ += slice.moves + slice.descent_moves;
  ++slices_;
  return slice;
}

int64_t NetAnnealing::SliceMoves() const {
  const int64_t growths = slices_ / kSlicesPerGrowth;
  const double growth = std::pow(kSliceGrowth, static_cast<double>(growths));
  return std::min(kMaxSliceMoves, static_cast<int64_t>(static_cast<double>(kFirstSliceMoves) * growth));
}

std::size_t NetAnnealing::ChooseArm() {
  if (slices_ < static_cast<int64_t>(kArms)) return static_cast<std::size_t>(slices_);
  if (choices_.Below(2) == 0) return choices_.Below(kArms);
  const auto mean = [](const Arm& arm) {
    return arm.runs == 0 ? 0.0 : arm.sum_of_ends / static_cast<double>(arm.runs);
  };
  const auto* const best =
      std::min_element(arms_.begin(), arms_.end(), [&](const Arm& a, const Arm& b) { return mean(a) < mean(b); });
  return static_cast<std::size_t>(best - arms_.begin());
}

void NetAnnealing::Run(Slice& slice) const {
  RandomStream random(seed_, slice.stream);
  Poller poller(limits_);
  const Arm& arm = arms_[slice.arm];
  if (!slice.reheats && arm.is_multilevel) {
    slice.result = RunMultilevel(slice, random, poller);
    return Descend(slice, poller);
  }
  AnnealingSettings settings = arm.settings;
  if (slice.reheats) settings.heat *= kCoolestReheat * std::pow(kHottestReheat / kCoolestReheat, random.Unit());
  slice.result = Anneal(tables_, slice.reheats ? incumbent_ : Start(random), incumbent_load_, settings, slice.moves,
                        random, poller);
  Descend(slice, poller);
}

void NetAnnealing::Descend(Slice& slice, Poller& poller) const {
  AnnealingResult& result = slice.result;
  if (result.best.empty()) return;
  DescentResult descent = planwright::Descend(tables_, std::move(result.best), slice.descent_moves, poller);
  result.best = std::move(descent.assignment);
  result.best_load = descent.load;
  result.moves += descent.moves;
}

NetAssignment NetAnnealing::Start(RandomStream& random) const {
  return tables_.replicates() ? FlatStart(tables_, RandomTeams(tables_, random)) : flat_start_;
}

AnnealingResult NetAnnealing::RunMultilevel(const Slice& slice, RandomStream& random, Poller& poller) const {
  AnnealingSettings settings = arms_[slice.arm].settings;
  ClusterLimits limits;
  limits.max_share = 0.08 + 0.5 * random.Unit();
  limits.load = incumbent_load_;
  limits.enough_clusters = static_cast<int32_t>((0.08 + 0.4 * random.Unit()) * tables_.num_groups());
  const std::vector<int32_t> cluster_of = RandomClusters(tables_, limits, random);
  const NetInstance coarse = ContractGroups(tables_.instance(), cluster_of);
  const NetTables coarse_tables(coarse);
  const auto coarse_moves = static_cast<int64_t>(kCoarseShare * static_cast<double>(slice.moves));
  std::vector<int32_t> teams;
  if (tables_.replicates()) teams = RandomTeams(tables_, random);
  const AnnealingResult clusters = Anneal(coarse_tables, FlatStart(coarse_tables, std::move(teams)), incumbent_load_,
                                          settings, coarse_moves, random, poller);
  const auto projected = [&](const NetAssignment& coarse_assignment) {
    NetAssignment fine{{}, coarse_assignment.replicas};
    if (coarse_assignment.empty()) return fine;
    for (const int32_t cluster : cluster_of) {
      fine.device_of.push_back(coarse_assignment.device_of[Index(cluster)]);
    }
    return fine;
  };
  settings.heat *= kFineHeat;
  AnnealingResult groups = Anneal(tables_, projected(clusters.last), clusters.best_load, settings,
                                  slice.moves - clusters.moves, random, poller);
  if (groups.best.empty()) groups.best = projected(clusters.best);
  groups.moves += clusters.moves;
  return groups;
}

void NetAnnealing::Merge(Slice& slice) {
  moves_ += slice.result.moves;
  // What the descent did not need is there for other slices.
  planned_moves_ -= std::clamp<int64_t>(slice.moves + slice.descent_moves - slice.result.moves, 0, slice.descent_moves);
  Arm& arm = arms_[slice.arm];
  if (!slice.reheats) {
    arm.sum_of_ends += static_cast<double>(slice.result.last_load);
    ++arm.runs;
  }
  if (!slice.result.best.empty() && slice.result.best_load < incumbent_load_) {
    incumbent_ = std::move(slice.result.best);
    incumbent_load_ = slice.result.best_load;
  }
}

}  // namespace planwright
