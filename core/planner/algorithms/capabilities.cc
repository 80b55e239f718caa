#include "core/planner/algorithms/capabilities.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/strings.h"
#include "core/cost/pipeline_fill.h"
#include "core/model/colocation.h"
#include "core/model/device_selection.h"
#include "core/partition/baselines/baselines.h"
#include "core/partition/baselines/scotch_mapping.h"
#include "core/partition/parmesan/parmesan_search.h"

namespace planwright {
namespace {

// In the limit of many micro-batches, where loads are all that counts.
std::vector<ScheduleKind> SchedulesOfOneLoad() {
  return {ScheduleKind::kSteadyState, ScheduleKind::kOneFOneB, ScheduleKind::kPipedreamAsync};
}

// The same, and the sum of both phases.
std::vector<ScheduleKind> SchedulesOfLoads() {
  return {ScheduleKind::kSteadyState, ScheduleKind::kGpipe, ScheduleKind::kOneFOneB, ScheduleKind::kPipedreamAsync};
}

// Pairs of devices have links of their own.
std::vector<std::string_view> NetworkInterconnects() {
  return {"uniform", "hierarchy", "grid", "links", "matrix", "nodes"};
}

std::vector<std::string_view> EveryInterconnect() {
  return {"host_staged", "uniform", "hierarchy", "grid", "links", "matrix", "nodes"};
}

// MIN_DEVICES searches over device counts on any row of MAX_THROUGHPUT.
Capability ThroughputRow(std::vector<std::string_view> interconnects, std::vector<ScheduleKind> schedules,
                         std::vector<Replication> replications, std::vector<Split> splits,
                         std::vector<Algorithm> algorithms, std::string_view description) {
  return {.objectives = {Objective::kMaxThroughput, Objective::kMinDevices},
          .interconnects = std::move(interconnects),
          .schedules = std::move(schedules),
          .replications = std::move(replications),
          .splits = std::move(splits),
          .overlaps = {Overlap::kSerial, Overlap::kOverlapped, Overlap::kFullDuplex},
          .algorithms = std::move(algorithms),
          .description = description};
}

Capability LatencyRow(std::vector<Algorithm> algorithms, std::string_view description) {
  return {.objectives = {Objective::kMinLatency},
          .interconnects = {"host_staged"},
          .schedules = {ScheduleKind::kSteadyState},
          .replications = {Replication::kNone},
          .splits = {Split::kContiguous, Split::kNonContiguous},
          .overlaps = {Overlap::kSerial},
          .algorithms = std::move(algorithms),
          .description = description};
}

// Synchronous steps of a number of micro-batches.
Capability StepRow(std::vector<std::string_view> interconnects, std::vector<Replication> replications,
                   std::vector<Algorithm> algorithms, std::string_view description) {
  Capability row = ThroughputRow(std::move(interconnects),
                                 {ScheduleKind::kSteadyState, ScheduleKind::kGpipe, ScheduleKind::kOneFOneB},
                                 std::move(replications), {Split::kContiguous}, std::move(algorithms), description);
  row.counts_micro_batches = true;
  return row;
}

// `description` of the plans, `algorithms` empty for what is only judged.
Capability PeriodicRow(std::vector<Split> splits, std::vector<Algorithm> algorithms, std::string_view description) {
  return {.objectives = {Objective::kMaxThroughput, Objective::kMinDevices},
          .interconnects = {"uniform"},
          .schedules = {ScheduleKind::kPeriodic},
          .replications = {Replication::kNone},
          .splits = std::move(splits),
          .overlaps = {Overlap::kOverlapped, Overlap::kFullDuplex},
          .algorithms = std::move(algorithms),
          .description = description};
}

// A search for contiguous stages in every mode that has them.
void AddEverywhere(Algorithm algorithm, std::string_view description, std::vector<Capability>& table) {
  const std::vector<Replication> replications = {Replication::kNone, Replication::kUniform, Replication::kPerStage};
  table.push_back(ThroughputRow({"host_staged"}, SchedulesOfLoads(), {Replication::kNone, Replication::kPerStage},
                                {Split::kContiguous}, {algorithm}, description));
  table.push_back(ThroughputRow(NetworkInterconnects(), SchedulesOfLoads(), replications, {Split::kContiguous},
                                {algorithm}, description));
  table.push_back(StepRow(NetworkInterconnects(), replications, {algorithm}, description));
}

std::vector<Capability> MakeTable() {
  std::vector<Capability> table = {
      ThroughputRow({"host_staged", "uniform"}, SchedulesOfLoads(), {Replication::kNone, Replication::kPerStage},
                    {Split::kContiguous}, {Algorithm::kIdealDp, Algorithm::kLinearizedDp},
                    "contiguous stages of greatest throughput in the limit of many micro-batches, inference and "
                    "training, one stage per device, replicated or not"),
      ThroughputRow({"hierarchy"}, SchedulesOfLoads(), {Replication::kNone, Replication::kPerStage},
                    {Split::kContiguous}, {Algorithm::kHierarchicalDp},
                    "the same on devices in groups of groups, slower links between them"),
      ThroughputRow({"host_staged", "uniform"}, SchedulesOfLoads(), {Replication::kNone, Replication::kPerStage},
                    {Split::kNonContiguous},
                    {Algorithm::kNetAnnealing, Algorithm::kSingleDevice, Algorithm::kGreedy, Algorithm::kLocalSearch,
                     Algorithm::kPipedream, Algorithm::kScotch},
                    "splits of greatest throughput in the limit of many micro-batches, inference and training, any "
                    "number of stages per device, replicated or not"),
      ThroughputRow({"host_staged", "uniform"}, SchedulesOfLoads(), {Replication::kNone, Replication::kPerStage},
                    {Split::kContiguous},
                    {Algorithm::kSingleDevice, Algorithm::kGreedy, Algorithm::kLocalSearch, Algorithm::kPipedream,
                     Algorithm::kScotch},
                    "baselines for contiguous stages, one stage per device"),
      LatencyRow({Algorithm::kLatencyAnnealing, Algorithm::kSingleDevice, Algorithm::kGreedy, Algorithm::kMaxLoad,
                  Algorithm::kScotch},
                 "least latency of one micro-batch, inference and training with BACKWARD operators: subgraphs of "
                 "accelerators one after the other, CPUs as one pool"),
      ThroughputRow({"host_staged", "uniform"}, SchedulesOfOneLoad(), {Replication::kNone},
                    {Split::kContiguous, Split::kNonContiguous}, {Algorithm::kMip},
                    "the integer program of throughput, solved by CBC where the build has it"),
      LatencyRow({Algorithm::kMip}, "the integer program of latency, solved by CBC where the build has it"),
      ThroughputRow({"host_staged", "uniform"}, SchedulesOfLoads(), {Replication::kPerStage},
                    {Split::kContiguous, Split::kNonContiguous}, {Algorithm::kDataParallel},
                    "the baseline for replicated stages"),
      ThroughputRow({"hierarchy"}, SchedulesOfLoads(), {Replication::kPerStage}, {Split::kContiguous},
                    {Algorithm::kDataParallel, Algorithm::kSingleDevice}, "baselines for replicated stages"),
      ThroughputRow({"hierarchy"}, SchedulesOfLoads(), {Replication::kNone}, {Split::kContiguous},
                    {Algorithm::kSingleDevice}, "the baseline that needs no links"),
      PeriodicRow({Split::kContiguous},
                  {Algorithm::kContiguousPeriodic, Algorithm::kPipedream, Algorithm::kSingleDevice},
                  "periodic patterns of shortest period that fit in memory, inference and training, one stage per "
                  "device, on accelerators of one class"),
      PeriodicRow({Split::kNonContiguous},
                  {Algorithm::kPeriodicAnnealing, Algorithm::kMadpipe, Algorithm::kContiguousPeriodic,
                   Algorithm::kPipedream, Algorithm::kSingleDevice},
                  "the same with several stages per device"),
      PeriodicRow({Split::kContiguous, Split::kNonContiguous}, {Algorithm::kEnumeration},
                  "small problems of both kinds, every placement looked at"),
      ThroughputRow(
          NetworkInterconnects(), SchedulesOfLoads(), {Replication::kNone, Replication::kUniform}, {Split::kContiguous},
          {Algorithm::kParmesan, Algorithm::kParmesanPaper},
          "contiguous stages on devices connected in any way, all with equally many replicas: partition, then "
          "device mapping"),
      ThroughputRow(
          NetworkInterconnects(), SchedulesOfLoads(), {Replication::kPerStage}, {Split::kContiguous},
          {Algorithm::kParmesan},
          "the same with a number of replicas for each stage: the exact program over ideals on alike devices, "
          "then device mapping"),
      StepRow(NetworkInterconnects(), {Replication::kNone, Replication::kUniform},
              {Algorithm::kParmesan, Algorithm::kParmesanPaper},
              "the same in synchronous steps of a number of micro-batches"),
      ThroughputRow({"grid", "links", "matrix", "nodes"}, SchedulesOfLoads(), {Replication::kPerStage},
                    {Split::kContiguous}, {Algorithm::kDataParallel, Algorithm::kSingleDevice},
                    "baselines for stages with replicas of their own on devices connected in any way"),
      ThroughputRow({"grid", "links", "matrix", "nodes"}, SchedulesOfLoads(), {Replication::kNone},
                    {Split::kContiguous}, {Algorithm::kSingleDevice, Algorithm::kGreedy, Algorithm::kPipedream},
                    "baselines for contiguous stages on devices connected in any way"),
      ThroughputRow(NetworkInterconnects(), SchedulesOfLoads(), {Replication::kUniform}, {Split::kContiguous},
                    {Algorithm::kSingleDevice, Algorithm::kDataParallel, Algorithm::kPipedream},
                    "baselines for stages with equally many replicas"),
      StepRow(NetworkInterconnects(), {Replication::kNone, Replication::kUniform},
              {Algorithm::kSingleDevice, Algorithm::kDataParallel, Algorithm::kPipedream},
              "baselines for synchronous steps"),
      StepRow(NetworkInterconnects(), {Replication::kPerStage}, {Algorithm::kSingleDevice, Algorithm::kDataParallel},
              "baselines for synchronous steps of stages with replicas of their own"),
  };
  AddEverywhere(Algorithm::kEnumeration, "every placement of a small problem", table);
  table.push_back(ThroughputRow({"host_staged", "uniform"}, SchedulesOfLoads(),
                                {Replication::kNone, Replication::kPerStage}, {Split::kNonContiguous},
                                {Algorithm::kEnumeration}, "every split of a small problem"));
  table.push_back(LatencyRow({Algorithm::kEnumeration}, "every choice of subgraphs of a small problem"));
  AddEverywhere(Algorithm::kSequenceDp, "contiguous stages along linear orders of operators and devices", table);
  AddEverywhere(Algorithm::kStageAnnealing, "contiguous stages and their devices, annealed", table);
  return table;
}

const std::vector<Capability>& Table() {
  static const std::vector<Capability> kTable = MakeTable();
  return kTable;
}

// What core/cost and core/verify know, whoever made the placement. Rows without algorithms.
const std::vector<Capability>& JudgedTable() {
  static const std::vector<Capability> kTable = {
      ThroughputRow(EveryInterconnect(), SchedulesOfLoads(),
                    {Replication::kNone, Replication::kUniform, Replication::kPerStage}, {Split::kContiguous}, {},
                    "contiguous stages, each on one device or on several replicas"),
      StepRow(EveryInterconnect(), {Replication::kNone, Replication::kUniform, Replication::kPerStage}, {},
              "the same in steps of a number of micro-batches"),
      ThroughputRow(EveryInterconnect(), SchedulesOfLoads(), {Replication::kNone, Replication::kPerStage},
                    {Split::kNonContiguous}, {}, "devices, or teams of replicas, that hold several stages"),
      LatencyRow({}, "subgraphs one after the other, for one micro-batch"),
      PeriodicRow({Split::kContiguous, Split::kNonContiguous}, {}, "periodic patterns on accelerators of one class"),
  };
  return kTable;
}

constexpr std::array<AlgorithmInfo, 21> kAlgorithms = {{
    {.algorithm = Algorithm::kIdealDp,
     .name = "ideal_dp",
     .version = "2",
     .description = "exact dynamic program over ideals (Tarnawski et al., Efficient algorithms for device placement of "
                    "DNN graph operators, 2020, 5.1.1)",
     .work_unit = "ideals enumerated or queried"},
    {.algorithm = Algorithm::kLinearizedDp,
     .name = "linearized_dp",
     .version = "2",
     .description = "dynamic program along one linear order of the operators (the same, 5.1.2)",
     .work_unit = "none: it always runs to its end"},
    {.algorithm = Algorithm::kHierarchicalDp,
     .name = "hierarchical_dp",
     .version = "2",
     .description = "dynamic programs over ideals and linear orders on a hierarchy of devices (the same, C.3)",
     .work_unit = "ideals enumerated or queried"},
    {.algorithm = Algorithm::kLatencyAnnealing,
     .name = "latency_annealing",
     .version = "2",
     .description =
         "simulated annealing on the subgraphs of accelerators and their schedule (the problem: the same, 4)",
     .work_unit = "about 10 ns: 1 for each subgraph or CPU operator scheduled, 6 for each operator moved, 3 for each "
                  "group chosen, 10 for each move proposed"},
    {.algorithm = Algorithm::kNetAnnealing,
     .name = "net_annealing",
     .version = "2",
     .description =
         "portfolio of annealing runs on the net form, seeded by the best contiguous split (for the problem of "
         "the same, 5.2)",
     .work_unit = "groups moved on trial"},
    {.algorithm = Algorithm::kMip,
     .name = "mip",
     .version = "3",
     .description = "integer programs, solved by CBC (the same, 4 and 5.1.3)",
     .work_unit = "nodes of the search tree"},
    {.algorithm = Algorithm::kSingleDevice,
     .name = "single_device",
     .version = "2",
     .description = "baseline: everything on one device",
     .work_unit = "none"},
    {.algorithm = Algorithm::kDataParallel,
     .name = "data_parallel",
     .version = "2",
     .description = "baseline: the whole graph on every device of one class (replication per stage only)",
     .work_unit = "none"},
    {.algorithm = Algorithm::kGreedy,
     .name = "greedy",
     .version = "2",
     .description = "baseline: fills one device after the other along a topological order (the same, section 7)",
     .work_unit = "none"},
    {.algorithm = Algorithm::kLocalSearch,
     .name = "local_search",
     .version = "2",
     .description = "baseline: steepest descent from 10 random assignments (the same, section 6)",
     .work_unit = "moves looked at"},
    {.algorithm = Algorithm::kPipedream,
     .name = "pipedream",
     .version = "2",
     .description = "baseline: branchings contracted, then the linearized program (the same, section 6)",
     .work_unit = "none"},
    {.algorithm = Algorithm::kScotch,
     .name = "scotch",
     .version = "2",
     .description = "baseline: k-way partitioning by the library Scotch (the same, sections 6 and 7)",
     .work_unit = "none: it cannot be interrupted"},
    {.algorithm = Algorithm::kMaxLoad,
     .name = "max_load",
     .version = "2",
     .description = "baseline for latency: the split of greatest throughput (the same, section 7)",
     .work_unit = "as ideal_dp"},
    {.algorithm = Algorithm::kContiguousPeriodic,
     .name = "contiguous_periodic",
     .version = "2",
     .description =
         "optimal contiguous stages of a chain under memory with their optimal schedule, 1F1B* (MadPipe, 4.1)",
     .work_unit = "none"},
    {.algorithm = Algorithm::kMadpipe,
     .name = "madpipe",
     .version = "2",
     .description = "one device may hold several stages: exact dynamic program, then the best pattern (MadPipe, 4.2)",
     .work_unit = "nodes of the pattern search"},
    {.algorithm = Algorithm::kPeriodicAnnealing,
     .name = "periodic_annealing",
     .version = "2",
     .description = "any device may hold several stages: annealing of allocations, each with its best pattern",
     .work_unit = "about half a microsecond: 1 for each move, steps^2 / 32 for each node of a pattern search"},
    {.algorithm = Algorithm::kParmesan,
     .name = "parmesan",
     .version = "2",
     .description = "operator clustering, dynamic program over ideals, refinement, device mapping (Parmesan)",
     .work_unit = "ideals enumerated or queried, devices moved on trial"},
    {.algorithm = Algorithm::kParmesanPaper,
     .name = "parmesan_paper",
     .version = "2",
     .description = "the same with communication counted as in the paper (equation 3)",
     .work_unit = "as parmesan"},
    {.algorithm = Algorithm::kEnumeration,
     .name = "enumeration",
     .version = "1",
     .description = "every placement of a problem that has at most ten million, by branch and bound",
     .work_unit = "partial placements"},
    {.algorithm = Algorithm::kSequenceDp,
     .name = "sequence_dp",
     .version = "1",
     .description = "dynamic programs along linear orders of operators and devices, with the true links and memory",
     .work_unit = "stages looked at with one way to go on behind each"},
    {.algorithm = Algorithm::kStageAnnealing,
     .name = "stage_annealing",
     .version = "1",
     .description = "simulated annealing of contiguous stages and their devices on the true objective",
     .work_unit = "about 10 ns: a block, an end of a tensor or a pair of replicas looked at"},
}};

std::string_view NameOf(Objective value) {
  static constexpr std::array<std::string_view, 3> kNames = {"MAX_THROUGHPUT", "MIN_LATENCY", "MIN_DEVICES"};
  return kNames.at(static_cast<std::size_t>(value));
}

std::string_view NameOf(ScheduleKind value) {
  static constexpr std::array<std::string_view, 8> kNames = {
      "unspecified", "GPIPE", "ONE_F_ONE_B", "PIPEDREAM_ASYNC", "PERIODIC", "INTERLEAVED", "CHIMERA", "ZERO_BUBBLE_H1"};
  return kNames.at(static_cast<std::size_t>(value));
}

std::string_view NameOf(Replication value) {
  static constexpr std::array<std::string_view, 3> kNames = {"NONE", "UNIFORM", "PER_STAGE"};
  return kNames.at(static_cast<std::size_t>(value));
}

std::string_view NameOf(Split value) {
  static constexpr std::array<std::string_view, 2> kNames = {"CONTIGUOUS", "NON_CONTIGUOUS"};
  return kNames.at(static_cast<std::size_t>(value));
}

std::string_view NameOf(Overlap value) {
  static constexpr std::array<std::string_view, 3> kNames = {"SERIAL", "OVERLAPPED", "FULL_DUPLEX"};
  return kNames.at(static_cast<std::size_t>(value));
}

std::string_view NameOf(Algorithm value) {
  static constexpr std::array<std::string_view, 22> kNames = {"AUTO",
                                                              "IDEAL_DP",
                                                              "LINEARIZED_DP",
                                                              "NET_ANNEALING",
                                                              "LATENCY_ANNEALING",
                                                              "HIERARCHICAL_DP",
                                                              "MIP",
                                                              "SINGLE_DEVICE",
                                                              "DATA_PARALLEL",
                                                              "GREEDY",
                                                              "LOCAL_SEARCH",
                                                              "PIPEDREAM",
                                                              "SCOTCH",
                                                              "MAX_LOAD",
                                                              "CONTIGUOUS_PERIODIC",
                                                              "MADPIPE",
                                                              "PERIODIC_ANNEALING",
                                                              "PARMESAN",
                                                              "PARMESAN_PAPER",
                                                              "ENUMERATION",
                                                              "SEQUENCE_DP",
                                                              "STAGE_ANNEALING"};
  return kNames.at(static_cast<std::size_t>(value));
}

std::string_view NameOf(std::string_view interconnect) { return interconnect; }

std::string Unsupported(std::string_view value, std::string_view supported) {
  return absl::StrCat(ToAbsl(value), " is not supported by this version; supported: ", ToAbsl(supported));
}

// A setting that a row does not allow, and what it allows.
struct Miss {
  const char* path;
  std::string value;
  std::vector<std::string> allowed;
};

template <typename Value>
void CheckSetting(const Value& value, const std::vector<Value>& allowed, const char* path, std::vector<Miss>& misses) {
  if (std::find(allowed.begin(), allowed.end(), value) != allowed.end()) return;
  std::vector<std::string> names;
  for (const Value& name : allowed) names.emplace_back(NameOf(name));
  misses.push_back({path, std::string(NameOf(value)), std::move(names)});
}

std::vector<Algorithm> WithAuto(std::vector<Algorithm> algorithms) {
  algorithms.insert(algorithms.begin(), Algorithm::kAuto);
  return algorithms;
}

// What rules out `row`; empty: it plans the problem.
std::vector<Miss> MissesOf(const Capability& row, std::string_view interconnect, const PlanningProblem& problem,
                           const SolverOptions& options) {
  std::vector<Miss> misses;
  CheckSetting(problem.objective, row.objectives, "problem.objective", misses);
  CheckSetting(interconnect, row.interconnects, "cluster.interconnect", misses);
  CheckSetting(problem.split, row.splits, "problem.split", misses);
  CheckSetting(problem.replication, row.replications, "problem.replication", misses);
  CheckSetting(problem.overlap, row.overlaps, "problem.overlap", misses);
  CheckSetting(problem.schedule, row.schedules, "problem.schedule", misses);
  CheckSetting(options.algorithm, WithAuto(row.algorithms), "options.algorithm", misses);
  if (problem.micro_batches.has_value() != row.counts_micro_batches) {
    misses.push_back({"problem.micro_batches",
                      problem.micro_batches.has_value() ? absl::StrCat(*problem.micro_batches) : "unset",
                      {row.counts_micro_batches ? "a number" : "unset"}});
  }
  return misses;
}

bool HasFewer(const std::vector<Miss>& a, const std::vector<Miss>& b) { return a.size() < b.size(); }

// Why a setting that the closest row misses is refused. Where another row allows it, it is the settings that this other
// row misses which do not go with it.
std::string Explain(const Miss& miss, const std::vector<std::vector<Miss>>& misses_of_rows) {
  const std::vector<Miss>* rivals = nullptr;
  for (const std::vector<Miss>& misses : misses_of_rows) {
    const auto is_same = [&](const Miss& other) { return std::string_view(other.path) == miss.path; };
    if (std::ranges::any_of(misses, is_same)) continue;
    if (rivals == nullptr || HasFewer(misses, *rivals)) rivals = &misses;
  }
  const std::string allowed = absl::StrJoin(miss.allowed, ", ");
  if (rivals == nullptr) return Unsupported(miss.value, allowed);
  const auto append_rival = [](std::string* out, const Miss& rival) {
    absl::StrAppend(out, rival.path, " ", rival.value);
  };
  return absl::StrCat(miss.value, " does not go with ", absl::StrJoin(*rivals, " and ", append_rival),
                      " in this version; supported with it: ", allowed);
}

// Of rows that miss equally many settings, one that knows the schedule: most settings mean something under it only.
bool IsCloser(const std::vector<Miss>& a, const std::vector<Miss>& b) {
  const auto is_schedule = [](const Miss& miss) { return std::string_view(miss.path) == "problem.schedule"; };
  if (a.size() != b.size()) return a.size() < b.size();
  return !std::ranges::any_of(a, is_schedule) && std::ranges::any_of(b, is_schedule);
}

// Adds to `miss`, all that some row misses, what other rows allow that miss nothing else either.
void AddAlternatives(const std::vector<std::vector<Miss>>& misses_of_rows, Miss& miss) {
  for (const std::vector<Miss>& misses : misses_of_rows) {
    if (misses.size() != 1 || std::string_view(misses.front().path) != miss.path) continue;
    for (const std::string& name : misses.front().allowed) {
      if (std::ranges::find(miss.allowed, name) == miss.allowed.end()) miss.allowed.push_back(name);
    }
  }
}

// What rules out the row that comes closest.
std::vector<Violation> FewestMisses(const std::vector<Capability>& table, const Cluster& cluster,
                                    const PlanningProblem& problem, const SolverOptions& options) {
  const std::string interconnect = InterconnectName(cluster.interconnect);
  std::vector<std::vector<Miss>> misses_of_rows;
  misses_of_rows.reserve(table.size());
  for (const Capability& row : table) misses_of_rows.push_back(MissesOf(row, interconnect, problem, options));
  std::vector<Violation> violations;
  std::vector<Miss> closest = *std::ranges::min_element(misses_of_rows, IsCloser);
  if (closest.size() == 1) AddAlternatives(misses_of_rows, closest.front());
  for (const Miss& miss : closest) {
    violations.push_back({miss.path, Explain(miss, misses_of_rows)});
  }
  return violations;
}

void RefuseIf(bool refused, const char* path, std::string_view value, std::string_view supported,
              Violations& violations) {
  if (refused) violations.Add(path, Unsupported(value, supported));
}

// Settings that nothing heeds yet: each must keep its default.
void CheckUnknown(const PlanningProblem& problem, Violations& violations) {
  RefuseIf(problem.require_contiguous_backward, "problem.require_contiguous_backward", "true", "false", violations);
  if (problem.allreduce.charge == AllReduce::Charge::kPerRound) return;
  const auto refuse_charge = [&](bool refused, const char* with) {
    RefuseIf(refused, "problem.allreduce.charge", absl::StrCat("PER_MICRO_BATCH ", with), "PER_ROUND", violations);
  };
  refuse_charge(problem.allreduce.amortize_over_micro_batches, "with amortize_over_micro_batches");
  refuse_charge(problem.micro_batches.has_value(), "with problem.micro_batches, which says how often steps reduce,");
  refuse_charge(problem.replication == Replication::kNone, "without replication");
}

// Settings that only some modes heed.
void CheckFit(const OperatorGraph& graph, const PlanningProblem& problem, Violations& violations) {
  const bool latency = problem.objective == Objective::kMinLatency;
  const bool pipeline = !latency && problem.split == Split::kContiguous;
  const bool takes_any_limit = problem.schedule == ScheduleKind::kPeriodic && !pipeline;
  if (problem.max_stages_per_device.has_value() && !takes_any_limit &&
      !(pipeline && problem.max_stages_per_device == 1)) {
    violations.Add("problem.max_stages_per_device",
                   Unsupported(absl::StrCat(*problem.max_stages_per_device), pipeline ? "unset, 1" : "unset"));
  }
  RefuseIf(!latency && problem.max_subgraphs_per_device.has_value(), "problem.max_subgraphs_per_device",
           absl::StrCat(problem.max_subgraphs_per_device.value_or(0), " with MAX_THROUGHPUT"), "unset", violations);
  RefuseIf(problem.allreduce.factor != AllReduce::Factor::kRing && problem.replication == Replication::kNone,
           "problem.allreduce.factor", "HALF without replication", "RING", violations);
  RefuseIf(problem.replan_tolerance.has_value() && !problem.start_from.has_value(), "problem.replan_tolerance",
           absl::StrCat(problem.replan_tolerance.value_or(0), " without problem.start_from"), "unset", violations);
  RefuseIf(problem.allreduce.ring != AllReduce::Ring::kFree && problem.replication == Replication::kNone,
           "problem.allreduce.ring", "INDEX without replication", "FREE", violations);
  RefuseIf(
      latency && ResolveProblem(graph, problem).workload == Workload::kTraining && !HasBackwardOperators(graph),
      "problem.workload", "TRAINING by backward times with MIN_LATENCY",
      "INFERENCE, or a graph whose backward pass has operators of its own (pass BACKWARD, forward_operator, gradients "
      "as tensors)",
      violations);
}

// Classes of the accelerators that plans may use, in the order of the devices.
std::vector<DeviceClassId> AcceleratorClasses(const Cluster& cluster, const DeviceSelection& selection) {
  std::vector<DeviceClassId> classes;
  for (const DeviceId id : SelectedDevices(cluster, selection)) {
    const DeviceClassId device_class = cluster.devices[id.index()].device_class;
    if (cluster.class_of(id).kind == DeviceKind::kCpu) continue;
    if (std::find(classes.begin(), classes.end(), device_class) == classes.end()) classes.push_back(device_class);
  }
  return classes;
}

// A chain of stages on equal devices.
void CheckPeriodicFit(const OperatorGraph& graph, const Cluster& cluster, const PlanningProblem& problem,
                      Violations& violations) {
  if (problem.schedule != ScheduleKind::kPeriodic) return;
  const std::vector<DeviceClassId> classes = AcceleratorClasses(cluster, problem.devices_to_use);
  RefuseIf(classes.size() != 1, "cluster.devices",
           classes.empty() ? std::string("PERIODIC without accelerators")
                           : absl::StrCat("PERIODIC on accelerators of ", classes.size(), " classes"),
           "accelerators of one class; select them by problem.devices_to_use", violations);
  const std::vector<int32_t> unions = ColocationUnions(graph, ResolveProblem(graph, problem));
  RefuseIf(std::all_of(unions.begin(), unions.end(), [](int32_t label) { return label == kDropped; }),
           "problem.workload", "PERIODIC with BACKWARD operators only, which INFERENCE drops,", "TRAINING", violations);
}

// `problem` has a schedule. `instead` is what else would do, with a comma before it, or empty.
void RefuseComponents(const OperatorGraph& graph, const PlanningProblem& problem, const char* instead,
                      Violations& violations) {
  if (ResolveProblem(graph, problem).memory_model.kind != MemoryModel::Kind::kComponents) return;
  if (problem.memory_model.kind.has_value()) {
    violations.Add("problem.memory_model.kind",
                   Unsupported(absl::StrCat("COMPONENTS with problem.schedule ", ToAbsl(NameOf(problem.schedule))),
                               absl::StrCat("DECLARED", instead, ", or an unspecified schedule")));
  } else {
    violations.Add("problem.schedule",
                   Unsupported(absl::StrCat(ToAbsl(NameOf(problem.schedule)), " with COMPONENTS memory"),
                               absl::StrCat("unspecified", instead, ", or memory_bytes on every operator")));
  }
}

// A setting that is judged, but that not every search heeds.
struct Extra {
  const char* path;
  bool is_set = false;
  std::string value;
  const char* neutral;
};

std::string TextOf(const auto& number) { return absl::StrCat(number.value_or(0)); }

std::vector<Extra> ExtrasOf(const PlanningProblem& problem) {
  return {{"problem.pinned", !problem.pinned.empty(), "pinning", "empty"},
          {"problem.forbidden", !problem.forbidden.empty(), "forbidding", "empty"},
          {"problem.num_stages", problem.num_stages.has_value(), TextOf(problem.num_stages), "unset"},
          {"problem.num_replicas", problem.num_replicas.has_value(), TextOf(problem.num_replicas), "unset"},
          {"problem.start_from", problem.start_from.has_value(), "a placement to start from", "unset"},
          {"problem.allreduce.ring", problem.allreduce.ring != AllReduce::Ring::kFree, "INDEX", "FREE"}};
}

// Written for every setting.
bool HeedsEverything(Algorithm algorithm) {
  return algorithm == Algorithm::kEnumeration || algorithm == Algorithm::kSequenceDp ||
         algorithm == Algorithm::kStageAnnealing;
}

// Where devices may hold several stages, what is enumerated has no places in a pipeline, nor a number of stages.
bool EnumeratesAllocations(Algorithm algorithm, const PlanningProblem& problem) {
  return algorithm == Algorithm::kEnumeration && problem.split == Split::kNonContiguous;
}

// Parmesan heeds all of them, pins and bans only with equal replicas; where devices may hold several stages without
// replicas, and for latency, every search heeds pins and bans. What baselines make is verified.
bool Heeds(Algorithm algorithm, const PlanningProblem& problem, const Extra& extra) {
  // The planner repairs the placement, whatever the search.
  if (std::string_view(extra.path) == "problem.start_from") {
    return problem.objective == Objective::kMaxThroughput && problem.schedule != ScheduleKind::kPeriodic &&
           !IsBaseline(algorithm);
  }
  const bool is_rule =
      std::string_view(extra.path) == "problem.pinned" || std::string_view(extra.path) == "problem.forbidden";
  if (HeedsEverything(algorithm)) return is_rule || !EnumeratesAllocations(algorithm, problem);
  if (IsParmesan(algorithm)) return !is_rule || problem.replication != Replication::kPerStage;
  if (IsBaseline(algorithm) && problem.schedule != ScheduleKind::kPeriodic) return true;
  const bool shares_devices = problem.split == Split::kNonContiguous && problem.schedule != ScheduleKind::kPeriodic &&
                              problem.replication == Replication::kNone;
  return is_rule && (problem.objective == Objective::kMinLatency || shares_devices);
}

// Whether the activations that a stage keeps depend on its place: a pipeline that starts to drain before it is full
// keeps more of them in its first stages than in its last ones.
bool KeepsActivationsByStage(const OperatorGraph& graph, const PlanningProblem& problem) {
  return DrainsEarly(problem.schedule) &&
         ResolveProblem(graph, problem).memory_model.kind == MemoryModel::Kind::kComponents;
}

// Whether what `algorithm` makes fits in memory by what a stage keeps in its place.
bool CountsActivations(Algorithm algorithm, const OperatorGraph& graph, const PlanningProblem& problem) {
  const bool knows_places = HeedsEverything(algorithm) && !EnumeratesAllocations(algorithm, problem);
  return IsParmesan(algorithm) || knows_places || IsBaseline(algorithm) || !KeepsActivationsByStage(graph, problem);
}

// Whether a limit on the number of devices can be divided among the device classes (device_choices.h), which presumes
// that the devices of one class differ in nothing but their memory and their places in a hierarchy.
bool CanDivideDevices(const Cluster& cluster, const PlanningProblem& problem) {
  const bool is_alike = std::holds_alternative<HostStagedInterconnect>(cluster.interconnect) ||
                        std::holds_alternative<UniformInterconnect>(cluster.interconnect) ||
                        std::holds_alternative<HierarchyInterconnect>(cluster.interconnect);
  return is_alike && problem.pinned.empty() && problem.forbidden.empty();
}

bool LimitsDevices(const PlanningProblem& problem) {
  return problem.objective == Objective::kMinDevices || problem.devices_to_use.max_devices.has_value();
}

bool HeedsAll(Algorithm algorithm, const OperatorGraph& graph, const Cluster& cluster, const PlanningProblem& problem) {
  const std::vector<Extra> extras = ExtrasOf(problem);
  return CountsActivations(algorithm, graph, problem) &&
         (HeedsDeviceLimits(algorithm) || !LimitsDevices(problem) || CanDivideDevices(cluster, problem)) &&
         std::all_of(extras.begin(), extras.end(),
                     [&](const Extra& extra) { return !extra.is_set || Heeds(algorithm, problem, extra); });
}

// Where AUTO has a choice: exact programs, which may be done soon, go before what takes all the time there is.
std::size_t TurnOf(Algorithm algorithm) {
  static constexpr std::array<Algorithm, 10> kTurns = {
      Algorithm::kIdealDp,       Algorithm::kHierarchicalDp,   Algorithm::kContiguousPeriodic,
      Algorithm::kEnumeration,   Algorithm::kSequenceDp,       Algorithm::kParmesan,
      Algorithm::kNetAnnealing,  Algorithm::kLatencyAnnealing, Algorithm::kPeriodicAnnealing,
      Algorithm::kStageAnnealing};
  return static_cast<std::size_t>(std::find(kTurns.begin(), kTurns.end(), algorithm) - kTurns.begin());
}

// What AUTO may take in the rows that plan the problem, whether it heeds all settings or not, in turn.
std::vector<Algorithm> Candidates(const Cluster& cluster, const PlanningProblem& problem,
                                  const SolverOptions& options) {
  const std::string interconnect = InterconnectName(cluster.interconnect);
  std::vector<Algorithm> candidates;
  for (const Capability& row : Table()) {
    const Algorithm first = row.algorithms.front();
    if (IsBaseline(first) || first == Algorithm::kMip || std::ranges::find(candidates, first) != candidates.end()) {
      continue;
    }
    if (MissesOf(row, interconnect, problem, options).empty()) candidates.push_back(first);
  }
  std::ranges::stable_sort(candidates, {}, TurnOf);
  return candidates;
}

// What the request names, or what decides whether AUTO heeds its settings: the first candidate that heeds all, else the
// first; not enumeration, which takes small problems only. nullopt: no row plans the problem.
std::optional<Algorithm> AlgorithmFor(const OperatorGraph& graph, const Cluster& cluster,
                                      const PlanningProblem& problem, const SolverOptions& options) {
  if (options.algorithm != Algorithm::kAuto) return options.algorithm;
  std::vector<Algorithm> candidates = Candidates(cluster, problem, options);
  std::erase(candidates, Algorithm::kEnumeration);
  if (candidates.empty()) return std::nullopt;
  const auto heeds_all = [&](Algorithm algorithm) { return HeedsAll(algorithm, graph, cluster, problem); };
  const auto heeding = std::ranges::find_if(candidates, heeds_all);
  return heeding == candidates.end() ? candidates.front() : *heeding;
}

// Whether leaving the choice of the algorithm to the planner would do.
bool CanAskForAuto(const OperatorGraph& graph, const Cluster& cluster, const PlanningProblem& problem,
                   const SolverOptions& options) {
  if (options.algorithm == Algorithm::kAuto) return false;
  const std::optional<Algorithm> algorithm = AlgorithmFor(graph, cluster, problem, SolverOptions());
  return algorithm.has_value() && HeedsAll(*algorithm, graph, cluster, problem);
}

// Settings that the search to be run does not heed must keep their defaults.
void CheckHeeded(const OperatorGraph& graph, const Cluster& cluster, const PlanningProblem& problem,
                 const SolverOptions& options, Violations& violations) {
  const std::optional<Algorithm> algorithm = AlgorithmFor(graph, cluster, problem, options);
  if (!algorithm.has_value()) return;
  const std::string instead = CanAskForAuto(graph, cluster, problem, options) ? ", or options.algorithm AUTO" : "";
  for (const Extra& extra : ExtrasOf(problem)) {
    if (!extra.is_set || Heeds(*algorithm, problem, extra)) continue;
    const bool is_contiguous = problem.split == Split::kContiguous && problem.schedule != ScheduleKind::kPeriodic &&
                               problem.replication == Replication::kNone;
    const bool shares_devices_instead = std::string_view(extra.neutral) == "empty" && is_contiguous;
    violations.Add(
        extra.path,
        Unsupported(extra.value, absl::StrCat(extra.neutral, instead,
                                              shares_devices_instead ? ", or problem.split NON_CONTIGUOUS" : "")));
  }
  if (!CountsActivations(*algorithm, graph, problem)) {
    RefuseComponents(graph, problem, instead.empty() ? "" : ", options.algorithm AUTO", violations);
  }
}

// Limits on the number of devices need a search that heeds them itself, or devices that are alike.
void CheckDeviceCounts(const OperatorGraph& graph, const Cluster& cluster, const PlanningProblem& problem,
                       const SolverOptions& options, Violations& violations) {
  const std::optional<Algorithm> algorithm = AlgorithmFor(graph, cluster, problem, options);
  if (!algorithm.has_value() || HeedsDeviceLimits(*algorithm)) return;
  const std::string instead = CanAskForAuto(graph, cluster, problem, options) ? ", or options.algorithm AUTO" : "";
  const auto refuse = [&](std::string_view obstacle, std::string_view supported) {
    if (problem.objective == Objective::kMinDevices) {
      violations.Add("problem.objective", Unsupported(absl::StrCat("MIN_DEVICES with ", ToAbsl(obstacle)), supported));
    }
    if (problem.devices_to_use.max_devices.has_value()) {
      violations.Add("problem.devices_to_use.max_devices",
                     Unsupported(absl::StrCat("a limit with ", ToAbsl(obstacle)), supported));
    }
  };
  const std::string interconnect = InterconnectName(cluster.interconnect);
  if (interconnect != "host_staged" && interconnect != "uniform" && interconnect != "hierarchy") {
    refuse(absl::StrCat("cluster.interconnect.", interconnect),
           absl::StrCat("host_staged, uniform, hierarchy", instead));
  }
  if (!problem.pinned.empty()) refuse("problem.pinned", absl::StrCat("without", instead));
  if (!problem.forbidden.empty()) refuse("problem.forbidden", absl::StrCat("without", instead));
}

// GPIPE holds the activations of all micro-batches, which have no number in the limit of many.
void CheckActivations(const std::vector<Capability>& table, const OperatorGraph& graph, const Cluster& cluster,
                      const PlanningProblem& problem, Violations& violations) {
  if (problem.schedule != ScheduleKind::kGpipe || problem.micro_batches.has_value()) return;
  PlanningProblem counted = problem;
  counted.micro_batches = 1;
  const std::string interconnect = InterconnectName(cluster.interconnect);
  const bool can_count = std::ranges::any_of(
      table, [&](const Capability& row) { return MissesOf(row, interconnect, counted, SolverOptions()).empty(); });
  RefuseComponents(graph, problem, can_count ? ", a number of problem.micro_batches" : "", violations);
}

// Only patterns know how many micro-batches pay for the forward pass that runs again.
void CheckRecomputation(const OperatorGraph& graph, const PlanningProblem& given, Violations& violations) {
  const PlanningProblem problem = ResolveProblem(graph, given);
  const MemoryModel& memory = problem.memory_model;
  if (memory.recomputation == MemoryModel::Recomputation::kNone) return;
  const auto refuse_if = [&](bool refused, std::string_view value, std::string_view supported) {
    RefuseIf(refused, "problem.memory_model.recomputation", value, supported, violations);
  };
  if (problem.schedule != ScheduleKind::kPeriodic) return refuse_if(true, "FULL", "NONE, or schedule PERIODIC");
  refuse_if(problem.workload == Workload::kInference, "FULL with INFERENCE, which keeps nothing,", "NONE");
  refuse_if(memory.kind == MemoryModel::Kind::kDeclared, "FULL with DECLARED memory, of which it saves nothing,",
            "NONE, or memory_model.kind COMPONENTS");
}

// Everything that is refused whatever the settings of CheckDefaults are.
void CheckRows(const std::vector<Capability>& table, const OperatorGraph& graph, const Cluster& cluster,
               const PlanningProblem& problem, const SolverOptions& options, Violations& violations) {
  for (Violation& miss : FewestMisses(table, cluster, problem, options)) {
    violations.Add(std::move(miss.path), std::move(miss.rule));
  }
  CheckUnknown(problem, violations);
  CheckFit(graph, problem, violations);
  CheckPeriodicFit(graph, cluster, problem, violations);
  CheckActivations(table, graph, cluster, problem, violations);
  CheckRecomputation(graph, problem, violations);
}

}  // namespace

std::span<const Capability> Capabilities() { return Table(); }

std::vector<Algorithm> AlgorithmsInTurn(const OperatorGraph& graph, const Cluster& cluster,
                                        const PlanningProblem& problem, const SolverOptions& options) {
  if (options.algorithm != Algorithm::kAuto) return {options.algorithm};
  std::vector<Algorithm> algorithms = Candidates(cluster, problem, options);
  std::erase_if(algorithms, [&](Algorithm algorithm) { return !HeedsAll(algorithm, graph, cluster, problem); });
  return algorithms;
}

bool HeedsDeviceLimits(Algorithm algorithm) { return IsParmesan(algorithm) || HeedsEverything(algorithm); }

std::span<const AlgorithmInfo> Algorithms() { return kAlgorithms; }

std::string_view StableNameOf(Algorithm algorithm) {
  const auto found = std::ranges::find(kAlgorithms, algorithm, &AlgorithmInfo::algorithm);
  return found == std::ranges::end(kAlgorithms) ? std::string_view() : found->name;
}

void CheckSupported(const OperatorGraph& graph, const Cluster& cluster, const PlanningProblem& problem,
                    const SolverOptions& options, Violations& violations) {
  CheckRows(Table(), graph, cluster, problem, options, violations);
  CheckHeeded(graph, cluster, problem, options, violations);
  if (options.algorithm == Algorithm::kScotch && !HasScotch()) {
    violations.Add("options.algorithm", "SCOTCH is not part of this build; install libscotch-dev and build again");
  }
  CheckDeviceCounts(graph, cluster, problem, options, violations);
}

void CheckJudged(const OperatorGraph& graph, const Cluster& cluster, const PlanningProblem& problem,
                 Violations& violations) {
  CheckRows(JudgedTable(), graph, cluster, problem, SolverOptions(), violations);
}

}  // namespace planwright
