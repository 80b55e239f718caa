#include "core/planner/boundary_shifts.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "core/base/index.h"
#include "core/cost/plan_costing.h"
#include "core/partition/search/block_instance.h"

namespace planwright {
namespace {

constexpr int kMaxCostings = 400;

class Shifter {
 public:
  Shifter(const SearchRequest& request, const SearchCallbacks& callbacks, Placement placement)
      : request_(request),
        callbacks_(callbacks),
        instance_(BuildBlockInstance(request, MergeRule::kNever)),
        placement_(std::move(placement)) {
    std::vector<std::size_t> stage_of(request.graph.operators.size(), 0);
    for (std::size_t stage = 0; stage < placement_.stages.size(); ++stage) {
      for (const OperatorId op : placement_.stages[stage].operators) stage_of[op.index()] = stage;
    }
    blocks_.resize(placement_.stages.size());
    for (std::size_t block = 0; block < instance_.operators.size(); ++block) {
      blocks_[stage_of[instance_.operators[block].front().index()]].push_back(block);
    }
  }

  std::vector<Placement> Run() {
    std::vector<Placement> found;
    const auto is_empty = [](const auto& blocks) { return blocks.empty(); };
    if (std::any_of(blocks_.begin(), blocks_.end(), is_empty)) return found;
    Plan plan = Cost(blocks_);
    Picoseconds best = plan.objective;
    while (costings_ < kMaxCostings) {
      std::optional<Split> split = Relieved(plan);
      if (!split.has_value()) break;
      blocks_ = std::move(split->blocks);
      plan = std::move(split->plan);
      if (plan.objective >= best) continue;
      best = plan.objective;
      found.push_back(PlacementOf(blocks_));
    }
    return found;
  }

 private:
  // Blocks of each stage, in the order of the instance.
  using Blocks = std::vector<std::vector<std::size_t>>;

  struct Split {
    Blocks blocks;
    Plan plan;
  };

  Placement PlacementOf(const Blocks& blocks) const {
    Placement placement = placement_;
    for (std::size_t stage = 0; stage < blocks.size(); ++stage) {
      placement.stages[stage].operators.clear();
      for (const std::size_t block : blocks[stage]) {
        const std::vector<OperatorId>& operators = instance_.operators[block];
        std::vector<OperatorId>& all = placement.stages[stage].operators;
        all.insert(all.end(), operators.begin(), operators.end());
      }
    }
    return placement;
  }

  Plan Cost(const Blocks& blocks) {
    ++costings_;
    return CostPlan(request_, PlacementOf(blocks));
  }

  static Picoseconds LoadOf(const Plan& plan, std::size_t stage) {
    Picoseconds load{0};
    for (const Replica& replica : plan.stages[stage].replicas) load = std::max(load, replica.load);
    return load;
  }

  static Picoseconds LargerLoad(const Plan& plan, std::size_t a, std::size_t b) {
    return std::max(LoadOf(plan, a), LoadOf(plan, b));
  }

  // The busiest stage relieved by one of its neighbours, the one that then leaves less on both; nullopt: none helps.
  std::optional<Split> Relieved(const Plan& plan) {
    std::size_t busiest = 0;
    for (std::size_t stage = 1; stage < blocks_.size(); ++stage) {
      if (LoadOf(plan, stage) > LoadOf(plan, busiest)) busiest = stage;
    }
    std::optional<Split> best;
    Picoseconds least = LoadOf(plan, busiest);
    for (const bool goes_back : {true, false}) {
      if (goes_back ? busiest == 0 : busiest + 1 == blocks_.size()) continue;
      const std::size_t neighbour = goes_back ? busiest - 1 : busiest + 1;
      for (Split& split : Balanced(busiest, neighbour)) {
        const Picoseconds larger = LargerLoad(split.plan, busiest, neighbour);
        if (larger >= least || !callbacks_.objection(PlacementOf(split.blocks)).empty()) continue;
        least = larger;
        best = std::move(split);
      }
    }
    return best;
  }

  // The longest run that leaves `from` at least as busy as `to`, and one block more.
  std::vector<Split> Balanced(std::size_t from, std::size_t to) {
    std::vector<Split> splits;
    std::size_t too_short = 0;
    std::size_t too_long = blocks_[from].size();
    while (too_short + 1 < too_long) {
      const std::size_t length = too_short + (too_long - too_short) / 2;
      Split split{Shifted(from, to, length), {}};
      split.plan = Cost(split.blocks);
      (LoadOf(split.plan, from) >= LoadOf(split.plan, to) ? too_short : too_long) = length;
      splits.push_back(std::move(split));
    }
    return splits;
  }

  Blocks Shifted(std::size_t from, std::size_t to, std::size_t length) const {
    Blocks blocks = blocks_;
    const auto count = static_cast<std::ptrdiff_t>(length);
    std::vector<std::size_t>& source = blocks[from];
    std::vector<std::size_t>& sink = blocks[to];
    const auto begin = to < from ? source.begin() : source.end() - count;
    const auto end = begin + count;
    sink.insert(to < from ? sink.end() : sink.begin(), begin, end);
    source.erase(begin, end);
    return blocks;
  }

  const SearchRequest& request_;
  const SearchCallbacks& callbacks_;
  const BlockInstance instance_;
  const Placement placement_;
  Blocks blocks_;
  int costings_ = 0;
};

}  // namespace

std::vector<Placement> ShiftBoundaries(const SearchRequest& request, const SearchCallbacks& callbacks,
                                       Placement placement) {
  return Shifter(request, callbacks, std::move(placement)).Run();
}

}  // namespace planwright
