#include "core/joint/roundrobin/again_choice.h"

#include <algorithm>
#include <cstddef>

namespace planwright {
namespace {

constexpr int kMostNodes = 10'000;
__extension__ using Wide = __int128;

// Branch and bound in the order of time per byte; what is left is bounded by taking the last item in part.
class Knapsack {
 public:
  Knapsack(std::vector<AgainItem> items, int64_t most_ps, AgainAim aim, Poller& poller)
      : items_(std::move(items)), most_ps_(most_ps), aim_(aim), poller_(poller) {
    std::sort(items_.begin(), items_.end(), SavesCheaper);
  }

  AgainChoice Run(int64_t needed_bytes) {
    Branch(0, needed_bytes, 0);
    return {.operators = std::move(best_), .is_certain = is_certain_};
  }

 private:
  // Whether `needed` more bytes from `item` on may take no longer than what is left.
  bool MayFit(std::size_t item, int64_t needed, int64_t spent_ps) {
    int64_t left_ps = most_ps_ - spent_ps;
    for (; item < items_.size(); ++item) {
      poller_.ShouldStop();
      const AgainItem& next = items_[item];
      if (next.saved_bytes >= needed) return Wide{next.extra_ps} * needed <= Wide{left_ps} * next.saved_bytes;
      left_ps -= next.extra_ps;
      if (left_ps < 0) return false;
      needed -= next.saved_bytes;
    }
    return false;
  }

  // True: the search ends.
  bool Branch(std::size_t item, int64_t needed, int64_t spent_ps) {
    if (spent_ps > most_ps_) return false;
    if (needed <= 0) {
      best_ = taken_;
      most_ps_ = spent_ps - 1;
      return aim_ == AgainAim::kAny || most_ps_ < 0;
    }
    const bool may_stop = aim_ == AgainAim::kAny || best_.has_value();
    if (++nodes_ > kMostNodes || (may_stop && poller_.ShouldStop())) {
      is_certain_ = false;
      return true;
    }
    if (!MayFit(item, needed, spent_ps)) return false;
    const AgainItem& next = items_[item];
    taken_.push_back(next.op);
    if (Branch(item + 1, needed - next.saved_bytes, spent_ps + next.extra_ps)) return true;
    taken_.pop_back();
    return Branch(item + 1, needed, spent_ps);
  }

  std::vector<AgainItem> items_;
  int64_t most_ps_;
  const AgainAim aim_;
  Poller& poller_;
  int nodes_ = 0;
  bool is_certain_ = true;
  std::vector<int32_t> taken_;
  std::optional<std::vector<int32_t>> best_;
};

}  // namespace

bool SavesCheaper(const AgainItem& a, const AgainItem& b) {
  const Wide left = Wide{a.extra_ps} * b.saved_bytes;
  const Wide right = Wide{b.extra_ps} * a.saved_bytes;
  return left != right ? left < right : a.op < b.op;
}

AgainChoice ChooseAgain(std::vector<AgainItem> items, int64_t needed_bytes, int64_t most_ps, AgainAim aim,
                        Poller& poller) {
  return Knapsack(std::move(items), most_ps, aim, poller).Run(needed_bytes);
}

}  // namespace planwright
