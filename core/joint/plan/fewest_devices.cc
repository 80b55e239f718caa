#include "core/joint/plan/fewest_devices.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "core/base/infeasibility.h"
#include "core/base/interruption.h"
#include "core/base/status_macros.h"
#include "core/base/units.h"
#include "core/joint/cost/stage_cost.h"
#include "core/joint/plan/network_planning.h"
#include "core/joint/search/joint_search.h"

namespace planwright {
namespace {

constexpr double kPicosecondsPerSecond = 1e12;
// Less than by how much steps may be too long to be looked for (AskInOrder).
constexpr double kDecisiveGap = 5e-4;
// Eleven days.
constexpr int64_t kAnyStep = 1'000'000'000'000'000'000;

// Devices by class.
using Counts = std::vector<int64_t>;

int64_t TotalOf(const Counts& counts) { return std::accumulate(counts.begin(), counts.end(), int64_t{0}); }

// Whether each of `more` is at least that of `less`: a plan may leave devices idle.
bool Covers(const Counts& more, const Counts& less) {
  return std::equal(more.begin(), more.end(), less.begin(), std::greater_equal<>());
}

// Mixes of classes by their whole nodes, of all classes but the last.
struct Box {
  Counts low;
  Counts high;

  bool is_one() const { return low == high; }
};

class FewestDevices {
 public:
  FewestDevices(const JointQuestion& question, const SolveLimits& limits)
      : question_(question), limits_(limits), classes_(question.training.classes) {
    for (TrainingClass& part : classes_) {
      // A network has no nodes: each device counts.
      if (is_network()) part.nodes = std::exchange(part.devices_per_node, 1);
      if (!question.most_devices.empty()) part.nodes = static_cast<int32_t>(question.most_devices[all_.size()]);
      all_.push_back(part.devices());
    }
    const std::optional<double>& target = question.settings.target_tokens_per_second;
    if (!target.has_value()) return;
    const double tokens =
        static_cast<double>(question.settings.global_batch) * static_cast<double>(question.pricer.tokens_per_sample());
    most_ps_ = static_cast<int64_t>(
        std::min(std::floor(tokens / *target * kPicosecondsPerSecond), static_cast<double>(kAnyStep)));
  }

  absl::StatusOr<JointAnswer> Run(const std::function<void(const JointAnswer&)>& on_answer) {
    const Decision of_all = Ask(all_);
    if (of_all != Decision::kReached) return WhyNot(of_all, on_answer);
    reached_ = all_;
    for (std::size_t number = 0; number < all_.size(); ++number) {
      Lower(Counts(all_.size(), 0), number, CountsAlone(classes()[number]));
    }
    if (all_.size() > 1) Mix(WholeBox());
    absl::StatusOr<JointAnswer> planned = PlanOn(reached_, on_answer);
    const bool misses = planned.ok() && planned->plan.step.count() > most_ps_;
    if (!found_.plan.stages.empty() && (misses || IsNoPlanFound(planned.status()))) planned = found_;
    ASSIGN_OR_RETURN(JointAnswer answer, std::move(planned));
    answer.counters["device_counts_tried"] = tried_;
    answer.counters["devices_allowed"] = TotalOf(reached_);
    answer.counters["devices_needed"] = LeastNotRefuted();
    return answer;
  }

 private:
  enum class Decision { kReached, kRefuted, kOpen };

  struct Reply {
    Decision decision = Decision::kOpen;
    // The best that was found, costed, and the row that it lies on.
    std::optional<JointPlan> plan;
    TrainingCluster row;
  };

  const std::vector<TrainingClass>& classes() const { return classes_; }
  bool is_network() const { return question_.training.pairs != nullptr; }

  // The best plan on so many devices of each class; on a network, one that takes no longer than `enough_ps` will do.
  absl::StatusOr<JointAnswer> PlanOn(const Counts& counts, const std::function<void(const JointAnswer&)>& on_answer,
                                     int64_t enough_ps = 0) const {
    const TrainingCluster part = is_network() ? question_.training : FirstDevicesByClass(question_.training, counts);
    JointQuestion asked{question_.pricer,   question_.cluster,        part,
                        question_.settings, question_.reserved_bytes, question_.relative_gap};
    if (is_network()) asked.most_devices = counts;
    asked.enough_ps = enough_ps;
    return (is_network() ? PlanOnNetwork : PlanJointly)(asked, limits_, on_answer);
  }

  // 1, 2, ..., those of a node, and then whole nodes.
  static Counts CountsAlone(const TrainingClass& part) {
    Counts counts;
    for (int64_t devices = 1; devices < part.devices_per_node; ++devices) counts.push_back(devices);
    for (int64_t nodes = 1; nodes <= part.nodes; ++nodes) counts.push_back(nodes * part.devices_per_node);
    return counts;
  }

  // The counts that a class can have beside other classes: none, and whole nodes.
  static Counts CountsBesideOthers(const TrainingClass& part) {
    Counts counts;
    for (int64_t nodes = 0; nodes <= part.nodes; ++nodes) counts.push_back(nodes * part.devices_per_node);
    return counts;
  }

  // Whether devices in such numbers reach the target.
  Decision Ask(const Counts& counts) {
    if (!reached_.empty() && Covers(counts, reached_)) return Decision::kReached;
    if (IsRefuted(counts)) return Decision::kRefuted;
    ++tried_;
    TrainingCluster part = FirstDevicesByClass(question_.training, counts);
    if (is_network()) return AskOnNetwork(counts, std::move(part));
    Reply reply = AskInOrders(part);
    Decision decision = reply.decision;
    if (reply.plan.has_value()) Note(std::move(reply));
    // Other nodes of as many may be closer to each other; nobody has the plans that would be found on such.
    const bool has_others = question_.is_part || counts != all_;
    if (decision == Decision::kRefuted && has_others && !part.groups.empty() &&
        AskInOrders(AsCloseAsCanBe(part)).decision != Decision::kRefuted) {
      decision = Decision::kOpen;
    }
    if (decision == Decision::kRefuted) refuted_.push_back(counts);
    return decision;
  }

  // Whichever these devices are: `part` as if all its links were the fastest refutes; else places decide, unless there
  // is no target, because what a device holds does not depend on its links.
  Decision AskOnNetwork(const Counts& counts, TrainingCluster part) {
    part.pairs = nullptr;
    const Reply reply = AskInOrders(part);
    Decision decision = reply.decision;
    // On all devices the best plan is told even if it misses the target.
    const bool is_open = decision != Decision::kRefuted || (reached_.empty() && reply.plan.has_value());
    if (most_ps_ < kAnyStep && is_open) decision = AskPlaces(counts);
    if (decision == Decision::kRefuted) refuted_.push_back(counts);
    return decision;
  }

  Decision AskPlaces(const Counts& counts) {
    absl::StatusOr<JointAnswer> planned = PlanOn(
        counts, [](const JointAnswer&) {}, most_ps_);
    if (!planned.ok()) return Decision::kOpen;
    const JointPlan& plan = planned->plan;
    if (plan.step.count() <= most_ps_) {
      found_ = *std::move(planned);
      return Decision::kReached;
    }
    best_ = std::min(best_.value_or(plan.step), plan.step);
    return plan.step_bound.count() > most_ps_ ? Decision::kRefuted : Decision::kOpen;
  }

  Reply AskInOrders(const TrainingCluster& part) const {
    Reply reply = AskInOrder(part);
    if (reply.decision == Decision::kReached || part.classes.size() == 1) return reply;
    Reply other = AskInOrder(InReverse(part));
    if (other.decision == Decision::kRefuted) other.decision = reply.decision;
    const bool is_better = other.plan.has_value() && (!reply.plan.has_value() || other.plan->step < reply.plan->step);
    reply.decision = other.decision;
    return is_better ? other : reply;
  }

  Reply AskInOrder(const TrainingCluster& part) const {
    const double gap = std::min(question_.relative_gap, kDecisiveGap);
    JointRequest request{question_.pricer, part, question_.settings, question_.reserved_bytes, gap};
    // Where all are enough, by how much others miss the target does not matter.
    if (!reached_.empty() && most_ps_ < kAnyStep) request.known_step_ps = most_ps_ + most_ps_ / 1'000 + 1;
    JointOutcome outcome = SearchJoint(request, limits_, [](const JointPlan&) {});
    const bool reaches = outcome.plan.has_value() && outcome.plan->step.count() <= most_ps_;
    const bool may_be_longer = most_ps_ >= kAnyStep / 2 && !reaches && MayTakeTooLong(request, limits_).value_or(true);
    const bool is_refuted = outcome.step_bound_ps > most_ps_ && !may_be_longer;
    const Decision missed = is_refuted ? Decision::kRefuted : Decision::kOpen;
    return {reaches ? Decision::kReached : missed, std::move(outcome.plan), part};
  }

  // Keeps the plan, which reaches the target, for where no time is left to look for the best one; of one that does not
  // its step. REQUIRES: reply.plan.
  void Note(Reply reply) {
    if (reply.decision != Decision::kReached) {
      best_ = std::min(best_.value_or(reply.plan->step), reply.plan->step);
      return;
    }
    SimulateJointPlan(question_.pricer, DeviceRow(reply.row), *reply.plan);
    found_ = {.plan = *std::move(reply.plan), .training = std::move(reply.row), .is_interrupted = true, .counters = {}};
  }

  bool IsRefuted(const Counts& counts) const {
    return std::any_of(refuted_.begin(), refuted_.end(), [&](const Counts& more) { return Covers(more, counts); });
  }

  // The least of `choices` of class `number` that reaches the target beside `counts`, if that is less in all than what
  // is known.
  void Lower(Counts counts, std::size_t number, const Counts& choices) {
    counts[number] = 0;
    const int64_t most = TotalOf(reached_) - TotalOf(counts) - 1;
    std::size_t missed = 0;
    auto reached = static_cast<std::size_t>(std::upper_bound(choices.begin(), choices.end(), most) - choices.begin());
    // Where another class has the best so far, all of these may well be too few.
    std::size_t next = all_.size() == 1 ? reached / 2 : reached - 1;
    while (missed < reached && !CheckInterruption(limits_).has_value()) {
      counts[number] = choices[next];
      if (Ask(counts) == Decision::kReached) {
        reached = next;
        reached_ = counts;
      } else {
        missed = next + 1;
      }
      next = missed + (reached - missed) / 2;
    }
  }

  Box WholeBox() const {
    Box box;
    for (std::size_t number = 0; number + 1 < all_.size(); ++number) {
      box.low.push_back(0);
      box.high.push_back(classes()[number].nodes);
    }
    return box;
  }

  // Nodes of all classes but the last, as many of the last as less devices than are known in all leave room for beside
  // `low`; empty: none.
  Counts MostOf(const Box& box) const {
    int64_t left = TotalOf(reached_) - 1;
    Counts most;
    for (std::size_t number = 0; number < box.low.size(); ++number) {
      left -= box.low[number] * classes()[number].devices_per_node;
      most.push_back(box.high[number] * classes()[number].devices_per_node);
    }
    if (left < 0) return {};
    const TrainingClass& last = classes().back();
    most.push_back(std::min<int64_t>(last.nodes, left / last.devices_per_node) * last.devices_per_node);
    return most;
  }

  // Looks for fewer devices in all among the mixes of a box: where even its most of each class are refuted, all are;
  // else in its halves.
  void Mix(const Box& box) {
    const Counts most = MostOf(box);
    // Mixes of the last class alone are known already.
    if (most.empty() || TotalOf(box.high) == 0 || CheckInterruption(limits_).has_value()) return;
    if (box.is_one()) return Lower(most, most.size() - 1, CountsBesideOthers(classes().back()));
    if (Ask(most) == Decision::kRefuted) return;
    std::size_t widest = 0;
    for (std::size_t number = 1; number < box.low.size(); ++number) {
      if (box.high[number] - box.low[number] > box.high[widest] - box.low[widest]) widest = number;
    }
    Box fewer = box;
    Box more = box;
    fewer.high[widest] = box.low[widest] + (box.high[widest] - box.low[widest]) / 2;
    more.low[widest] = fewer.high[widest] + 1;
    Mix(fewer);
    Mix(more);
  }

  // The least number of devices in all that is not refuted.
  int64_t LeastNotRefuted() const {
    int64_t least = TotalOf(reached_);
    for (std::size_t number = 0; number < all_.size(); ++number) {
      for (const int64_t alone : CountsAlone(classes()[number])) {
        Counts counts(all_.size(), 0);
        counts[number] = alone;
        if (alone < least && !IsRefuted(counts)) least = alone;
      }
    }
    if (all_.size() > 1) LowerToNotRefuted(Counts(), least);
    return least;
  }

  // `counts` of the first classes, with every number of nodes of the others. Interrupted, nothing is proven.
  void LowerToNotRefuted(const Counts& counts, int64_t& least) const {
    if (TotalOf(counts) >= least) return;
    if (CheckInterruption(limits_).has_value()) {
      least = 1;
      return;
    }
    if (counts.size() + 1 == all_.size()) return LowerByLast(counts, least);
    for (const int64_t more : CountsBesideOthers(classes()[counts.size()])) {
      Counts longer = counts;
      longer.push_back(more);
      LowerToNotRefuted(longer, least);
    }
  }

  // Lowers `least` to what is left with the fewest nodes of the last class that are not refuted beside `others`.
  void LowerByLast(const Counts& others, int64_t& least) const {
    const TrainingClass& last = classes().back();
    int64_t most_refuted = TotalOf(others) == 0 ? 0 : -1;
    for (const Counts& refuted : refuted_) {
      const bool covers = std::equal(others.begin(), others.end(), refuted.begin(), std::less_equal<>());
      if (covers) most_refuted = std::max(most_refuted, refuted.back());
    }
    const int64_t nodes = most_refuted < 0 ? 0 : most_refuted / last.devices_per_node + 1;
    if (nodes <= last.nodes) least = std::min(least, TotalOf(others) + nodes * last.devices_per_node);
  }

  // Says why there is no plan where all devices miss the target.
  absl::Status WhyNot(Decision decision, const std::function<void(const JointAnswer&)>& on_answer) const {
    // Nothing fits: the search itself says so best.
    if (!best_.has_value()) {
      return (is_network() ? PlanOnNetwork : PlanJointly)(question_, limits_, on_answer).status();
    }
    const double tokens = static_cast<double>(question_.settings.global_batch) *
                          static_cast<double>(question_.pricer.tokens_per_sample());
    const std::string found =
        absl::StrFormat("the best plan on all %d devices trains %.0f tokens/s, and %.0f are asked for", TotalOf(all_),
                        tokens / static_cast<double>(best_->count()) * kPicosecondsPerSecond,
                        *question_.settings.target_tokens_per_second);
    if (decision == Decision::kOpen) {
      return NoPlanFoundError(found + "; it is not proven that none does", SpentLimit::kTime);
    }
    Infeasibility infeasibility;
    infeasibility.Add({.resource = "time",
                       .subject = "",
                       .needed_bytes = 0,
                       .available_bytes = 0,
                       .description = found + "; lower the target or add devices"});
    return InfeasibleError(infeasibility);
  }

  const JointQuestion& question_;
  const SolveLimits& limits_;
  // As they are counted.
  std::vector<TrainingClass> classes_;
  Counts all_;
  int64_t most_ps_ = kAnyStep;
  int64_t tried_ = 0;
  // The fewest in all that are known to reach the target, and how; empty: none is.
  Counts reached_;
  JointAnswer found_;
  std::vector<Counts> refuted_;
  // The least step of the plans that missed the target.
  std::optional<Picoseconds> best_;
};

}  // namespace

absl::StatusOr<JointAnswer> PlanOnFewestDevices(const JointQuestion& question, const SolveLimits& limits,
                                                const std::function<void(const JointAnswer&)>& on_answer) {
  return FewestDevices(question, limits).Run(on_answer);
}

}  // namespace planwright
