#include "core/partition/sequence/unit_orders.h"

#include <algorithm>
#include <utility>

#include "core/base/index.h"
#include "core/graph/digraph.h"
#include "core/partition/search/block_merging.h"

namespace planwright {
namespace {

// Some block need not come right after the one before it.
bool HasSeveralOrders(const BlockInstance& blocks) {
  for (int32_t block = 1; block < blocks.num_blocks(); ++block) {
    const auto before = blocks.precedence.predecessors(block);
    if (std::ranges::find(before, block - 1) == before.end()) return true;
  }
  return false;
}

}  // namespace

UnitOrders::UnitOrders(const SearchRequest& request, std::size_t max_units)
    : request_(request),
      max_units_(max_units),
      blocks_(BuildBlockInstance(request,
                                 request.graph.operators.size() <= max_units ? MergeRule::kNever : MergeRule::kExact)),
      has_choice_(HasSeveralOrders(blocks_)) {}

UnitOrder UnitOrders::InOrder(const std::vector<int32_t>& order) const {
  UnitOrder units;
  if (order.size() <= max_units_) {
    for (const int32_t block : order) units.push_back(blocks_.operators[Index(block)]);
    return units;
  }
  const std::vector<int32_t> run_of = RunsOf(blocks_, order, max_units_);
  units.resize(Index(*std::ranges::max_element(run_of)) + 1);
  for (const int32_t block : order) {
    UnitOrder::value_type& unit = units[Index(run_of[Index(block)])];
    unit.insert(unit.end(), blocks_.operators[Index(block)].begin(), blocks_.operators[Index(block)].end());
  }
  return units;
}

UnitOrder UnitOrders::Plain() const { return InOrder(FirstNumbers(Index(blocks_.num_blocks()))); }

UnitOrder UnitOrders::Around(const Placement& placement) const {
  // Three units for each stage must do.
  if (placement.stages.size() > max_units_ / 3) return Plain();
  std::vector<std::size_t> stage_of(request_.graph.operators.size(), 0);
  for (std::size_t stage = 0; stage < placement.stages.size(); ++stage) {
    for (const OperatorId op : placement.stages[stage].operators) stage_of[op.index()] = stage;
  }
  std::vector<std::vector<std::size_t>> blocks_of(placement.stages.size());
  for (std::size_t block = 0; block < blocks_.operators.size(); ++block) {
    blocks_of[stage_of[blocks_.operators[block].front().index()]].push_back(block);
  }
  // Half of them on each side of a border; a run between.
  const std::size_t near = (max_units_ / placement.stages.size() - 1) / 2;
  UnitOrder units;
  for (const std::vector<std::size_t>& blocks : blocks_of) {
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      const std::vector<OperatorId>& operators = blocks_.operators[blocks[i]];
      const bool is_near = i < near || i + near >= blocks.size();
      if (is_near || i == near) units.emplace_back();
      units.back().insert(units.back().end(), operators.begin(), operators.end());
    }
  }
  return units;
}

UnitOrder UnitOrders::Random(RandomStream& random) const {
  std::vector<int64_t> priority(Index(blocks_.num_blocks()));
  for (int64_t& value : priority) value = static_cast<int64_t>(random.Below(uint64_t{1} << 32U));
  return InOrder(DepthFirstTopologicalOrder(blocks_.precedence, priority));
}

std::optional<UnitOrder> UnitOrders::Layers() const {
  const bool has_layers =
      std::ranges::any_of(request_.graph.operators, [](const Operator& op) { return !op.layer.empty(); });
  if (!has_layers || request_.problem.granularity == Granularity::kLayer) return std::nullopt;
  ResolvedProblem problem = request_.problem;
  problem.granularity = Granularity::kLayer;
  BlockInstance layers =
      BuildBlockInstance({request_.graph, request_.cluster, problem, request_.costs}, MergeRule::kNever);
  if (layers.operators.size() > max_units_ || layers.operators.size() == blocks_.operators.size()) return std::nullopt;
  return std::move(layers.operators);
}

}  // namespace planwright
