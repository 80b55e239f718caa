#include "core/schedule/pass_order.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "core/base/index.h"

namespace planwright {
namespace {

// What stands for a micro-batch in the round of `per_round` passes of an interleaved device: stages take turns, each
// with `devices` micro-batches.
PassTask InterleavedPass(TaskKind kind, int32_t position, int32_t device, int32_t devices, int32_t stages_per_device) {
  const int32_t per_round = devices * stages_per_device;
  const int32_t turn = position % per_round / devices;
  const int32_t chunk = kind == TaskKind::kForward ? turn : stages_per_device - 1 - turn;
  return {kind, chunk * devices + device, position / per_round * devices + position % devices};
}

}  // namespace

PassOrder GpipeOrder(int32_t stage, std::span<const int32_t> micro_batches, bool training) {
  PassOrder order;
  for (const int32_t micro_batch : micro_batches) order.push_back({TaskKind::kForward, stage, micro_batch});
  if (!training) return order;
  for (std::size_t i = micro_batches.size(); i > 0; --i) {
    order.push_back({TaskKind::kBackward, stage, micro_batches[i - 1]});
  }
  return order;
}

PassOrder OneFOneBOrder(int32_t stage, std::span<const int32_t> micro_batches, int32_t in_flight, bool training) {
  if (!training) return GpipeOrder(stage, micro_batches, training);
  PassOrder order;
  const std::size_t ahead = std::min(Index(in_flight), micro_batches.size());
  for (std::size_t i = 0; i < micro_batches.size() + ahead; ++i) {
    if (i >= ahead) order.push_back({TaskKind::kBackward, stage, micro_batches[i - ahead]});
    if (i < micro_batches.size()) order.push_back({TaskKind::kForward, stage, micro_batches[i]});
  }
  return order;
}

PassOrder ZeroBubbleOrder(int32_t stage, std::span<const int32_t> micro_batches, int32_t in_flight, int32_t lag) {
  PassOrder order;
  std::size_t backward = 0;
  for (const PassTask& pass : OneFOneBOrder(stage, micro_batches, in_flight, /*training=*/true)) {
    if (pass.kind == TaskKind::kForward) {
      order.push_back(pass);
      continue;
    }
    order.push_back({TaskKind::kBackwardInput, stage, pass.micro_batch});
    if (backward >= Index(lag)) {
      order.push_back({TaskKind::kBackwardWeight, stage, micro_batches[backward - Index(lag)]});
    }
    ++backward;
  }
  for (std::size_t i = backward - std::min(backward, Index(lag)); i < backward; ++i) {
    order.push_back({TaskKind::kBackwardWeight, stage, micro_batches[i]});
  }
  return order;
}

PassOrder InterleavedOrder(int32_t device, int32_t devices, int32_t stages_per_device, int32_t micro_batches,
                           bool training) {
  const int32_t passes = micro_batches * stages_per_device;
  const int32_t warm_up = 2 * (devices - 1 - device) + (stages_per_device - 1) * devices;
  // As 1F1B: a forward pass before each backward pass until none are left.
  const int32_t ahead = training ? std::min(warm_up + 1, passes) : passes;
  PassOrder order;
  for (int32_t i = 0; i < (training ? passes + ahead : passes); ++i) {
    if (i >= ahead) {
      order.push_back(InterleavedPass(TaskKind::kBackward, i - ahead, device, devices, stages_per_device));
    }
    if (i < passes) order.push_back(InterleavedPass(TaskKind::kForward, i, device, devices, stages_per_device));
  }
  return order;
}

int32_t ChimeraCopy(int32_t stages, int32_t micro_batch) { return micro_batch % stages < stages / 2 ? 0 : 1; }

PassOrder ChimeraOrder(int32_t device, int32_t stages, int32_t micro_batches, bool training) {
  std::vector<std::pair<int64_t, PassTask>> slots;
  for (int32_t micro_batch = 0; micro_batch < micro_batches; ++micro_batch) {
    const int32_t copy = ChimeraCopy(stages, micro_batch);
    const int32_t stage = copy == 0 ? device : stages - 1 - device;
    const int64_t length = 2 * int64_t{stages};
    const int64_t place = micro_batch % stages - copy * (stages / 2);
    const int64_t start = micro_batch / stages * length + 2 * place;
    slots.push_back({start + stage, {TaskKind::kForward, stage, micro_batch}});
    if (!training) continue;
    slots.push_back({start + length - 1 - stage, {TaskKind::kBackward, stage, micro_batch}});
  }
  std::sort(slots.begin(), slots.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  PassOrder order;
  for (const auto& [slot, pass] : slots) order.push_back(pass);
  return order;
}

}  // namespace planwright
