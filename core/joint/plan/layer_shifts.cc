#include "core/joint/plan/layer_shifts.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "core/joint/cost/stage_cost.h"

namespace planwright {
namespace {

// Plans that are costed.
constexpr int64_t kMostLooks = 4'000;

class LayerShifter {
 public:
  LayerShifter(const PlaceQuestion& question, Poller& poller, PlacedPlan& placed)
      : question_(question), poller_(poller), row_(placed.cluster), best_(placed.plan) {}

  void Run() {
    if (!CanShift()) return;
    while (looks_ < kMostLooks && ImproveOnce()) {
    }
  }

 private:
  bool CanShift() const {
    const JointStage& first = best_.stages.front();
    const int32_t number = row_.ClassOf(first.first_slot);
    return std::all_of(best_.stages.begin(), best_.stages.end(), [&](const JointStage& stage) {
      return stage.chunks.size() == 1 && stage.degrees == first.degrees && row_.ClassOf(stage.first_slot) == number;
    });
  }

  // Makes the best of all moves; false: none helps.
  bool ImproveOnce() {
    const JointPlan before = best_;
    const std::size_t longest = LongestStage();
    for (std::size_t s = 0; s < before.stages.size(); ++s) {
      if (s + 1 < before.stages.size()) {
        Try(before, s, s + 1);
        Try(before, s + 1, s);
      }
      if (s != longest) Try(before, longest, s);
    }
    return best_.step < before.step;
  }

  std::size_t LongestStage() const {
    const auto longest =
        std::max_element(best_.stages.begin(), best_.stages.end(), [](const JointStage& a, const JointStage& b) {
          return a.forward + a.backward + a.transfers < b.forward + b.backward + b.transfers;
        });
    return static_cast<std::size_t>(longest - best_.stages.begin());
  }

  // Tries one layer less in stage `from` and one more in `to`; those between hand theirs on.
  void Try(const JointPlan& before, std::size_t from, std::size_t to) {
    if (before.stages[from].chunks.front().recomputation.size() < 2) return;
    if (poller_.ShouldStop(static_cast<int64_t>(before.stages.size()) * 512)) return;
    JointPlan moved = before;
    for (std::size_t s = from; s < to; ++s) HandOn(moved.stages[s].chunks.front(), moved.stages[s + 1].chunks.front());
    for (std::size_t s = from; s > to; --s)
      HandBack(moved.stages[s - 1].chunks.front(), moved.stages[s].chunks.front());
    ++looks_;
    CostJointPlan(question_.pricer, row_, question_.reserved_bytes, moved);
    if (moved.step < best_.step && IsHeld(row_, question_.reserved_bytes, moved)) best_ = std::move(moved);
  }

  static void HandOn(JointChunk& front, JointChunk& behind) {
    behind.recomputation.insert(behind.recomputation.begin(), front.recomputation.back());
    front.recomputation.pop_back();
    --behind.first_layer;
  }

  static void HandBack(JointChunk& front, JointChunk& behind) {
    front.recomputation.push_back(behind.recomputation.front());
    behind.recomputation.erase(behind.recomputation.begin());
    ++behind.first_layer;
  }

  const PlaceQuestion& question_;
  Poller& poller_;
  const DeviceRow row_;
  JointPlan& best_;
  int64_t looks_ = 0;
};

}  // namespace

void ShiftLayers(const PlaceQuestion& question, Poller& poller, PlacedPlan& placed) {
  LayerShifter(question, poller, placed).Run();
}

}  // namespace planwright
