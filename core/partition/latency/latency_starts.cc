#include "core/partition/latency/latency_starts.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <numeric>
#include <optional>
#include <queue>
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

// Work of adding a block to a range, and of judging the range for one partial plan.
constexpr int64_t kBlockWork = 12;
constexpr int64_t kPlanWork = 3;
// How much wider the beam gets while there is work left.
constexpr std::size_t kWidthGrowth = 4;

// A result that later blocks wait for.
struct OpenResult {
  int32_t block;
  int64_t ready;
};

struct PartialPlan {
  // The least latency that any completion has.
  int64_t latency = 0;
  int64_t total_duration = 0;
  // Ascending by block.
  std::vector<OpenResult> open;
  // Position in the history of how it came to be.
  int32_t history = -1;

  bool IsBetterThan(int64_t other_latency, int64_t other_duration) const {
    return std::pair(latency, total_duration) < std::pair(other_latency, other_duration);
  }
};

// The last step of a partial plan: blocks [from, to) went to `accelerator` (kCpu: the CPUs).
struct Step {
  int32_t previous;
  int32_t accelerator;
  std::size_t from;
  std::size_t to;
};

class Beam {
 public:
  Beam(const LatencyInstance& instance, const std::vector<LatencyBlock>& blocks, std::size_t width, int64_t max_work,
       Poller& poller)
      : instance_(instance), blocks_(blocks), width_(width), max_work_(max_work), poller_(poller), loads_(instance) {
    const std::vector<int32_t> position_of = BlockPositions(instance, blocks);
    const auto num_blocks = static_cast<int32_t>(blocks.size());
    edges_ = Digraph(num_blocks, MirroredEdges(instance, position_of));
    ways_to_end_.assign(blocks.size(), 0);
    last_reader_.assign(blocks.size(), 0);
    for (int32_t block = num_blocks - 1; block >= 0; --block) {
      for (const int32_t reader : edges_.successors(block)) {
        if (reader == block) continue;
        last_reader_[Index(block)] = std::max(last_reader_[Index(block)], reader);
        ways_to_end_[Index(block)] = std::max(ways_to_end_[Index(block)], ways_to_end_[Index(reader)]);
      }
      ways_to_end_[Index(block)] += LeastTime(blocks[Index(block)]);
    }
  }

  // False: nothing fits, it is too much work, or interrupted.
  bool Run() {
    cells_.assign(blocks_.size() + 1, {});
    cells_.front().emplace_back();
    for (int32_t accelerator = 0;; ++accelerator) {
      for (std::size_t position = 0; position < blocks_.size(); ++position) PutOnCpu(position);
      if (accelerator == instance_.num_accelerators()) break;
      next_cells_ = cells_;
      for (std::size_t position = 0; position < blocks_.size(); ++position) {
        if (!cells_[position].empty() && !CutRanges(accelerator, position)) return false;
      }
      cells_.swap(next_cells_);
    }
    return work_ <= max_work_ && !cells_.back().empty();
  }

  int64_t work() const { return work_; }

  // REQUIRES: Run() returned true.
  LatencyAssignment Assignment(int32_t slots_per_pass) const {
    LatencyAssignment assignment = CpuAssignment(instance_, slots_per_pass);
    for (int32_t step = cells_.back().front().history; step >= 0; step = history_[Index(step)].previous) {
      const Step& last = history_[Index(step)];
      for (std::size_t block = last.from; block < last.to; ++block) {
        Place(instance_, slots_per_pass, blocks_[block], last.accelerator, assignment);
      }
    }
    return assignment;
  }

 private:
  // The best plans of a cell, best first.
  using Cell = std::vector<PartialPlan>;

  // 0 where nothing can run the block, and there is no plan.
  int64_t LeastTime(const LatencyBlock& block) const {
    constexpr int64_t kNowhere = std::numeric_limits<int64_t>::max();
    int64_t least = MayBeOnCpu(instance_, block) ? CpuTime(instance_, block) : kNowhere;
    for (const DevicePool& pool : instance_.pools) {
      int64_t time = 0;
      for (const int32_t group : block) {
        for (const int32_t vertex : instance_.groups[Index(group)]) time += pool.time[Index(vertex)];
      }
      least = std::min(least, time);
    }
    return least == kNowhere ? 0 : least;
  }

  // When the results that block `position` reads of those before `begin` are ready.
  int64_t InputsOf(std::size_t position, std::size_t begin, const PartialPlan& plan) const {
    int64_t ready = 0;
    for (const int32_t source : edges_.predecessors(static_cast<int32_t>(position))) {
      if (Index(source) >= begin) continue;
      const auto open = std::lower_bound(plan.open.begin(), plan.open.end(), source,
                                         [](const OpenResult& result, int32_t block) { return result.block < block; });
      ready = std::max(ready, open->ready);
    }
    return ready;
  }

  // The plan after blocks [begin, end), all ready at `ready`, if it is among the best of its cell.
  void Offer(Cell& cell, const PartialPlan& plan, int32_t accelerator, std::size_t begin, std::size_t end,
             int64_t ready, int64_t way_to_end, int64_t duration) {
    const int64_t latency = std::max(plan.latency, ready + way_to_end);
    const int64_t total = plan.total_duration + duration;
    const auto place = std::find_if(cell.begin(), cell.end(),
                                    [&](const PartialPlan& other) { return !other.IsBetterThan(latency, total); });
    if (static_cast<std::size_t>(place - cell.begin()) == width_) return;
    // Equal plans would fill the beam.
    if (place != cell.end() && place->latency == latency && place->total_duration == total) return;
    PartialPlan better{latency, total, {}, static_cast<int32_t>(history_.size())};
    for (const OpenResult& result : plan.open) {
      if (Index(last_reader_[Index(result.block)]) >= end) better.open.push_back(result);
    }
    for (std::size_t block = begin; block < end; ++block) {
      if (Index(last_reader_[block]) >= end) better.open.push_back({static_cast<int32_t>(block), ready});
    }
    history_.push_back({plan.history, accelerator, begin, end});
    cell.insert(place, std::move(better));
    if (cell.size() > width_) cell.pop_back();
  }

  // Blocks that read a range, by their way to the end.
  using Readers = std::priority_queue<std::pair<int64_t, int32_t>>;

  void AddReadersOf(std::size_t block, Readers& readers) const {
    for (const int32_t reader : edges_.successors(static_cast<int32_t>(block))) {
      readers.emplace(ways_to_end_[Index(reader)], reader);
    }
  }
  // The longest way from one of the readers from block `end` on; drops those before.
  static int64_t WayFrom(Readers& readers, std::size_t end) {
    while (!readers.empty() && Index(readers.top().second) < end) readers.pop();
    return readers.empty() ? 0 : readers.top().first;
  }

  void PutOnCpu(std::size_t position) {
    if (!MayBeOnCpu(instance_, blocks_[position])) return;
    const int64_t time = CpuTime(instance_, blocks_[position]);
    Readers readers;
    AddReadersOf(position, readers);
    const int64_t way_to_end = WayFrom(readers, position + 1);
    for (const PartialPlan& plan : cells_[position]) {
      const int64_t ready = InputsOf(position, position, plan) + time;
      Offer(cells_[position + 1], plan, SubgraphSchedule::kCpu, position, position + 1, ready, way_to_end, time);
    }
    work_ += kPlanWork * static_cast<int64_t>(cells_[position].size());
  }

  // Ranges from `position` on `accelerator`. False: too much work, or interrupted.
  bool CutRanges(int32_t accelerator, std::size_t position) {
    const Cell& cell = cells_[position];
    std::vector<int64_t> starts(cell.size(), 0);
    Readers readers;
    std::size_t end = position;
    while (end < blocks_.size() && MayBeOn(instance_, blocks_[end], accelerator)) {
      if (work_ > max_work_ || poller_.ShouldStop()) return false;
      loads_.Add(blocks_[end], accelerator);
      AddReadersOf(end, readers);
      for (std::size_t i = 0; i < cell.size(); ++i) {
        starts[i] = std::max(starts[i], InputsOf(end, position, cell[i]));
      }
      work_ += kBlockWork + kPlanWork * static_cast<int64_t>(cell.size());
      ++end;
      if (!loads_.Fits(accelerator)) break;
      const int64_t way_to_end = WayFrom(readers, end);
      const int64_t duration = loads_.total_duration();
      for (std::size_t i = 0; i < cell.size(); ++i) {
        Offer(next_cells_[end], cell[i], accelerator, position, end, starts[i] + duration, way_to_end, duration);
      }
    }
    for (std::size_t block = position; block < end; ++block) loads_.Remove(blocks_[block], accelerator);
    return true;
  }

  const LatencyInstance& instance_;
  const std::vector<LatencyBlock>& blocks_;
  const std::size_t width_;
  const int64_t max_work_;
  Poller& poller_;
  RangeLoads loads_;
  Digraph edges_;
  // By block: the least time from its start to the end of everything behind it, and the last block that reads it (0:
  // none).
  std::vector<int64_t> ways_to_end_;
  std::vector<int32_t> last_reader_;
  // By position, for the accelerators so far and with one more.
  std::vector<Cell> cells_;
  std::vector<Cell> next_cells_;
  std::vector<Step> history_;
  int64_t work_ = 0;
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
  const Digraph order(static_cast<int32_t>(members.size()), MirroredEdges(instance, block_of));
  std::vector<LatencyBlock> blocks;
  for (const int32_t block : AnyTopologicalOrder(order)) {
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

std::optional<LatencyAssignment> BeamLatencyStart(const LatencyInstance& instance, int32_t slots_per_pass,
                                                  const std::vector<LatencyBlock>& blocks, int64_t max_work,
                                                  Poller& poller, int64_t& work) {
  std::optional<LatencyAssignment> best;
  for (std::size_t width = 1; width <= kMaxBeamWidth; width *= kWidthGrowth) {
    Beam beam(instance, blocks, width, max_work, poller);
    const bool is_found = beam.Run();
    work += beam.work();
    max_work -= beam.work();
    if (!is_found) break;
    best = beam.Assignment(slots_per_pass);
    if (max_work < static_cast<int64_t>(kWidthGrowth) * beam.work()) break;
  }
  return best;
}

}  // namespace planwright
