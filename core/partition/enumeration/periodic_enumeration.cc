#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/index.h"
#include "core/base/known.h"
#include "core/cost/chain/chain_costs.h"
#include "core/graph/components.h"
#include "core/graph/digraph.h"
#include "core/graph/operator_unions.h"
#include "core/partition/enumeration/forms.h"
#include "core/partition/periodic/stage_costs.h"
#include "core/schedule/least_period.h"
#include "core/schedule/one_f_one_b_star.h"
#include "core/schedule/pattern_search.h"

namespace planwright {
namespace {

// Nodes that the search for the pattern of one allocation takes at most.
constexpr int64_t kNodesOfPattern = 100'000;

class PeriodicEnumeration {
 public:
  PeriodicEnumeration(const SearchRequest& request, const ChainBlocks& blocks, const DeviceOptions& devices,
                      PlacementJudge& judge)
      : request_(request),
        blocks_(blocks),
        devices_(devices),
        judge_(judge),
        full_duplex_(request.problem.overlap == Overlap::kFullDuplex),
        most_per_device_(Known(request.problem.max_stages_per_device)),
        free_(devices),
        is_left_(blocks.operators.size(), true),
        stages_on_(devices.size(), 0) {
    for (std::size_t position = 0; position < devices.size(); ++position) {
      if (!devices[position].is_cpu) accelerator_ = position;
    }
    for (const std::vector<OperatorId>& operators : blocks.operators) {
      may_hold_.push_back(devices.MayHold(operators));
      Picoseconds& time = times_.emplace_back(0);
      for (const OperatorId op : operators) time += request.costs.time(op, ClassOfDevices()).total();
    }
  }

  void Run() {
    if (devices_[accelerator_].is_cpu) return;
    Extend();
  }

 private:
  struct PlacedStage {
    std::vector<OperatorId> operators;
    std::size_t device = 0;
  };

  // The stages so far, and what is left as the first one, if anything is.
  struct Pipeline {
    Chain chain;
    ChainAllocation allocation;
    // How many of them are placed: the last ones.
    int32_t num_placed = 0;
  };

  DeviceClassId ClassOfDevices() const { return devices_[accelerator_].device_class; }

  // What is left becomes stages before those that there are.
  void Extend() {
    if (std::find(is_left_.begin(), is_left_.end(), true) == is_left_.end()) return JudgePipeline();
    const std::optional<int32_t>& most = request_.problem.num_stages;
    if (!HasSeats(1) || (most.has_value() && std::cmp_greater_equal(stages_.size(), *most))) return;
    std::vector<std::size_t> outer = std::exchange(grown_, {});
    Grow(blocks_.operators.size(), Picoseconds(0));
    grown_ = std::move(outer);
  }

  // Decides on the blocks before `end`, which never follow one behind it.
  void Grow(std::size_t end, Picoseconds load) {
    if (judge_.ShouldStop()) return;
    while (end > 0 && !is_left_[end - 1]) --end;
    if (end == 0) {
      if (!grown_.empty()) PlaceStage();
      return;
    }
    const std::size_t block = end - 1;
    const auto successors = blocks_.precedence.successors(static_cast<int32_t>(block));
    const bool is_last =
        std::none_of(successors.begin(), successors.end(), [this](int32_t next) { return is_left_[Index(next)]; });
    if (is_last && judge_.CanImprove(load + times_[block])) {
      grown_.push_back(block);
      is_left_[block] = false;
      Grow(block, load + times_[block]);
      is_left_[block] = true;
      grown_.pop_back();
    }
    if (HasSeats(2)) Grow(block, load);
  }

  // Whether devices may hold so many stages more.
  bool HasSeats(std::size_t count) const {
    const std::size_t all = devices_.max_used() * static_cast<std::size_t>(most_per_device_);
    return stages_.size() + count <= all;
  }

  void PlaceStage() {
    PlacedStage stage;
    for (const std::size_t block : grown_) {
      const std::vector<OperatorId>& operators = blocks_.operators[block];
      stage.operators.insert(stage.operators.end(), operators.begin(), operators.end());
    }
    std::sort(stage.operators.begin(), stage.operators.end());
    const std::vector<std::size_t> grown = grown_;
    const auto may_hold = [&](std::size_t position) {
      return !judge_.has_stopped() && !devices_[position].is_cpu &&
             std::all_of(grown.begin(), grown.end(), [&](std::size_t block) { return may_hold_[block][position]; });
    };
    for (std::size_t position = 0; position < devices_.size(); ++position) {
      const bool has_seat = stages_on_[position] > 0 && stages_on_[position] < most_per_device_;
      if (has_seat && may_hold(position)) PlaceOn(position, stage);
    }
    free_.ForEach(TeamOrder::kAscending, 1, 1, may_hold,
                  [&](const std::vector<std::size_t>& team) { PlaceOn(team.front(), stage); });
  }

  void PlaceOn(std::size_t position, PlacedStage& stage) {
    if (!judge_.Step()) return;
    stage.device = position;
    stages_.push_back(stage);
    ++stages_on_[position];
    if (MayBeBetter()) Extend();
    --stages_on_[position];
    stages_.pop_back();
  }

  // Returns the stages in the order of the pipeline.
  Pipeline MakePipeline() const {
    Pipeline pipeline;
    OperatorGroups layers(1);
    for (std::size_t block = 0; block < is_left_.size(); ++block) {
      if (!is_left_[block]) continue;
      layers.front().insert(layers.front().end(), blocks_.operators[block].begin(), blocks_.operators[block].end());
    }
    std::sort(layers.front().begin(), layers.front().end());
    if (layers.front().empty()) layers.clear();
    for (auto stage = stages_.rbegin(); stage != stages_.rend(); ++stage) layers.push_back(stage->operators);
    pipeline.chain = MakeChain(request_.graph, request_.cluster.interconnect, request_.problem, request_.costs,
                               ClassOfDevices(), layers);
    for (int32_t layer = 0; std::cmp_less(layer, layers.size()); ++layer) {
      pipeline.allocation.push_back({layer, layer, layer});
    }
    pipeline.num_placed = static_cast<int32_t>(stages_.size());
    return pipeline;
  }

  ChainDevices DevicesOf(const Pipeline& pipeline) const {
    return {static_cast<int32_t>(pipeline.allocation.size()), std::nullopt, full_duplex_};
  }

  // Whether the stages so far fit below the incumbent, or without one with one micro-batch each.
  bool MayBeBetter() {
    const Pipeline pipeline = MakePipeline();
    const ChainDevices devices = DevicesOf(pipeline);
    const ChainStageCosts costs(pipeline.chain, devices);
    const Picoseconds longest = PeriodsOf(pipeline.chain, devices).high;
    if (!Fits(pipeline, costs, longest)) {
      judge_.NoteOverfull();
      return false;
    }
    const std::optional<Picoseconds> below = judge_.LongestBetter();
    return !below.has_value() || (*below > Picoseconds(0) && Fits(pipeline, costs, std::min(*below, longest)));
  }

  // Whether the stages that are placed can have a pattern of this period, by what each of them takes at least; of
  // contiguous stages whether they have one. The most that stages of a device store are not added up: they need not
  // store it at the same time.
  bool Fits(const Pipeline& pipeline, const ChainStageCosts& costs, Picoseconds period) const {
    std::vector<LeastDeviceUse> held(devices_.size());
    const ChainSums sums(pipeline.chain);
    Delay delay;
    for (int32_t i = 0; i < pipeline.num_placed; ++i) {
      const int32_t layer = costs.num_layers() - 1 - i;
      const std::size_t device = stages_[Index(i)].device;
      if (costs.Load(layer, layer) > period) return false;
      delay = costs.InFront(layer, layer, delay, period);
      held[device].AddStage(sums, layer, layer, pipeline.chain.has_backward ? delay.Batches() : 0);
      if (held[device].load() > period) return false;
      if (layer == 0) break;
      // Another stage of this device may be the next one to be placed.
      const bool is_front = i + 1 == pipeline.num_placed;
      if (is_front ? most_per_device_ > 1 : stages_[Index(i) + 1].device == device) continue;
      if (costs.LinkLoad(layer) > period) return false;
      const int64_t buffer_bytes = pipeline.chain.cuts[Index(layer) - 1].buffer_bytes;
      held[device].AddBuffer(buffer_bytes);
      if (!is_front) held[stages_[Index(i) + 1].device].AddBuffer(buffer_bytes);
      delay = costs.AcrossCut(layer, delay, period);
    }
    for (std::size_t device = 0; device < held.size(); ++device) {
      if (stages_on_[device] > 0 && !HasRoom(device, held[device].bytes())) return false;
    }
    return true;
  }

  bool HasRoom(std::size_t device, int64_t bytes) const {
    const std::optional<int64_t>& memory_bytes = devices_[device].memory_bytes;
    return !memory_bytes.has_value() || bytes <= *memory_bytes - request_.problem.memory_model.reserved_bytes;
  }

  void JudgePipeline() {
    const std::optional<int32_t>& asked_for = request_.problem.num_stages;
    if (asked_for.has_value() && !std::cmp_equal(stages_.size(), *asked_for)) return;
    const Pipeline pipeline = MakePipeline();
    std::optional<PeriodicPattern> pattern =
        std::any_of(stages_on_.begin(), stages_on_.end(), [](int32_t count) { return count > 1; })
            ? PatternOfShared(pipeline)
            : PatternOfContiguous(pipeline);
    if (!pattern.has_value()) return;
    Placement placement;
    for (auto stage = stages_.rbegin(); stage != stages_.rend(); ++stage) {
      placement.stages.push_back({stage->operators, {devices_[stage->device].device}});
    }
    placement.pattern = std::move(pattern);
    judge_.Judge(std::move(placement));
  }

  std::optional<PeriodicPattern> PatternOfContiguous(const Pipeline& pipeline) {
    const ChainDevices devices = DevicesOf(pipeline);
    const ChainStageCosts costs(pipeline.chain, devices);
    const PeriodRange range = PeriodsOf(pipeline.chain, devices);
    const std::optional<Picoseconds> period = LeastPeriod(range.low, range.high, [&](Picoseconds target) {
      return Fits(pipeline, costs, target) ? std::optional(target) : std::nullopt;
    });
    if (!period.has_value()) {
      judge_.NoteOverfull();
      return std::nullopt;
    }
    return Known(ScheduleOneFOneBStar(pipeline.chain, pipeline.allocation, devices, *period)).pattern;
  }

  // The shortest pattern better than the incumbent, if there is any. Devices have equal memory.
  std::optional<PeriodicPattern> PatternOfShared(const Pipeline& pipeline) {
    ChainDevices devices = DevicesOf(pipeline);
    const std::optional<int64_t>& memory_bytes = devices_[accelerator_].memory_bytes;
    if (memory_bytes.has_value()) {
      devices.memory_bytes = std::max<int64_t>(0, *memory_bytes - request_.problem.memory_model.reserved_bytes);
    }
    ChainAllocation allocation = pipeline.allocation;
    for (std::size_t i = 0; i < stages_.size(); ++i) {
      allocation[stages_.size() - 1 - i].device = static_cast<int32_t>(stages_[i].device);
    }
    devices.count = static_cast<int32_t>(devices_.size());
    const ChainSums sums(pipeline.chain);
    PatternSearcher searcher(pipeline.chain, sums, devices);
    searcher.SetAllocation(allocation);
    SolveLimits limits = judge_.limits();
    limits.work = std::min(kNodesOfPattern, judge_.work_left());
    PatternOutcome outcome = searcher.FindShortest(limits, judge_.LongestBetter());
    judge_.AddWork(outcome.nodes);
    if (!outcome.is_proven) {
      judge_.LookAtLimits();
      judge_.NoteUnproven(outcome.lower_bound.value_or(Picoseconds(0)));
    }
    if (!outcome.pattern.has_value()) judge_.NoteOverfull();
    return std::move(outcome.pattern);
  }

  const SearchRequest& request_;
  const ChainBlocks& blocks_;
  const DeviceOptions& devices_;
  PlacementJudge& judge_;
  const bool full_duplex_;
  const int32_t most_per_device_;
  // Some accelerator, if there is any.
  std::size_t accelerator_ = 0;
  TeamChooser free_;
  // By block.
  std::vector<std::vector<bool>> may_hold_;
  std::vector<Picoseconds> times_;
  std::vector<bool> is_left_;
  // By device.
  std::vector<int32_t> stages_on_;
  // The last stage of the pipeline comes first.
  std::vector<PlacedStage> stages_;
  // Blocks of the stage that is growing.
  std::vector<std::size_t> grown_;
};

}  // namespace

ChainBlocks MakeChainBlocks(const OperatorGraph& graph, const ResolvedProblem& problem) {
  std::vector<int32_t> block_of = ColocationUnions(graph, problem);
  std::vector<Digraph::Edge> edges = MapEdges(OrderedOperators(graph, block_of, MirroredTensors::kAll), block_of);
  const auto relabel = [&](const std::vector<int32_t>& labels) {
    edges = MapEdges(edges, labels);
    for (int32_t& block : block_of) {
      if (block != kDropped) block = labels[Index(block)];
    }
  };
  relabel(StronglyConnectedComponents(Digraph(CountLabels(block_of), edges)));
  const auto num_blocks = Index(CountLabels(block_of));
  const std::vector<int32_t> order = AnyTopologicalOrder(Digraph(CountLabels(block_of), edges));
  std::vector<int32_t> place(num_blocks);
  for (std::size_t i = 0; i < order.size(); ++i) place[Index(order[i])] = static_cast<int32_t>(i);
  relabel(place);
  ChainBlocks blocks;
  blocks.operators.resize(num_blocks);
  for (std::size_t i = 0; i < block_of.size(); ++i) {
    if (block_of[i] != kDropped) blocks.operators[Index(block_of[i])].emplace_back(i);
  }
  blocks.precedence = Digraph(static_cast<int32_t>(num_blocks), std::move(edges));
  return blocks;
}

void EnumerateChains(const SearchRequest& request, const ChainBlocks& blocks, const DeviceOptions& devices,
                     PlacementJudge& judge) {
  PeriodicEnumeration(request, blocks, devices, judge).Run();
}

}  // namespace planwright
