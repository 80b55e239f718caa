// What one micro-batch makes the devices of a plan do, as schedules need it: the passes of the stages, the transfers
// between them, and what waits for what.
//
// The charges are those of traffic.h, but as pieces of work of their own rather than sums:
//   host_staged        a stage copies all that leaves its device in a pass to host memory, once; each device that
//                      consumes it copies it from there. Gradients go the other way: every consumer copies its own, the
//                      producer copies their sum. CPUs copy nothing.
//   uniform, hierarchy one transfer for each pair of stages and direction, of the tensors that the device of the
//                      consumer needs from that stage. Where transfers occupy devices (SERIAL) it is two pieces, first
//                      of the sender, then of the receiver, as the cost model charges both.
#ifndef PLANWRIGHT_CORE_COST_PIPELINE_WORK_H_
#define PLANWRIGHT_CORE_COST_PIPELINE_WORK_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/base/ids.h"
#include "core/base/units.h"
#include "core/cost/terms/cost_table.h"
#include "core/cost/terms/transfer.h"
#include "core/model/cluster.h"
#include "core/model/graph.h"
#include "core/model/plan.h"
#include "core/model/problem.h"
#include "core/model/task_list.h"

namespace planwright {

// One stage, for one micro-batch.
struct StageWork {
  Picoseconds forward{0};
  // The whole backward pass, and its part that a zero-bubble schedule may delay.
  Picoseconds backward{0};
  Picoseconds backward_weight{0};
  // Kept from the start of the forward to the end of the backward pass.
  int64_t stored_bytes = 0;
  // With recomputation instead: what the stage receives and what its Input operators make is kept, and while the
  // backward pass runs also what its largest operator stores.
  int64_t received_bytes = 0;
  int64_t largest_stored_bytes = 0;
  // Positions in PipelineWork::devices, one for each copy of the stage.
  std::vector<int32_t> devices;
  // Time of the all-reduce between the copies.
  Picoseconds allreduce{0};
  // Stage::transfer_slots.
  int32_t transfer_slots = 0;
};

// What a transfer takes over links of one class (Network).
struct ClassTime {
  std::size_t link_class = 0;
  Picoseconds time{0};
};

// One transfer, for one micro-batch.
struct TransferWork {
  static constexpr int32_t kHost = -1;

  // REQUIRES: two copies of the stages for one micro-batch are connected by a link of this class. O(log).
  Picoseconds TimeOver(std::size_t link_class) const;
  Picoseconds LongestTime() const;

  // kSendForward, kReceiveForward, kSendBackward or kReceiveBackward.
  TaskKind kind = TaskKind::kSendForward;
  // The stage at this end, and at the other one: kHost is host memory.
  int32_t stage = 0;
  int32_t peer = kHost;
  // Times over the links between the copies that any micro-batch visits, by class: a cluster may have a class for every
  // pair of devices. Class 0 stands for the link to host memory, where one end is that.
  std::vector<ClassTime> times;
};

struct PipelineDevice {
  DeviceId id;
  std::string name;
  // What does not depend on micro-batches in flight: weights, workspace, buffers of transfers.
  int64_t static_bytes = 0;
};

// Pieces of work are numbered: the forward pass of stage s is s, its backward pass stages + s, transfer i is
// 2 x stages + i.
struct PipelineWork {
  explicit PipelineWork(Network of) : network(std::move(of)) {}

  std::vector<StageWork> stages;
  std::vector<TransferWork> transfers;
  // Beside these a backward pass waits for the forward pass of its stage.
  std::vector<Precedence> precedences;
  // In the order of the cluster.
  std::vector<PipelineDevice> devices;
  Network network;
  Overlap overlap = Overlap::kSerial;
  // Transfers are copies to host memory and from there.
  bool through_host = false;
  // false for INFERENCE: there are no backward passes.
  bool training = true;
};

// REQUIRES: `plan` comes from CostPlan for the graph, the cluster and `costs`; host_staged, uniform or hierarchy; not
// MIN_LATENCY. O(operators + tensor ends x links between the copies of two stages, log).
PipelineWork MeasurePipelineWork(const OperatorGraph& graph, const Cluster& cluster, const CostTable& costs,
                                 const Plan& plan);

// As above, with every stage on two devices: its own and, for a pipeline in the opposite direction, that of the stage
// with the mirrored number; they reduce their gradients.
// REQUIRES: also, as many devices as stages, all of one class; for TRAINING an interconnect with a bandwidth.
PipelineWork MeasureBidirectionalWork(const OperatorGraph& graph, const Cluster& cluster, const CostTable& costs,
                                      const Plan& plan);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_COST_PIPELINE_WORK_H_
