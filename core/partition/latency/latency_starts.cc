#include "core/partition/latency/latency_starts.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "core/base/index.h"
#include "core/graph/components.h"
#include "core/graph/digraph.h"
#include "core/partition/latency/latency_ranges.h"
#include "core/partition/latency/subgraph_schedule.h"

namespace planwright {
namespace {

// Where the groups of a block that no open accelerator takes are least wrong.
void PlaceAnyhow(const LatencyInstance& instance, int32_t slots_per_pass, const LatencyBlock& block,
                 LatencyAssignment& assignment) {
  for (const int32_t group : block) {
    if (instance.allowed_on_cpu[Index(group)]) continue;
    const std::vector<bool>& allowed = instance.allowed[Index(group)];
    const auto last = std::find(allowed.rbegin(), allowed.rend(), true);
    const auto accelerator = static_cast<int32_t>(allowed.rend() - last) - 1;
    Place(instance, slots_per_pass, {group}, accelerator, assignment);
  }
}

// The dynamic program of SerialLatencyStart.
class SerialProgram {
 public:
  SerialProgram(const LatencyInstance& instance, const std::vector<LatencyBlock>& blocks, Poller& poller)
      : instance_(instance), blocks_(blocks), poller_(poller), loads_(instance) {}

  // False: no cut fits, or there were too many steps.
  bool Run() {
    best_.assign((instance_.accelerators.size() + 1) * (blocks_.size() + 1), {});
    best_.front().sum = 0;
    for (int32_t accelerator = 0; accelerator <= instance_.num_accelerators(); ++accelerator) {
      for (std::size_t position = 0; position < blocks_.size(); ++position) {
        if (StateAt(accelerator, position).sum == kUnreached) continue;
        PutOnCpu(accelerator, position);
        if (accelerator == instance_.num_accelerators()) continue;
        Improve(StateAt(accelerator + 1, position), {StateAt(accelerator, position).sum, position, false});
        if (!CutRanges(accelerator, position)) return false;
      }
      if (accelerator < instance_.num_accelerators()) {
        Improve(StateAt(accelerator + 1, blocks_.size()),
                {StateAt(accelerator, blocks_.size()).sum, blocks_.size(), false});
      }
    }
    return StateAt(instance_.num_accelerators(), blocks_.size()).sum != kUnreached;
  }

  // REQUIRES: Run() returned true.
  LatencyAssignment Assignment(int32_t slots_per_pass) const {
    LatencyAssignment assignment = CpuAssignment(instance_, slots_per_pass);
    int32_t accelerator = instance_.num_accelerators();
    std::size_t position = blocks_.size();
    while (position > 0 || accelerator > 0) {
      const State& state = best_[Position(accelerator, position)];
      if (!state.on_cpu) {
        --accelerator;
        for (std::size_t block = state.from; block < position; ++block) {
          Place(instance_, slots_per_pass, blocks_[block], accelerator, assignment);
        }
      }
      position = state.from;
    }
    return assignment;
  }

 private:
  static constexpr int64_t kUnreached = std::numeric_limits<int64_t>::max();

  // The first `position` blocks are placed, on CPUs and the first `accelerator` accelerators.
  struct State {
    int64_t sum = kUnreached;
    // The last step placed the blocks from here on.
    std::size_t from = 0;
    bool on_cpu = false;
  };

  std::size_t Position(int32_t accelerator, std::size_t position) const {
    return Index(accelerator) * (blocks_.size() + 1) + position;
  }
  State& StateAt(int32_t accelerator, std::size_t position) { return best_[Position(accelerator, position)]; }

  static void Improve(State& state, const State& candidate) {
    if (candidate.sum < state.sum) state = candidate;
  }

  void PutOnCpu(int32_t accelerator, std::size_t position) {
    if (!MayBeOnCpu(instance_, blocks_[position])) return;
    const int64_t sum = StateAt(accelerator, position).sum + CpuTime(instance_, blocks_[position]);
    Improve(StateAt(accelerator, position + 1), {sum, position, true});
  }

  bool CutRanges(int32_t accelerator, std::size_t position) {
    const int64_t before = StateAt(accelerator, position).sum;
    std::size_t end = position;
    while (end < blocks_.size() && MayBeOn(instance_, blocks_[end], accelerator)) {
      loads_.Add(blocks_[end], accelerator);
      ++end;
      if (++steps_ > kMaxSerialSteps || poller_.ShouldStopNow()) return false;
      if (!loads_.Fits(accelerator)) break;
      Improve(StateAt(accelerator + 1, end), {before + loads_.total_duration(), position, false});
    }
    for (std::size_t block = position; block < end; ++block) loads_.Remove(blocks_[block], accelerator);
    return true;
  }

  const LatencyInstance& instance_;
  const std::vector<LatencyBlock>& blocks_;
  Poller& poller_;
  RangeLoads loads_;
  std::vector<State> best_;
  int64_t steps_ = 0;
};

}  // namespace

LatencyAssignment CpuAssignment(const LatencyInstance& instance, int32_t slots_per_pass) {
  LatencyAssignment assignment;
  assignment.places.assign(instance.operators.size(), SubgraphSchedule::kCpu);
  int32_t next_slot = 0;
  for (int32_t accelerator = 0; accelerator < instance.num_accelerators(); ++accelerator) {
    std::vector<int32_t>& sequence = assignment.sequences.emplace_back(Index(instance.num_passes * slots_per_pass));
    std::iota(sequence.begin(), sequence.end(), next_slot);
    next_slot += static_cast<int32_t>(sequence.size());
  }
  return assignment;
}

LatencyAssignment GreedyLatencyStart(const LatencyInstance& instance, int32_t slots_per_pass,
                                     const std::vector<LatencyBlock>& blocks) {
  LatencyAssignment assignment = CpuAssignment(instance, slots_per_pass);
  RangeLoads loads(instance);
  int32_t accelerator = 0;
  const auto takes = [&](const LatencyBlock& block) {
    if (!MayBeOn(instance, block, accelerator)) return false;
    loads.Add(block, accelerator);
    if (loads.Fits(accelerator)) return true;
    loads.Remove(block, accelerator);
    return false;
  };
  for (const LatencyBlock& block : blocks) {
    const int32_t first = accelerator;
    while (accelerator < instance.num_accelerators() && !takes(block)) ++accelerator;
    if (accelerator < instance.num_accelerators()) {
      Place(instance, slots_per_pass, block, accelerator, assignment);
      continue;
    }
    // None takes it: the accelerators that were passed over stay open for the next blocks, behind this one.
    accelerator = std::min(first + 1, instance.num_accelerators());
    PlaceAnyhow(instance, slots_per_pass, block, assignment);
  }
  return assignment;
}

std::optional<LatencyAssignment> SerialLatencyStart(const LatencyInstance& instance, int32_t slots_per_pass,
                                                    const std::vector<LatencyBlock>& blocks, Poller& poller) {
  SerialProgram program(instance, blocks, poller);
  if (!program.Run()) return std::nullopt;
  return program.Assignment(slots_per_pass);
}

std::vector<LatencyBlock> LatencyBlocks(const LatencyInstance& instance) {
  const std::vector<int32_t> block_of_group =
      StronglyConnectedComponents(Digraph(instance.num_groups(), MirroredEdges(instance, instance.group_of)));
  std::vector<LatencyBlock> members;
  for (int32_t group = 0; group < instance.num_groups(); ++group) {
    const std::size_t block = Index(block_of_group[Index(group)]);
    if (block == members.size()) members.emplace_back();
    members[block].push_back(group);
  }
  std::vector<int32_t> block_of(instance.operators.size());
  for (std::size_t vertex = 0; vertex < block_of.size(); ++vertex) {
    block_of[vertex] = block_of_group[Index(instance.group_of[vertex])];
  }
  std::vector<int64_t> priority(members.size());
  for (std::size_t block = 0; block < priority.size(); ++block) priority[block] = -static_cast<int64_t>(block);
  const Digraph order(static_cast<int32_t>(members.size()), MirroredEdges(instance, block_of));
  std::vector<LatencyBlock> blocks;
  for (const int32_t block : DepthFirstTopologicalOrder(order, priority)) {
    blocks.push_back(std::move(members[Index(block)]));
  }
  return blocks;
}

std::vector<LatencyBlock> Reordered(const LatencyInstance& instance, const std::vector<LatencyBlock>& blocks,
                                    RandomStream& random) {
  std::vector<int64_t> priority(blocks.size());
  for (int64_t& value : priority) value = static_cast<int64_t>(random.Next() >> 1U);
  const Digraph order(static_cast<int32_t>(blocks.size()), MirroredEdges(instance, BlockPositions(instance, blocks)));
  return Mapped(DepthFirstTopologicalOrder(order, priority), [&](const int32_t block) { return blocks[Index(block)]; });
}

}  // namespace planwright
