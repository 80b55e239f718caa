#include "core/partition/parmesan/parmesan_search.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/infeasibility.h"
#include "core/base/limits.h"
#include "core/base/quantity_text.h"
#include "core/cost/pipeline_fill.h"
#include "core/mapping/mapping.h"
#include "core/partition/parmesan/pipedream_stages.h"
#include "core/partition/parmesan/remaining_devices.h"
#include "core/partition/parmesan/stage_mapping.h"
#include "core/partition/parmesan/stage_partition.h"
#include "core/partition/parmesan/stage_shape.h"
#include "core/partition/parmesan/uniform_links_problem.h"
#include "core/partition/search/feasibility.h"
#include "core/partition/search/load_windows.h"
#include "core/partition/search/search_record.h"

namespace planwright {
namespace {

// Shapes of a round. Not the number of threads, on which nothing may depend.
constexpr std::size_t kShapesPerRound = 16;
constexpr int kMaxRounds = 16;
constexpr int kMaxRoundsWithoutPlan = 64;
// Shapes that are partitioned exactly at the end.
constexpr std::size_t kFinalists = 3;
// Where the request sets no limit.
constexpr int64_t kDefaultWork = 20'000'000;
// Parts of the work: for one quick mapping, and for the exact program of a finalist.
constexpr int64_t kQuickMappings = 1024;
constexpr int64_t kExactShare = 16;

// How the partitioner sees the problem. Stays where it is: the partitioner refers to the problem.
struct Assumption {
  Assumption(const SearchRequest& request, ConsumerCharge charge, AssumedSpeed speed, const PartitionOptions& options,
             const SolveLimits& limits)
      : flat(WithUniformLinks(request, charge, speed)), partitioner(flat, request.problem, options, limits) {}
  Assumption(const Assumption&) = delete;
  Assumption& operator=(const Assumption&) = delete;

  const UniformLinksProblem flat;
  const StagePartitioner partitioner;
};

struct Candidate {
  StageShape shape;
  const StagePartitioner* partitioner = nullptr;
  StagePartition partition;
  std::optional<MappingOutcome> mapping;
};

const char* NameOf(Algorithm algorithm) {
  return algorithm == Algorithm::kParmesanPaper ? "parmesan_paper" : "parmesan";
}

PartitionOptions PartitionOptionsOf(const SearchRequest& request) {
  PartitionOptions options;
  const SolverOptions& given = request.options;
  options.clustering.max_clusters = given.clusters.value_or(options.clustering.max_clusters);
  options.clustering.alpha = given.clustering_alpha.value_or(options.clustering.alpha);
  options.refinement_steps = given.refinement_steps.value_or(options.refinement_steps);
  options.counts_allreduce = request.algorithm == Algorithm::kParmesan;
  return options;
}

// The median speed, and the fastest where pairs differ; the paper has the former only.
std::vector<std::unique_ptr<Assumption>> AssumptionsOf(const SearchRequest& request, const SolveLimits& limits) {
  const bool is_paper = request.algorithm == Algorithm::kParmesanPaper;
  const ConsumerCharge charge = is_paper ? ConsumerCharge::kPerOperator : ConsumerCharge::kPerStage;
  const PartitionOptions options = PartitionOptionsOf(request);
  std::vector<std::unique_ptr<Assumption>> assumptions;
  assumptions.push_back(std::make_unique<Assumption>(request, charge, AssumedSpeed::kMedian, options, limits));
  if (!is_paper && request.costs.network().num_link_classes() > 1) {
    assumptions.push_back(std::make_unique<Assumption>(request, charge, AssumedSpeed::kFastest, options, limits));
  }
  return assumptions;
}

class Search : RecordedSearch {
 public:
  Search(const SearchRequest& request, const SolveLimits& limits, TaskArena& arena, const SearchCallbacks& callbacks)
      : RecordedSearch(NameOf(request.algorithm), request, limits, arena, callbacks),
        work_(std::min(limits.work, kDefaultWork)),
        name_(NameOf(request.algorithm)),
        assumptions_(AssumptionsOf(request, limits)) {}

  absl::StatusOr<SearchOutcome> Run() {
    OfferStarts();
    const std::optional<Infeasibility> shortages = Shortages();
    if (shortages.has_value()) return InfeasibleError(*shortages);
    std::vector<StageShape> shapes = ShapesOf(partitioner().blocks(), request_.problem, request_.device_limits,
                                              FastestRule(), partitioner().num_clusters());
    // Many shapes with low bounds may have too little memory: what is left must come up within the rounds.
    const int64_t needed = LeastMemoryBytes(partitioner().LeastStored());
    std::erase_if(shapes, [&](const StageShape& shape) {
      return shape.replicas > partitioner().max_replicas() || MemoryOfStages(partitioner().blocks(), shape) < needed;
    });
    RaiseBounds();
    callbacks_.on_phase(name_);
    TryShapes(shapes);
    RaiseRelaxedBound();
    ImproveFinalists();
    RaisePartitionBounds();
    CountWork(shapes);
    const StopReason usual = is_bound_interrupted_ ? StopReason::kTimeLimit : StopReason::kExhausted;
    record_.set_stop_reason(StopReasonOf(limits_, usual));
    return std::move(record_).Finish(Advice());
  }

 private:
  // Proofs that there is no placement.
  std::optional<Infeasibility> Shortages() const {
    const BlockInstance& blocks = partitioner().blocks();
    const int64_t most = MostDevices(blocks, request_.device_limits);
    const int32_t stages = request_.problem.num_stages.value_or(1);
    if (stages > blocks.num_blocks()) return TooFewParts(stages, blocks.num_blocks());
    const int64_t least = int64_t{stages} * request_.problem.num_replicas.value_or(1);
    if (least <= most) {
      std::optional<Infeasibility> shortages = FindShortages(
          request_.graph, request_.cluster, WithinLimits(partitioner().LeastStored(), request_.device_limits));
      if (shortages.has_value()) return WithStored(*std::move(shortages));
      return std::nullopt;
    }
    Shortage shortage;
    shortage.resource = "devices";
    shortage.description = absl::StrCat("a device for each replica of each stage makes ", least, ", but only ", most,
                                        " may be used: allow more devices");
    return Infeasibility{.shortages = {shortage}};
  }

  // REQUIRES: blocks are what may be apart, which holds where a number of stages is asked for.
  static Infeasibility TooFewParts(int32_t stages, int32_t parts) {
    Shortage shortage;
    shortage.resource = "operators";
    shortage.description = absl::StrCat("operators that may be on different devices make ", CountText(parts),
                                        parts == 1 ? " part" : " parts", ", but ", CountText(stages),
                                        " stages are asked for: ask for at most ", CountText(parts));
    return Infeasibility{.shortages = {shortage}};
  }

  // What to do where nothing was found.
  std::string Advice() const {
    const int32_t parts = partitioner().blocks().num_blocks();
    const std::string claim = "no number of stages and replicas makes a pipeline that fits";
    const std::string demand = MemoryDemandText(request_.graph, request_.cluster, partitioner().LeastStored());
    std::vector<std::string> ways = {"allow devices with more memory, or more of them"};
    if (partitioner().num_clusters() < parts) ways.emplace_back("raise options.clusters");
    if (!request_.problem.pinned.empty() || !request_.problem.forbidden.empty()) {
      ways.emplace_back("pin and ban less");
    }
    return absl::StrCat(claim, demand.empty() ? "" : ": ", demand, demand.empty() ? "" : StoredText(), "; ",
                        absl::StrJoin(ways, "; or "));
  }

  // What memory counts of micro-batches in flight, and what would be less; empty where it counts one.
  std::string StoredText() const {
    const ResolvedProblem& problem = request_.problem;
    const bool stores =
        problem.workload == Workload::kTraining && problem.memory_model.kind == MemoryModel::Kind::kComponents;
    if (!stores) return "";
    const int32_t least = InFlightMicroBatches(problem, 0);
    if (InFlightMicroBatches(problem, 1) != least) return ", and each stage before the last one stores more";
    if (least == 1) return "";
    return absl::StrCat(", with all ", CountText(least),
                        " micro-batches in flight: problem.schedule ONE_F_ONE_B has fewer");
  }

  // Says once what is stored.
  Infeasibility WithStored(Infeasibility infeasibility) const {
    Shortage& first = infeasibility.shortages.front();
    if (first.resource == "memory") first.description += StoredText();
    return infeasibility;
  }

  PipelineRule FastestRule() const {
    const Network& network = request_.costs.network();
    return PipelineRuleOf(request_.problem, network.num_link_classes() == 0 ? LinkSpeed() : network.FastestLink());
  }

  // The work of all devices together knows nothing of stages, but holds only where every block is on one device; no
  // placement has fewer idle slots than its shape.
  void RaiseBounds() {
    const BlockInstance& blocks = partitioner().blocks();
    if (request_.problem.replication == Replication::kNone) {
      const LoadWindows windows(WithinLimits(blocks, request_.device_limits));
      record_.RaiseBound({Picoseconds(windows.WorkBound(TrivialLoadBound(blocks))), "work", BoundScope::kProblem});
    }
    record_.RaiseBound({LeastBound(ShapeBounds(blocks, request_.problem, request_.device_limits, FastestRule())),
                        "shape", BoundScope::kProblem});
  }

  // After the first placements, which it may take longer than.
  void RaiseRelaxedBound() {
    if (record_.is_settled() || CheckInterruption(limits_).has_value()) return;
    SolveLimits limits = ShareOfRemainingTime(limits_, 4);
    limits.work = work_ - record_.work();
    const bool is_alike =
        request_.problem.replication == Replication::kUniform || request_.problem.micro_batches.has_value();
    const UniformLinksBound flat = is_alike ? BoundOfShapes(limits) : FastestLinksBound(request_, limits, arena_);
    record_.AddWork(flat.work);
    is_bound_interrupted_ = flat.is_interrupted;
    if (flat.bound.has_value()) record_.RaiseBound(*flat.bound);
  }

  // Several programs, which leave work for the placements.
  UniformLinksBound BoundOfShapes(SolveLimits limits) {
    limits.work /= 4;
    const Picoseconds enough = record_.has_placement() ? record_.objective() : Picoseconds(kMaxQuantity);
    return FastestShapesBound(
        request_, FastestRule(),
        ShapeBounds(partitioner().blocks(), request_.problem, request_.device_limits, FastestRule()), enough, limits,
        arena_);
  }

  void TryShapes(const std::vector<StageShape>& shapes) {
    std::size_t next = 0;
    const auto may_go_on = [&](int round) {
      return round < kMaxRounds || (round < kMaxRoundsWithoutPlan && !record_.has_placement());
    };
    for (int round = 0; may_go_on(round) && next < shapes.size(); ++round) {
      std::vector<StageShape> round_shapes;
      for (; next < shapes.size() && round_shapes.size() < kShapesPerRound; ++next) {
        if (CanImprove(shapes[next])) round_shapes.push_back(shapes[next]);
      }
      if (round_shapes.empty()) return;
      for (const auto& assumption : assumptions_) {
        if (record_.is_settled() || CheckInterruption(limits_).has_value()) return;
        TryRound(round_shapes, assumption->partitioner);
      }
    }
  }

  void TryRound(const std::vector<StageShape>& shapes, const StagePartitioner& partitioner) {
    std::vector<Candidate> candidates;
    candidates.reserve(shapes.size());
    for (const StageShape& shape : shapes) candidates.push_back({shape, &partitioner, {}, std::nullopt});
    PartitionAll(candidates, /*exact_work=*/0);
    MapAll(candidates, work_ / kQuickMappings);
    Keep(std::move(candidates));
    if (finalists_.size() > kFinalists) finalists_.resize(kFinalists);
  }

  const StagePartitioner& partitioner() const { return assumptions_.front()->partitioner; }

  bool CanImprove(const StageShape& shape) const {
    return !record_.has_placement() || shape.bound < record_.objective();
  }

  // Leaves those that have a partition, the one with the least predicted time first.
  void PartitionAll(std::vector<Candidate>& candidates, int64_t exact_work) {
    std::vector<std::optional<StagePartition>> partitions(candidates.size());
    arena_.ParallelFor(candidates.size(), 1, [&](std::size_t i) {
      partitions[i] = candidates[i].partitioner->Partition(candidates[i].shape, exact_work, limits_, arena_);
    });
    std::vector<Candidate> found;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      std::optional<StagePartition>& partition = partitions[i];
      if (!partition.has_value()) continue;
      record_.AddWork(partition->work);
      record_.counters()["refinement_moves"] += partition->refinement_moves;
      candidates[i].partition = *std::move(partition);
      found.push_back(std::move(candidates[i]));
    }
    std::stable_sort(found.begin(), found.end(), [](const Candidate& a, const Candidate& b) {
      return a.partition.predicted < b.partition.predicted;
    });
    candidates = std::move(found);
  }

  static StageReplicas ReplicasOf(const Candidate& candidate) {
    return {static_cast<int32_t>(candidate.partition.stages.size()), candidate.shape.replicas};
  }

  void MapAll(std::vector<Candidate>& candidates, int64_t work) {
    arena_.ParallelFor(candidates.size(), 1, [&](std::size_t i) { Map(candidates[i], work, limits_); });
    for (const Candidate& candidate : candidates) Offer(candidate);
  }

  void Map(Candidate& candidate, int64_t work, const SolveLimits& limits) {
    const MappingInstance instance = MappingInstanceOf(request_, candidate.partition, ReplicasOf(candidate));
    MappingOptions options;
    options.seed = request_.options.seed;
    options.relative_gap = request_.options.relative_gap;
    SolveLimits mapping_limits = limits;
    mapping_limits.work = work;
    candidate.mapping = MapStages(instance, options, mapping_limits, arena_, [](const MappingOutcome&) {});
  }

  void Offer(const Candidate& candidate) {
    if (!candidate.mapping.has_value()) return;
    record_.AddWork(candidate.mapping->work);
    ++record_.counters()["mappings"];
    if (record_.Offer(PlacementOf(candidate.partition, ReplicasOf(candidate), candidate.mapping->mapping), name_)) {
      winner_ = candidate.mapping;
    }
  }

  // Keeps candidates by what their mappings reach, the best first.
  void Keep(std::vector<Candidate> candidates) {
    for (Candidate& candidate : candidates) {
      if (candidate.mapping.has_value()) finalists_.push_back(std::move(candidate));
    }
    std::stable_sort(finalists_.begin(), finalists_.end(), [](const Candidate& a, const Candidate& b) {
      return a.mapping->value.value_ms < b.mapping->value.value_ms;
    });
  }

  void ImproveFinalists() {
    std::vector<Candidate> others = finalists_;
    PartitionAll(others, work_ / kExactShare);
    if (request_.algorithm == Algorithm::kParmesan) AddPipedream(others);
    others = WithoutRepetitions(std::move(others));
    MapAll(others, work_ / kQuickMappings);
    Keep(std::move(others));
    for (std::size_t i = 0; i < finalists_.size() && !record_.is_settled(); ++i) {
      const int64_t left = work_ - record_.work();
      if (left <= 0 || CheckInterruption(limits_).has_value()) return;
      const auto remaining = static_cast<int64_t>(finalists_.size() - i);
      Map(finalists_[i], left / remaining, ShareOfRemainingTime(limits_, static_cast<int>(remaining)));
      Offer(finalists_[i]);
    }
  }

  // PipeDream's stages for the shapes of the finalists, as they are and refined.
  void AddPipedream(std::vector<Candidate>& candidates) {
    const UniformLinksProblem& flat = assumptions_.front()->flat;
    for (const Candidate& finalist : finalists_) {
      const std::vector<int32_t>& stages_of_pool = finalist.shape.stages_of_pool;
      const auto used = std::find_if(stages_of_pool.begin(), stages_of_pool.end(), [](int32_t n) { return n > 0; });
      const auto pool_index = static_cast<std::size_t>(used - stages_of_pool.begin());
      const DevicePool& pool = finalist.partitioner->blocks().pools[pool_index];
      const bool is_of_one_pool = *used == finalist.shape.num_stages();
      const bool may_take_all = is_of_one_pool || request_.device_limits.empty();
      if (finalist.shape.num_stages() == 1 || !pool.supports_all || !may_take_all) continue;
      Candidate candidate{finalist.shape, finalist.partitioner, {}, std::nullopt};
      auto stages = PipedreamStages(flat, pool.device_class, finalist.shape.num_stages());
      if (!stages.has_value()) continue;
      candidate.partition.stages = *std::move(stages);
      candidate.partition.classes.assign(candidate.partition.stages.size(), pool.device_class);
      candidates.push_back(candidate);
      auto refined = finalist.partitioner->Refine(finalist.shape, pool_index, candidate.partition.stages, limits_);
      if (!refined.has_value()) continue;
      record_.counters()["refinement_moves"] += refined->refinement_moves;
      candidate.partition = *std::move(refined);
      candidates.push_back(std::move(candidate));
    }
  }

  // Returns the candidates whose stages differ from those of all finalists and of all candidates before them.
  std::vector<Candidate> WithoutRepetitions(std::vector<Candidate> candidates) const {
    std::vector<Candidate> distinct;
    for (Candidate& candidate : candidates) {
      const auto repeats = [&](const Candidate& other) {
        return other.shape.replicas == candidate.shape.replicas &&
               other.partition.stages == candidate.partition.stages &&
               other.partition.classes == candidate.partition.classes;
      };
      if (std::none_of(finalists_.begin(), finalists_.end(), repeats) &&
          std::none_of(distinct.begin(), distinct.end(), repeats)) {
        distinct.push_back(std::move(candidate));
      }
    }
    return distinct;
  }

  // The mapping of the placement, if it was ours.
  void RaisePartitionBounds() {
    if (!winner_.has_value() || record_.made_by() != name_) return;
    for (const MappingBound& bound : winner_->bounds) {
      const double picoseconds = std::floor(bound.value_ms * 1e9 * (1 - 1e-9));
      record_.RaiseBound({Picoseconds(static_cast<int64_t>(picoseconds)), bound.method, BoundScope::kGivenPartition});
    }
  }

  void CountWork(const std::vector<StageShape>& shapes) {
    record_.counters()["blocks"] = partitioner().blocks().num_blocks();
    record_.counters()["clusters"] = partitioner().num_clusters();
    record_.counters()["shapes"] = static_cast<int64_t>(shapes.size());
    record_.ReportWork();
  }

  const int64_t work_;
  const char* const name_;
  // At least one.
  const std::vector<std::unique_ptr<Assumption>> assumptions_;
  std::vector<Candidate> finalists_;
  // By its share of the clock.
  bool is_bound_interrupted_ = false;
  // The mapping that made the best placement, if one did.
  std::optional<MappingOutcome> winner_;
};

}  // namespace

absl::StatusOr<SearchOutcome> SolveParmesan(const SearchRequest& request, const SolveLimits& limits, TaskArena& arena,
                                            const SearchCallbacks& callbacks) {
  return Search(request, limits, arena, callbacks).Run();
}

}  // namespace planwright
