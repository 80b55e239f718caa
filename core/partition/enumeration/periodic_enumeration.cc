#include "core/partition/enumeration/periodic_enumeration.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/index.h"
#include "core/cost/chain_costs.h"
#include "core/graph/operator_unions.h"
#include "core/graph/strongly_connected.h"
#include "core/graph/topological_order.h"
#include "core/partition/periodic/stage_costs.h"
#include "core/schedule/least_period.h"
#include "core/schedule/one_f_one_b_star.h"

namespace planwright {
namespace {

class Enumeration {
 public:
  Enumeration(const SearchRequest& request, const ChainBlocks& blocks, const DeviceOptions& devices,
              PlacementJudge& judge)
      : request_(request),
        blocks_(blocks),
        devices_(devices),
        judge_(judge),
        full_duplex_(request.problem.overlap == Overlap::kFullDuplex),
        free_(devices),
        is_left_(blocks.operators.size(), true) {
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
    if (free_.idle() == 0 || (most.has_value() && std::cmp_greater_equal(stages_.size(), *most))) return;
    std::vector<std::size_t> outer = std::exchange(grown_, {});
    Grow(blocks_.operators.size(), Picoseconds(0));
    grown_ = std::move(outer);
  }

  // Decides on the blocks before `end`, which never follow one behind it.
  void Grow(std::size_t end, Picoseconds load) {
    while (end > 0 && !is_left_[end - 1]) --end;
    if (judge_.has_stopped()) return;
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
    if (free_.idle() > 1) Grow(block, load);
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
      return !devices_[position].is_cpu &&
             std::all_of(grown.begin(), grown.end(), [&](std::size_t block) { return may_hold_[block][position]; });
    };
    free_.ForEach(TeamOrder::kAscending, 1, 1, may_hold, [&](const std::vector<std::size_t>& team) {
      if (!judge_.Step()) return;
      stage.device = team.front();
      stages_.push_back(stage);
      if (MayBeBetter()) Extend();
      stages_.pop_back();
    });
  }

  // In the order of the pipeline.
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

  // Whether a pattern of this period exists for the stages that are placed.
  bool Fits(const Pipeline& pipeline, const ChainStageCosts& costs, Picoseconds period) const {
    Delay delay;
    const int32_t num_layers = costs.num_layers();
    for (int32_t i = 0; i < pipeline.num_placed; ++i) {
      const int32_t layer = num_layers - 1 - i;
      if (costs.Load(layer, layer) > period) return false;
      delay = costs.InFront(layer, layer, delay, period);
      const int64_t bytes = costs.Bytes(layer, layer, costs.Batches(delay));
      if (!HasRoom(stages_[Index(i)].device, bytes)) return false;
      if (layer == 0) break;
      if (costs.LinkLoad(layer) > period) return false;
      delay = costs.AcrossCut(layer, delay, period);
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
    const ChainDevices devices = DevicesOf(pipeline);
    const ChainStageCosts costs(pipeline.chain, devices);
    const PeriodRange range = PeriodsOf(pipeline.chain, devices);
    const std::optional<Picoseconds> period = LeastPeriod(range.low, range.high, [&](Picoseconds target) {
      return Fits(pipeline, costs, target) ? std::optional(target) : std::nullopt;
    });
    if (!period.has_value()) return judge_.NoteOverfull();
    Placement placement;
    for (auto stage = stages_.rbegin(); stage != stages_.rend(); ++stage) {
      placement.stages.push_back({stage->operators, {devices_[stage->device].device}});
    }
    placement.pattern = ScheduleOneFOneBStar(pipeline.chain, pipeline.allocation, devices, *period)->pattern;
    judge_.Judge(std::move(placement));
  }

  const SearchRequest& request_;
  const ChainBlocks& blocks_;
  const DeviceOptions& devices_;
  PlacementJudge& judge_;
  const bool full_duplex_;
  // Some accelerator, if there is any.
  std::size_t accelerator_ = 0;
  TeamChooser free_;
  // By block.
  std::vector<std::vector<bool>> may_hold_;
  std::vector<Picoseconds> times_;
  std::vector<bool> is_left_;
  // The last stage of the pipeline comes first.
  std::vector<PlacedStage> stages_;
  // Of the stage that is growing.
  std::vector<std::size_t> grown_;
};

}  // namespace

ChainBlocks MakeChainBlocks(const OperatorGraph& graph, const PlanningProblem& problem) {
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
  const std::vector<int64_t> no_priority(num_blocks);
  const std::vector<int32_t> order = DepthFirstTopologicalOrder(Digraph(CountLabels(block_of), edges), no_priority);
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
  Enumeration(request, blocks, devices, judge).Run();
}

}  // namespace planwright
