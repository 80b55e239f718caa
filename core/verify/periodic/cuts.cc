#include "core/verify/periodic/cuts.h"

#include <algorithm>
#include <cstddef>

#include "core/verify/facts/links.h"

namespace planwright {
namespace {

// Stages from the first to the last that a tensor visits.
struct Reach {
  std::size_t first = 0;
  std::size_t last = 0;
};

Reach ReachOf(const Tensor& tensor, const Assignment& assignment) {
  const std::size_t origin = assignment.stage_index(tensor.producer);
  Reach reach{origin, origin};
  for (const OperatorId consumer : tensor.consumers) {
    if (!assignment.places(consumer)) continue;
    reach.first = std::min(reach.first, assignment.stage_index(consumer));
    reach.last = std::max(reach.last, assignment.stage_index(consumer));
  }
  return reach;
}

// Times cross one by one; what a tensor adds is added where it sets out and taken back where it has arrived.
class CutSums {
 public:
  explicit CutSums(std::size_t num_stages) : changes_(num_stages) {}

  void Add(std::size_t first_stage, std::size_t last_stage, const JudgedCut& what) {
    if (first_stage == last_stage) return;
    Change(changes_[first_stage], what, 1);
    Change(changes_[last_stage], what, -1);
  }

  std::vector<JudgedCut> Sums() const {
    std::vector<JudgedCut> cuts;
    JudgedCut running;
    for (std::size_t stage = 0; stage + 1 < changes_.size(); ++stage) {
      Change(running, changes_[stage], 1);
      cuts.push_back(running);
    }
    return cuts;
  }

 private:
  static void Change(JudgedCut& cut, const JudgedCut& what, int64_t sign) {
    cut.forward += sign * what.forward;
    cut.backward += sign * what.backward;
    cut.bytes += sign * what.bytes;
    cut.forward_bytes += sign * what.forward_bytes;
  }

  std::vector<JudgedCut> changes_;
};

}  // namespace

std::vector<JudgedCut> CutsOf(const ResolvedInput& input, const Assignment& assignment) {
  const bool gradients_return = input.problem.workload == Workload::kTraining && !HasBackwardOperators(input.graph);
  JudgedLinks links(input.cluster.interconnect, input.cluster.devices.size());
  CutSums sums(assignment.stages.size());
  for (const Tensor& tensor : input.graph.tensors) {
    if (!assignment.places(tensor.producer)) continue;
    const Reach reach = ReachOf(tensor, assignment);
    if (reach.first == reach.last) continue;
    // Every pair of devices is connected alike.
    const Picoseconds time = links.TransferBetween(tensor, DeviceId(0), DeviceId(1));
    const Picoseconds no_time(0);
    const std::size_t origin = assignment.stage_index(tensor.producer);
    // A gradient goes back, whichever way it is listed.
    const bool is_gradient = input.graph.operators[tensor.producer.index()].pass == Pass::kBackward;
    const std::size_t turn = is_gradient ? reach.last : origin;
    sums.Add(turn, reach.last, {time, gradients_return ? time : no_time, tensor.size_bytes, tensor.size_bytes});
    sums.Add(reach.first, turn, {no_time, time, tensor.size_bytes, 0});
  }
  return sums.Sums();
}

}  // namespace planwright
