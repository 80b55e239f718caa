#include "core/partition/sequence/sequence_search.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/index.h"
#include "core/base/infeasibility.h"
#include "core/partition/parmesan/remaining_devices.h"
#include "core/partition/search/feasibility.h"
#include "core/partition/search/search_record.h"
#include "core/partition/sequence/device_sequences.h"
#include "core/partition/sequence/device_teams.h"
#include "core/partition/sequence/interval_table.h"
#include "core/partition/sequence/sequence_program.h"
#include "core/partition/sequence/unit_orders.h"

namespace planwright {
namespace {

constexpr const char* kName = "sequence_dp";
// Where the request sets no limit.
constexpr int64_t kDefaultWork = 20'000'000;
// The program takes the square of the number of units.
constexpr std::size_t kMaxUnits = 224;
// No pass takes more than this part of the work.
constexpr int64_t kPassShare = 4;
// Programs in which stages may skip any device are only run where they take at most this part.
constexpr int64_t kFreeShare = 16;
constexpr int kMostVariations = 600;
constexpr int kMostRefinements = 8;
// Intervals whose table takes as long as a unit of work.
constexpr int64_t kCellsPerWork = 2;
// Among more devices fewer numbers of replicas are tried.
constexpr int32_t kMostSizes = 24;

// One linear order and what stages along it take.
struct Order {
  Order(const SearchRequest& request, UnitOrder units)
      : first_begin_of(AllowedBegins(request, units)), table(request, std::move(units)) {}

  const std::vector<std::vector<std::size_t>> first_begin_of;
  const IntervalTable table;
};

// What the blocks take, each wherever it is quickest.
int64_t LeastWorkOf(const BlockInstance& blocks) {
  int64_t total = 0;
  for (std::size_t block = 0; block < blocks.operators.size(); ++block) {
    int64_t least = kMaxQuantity;
    for (const DevicePool& pool : blocks.pools) {
      if (pool.supported[block]) least = std::min(least, pool.time[block]);
    }
    total = SaturatingAdd(total, least);
  }
  return total;
}

class Search : RecordedSearch {
 public:
  Search(const SearchRequest& request, const SolveLimits& limits, TaskArena& arena, const SearchCallbacks& callbacks)
      : RecordedSearch(kName, request, limits, arena, callbacks),
        work_(limits.work == SolveLimits().work ? kDefaultWork : limits.work),
        orders_(request, kMaxUnits),
        least_work_(LeastWorkOf(orders_.blocks())),
        devices_differ_(DevicesDiffer(request)) {
    AddRules();
  }

  absl::StatusOr<SearchOutcome> Run() {
    OfferStarts();
    const std::optional<Infeasibility> shortages = FindShortages(
        request_.graph, request_.cluster, planwright::WithinLimits(orders_.blocks(), request_.device_limits));
    if (shortages.has_value()) return InfeasibleError(*shortages);
    callbacks_.on_phase(kName);
    RaiseBound();
    TryGivenOrders();
    RefineBorders();
    TryVariations();
    record_.counters()["blocks"] = orders_.blocks().num_blocks();
    record_.ReportWork();
    record_.set_stop_reason(
        StopReasonOf(limits_, record_.work() < work_ ? StopReason::kExhausted : StopReason::kWorkLimit));
    return std::move(record_).Finish(
        "no pipeline along the orders of operators and devices that were tried fits the memory, which proves nothing; "
        "allow devices with more memory, more of them, or smaller micro-batches");
  }

 private:
  void AddRules() {
    const bool through_host = std::holds_alternative<HostStagedInterconnect>(request_.cluster.interconnect);
    rules_.emplace_back(request_.problem, through_host, 0);
    if (request_.problem.schedule != ScheduleKind::kGpipe) return;
    const double share = ForwardShare();
    if (share > 0 && share < 1) rules_.emplace_back(request_.problem, through_host, share);
  }

  // The forward passes' share of all compute time, each operator on the first class that can run it.
  double ForwardShare() const {
    double forward = 0;
    double both = 0;
    for (std::size_t op = 0; op < request_.graph.operators.size(); ++op) {
      for (std::size_t i = 0; i < request_.cluster.device_classes.size(); ++i) {
        const OperatorTime& time = request_.costs.time(OperatorId(op), DeviceClassId(i));
        if (!time.supported) continue;
        forward += static_cast<double>(time.forward.count());
        both += static_cast<double>(time.total().count());
        break;
      }
    }
    return both > 0 ? forward / both : 0;
  }

  int64_t MostDevicesUsed() const { return MostDevices(orders_.blocks(), request_.device_limits); }

  void RaiseBound() {
    const int64_t devices = MostDevicesUsed();
    if (devices > 0) record_.RaiseBound({Picoseconds(CeilDivide(least_work_, devices)), "work", BoundScope::kProblem});
  }

  bool ShouldStop() const {
    return record_.is_settled() || record_.work() >= work_ || CheckInterruption(limits_).has_value();
  }

  void TryGivenOrders() {
    std::vector<std::unique_ptr<Order>> orders;
    // Whole layers first: a plan of single operators is then never worse than one of layers.
    std::optional<UnitOrder> layers = orders_.Layers();
    if (layers.has_value()) orders.push_back(std::make_unique<Order>(request_, *std::move(layers)));
    orders.push_back(std::make_unique<Order>(request_, orders_.Plain()));
    const std::vector<DeviceSequence> sequences = DeviceSequences(request_);
    best_sequence_ = sequences.empty() ? DeviceSequence() : sequences.front();
    for (const bool skips_any : {false, true}) {
      for (const auto& order : orders) {
        for (const DeviceSequence& sequence : sequences) {
          if (ShouldStop()) return;
          if (skips_any && !MaySkipAny(*order, sequence)) continue;
          if (Try(*order, sequence, skips_any, EqualSizes(sequence.size()))) best_sequence_ = sequence;
        }
      }
    }
  }

  // Runs of blocks come apart where stages meet.
  void RefineBorders() {
    bool is_better = orders_.is_coarse() && record_.made_by() == kName;
    for (int i = 0; i < kMostRefinements && is_better && !ShouldStop(); ++i) {
      const Order order(request_, orders_.Around(record_.placement()));
      ChargeTable(order);
      is_better = Try(order, best_sequence_, /*skips_any=*/false, SizesOfBest());
    }
  }

  void ChargeTable(const Order& order) {
    const auto units = static_cast<int64_t>(order.table.size());
    record_.AddWork(units * units / kCellsPerWork);
  }

  void TryVariations() {
    RandomStream random(static_cast<uint64_t>(request_.options.seed));
    const bool varies_devices = devices_differ_ && request_.cluster.devices.size() > 1;
    if (!varies_devices && !orders_.has_choice()) return;
    DeviceSequence devices = Completed(request_, best_sequence_);
    auto order = std::make_unique<Order>(request_, orders_.Plain());
    for (int i = 0; i < kMostVariations && !ShouldStop(); ++i) {
      // The devices, the operators or both.
      const uint64_t choice = random.Below(3);
      DeviceSequence other_devices = varies_devices && choice != 0 ? Varied(devices, random) : devices;
      std::unique_ptr<Order> other_order;
      if (orders_.has_choice() && choice != 1) {
        other_order = std::make_unique<Order>(request_, orders_.Random(random));
        ChargeTable(*other_order);
      }
      if (!TryVariation(other_order == nullptr ? *order : *other_order, other_devices)) continue;
      devices = std::move(other_devices);
      if (other_order != nullptr) order = std::move(other_order);
    }
  }

  bool TryVariation(const Order& order, const DeviceSequence& devices) {
    const DeviceSequence sequence = WithinLimits(request_, devices);
    return Try(order, sequence, MaySkipAny(order, sequence), SizesOfBest());
  }

  // Where all stages have equally many replicas, so many; where they do not, none; all where nothing was found.
  std::vector<int32_t> SizesOfBest() const {
    if (!record_.has_placement()) return EqualSizes(best_sequence_.size());
    const std::vector<Placement::Stage>& stages = record_.placement().stages;
    const auto size = static_cast<int32_t>(stages.front().devices.size());
    return std::ranges::all_of(stages, [&](const auto& stage) { return Index(size) == stage.devices.size(); })
               ? std::vector<int32_t>{size}
               : std::vector<int32_t>();
  }

  bool MaySkipAny(const Order& order, const DeviceSequence& sequence) const {
    if (!devices_differ_) return false;
    const auto units = static_cast<int64_t>(order.table.size());
    const auto devices = static_cast<int64_t>(sequence.size());
    const auto sizes = static_cast<int64_t>(MixedSizes(sequence.size()).size()) + 1;
    const int64_t states = SaturatingMultiply(units * units / 2, devices * devices / 2);
    return SaturatingMultiply(states, devices * sizes / 2 + 1) <= work_ / kFreeShare;
  }

  // Numbers of replicas that all stages may have.
  std::vector<int32_t> EqualSizes(std::size_t devices) const {
    const auto most = request_.problem.replication == Replication::kNone ? 1 : static_cast<int32_t>(devices);
    std::vector<int32_t> sizes;
    for (int32_t size = 1; size <= most; ++size) {
      if (request_.problem.num_replicas.value_or(size) == size) sizes.push_back(size);
    }
    return sizes;
  }

  // Numbers of replicas that each stage may have, where they may differ. Many are thinned out as they grow.
  std::vector<int32_t> MixedSizes(std::size_t devices) const {
    if (request_.problem.replication != Replication::kPerStage || request_.problem.num_replicas.has_value()) return {};
    const auto most = static_cast<int32_t>(devices);
    std::vector<int32_t> sizes;
    for (int32_t size = 1; size <= most; size += most > kMostSizes ? std::max(1, size / 3) : 1) sizes.push_back(size);
    return sizes;
  }

  // Whether it found something better. `sizes`: equal numbers of replicas to try.
  bool Try(const Order& order, const DeviceSequence& sequence, bool skips_any, const std::vector<int32_t>& sizes) {
    bool is_better = false;
    for (const SequenceRule& rule : rules_) {
      for (const int32_t size : ByBound(order, rule, sequence.size(), sizes)) {
        if (ShouldStop() || LeastOf(order, rule, sequence.size(), size) >= BestKnown()) break;
        is_better |= RunProgram(order, rule, sequence, {{size}, skips_any});
        if (size > 1 && Index(size) < sequence.size() && request_.costs.network().num_link_classes() > 1) {
          is_better |= RunProgram(order, rule, InLanes(sequence, size), {{size}, skips_any});
        }
      }
      if (!ShouldStop()) is_better |= RunProgram(order, rule, sequence, {MixedSizes(sequence.size()), skips_any});
    }
    return is_better;
  }

  int64_t BestKnown() const { return record_.has_placement() ? record_.objective().count() : kMaxQuantity; }

  // What no pipeline of equal numbers of replicas undercuts; kMaxQuantity: none has the memory.
  int64_t LeastOf(const Order& order, const SequenceRule& rule, std::size_t devices, int32_t replicas) const {
    int64_t least = kMaxQuantity;
    const int64_t most = std::min(static_cast<int64_t>(order.table.size()), static_cast<int64_t>(devices) / replicas);
    for (int64_t stages = LeastStages(order); stages <= most; ++stages) {
      if (request_.problem.num_stages.value_or(stages) != stages) continue;
      least = std::min(
          least, rule.Estimate(SequenceRule::LeastValue(least_work_ / stages, replicas), stages * replicas, replicas));
    }
    return least;
  }

  // The fewest stages whose devices together have the memory that a pipeline needs.
  int64_t LeastStages(const Order& order) const {
    int64_t most_bytes = 1;
    for (const DevicePool& pool : orders_.blocks().pools) {
      if (!pool.memory_bytes.has_value()) return 1;
      most_bytes = std::max(most_bytes, *pool.memory_bytes);
    }
    return std::max<int64_t>(1, CeilDivide(order.table.SharedMemoryBytes(), most_bytes));
  }

  // The most promising numbers of replicas first.
  std::vector<int32_t> ByBound(const Order& order, const SequenceRule& rule, std::size_t devices,
                               const std::vector<int32_t>& sizes) const {
    std::vector<std::pair<int64_t, int32_t>> bounds;
    bounds.reserve(sizes.size());
    for (const int32_t size : sizes) bounds.emplace_back(LeastOf(order, rule, devices, size), size);
    std::ranges::stable_sort(bounds, {}, [](const auto& entry) { return entry.first; });
    std::vector<int32_t> ordered;
    ordered.reserve(bounds.size());
    for (const auto& [bound, size] : bounds) ordered.push_back(size);
    return ordered;
  }

  bool RunProgram(const Order& order, const SequenceRule& rule, const DeviceSequence& sequence,
                  SequenceOptions options) {
    if (options.replicas.empty()) return false;
    SolveLimits limits = limits_;
    limits.work = std::min(work_ - record_.work(), work_ / kPassShare);
    options.bound = BestKnown();
    const SequenceOutcome outcome =
        RunSequenceProgram(request_, order.table, rule, sequence, order.first_begin_of, options, limits);
    record_.AddWork(outcome.work);
    ++record_.counters()["programs"];
    bool is_better = false;
    for (const SequenceFinding& finding : outcome.found) is_better |= Offer(finding.placement);
    return is_better;
  }

  bool Offer(const Placement& placement) {
    if (callbacks_.objective(placement) >= Picoseconds(BestKnown())) return false;
    if (!callbacks_.objection(placement).empty()) {
      ++record_.counters()["refused"];
      return false;
    }
    return record_.Offer(placement, kName);
  }

  const int64_t work_;
  const UnitOrders orders_;
  const int64_t least_work_;
  const bool devices_differ_;
  std::vector<SequenceRule> rules_;
  // The sequence of the best placement.
  DeviceSequence best_sequence_;
};

}  // namespace

absl::StatusOr<SearchOutcome> SolveAlongSequences(const SearchRequest& request, const SolveLimits& limits,
                                                  TaskArena& arena, const SearchCallbacks& callbacks) {
  return Search(request, limits, arena, callbacks).Run();
}

AlgorithmRow SequenceDpRow() {
  return {.algorithm = Algorithm::kSequenceDp,
          .name = kName,
          .version = "1",
          .description =
              "dynamic programs along linear orders of operators and devices, with the true links and "
              "memory",
          .work_unit = "stages looked at with one way to go on behind each",
          .solve = SolveAlongSequences,
          .modes = PipelineModes("contiguous stages along linear orders of operators and devices"),
          .heeds = HeedsEverySetting};
}

}  // namespace planwright
