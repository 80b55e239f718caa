// planwright_mapping_benchmark: device mapping on the machines and shapes of Parmesan's Table 2 (docs/benchmarks.md).
//
// It calls core/mapping itself, and stops each search by the processor time of this process. Every value is computed
// afresh; no bound may be above it, and no baseline or instantiation of the paper's below: the program says so and
// fails otherwise.
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/strings/str_format.h"
#include "core/base/random.h"
#include "core/mapping/anneal/simple_mappings.h"
#include "core/mapping/mapping.h"
#include "core/mapping/problem/evaluation.h"
#include "core/mapping/problem/stage_kinds.h"
#include "core/mapping/prove/load_bounds.h"
#include "core/mapping/prove/replica_model.h"
#include "tests/benchmarks/mapping/cpu_limit.h"
#include "tests/benchmarks/mapping/stage_graphs.h"
#include "tests/benchmarks/mapping/topologies.h"
#include "tests/benchmarks/measurement.h"
#include "tests/benchmarks/program.h"
#include "tests/benchmarks/table.h"
#include "tests/reference/mapping/dapple.h"
#include "tests/reference/mapping/interval_search.h"
#include "tests/reference/mapping/mapping_checks.h"
#include "tests/reference/mapping/scotch_static_mapping.h"

ABSL_FLAG(
    std::string, table, "load",
    "load (Table 2: equation 6), allreduce (equation 7 on a chain like BERT), sum (both together), large (1,024 "
    "and 4,096 devices), baselines (each of them, in ms), paper (the paper's search) or threads (one against two)");
ABSL_FLAG(double, seconds, 0,
          "processor time of each search; 0: 14 (load, baselines, paper), 3 (allreduce), 8 (sum), 10 and 60 (large)");
ABSL_FLAG(double, factor, 6, "how many times the processor time of ours the paper's search gets");
ABSL_FLAG(int, threads, 1, "of a search");
ABSL_FLAG(uint64_t, seed, 1, "of the random machines and graphs, and of the search");

namespace planwright::benchmarks {
namespace {

constexpr double kRounding = 1e-9;

struct Shape {
  int32_t stages = 0;
  int32_t replicas = 0;

  int32_t devices() const { return stages * replicas; }
  std::string ToString() const { return absl::StrFormat("(%d,%d)", stages, replicas); }
};

constexpr Shape kShapes[] = {{4, 16}, {8, 8}, {16, 4}, {4, 64}, {8, 32}, {16, 16}, {4, 128}, {8, 64}, {16, 32}};

struct PaperRow {
  std::string_view topology;
  // Table 2, "3d torus" and so on, in the order of kShapes: speed-up over the consecutive mapping.
  std::string_view speedup[9];
};

// The paper has neither `hier` nor `dgx1` in its table.
constexpr PaperRow kPaper[] = {{"hier", {}},
                               {"dgx1", {}},
                               {"mesh2", {"1.1", "1.0", "2.7", "5.6", "2.5", "1.4"}},
                               {"torus2", {"1.1", "1.0", "2.6", "1.6", "1.5", "1.0"}},
                               {"mesh3", {"1.0", "1.1", "1.1", "", "", "", "1.3", "1.8", "1.2"}},
                               {"torus3", {"1.0", "1.1", "1.0", "", "", "", "1.1", "1.0", "2.6"}},
                               {"blk1", {"1.5", "1.8", "1.5", "1.1", "1.4", "1.9", "1.1", "1.7", "1.9"}},
                               {"blk2", {"2.1", "1.6", "3.0", "1.4", "1.3", "3.7", "1.5", "1.6", "4.5"}},
                               {"uni", {"33.5", "11.4", "6.7", "8.1", "5.1", "7.2", "23.3", "8.9", "5.5"}}};

// One problem and what the searches share of it.
struct Case {
  Case(MappingInstance mapping_instance, std::vector<int32_t> machines)
      : instance(std::move(mapping_instance)),
        machine_of(std::move(machines)),
        links(instance.network, instance.num_devices()),
        kinds(*AssignKinds(instance)) {}
  Case(const Case&) = delete;
  Case& operator=(const Case&) = delete;

  double ValueOf(const Mapping& mapping) const { return Evaluate(instance, links, mapping).value_ms; }

  MappingInstance instance;
  std::vector<int32_t> machine_of;
  LinkTimes links;
  KindAssignment kinds;
};

// Values in ms.
struct Baselines {
  double consecutive = 0;
  double together = 0;
  double greedy = 0;
  double random = 0;

  double best() const { return std::min({consecutive, together, greedy, random}); }
};

struct Found {
  MappingOutcome outcome;
  double cpu_seconds = 0;
  double wall_seconds = 0;
  // Processor time until the value was within 1 % of the last one.
  double near_seconds = 0;

  double gap_percent() const { return 100 * (outcome.value.value_ms / outcome.bound_ms() - 1); }
};

Baselines MeasureBaselines(const Case& problem) {
  constexpr int kRandomMappings = 1'000;
  RandomStream random(absl::GetFlag(FLAGS_seed));
  return {
      .consecutive = problem.ValueOf(MapConsecutively(problem.instance, problem.kinds)),
      .together = problem.ValueOf(MapReplicasTogether(problem.instance, problem.kinds)),
      .greedy = problem.ValueOf(MapGreedily(problem.instance, problem.links, problem.kinds)),
      .random = problem.ValueOf(BestOfRandom(problem.instance, problem.links, problem.kinds, kRandomMappings, random))};
}

class Benchmark {
 public:
  // Whether every answer was what it said.
  bool is_sound() const { return is_sound_; }

  void Run() {
    const std::string table = absl::GetFlag(FLAGS_table);
    if (table == "load") RunShapes(MappingObjective::kLoad, 14);
    if (table == "allreduce") RunShapes(MappingObjective::kAllReduce, 3);
    if (table == "sum") RunShapes(MappingObjective::kLoadAndAllReduce, 8);
    if (table == "large") RunLarge();
    if (table == "baselines") RunBaselines();
    if (table == "paper") RunPaper();
    if (table == "threads") RunThreads();
  }

 private:
  static std::vector<Table::Column> Columns() {
    return {{"machine", 8},       {"(S,R)", 10},    {"value ms", 9},     {"bound ms", 9},       {"gap", 8},
            {"over CS", 7},       {"paper", 6},     {"over simple", 11}, {"over (6), (7)", 13}, {"CPU s", 6},
            {"CPU s to 1 %", 12}, {"bound by", 22}, {"memory MB", 9}};
  }

  static double SecondsOr(double standard) {
    const double seconds = absl::GetFlag(FLAGS_seconds);
    return seconds > 0 ? seconds : standard;
  }

  static StageGraph GraphFor(const Shape& shape, MappingObjective objective) {
    return objective == MappingObjective::kAllReduce ? BertStages(shape.stages, absl::GetFlag(FLAGS_seed))
                                                     : SemanticFpnStages(shape.stages);
  }

  // nullptr: there is no such machine, or the user did not ask for it.
  static std::unique_ptr<const Case> MakeCase(std::string_view topology, const Shape& shape,
                                              MappingObjective objective) {
    if (!IsSelected(std::string(topology) + " " + shape.ToString())) return nullptr;
    std::optional<MappingTopology> machine = MakeTopology(topology, shape.devices(), absl::GetFlag(FLAGS_seed));
    if (!machine.has_value()) return nullptr;
    return std::make_unique<const Case>(MakeInstance(GraphFor(shape, objective), shape.replicas, shape.devices(),
                                                     Network(machine->interconnect), objective),
                                        std::move(machine->machine_of));
  }

  void RunShapes(MappingObjective objective, double seconds) {
    Table table(Columns(), std::cout);
    for (const PaperRow& row : kPaper) {
      for (std::size_t i = 0; i < std::size(kShapes); ++i) {
        const std::string_view paper = objective == MappingObjective::kLoad ? row.speedup[i] : "";
        AddRow(row.topology, kShapes[i], objective, SecondsOr(seconds), paper, table);
      }
    }
  }

  void RunLarge() {
    Table table(Columns(), std::cout);
    for (const std::string_view topology : {"hier", "dgx1", "torus2", "blk1", "blk2", "uni"}) {
      for (const Shape& shape : {Shape{4, 256}, Shape{8, 128}}) {
        AddRow(topology, shape, MappingObjective::kLoad, SecondsOr(10), "", table);
      }
    }
    for (const std::string_view topology : {"hier", "dgx1", "torus3", "blk1", "blk2", "uni"}) {
      for (const Shape& shape : {Shape{4, 1'024}, Shape{16, 256}}) {
        AddRow(topology, shape, MappingObjective::kLoad, SecondsOr(60), "", table);
      }
    }
  }

  void AddRow(std::string_view topology, const Shape& shape, MappingObjective objective, double seconds,
              std::string_view paper, Table& table) {
    const std::unique_ptr<const Case> made = MakeCase(topology, shape, objective);
    if (made == nullptr) return;
    const Case& problem = *made;
    const Baselines baselines = MeasureBaselines(problem);
    const Found found = Search(problem, seconds, absl::GetFlag(FLAGS_threads), 0, absl::GetFlag(FLAGS_seed));
    const MappingOutcome& outcome = found.outcome;
    if (objective == MappingObjective::kLoadAndAllReduce) CheckAgainstBaselines(problem, baselines, outcome);
    table.AddRow({std::string(topology), shape.ToString(), Fixed(outcome.value.value_ms, 3),
                  Fixed(outcome.bound_ms(), 3), outcome.proven ? "optimal" : Fixed(found.gap_percent(), 2) + " %",
                  Fixed(baselines.consecutive / outcome.value.value_ms, 2), std::string(paper),
                  Fixed(baselines.best() / outcome.value.value_ms, 2), OverInstantiations(problem, seconds, outcome),
                  Fixed(found.cpu_seconds, 1), Fixed(found.near_seconds, 1), outcome.bounds.back().method,
                  Fixed(PeakMegabytes(), 0)});
  }

  // How much better the sum is than that of the best mappings found for equations (6) and (7), each by a search as
  // long.
  std::string OverInstantiations(const Case& problem, double seconds, const MappingOutcome& outcome) {
    if (problem.instance.objective != MappingObjective::kLoadAndAllReduce) return "";
    double best = std::numeric_limits<double>::infinity();
    for (const auto objective : {MappingObjective::kLoad, MappingObjective::kAllReduce}) {
      MappingInstance instance = problem.instance;
      instance.objective = objective;
      const Case part(std::move(instance), problem.machine_of);
      const Found found = Search(part, seconds, absl::GetFlag(FLAGS_threads), 0, absl::GetFlag(FLAGS_seed));
      best = std::min(best, problem.ValueOf(found.outcome.mapping));
    }
    if (best < outcome.value.value_ms * (1 - kRounding)) Complain("worse than an instantiation of the paper's");
    return Fixed(best / outcome.value.value_ms, 2);
  }

  // DAPPLE's policies, and Scotch where it is there, among them.
  void CheckAgainstBaselines(const Case& problem, const Baselines& simple, const MappingOutcome& outcome) {
    double best = simple.best();
    for (const auto policy : {DapplePolicy::kFreshFirst, DapplePolicy::kAppendFirst, DapplePolicy::kScatterFirst}) {
      best = std::min(best, problem.ValueOf(MapByDapple(problem.instance, problem.kinds, problem.machine_of, policy)));
    }
    const std::optional<Mapping> scotch = MapByScotch(problem.instance, problem.links, problem.kinds, 1);
    if (scotch.has_value()) best = std::min(best, problem.ValueOf(*scotch));
    if (best < outcome.value.value_ms * (1 - kRounding)) Complain("worse than a baseline");
  }

  void RunBaselines() {
    Table table({{"machine", 8},
                 {"(S,R)", 10},
                 {"ours", 8},
                 {"consecutive", 11},
                 {"together", 8},
                 {"greedy", 8},
                 {"random", 8},
                 {"fresh", 8},
                 {"append", 8},
                 {"scatter", 8},
                 {"Scotch", 8},
                 {"Scotch CPU s", 12}},
                std::cout);
    ForEachShape([&](std::string_view topology, const Shape& shape) {
      const std::unique_ptr<const Case> problem = MakeCase(topology, shape, MappingObjective::kLoad);
      if (problem == nullptr) return;
      const Baselines baselines = MeasureBaselines(*problem);
      const Found found = Search(*problem, SecondsOr(14), absl::GetFlag(FLAGS_threads), 0, absl::GetFlag(FLAGS_seed));
      std::vector<std::string> cells = {std::string(topology),
                                        shape.ToString(),
                                        Fixed(found.outcome.value.value_ms, 3),
                                        Fixed(baselines.consecutive, 3),
                                        Fixed(baselines.together, 3),
                                        Fixed(baselines.greedy, 3),
                                        Fixed(baselines.random, 3)};
      for (const auto policy : {DapplePolicy::kFreshFirst, DapplePolicy::kAppendFirst, DapplePolicy::kScatterFirst}) {
        const Mapping mapping = MapByDapple(problem->instance, problem->kinds, problem->machine_of, policy);
        cells.push_back(Fixed(problem->ValueOf(mapping), 3));
      }
      const double start = ProcessCpuSeconds();
      const std::optional<Mapping> scotch = MapByScotch(problem->instance, problem->links, problem->kinds, 1);
      cells.push_back(scotch.has_value() ? Fixed(problem->ValueOf(*scotch), 3) : "-");
      cells.push_back(Fixed(ProcessCpuSeconds() - start, 1));
      table.AddRow(cells);
    });
  }

  void RunPaper() {
    Table table({{"machine", 8},
                 {"(S,R)", 10},
                 {"start ms", 9},
                 {"paper's ms", 10},
                 {"interval ends", 13},
                 {"proven ms", 9},
                 {"timeouts", 8},
                 {"searches", 8},
                 {"CPU s", 7},
                 {"ours ms", 9},
                 {"CPU s", 6},
                 {"better by", 9}},
                std::cout);
    ForEachShape([&](std::string_view topology, const Shape& shape) {
      const std::unique_ptr<const Case> problem = MakeCase(topology, shape, MappingObjective::kLoad);
      if (problem == nullptr) return;
      const Found found = Search(*problem, SecondsOr(14), absl::GetFlag(FLAGS_threads), 0, absl::GetFlag(FLAGS_seed));
      const double value = found.outcome.value.value_ms;
      const Mapping start = PaperStart(*problem);
      const double begin = ProcessCpuSeconds();
      const IntervalSearchOutcome paper =
          SearchAsThePaper(*problem, start, absl::GetFlag(FLAGS_factor) * SecondsOr(14));
      table.AddRow({std::string(topology), shape.ToString(), Fixed(problem->ValueOf(start), 3),
                    Fixed(paper.value.value_ms, 3), Fixed(paper.lower_end_ms, 3), Fixed(paper.proven_ms, 3),
                    std::to_string(paper.timeouts), std::to_string(paper.batches * IntervalSearchOptions().targets),
                    Fixed(ProcessCpuSeconds() - begin, 1), Fixed(value, 3), Fixed(found.cpu_seconds, 1),
                    Fixed(paper.value.value_ms / value, 3)});
      if (value > paper.value.value_ms * (1 + 1e-6)) Complain("worse than the paper's search");
    });
  }

  // The better of the random and the heuristic ones.
  static Mapping PaperStart(const Case& problem) {
    constexpr int kRandomMappings = 1'000;
    RandomStream random(absl::GetFlag(FLAGS_seed));
    Mapping best = BestOfRandom(problem.instance, problem.links, problem.kinds, kRandomMappings, random);
    for (Mapping& mapping : std::array{MapConsecutively(problem.instance, problem.kinds),
                                       MapReplicasTogether(problem.instance, problem.kinds)}) {
      if (problem.ValueOf(mapping) < problem.ValueOf(best)) best = std::move(mapping);
    }
    return best;
  }

  // With equal timeouts for as many batches as it takes to the end when all of them fail.
  static IntervalSearchOutcome SearchAsThePaper(const Case& problem, const Mapping& start, double seconds) {
    constexpr double kBatches = 7;
    constexpr int64_t kPilotNodes = 100'000;
    TaskArena arena(absl::GetFlag(FLAGS_threads));
    const ReplicaModel model(problem.instance, problem.links);
    IntervalSearchOptions options{.lower_bound_ms = StarBound(model, StarLoads(model, {})),
                                  .start = start,
                                  .targets = 8,
                                  .nodes_per_target = kPilotNodes};
    const auto search = [&](double limit_seconds) {
      const CpuLimit limit(limit_seconds);
      return SearchInterval(problem.instance, problem.links, options, limit.limits(), arena);
    };
    const double begin = ProcessCpuSeconds();
    const IntervalSearchOutcome pilot = search(seconds);
    if (pilot.timeouts == 0) return pilot;
    const double nodes_per_second = static_cast<double>(pilot.nodes) / (ProcessCpuSeconds() - begin);
    options.nodes_per_target =
        std::max<int64_t>(kPilotNodes, std::llround(nodes_per_second * seconds / kBatches / options.targets));
    return search(seconds);
  }

  template <typename Body>
  static void ForEachShape(Body body) {
    for (const PaperRow& row : kPaper) {
      for (const Shape& shape : kShapes) body(row.topology, shape);
    }
  }

  // Searches until the gap or the processor time is reached, and checks what it says.
  Found Search(const Case& problem, double seconds, int threads, double relative_gap, uint64_t seed) {
    TaskArena arena(threads);
    const CpuLimit limit(seconds);
    const auto start = std::chrono::steady_clock::now();
    std::vector<std::pair<double, double>> improvements;
    const MappingOptions options{.seed = static_cast<int64_t>(seed), .relative_gap = relative_gap, .starts = {}};
    Found found{.outcome = *MapStages(problem.instance, options, limit.limits(), arena, [&](const auto& so_far) {
                  improvements.emplace_back(limit.seconds_used(), so_far.value.value_ms);
                })};
    found.cpu_seconds = limit.seconds_used();
    found.wall_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    for (const auto& [used, value] : improvements) {
      if (value <= 1.01 * found.outcome.value.value_ms) {
        found.near_seconds = used;
        break;
      }
    }
    Check(problem, found.outcome);
    return found;
  }

  void Complain(std::string_view what) {
    std::cerr << "WRONG: " << what << "\n";
    is_sound_ = false;
  }

  void Check(const Case& problem, const MappingOutcome& outcome) {
    if (!IsMapping(problem.instance, outcome.mapping)) return Complain("this is no mapping");
    const double value = problem.ValueOf(outcome.mapping);
    if (std::abs(value - outcome.value.value_ms) > kRounding * value) Complain("the value is another one");
    for (const MappingBound& bound : outcome.bounds) {
      if (value < bound.value_ms * (1 - kRounding)) Complain("bound above the value: " + bound.method);
    }
    if (outcome.proven && outcome.bound_ms() < value * (1 - 1e-6)) Complain("proven, but the bound does not meet it");
  }

  // The median time of five seeds to nearly the gap that another seed reaches with one thread in `seconds`.
  void RunThreads() {
    constexpr int kSeeds = 5;
    constexpr double kSlack = 0.01;
    Table table({{"machine", 8}, {"(S,R)", 10}, {"gap", 8}, {"1 thread s", 10}, {"2 threads s", 11}}, std::cout);
    for (const std::string_view topology : {"torus2", "blk1", "blk2", "uni"}) {
      for (const Shape& shape : {Shape{8, 32}, Shape{16, 16}}) {
        const std::unique_ptr<const Case> problem = MakeCase(topology, shape, MappingObjective::kLoad);
        if (problem == nullptr) continue;
        const MappingOutcome aim = Search(*problem, SecondsOr(5), 1, 0, kSeeds + 1).outcome;
        const double gap = 1 - (1 - kSlack) * aim.bound_ms() / aim.value.value_ms;
        std::vector<std::string> cells = {std::string(topology), shape.ToString(), Fixed(100 * gap, 2) + " %"};
        for (const int threads : {1, 2}) {
          std::vector<double> seconds;
          for (int seed = 1; seed <= kSeeds; ++seed) {
            seconds.push_back(Search(*problem, 60, threads, gap, static_cast<uint64_t>(seed)).wall_seconds);
          }
          cells.push_back(Fixed(Median(seconds), 2));
        }
        table.AddRow(cells);
      }
    }
  }

  // Of the process so far.
  static double PeakMegabytes() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<double>(usage.ru_maxrss) / 1e3;
  }

  bool is_sound_ = true;
};

}  // namespace
}  // namespace planwright::benchmarks

int main(int argc, char** argv) {
  planwright::benchmarks::ParseFlags(argc, argv, "mapping_main",
                                     "measures device mapping on the machines and shapes of Parmesan's Table 2");
  planwright::benchmarks::Benchmark benchmark;
  benchmark.Run();
  return benchmark.is_sound() ? EXIT_SUCCESS : EXIT_FAILURE;
}
