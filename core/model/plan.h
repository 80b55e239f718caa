// The answer: stages, devices, loads, bounds, and why the search stopped (proto: plan.proto).
#ifndef PLANWRIGHT_CORE_MODEL_PLAN_H_
#define PLANWRIGHT_CORE_MODEL_PLAN_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/base/ids.h"
#include "core/base/units.h"
#include "core/model/cluster.h"
#include "core/model/problem.h"

namespace planwright {

// Which rules the numbers of a plan follow (docs/cost-model.md); raised whenever one of them changes. Plans that state
// none are of version 1.
inline constexpr int32_t kCostModelVersion = 6;

enum class StopReason {
  kOptimal,
  kGapReached,
  kWorkLimit,
  kTimeLimit,
  kCancelled,
  kIdealLimit,
  kMemoryLimit,
  kExhausted
};

// kFewerDevices: every plan that uses fewer devices than this one, as MIN_DEVICES counts them. kGivenOrder: every plan
// whose stages are consecutive in one linear order of the operators. kAlignedPlaces: every plan of the joint search,
// whose blocks of devices stand in pipeline order, in one node or on whole nodes.
enum class BoundScope {
  kProblem,
  kGivenPartition,
  kGivenStagesAndReplicas,
  kGivenAllocation,
  kFewerDevices,
  kGivenOrder,
  kAlignedPlaces
};

struct Bound {
  Picoseconds value{0};
  std::string method;
  BoundScope scope = BoundScope::kProblem;
  // It lets devices pay once for a tensor that several others read, where plans may pay for each reader.
  bool pays_once = false;
};

struct Replica {
  DeviceId device;
  int32_t copy = 0;
  Picoseconds load{0};
};

struct Stage {
  // Ascending.
  std::vector<OperatorId> operators;
  std::vector<Replica> replicas;
  // The replicas' devices in ring order; empty without replication.
  std::vector<DeviceId> ring_order;
  Picoseconds compute{0};
  Picoseconds communication_in{0};
  Picoseconds communication_out{0};
  Picoseconds allreduce{0};
  // Undivided time of one replica.
  Picoseconds load{0};
  int64_t memory_bytes = 0;
  int32_t in_flight_micro_batches = 1;
  // Turns of the pipeline that what the stage receives from earlier ones, and gives back to them, takes beside its own
  // turn (core/cost/pipeline_fill.h).
  int32_t transfer_slots = 0;
  bool backward_contiguous = true;
};

struct DeviceUsage {
  DeviceId device;
  // Positions in Plan::stages, in execution order.
  std::vector<StageId> stages;
  Picoseconds load{0};
  int64_t memory_bytes = 0;
  std::optional<int64_t> memory_limit_bytes;
};

struct LinkUsage {
  DeviceId device_a;
  DeviceId device_b;
  Picoseconds load{0};
};

// One entry of the schedule of a plan (proto: Schedule.Task).
struct ScheduledTask {
  // What is done: "subgraph", a stage as a whole; of a pattern "forward", "backward", "send_forward", "send_backward".
  std::string operation;
  StageId stage;
  Pass pass = Pass::kForward;
  // Name of the device that does it.
  std::string resource;
  Picoseconds start{0};
  // In period n of a pattern the task works on micro-batch n - index_shift.
  int32_t index_shift = 0;
};

struct Incumbent {
  double time_ms = 0;
  int64_t work = 0;
  Picoseconds objective{0};
  Picoseconds lower_bound{0};
  std::string algorithm;
};

// What takes memory when the plan runs and is not counted, in words, and what the fullest device would hold with it.
struct UncountedMemory {
  std::string what;
  int64_t peak_memory_bytes = 0;
};

struct Estimate {
  // Zero where the number of micro-batches is unset.
  Picoseconds step_time{0};
  double micro_batches_per_second = 0;
  double samples_per_second = 0;
  double bubble_fraction = 0;
  int64_t peak_memory_bytes = 0;
  int32_t estimated_operators = 0;
  std::vector<UncountedMemory> uncounted_memory = {};
};

// What a simpler way to run the graph would reach.
struct Baseline {
  std::string algorithm;
  // nullopt: it cannot run; `reason` says why.
  std::optional<Picoseconds> objective;
  std::string reason;
  // It satisfies the constraints of the problem.
  bool admissible = false;
};

// Why the plan is not faster.
struct Explanation {
  struct Relief {
    // "device", "memory", "bandwidth".
    std::string resource;
    // "one more accelerator of class h100", "twice the bandwidth".
    std::string amount;
    Picoseconds predicted_objective{0};
  };
  // "device gpu3", "link gpu1 - gpu2"; empty: not asked for.
  std::string bottleneck;
  // How much the bottleneck exceeds the next busiest one.
  Picoseconds slack{0};
  std::vector<Relief> relief;
};

// How a plan differs from ResolvedProblem::start_from.
struct Replanning {
  // Stages some device of which did not hold all of the stage's operators before, and the other ones.
  int32_t moved_stages = 0;
  int32_t kept_stages = 0;
  // Objective of the best plan found, however many stages it moves.
  Picoseconds best_objective{0};
};

struct Provenance {
  std::string algorithm;
  std::string algorithm_version;
  int64_t seed = 1;
  double wall_time_ms = 0;
  double cpu_time_ms = 0;
  bool proven_optimal = false;
  StopReason stop_reason = StopReason::kExhausted;
  std::map<std::string, int64_t> counters;
  std::vector<Incumbent> incumbents;
  // The simpler method that made the plan; empty: `algorithm` did.
  std::string fallback;
};

struct Plan {
  // Names the rules that its numbers follow.
  int32_t cost_model_version = kCostModelVersion;
  ResolvedProblem problem;
  Picoseconds objective{0};
  Picoseconds lower_bound{0};
  std::vector<Bound> bounds;
  std::vector<Stage> stages;
  // One for each device that the problem selects, and for any other that the plan uses (which a verdict may show), in
  // the order of the cluster.
  std::vector<DeviceUsage> devices;
  std::vector<LinkUsage> links;
  // By stage; only where tasks have fixed times (MIN_LATENCY, PERIODIC).
  std::vector<ScheduledTask> tasks;
  Estimate estimate;
  std::vector<Baseline> baselines;
  Explanation explanation;
  Provenance provenance;
  std::vector<std::string> warnings;
  // Only where the problem has a placement to start from.
  std::optional<Replanning> replanning;
  // Only where the problem has joint settings. Its stages are those of the plan.
  std::optional<JointPlan> joint;
};

// (objective - bound) / objective; 0 when the objective is 0.
double RelativeGap(Picoseconds objective, Picoseconds lower_bound);

// What a plan calls the link that sends from one device to another: "a - b", the first of the cluster first, or, where
// the two directions are links of their own, "a -> b".
std::string LinkName(const Cluster& cluster, DeviceId from, DeviceId to, bool full_duplex);

// Operators, devices and rings of the stages of `plan`, and the pattern that its tasks state where it is PERIODIC and
// has any: tasks whose operation is none of a pattern are left out.
Placement PlacementOf(const Plan& plan);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_MODEL_PLAN_H_
