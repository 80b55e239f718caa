#include "core/partition/noncontiguous/net_annealer.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/index.h"

namespace planwright {
namespace {

// Shares of the kinds of moves; the rest moves clusters.
constexpr double kSingleShare = 0.65;
constexpr double kSwapShare = 0.20;
// A single group goes where a neighbour is, or anywhere.
constexpr double kNeighbourShare = 0.75;
// Clusters have 2 .. 1 + 2^r groups, r = 1 .. kMaxClusterExponent.
constexpr uint32_t kMaxClusterExponent = 6;
// Nets with more groups say little about who belongs together.
constexpr std::size_t kMaxClusterNet = 64;
// Temperature of the last move as a share of the target.
constexpr double kFinalHeat = 2e-5;
constexpr int64_t kMovesPerTemperature = 256;
// No load can be below the target if one group alone takes this much of it.
constexpr double kMaxGroupShare = 1.02;
// Cost of a device as full again as it may be, in targets.
constexpr double kOverflowCost = 4;
// With replication, the share of the moves that change teams, and of those that join two of them.
constexpr double kTeamShare = 0.02;
constexpr double kJoinShare = 0.25;
// Halvings of the range of the target of the forward phase.
constexpr int kDivisionSteps = 30;

class Annealer {
 public:
  Annealer(const NetTables& tables, NetAssignment start, int64_t load_to_beat, const AnnealingSettings& settings,
           RandomStream& random)
      : tables_(tables),
        has_phases_(tables.has_phases()),
        replicates_(tables.replicates()),
        settings_(settings),
        random_(random),
        state_(tables, std::move(start)),
        terms_(Index(tables.num_devices())),
        is_over_(Index(tables.num_devices())),
        seen_(Index(tables.num_groups()), 0) {
    result_.best_load = load_to_beat;
    SetRates();
    Retarget();
  }

  AnnealingResult Run(int64_t moves, Poller& poller) {
    const double cooling = std::log(kFinalHeat / settings_.heat);
    while (result_.moves < moves && !poller.ShouldStopNow()) {
      const double progress = static_cast<double>(result_.moves) / static_cast<double>(moves);
      temperature_ = settings_.heat * target_ * std::exp(cooling * progress);
      if (tables_.has_phases()) DivideTarget();
      const int64_t end = std::min(moves, result_.moves + kMovesPerTemperature);
      while (result_.moves < end) Step();
    }
    result_.last = state_.assignment();
    result_.last_load = state_.Objective();
    return std::move(result_);
  }

 private:
  struct Undo {
    int32_t group;
    int32_t from;
  };
  struct TeamUndo {
    int32_t device;
    int32_t replicas;
  };

  // One draw makes two decisions: 32 bits each. The bias of at most bound / 2^32 does not matter here.
  static int32_t Scaled(uint64_t bits, int32_t bound) {
    return static_cast<int32_t>((bits * static_cast<uint64_t>(bound)) >> 32U);
  }
  static double Share(uint64_t draw) { return static_cast<double>(draw & 0xFFFFFFFFU) * 0x1.0p-32; }
  int32_t Below(int32_t bound) { return Scaled(random_.Next() >> 32U, bound); }

  // Work on accelerators counts in units of the first pool's, so that none of them is shunned for being slow; work on
  // CPUs relieves accelerators, and is free.
  void SetRates() {
    const std::vector<DevicePool>& pools = tables_.instance().blocks.pools;
    for (const NetDevice& device : tables_.instance().devices) {
      rates_.push_back(device.is_cpu ? 0 : Speed(pools[device.pool], pools.front()));
    }
  }

  // Time on `reference` as a share of that on `pool`, for the groups that both run.
  static double Speed(const DevicePool& pool, const DevicePool& reference) {
    double own = 0;
    double referred = 0;
    for (std::size_t group = 0; group < pool.time.size(); ++group) {
      if (!pool.supported[group] || !reference.supported[group]) continue;
      own += static_cast<double>(pool.time[group]);
      referred += static_cast<double>(reference.time[group]);
    }
    return own > 0 ? referred / own : 1;
  }

  static double Spent(double rate, const PassWork& work) {
    return rate * static_cast<double>(work.compute.count()) + static_cast<double>((work.in + work.out).count());
  }
  // What a load costs beyond its target.
  double Cost(Picoseconds load, double target) const {
    const double excess = static_cast<double>(load.count()) - target;
    return excess > 0 ? excess * (4 * excess / target_ + 0.2) : 0;
  }

  double Term(int32_t device, const ReplicaWork& work) const {
    const double rate = rates_[Index(device)];
    const PhaseLoads loads = state_.LoadsWith(device, work);
    double term = settings_.lambda * Spent(rate, work.work.forward) + Cost(loads.main, main_target_);
    if (!has_phases_) return term;
    term += settings_.lambda * Spent(rate, work.work.backward);
    return term + Cost(loads.backward, target_ - main_target_);
  }
  double Term(int32_t device) const {
    double term = Term(device, state_.work(device));
    const int64_t overflow = state_.overflow(device);
    if (overflow > 0) {
      const auto limit = static_cast<double>(std::max<int64_t>(1, tables_.memory_limit(device)));
      term += kOverflowCost * target_ * static_cast<double>(overflow) / limit;
    }
    return term;
  }

  // The best load has changed.
  void Retarget() {
    target_ = static_cast<double>(std::max<int64_t>(1, result_.best_load)) * (1 - settings_.ambition);
    main_target_ = target_;
    num_over_ = 0;
    for (int32_t device = 0; device < tables_.num_devices(); ++device) {
      const bool is_over = IsOver(device);
      is_over_[Index(device)] = is_over ? 1 : 0;
      if (is_over) ++num_over_;
    }
    if (tables_.has_phases()) return DivideTarget();
    SetTerms();
  }

  void SetTerms() {
    for (int32_t device = 0; device < tables_.num_devices(); ++device) terms_[Index(device)] = Term(device);
  }

  // The best objective cannot be below the load of any device.
  bool IsOver(int32_t device) const { return state_.loads(device).total().count() >= result_.best_load; }

  // Gives the forward phase the part of the target with which the assignment has the least energy. Where neither phase
  // exceeds its part, or both do alike, it does not matter.
  void DivideTarget() {
    double low = 0;
    double high = target_;
    for (int step = 0; step < kDivisionSteps; ++step) {
      main_target_ = low + (high - low) / 2;
      (Slope() < 0 ? low : high) = main_target_;
    }
    SetTerms();
  }

  // Returns how the energy changes, but for a factor, as the forward phase gets more of the target.
  double Slope() const {
    const auto slope = [&](Picoseconds load, double target) {
      const double excess = static_cast<double>(load.count()) - target;
      return excess > 0 ? 8 * excess / target_ + 0.2 : 0;
    };
    double sum = 0;
    for (int32_t device = 0; device < tables_.num_devices(); ++device) {
      const PhaseLoads loads = state_.loads(device);
      sum += slope(loads.backward, target_ - main_target_) - slope(loads.main, main_target_);
    }
    return sum;
  }

  void Step() {
    ++result_.moves;
    if (replicates_ && random_.Unit() < kTeamShare) return ChangeTeams();
    const uint64_t draw = random_.Next();
    const int32_t group = Scaled(draw >> 32U, tables_.num_groups());
    const double kind = Share(draw);
    if (kind < kSingleShare) {
      MoveOne(group);
    } else if (kind < kSingleShare + kSwapShare) {
      Swap(group);
    } else {
      MoveCluster(group);
    }
  }

  bool MayMove(int32_t group, int32_t to) const {
    const int32_t replicas = state_.replicas(to);
    return replicas > 0 && tables_.may_run(group, to) &&
           static_cast<double>(tables_.time(group, to)) <= kMaxGroupShare * target_ * replicas;
  }

  bool Accepts(double change) {
    if (change <= 0) return true;
    const double ratio = change / temperature_;
    // Beyond this the draw could not be smaller.
    return ratio < 40 && random_.Unit() < std::exp(-ratio);
  }

  int32_t NewDevice(int32_t group) {
    const auto nets = tables_.nets_of(group);
    const uint64_t draw = random_.Next();
    if (nets.empty() || Share(draw) >= kNeighbourShare) return Scaled(draw >> 32U, tables_.num_devices());
    const auto groups = tables_.groups_of(nets[Index(Scaled(draw >> 32U, static_cast<int32_t>(nets.size())))]);
    return state_.device_of(groups[Index(Below(static_cast<int32_t>(groups.size())))]);
  }

  // Previewed only: most moves are rejected.
  void MoveOne(int32_t group) {
    const int32_t to = NewDevice(group);
    if (to == state_.device_of(group) || !MayMove(group, to)) return;
    state_.Preview(group, to, effect_);
    if (!state_.KeepsMemory(group, to, effect_)) return;
    if (tables_.memory_binds() && !state_.fits_memory()) {
      Begin();
      Apply(group, to);
      Conclude();
      return;
    }
    double change = 0;
    for (const MoveEffect::Change& touched : effect_.changes) {
      ReplicaWork work = state_.work(touched.device);
      work += touched.work;
      change += Term(touched.device, work) - terms_[Index(touched.device)];
    }
    if (!Accepts(change)) return;
    state_.Move(group, to, effect_);
    for (const MoveEffect::Change& touched : effect_.changes) Refresh(touched.device);
    NoteIfBest();
  }

  void Swap(int32_t group) {
    const int32_t other = Below(tables_.num_groups());
    const int32_t from = state_.device_of(group);
    const int32_t to = state_.device_of(other);
    if (from == to || !MayMove(group, to) || !MayMove(other, from)) return;
    ++result_.moves;
    Begin();
    Apply(group, to);
    Apply(other, from);
    Conclude();
  }

  void MoveCluster(int32_t seed) {
    const int32_t from = state_.device_of(seed);
    const int32_t to = NewDevice(seed);
    if (to == from) return;
    const auto size = 2 + Index(Below(1 << (1 + Below(kMaxClusterExponent))));
    GrowCluster(seed, size);
    result_.moves += static_cast<int64_t>(cluster_.size()) - 1;
    for (const int32_t group : cluster_) {
      if (!MayMove(group, to)) return;
    }
    Begin();
    for (const int32_t group : cluster_) Apply(group, to);
    Conclude();
  }

  // Gathers up to `size` groups on the device of `seed`, breadth first along nets.
  void GrowCluster(int32_t seed, std::size_t size) {
    ++round_;
    cluster_.assign(1, seed);
    seen_[Index(seed)] = round_;
    for (std::size_t next = 0; next < cluster_.size(); ++next) {
      for (const int32_t net : tables_.nets_of(cluster_[next])) {
        const auto groups = tables_.groups_of(net);
        if (groups.size() > kMaxClusterNet) continue;
        for (const int32_t group : groups) {
          if (cluster_.size() >= size) return;
          if (state_.device_of(group) != state_.device_of(seed)) continue;
          if (std::exchange(seen_[Index(group)], round_) != round_) cluster_.push_back(group);
        }
      }
    }
  }

  // Joins two teams of one pool, or moves a device from one to the other.
  void ChangeTeams() {
    const int32_t from = Below(tables_.num_devices());
    const int32_t to = Below(tables_.num_devices());
    if (from == to || tables_.pool_of(from) != tables_.pool_of(to) || state_.replicas(from) == 0) return;
    if (state_.replicas(to) > 0 && random_.Unit() < kJoinShare) {
      JoinTeams(from, to);
    } else if (state_.replicas(from) > 1 || state_.num_groups_on(from) == 0) {
      Begin();
      ResizeTeam(from, state_.replicas(from) - 1);
      ResizeTeam(to, state_.replicas(to) + 1);
      Conclude();
    }
  }

  void JoinTeams(int32_t from, int32_t to) {
    result_.moves += state_.num_groups_on(from);
    Begin();
    for (int32_t group = 0; group < tables_.num_groups(); ++group) {
      if (state_.device_of(group) == from) Apply(group, to);
    }
    ResizeTeam(to, state_.replicas(to) + state_.replicas(from));
    ResizeTeam(from, 0);
    Conclude();
  }

  // A trial of several moves: Begin, Apply and ResizeTeam ..., Conclude.
  void Begin() {
    undo_.clear();
    team_undo_.clear();
    touched_.clear();
    overflow_before_.clear();
  }

  void Apply(int32_t group, int32_t to) {
    undo_.push_back({group, state_.device_of(group)});
    state_.Preview(group, to, effect_);
    for (const MoveEffect::Change& change : effect_.changes) Touch(change.device);
    state_.Move(group, to, effect_);
  }

  void ResizeTeam(int32_t device, int32_t replicas) {
    team_undo_.push_back({device, state_.replicas(device)});
    Touch(device);
    state_.SetReplicas(device, replicas);
  }

  void Touch(int32_t device) {
    if (std::find(touched_.begin(), touched_.end(), device) != touched_.end()) return;
    touched_.push_back(device);
    overflow_before_.push_back(state_.overflow(device));
  }

  void Conclude() {
    double change = 0;
    bool keeps_memory = true;
    for (std::size_t i = 0; i < touched_.size(); ++i) {
      change += Term(touched_[i]) - terms_[Index(touched_[i])];
      keeps_memory = keeps_memory && state_.overflow(touched_[i]) <= overflow_before_[i];
    }
    if (keeps_memory && Accepts(change)) {
      for (const int32_t device : touched_) Refresh(device);
      NoteIfBest();
      return;
    }
    for (auto team = team_undo_.rbegin(); team != team_undo_.rend(); ++team) {
      state_.SetReplicas(team->device, team->replicas);
    }
    for (auto move = undo_.rbegin(); move != undo_.rend(); ++move) {
      state_.Preview(move->group, move->from, effect_);
      state_.Move(move->group, move->from, effect_);
    }
  }

  void Refresh(int32_t device) {
    terms_[Index(device)] = Term(device);
    const bool is_over = IsOver(device);
    num_over_ += static_cast<int>(is_over) - static_cast<int>(is_over_[Index(device)]);
    is_over_[Index(device)] = is_over ? 1 : 0;
  }

  void NoteIfBest() {
    if (num_over_ > 0 || !state_.fits_memory()) return;
    const int64_t objective = state_.Objective();
    if (objective >= result_.best_load) return;
    result_.best = state_.assignment();
    result_.best_load = objective;
    Retarget();
  }

  const NetTables& tables_;
  const bool has_phases_;
  const bool replicates_;
  const AnnealingSettings settings_;
  RandomStream& random_;
  NetState state_;
  AnnealingResult result_;
  double target_ = 1;
  // The part of the target that the forward phase has; all of it without phases.
  double main_target_ = 1;
  double temperature_ = 0;
  // By device: what a unit of work costs beside the excess.
  std::vector<double> rates_;
  // By device: its part of the energy, and whether its load is not below the best one.
  std::vector<double> terms_;
  std::vector<uint8_t> is_over_;
  int32_t num_over_ = 0;
  // The trial.
  MoveEffect effect_;
  std::vector<Undo> undo_;
  std::vector<TeamUndo> team_undo_;
  std::vector<int32_t> touched_;
  std::vector<int64_t> overflow_before_;
  std::vector<int32_t> cluster_;
  std::vector<uint32_t> seen_;
  uint32_t round_ = 0;
};

}  // namespace

AnnealingResult Anneal(const NetTables& tables, NetAssignment start, int64_t load_to_beat,
                       const AnnealingSettings& settings, int64_t moves, RandomStream& random, Poller& poller) {
  return Annealer(tables, std::move(start), load_to_beat, settings, random).Run(moves, poller);
}

}  // namespace planwright
