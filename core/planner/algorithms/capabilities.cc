#include "core/planner/algorithms/capabilities.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/index.h"
#include "core/base/strings.h"
#include "core/cost/pipeline_fill.h"
#include "core/model/colocation.h"
#include "core/model/device_selection.h"
#include "core/partition/baselines/proposals.h"
#include "core/planner/algorithms/algorithms.h"
#include "core/planner/algorithms/setting_names.h"

namespace planwright {
namespace {

void Add(const std::vector<Modes>& modes, Algorithm algorithm, std::vector<Capability>& table) {
  for (const Modes& one : modes) {
    const auto is_same = [&](const Capability& row) {
      return HasSameSettings(row.modes, one) && row.modes.description == one.description;
    };
    const auto known = std::ranges::find_if(table, is_same);
    Capability& row = known == table.end() ? table.emplace_back(Capability{.modes = one, .algorithms = {}}) : *known;
    row.algorithms.push_back(algorithm);
  }
}

const std::vector<Capability>& Table() {
  static const std::vector<Capability> kTable = [] {
    std::vector<Capability> table;
    for (const AlgorithmRow& row : Algorithms()) Add(row.modes, row.algorithm, table);
    for (const AlgorithmRow& row : Algorithms()) Add(row.modes_by_name, row.algorithm, table);
    return table;
  }();
  return kTable;
}

// What core/cost and core/verify know, whoever made the placement: without algorithms.
const std::vector<Capability>& JudgedTable() {
  static const std::vector<Replication> kReplications = {Replication::kNone, Replication::kUniform,
                                                         Replication::kPerStage};
  static const std::vector<Capability> kTable = {
      {.modes = ThroughputModes(EveryInterconnect(), SchedulesOfLoads(), kReplications, {Split::kContiguous},
                                "contiguous stages, each on one device or on several replicas"),
       .algorithms = {}},
      {.modes = StepModes(EveryInterconnect(), kReplications, "the same in steps of a number of micro-batches"),
       .algorithms = {}},
      {.modes = ThroughputModes(EveryInterconnect(), SchedulesOfLoads(), {Replication::kNone, Replication::kPerStage},
                                {Split::kNonContiguous}, "devices, or teams of replicas, that hold several stages"),
       .algorithms = {}},
      {.modes = LatencyModes("subgraphs one after the other, for one micro-batch"), .algorithms = {}},
      {.modes =
           PeriodicModes({Split::kContiguous, Split::kNonContiguous}, "periodic patterns on accelerators of one class"),
       .algorithms = {}},
  };
  return kTable;
}

// Returns the name in capitals, as in the API.
std::string NameOf(Algorithm value) {
  return value == Algorithm::kAuto ? "AUTO" : absl::AsciiStrToUpper(ToAbsl(RowOf(value).name));
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
  std::vector<std::string> names = Mapped(allowed, [&](const Value& name) { return std::string(NameOf(name)); });
  misses.push_back({path, std::string(NameOf(value)), std::move(names)});
}

std::vector<Algorithm> WithAuto(std::vector<Algorithm> algorithms) {
  algorithms.insert(algorithms.begin(), Algorithm::kAuto);
  return algorithms;
}

// What keeps the problem, whatever the algorithm, from being one of `modes`.
std::vector<Miss> MissesOf(const Modes& modes, std::string_view interconnect, const ProblemSettings& problem) {
  std::vector<Miss> misses;
  CheckSetting(problem.objective, modes.objectives, "problem.objective", misses);
  CheckSetting(interconnect, modes.interconnects, "cluster.interconnect", misses);
  CheckSetting(problem.split, modes.splits, "problem.split", misses);
  CheckSetting(problem.replication, modes.replications, "problem.replication", misses);
  CheckSetting(problem.overlap, modes.overlaps, "problem.overlap", misses);
  CheckSetting(problem.schedule, modes.schedules, "problem.schedule", misses);
  if (problem.micro_batches.has_value() != modes.counts_micro_batches) {
    misses.push_back({"problem.micro_batches",
                      problem.micro_batches.has_value() ? absl::StrCat(*problem.micro_batches) : "unset",
                      {modes.counts_micro_batches ? "a number" : "unset"}});
  }
  return misses;
}

// What rules out `row`; empty: it plans the problem.
std::vector<Miss> MissesOf(const Capability& row, std::string_view interconnect, const ProblemSettings& problem,
                           const SolverOptions& options) {
  std::vector<Miss> misses = MissesOf(row.modes, interconnect, problem);
  CheckSetting(options.algorithm, WithAuto(row.algorithms), "options.algorithm", misses);
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

// Fewer misses are closer; of equally many those without the schedule: most settings mean something under it only.
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
                                    const ProblemSettings& problem, const SolverOptions& options) {
  const std::string interconnect = InterconnectName(cluster.interconnect);
  std::vector<std::vector<Miss>> misses_of_rows =
      Mapped(table, [&](const Capability& row) { return MissesOf(row, interconnect, problem, options); });
  std::vector<Violation> violations;
  std::vector<Miss> closest = *std::ranges::min_element(misses_of_rows, IsCloser);
  if (closest.size() == 1) AddAlternatives(misses_of_rows, closest.front());
  violations.reserve(closest.size());
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
void CheckUnknown(const ProblemSettings& problem, Violations& violations) {
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
void CheckFit(const OperatorGraph& graph, const PlanningProblem& problem, const ResolvedProblem& resolved,
              Violations& violations) {
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
      latency && resolved.workload == Workload::kTraining && !HasBackwardOperators(graph), "problem.workload",
      "TRAINING by backward times with MIN_LATENCY",
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

// Patterns are for a chain of stages on equal devices.
void CheckPeriodicFit(const OperatorGraph& graph, const Cluster& cluster, const ResolvedProblem& problem,
                      Violations& violations) {
  if (problem.schedule != ScheduleKind::kPeriodic) return;
  const std::vector<DeviceClassId> classes = AcceleratorClasses(cluster, problem.devices_to_use);
  RefuseIf(classes.size() != 1, "cluster.devices",
           classes.empty() ? std::string("PERIODIC without accelerators")
                           : absl::StrCat("PERIODIC on accelerators of ", classes.size(), " classes"),
           "accelerators of one class; select them by problem.devices_to_use", violations);
  const std::vector<int32_t> unions = ColocationUnions(graph, problem);
  RefuseIf(std::all_of(unions.begin(), unions.end(), [](int32_t label) { return label == kDropped; }),
           "problem.workload", "PERIODIC with BACKWARD operators only, which INFERENCE drops,", "TRAINING", violations);
}

// `problem` has a schedule. `instead` is what else would do, with a comma before it, or empty.
void RefuseComponents(const PlanningProblem& problem, const ResolvedProblem& resolved, const char* instead,
                      Violations& violations) {
  if (resolved.memory_model.kind != MemoryModel::Kind::kComponents) return;
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
  bool is_heeded = false;
  std::string value;
  const char* neutral;
};

std::string TextOf(const auto& number) { return absl::StrCat(number.value_or(0)); }

std::vector<Extra> ExtrasOf(const AlgorithmRow& row, const ResolvedProblem& problem) {
  const HeededSettings heeded = row.heeds(problem);
  // The planner repairs the placement, whatever the search.
  const bool goes_on =
      problem.objective == Objective::kMaxThroughput && problem.schedule != ScheduleKind::kPeriodic && !row.is_baseline;
  const bool stages = heeded.stages_and_replicas;
  return {{"problem.pinned", !problem.pinned.empty(), heeded.pins_and_bans, "pinning", "empty"},
          {"problem.forbidden", !problem.forbidden.empty(), heeded.pins_and_bans, "forbidding", "empty"},
          {"problem.num_stages", problem.num_stages.has_value(), stages, TextOf(problem.num_stages), "unset"},
          {"problem.num_replicas", problem.num_replicas.has_value(), stages, TextOf(problem.num_replicas), "unset"},
          {"problem.start_from", problem.start_from.has_value(), goes_on, "a placement to start from", "unset"},
          {"problem.allreduce.ring", problem.allreduce.ring != AllReduce::Ring::kFree, stages, "INDEX", "FREE"}};
}

// Whether the activations that a stage keeps depend on its place: a pipeline that starts to drain before it is full
// keeps more of them in its first stages than in its last ones.
bool KeepsActivationsByStage(const ResolvedProblem& problem) {
  return DrainsEarly(problem.schedule) && problem.memory_model.kind == MemoryModel::Kind::kComponents;
}

// Whether what `algorithm` makes fits in memory by what a stage keeps in its place.
bool CountsActivations(Algorithm algorithm, const ResolvedProblem& problem) {
  return RowOf(algorithm).heeds(problem).activations_by_place || !KeepsActivationsByStage(problem);
}

// Whether a limit on the number of devices can be divided among the device classes (device_choices.h), which presumes
// that the devices of one class differ in nothing but their memory and their places in a hierarchy.
bool CanDivideDevices(const Cluster& cluster, const ResolvedProblem& problem) {
  const bool is_alike = std::holds_alternative<HostStagedInterconnect>(cluster.interconnect) ||
                        std::holds_alternative<UniformInterconnect>(cluster.interconnect) ||
                        std::holds_alternative<HierarchyInterconnect>(cluster.interconnect);
  return is_alike && problem.pinned.empty() && problem.forbidden.empty();
}

bool LimitsDevices(const ResolvedProblem& problem) {
  return problem.objective == Objective::kMinDevices || problem.devices_to_use.max_devices.has_value();
}

bool HeedsAll(Algorithm algorithm, const Cluster& cluster, const ResolvedProblem& problem) {
  const AlgorithmRow& row = RowOf(algorithm);
  return CountsActivations(algorithm, problem) &&
         (row.heeds(problem).device_limits || !LimitsDevices(problem) || CanDivideDevices(cluster, problem)) &&
         std::ranges::all_of(ExtrasOf(row, problem),
                             [](const Extra& extra) { return !extra.is_set || extra.is_heeded; });
}

// What AUTO may take for the problem, whether it heeds all settings or not, in turn.
std::vector<Algorithm> Candidates(const Cluster& cluster, const ResolvedProblem& problem) {
  const std::string interconnect = InterconnectName(cluster.interconnect);
  const auto is_planned = [&](const Modes& modes) { return MissesOf(modes, interconnect, problem).empty(); };
  std::vector<Algorithm> candidates;
  for (const AlgorithmRow& row : Algorithms()) {
    if (std::ranges::any_of(row.modes, is_planned)) candidates.push_back(row.algorithm);
  }
  return candidates;
}

// What the request names, or what decides whether AUTO heeds its settings: the first candidate that heeds all, else the
// first; not enumeration, which takes small problems only. nullopt: no row plans the problem.
std::optional<Algorithm> AlgorithmFor(const Cluster& cluster, const ResolvedProblem& problem,
                                      const SolverOptions& options) {
  if (options.algorithm != Algorithm::kAuto) return options.algorithm;
  std::vector<Algorithm> candidates = Candidates(cluster, problem);
  std::erase(candidates, Algorithm::kEnumeration);
  if (candidates.empty()) return std::nullopt;
  const auto heeds_all = [&](Algorithm algorithm) { return HeedsAll(algorithm, cluster, problem); };
  const auto heeding = std::ranges::find_if(candidates, heeds_all);
  return heeding == candidates.end() ? candidates.front() : *heeding;
}

// Whether leaving the choice of the algorithm to the planner would do.
bool CanAskForAuto(const Cluster& cluster, const ResolvedProblem& problem, const SolverOptions& options) {
  if (options.algorithm == Algorithm::kAuto) return false;
  const std::optional<Algorithm> algorithm = AlgorithmFor(cluster, problem, SolverOptions());
  return algorithm.has_value() && HeedsAll(*algorithm, cluster, problem);
}

// Settings that the search to be run does not heed must keep their defaults.
void CheckHeeded(const Cluster& cluster, const PlanningProblem& given, const ResolvedProblem& problem,
                 const SolverOptions& options, Violations& violations) {
  const std::optional<Algorithm> algorithm = AlgorithmFor(cluster, problem, options);
  if (!algorithm.has_value()) return;
  const std::string instead = CanAskForAuto(cluster, problem, options) ? ", or options.algorithm AUTO" : "";
  for (const Extra& extra : ExtrasOf(RowOf(*algorithm), problem)) {
    if (!extra.is_set || extra.is_heeded) continue;
    const bool is_contiguous = problem.split == Split::kContiguous && problem.schedule != ScheduleKind::kPeriodic &&
                               problem.replication == Replication::kNone;
    const bool shares_devices_instead = std::string_view(extra.neutral) == "empty" && is_contiguous;
    violations.Add(
        extra.path,
        Unsupported(extra.value, absl::StrCat(extra.neutral, instead,
                                              shares_devices_instead ? ", or problem.split NON_CONTIGUOUS" : "")));
  }
  if (!CountsActivations(*algorithm, problem)) {
    RefuseComponents(given, problem, instead.empty() ? "" : ", options.algorithm AUTO", violations);
  }
}

// Limits on the number of devices need a search that heeds them itself, or devices that are alike.
void CheckDeviceCounts(const Cluster& cluster, const ResolvedProblem& problem, const SolverOptions& options,
                       Violations& violations) {
  const std::optional<Algorithm> algorithm = AlgorithmFor(cluster, problem, options);
  if (!algorithm.has_value() || RowOf(*algorithm).heeds(problem).device_limits) return;
  const std::string instead = CanAskForAuto(cluster, problem, options) ? ", or options.algorithm AUTO" : "";
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
void CheckActivations(const std::vector<Capability>& table, const Cluster& cluster, const PlanningProblem& problem,
                      const ResolvedProblem& resolved, Violations& violations) {
  if (problem.schedule != ScheduleKind::kGpipe || problem.micro_batches.has_value()) return;
  ProblemSettings counted = problem;
  counted.micro_batches = 1;
  const std::string interconnect = InterconnectName(cluster.interconnect);
  const bool can_count = std::ranges::any_of(
      table, [&](const Capability& row) { return MissesOf(row, interconnect, counted, SolverOptions()).empty(); });
  RefuseComponents(problem, resolved, can_count ? ", a number of problem.micro_batches" : "", violations);
}

// Only patterns know how many micro-batches pay for the forward pass that runs again.
void CheckRecomputation(const ResolvedProblem& problem, Violations& violations) {
  const ResolvedMemory& memory = problem.memory_model;
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
               const PlanningProblem& problem, const ResolvedProblem& resolved, const SolverOptions& options,
               Violations& violations) {
  for (Violation& miss : FewestMisses(table, cluster, problem, options)) {
    violations.Add(std::move(miss.path), std::move(miss.rule));
  }
  CheckUnknown(problem, violations);
  CheckFit(graph, problem, resolved, violations);
  CheckPeriodicFit(graph, cluster, resolved, violations);
  CheckActivations(table, cluster, problem, resolved, violations);
  CheckRecomputation(resolved, violations);
}

}  // namespace

std::span<const Capability> Capabilities() { return Table(); }

std::vector<Algorithm> AlgorithmsInTurn(const Cluster& cluster, const ResolvedProblem& problem,
                                        const SolverOptions& options) {
  if (options.algorithm != Algorithm::kAuto) return {options.algorithm};
  std::vector<Algorithm> algorithms = Candidates(cluster, problem);
  std::erase_if(algorithms, [&](Algorithm algorithm) { return !HeedsAll(algorithm, cluster, problem); });
  return algorithms;
}

void CheckSupported(const OperatorGraph& graph, const Cluster& cluster, const PlanningProblem& problem,
                    const SolverOptions& options, Violations& violations) {
  const ResolvedProblem resolved = ResolveProblem(graph, problem);
  CheckRows(Table(), graph, cluster, problem, resolved, options, violations);
  CheckHeeded(cluster, problem, resolved, options, violations);
  if (options.algorithm == Algorithm::kScotch && !HasScotch()) {
    violations.Add("options.algorithm", "SCOTCH is not part of this build; install libscotch-dev and build again");
  }
  CheckDeviceCounts(cluster, resolved, options, violations);
}

void CheckJudged(const OperatorGraph& graph, const Cluster& cluster, const PlanningProblem& problem,
                 Violations& violations) {
  CheckRows(JudgedTable(), graph, cluster, problem, ResolveProblem(graph, problem), SolverOptions(), violations);
}

}  // namespace planwright
