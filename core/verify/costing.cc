#include "core/verify/costing.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/index.h"
#include "core/base/known.h"
#include "core/base/units.h"
#include "core/verify/charges.h"
#include "core/verify/facts/links.h"
#include "core/verify/facts/memory.h"
#include "core/verify/facts/operator_time.h"
#include "core/verify/facts/reports.h"
#include "core/verify/stage_order.h"

namespace planwright {
namespace {

// Of one stage, in pipeline order: for how many micro-batches a pipeline holds at each of its stages, and how many
// turns a step takes (docs/cost-model.md section 20).
struct JudgedTurns {
  int64_t replicas = 1;
  // Turns that transfers between the stage and earlier ones take, of its slowest replica.
  int64_t transfer_slots = 0;
};

int64_t RoundUp(int64_t count, int64_t multiple) { return (count + multiple - 1) / multiple * multiple; }

// Of all replicas of a stage together: micro-batches between the start of its forward pass and the end of its backward
// pass, where the stages behind it and their transfers have room for `behind`.
int64_t HeldTogether(const ResolvedProblem& problem, bool through_host, int64_t behind, int64_t replicas) {
  int64_t own = replicas;
  const bool copies_beside = through_host && problem.overlap != Overlap::kSerial;
  if (behind > 0 && copies_beside) own += (problem.overlap == Overlap::kFullDuplex ? 2 : 1) * replicas;
  return RoundUp(behind, replicas) + own;
}

// Micro-batches that all replicas of a stage do in a step.
int64_t OfStep(const ResolvedProblem& problem, int64_t replicas) {
  const int64_t own = Known(problem.micro_batches);
  return problem.replication == Replication::kUniform ? replicas * own : own;
}

// Turns of transfers beside a stage that receives and gives back for `carried` and has an undivided load of `load`.
int64_t TransferSlots(const ResolvedProblem& problem, bool through_host, Picoseconds carried, Picoseconds load) {
  if (problem.overlap == Overlap::kSerial || carried.count() == 0) return 0;
  if (through_host) return 2;
  const bool passes_share_turns = problem.overlap == Overlap::kFullDuplex && problem.schedule != ScheduleKind::kGpipe;
  return passes_share_turns && carried > load ? 2 : 1;
}

// By stage: micro-batches in flight on each of its replicas, whose activations it keeps.
std::vector<int32_t> InFlightOf(const ResolvedProblem& problem, bool through_host,
                                const std::vector<JudgedTurns>& stages) {
  const bool alternates =
      problem.schedule == ScheduleKind::kOneFOneB || problem.schedule == ScheduleKind::kPipedreamAsync;
  std::vector<int32_t> in_flight(stages.size());
  int64_t behind = 0;
  for (std::size_t i = stages.size(); i-- > 0;) {
    const auto& [replicas, slots] = stages[i];
    const int64_t held = HeldTogether(problem, through_host, behind, replicas);
    behind = held + slots * replicas;
    int64_t kept = alternates ? held / replicas : 1;
    if (problem.micro_batches.has_value()) {
      const int64_t all = RoundUp(OfStep(problem, replicas), replicas) / replicas;
      kept = alternates ? std::min(kept, all) : all;
    }
    in_flight[i] = static_cast<int32_t>(std::min<int64_t>(kept, std::numeric_limits<int32_t>::max()));
  }
  return in_flight;
}

// Lanes are micro-batches that go through side by side, each lane with its share of the replicas of every stage.
struct JudgedStep {
  int64_t lanes = 1;
  // Of each lane.
  int64_t turns = 0;
  // Of all lanes together.
  int64_t micro_batches = 1;
};

// REQUIRES: micro_batches is set; at least one stage.
JudgedStep StepOf(const ResolvedProblem& problem, bool through_host, const std::vector<JudgedTurns>& stages) {
  JudgedStep step{.lanes = 0};
  for (const JudgedTurns& stage : stages) step.lanes = std::gcd(step.lanes, stage.replicas);
  step.micro_batches = OfStep(problem, stages.front().replicas);
  int64_t held = 0;
  int64_t behind = 0;
  for (std::size_t i = stages.size(); i-- > 0;) {
    const int64_t in_lane = stages[i].replicas / step.lanes;
    held = HeldTogether(problem, through_host, behind, in_lane);
    behind = held + stages[i].transfer_slots * in_lane;
  }
  step.turns = RoundUp(step.micro_batches, step.lanes) / step.lanes + held - 1;
  return step;
}

// GPIPE runs all forward passes before the backward ones; otherwise they mix, and all the load is in `first`.
struct PhasedLoad {
  Picoseconds first{0};
  Picoseconds second{0};

  Picoseconds total() const { return first + second; }
};

Picoseconds Overlapped(const PassLoad& load, Overlap overlap) {
  if (overlap == Overlap::kSerial) return load.in + load.compute + load.out;
  if (overlap == Overlap::kOverlapped) return std::max(load.compute, load.in + load.out);
  return std::max({load.compute, load.in, load.out});
}

PhasedLoad PhasedLoadOf(const JudgedWork& work, const ResolvedProblem& problem) {
  if (problem.schedule == ScheduleKind::kGpipe) {
    return {Overlapped(work.forward, problem.overlap), Overlapped(work.backward, problem.overlap)};
  }
  PassLoad both = work.forward;
  both += work.backward;
  return {Overlapped(both, problem.overlap), Picoseconds(0)};
}

// What is left for one of `replicas`, which agree on their gradients at the end of the step, or after every round of
// `replicas` micro-batches, or, where that is asked for, after each one.
PhasedLoad Divided(const PhasedLoad& undivided, std::size_t replicas, Picoseconds allreduce,
                   const ResolvedProblem& problem) {
  const auto parts = static_cast<int64_t>(replicas);
  if (problem.micro_batches.has_value()) {
    const int64_t of_step = StepOf(problem, /*through_host=*/false, {{parts, 0}}).micro_batches;
    const int64_t own = CeilDivide(of_step, parts);
    const Picoseconds busy(SaturatingMultiply(own, undivided.total().count()));
    return {Picoseconds(CeilDivide(SaturatingAdd(busy.count(), allreduce.count()), of_step)), Picoseconds(0)};
  }
  const auto agree = [&](Picoseconds load) {
    return problem.overlap == Overlap::kSerial ? load + allreduce : std::max(load, allreduce);
  };
  const auto divide = [&](Picoseconds load) { return Picoseconds(CeilDivide(load.count(), parts)); };
  const auto last_of = [&](Picoseconds load) {
    return problem.allreduce.charge == AllReduce::Charge::kPerRound ? divide(agree(load)) : agree(divide(load));
  };
  if (problem.schedule == ScheduleKind::kGpipe) return {divide(undivided.first), last_of(undivided.second)};
  return {last_of(undivided.first), Picoseconds(0)};
}

class Costing {
 public:
  Costing(const ResolvedInput& input, const Assignment& assignment)
      : graph_(input.graph),
        cluster_(input.cluster),
        problem_(input.problem),
        assignment_(assignment),
        links_(input.cluster.interconnect, input.cluster.devices.size()),
        traffic_(ChargeTensors(input, assignment)),
        teams_(input.cluster.devices.size()),
        through_host_(std::holds_alternative<HostStagedInterconnect>(input.cluster.interconnect)) {
    plan_.problem = input.problem;
    plan_.stages.resize(assignment.stages.size());
    plan_.links = traffic_.links;
  }

  Plan Run() {
    for (std::size_t stage = 0; stage < plan_.stages.size(); ++stage) FillStage(stage);
    FillMemory();
    ReportBackwardContiguity();
    FillDevices();
    if (problem_.objective == Objective::kMinLatency) FillTasks();
    FillEstimate(graph_, plan_);
    return std::move(plan_);
  }

 private:
  // The stages of a device, which all have the same replicas, and what it would do if it did every micro-batch.
  struct Team {
    std::vector<std::size_t> stages;
    JudgedWork work;
    int64_t parameter_bytes = 0;
  };

  void FillStage(std::size_t index) {
    const Assignment::Stage& assigned = assignment_.stages[index];
    Stage& stage = plan_.stages[index];
    stage.operators = assigned.operators;
    const int64_t parameter_bytes = ParameterBytesOf(graph_, assigned.operators);
    stage.allreduce = AllReduceOf(parameter_bytes, assigned.ring);
    stage.ring_order = assigned.ring;
    const JudgedWork compute = ComputeOf(assigned);
    for (std::size_t copy = 0; copy < assigned.devices.size(); ++copy) {
      JudgedWork work = traffic_.replicas[index][copy];
      work += compute;
      AddReplica(assigned.devices[copy], work, assigned.devices.size(), stage);
      Team& team = teams_[assigned.devices[copy].index()];
      team.work += work;
      team.stages.push_back(index);
      team.parameter_bytes = SaturatingAdd(team.parameter_bytes, parameter_bytes);
    }
    turns_.push_back({static_cast<int64_t>(assigned.devices.size()), stage.transfer_slots});
  }

  void FillMemory() {
    const std::vector<int32_t> in_flight = InFlightOf(problem_, through_host_, turns_);
    for (std::size_t i = 0; i < plan_.stages.size(); ++i) {
      Stage& stage = plan_.stages[i];
      stage.in_flight_micro_batches = in_flight[i];
      stage.memory_bytes =
          MemoryOf(graph_, problem_, stage.operators, traffic_.boundary_bytes[i], stage.in_flight_micro_batches);
    }
  }

  JudgedWork ComputeOf(const Assignment::Stage& stage) {
    const DeviceClass& device_class = cluster_.class_of(stage.devices.front());
    JudgedWork work;
    for (const OperatorId op : stage.operators) {
      const JudgedTime time = Known(TimeOn(graph_.operators[op.index()], device_class, problem_.workload));
      work.forward.compute += time.forward;
      work.backward.compute += time.backward;
      if (time.estimated) ++plan_.estimate.estimated_operators;
    }
    return work;
  }

  Picoseconds AllReduceOf(int64_t parameter_bytes, const std::vector<DeviceId>& ring) {
    // Steps without limit reduce their gradients in no time.
    const bool is_endless = problem_.allreduce.amortize_over_micro_batches && !problem_.micro_batches.has_value();
    if (problem_.workload == Workload::kInference || is_endless) return Picoseconds(0);
    return links_.RingAllReduce(parameter_bytes, ring, problem_.allreduce.factor);
  }

  void AddReplica(DeviceId device, const JudgedWork& work, std::size_t replicas, Stage& stage) {
    const PhasedLoad undivided = PhasedLoadOf(work, problem_);
    const PhasedLoad divided = Divided(undivided, replicas, stage.allreduce, problem_);
    const int64_t slots =
        TransferSlots(problem_, through_host_, work.forward.in + work.backward.out, undivided.total());
    stage.transfer_slots = std::max(stage.transfer_slots, static_cast<int32_t>(slots));
    if (stage.replicas.empty() || undivided.total() > stage.load) {
      stage.communication_in = work.forward.in + work.backward.in;
      stage.compute = work.forward.compute + work.backward.compute;
      stage.communication_out = work.forward.out + work.backward.out;
      stage.load = undivided.total();
    }
    stage.replicas.push_back({device, static_cast<int32_t>(stage.replicas.size()), divided.total()});
  }

  void ReportBackwardContiguity() {
    const std::vector<bool> is_contiguous = BackwardContiguity(graph_, problem_, assignment_);
    for (std::size_t i = 0; i < plan_.stages.size(); ++i) plan_.stages[i].backward_contiguous = is_contiguous[i];
  }

  void FillDevices() {
    for (std::size_t i = 0; i < cluster_.devices.size(); ++i) {
      DeviceUsage& usage = plan_.devices.emplace_back();
      usage.device = DeviceId(i);
      usage.memory_limit_bytes = UsableMemoryBytes(cluster_, usage.device);
    }
    for (std::size_t i = 0; i < plan_.stages.size(); ++i) {
      for (const DeviceId device : assignment_.stages[i].devices) plan_.devices[device.index()].stages.emplace_back(i);
    }
    PhasedLoad greatest;
    for (DeviceUsage& usage : plan_.devices) {
      if (!usage.stages.empty()) usage.memory_bytes = MemoryOfDevice(usage);
      const PhasedLoad load = LoadOfTeam(teams_[usage.device.index()]);
      usage.load = load.total();
      greatest = {std::max(greatest.first, load.first), std::max(greatest.second, load.second)};
    }
    plan_.objective = greatest.total();
    if (problem_.micro_batches.has_value()) FillStep();
  }

  // In each lane the micro-batches take turns of the slowest team, phase by phase; then the gradients are reduced.
  void FillStep() {
    if (turns_.empty()) return;
    const JudgedStep step = StepOf(problem_, through_host_, turns_);
    PhasedLoad slowest;
    Picoseconds longest_allreduce{0};
    for (const Team& team : teams_) {
      if (team.stages.empty()) continue;
      const PhasedLoad undivided = PhasedLoadOf(team.work, problem_);
      const int64_t in_lane = turns_[team.stages.front()].replicas / step.lanes;
      const auto pass_all = [&](Picoseconds load) {
        return Picoseconds(CeilDivide(SaturatingMultiply(step.turns, load.count()), in_lane));
      };
      slowest.first = std::max(slowest.first, pass_all(undivided.first));
      slowest.second = std::max(slowest.second, pass_all(undivided.second));
      longest_allreduce = std::max(longest_allreduce, AllReduceOfTeam(team));
    }
    plan_.estimate.step_time = Picoseconds(SaturatingAdd(slowest.total().count(), longest_allreduce.count()));
    plan_.objective = Picoseconds(CeilDivide(plan_.estimate.step_time.count(), step.micro_batches));
  }

  // Its stages overlap, are divided and reduce their gradients as one, along the ring of the first.
  Picoseconds AllReduceOfTeam(const Team& team) {
    const Assignment::Stage& first = assignment_.stages[team.stages.front()];
    return team.stages.size() == 1 ? plan_.stages[team.stages.front()].allreduce
                                   : AllReduceOf(team.parameter_bytes, first.ring);
  }

  PhasedLoad LoadOfTeam(const Team& team) {
    if (team.stages.empty()) return {};
    const std::size_t replicas = assignment_.stages[team.stages.front()].devices.size();
    return Divided(PhasedLoadOf(team.work, problem_), replicas, AllReduceOfTeam(team), problem_);
  }

  // As if its stages were one; but subgraphs that follow each other keep what they have.
  int64_t MemoryOfDevice(const DeviceUsage& usage) const {
    if (usage.stages.size() == 1) return plan_.stages[usage.stages.front().index()].memory_bytes;
    std::vector<OperatorId> operators;
    int64_t boundary_bytes = 0;
    int64_t sum_of_stages = 0;
    const int32_t in_flight = plan_.stages[usage.stages.front().index()].in_flight_micro_batches;
    for (const StageId stage : usage.stages) {
      sum_of_stages = SaturatingAdd(sum_of_stages, plan_.stages[stage.index()].memory_bytes);
      const std::vector<OperatorId>& of_stage = plan_.stages[stage.index()].operators;
      operators.insert(operators.end(), of_stage.begin(), of_stage.end());
      boundary_bytes = SaturatingAdd(boundary_bytes, traffic_.boundary_bytes[stage.index()]);
    }
    return problem_.objective == Objective::kMinLatency
               ? sum_of_stages
               : MemoryOf(graph_, problem_, operators, boundary_bytes, in_flight);
  }

  // The schedule decides the objective, and not the busiest device.
  void FillTasks() {
    std::vector<Picoseconds> loads = Mapped(plan_.stages, [&](const Stage& stage) { return stage.load; });
    const JudgedSchedule schedule = ScheduleSubgraphs({graph_, cluster_, problem_}, assignment_, loads);
    plan_.objective = schedule.latency;
    for (std::size_t i = 0; i < plan_.stages.size(); ++i) {
      const DeviceId device = assignment_.stages[i].devices.front();
      if (cluster_.class_of(device).kind == DeviceKind::kCpu) continue;
      const Pass pass = graph_.operators[plan_.stages[i].operators.front().index()].pass;
      plan_.tasks.push_back({"subgraph", StageId(i), pass, cluster_.devices[device.index()].name, schedule.starts[i]});
    }
  }

  const OperatorGraph& graph_;
  const Cluster& cluster_;
  const ResolvedProblem& problem_;
  const Assignment& assignment_;
  JudgedLinks links_;
  const JudgedTraffic traffic_;
  // By device.
  std::vector<Team> teams_;
  const bool through_host_;
  // By stage.
  std::vector<JudgedTurns> turns_;
  Plan plan_;
};

}  // namespace

Plan CostAssignment(const ResolvedInput& input, const Assignment& assignment) {
  return Costing(input, assignment).Run();
}

}  // namespace planwright
