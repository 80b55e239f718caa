#include "core/partition/mip/mip_search.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "core/base/infeasibility.h"
#include "core/base/interruption.h"
#include "core/partition/contiguous/contiguous_throughput.h"
#include "core/partition/latency/latency_annealing.h"
#include "core/partition/latency/latency_instance.h"
#include "core/partition/latency/latency_placement.h"
#include "core/partition/latency/min_latency.h"
#include "core/partition/latency/subgraph_schedule.h"
#include "core/partition/mip/latency_program.h"
#include "core/partition/mip/mip_solver.h"
#include "core/partition/mip/printed_program.h"
#include "core/partition/mip/throughput_program.h"
#include "core/partition/noncontiguous/certify/certificates.h"
#include "core/partition/noncontiguous/noncontiguous_throughput.h"
#include "core/partition/noncontiguous/virtual_devices.h"
#include "core/partition/search/load_windows.h"
#include "core/partition/search/search_record.h"

namespace planwright {
namespace {

constexpr char kName[] = "mip";
// Work of the heuristics that go before, for each group and each operator: some tenths of a second for some hundred.
constexpr int64_t kMovesPerGroup = 20'000;
constexpr int64_t kLatencyWorkPerOperator = 100'000;
// Work of the certificates (certificates.h): some tenths of a second.
constexpr int64_t kProofWork = 30'000;
// Entries that the solver takes at most: some hundred megabytes, and steps short enough to be stopped in time.
constexpr int64_t kMostSolvedEntries = 2'000'000;
// What handing an entry over to the solver takes, and what the solver does with it before it first looks at the clock.
constexpr std::chrono::nanoseconds kUnwatchedPerEntry(150);

bool IsContiguous(const ResolvedProblem& problem) { return problem.split == Split::kContiguous; }

// Throughput: what the program is made of, and the way back to a placement.
class ThroughputModel {
 public:
  explicit ThroughputModel(const PlanningInput& input)
      : input_(input),
        instance_(IsContiguous(input.problem) ? ContiguousNetInstance(input) : BuildNetInstance(input)) {}

  Picoseconds GenerousUpper() const { return Picoseconds(std::max<int64_t>(TrivialLoadBound(instance_.blocks), 1)); }

  // Rows of the nets, and of the precedence between devices of different pools.
  int64_t NumEntries() const {
    int64_t for_each_device = instance_.num_groups();
    for (const Net& net : instance_.blocks.nets) for_each_device += 3 * static_cast<int64_t>(net.blocks.size());
    const auto devices = static_cast<int64_t>(instance_.devices.size());
    int64_t entries = SaturatingMultiply(devices, 2 * for_each_device);
    if (IsContiguous(input_.problem)) {
      const auto edges = static_cast<int64_t>(instance_.blocks.precedence.edges().size());
      entries = SaturatingAdd(entries, SaturatingMultiply(3 * devices * devices, edges + devices));
    }
    return entries;
  }

  // Its first column is the objective.
  IntegerProgram& Build(Picoseconds upper) { return Build(upper, upper); }
  // Without a plan to go by: allows every plan, in a unit of the order of good ones.
  IntegerProgram& Build() { return Build(GenerousUpper(), FairShare()); }

  std::optional<Placement> PlacementOf(const std::vector<double>& solution) const {
    const std::vector<int32_t> device_of = model_.DeviceOf(solution);
    if (!IsContiguous(input_.problem)) return Cut(device_of);
    std::vector<Placement::Stage> stages(instance_.devices.size());
    for (std::size_t block = 0; block < device_of.size(); ++block) {
      std::vector<OperatorId>& operators = stages[static_cast<std::size_t>(device_of[block])].operators;
      operators.insert(operators.end(), instance_.blocks.operators[block].begin(),
                       instance_.blocks.operators[block].end());
    }
    Placement placement;
    for (const int32_t device : model_.DeviceOrder(solution)) {
      Placement::Stage& stage = stages[static_cast<std::size_t>(device)];
      if (stage.operators.empty()) continue;
      std::sort(stage.operators.begin(), stage.operators.end());
      stage.devices = {instance_.devices[static_cast<std::size_t>(device)].device};
      placement.stages.push_back(std::move(stage));
    }
    return placement;
  }

  static absl::StatusOr<SearchOutcome> Start(SearchRequest request, const SolveLimits& limits, TaskArena& arena,
                                             const SearchCallbacks& callbacks) {
    if (IsContiguous(request.problem)) {
      // Not the exact program, which this one is to be compared with.
      request.algorithm = Algorithm::kLinearizedDp;
      return SolveContiguousThroughput(request, limits, arena, callbacks);
    }
    request.algorithm = Algorithm::kNetAnnealing;
    return SolveNonContiguousThroughput(request, limits, arena, callbacks);
  }
  int64_t StartWork() const { return kMovesPerGroup * instance_.num_groups(); }
  // Bounds that hold for all splits, as the search for non-contiguous ones has them already.
  void Certify(SearchRecord& record, const SolveLimits& search_limits) const {
    if (!IsContiguous(input_.problem) || !record.has_placement()) return;
    SolveLimits limits = search_limits;
    limits.work = kProofWork;
    CertifyMaxLoad(instance_.blocks, instance_.rule().overlap, record.objective(), 0, limits,
                   [&](const Bound& bound) { record.RaiseBound(bound); });
  }
  // The program leaves out no plan.
  static constexpr bool is_exact() { return true; }

  // The groups where they take the least time, shared among all devices.
  Picoseconds FairShare() const {
    int64_t sum = 0;
    for (std::size_t group = 0; group < instance_.blocks.operators.size(); ++group) {
      int64_t least = kMaxQuantity;
      for (const DevicePool& pool : instance_.blocks.pools) {
        if (pool.supported[group]) least = std::min(least, pool.time[group]);
      }
      if (least < kMaxQuantity) sum = SaturatingAdd(sum, least);
    }
    return Picoseconds(std::max<int64_t>(sum / std::max<int64_t>(std::ssize(instance_.devices), 1), 1));
  }

 private:
  IntegerProgram& Build(Picoseconds upper, Picoseconds unit) {
    model_ = BuildThroughputProgram(instance_, IsContiguous(input_.problem), upper, unit);
    return model_.program;
  }

  Placement Cut(const std::vector<int32_t>& device_of) const {
    std::vector<DeviceId> device_of_operator(input_.graph.operators.size());
    for (std::size_t group = 0; group < device_of.size(); ++group) {
      for (const OperatorId op : instance_.blocks.operators[group]) {
        device_of_operator[op.index()] = instance_.devices[static_cast<std::size_t>(device_of[group])].device;
      }
    }
    return VirtualDevices(input_.graph, input_.problem).Cut(device_of_operator);
  }

  const PlanningInput input_;
  const NetInstance instance_;
  ThroughputProgram model_;
};

// Latency: what the program is made of, and the way back to a placement.
class LatencyModel {
 public:
  explicit LatencyModel(const PlanningInput& input)
      : instance_(BuildLatencyInstance(input)),
        slots_per_pass_(instance_.subgraph_limit.value_or(kMaxSubgraphsSearched)) {}

  // Every vertex after the other, wherever it takes longest, and every tensor sent and received by each accelerator.
  Picoseconds GenerousUpper() const {
    int64_t upper = 1;
    for (int32_t vertex = 0; vertex < instance_.num_vertices(); ++vertex) {
      const auto index = static_cast<std::size_t>(vertex);
      int64_t longest = instance_.cpu_time[index];
      for (const DevicePool& pool : instance_.pools) longest = std::max(longest, pool.time[index]);
      upper = SaturatingAdd(upper, longest);
    }
    for (const LatencyTensor& tensor : instance_.tensors) {
      upper = SaturatingAdd(upper, SaturatingMultiply(tensor.transfer, static_cast<int64_t>(tensor.pins.size())));
    }
    return Picoseconds(std::min(upper, kMaxQuantity));
  }

  int64_t NumEntries() const {
    int64_t for_each_slot = 4 * static_cast<int64_t>(instance_.num_vertices());
    for (const LatencyTensor& tensor : instance_.tensors) {
      for_each_slot += 7 * static_cast<int64_t>(tensor.pins.size());
    }
    for_each_slot += 5 * static_cast<int64_t>(instance_.precedence.edges().size());
    const int64_t slots =
        SaturatingMultiply(static_cast<int64_t>(instance_.num_accelerators()) * instance_.num_passes, slots_per_pass_);
    return SaturatingMultiply(slots, for_each_slot);
  }

  // Its first column is the objective.
  IntegerProgram& Build(Picoseconds upper) {
    model_ = BuildLatencyProgram(instance_, slots_per_pass_, upper);
    return model_.program;
  }
  // Without a plan to go by.
  IntegerProgram& Build() { return Build(GenerousUpper()); }

  // nullopt: it has no schedule, or does not fit, although the program allows it.
  std::optional<Placement> PlacementOf(const std::vector<double>& solution) const {
    LatencyAssignment assignment;
    assignment.places = model_.SlotOf(instance_, solution);
    assignment.sequences = model_.Sequences(solution, instance_.num_accelerators());
    SubgraphSchedule schedule(instance_, slots_per_pass_);
    schedule.Load(assignment.places, assignment.sequences);
    assignment.latency = schedule.Latency();
    if (assignment.latency == SubgraphSchedule::kCyclic || schedule.loads().MissingBytes() > 0) return std::nullopt;
    return ToPlacement(instance_, slots_per_pass_, assignment);
  }

  static absl::StatusOr<SearchOutcome> Start(SearchRequest request, const SolveLimits& limits, TaskArena& arena,
                                             const SearchCallbacks& callbacks) {
    request.algorithm = Algorithm::kLatencyAnnealing;
    return SolveMinLatency(request, limits, arena, callbacks);
  }
  int64_t StartWork() const { return kLatencyWorkPerOperator * instance_.num_vertices(); }
  // The search that goes before has proven what is cheap.
  void Certify(SearchRecord& /*record*/, const SolveLimits& /*limits*/) const {}
  // Not where plans may need more slots than the program has.
  bool is_exact() const { return instance_.subgraph_limit.has_value(); }

 private:
  const LatencyInstance instance_;
  const int32_t slots_per_pass_;
  LatencyProgram model_;
};

template <typename Model>
class MipSearch : RecordedSearch {
 public:
  MipSearch(const SearchRequest& request, const SolveLimits& limits, TaskArena& arena, const SearchCallbacks& callbacks)
      : RecordedSearch(kName, request, limits, arena, callbacks), model_(request) {}

  absl::StatusOr<SearchOutcome> Run() {
    OfferStarts();
    const absl::Status started = RunHeuristic();
    if (InfeasibilityOf(started).has_value()) return started;
    model_.Certify(record_, limits_);
    if (!record_.is_settled()) RunSolver();
    record_.NameFallback();
    return std::move(record_).Finish("the integer program has no solution that can be executed, which proves nothing");
  }

 private:
  absl::Status RunHeuristic() {
    SolverOptions options = request_.options;
    options.work_limit = model_.StartWork();
    const SearchRequest request{request_.graph, request_.cluster,   request_.problem, request_.costs,
                                options,        request_.algorithm, request_.starts};
    SearchCallbacks callbacks = callbacks_;
    callbacks.on_bound = [](const Bound&) {};
    callbacks.on_incumbent = [this](const SearchOutcome& so_far, int64_t /*work*/, std::string_view made_by) {
      record_.Offer(so_far.placement, made_by);
    };
    SolveLimits limits = limits_;
    limits.work = model_.StartWork();
    const absl::StatusOr<SearchOutcome> outcome = Model::Start(request, limits, arena_, callbacks);
    if (!outcome.ok()) return outcome.status();
    for (const Bound& bound : outcome->bounds) record_.RaiseBound(bound);
    return absl::OkStatus();
  }

  void RunSolver() {
    callbacks_.on_phase(kName);
    if (model_.NumEntries() > kMostSolvedEntries) {
      record_.set_stop_reason(StopReason::kMemoryLimit);
      return;
    }
    const Picoseconds upper =
        record_.has_placement() && record_.objective().count() > 0 ? record_.objective() : model_.GenerousUpper();
    IntegerProgram* const built = HasTimeToLoad() ? BuildInTime(upper) : nullptr;
    if (built == nullptr) {
      record_.set_stop_reason(StopReasonOf(limits_, StopReason::kTimeLimit));
      return;
    }
    IntegerProgram& program = *built;
    // What is known of the objective, a little less for the solver's rounding.
    program.columns.front().lower = std::max(
        0.0, static_cast<double>(record_.lower_bound().count()) / static_cast<double>(upper.count()) - kMipTolerance);
    MipRequest request{.program = program};
    // A start of no more than the upper bound is known; without one, the bound itself may be the optimum.
    if (record_.has_placement()) request.cutoff = 1;
    request.relative_gap = request_.options.relative_gap;
    request.limits = limits_;
    request.limits.work = std::min(limits_.work, request_.options.work_limit.value_or(kDefaultMipNodes));
    const MipOutcome outcome = SolveIntegerProgram(request);
    record_.AddWork(outcome.nodes);
    record_.counters()["nodes"] = outcome.nodes;
    record_.counters()["rows"] = static_cast<int64_t>(request.program.rows.size());
    record_.counters()["columns"] = static_cast<int64_t>(request.program.columns.size());
    Take(outcome, upper);
  }

  // A solver that would not get beyond its first steps is not asked.
  bool HasTimeToLoad() const {
    if (limits_.stop.stop_requested()) return false;
    if (limits_.deadline == SolveLimits::Clock::time_point::max()) return true;
    return SolveLimits::Clock::now() + model_.NumEntries() * kUnwatchedPerEntry < limits_.deadline;
  }

  // nullptr: there was no time.
  IntegerProgram* BuildInTime(Picoseconds upper) {
    const InterruptionScope scope(&limits_);
    try {
      return &model_.Build(upper);
    } catch (const Interrupted&) {
      return nullptr;
    }
  }

  void Take(const MipOutcome& outcome, Picoseconds upper) {
    if (!outcome.solution.empty()) {
      std::optional<Placement> placement = model_.PlacementOf(outcome.solution);
      if (placement.has_value()) record_.Offer(*std::move(placement), kName);
    }
    // Without a plan the bound may be infinite; that nothing was found says it all.
    const double bound = (outcome.bound - kMipTolerance) * static_cast<double>(upper.count());
    if (record_.has_placement() && bound > 0 && model_.is_exact()) {
      record_.RaiseBound({Picoseconds(static_cast<int64_t>(std::floor(bound))), kName, BoundScope::kProblem});
    }
    if (outcome.end == MipEnd::kNodeLimit) record_.set_stop_reason(StopReason::kWorkLimit);
    if (outcome.end == MipEnd::kStopped) record_.set_stop_reason(StopReasonOf(limits_, StopReason::kTimeLimit));
  }

  Model model_;
};

// The form of the paper, to be written only.
class PrintedModel {
 public:
  explicit PrintedModel(const PlanningInput& input) : input_(input) {}

  int64_t NumEntries() const {
    auto for_each_device = 5 * static_cast<int64_t>(input_.graph.operators.size());
    for (const Tensor& tensor : input_.graph.tensors) {
      for_each_device += 11 * (1 + static_cast<int64_t>(tensor.consumers.size()));
    }
    return SaturatingMultiply(static_cast<int64_t>(input_.cluster.devices.size()), for_each_device);
  }

  IntegerProgram& Build() {
    model_ = BuildPrintedProgram(input_, ThroughputModel(input_).FairShare());
    return model_.program;
  }

 private:
  const PlanningInput input_;
  PrintedProgram model_;
};

template <typename Model>
absl::StatusOr<IntegerProgram> ProgramOf(Model model) {
  if (model.NumEntries() > kMaxMipEntries) {
    return absl::ResourceExhaustedError(absl::StrCat("the integer program would have about ", model.NumEntries(),
                                                     " entries; at most ", kMaxMipEntries, " are written"));
  }
  return std::move(model.Build());
}

}  // namespace

absl::StatusOr<SearchOutcome> SolveByMip(const SearchRequest& request, const SolveLimits& limits, TaskArena& arena,
                                         const SearchCallbacks& callbacks) {
  callbacks.on_phase("preprocess");
  if (request.problem.objective == Objective::kMinLatency) {
    return MipSearch<LatencyModel>(request, limits, arena, callbacks).Run();
  }
  return MipSearch<ThroughputModel>(request, limits, arena, callbacks).Run();
}

absl::StatusOr<IntegerProgram> IntegerProgramOf(const PlanningInput& input) {
  if (input.problem.objective == Objective::kMinLatency) return ProgramOf(LatencyModel(input));
  return ProgramOf(ThroughputModel(input));
}

absl::StatusOr<IntegerProgram> PrintedProgramOf(const PlanningInput& input) { return ProgramOf(PrintedModel(input)); }

AlgorithmRow MipRow() {
  return {.algorithm = Algorithm::kMip,
          .name = kName,
          .version = "3",
          .description = "integer programs, solved by CBC (Tarnawski et al. 2020, 4 and 5.1.3)",
          .work_unit = "nodes of the search tree",
          .solve = SolveByMip,
          .modes = {},
          .modes_by_name = {ThroughputModes({"host_staged", "uniform"}, SchedulesOfOneLoad(), {Replication::kNone},
                                            {Split::kContiguous, Split::kNonContiguous},
                                            "the integer program of throughput, solved by CBC where the build has it"),
                            LatencyModes("the integer program of latency, solved by CBC where the build has it")}};
}

}  // namespace planwright
