// A planning problem as the annealing of pipelines looks at it: numbers of blocks and devices, looked up in O(1).
//
// Blocks are those of block_instance.h, operators that no contiguous stages can part. Tensors between the same blocks
// in the same pass are one *net*. Nothing is simplified: a pipeline costs what core/cost says of its placement.
#ifndef PLANWRIGHT_CORE_PARTITION_STAGE_ANNEALING_PIPELINE_TABLES_H_
#define PLANWRIGHT_CORE_PARTITION_STAGE_ANNEALING_PIPELINE_TABLES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/base/index.h"
#include "core/base/units.h"
#include "core/cost/device_load.h"
#include "core/cost/pipeline_fill.h"
#include "core/cost/terms/memory_form.h"
#include "core/cost/terms/transfer.h"
#include "core/graph/digraph.h"
#include "core/model/problem.h"
#include "core/partition/search/search.h"

namespace planwright {

struct PipelineStage {
  // Ascending.
  std::vector<int32_t> blocks;
  // The devices of replica 0, 1, ...
  std::vector<int32_t> devices;
  // The devices in the order of the all-reduce ring; empty where every order is alike.
  std::vector<int32_t> ring;
};

// Stages in pipeline order, none of them empty.
struct Pipeline {
  std::vector<PipelineStage> stages;
};

// Tensors of one pass from one block to others.
struct BlockNet {
  int32_t producer = 0;
  // Other than the producer, ascending.
  std::vector<int32_t> consumers;
  Pass pass = Pass::kForward;
  // The sum over all tensors.
  int64_t bytes = 0;
  std::vector<TensorId> tensors;
};

// A limit on the devices of some classes.
struct ClassLimit {
  // By class.
  std::vector<bool> counts;
  int64_t most = 0;
};

// Immutable; any thread. Memory: O(blocks x (classes + devices where pins and bans say so) + nets x link classes, while
// that is below some millions + devices^2, while they are at most some thousand).
class PipelineTables {
 public:
  // The request outlives it. O(that of BuildBlockInstance + the memory).
  explicit PipelineTables(const SearchRequest& request);

  const ResolvedProblem& problem() const { return problem_; }
  const Network& network() const { return network_; }
  int32_t num_blocks() const { return static_cast<int32_t>(operators_.size()); }
  int32_t num_devices() const { return static_cast<int32_t>(class_of_.size()); }
  int32_t num_classes() const { return num_classes_; }
  // Edges between blocks whose order is fixed; blocks are numbered along them.
  const Digraph& precedence() const { return precedence_; }

  int32_t class_of(int32_t device) const { return class_of_[Index(device)]; }
  bool is_cpu(int32_t device_class) const { return is_cpu_[Index(device_class)]; }
  int64_t memory_limit(int32_t device) const { return memory_limit_[Index(device)]; }
  // What a stage needs of a limited memory may depend on its place in the pipeline.
  bool memory_varies() const { return memory_varies_; }
  const std::vector<ClassLimit>& class_limits() const { return class_limits_; }

  // Time of the block on the class: compute of each pass.
  struct Times {
    Picoseconds forward{0};
    Picoseconds backward{0};
    bool supported = true;
  };
  const Times& time(int32_t block, int32_t device_class) const {
    return times_[Index(block) * Index(num_classes_) + Index(device_class)];
  }
  // Whether pins and bans leave the block any device of the cluster.
  bool is_restricted(int32_t block) const { return !allowed_[Index(block)].empty(); }
  // REQUIRES: is_restricted(block).
  bool is_allowed(int32_t block, int32_t device) const { return allowed_[Index(block)][Index(device)]; }
  // What a block adds to the memory of its stage, and to its all-reduce.
  const MemoryParts& memory(int32_t block) const { return memory_[Index(block)]; }
  int64_t parameter_bytes(int32_t block) const { return parameter_bytes_[Index(block)]; }
  const MemoryForm& memory_form() const { return memory_form_; }

  const BlockNet& net(int32_t net) const { return nets_[Index(net)]; }
  int32_t num_nets() const { return static_cast<int32_t>(nets_.size()); }
  // Nets that the block produces, and that it consumes.
  const std::vector<int32_t>& produced(int32_t block) const { return produced_[Index(block)]; }
  const std::vector<int32_t>& consumed(int32_t block) const { return consumed_[Index(block)]; }
  Picoseconds TransferTime(int32_t net, std::size_t link_class) const;

  // REQUIRES: two different devices.
  std::size_t LinkClassOf(int32_t a, int32_t b) const;
  // All pairs of devices are connected alike.
  bool links_are_alike() const { return network_.num_link_classes() <= 1; }
  // host_staged: a device pays once for a tensor, CPUs never.
  bool pays_once() const { return pays_once_; }
  // Forward tensors bring back gradients.
  bool gradients_follow() const { return gradients_follow_; }
  // Whether the time of an all-reduce depends on the order of its ring (gradients are reduced over unlike links), and
  // the problem leaves that order free.
  bool orders_rings() const;

  // Every stage has this number of replicas.
  std::optional<int32_t> fixed_replicas() const;
  // All stages have equally many replicas.
  bool has_equal_replicas() const;

  Placement PlacementOf(const Pipeline& pipeline) const;
  // nullopt: the placement tears blocks apart, or lists its stages in another order than that of the pipeline.
  std::optional<Pipeline> PipelineOf(const Placement& placement) const;

 private:
  void AddBlocks(const SearchRequest& request);
  void AddNets(const SearchRequest& request);
  void AddDevices(const SearchRequest& request);

  const OperatorGraph& graph_;
  const ResolvedProblem& problem_;
  const Network& network_;
  const bool pays_once_;
  const bool gradients_follow_;
  const MemoryForm memory_form_;
  int32_t num_classes_ = 0;
  std::vector<std::vector<OperatorId>> operators_;
  std::vector<int32_t> block_of_;
  Digraph precedence_;
  std::vector<Times> times_;
  std::vector<std::vector<bool>> allowed_;
  std::vector<MemoryParts> memory_;
  std::vector<int64_t> parameter_bytes_;
  std::vector<BlockNet> nets_;
  std::vector<std::vector<int32_t>> produced_;
  std::vector<std::vector<int32_t>> consumed_;
  // [net][link class]; empty where there are too many.
  std::vector<Picoseconds> net_times_;
  std::vector<int32_t> class_of_;
  std::vector<bool> is_cpu_;
  std::vector<int64_t> memory_limit_;
  bool memory_varies_ = false;
  std::vector<ClassLimit> class_limits_;
  // [device][device]; empty where there are too many.
  std::vector<uint32_t> link_classes_;
};

// What a pipeline costs, from what its stages cost.
// One stage on its devices.
struct PipelineStageCosts {
  // What a replica would spend that did every micro-batch: the greatest of each phase.
  PhaseLoads undivided;
  // What a replica spends, in the limit of many micro-batches.
  PhaseLoads replica;
  Picoseconds allreduce{0};
  StageTurns turns;
  // Memory without activations, activations of one micro-batch, and what the smallest device has.
  int64_t fixed_bytes = 0;
  int64_t kept_bytes = 0;
  int64_t limit_bytes = 0;
  // Pairs of a block and a device that do not go together.
  int64_t misplaced = 0;
};

struct PipelineCosts {
  Picoseconds objective{0};
  // The objective with a norm in place of the greatest load: it knows of every stage, the busiest first. Picoseconds.
  double smooth = 0;
  // Bytes beyond the limits, as shares of the limits.
  double overflow = 0;
  int64_t misplaced = 0;
  // Position of the busiest stage.
  std::size_t busiest = 0;
};

// For one thread; the problem outlives it.
class PipelineCosting {
 public:
  // `memory_varies`: that of a stage depends on its place.
  PipelineCosting(const ResolvedProblem& problem, const TransferTurns& turns, bool memory_varies)
      : problem_(problem), turns_(turns), memory_varies_(memory_varies) {}

  // REQUIRES: at least one stage. O(stages).
  PipelineCosts CostsOf(std::span<const PipelineStageCosts* const> stages);

 private:
  // What each phase of the stage counts in the objective: the load of a replica, or what it makes of a step.
  PhaseLoads LoadsOf(const PipelineStageCosts& stage) const;
  void AddMemory(std::span<const PipelineStageCosts* const> stages, PipelineCosts& costs) const;

  const ResolvedProblem& problem_;
  const TransferTurns turns_;
  const bool memory_varies_;
  // Turns of the pipeline that is being costed, where micro-batches are counted.
  std::vector<StageTurns> stage_turns_;
  StepTurns step_;
};

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_PARTITION_STAGE_ANNEALING_PIPELINE_TABLES_H_
