#include "core/schedule/order_expansion.h"

#include <algorithm>
#include <cstddef>

#include "core/base/index.h"

namespace planwright {
namespace {

constexpr int32_t kNone = -1;

}  // namespace

OrderExpansion::OrderExpansion(const PipelineWork& work, const TaskNumbers& numbers, const TaskList& list)
    : work_(work),
      numbers_(numbers),
      list_(list),
      before_(2 * work.stages.size() + work.transfers.size()),
      after_(before_.size()),
      placed_(list.tasks.size()) {
  for (const Precedence& edge : work.precedences) {
    before_[Index(edge.after)].push_back(edge.before);
    after_[Index(edge.before)].push_back(edge.after);
  }
}

std::vector<int32_t> OrderExpansion::Expand(const PassOrder& passes,
                                            const absl::flat_hash_map<int32_t, int32_t>& followers) {
  std::vector<int32_t> order;
  for (const PassTask& pass : passes) {
    const int32_t task = numbers_.OfPass(pass);
    const int32_t device = list_.tasks[Index(task)].resource;
    const int32_t piece = PieceOf(pass);
    if (piece != kNone) {
      for (const int32_t other : before_[Index(piece)]) {
        if (IsOnDevice(other, pass.micro_batch, device)) PlaceReceive(other, pass.micro_batch, order);
      }
    }
    order.push_back(task);
    placed_[Index(task)] = true;
    if (piece != kNone) {
      for (const int32_t other : after_[Index(piece)]) {
        if (IsOnDevice(other, pass.micro_batch, device)) PlaceSend(other, pass.micro_batch, order);
      }
    }
    const auto follower = followers.find(task);
    if (follower != followers.end()) order.push_back(follower->second);
  }
  return order;
}

int32_t OrderExpansion::PieceOf(const PassTask& pass) const {
  switch (pass.kind) {
    case TaskKind::kForward:
      return pass.stage;
    case TaskKind::kBackward:
    case TaskKind::kBackwardInput:
      return static_cast<int32_t>(work_.stages.size()) + pass.stage;
    default:
      return kNone;
  }
}

void OrderExpansion::PlaceReceive(int32_t transfer, int32_t micro_batch, std::vector<int32_t>& order) {
  const int32_t task = numbers_.OfPiece(transfer, micro_batch);
  if (placed_[Index(task)]) return;
  placed_[Index(task)] = true;
  order.push_back(task);
}

void OrderExpansion::PlaceSend(int32_t transfer, int32_t micro_batch, std::vector<int32_t>& order) {
  const std::vector<int32_t>& passes = before_[Index(transfer)];
  const bool is_complete = std::all_of(
      passes.begin(), passes.end(), [&](int32_t pass) { return placed_[Index(numbers_.OfPiece(pass, micro_batch))]; });
  if (is_complete) order.push_back(numbers_.OfPiece(transfer, micro_batch));
}

bool OrderExpansion::IsOnDevice(int32_t piece, int32_t micro_batch, int32_t device) const {
  if (Index(piece) < 2 * work_.stages.size()) return false;
  return list_.tasks[Index(numbers_.OfPiece(piece, micro_batch))].resource == device;
}

}  // namespace planwright
