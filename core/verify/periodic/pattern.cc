#include "core/verify/periodic/pattern.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/index.h"
#include "core/base/quantity_text.h"
#include "core/base/strings.h"
#include "core/verify/facts/links.h"

namespace planwright {
namespace {

std::string PathOfTask(std::size_t index) { return absl::StrCat("plan.schedule.tasks[", index, "]"); }

// What one micro-batch does at one place of the pipeline.
struct Step {
  PatternOperation operation = PatternOperation::kForward;
  std::size_t stage = 0;
  std::string resource;
  Picoseconds duration{0};
  // Its task in the pattern, where it is listed there, and when micro-batch 0 starts it.
  const PatternTask* task = nullptr;
  std::size_t position = 0;
  Picoseconds start{0};

  Picoseconds end() const { return start + duration; }
};

// Room that a stage takes and gives back once in every period.
struct Change {
  Picoseconds time{0};
  // What is given back goes first.
  bool takes = false;
  std::size_t stage = 0;

  auto operator<=>(const Change&) const = default;
};

class PatternCheck {
 public:
  PatternCheck(const Cluster& cluster, const ResolvedProblem& problem, const Assignment& assignment,
               const JudgedPipeline& pipeline, const PeriodicPattern& pattern, Violations& violations)
      : cluster_(cluster),
        assignment_(assignment),
        pipeline_(pipeline),
        pattern_(pattern),
        violations_(violations),
        full_duplex_(problem.overlap == Overlap::kFullDuplex),
        has_backward_(problem.workload == Workload::kTraining) {}

  std::optional<JudgedPattern> Run() {
    if (pattern_.period <= Picoseconds(0)) {
      violations_.Add("plan.schedule.period_ms", absl::StrCat("must be > 0, is ", TimeText(pattern_.period)));
      return std::nullopt;
    }
    ListSteps();
    if (!AssignTasks()) return std::nullopt;
    CheckOrder();
    CheckResources();
    return JudgedPattern{Tasks(), InFlight(), StoredBytes()};
  }

 private:
  DeviceId DeviceOf(std::size_t stage) const { return assignment_.stages[stage].devices.front(); }
  bool IsSent(std::size_t cut) const { return DeviceOf(cut) != DeviceOf(cut + 1); }

  std::string NameOf(const Step& step) const {
    return absl::StrCat(ToAbsl(planwright::NameOf(step.operation)), " of stage ",
                        assignment_.stages[step.stage].given_index);
  }

  // Lists the steps in the order in which a micro-batch does them.
  void ListSteps() {
    const std::size_t num_stages = assignment_.stages.size();
    for (std::size_t stage = 0; stage < num_stages; ++stage) {
      AddPass(PatternOperation::kForward, stage, pipeline_.forward[stage]);
      if (stage + 1 == num_stages || !IsSent(stage)) continue;
      AddTransfer(PatternOperation::kSendForward, stage, stage + 1, pipeline_.cuts[stage].forward);
    }
    if (!has_backward_) return;
    for (std::size_t stage = num_stages; stage-- > 0;) {
      AddPass(PatternOperation::kBackward, stage, pipeline_.backward[stage]);
      if (stage == 0 || !IsSent(stage - 1)) continue;
      AddTransfer(PatternOperation::kSendBackward, stage, stage - 1, pipeline_.cuts[stage - 1].backward);
    }
  }

  void AddPass(PatternOperation operation, std::size_t stage, Picoseconds duration) {
    AddStep(operation, stage, cluster_.devices[DeviceOf(stage).index()].name, duration);
  }

  void AddTransfer(PatternOperation operation, std::size_t stage, std::size_t to, Picoseconds duration) {
    AddStep(operation, stage, LinkName(cluster_, DeviceOf(stage), DeviceOf(to), full_duplex_), duration);
  }

  void AddStep(PatternOperation operation, std::size_t stage, std::string resource, Picoseconds duration) {
    step_of_[{stage, operation}] = steps_.size();
    steps_.push_back({.operation = operation, .stage = stage, .resource = std::move(resource), .duration = duration});
  }

  // Gives every step its task. False: the two do not match.
  bool AssignTasks() {
    const std::size_t violations_before = violations_.count();
    for (std::size_t i = 0; i < pattern_.tasks.size(); ++i) AssignTask(i);
    for (const Step& step : steps_) {
      if (step.task == nullptr) violations_.Add("plan.schedule.tasks", absl::StrCat("has no ", NameOf(step)));
    }
    if (violations_.count() != violations_before) return false;
    if (steps_.front().task->shift == 0) return true;
    violations_.Add(PathOfTask(steps_.front().position) + ".index_shift",
                    absl::StrCat("of the first forward pass must be 0, is ", steps_.front().task->shift));
    return false;
  }

  void AssignTask(std::size_t position) {
    const PatternTask& task = pattern_.tasks[position];
    const std::string path = PathOfTask(position);
    Step* step = StepOf(task);
    if (step == nullptr) {
      violations_.Add(path, absl::StrCat("there is no ", ToAbsl(planwright::NameOf(task.operation)), " of stage ",
                                         task.stage.index()));
    } else if (step->task != nullptr) {
      violations_.Add(path, absl::StrCat(NameOf(*step), " is already at ", PathOfTask(step->position)));
    } else if (task.start < Picoseconds(0) || task.start >= pattern_.period) {
      violations_.Add(path + ".start_ms",
                      absl::StrCat("must be in [0 ms, ", TimeText(pattern_.period), "), is ", TimeText(task.start)));
    } else if (task.shift < 0 || SaturatingMultiply(task.shift + int64_t{1}, pattern_.period.count()) == kMaxQuantity) {
      violations_.Add(path + ".index_shift",
                      absl::StrCat("must be >= 0, and periods times shift less than 2^62 ps, is ", task.shift));
    } else {
      step->task = &task;
      step->position = position;
      step->start = task.start + task.shift * pattern_.period;
    }
  }

  // Stages that were given empty have no steps.
  Step* StepOf(const PatternTask& task) {
    const std::vector<Assignment::Stage>& stages = assignment_.stages;
    const auto stage = std::lower_bound(
        stages.begin(), stages.end(), task.stage.index(),
        [](const Assignment::Stage& assigned, std::size_t given) { return assigned.given_index < given; });
    if (stage == stages.end() || stage->given_index != task.stage.index()) return nullptr;
    const auto found = step_of_.find({static_cast<std::size_t>(stage - stages.begin()), task.operation});
    return found == step_of_.end() ? nullptr : &steps_[found->second];
  }

  // A micro-batch does one step after the other.
  void CheckOrder() {
    for (std::size_t i = 1; i < steps_.size(); ++i) {
      const Step& before = steps_[i - 1];
      if (steps_[i].start >= before.end()) continue;
      violations_.Add(PathOfTask(steps_[i].position),
                      absl::StrCat(NameOf(steps_[i]), " starts ", TimeText(before.end() - steps_[i].start), " before ",
                                   NameOf(before), " has ended"));
    }
  }

  // Checks each resource: what takes time there, by start within the period, ends before the next one starts, and the
  // last one before the first one starts again.
  void CheckResources() {
    std::map<std::string, std::vector<const Step*>> steps_on;
    for (const Step& step : steps_) {
      if (step.duration > Picoseconds(0)) steps_on[step.resource].push_back(&step);
    }
    for (auto& [resource, steps] : steps_on) {
      std::sort(steps.begin(), steps.end(), [](const Step* a, const Step* b) {
        return std::tuple(a->task->start, a->position) < std::tuple(b->task->start, b->position);
      });
      for (std::size_t i = 0; i < steps.size(); ++i) {
        const bool is_last = i + 1 == steps.size();
        const Step& next = is_last ? *steps.front() : *steps[i + 1];
        const Picoseconds next_start = next.task->start + (is_last ? pattern_.period : Picoseconds(0));
        CheckApart(resource, *steps[i], next, next_start);
      }
    }
  }

  void CheckApart(const std::string& resource, const Step& step, const Step& next, Picoseconds next_start) {
    const Picoseconds overlap = step.task->start + step.duration - next_start;
    if (overlap <= Picoseconds(0)) return;
    violations_.Add(PathOfTask(next.position), absl::StrCat(NameOf(next), " starts ", TimeText(overlap), " before '",
                                                            resource, "' has finished ", NameOf(step)));
  }

  std::vector<ScheduledTask> Tasks() const {
    std::vector<ScheduledTask> tasks;
    // step_of_ is ordered as tasks are.
    for (const auto& [key, position] : step_of_) {
      const Step& step = steps_[position];
      tasks.push_back({std::string(planwright::NameOf(step.operation)), StageId(step.stage), PassOf(step.operation),
                       step.resource, step.task->start, step.task->shift});
    }
    return tasks;
  }

  Picoseconds StoredFrom(std::size_t stage) const {
    return steps_[step_of_.at({stage, PatternOperation::kForward})].start;
  }
  Picoseconds StoredUntil(std::size_t stage) const {
    return steps_[step_of_.at({stage, has_backward_ ? PatternOperation::kBackward : PatternOperation::kForward})].end();
  }

  // A stage stores a micro-batch for this long, and takes a new one in every period; one in no time counts too.
  int32_t InFlightOf(std::size_t stage) const {
    const Picoseconds stored_for = std::max(Picoseconds(1), StoredUntil(stage) - StoredFrom(stage));
    const int64_t in_flight = CeilDivide(stored_for.count(), pattern_.period.count());
    return static_cast<int32_t>(std::min<int64_t>(in_flight, std::numeric_limits<int32_t>::max()));
  }

  std::vector<int32_t> InFlight() const {
    return MappedNumbers(assignment_.stages.size(), [&](std::size_t stage) { return InFlightOf(stage); });
  }

  // Follows every device through one period. At some time each of its stages stores a micro-batch.
  std::vector<int64_t> StoredBytes() const {
    std::vector<int64_t> at_first(cluster_.devices.size());
    std::vector<int64_t> once(cluster_.devices.size());
    std::vector<std::vector<Change>> changes(cluster_.devices.size());
    for (std::size_t stage = 0; stage < assignment_.stages.size(); ++stage) {
      const std::size_t device = DeviceOf(stage).index();
      const int64_t bytes = pipeline_.stored_bytes[stage];
      once[device] = SaturatingAdd(once[device], bytes);
      if (StoredUntil(stage) <= StoredFrom(stage)) continue;
      const Picoseconds takes = StoredFrom(stage) % pattern_.period;
      const Picoseconds gives = StoredUntil(stage) % pattern_.period;
      changes[device].push_back({takes, true, stage});
      changes[device].push_back({gives, false, stage});
      // The last one of the period before is there until it is given back.
      const int32_t count = gives <= takes ? InFlightOf(stage) : InFlightOf(stage) - 1;
      at_first[device] = SaturatingAdd(at_first[device], SaturatingMultiply(count, bytes));
    }
    for (std::size_t device = 0; device < once.size(); ++device) {
      once[device] = std::max(once[device], Peak(at_first[device], std::move(changes[device])));
    }
    return once;
  }

  // The most that there is after any of the changes, when there is `bytes` before them.
  int64_t Peak(int64_t bytes, std::vector<Change> changes) const {
    std::sort(changes.begin(), changes.end());
    int64_t peak = 0;
    for (const Change& change : changes) {
      const int64_t of_stage = pipeline_.stored_bytes[change.stage];
      bytes = change.takes ? SaturatingAdd(bytes, of_stage) : bytes - of_stage;
      peak = std::max(peak, bytes);
    }
    return peak;
  }

  const Cluster& cluster_;
  const Assignment& assignment_;
  const JudgedPipeline& pipeline_;
  const PeriodicPattern& pattern_;
  Violations& violations_;
  const bool full_duplex_;
  const bool has_backward_;
  std::vector<Step> steps_;
  // Positions in steps_.
  std::map<std::pair<std::size_t, PatternOperation>, std::size_t> step_of_;
};

// Stages from the first to the last that a tensor visits.
struct Reach {
  std::size_t first = 0;
  std::size_t last = 0;
};

Reach ReachOf(const Tensor& tensor, const Assignment& assignment) {
  const std::size_t origin = assignment.stage_index(tensor.producer);
  Reach reach{origin, origin};
  for (const OperatorId consumer : tensor.consumers) {
    if (!assignment.places(consumer)) continue;
    reach.first = std::min(reach.first, assignment.stage_index(consumer));
    reach.last = std::max(reach.last, assignment.stage_index(consumer));
  }
  return reach;
}

// Times cross one by one; what a tensor adds is added where it sets out and taken back where it has arrived.
class CutSums {
 public:
  explicit CutSums(std::size_t num_stages) : changes_(num_stages) {}

  void Add(std::size_t first_stage, std::size_t last_stage, const JudgedCut& what) {
    if (first_stage == last_stage) return;
    Change(changes_[first_stage], what, 1);
    Change(changes_[last_stage], what, -1);
  }

  std::vector<JudgedCut> Sums() const {
    std::vector<JudgedCut> cuts;
    JudgedCut running;
    for (std::size_t stage = 0; stage + 1 < changes_.size(); ++stage) {
      Change(running, changes_[stage], 1);
      cuts.push_back(running);
    }
    return cuts;
  }

 private:
  static void Change(JudgedCut& cut, const JudgedCut& what, int64_t sign) {
    cut.forward += sign * what.forward;
    cut.backward += sign * what.backward;
    cut.bytes += sign * what.bytes;
    cut.forward_bytes += sign * what.forward_bytes;
  }

  std::vector<JudgedCut> changes_;
};

}  // namespace

std::optional<JudgedPattern> CheckPattern(const Cluster& cluster, const ResolvedProblem& problem,
                                          const Assignment& assignment, const JudgedPipeline& pipeline,
                                          const PeriodicPattern& pattern, Violations& violations) {
  return PatternCheck(cluster, problem, assignment, pipeline, pattern, violations).Run();
}

std::vector<JudgedCut> CutsOf(const ResolvedInput& input, const Assignment& assignment) {
  const bool gradients_return = input.problem.workload == Workload::kTraining && !HasBackwardOperators(input.graph);
  JudgedLinks links(input.cluster.interconnect, input.cluster.devices.size());
  CutSums sums(assignment.stages.size());
  for (const Tensor& tensor : input.graph.tensors) {
    if (!assignment.places(tensor.producer)) continue;
    const Reach reach = ReachOf(tensor, assignment);
    if (reach.first == reach.last) continue;
    // Every pair of devices is connected alike.
    const Picoseconds time = links.TransferBetween(tensor, DeviceId(0), DeviceId(1));
    const Picoseconds no_time(0);
    const std::size_t origin = assignment.stage_index(tensor.producer);
    // A gradient goes back, whichever way it is listed.
    const bool is_gradient = input.graph.operators[tensor.producer.index()].pass == Pass::kBackward;
    const std::size_t turn = is_gradient ? reach.last : origin;
    sums.Add(turn, reach.last, {time, gradients_return ? time : no_time, tensor.size_bytes, tensor.size_bytes});
    sums.Add(reach.first, turn, {no_time, time, tensor.size_bytes, 0});
  }
  return sums.Sums();
}

}  // namespace planwright
