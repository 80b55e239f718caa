// planwright_pipeline_benchmark: partition and mapping together, in the shape of Parmesan's Table 1, and the ablation
// of clustering and refinement (docs/benchmarks.md).
//
// It calls core/partition/parmesan and core/mapping itself. Every time is that of core/cost for the whole placement,
// and no bound of a mapping may be above its value: the program says so and fails otherwise.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/cost/plan_costing.h"
#include "core/mapping/anneal/simple_mappings.h"
#include "core/mapping/mapping.h"
#include "core/partition/parmesan/parmesan_search.h"
#include "core/partition/parmesan/pipedream_stages.h"
#include "core/partition/parmesan/stage_mapping.h"
#include "core/partition/parmesan/stage_partition.h"
#include "core/partition/parmesan/uniform_links_problem.h"
#include "core/zoo/zoo.h"
#include "tests/benchmarks/mapping/cpu_limit.h"
#include "tests/benchmarks/program.h"
#include "tests/benchmarks/table.h"

ABSL_FLAG(std::string, table, "pipeline",
          "pipeline (Table 1: PipeDream's partition and ours, consecutive mapping and ours) or ablation (of clustering "
          "and refinement)");
ABSL_FLAG(double, seconds, 2, "processor time of each search for a mapping");
ABSL_FLAG(int, micro_batches, 4, "of a step; Table 1 has 4");

namespace planwright::benchmarks {
namespace {

struct Machine {
  std::string_view name;
  std::string_view cluster;
};

// 16 devices; memory is no obstacle, as in the paper, which recomputes activations.
constexpr std::array<Machine, 2> kMachines = {
    {{"hier", "dgx1-v100:2?inside_gb=150&between_gb=6&inside_us=0&between_us=0&memory_gib=1000"},
     {"dgx1", "dgx1-mesh:2?nvlink_gb=25&pcie_gb=10&between_gb=3&nvlink_us=0&pcie_us=0&between_us=0&memory_gib=1000"}}};

struct PipelineShape {
  int32_t stages = 0;
  int32_t replicas = 0;
};
constexpr std::array<PipelineShape, 3> kShapes = {{{4, 4}, {8, 2}, {16, 1}}};

struct PaperModel {
  std::string_view model;
  // Table 1, in the order of kShapes: "+ our map" on PipeDream's partition, and "Ours".
  std::array<std::string_view, 3> mapped;
  std::array<std::string_view, 3> ours;
};
constexpr std::array<PaperModel, 3> kModels = {{{"resnet152", {"7.6", "2.4", "1.0"}, {"8.1", "2.6", "1.2"}},
                                                {"bert-large", {"1.0", "1.0", "1.0"}, {"1.1", "1.1", "1.0"}},
                                                {"swin-l", {"2.5", "1.4", "1.2"}, {"2.5", "1.6", "1.3"}}}};

ResolvedProblem ProblemOf(const OperatorGraph& graph, const PipelineShape& shape) {
  PlanningProblem problem;
  problem.replication = Replication::kUniform;
  problem.schedule = ScheduleKind::kOneFOneB;
  problem.micro_batches = absl::GetFlag(FLAGS_micro_batches);
  problem.num_stages = shape.stages;
  problem.num_replicas = shape.replicas;
  return ResolveProblem(graph, problem);
}

// A model on a machine, for one number of stages and replicas.
class PipelineCase {
 public:
  PipelineCase(std::string_view model, std::string_view cluster, const PipelineShape& shape)
      : shape_(shape),
        graph_(MakeZooModel(model).value()),
        cluster_(MakeZooCluster(cluster).value()),
        problem_(ProblemOf(graph_, shape)),
        costs_(graph_, cluster_, problem_.workload),
        flat_(WithUniformLinks(request(), ConsumerCharge::kPerStage, AssumedSpeed::kMedian)) {}
  PipelineCase(const PipelineCase&) = delete;
  PipelineCase& operator=(const PipelineCase&) = delete;

  StagePartition Pipedream() const {
    StagePartition partition;
    partition.stages = PipedreamStages(flat_, DeviceClassId(0), shape_.stages).value();
    partition.classes.assign(partition.stages.size(), DeviceClassId(0));
    return partition;
  }

  // REQUIRES: the devices hold the graph in so many stages.
  StagePartition Ours(const PartitionOptions& options, ConsumerCharge charge, AssumedSpeed assumed,
                      TaskArena& arena) const {
    constexpr int64_t kExactWork = 1'000'000;
    const UniformLinksProblem flat = WithUniformLinks(request(), charge, assumed);
    const StagePartitioner partitioner(flat, problem_, options, SolveLimits());
    StageShape shape;
    shape.replicas = shape_.replicas;
    shape.stages_of_pool = {shape_.stages};
    return partitioner.Partition(shape, kExactWork, SolveLimits(), arena).value();
  }

  // Time per micro-batch in ms.
  double ConsecutiveMs(const StagePartition& partition) const {
    const MappingInstance instance = MappingInstanceOf(request(), partition, ReplicasOf(partition));
    return TimeOf(partition, MapConsecutively(instance, *AssignKinds(instance)));
  }

  // The same with all pairs of devices at the median speed, which is what the partitioner minimises.
  double FlatMs(const StagePartition& partition) const {
    const MappingInstance instance = MappingInstanceOf(request(), partition, ReplicasOf(partition));
    const Placement placement =
        PlacementOf(partition, ReplicasOf(partition), MapConsecutively(instance, *AssignKinds(instance)));
    return ToMilliseconds(CostPlan({flat_.graph, flat_.cluster, problem_, flat_.costs}, placement).objective);
  }

  // Time per micro-batch by our mapping. nullopt: a bound is above the value.
  std::optional<double> MappedMs(const StagePartition& partition, TaskArena& arena) const {
    const MappingInstance instance = MappingInstanceOf(request(), partition, ReplicasOf(partition));
    const CpuLimit limit(absl::GetFlag(FLAGS_seconds));
    const MappingOutcome outcome =
        MapStages(instance, MappingOptions(), limit.limits(), arena, [](const MappingOutcome&) {}).value();
    if (outcome.bound_ms() * (1 - 1e-9) > outcome.value.value_ms) return std::nullopt;
    return TimeOf(partition, outcome.mapping);
  }

  // Time per micro-batch of the whole search, in its usual work. nullopt: a bound is above the value.
  std::optional<double> ParmesanMs(TaskArena& arena) const {
    SearchCallbacks callbacks;
    callbacks.objective = [&](const Placement& placement) { return ObjectiveOf(placement); };
    const SearchOutcome outcome = SolveParmesan(request(), SolveLimits(), arena, callbacks.Silenced()).value();
    for (const Bound& bound : outcome.bounds) {
      if (bound.value > outcome.objective) return std::nullopt;
    }
    return ToMilliseconds(outcome.objective);
  }

 private:
  SearchRequest request() const { return {graph_, cluster_, problem_, costs_, options_, Algorithm::kParmesan, {}}; }

  StageReplicas ReplicasOf(const StagePartition& partition) const {
    return {static_cast<int32_t>(partition.stages.size()), shape_.replicas};
  }

  double TimeOf(const StagePartition& partition, const Mapping& mapping) const {
    return ToMilliseconds(ObjectiveOf(PlacementOf(partition, ReplicasOf(partition), mapping)));
  }

  Picoseconds ObjectiveOf(const Placement& placement) const {
    return CostPlan({graph_, cluster_, problem_, costs_}, placement).objective;
  }

  const PipelineShape shape_;
  const OperatorGraph graph_;
  const Cluster cluster_;
  const ResolvedProblem problem_;
  const CostTable costs_;
  const SolverOptions options_;
  const UniformLinksProblem flat_;
};

std::string ShapeText(const PipelineShape& shape) { return absl::StrFormat("(%d,%d)", shape.stages, shape.replicas); }

// What the partitioner is told, and how the ablation calls it.
struct Variant {
  std::string_view name;
  PartitionOptions options;
  ConsumerCharge charge = ConsumerCharge::kPerStage;
};

std::vector<Variant> Variants() {
  const ClusteringOptions usual;
  constexpr int32_t kSteps = 100;
  return {{"full", {usual, kSteps}},
          {"no refinement", {usual, 0}},
          {"K = 64", {{.max_clusters = 64}, kSteps}},
          {"K = 64, no refinement", {{.max_clusters = 64}, 0}},
          {"K = 1024", {{.max_clusters = 1'024}, kSteps}},
          {"alpha = 0", {{.alpha = 0}, kSteps}},
          {"alpha = 1", {{.alpha = 1}, kSteps}},
          {"equation (3)", {usual, kSteps}, ConsumerCharge::kPerOperator}};
}

class Benchmark {
 public:
  // Whether no bound was above its value.
  bool is_sound() const { return is_sound_; }

  void Run() {
    const std::string table = absl::GetFlag(FLAGS_table);
    if (table == "pipeline") RunPipeline();
    if (table == "ablation") RunAblation();
  }

 private:
  void RunPipeline() {
    Table table({{"machine", 8},
                 {"model", 10},
                 {"(S,R)", 6},
                 {"PipeDream, CS ms", 16},
                 {"+ our map", 9},
                 {"paper", 5},
                 {"ours, CS", 8},
                 {"ours", 6},
                 {"paper", 5},
                 {"ours for fast pairs", 19},
                 {"parmesan", 8}},
                std::cout);
    for (const Machine& machine : kMachines) {
      for (const PaperModel& paper : kModels) {
        if (!IsSelected(absl::StrCat(std::string(machine.name), "/", std::string(paper.model)))) continue;
        for (std::size_t shape = 0; shape < kShapes.size(); ++shape) AddPipelineRow(machine, paper, shape, table);
      }
    }
  }

  void AddPipelineRow(const Machine& machine, const PaperModel& paper, std::size_t shape, Table& table) {
    const PipelineCase problem(paper.model, machine.cluster, kShapes[shape]);
    const StagePartition pipedream = problem.Pipedream();
    const StagePartition ours = problem.Ours({}, ConsumerCharge::kPerStage, AssumedSpeed::kMedian, arena_);
    const StagePartition fast = problem.Ours({}, ConsumerCharge::kPerStage, AssumedSpeed::kFastest, arena_);
    const double base = problem.ConsecutiveMs(pipedream);
    const auto speedup = [&](double milliseconds) { return Fixed(base / milliseconds, 2); };
    // The paper's machine had two levels.
    const bool has_paper = machine.name == "hier";
    table.AddRow({std::string(machine.name), std::string(paper.model), ShapeText(kShapes[shape]), Fixed(base, 3),
                  speedup(Mapped(problem, pipedream)), has_paper ? std::string(paper.mapped.at(shape)) : "",
                  speedup(problem.ConsecutiveMs(ours)), speedup(Mapped(problem, ours)),
                  has_paper ? std::string(paper.ours.at(shape)) : "", speedup(Mapped(problem, fast)),
                  speedup(Sound(problem.ParmesanMs(arena_)))});
  }

  double Mapped(const PipelineCase& problem, const StagePartition& partition) {
    return Sound(problem.MappedMs(partition, arena_));
  }

  double Sound(const std::optional<double>& milliseconds) {
    is_sound_ &= milliseconds.has_value();
    return milliseconds.value_or(0);
  }

  void RunAblation() {
    std::vector<Table::Column> columns = {{"model", 10}, {"(S,R)", 6}, {"PipeDream", 9}};
    const std::vector<Variant> variants = Variants();
    for (const Variant& variant : variants)
      columns.push_back({variant.name, std::max<std::size_t>(8, variant.name.size())});
    Table table(columns, std::cout);
    for (const PaperModel& paper : kModels) {
      if (!IsSelected(paper.model)) continue;
      for (const PipelineShape& shape : kShapes) {
        const PipelineCase problem(paper.model, kMachines.front().cluster, shape);
        std::vector<std::string> cells = {std::string(paper.model), ShapeText(shape),
                                          Fixed(problem.FlatMs(problem.Pipedream()), 3)};
        for (const Variant& variant : variants) {
          const double start = ProcessCpuSeconds();
          const StagePartition partition = problem.Ours(variant.options, variant.charge, AssumedSpeed::kMedian, arena_);
          const double seconds = ProcessCpuSeconds() - start;
          cells.push_back(absl::StrCat(Fixed(problem.FlatMs(partition), 3), " (", Fixed(seconds, 2), " s)"));
        }
        table.AddRow(std::move(cells));
      }
    }
  }

  TaskArena arena_{1};
  bool is_sound_ = true;
};

}  // namespace
}  // namespace planwright::benchmarks

int main(int argc, char** argv) {
  namespace benchmarks = planwright::benchmarks;
  benchmarks::ParseFlags(argc, argv, "pipeline_main.cc",
                         "Partitions and maps models of the zoo; prints a table in Markdown.\n\n  "
                         "planwright_pipeline_benchmark --table=pipeline\n  planwright_pipeline_benchmark "
                         "--table=ablation --filter=swin");
  benchmarks::Benchmark benchmark;
  benchmark.Run();
  if (benchmark.is_sound()) return EXIT_SUCCESS;
  std::cerr << "error: a bound is above its value\n";
  return EXIT_FAILURE;
}
