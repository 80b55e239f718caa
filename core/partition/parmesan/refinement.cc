#include "core/partition/parmesan/refinement.h"

#include <algorithm>
#include <optional>
#include <tuple>

#include "core/base/index.h"

namespace planwright {
namespace {

struct StageMove {
  // Afterwards, among the stages whose loads change.
  int64_t largest = 0;
  int64_t sum = 0;
  int32_t block = 0;
  int32_t stage = 0;

  bool operator<(const StageMove& other) const {
    return std::tie(largest, sum, block, stage) < std::tie(other.largest, other.sum, other.block, other.stage);
  }
};

class Refinement {
 public:
  Refinement(const Digraph& precedence, const SolveLimits& limits, NetState& state)
      : precedence_(precedence), limits_(limits), state_(state), blocks_of_(Index(state.tables().num_devices())) {
    for (int32_t block = 0; block < precedence.num_vertices(); ++block) {
      blocks_of_[Index(state.device_of(block))].push_back(block);
    }
  }

  int32_t Run(int32_t max_moves) {
    int32_t moves = 0;
    for (; moves < max_moves && !CheckInterruption(limits_).has_value(); ++moves) {
      const std::optional<StageMove> move = NextMove();
      if (!move.has_value()) break;
      Make(*move);
    }
    return moves;
  }

 private:
  int32_t num_stages() const { return static_cast<int32_t>(blocks_of_.size()); }

  std::optional<StageMove> NextMove() {
    std::vector<int32_t> stages = FirstNumbers(blocks_of_.size());
    std::stable_sort(stages.begin(), stages.end(),
                     [&](int32_t a, int32_t b) { return state_.load(a) > state_.load(b); });
    for (const int32_t stage : stages) {
      std::optional<StageMove> best;
      ConsiderMovesOf(stage, best);
      if (best.has_value()) return best;
    }
    return std::nullopt;
  }

  // Moves that change the load of `stage`, whose load is the largest that they change.
  void ConsiderMovesOf(int32_t stage, std::optional<StageMove>& best) {
    for (const int32_t block : blocks_of_[Index(stage)]) {
      if (stage > 0) Consider(stage, block, stage - 1, best);
      if (stage + 1 < num_stages()) Consider(stage, block, stage + 1, best);
    }
    for (const int32_t neighbour : {stage - 1, stage + 1}) {
      if (neighbour < 0 || neighbour >= num_stages()) continue;
      for (const int32_t block : blocks_of_[Index(neighbour)]) Consider(stage, block, stage, best);
    }
  }

  void Consider(int32_t busiest, int32_t block, int32_t to, std::optional<StageMove>& best) {
    if (!IsValid(block, to)) return;
    state_.Preview(block, to, effect_);
    StageMove move{.largest = 0, .sum = 0, .block = block, .stage = to};
    int64_t before = 0;
    for (const MoveEffect::Change& change : effect_.changes) {
      if (change.work == ReplicaWork()) continue;
      ReplicaWork work = state_.work(change.device);
      work += change.work;
      const int64_t load = state_.LoadsWith(change.device, work).total().count();
      before = std::max(before, state_.load(change.device));
      move.largest = std::max(move.largest, load);
      move.sum += load - state_.load(change.device);
    }
    if (before != state_.load(busiest) || move.largest >= before || (best.has_value() && !(move < *best))) return;
    if (state_.KeepsMemory(block, to, effect_)) best = move;
  }

  bool IsValid(int32_t block, int32_t to) const {
    if (!state_.tables().may_run(block, to) || blocks_of_[Index(state_.device_of(block))].size() == 1) return false;
    const auto before = precedence_.predecessors(block);
    const auto after = precedence_.successors(block);
    return std::all_of(before.begin(), before.end(), [&](int32_t other) { return state_.device_of(other) <= to; }) &&
           std::all_of(after.begin(), after.end(), [&](int32_t other) { return state_.device_of(other) >= to; });
  }

  void Make(const StageMove& move) {
    std::vector<int32_t>& from = blocks_of_[Index(state_.device_of(move.block))];
    from.erase(std::find(from.begin(), from.end(), move.block));
    blocks_of_[Index(move.stage)].push_back(move.block);
    state_.Preview(move.block, move.stage, effect_);
    state_.Move(move.block, move.stage, effect_);
  }

  const Digraph& precedence_;
  const SolveLimits& limits_;
  NetState& state_;
  std::vector<std::vector<int32_t>> blocks_of_;
  MoveEffect effect_;
};

}  // namespace

int32_t RefineStages(const Digraph& precedence, int32_t max_moves, const SolveLimits& limits, NetState& state) {
  return Refinement(precedence, limits, state).Run(max_moves);
}

}  // namespace planwright
