#include "core/joint/plan/fewest_devices.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/base/infeasibility.h"
#include "core/base/interruption.h"
#include "core/base/known.h"
#include "core/base/status_macros.h"
#include "core/base/units.h"
#include "core/joint/cost/stage_cost.h"
#include "core/joint/plan/device_counts.h"
#include "core/joint/plan/device_parts.h"
#include "core/joint/plan/network_planning.h"
#include "core/joint/plan/what_would_fit.h"
#include "core/joint/search/fewest_search.h"

namespace planwright {
namespace {

// Less than by how much steps may be too long to be looked for (AskInRow).
constexpr double kDecisiveGap = 5e-4;
// Eleven days.
constexpr int64_t kAnyStep = 1'000'000'000'000'000'000;

// Whether each of `more` is at least that of `less`: a plan may leave devices idle.
bool Covers(const DeviceCounts& more, const DeviceCounts& less) {
  return std::equal(more.begin(), more.end(), less.begin(), std::greater_equal<>());
}

// Nodes alike, of which the last one may have fewer devices, and no racks: every number of devices is whole nodes and
// part of one more.
bool IsOneRow(const TrainingCluster& training) {
  const std::vector<TrainingClass>& classes = training.classes;
  if (training.pairs != nullptr || !training.groups.empty() || classes.size() > 2) return false;
  if (classes.size() == 1) return true;
  const auto& [whole, rest] = std::tie(classes.front(), classes.back());
  return whole.device_class == rest.device_class && whole.memory_bytes == rest.memory_bytes && rest.nodes == 1 &&
         rest.devices_per_node < whole.devices_per_node;
}

class FewestDevices {
 public:
  FewestDevices(const JointQuestion& question, const SolveLimits& limits)
      : question_(question),
        limits_(limits),
        is_one_row_(IsOneRow(question.training)),
        whole_(is_one_row_ && question.whole != nullptr && IsOneRow(*question.whole) ? *question.whole
                                                                                     : question.training) {
    for (const TrainingClass& part : question.training.classes) all_.push_back(part.devices());
    if (!question.most_devices.empty()) all_ = question.most_devices;
    if (is_one_row_) all_ = {TotalOf(all_)};
    const std::optional<double>& target = question.settings.target_tokens_per_second;
    if (!target.has_value()) return;
    most_ps_ = static_cast<int64_t>(std::min(TokensPerSecond(1) / *target, static_cast<double>(kAnyStep)));
    // What plans state of their speed is rounded, and a plan reaches what it states.
    while (most_ps_ > 1 && TokensPerSecond(most_ps_) < *target) --most_ps_;
    while (most_ps_ < kAnyStep && TokensPerSecond(most_ps_ + 1) >= *target) ++most_ps_;
  }

  absl::StatusOr<JointAnswer> Run(const std::function<void(const JointAnswer&)>& on_answer) {
    if (is_one_row_ && MayBePlain()) LookAlongRow();
    if (reached_.empty()) {
      Decision of_all = Ask(all_);
      if (of_all != Decision::kReached && !best_.has_value()) {
        ASSIGN_OR_RETURN(of_all, PlanOnAll(on_answer));
      }
      if (of_all != Decision::kReached) return WhyNot(of_all);
      reached_ = all_;
    }
    for (std::size_t number = 0; number < all_.size(); ++number) Lower(DeviceCounts(all_.size(), 0), number);
    if (all_.size() > 1) Mix(WholeBox());
    if (question_.most_total > 0 && TotalOf(reached_) > question_.most_total) return TooMany();
    absl::StatusOr<JointAnswer> planned = PlanOn(reached_, on_answer);
    const bool misses = !planned.ok() || !Reaches(planned->plan);
    if (found_.has_value() && misses) {
      planned = found_->answer;
      reached_ = found_->counts;
    }
    ASSIGN_OR_RETURN(JointAnswer answer, std::move(planned));
    answer.is_interrupted |= is_memory_spent_;
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
    // The search had neither time nor memory to end.
    bool is_interrupted = false;
  };

  struct Ruling {
    Decision decision = Decision::kOpen;
    bool is_interrupted = false;
  };

  // A plan that reaches the target, for where there is no time to look for the best one on as many devices.
  struct Found {
    DeviceCounts counts;
    JointAnswer answer;
  };

  static bool IsInterrupted(const absl::Status& status) {
    return IsNoPlanFound(status) || absl::IsResourceExhausted(status) || absl::IsCancelled(status);
  }

  double TokensPerSecond(int64_t step_ps) const {
    return SamplesPerSecond(question_.settings.global_batch, step_ps) *
           static_cast<double>(question_.pricer.tokens_per_sample());
  }

  bool is_network() const { return question_.training.pairs != nullptr; }
  // Only whether plans fit is asked.
  bool is_any_step() const { return most_ps_ >= kAnyStep / 2; }
  bool Reaches(const JointPlan& plan) const {
    return !question_.settings.target_tokens_per_second.has_value() || plan.step.count() <= most_ps_;
  }
  bool MayBePlain() const {
    const std::vector<PipelineOrder>& orders = question_.settings.orders;
    return std::find(orders.begin(), orders.end(), PipelineOrder::kOneFOneB) != orders.end();
  }

  DeviceCounts CountsOfWhole(const DeviceCounts& counts) const {
    return is_one_row_ ? CountsByClass(whole_, counts.front()) : counts;
  }

  // So many of the devices: of each class; in one row, of the whole nodes first.
  TrainingCluster PartOf(const DeviceCounts& counts) const {
    return is_one_row_ ? FirstDevices(question_.training, counts.front())
                       : FirstDevicesByClass(question_.training, counts);
  }

  // One search for every number of devices of the row, under 1F1B and with what is not whole nodes at the front of the
  // pipeline: the fewest that it finds are the first that are known to reach the target.
  void LookAlongRow() {
    TrainingCluster row = question_.training;
    row.classes.resize(1);
    row.classes.front().nodes = static_cast<int32_t>(CeilDivide(all_.front(), row.classes.front().devices_per_node));
    const JointRequest request = question_.RequestOn(row);
    const std::optional<int64_t> most = is_any_step() ? std::nullopt : std::optional(most_ps_);
    FewestOutcome outcome = SearchFewestDevices(request, most, all_.front(), limits_);
    if (!outcome.plan.has_value()) return;
    const auto idle = static_cast<int32_t>(row.classes.front().devices() - outcome.devices);
    for (JointStage& stage : outcome.plan->stages) stage.first_slot -= idle;
    reached_ = {outcome.devices};
    TrainingCluster part = InReverse(PartOf(reached_));
    CostJointPlan(question_.pricer, DeviceRow(part), question_.reserved_bytes, *outcome.plan);
    Note(reached_, {Decision::kReached, std::move(outcome.plan), std::move(part)});
  }

  // The best plan on so many devices of each class; on a network, one that takes no longer than `enough_ps` will do.
  absl::StatusOr<JointAnswer> PlanOn(const DeviceCounts& counts,
                                     const std::function<void(const JointAnswer&)>& on_answer,
                                     int64_t enough_ps = 0) const {
    const TrainingCluster part = is_network() ? question_.training : PartOf(counts);
    JointQuestion asked{question_.pricer,   question_.cluster,        part,
                        question_.settings, question_.reserved_bytes, question_.relative_gap};
    if (is_network()) {
      asked.most_devices = counts;
    } else if (counts != all_ || question_.whole != nullptr) {
      asked.whole = &whole_;
      asked.part_counts = CountsOfWhole(counts);
      asked.is_one_mix = is_one_row_;
    }
    asked.enough_ps = enough_ps;
    return (is_network() ? PlanOnNetwork : PlanJointly)(asked, limits_, on_answer);
  }

  // Where no plan was found: the search for the best one says best that there is none. If it finds one all the same,
  // for which the other had no time or memory, whether that reaches the target.
  absl::StatusOr<Decision> PlanOnAll(const std::function<void(const JointAnswer&)>& on_answer) {
    ASSIGN_OR_RETURN(JointAnswer answer, (is_network() ? PlanOnNetwork : PlanJointly)(question_, limits_, on_answer));
    if (!Reaches(answer.plan)) {
      best_ = answer.plan.step;
      NoteOpen(answer.is_interrupted);
      return Decision::kOpen;
    }
    found_ = Found{all_, std::move(answer)};
    return Decision::kReached;
  }

  // Whether devices in such numbers reach the target.
  Decision Ask(const DeviceCounts& counts) {
    if (!reached_.empty() && Covers(counts, reached_)) return Decision::kReached;
    if (IsRefuted(counts)) return Decision::kRefuted;
    ++tried_;
    const Ruling ruling = is_network() ? AskOnNetwork(counts) : AskPart(counts);
    if (ruling.decision == Decision::kRefuted) refuted_.push_back(counts);
    if (ruling.decision == Decision::kOpen) NoteOpen(ruling.is_interrupted);
    return ruling.decision;
  }

  Ruling AskPart(const DeviceCounts& counts) {
    Ruling ruling{Decision::kRefuted, false};
    for (const TrainingCluster& part : PartsWith(whole_, CountsOfWhole(counts), question_.settings)) {
      Reply reply = AskInRows(part);
      if (reply.decision != Decision::kRefuted) ruling.decision = reply.decision;
      ruling.is_interrupted = ruling.is_interrupted || reply.is_interrupted;
      if (reply.plan.has_value()) Note(counts, std::move(reply));
      if (ruling.decision == Decision::kReached) return ruling;
    }
    // Of a limit that leaves nodes of several sizes or racks, others of these are not looked at.
    const bool is_unknown = question_.whole != nullptr && question_.whole->devices.size() > whole_.devices.size();
    if (ruling.decision == Decision::kRefuted && (is_unknown || IsOpenElsewhere(counts))) {
      ruling.decision = Decision::kOpen;
    }
    return ruling;
  }

  // Other nodes of as many devices may be closer to each other, and stages that differ may lie on parts of several;
  // nobody has the plans that would be found there.
  bool IsOpenElsewhere(const DeviceCounts& counts) const {
    const bool has_others = question_.is_part || counts != all_;
    const bool may_differ = question_.settings.per_stage || whole_.classes.size() > 1;
    if (!has_others || (whole_.groups.empty() && !may_differ)) return false;
    const std::vector<TrainingCluster> parts =
        BoundPartsWith(whole_, CountsOfWhole(counts), question_.settings, is_one_row_);
    return std::any_of(parts.begin(), parts.end(), [&](const TrainingCluster& part) {
      return AskInRows(AsCloseAsCanBe(part)).decision != Decision::kRefuted;
    });
  }

  // Whichever these devices are: as if all their links were the fastest refutes; else places decide, unless there is no
  // target, because what a device holds does not depend on its links, only on which device it is where these differ in
  // memory.
  Ruling AskOnNetwork(const DeviceCounts& counts) {
    TrainingCluster part = PartOf(counts);
    part.pairs = nullptr;
    const Reply reply = AskInRows(part);
    // On all devices the best plan is told even if it misses the target.
    const bool is_open = reply.decision != Decision::kRefuted || (reached_.empty() && reply.plan.has_value());
    const bool may_be_held = HasUnlikeMemory(part) && reply.decision == Decision::kOpen;
    if ((most_ps_ < kAnyStep && is_open) || may_be_held) return AskPlaces(counts);
    return {reply.decision, reply.is_interrupted};
  }

  Ruling AskPlaces(const DeviceCounts& counts) {
    absl::StatusOr<JointAnswer> planned = PlanOn(
        counts, [](const JointAnswer&) {}, most_ps_);
    if (!planned.ok()) return {Decision::kOpen, IsInterrupted(planned.status())};
    const JointPlan& plan = planned->plan;
    const bool is_interrupted = planned->is_interrupted;
    if (Reaches(plan)) {
      Keep({counts, *std::move(planned)});
      return {Decision::kReached, is_interrupted};
    }
    best_ = std::min(best_.value_or(plan.step), plan.step);
    return {plan.step_bound.count() > most_ps_ ? Decision::kRefuted : Decision::kOpen, is_interrupted};
  }

  Reply AskInRows(const TrainingCluster& part) const {
    Reply best;
    bool is_open = false;
    bool is_interrupted = false;
    for (const TrainingCluster& row : RowsOf(part)) {
      Reply reply = AskInRow(row);
      if (reply.decision == Decision::kReached) return reply;
      is_open = is_open || reply.decision == Decision::kOpen;
      is_interrupted = is_interrupted || reply.is_interrupted;
      const bool is_better = reply.plan.has_value() && (!best.plan.has_value() || reply.plan->step < best.plan->step);
      if (is_better) best = std::move(reply);
    }
    is_open = is_open || (HasUnlikeMemory(part) && DecisionOnBestRows(part) == Decision::kOpen);
    best.decision = is_open ? Decision::kOpen : Decision::kRefuted;
    best.is_interrupted = is_interrupted;
    return best;
  }

  // What refutes is proven where all have the most memory.
  Decision DecisionOnBestRows(const TrainingCluster& part) const {
    for (const TrainingCluster& row : BestRowsOf(part)) {
      if (AskInRow(row).decision != Decision::kRefuted) return Decision::kOpen;
    }
    return Decision::kRefuted;
  }

  Reply AskInRow(const TrainingCluster& part) const {
    JointRequest request = question_.RequestOn(part);
    request.relative_gap = std::min(request.relative_gap, kDecisiveGap);
    if (is_any_step() && PlainHoldsWhatOthersDo(request)) return AskWhetherHeld(request);
    request.enough_ps = most_ps_;
    // Where all are enough, by how much others miss the target does not matter.
    if (!reached_.empty() && !is_any_step()) request.known_step_ps = most_ps_ + most_ps_ / 1'000 + 1;
    JointOutcome outcome = SearchJoint(request, limits_, [](const JointPlan&) {});
    const bool reaches = outcome.plan.has_value() && Reaches(*outcome.plan);
    return {DecisionOf(request, reaches, outcome.step_bound_ps > most_ps_), std::move(outcome.plan), part,
            outcome.is_interrupted};
  }

  // REQUIRES: PlainHoldsWhatOthersDo(request).
  Reply AskWhetherHeld(const JointRequest& request) const {
    const DeviceRow row(request.cluster);
    FewestOutcome outcome = SearchFewestDevices(request, std::nullopt, row.size(), limits_);
    const bool is_held = outcome.plan.has_value();
    if (is_held) CostJointPlan(question_.pricer, row, question_.reserved_bytes, *outcome.plan);
    return {DecisionOf(request, is_held, outcome.is_proven), std::move(outcome.plan), request.cluster,
            !outcome.is_proven};
  }

  // `misses`: every plan of the request does, but those that are left out because they take too long.
  Decision DecisionOf(const JointRequest& request, bool reaches, bool misses) const {
    if (reaches) return Decision::kReached;
    const bool may_be_longer = misses && is_any_step() && MayTakeTooLong(request, limits_).value_or(true);
    return misses && !may_be_longer ? Decision::kRefuted : Decision::kOpen;
  }

  // What a search that ended early though nothing told it to left open: it had no memory.
  void NoteOpen(bool was_interrupted) {
    is_memory_spent_ |= was_interrupted && !CheckInterruption(limits_).has_value();
  }

  // Keeps the plan on so many devices, if it reaches the target; of one that does not its step. REQUIRES: reply.plan.
  void Note(const DeviceCounts& counts, Reply reply) {
    JointPlan plan = Known(std::move(reply.plan));
    if (reply.decision != Decision::kReached) {
      best_ = std::min(best_.value_or(plan.step), plan.step);
      return;
    }
    SimulateJointPlan(question_.pricer, DeviceRow(reply.row), plan);
    Keep({counts, {.plan = std::move(plan), .training = std::move(reply.row), .is_interrupted = true, .counters = {}}});
  }

  void Keep(Found found) {
    if (!found_.has_value() || TotalOf(found.counts) < TotalOf(found_->counts)) found_ = std::move(found);
  }

  bool IsRefuted(const DeviceCounts& counts) const {
    return std::any_of(refuted_.begin(), refuted_.end(),
                       [&](const DeviceCounts& more) { return Covers(more, counts); });
  }

  // The fewest devices of class `number` that reach the target beside `counts`, if those are fewer in all than what is
  // known. Along a row the fewest are near what one search found for all numbers; elsewhere they may be anywhere.
  void Lower(DeviceCounts counts, std::size_t number) {
    counts[number] = 0;
    const int64_t others = TotalOf(counts);
    int64_t missed = others == 0 ? 0 : -1;
    int64_t reached = std::min(all_[number] + 1, TotalOf(reached_) - others);
    // Where another class has the best so far, all of these may well be too few.
    int64_t next = all_.size() == 1 ? missed + (reached - missed) / 2 : reached - 1;
    int64_t stride = is_one_row_ && MayBePlain() ? 1 : 0;
    if (stride > 0) next = reached - 1;
    while (reached - missed > 1 && !CheckInterruption(limits_).has_value()) {
      counts[number] = next;
      if (Ask(counts) == Decision::kReached) {
        reached = next;
        reached_ = counts;
        stride *= 2;
      } else {
        missed = next;
        stride = 0;
      }
      next = stride > 0 ? std::max(missed + 1, reached - stride) : missed + (reached - missed) / 2;
    }
    if (all_.size() == 1 && missed > 0) RefuteBelow(missed);
  }

  // The most devices below `open` that are refuted, where what misses the target leaves it open.
  void RefuteBelow(int64_t open) {
    int64_t refuted = IsRefuted({open}) ? open : 0;
    while (open - refuted > 1 && !CheckInterruption(limits_).has_value()) {
      const int64_t middle = refuted + (open - refuted) / 2;
      const Decision decision = Ask({middle});
      if (decision == Decision::kReached) reached_ = {middle};
      (decision == Decision::kRefuted ? refuted : open) = middle;
    }
  }

  MixBox WholeBox() const { return {DeviceCounts(all_.size() - 1, 0), DeviceCounts(all_.begin(), all_.end() - 1)}; }

  // Devices of all classes but the last, as many of the last as less devices than are known in all leave room for
  // beside `low`; empty: none.
  DeviceCounts MostOf(const MixBox& box) const {
    const int64_t left = TotalOf(reached_) - 1 - TotalOf(box.low);
    if (left < 0) return {};
    DeviceCounts most = box.high;
    most.push_back(std::min(all_.back(), left));
    return most;
  }

  // Looks for fewer devices in all among the mixes of a box: where even its most of each class are refuted, all are;
  // else in its halves.
  void Mix(const MixBox& box) {
    const DeviceCounts most = MostOf(box);
    // Mixes of the last class alone are known already.
    if (most.empty() || TotalOf(box.high) == 0 || CheckInterruption(limits_).has_value()) return;
    if (box.is_one()) return Lower(most, most.size() - 1);
    if (Ask(most) == Decision::kRefuted) return;
    const std::size_t widest = box.widest();
    const auto [fewer, more] = box.DividedAt(widest, box.low[widest] + (box.high[widest] - box.low[widest]) / 2);
    Mix(fewer);
    Mix(more);
  }

  // The least number of devices in all that is not refuted. Interrupted, nothing is proven.
  int64_t LeastNotRefuted() const {
    int64_t least = TotalOf(reached_);
    LowerToNotRefuted(DeviceCounts(), least);
    return CheckInterruption(limits_).has_value() ? 1 : least;
  }

  // `counts` of the first classes, with such numbers of the others that are no less or one more than refuted ones: the
  // least that is not refuted has no others.
  void LowerToNotRefuted(const DeviceCounts& counts, int64_t& least) const {
    if (TotalOf(counts) >= least || CheckInterruption(limits_).has_value()) return;
    if (counts.size() == all_.size()) {
      if (TotalOf(counts) > 0 && !IsRefuted(counts)) least = TotalOf(counts);
      return;
    }
    std::set<int64_t> choices{0, 1};
    for (const DeviceCounts& refuted : refuted_) choices.insert(refuted[counts.size()] + 1);
    for (const int64_t more : choices) {
      if (more > all_[counts.size()]) break;
      DeviceCounts longer = counts;
      longer.push_back(more);
      LowerToNotRefuted(longer, least);
    }
  }

  // More are known to do than may be used.
  absl::Status TooMany() const {
    const int64_t most = question_.most_total;
    const std::string found =
        absl::StrCat(TotalOf(reached_), " devices do, and ", most, " may be used (--max_devices)");
    if (LeastNotRefuted() <= most) {
      const bool is_timely = !CheckInterruption(limits_).has_value();
      return NoPlanFoundError(found + "; whether as many do is open: allow more " + (is_timely ? "devices" : "time"),
                              is_timely ? SpentLimit::kNone : SpentLimit::kTime);
    }
    Infeasibility infeasibility;
    if (is_any_step()) infeasibility.minimum_devices = static_cast<int32_t>(TotalOf(reached_));
    const std::string none = most == 1 ? "none of them does alone" : absl::StrCat("no ", most, " of them do");
    infeasibility.Add({.resource = "devices", .subject = "", .description = absl::StrCat(found, "; ", none)});
    return InfeasibleError(infeasibility);
  }

  // All devices miss the target. REQUIRES: best_, and a target.
  absl::Status WhyNot(Decision decision) const {
    if (CheckInterruption(limits_) == Interruption::kCancelled) return NotWithinLimitsError(limits_);
    // As reports say it: what they print is reached.
    const std::string found =
        absl::StrFormat("the best plan on all %d devices trains %.0f tokens/s, and %.15g are asked for", TotalOf(all_),
                        std::floor(TokensPerSecond(Known(best_).count())),
                        std::ceil(Known(question_.settings.target_tokens_per_second)));
    if (decision == Decision::kOpen) {
      if (CheckInterruption(limits_).has_value()) {
        return NoPlanFoundError(found + "; it is not proven that none does", SpentLimit::kTime);
      }
      if (is_memory_spent_) {
        return absl::ResourceExhaustedError(
            absl::StrCat(found, "; that none does is not proven in the memory that searches may take; ", kMoreMemory));
      }
      if (question_.is_part && !question_.training.groups.empty()) {
        return NoPlanFoundError(found +
                                "; whether as many in other racks do is open: name them (--hosts), or lower "
                                "the target");
      }
      return NoPlanFoundError(found + "; whether another does is open within the gap: lower it (--gap) or the target");
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
  bool is_one_row_;
  // What a limit to the devices leaves some of.
  const TrainingCluster& whole_;
  // Devices of each class; of one row of all together.
  DeviceCounts all_;
  int64_t most_ps_ = kAnyStep;
  int64_t tried_ = 0;
  bool is_memory_spent_ = false;
  // The fewest in all that are known to reach the target, and how; empty: none is.
  DeviceCounts reached_;
  std::optional<Found> found_;
  std::vector<DeviceCounts> refuted_;
  // The least step of the plans that missed the target.
  std::optional<Picoseconds> best_;
};

}  // namespace

absl::StatusOr<JointAnswer> PlanOnFewestDevices(const JointQuestion& question, const SolveLimits& limits,
                                                const std::function<void(const JointAnswer&)>& on_answer) {
  return FewestDevices(question, limits).Run(on_answer);
}

}  // namespace planwright
