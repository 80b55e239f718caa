#include "core/partition/sequence/sequence_program.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <numeric>
#include <utility>

#include "core/base/index.h"
#include "core/base/polling.h"
#include "core/cost/terms/transfer.h"

namespace planwright {
namespace {

// Pairs that one state keeps; where there are more the one with the slowest stage goes.
constexpr std::size_t kMostPairs = 64;
// Last stages may begin at so many borders of groups.
constexpr std::size_t kMostStarts = 16;
// States made ready in the time that a stage takes.
constexpr int64_t kStatesPerWork = 8;
// Units of polling for each unit of work, and for each team that may run a stage.
constexpr int64_t kUnitsPerWork = 16;
constexpr int64_t kUnitsPerTeam = 64;

// The stages from unit `begin` on, `begin` being known to the state; the first of them is [begin, end).
struct Pair {
  int64_t value = 0;
  PipelineFill fill;
  int32_t stages = 0;
  // The first stage: its end, its team (position and number of the size), and what comes behind it.
  int32_t end = 0;
  int32_t position = 0;
  int32_t size = 0;
  int32_t behind_state = -1;
  int32_t behind_pair = -1;
};

// Behind a border lie devices up to `end`; the stage before it has its own from `next` on.
struct Gap {
  std::size_t end = 0;
  std::size_t next = 0;
};

class Program {
 public:
  Program(const SearchRequest& request, const IntervalTable& table, const SequenceRule& rule,
          const DeviceSequence& sequence, const std::vector<std::vector<std::size_t>>& first_begin_of,
          const SequenceOptions& options, const SolveLimits& limits)
      : request_(request), table_(table), rule_(rule), options_(options), limits_(limits), poller_(limits) {
    for (const int32_t replicas : options.replicas) {
      teams_.emplace_back(request, table, sequence, first_begin_of, replicas);
    }
    common_ = options.replicas.front();
    for (const int32_t replicas : options.replicas) common_ = std::gcd(common_, replicas);
    MakeGaps(sequence.size());
    links_.assign(teams_.size() * gaps_.size(), -1);
    AddLeastTimes();
  }

  SequenceOutcome Run() {
    const std::size_t units = table_.size();
    if (units == 0 || !MayAllocate()) return std::move(outcome_);
    pairs_of_state_.assign((units + 1) * gaps_.size(), -1);
    for (const std::size_t start : starts_) {
      if (!AddStages(units, /*state=*/-1, start)) return std::move(outcome_);
    }
    for (std::size_t end = units - 1; end > 0; --end) {
      for (std::size_t gap = 0; gap < gaps_.size(); ++gap) {
        const std::size_t state = StateOf(end, gap);
        if (pairs_of_state_[state] < 0) continue;
        if (!AddStages(end, static_cast<int32_t>(state), gaps_[gap].next)) break;
      }
      if (outcome_.is_interrupted) break;
    }
    HandBack();
    return std::move(outcome_);
  }

 private:
  std::size_t StateOf(std::size_t begin, std::size_t gap) const { return begin * gaps_.size() + gap; }
  // REQUIRES: there are any.
  const std::vector<Pair>& PairsOf(int32_t state) const { return pairs_[Index(pairs_of_state_[Index(state)])]; }
  std::vector<Pair>& PairsToExtend(std::size_t state) {
    int32_t& pairs = pairs_of_state_[state];
    if (pairs < 0) {
      pairs = static_cast<int32_t>(pairs_.size());
      pairs_.emplace_back();
      bytes_ += static_cast<int64_t>(sizeof(std::vector<Pair>));
    }
    return pairs_[Index(pairs)];
  }

  bool MayAllocate() {
    const auto states = static_cast<int64_t>((table_.size() + 1) * gaps_.size());
    outcome_.work = states / kStatesPerWork;
    bytes_ = SaturatingMultiply(states, static_cast<int64_t>(sizeof(int32_t)));
    outcome_.is_interrupted = bytes_ > limits_.memory_bytes;
    return !outcome_.is_interrupted;
  }

  // Whether devices differ from those before, or are connected differently from those before.
  std::vector<bool> GroupBorders(std::size_t size) const {
    const DeviceTeams& teams = teams_.front();
    const auto link_before = [&](std::size_t position) {
      return request_.costs.network().LinkClassOf(teams.DeviceAt(position - 1), teams.DeviceAt(position));
    };
    std::vector<bool> is_border(size + 1, false);
    std::size_t usual = 0;
    for (std::size_t position = 1; position < size; ++position) {
      const std::size_t link = link_before(position);
      if (position == 1) usual = link;
      const DeviceId device = teams.DeviceAt(position);
      const DeviceId before = teams.DeviceAt(position - 1);
      const auto& devices = request_.cluster.devices;
      is_border[position] = link != usual ||
                            devices[device.index()].device_class != devices[before.index()].device_class ||
                            UsableMemoryBytes(request_.cluster, device) != UsableMemoryBytes(request_.cluster, before);
    }
    return is_border;
  }

  void MakeGaps(std::size_t size) {
    const std::vector<bool> is_border = GroupBorders(size);
    first_gap_.assign(size + 2, 0);
    for (std::size_t end = 0; end <= size; ++end) {
      first_gap_[end] = gaps_.size();
      if (end == 0) continue;
      for (std::size_t next = end; next < size; ++next) {
        if (next == end || options_.skips_any)
          gaps_.push_back({end, next});
        else if (is_border[next]) {
          gaps_.push_back({end, next});
          break;
        }
      }
    }
    first_gap_[size + 1] = gaps_.size();
    for (std::size_t start = 0; start < size; ++start) {
      const bool is_free = options_.skips_any || start == 0;
      if (is_free || (is_border[start] && starts_.size() < kMostStarts)) starts_.push_back(start);
    }
  }

  // Whatever runs them, the units before each one take at least this.
  void AddLeastTimes() {
    least_before_.assign(1, 0);
    for (std::size_t unit = 0; unit < table_.size(); ++unit) {
      int64_t least = kMaxQuantity;
      for (std::size_t i = 0; i < request_.cluster.device_classes.size(); ++i) {
        const DeviceClassId device_class(i);
        if (table_.FirstBegin(device_class, unit + 1) > unit) continue;
        least = std::min(least, table_.ComputeTime(unit, unit + 1, device_class));
      }
      least_before_.push_back(SaturatingAdd(least_before_.back(), least));
    }
  }

  std::size_t LinkAt(std::size_t size, std::size_t gap) {
    int32_t& link = links_[size * gaps_.size() + gap];
    if (link < 0) link = static_cast<int32_t>(teams_[size].LinkBetween(gaps_[gap].next, gaps_[gap].end));
    return Index(link);
  }

  // All stages that end at `end`, on the devices from `position` on. `state`: of the border behind; -1: there is none.
  // False: interrupted.
  bool AddStages(std::size_t end, int32_t state, std::size_t position) {
    for (std::size_t size = 0; size < teams_.size(); ++size) {
      outcome_.is_interrupted = outcome_.is_interrupted || poller_.ShouldStop(kUnitsPerTeam);
      if (outcome_.is_interrupted) return false;
      const DeviceTeam& team = teams_[size].TeamAt(position);
      if (!team.is_valid) continue;
      // Pairs are only added to borders before `end`.
      const std::vector<Pair>* behind = state < 0 ? nullptr : &PairsOf(state);
      for (std::size_t begin = end; begin-- > team.first_begin[end];) {
        if (!AddStage({begin, end, position, size, state}, team, behind)) break;
      }
      if (outcome_.is_interrupted) return false;
    }
    return true;
  }

  struct Candidate {
    std::size_t begin = 0;
    std::size_t end = 0;
    std::size_t position = 0;
    std::size_t size = 0;
    int32_t state = -1;
  };

  // False: this stage is too large already, or the limits say stop.
  bool AddStage(const Candidate& stage, const DeviceTeam& team, const std::vector<Pair>* behind) {
    const int32_t replicas = teams_[stage.size].replicas();
    const int64_t compute = table_.ComputeTime(stage.begin, stage.end, team.device_class);
    if (rule_.Estimate(SequenceRule::LeastValue(compute, replicas), replicas, common_) >= options_.bound) return false;
    if (team.memory_bytes.has_value() && table_.LeastMemoryBytes(stage.begin, stage.end, 1) > *team.memory_bytes) {
      return false;
    }
    const std::size_t devices_end = stage.position + Index(replicas);
    const std::size_t link_behind = stage.state < 0 ? 0 : LinkAt(stage.size, Index(stage.state) % gaps_.size());
    if (stage.begin == 0) {
      Weigh(stage, team, 0, link_behind);
      return Extend(stage, team, behind, {});
    }
    std::optional<std::size_t> weighed;
    for (std::size_t gap = first_gap_[devices_end]; gap < first_gap_[devices_end + 1]; ++gap) {
      const std::size_t link_before = LinkAt(stage.size, gap);
      if (weighed != link_before) Weigh(stage, team, link_before, link_behind);
      weighed = link_before;
      if (!Extend(stage, team, behind, gap)) return false;
    }
    return true;
  }

  void Weigh(const Candidate& stage, const DeviceTeam& team, std::size_t link_before, std::size_t link_behind) {
    const int32_t replicas = teams_[stage.size].replicas();
    work_ = table_.Work(stage.begin, stage.end, team.device_class, link_before, link_behind);
    Picoseconds allreduce(0);
    if (replicas > 1 && team.ring.bandwidth_bytes_per_second.has_value()) {
      allreduce = AllReduceTime(table_.ParameterBytes(stage.begin, stage.end), replicas, team.ring,
                                request_.problem.allreduce.factor);
    }
    value_ = rule_.ValueOf(work_, replicas, allreduce);
  }

  // Puts the stage, as it was weighed, before everything that may lie behind it. `gap`: before it; nullopt: it is the
  // first one. False: interrupted.
  bool Extend(const Candidate& stage, const DeviceTeam& team, const std::vector<Pair>* behind,
              std::optional<std::size_t> gap) {
    const std::size_t count = behind == nullptr ? 1 : behind->size();
    for (std::size_t i = 0; i < count; ++i) {
      if (!MayGoOn()) return false;
      const Pair nothing;
      const Pair& rest = behind == nullptr ? nothing : (*behind)[i];
      const int32_t replicas = teams_[stage.size].replicas();
      const Pair pair{.value = std::max(rest.value, value_),
                      .fill = rule_.FillOf(rest.fill.counted, replicas, work_),
                      .stages = rest.stages + 1,
                      .end = static_cast<int32_t>(stage.end),
                      .position = static_cast<int32_t>(stage.position),
                      .size = static_cast<int32_t>(stage.size),
                      .behind_state = stage.state,
                      .behind_pair = static_cast<int32_t>(i)};
      if (team.memory_bytes.has_value() &&
          table_.MemoryBytes(stage.begin, stage.end, rule_.InFlight(pair.fill, replicas)) > *team.memory_bytes) {
        continue;
      }
      gap.has_value() ? Keep(stage.begin, *gap, pair) : KeepFirst(pair);
    }
    return true;
  }

  bool MayGoOn() {
    ++outcome_.work;
    outcome_.is_interrupted =
        poller_.ShouldStop(kUnitsPerWork) || outcome_.work >= limits_.work || bytes_ > limits_.memory_bytes;
    return !outcome_.is_interrupted;
  }

  bool CanImprove(const Pair& pair, std::size_t begin, std::size_t next) const {
    const std::optional<int32_t> stages = request_.problem.num_stages;
    if (stages.has_value() && pair.stages >= *stages) return false;
    const auto left = static_cast<int64_t>(teams_.front().num_positions() - next);
    const int64_t mean = least_before_[begin] / left;
    return rule_.Estimate(std::max(pair.value, mean), pair.fill.held + common_, common_) < options_.bound;
  }

  // No worse than `other` in whatever stages are put before both.
  bool Beats(const Pair& one, const Pair& other) const {
    return one.value <= other.value && one.fill.counted <= other.fill.counted &&
           (!request_.problem.num_stages.has_value() || one.stages == other.stages);
  }

  void Keep(std::size_t begin, std::size_t gap, const Pair& pair) {
    if (!CanImprove(pair, begin, gaps_[gap].next)) return;
    std::vector<Pair>& pairs = PairsToExtend(StateOf(begin, gap));
    for (const Pair& known : pairs) {
      if (Beats(known, pair)) return;
    }
    std::erase_if(pairs, [&](const Pair& known) { return Beats(pair, known); });
    if (pairs.size() < kMostPairs) {
      const std::size_t room = pairs.capacity();
      pairs.push_back(pair);
      bytes_ += static_cast<int64_t>((pairs.capacity() - room) * sizeof(Pair));
      return;
    }
    const auto slowest =
        std::max_element(pairs.begin(), pairs.end(), [](const Pair& a, const Pair& b) { return a.value < b.value; });
    if (slowest->value > pair.value) *slowest = pair;
  }

  void KeepFirst(const Pair& pair) {
    if (pair.stages != request_.problem.num_stages.value_or(pair.stages)) return;
    const int64_t estimate = rule_.Estimate(pair.value, pair.fill.held, common_);
    if (estimate >= options_.bound) return;
    const auto place = std::lower_bound(firsts_.begin(), firsts_.end(), estimate,
                                        [](const auto& known, int64_t value) { return known.first < value; });
    if (place != firsts_.end() && place->first == estimate) return;
    firsts_.insert(place, {estimate, pair});
    if (firsts_.size() > options_.most_found) firsts_.pop_back();
  }

  void HandBack() {
    for (const auto& [estimate, pair] : firsts_) outcome_.found.push_back({estimate, PlacementOf(pair)});
  }

  Placement PlacementOf(Pair pair) const {
    Placement placement;
    for (std::size_t begin = 0;;) {
      Placement::Stage& stage = placement.stages.emplace_back();
      const auto end = Index(pair.end);
      for (std::size_t unit = begin; unit < end; ++unit) {
        const std::vector<OperatorId>& operators = table_.units()[unit];
        stage.operators.insert(stage.operators.end(), operators.begin(), operators.end());
      }
      std::sort(stage.operators.begin(), stage.operators.end());
      stage.devices = teams_[Index(pair.size)].DevicesFrom(Index(pair.position));
      if (stage.devices.size() > 1) stage.ring = RingOf(request_, stage.devices);
      if (pair.behind_state < 0) return placement;
      begin = end;
      pair = PairsOf(pair.behind_state)[Index(pair.behind_pair)];
    }
  }

  const SearchRequest& request_;
  const IntervalTable& table_;
  const SequenceRule& rule_;
  const SequenceOptions& options_;
  const SolveLimits& limits_;
  Poller poller_;
  // By number of replicas.
  std::vector<DeviceTeams> teams_;
  int32_t common_ = 1;
  // By end, then by next.
  std::vector<Gap> gaps_;
  // By end; one more at the end.
  std::vector<std::size_t> first_gap_;
  // Where last stages begin.
  std::vector<std::size_t> starts_;
  // By number of replicas and gap; -1: not known yet.
  std::vector<int32_t> links_;
  std::vector<int64_t> least_before_;
  // Work and value of the stage at hand.
  MicroBatchWork work_;
  int64_t value_ = 0;
  // By begin of what lies behind, and gap: where its pairs are; -1: it has none. Few states have any.
  std::vector<int32_t> pairs_of_state_;
  // Stay where they are while others are added.
  std::deque<std::vector<Pair>> pairs_;
  // What both take.
  int64_t bytes_ = 0;
  // Pipelines by ascending estimate.
  std::vector<std::pair<int64_t, Pair>> firsts_;
  SequenceOutcome outcome_;
};

bool StoresActivations(const ResolvedProblem& problem) {
  return problem.workload == Workload::kTraining && problem.memory_model.kind == MemoryModel::Kind::kComponents;
}

int64_t ScaledUp(Picoseconds time, double factor) {
  const double scaled = std::ceil(static_cast<double>(time.count()) * factor);
  return scaled < static_cast<double>(kMaxQuantity) ? static_cast<int64_t>(scaled) : kMaxQuantity;
}

}  // namespace

SequenceOutcome RunSequenceProgram(const SearchRequest& request, const IntervalTable& table, const SequenceRule& rule,
                                   const DeviceSequence& sequence,
                                   const std::vector<std::vector<std::size_t>>& first_begin_of,
                                   const SequenceOptions& options, const SolveLimits& limits) {
  return Program(request, table, rule, sequence, first_begin_of, options, limits).Run();
}

SequenceRule::SequenceRule(const ResolvedProblem& problem, bool through_host, double forward_share)
    : problem_(problem),
      turns_(TransferTurns::Of(problem, through_host)),
      forward_share_(problem.schedule == ScheduleKind::kGpipe ? forward_share : 0),
      counts_fill_(problem.micro_batches.has_value() || (DrainsEarly(problem.schedule) && StoresActivations(problem))) {
}

PipelineFill SequenceRule::FillOf(int64_t behind, int32_t replicas, const MicroBatchWork& work) const {
  if (!counts_fill_) return {};
  FillFromEnd fill(turns_, behind);
  const int64_t held = fill.HeldBy(replicas);
  fill.Add({replicas, turns_.SlotsOf(work)});
  return {.held = held * replicas, .counted = fill.behind()};
}

int32_t SequenceRule::InFlight(const PipelineFill& fill, int32_t replicas) const {
  return counts_fill_ ? InFlightMicroBatches(problem_, fill.held / replicas, replicas) : 1;
}

int64_t SequenceRule::ValueOf(const MicroBatchWork& work, int32_t replicas, Picoseconds allreduce) const {
  PhaseLoads loads = LoadsOf(work, problem_.schedule, problem_.overlap);
  if (problem_.micro_batches.has_value()) {
    // The step has one all-reduce.
    const Picoseconds share(CeilDivide(allreduce.count(), MicroBatchesOfStep(problem_, replicas)));
    loads = {.main = Picoseconds(CeilDivide(loads.main.count(), replicas)),
             .backward = Picoseconds(CeilDivide(loads.backward.count(), replicas))};
    (problem_.schedule == ScheduleKind::kGpipe ? loads.backward : loads.main) += share;
  } else {
    loads = ReplicaLoads(loads, replicas, allreduce, ReductionRuleOf(problem_));
  }
  if (forward_share_ == 0) return loads.total().count();
  return std::max(ScaledUp(loads.main, 1 / forward_share_), ScaledUp(loads.backward, 1 / (1 - forward_share_)));
}

int64_t SequenceRule::Estimate(int64_t value, int64_t held, int32_t common) const {
  if (!problem_.micro_batches.has_value()) return value;
  const auto all = static_cast<double>(MicroBatchesOfStep(problem_, common));
  const double turns = all + static_cast<double>(std::max<int64_t>(0, held - common));
  return ScaledUp(Picoseconds(value), turns / all);
}

}  // namespace planwright
