#include "core/joint/roundrobin/round_robin_search.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "core/base/interruption.h"
#include "core/base/known.h"
#include "core/base/polling.h"
#include "core/joint/roundrobin/again_choice.h"
#include "core/joint/roundrobin/ideal_list.h"
#include "core/joint/roundrobin/stage_loads.h"

namespace planwright {
namespace {

__extension__ using Wide = __int128;

constexpr std::size_t kMostIdeals = 4'096;
// The first plans are sought among so many pieces of one linear order.
constexpr std::array<std::size_t, 3> kFirstPieces = {1, 8, 32};
constexpr double kFirstGap = 1e-2;
// Caps grow by this until a plan is found, and shrink by halves of the gap down to this.
constexpr double kGrowth = 1.25;
constexpr double kSmallGap = 1e-3;
// Labels of all ideals together where devices have several sizes of memory, and of each at least.
constexpr std::size_t kMostLabels = 25'000;
constexpr std::size_t kLeastLabels = 32;

// By RoundRobinInstance::memories.
using Counts = std::array<int64_t, kMostRoundRobinMemories>;

// How the operators behind an ideal are held.
struct Label {
  // Devices of the stages that need as much memory, or more. As many as there are have it, which is enough: a stage
  // that needs most takes those that have most.
  Counts devices = {};
  // Data ranks of the stages.
  int64_t ranks = 0;
  int32_t stages = 0;
  // The first of these stages: the ideal behind it, its label there, its tensor degree's position, its data degree, and
  // the memory that it needs.
  std::size_t behind = 0;
  std::size_t next = 0;
  std::size_t degree = 0;
  int32_t data = 1;
  std::size_t memory = 0;
};

class Search {
 public:
  Search(const RoundRobinInstance& instance, IdealList list, double relative_gap, const SolveLimits& limits,
         const std::function<void(const RoundRobinOutcome&)>& on_plan)
      : instance_(instance),
        relative_gap_(relative_gap),
        poller_(limits),
        on_plan_(on_plan),
        words_(1 + static_cast<int64_t>(instance.size() / 64)),
        list_(std::move(list)),
        loads_(instance, list_),
        may_prove_(list_.is_complete && !instance.leaves_out_memory),
        most_labels_(std::max(kLeastLabels, kMostLabels / list_.ideals.size())) {}

  // Goes on from the best plan that is known.
  RoundRobinOutcome Run(RoundRobinOutcome known) {
    outcome_ = std::move(known);
    outcome_.counters["ideals"] = static_cast<int64_t>(list_.ideals.size());
    outcome_.bound_ps = refuted_below_ = std::max(outcome_.bound_ps, FreeBound());
    // Nothing takes longer than everything on one device.
    const int64_t longest = MostLoad();
    const int64_t most = outcome_.stages.has_value() ? outcome_.load_ps - 1 : std::min(longest, kMostRoundRobinPs);
    int64_t cap = std::min(outcome_.bound_ps, most);
    while (cap >= outcome_.bound_ps && !Pass(cap) && !outcome_.is_interrupted) {
      Refute(cap);
      if (cap == most) break;
      cap = static_cast<int64_t>(std::min(static_cast<double>(cap) * kGrowth + 1, static_cast<double>(most)));
    }
    if (outcome_.stages.has_value()) {
      Close();
    } else {
      outcome_.may_take_longer = longest > kMostRoundRobinPs;
      outcome_.is_proven = !outcome_.is_interrupted && is_certain_ && may_prove_ && !outcome_.may_take_longer;
    }
    outcome_.counters["passes"] += passes_;
    return std::move(outcome_);
  }

 private:
  // Work on all devices, and the operator that takes longest on those that it can have.
  int64_t FreeBound() const {
    const int64_t work = loads_.LeastDeviceTime(list_.ideals.size() - 1);
    int64_t bound = (work + instance_.devices - 1) / instance_.devices;
    for (std::size_t op = 0; op < instance_.size(); ++op) {
      int64_t least = int64_t{1} << 61;
      for (std::size_t degree = 0; degree < instance_.tensor_degrees.size(); ++degree) {
        const auto& priced = instance_.operators[degree][op];
        const int64_t room = instance_.devices / instance_.tensor_degrees[degree];
        if (!priced.has_value() || room == 0) continue;
        const int64_t data = std::min(room, instance_.micro_batches);
        least = std::min(least, (priced->time_ps() + data - 1) / data);
      }
      bound = std::max(bound, least);
    }
    return bound;
  }

  int64_t MostLoad() const {
    constexpr int64_t kMostSum = int64_t{1} << 62;
    double sum = 1;
    for (std::size_t degree = 0; degree < instance_.tensor_degrees.size(); ++degree) {
      double bytes = 0;
      for (const auto& op : instance_.operators[degree]) {
        if (!op.has_value()) continue;
        sum += static_cast<double>(op->time_ps() + (op->again.has_value() ? op->again->extra_ps : 0)) + 1;
        bytes += 4 * static_cast<double>(op->parameter_bytes);
      }
      for (const RoundRobinBytes& edge : instance_.edge_bytes[degree]) {
        bytes += 2 * (static_cast<double>(edge.entering) + static_cast<double>(edge.leaving));
      }
      sum += bytes / static_cast<double>(instance_.bytes_per_second) * 1e12 + 4;
    }
    return static_cast<int64_t>(std::min(std::ceil(sum), static_cast<double>(kMostSum)));
  }

  // What is not refuted among these ideals is bisected; what cannot be refuted is not looked at again.
  void Close() {
    int64_t low = refuted_below_;
    while (low < outcome_.load_ps && !outcome_.is_interrupted) {
      const int64_t load = outcome_.load_ps;
      const double gap = static_cast<double>(load - low) / static_cast<double>(load);
      if (gap <= relative_gap_ || (!is_certain_ && gap <= kSmallGap)) break;
      const int64_t cap = gap > kSmallGap ? low + (load - low) / 2 : load - 1;
      if (Pass(cap) || outcome_.is_interrupted) continue;
      Refute(cap);
      low = cap + 1;
    }
    outcome_.is_proven = outcome_.bound_ps == outcome_.load_ps;
  }

  void Refute(int64_t cap) {
    if (!is_pass_certain_) return;
    refuted_below_ = std::max(refuted_below_, cap + 1);
    if (may_prove_) outcome_.bound_ps = refuted_below_;
  }

  // Whether there is a plan without a load above `cap`, which becomes the outcome's.
  bool Pass(int64_t cap) {
    ++passes_;
    is_pass_certain_ = true;
    labels_.assign(list_.ideals.size(), {});
    labels_.back().push_back({});
    for (std::size_t behind = list_.ideals.size() - 1; behind > 0; --behind) {
      if (labels_[behind].empty()) continue;
      for (std::size_t before = 0; before < behind; ++before) Extend(before, behind, cap);
      if (poller_.ShouldStop()) {
        outcome_.is_interrupted = true;
        return false;
      }
    }
    is_certain_ = is_certain_ && is_pass_certain_;
    for (std::size_t label = 0; label < labels_.front().size(); ++label) {
      if (IsWhole(labels_.front()[label])) return TakePlan(label, cap);
    }
    return false;
  }

  bool IsWhole(const Label& label) const {
    return !instance_.num_stages.has_value() || label.stages == *instance_.num_stages;
  }

  // Adds all stages from `before` to `behind`.
  void Extend(std::size_t before, std::size_t behind, int64_t cap) {
    const int64_t work = loads_.LeastDeviceTime(behind) - loads_.LeastDeviceTime(before);
    if (work > static_cast<Wide>(instance_.devices) * cap) return;
    if (poller_.ShouldStop(words_)) return;
    if (!list_.ideals[behind].Holds(list_.ideals[before])) return;
    for (std::size_t degree = 0; degree < instance_.tensor_degrees.size(); ++degree) {
      const StageSpan span{before, behind, degree};
      const std::optional<StageSums> sums = loads_.SumsOf(span);
      if (!sums.has_value()) continue;
      for (std::size_t label = 0; label < labels_[behind].size(); ++label) {
        // The least memory first: what fits it leaves more to others.
        for (std::size_t memory = instance_.memories.size(); memory-- > 0;) {
          ExtendLabel(span, *sums, {label, memory}, cap);
        }
      }
    }
  }

  // A label by number, and the memory of the stage before it.
  struct Extension {
    std::size_t label = 0;
    std::size_t memory = 0;
  };

  void ExtendLabel(const StageSpan& span, const StageSums& sums, const Extension& extension, int64_t cap) {
    const Label& label = labels_[span.behind][extension.label];
    if (instance_.num_stages.has_value() && label.stages >= *instance_.num_stages) return;
    for (const int32_t data : instance_.data_degrees) {
      const Counts devices =
          WithMore(label.devices, int64_t{instance_.tensor_degrees[span.degree]} * data, extension.memory);
      const int64_t ranks = label.ranks + data;
      if (!AreThere(devices) || ranks > instance_.micro_batches || poller_.ShouldStop()) return;
      const int64_t left = instance_.devices - AllOf(devices);
      if (loads_.LeastDeviceTime(span.before) > static_cast<Wide>(left) * cap) return;
      const Label extended{.devices = devices,
                           .ranks = ranks,
                           .stages = label.stages + 1,
                           .behind = span.behind,
                           .next = extension.label,
                           .degree = span.degree,
                           .data = data,
                           .memory = extension.memory};
      if (IsBeaten(span.before, extended)) return;
      if (!IsFeasible(span, sums, extended, cap)) continue;
      Insert(span.before, extended);
      return;
    }
  }

  Counts WithMore(Counts devices, int64_t more, std::size_t memory) const {
    for (; memory < instance_.memories.size(); ++memory) devices[memory] += more;
    return devices;
  }
  bool AreThere(const Counts& devices) const {
    for (std::size_t memory = 0; memory < instance_.memories.size(); ++memory) {
      if (devices[memory] > instance_.memories[memory].devices) return false;
    }
    return true;
  }
  int64_t AllOf(const Counts& devices) const { return devices[instance_.memories.size() - 1]; }

  static int64_t InFlight(int64_t ranks, int32_t data) { return (ranks + data - 1) / data; }

  // Whether the first stage of `label` fits and takes at most `cap`.
  bool IsFeasible(const StageSpan& span, const StageSums& sums, const Label& label, int64_t cap) {
    const int64_t spare = loads_.SparePs(sums, label.data, cap);
    if (spare < 0) return false;
    const int64_t in_flight = InFlight(label.ranks, label.data);
    const int64_t missing = loads_.MissingBytes(sums, in_flight, label.memory);
    if (missing <= 0) return true;
    if (poller_.ShouldStop(64 * words_)) return false;
    const StageLoads::Greedy greedy = loads_.TakeCheapest(span, in_flight, missing, spare);
    if (greedy != StageLoads::Greedy::kOpen) return greedy == StageLoads::Greedy::kFits;
    const AgainChoice choice = ChooseAgain(loads_.ItemsOf(span, in_flight), missing, spare, AgainAim::kAny, poller_);
    is_pass_certain_ = is_pass_certain_ && (choice.is_certain || choice.operators.has_value());
    return choice.operators.has_value();
  }

  bool Beats(const Label& a, const Label& b) const {
    const bool are_alike = !instance_.num_stages.has_value() || a.stages == b.stages;
    if (!are_alike || a.ranks > b.ranks) return false;
    for (std::size_t memory = 0; memory < instance_.memories.size(); ++memory) {
      if (a.devices[memory] > b.devices[memory]) return false;
    }
    return true;
  }
  bool IsBeaten(std::size_t ideal, const Label& label) const {
    return std::any_of(labels_[ideal].begin(), labels_[ideal].end(),
                       [&](const Label& other) { return Beats(other, label); });
  }
  // Labels that it beats stay where nothing refers to them yet: no stage has been added before them.
  void Insert(std::size_t ideal, const Label& label) {
    std::erase_if(labels_[ideal], [&](const Label& other) { return Beats(label, other); });
    if (instance_.memories.size() > 1 && labels_[ideal].size() >= most_labels_) {
      is_pass_certain_ = false;
    } else {
      labels_[ideal].push_back(label);
    }
  }

  bool TakePlan(std::size_t number, int64_t cap) {
    std::vector<RoundRobinStage> stages;
    int64_t longest = 0;
    std::size_t before = 0;
    while (before + 1 < list_.ideals.size()) {
      const Label& label = labels_[before][number];
      const StageSpan span{before, label.behind, label.degree};
      RoundRobinStage stage{.operators = OperatorsOf(span),
                            .again = {},
                            .tensor_degree = instance_.tensor_degrees[label.degree],
                            .data_degree = label.data,
                            .memory = label.memory};
      const StageSums sums = Known(loads_.SumsOf(span));
      const int64_t in_flight = InFlight(label.ranks, label.data);
      const int64_t missing = loads_.MissingBytes(sums, in_flight, label.memory);
      if (missing > 0) {
        stage.again = Known(ChooseAgain(loads_.ItemsOf(span, in_flight), missing, loads_.SparePs(sums, label.data, cap),
                                        AgainAim::kLeast, poller_)
                                .operators);
      }
      int64_t extra = 0;
      for (const int32_t op : stage.again) {
        const auto& priced = instance_.operators[label.degree][static_cast<std::size_t>(op)];
        extra += Known(Known(priced).again).extra_ps;
      }
      longest = std::max(longest, loads_.LoadPs(sums, extra, label.data));
      stages.push_back(std::move(stage));
      number = label.next;
      before = label.behind;
    }
    outcome_.stages = std::move(stages);
    outcome_.load_ps = longest;
    outcome_.bound_ps = std::min(outcome_.bound_ps, longest);
    on_plan_(outcome_);
    return true;
  }

  // In an order in which tensors go forward.
  std::vector<int32_t> OperatorsOf(const StageSpan& span) const {
    std::map<int32_t, int32_t> waits_for;
    for (std::size_t i = 0; i < instance_.size(); ++i) {
      const auto op = static_cast<int32_t>(i);
      if (list_.ideals[span.behind].Has(op) && !list_.ideals[span.before].Has(op)) waits_for[op] = 0;
    }
    std::map<int32_t, std::vector<int32_t>> readers;
    for (const RoundRobinEdge& edge : instance_.edges) {
      if (!waits_for.contains(edge.from) || !waits_for.contains(edge.to)) continue;
      ++waits_for[edge.to];
      readers[edge.from].push_back(edge.to);
    }
    std::set<int32_t> ready;
    for (const auto& [op, count] : waits_for) {
      if (count == 0) ready.insert(op);
    }
    std::vector<int32_t> ordered;
    while (!ready.empty()) {
      const int32_t op = *ready.begin();
      ready.erase(ready.begin());
      ordered.push_back(op);
      for (const int32_t reader : readers[op]) {
        if (--waits_for[reader] == 0) ready.insert(reader);
      }
    }
    return ordered;
  }

  const RoundRobinInstance& instance_;
  const double relative_gap_;
  Poller poller_;
  const std::function<void(const RoundRobinOutcome&)>& on_plan_;
  // How many 64-bit words a set of operators takes.
  const int64_t words_;
  const IdealList list_;
  StageLoads loads_;
  // What is not found among these ideals is not there.
  const bool may_prove_;
  // Of an ideal, where devices have several sizes of memory.
  const std::size_t most_labels_;
  // By ideal.
  std::vector<std::vector<Label>> labels_;
  // Every choice of what is computed again was decided, in this pass and in all.
  bool is_pass_certain_ = true;
  bool is_certain_ = true;
  int64_t passes_ = 0;
  // No plan on these ideals takes less.
  int64_t refuted_below_ = 0;
  RoundRobinOutcome outcome_;
};

// Looks for a plan that is better than the one of `outcome` among the ideals of a list, as far as there is time.
void Improve(const RoundRobinInstance& instance, const std::function<IdealList()>& make_list, double relative_gap,
             const SolveLimits& limits, const std::function<void(const RoundRobinOutcome&)>& on_plan,
             RoundRobinOutcome& outcome) {
  std::optional<Search> search;
  outcome.is_interrupted = CheckInterruption(limits).has_value();
  if (outcome.is_interrupted) return;
  try {
    const InterruptionScope scope(&limits);
    search.emplace(instance, make_list(), relative_gap, limits, on_plan);
  } catch (const Interrupted&) {
    outcome.is_interrupted = true;
    return;
  }
  outcome = search->Run(std::move(outcome));
}

// Adds what is proven where every device has the most memory.
void ProveWithMostMemory(const RoundRobinInstance& instance, double relative_gap, const SolveLimits& limits,
                         RoundRobinOutcome& outcome) {
  const RoundRobinOutcome proofs = SearchRoundRobin(WithMostMemory(instance), relative_gap, limits);
  outcome.is_interrupted = proofs.is_interrupted;
  outcome.bound_ps = std::max(outcome.bound_ps, proofs.bound_ps);
  if (outcome.stages.has_value()) {
    outcome.bound_ps = std::min(outcome.bound_ps, outcome.load_ps);
    outcome.is_proven = outcome.bound_ps == outcome.load_ps;
  } else {
    outcome.is_proven = proofs.is_proven && !proofs.stages.has_value();
  }
}

}  // namespace

RoundRobinOutcome SearchRoundRobin(const RoundRobinInstance& instance, double relative_gap, const SolveLimits& limits,
                                   const std::function<void(const RoundRobinOutcome&)>& on_plan) {
  RoundRobinOutcome outcome;
  for (const std::size_t least : kFirstPieces) {
    const std::size_t pieces = std::max(least, static_cast<std::size_t>(instance.num_stages.value_or(1)));
    const auto make_pieces = [&] { return PiecesOf(instance, pieces); };
    Improve(instance, make_pieces, std::max(relative_gap, kFirstGap), limits, on_plan, outcome);
    if (outcome.is_interrupted || outcome.is_proven) return outcome;
    if (pieces >= instance.size()) break;
  }
  const bool is_unlike = instance.memories.size() > 1;
  const bool has_plan = outcome.stages.has_value();
  // Where nothing fits, that tells so sooner than the search does.
  if (is_unlike && !has_plan) ProveWithMostMemory(instance, relative_gap, limits, outcome);
  if (outcome.is_interrupted || outcome.is_proven) return outcome;
  Improve(
      instance, [&] { return IdealsOf(instance, kMostIdeals); }, relative_gap, limits, on_plan, outcome);
  const bool is_open = !outcome.is_interrupted && !outcome.is_proven;
  if (is_unlike && has_plan && is_open) ProveWithMostMemory(instance, relative_gap, limits, outcome);
  return outcome;
}

}  // namespace planwright
