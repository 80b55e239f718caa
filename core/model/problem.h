// What a plan shall achieve and how the search may run (proto: problem.proto, which says what each field means).
#ifndef PLANWRIGHT_CORE_MODEL_PROBLEM_H_
#define PLANWRIGHT_CORE_MODEL_PROBLEM_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/base/ids.h"
#include "core/base/units.h"
#include "core/model/cluster.h"
#include "core/model/graph.h"
#include "core/model/joint.h"
#include "core/model/periodic_pattern.h"

namespace planwright {

enum class Objective { kMaxThroughput, kMinLatency, kMinDevices };
enum class Workload { kInference, kTraining };
enum class Split { kContiguous, kNonContiguous };
enum class Replication { kNone, kUniform, kPerStage };
enum class Overlap { kSerial, kOverlapped, kFullDuplex };
// kSteadyState is the unspecified schedule: only loads count.
enum class ScheduleKind {
  kSteadyState,
  kGpipe,
  kOneFOneB,
  kPipedreamAsync,
  kPeriodic,
  kInterleaved,
  kChimera,
  kZeroBubbleH1
};
// The order of the joint search that a schedule names; nullopt: none; and the other way round.
std::optional<PipelineOrder> OrderOf(ScheduleKind schedule);
ScheduleKind ScheduleOf(PipelineOrder order);
enum class Granularity { kOperator, kLayer };
enum class Algorithm {
  kAuto,
  kIdealDp,
  kLinearizedDp,
  kNetAnnealing,
  kLatencyAnnealing,
  kHierarchicalDp,
  kMip,
  kSingleDevice,
  kDataParallel,
  kGreedy,
  kLocalSearch,
  kPipedream,
  kScotch,
  kMaxLoad,
  kContiguousPeriodic,
  kMadpipe,
  kPeriodicAnnealing,
  kParmesan,
  kParmesanPaper,
  kEnumeration,
  kSequenceDp,
  kStageAnnealing
};

struct AllReduce {
  enum class Factor { kRing, kHalf };
  // Whether rings visit replicas in any order, or in that of their numbers.
  enum class Ring { kFree, kIndex };
  // In the limit of many micro-batches: once for each round in which every replica has done one, or once for each
  // micro-batch (device-placement, C.2).
  enum class Charge { kPerRound, kPerMicroBatch };
  Factor factor = Factor::kRing;
  Charge charge = Charge::kPerRound;
  bool amortize_over_micro_batches = false;
  Ring ring = Ring::kFree;
};

// What counts as memory, as far as it does not depend on the graph.
struct MemorySettings {
  enum class Kind { kDeclared, kComponents };
  enum class Recomputation { kNone, kFull };
  Recomputation recomputation = Recomputation::kNone;
  int64_t reserved_bytes = 0;
};

// What a problem says of memory. nullopt: chosen by ResolveProblem.
struct MemoryModel : MemorySettings {
  std::optional<Kind> kind;
  std::optional<int32_t> weight_versions;
  std::optional<int32_t> gradient_copies;
  std::optional<double> optimizer_bytes_per_parameter_byte;
  // "", "sgd", "adam_mixed" or "madpipe"; ResolveProblem turns it into the fields above.
  std::string preset;
};

// Memory settings with every default filled in. Under DECLARED memory the settings of COMPONENTS count for nothing.
struct ResolvedMemory : MemorySettings {
  Kind kind = Kind::kComponents;
  int32_t weight_versions = 1;
  int32_t gradient_copies = 1;
  double optimizer_bytes_per_parameter_byte = 0;
};

struct DeviceSelection {
  std::vector<std::string> hosts;
  std::vector<DeviceId> devices;
  std::map<std::string, std::string> match_labels;
  std::vector<DeviceId> excluded_devices;
  std::optional<int32_t> max_devices;

  bool empty() const {
    return hosts.empty() && devices.empty() && match_labels.empty() && excluded_devices.empty() &&
           !max_devices.has_value();
  }
};

struct OperatorDevice {
  OperatorId op;
  DeviceId device;
};

// Operators of each stage and the devices that run it.
struct Placement {
  struct Stage {
    std::vector<OperatorId> operators;
    // One for each replica: replica 0, 1, ...
    std::vector<DeviceId> devices;
    // The devices in the order of the all-reduce ring; empty: ascending.
    std::vector<DeviceId> ring = {};
  };
  std::vector<Stage> stages;
  // PERIODIC: when each stage works on what. nullopt: to be found.
  std::optional<PeriodicPattern> pattern = std::nullopt;
  // What was chosen beside places, where the problem has joint settings. Only the choices count (EvaluateJointPlan).
  std::optional<JointPlan> joint = std::nullopt;
};

// A device of PlanningProblem::start_from that the cluster does not have.
struct AbsentDevice {
  // The stage that it ran, and its place in the list of devices there, absent ones included.
  std::size_t stage = 0;
  std::size_t position = 0;
  std::string name;
};

// What a problem says that means the same for every graph.
struct ProblemSettings {
  Objective objective = Objective::kMaxThroughput;
  std::optional<Picoseconds> target_period;
  Split split = Split::kContiguous;
  // nullopt stands for a default (ResolveProblem) where a problem is posed, and for no limit where it is resolved.
  std::optional<int32_t> max_stages_per_device;
  std::optional<int32_t> max_subgraphs_per_device;
  bool require_contiguous_backward = false;
  Replication replication = Replication::kNone;
  Overlap overlap = Overlap::kSerial;
  ScheduleKind schedule = ScheduleKind::kSteadyState;
  // What one step does: with replication UNIFORM each replica of the pipeline, otherwise all together. nullopt: the
  // limit of many.
  std::optional<int32_t> micro_batches;
  AllReduce allreduce;
  std::optional<int32_t> num_stages;
  std::optional<int32_t> num_replicas;
  Granularity granularity = Granularity::kOperator;
  DeviceSelection devices_to_use;
  std::vector<OperatorDevice> pinned;
  std::vector<OperatorDevice> forbidden;
  // Devices that have disappeared are left out of it, and listed by stage and position beside it.
  std::optional<Placement> start_from;
  std::vector<AbsentDevice> absent_devices;
  std::optional<double> replan_tolerance;
  // Stages, degrees, recomputation, sharding and micro-batches in one search.
  std::optional<JointSettings> joint;
};

// A problem as it is posed.
struct PlanningProblem : ProblemSettings {
  // nullopt: inferred from the graph.
  std::optional<Workload> workload;
  MemoryModel memory_model;
};

// A problem with every default filled in (ResolveProblem).
struct ResolvedProblem : ProblemSettings {
  Workload workload = Workload::kInference;
  ResolvedMemory memory_model;
};

// What is planned or judged, on what. Refers to values that outlive it; all of them are valid.
struct ResolvedInput {
  const OperatorGraph& graph;
  const Cluster& cluster;
  const ResolvedProblem& problem;
};

struct SolverOptions {
  Algorithm algorithm = Algorithm::kAuto;
  // nullopt: the algorithm's own default.
  std::optional<int64_t> work_limit;
  double relative_gap = 0;
  int64_t seed = 1;
  std::optional<int64_t> ideal_limit;
  // Never changes the plan. nullopt: all of the arena.
  std::optional<int32_t> threads;
  // Fill in Plan::explanation. Never changes the rest of the plan.
  bool explain = false;
  // Parmesan's K, alpha and I. nullopt: the algorithm's own default.
  std::optional<int32_t> clusters;
  std::optional<double> clustering_alpha;
  std::optional<int32_t> refinement_steps;
};

// `problem` with every default filled in: workload, memory model, how many stages or subgraphs a device may hold.
// REQUIRES: `graph` and `problem` are valid.
ResolvedProblem ResolveProblem(const OperatorGraph& graph, const PlanningProblem& problem);

// A problem that states what `problem` has filled in; under DECLARED memory no settings of COMPONENTS, which it must
// not have. Resolved, it is `problem` again.
PlanningProblem AsPosed(const ResolvedProblem& problem);

// Whether the graph says anything about backward passes: BACKWARD operators, or backward times of forward operators
// (measured, or as FLOPs or bytes for the roofline).
bool HasBackwardOperators(const OperatorGraph& graph);
bool HasBackwardTimes(const OperatorGraph& graph);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_MODEL_PROBLEM_H_
