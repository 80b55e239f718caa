#include "core/joint/search/cap_search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <queue>
#include <utility>
#include <vector>

#include "core/base/units.h"

namespace planwright {
namespace {

// All pipelines whose longest stage takes more than `above` and at most `cap`.
struct Interval {
  int64_t above = 0;
  int64_t cap = 0;
  // What its pipelines take at least beside the longest stage, as an earlier pass found, and in all.
  int64_t known = 0;
  int64_t bound = 0;
};

struct HasGreaterBound {
  bool operator()(const Interval& a, const Interval& b) const {
    return std::pair(a.bound, a.above) > std::pair(b.bound, b.above);
  }
};

// A pass knows of the longest stage no more than where its interval begins, so a wide one prunes little and many narrow
// ones are slow: the width makes one part in so many of the step that is to be beaten.
constexpr int64_t kPartsOfStep = 50;
// Above every step that is known.
constexpr int64_t kUnknownStep = std::numeric_limits<int64_t>::max() / 16;

class CapSearch {
 public:
  CapSearch(StagePass& pass, int64_t micro_batches, int64_t best, double relative_gap, Poller& poller)
      : pass_(pass), rest_of_step_(micro_batches - 1), best_(best), relative_gap_(relative_gap), poller_(poller) {}

  CapSearchResult Run() {
    Push(pass_.longest_bound() - 1, std::max(pass_.longest_possible(), pass_.longest_bound()), 0);
    while (!open_.empty() && open_.top().bound < Sought(best_, relative_gap_)) {
      const Interval interval = open_.top();
      if (poller_.ShouldStopNow()) break;
      open_.pop();
      Close(interval);
      if (poller_.ShouldStopNow()) {
        open_.push(interval);
        break;
      }
    }
    result_.bound_ps = open_.empty() ? best_ : std::min(best_, open_.top().bound);
    result_.bound_ps = std::min(result_.bound_ps, closed_);
    return result_;
  }

 private:
  // `known`: what its pipelines take at least beside the longest stage.
  void Push(int64_t above, int64_t cap, int64_t known) {
    if (above >= cap) return;
    const int64_t least = std::max(known, SaturatingAdd(pass_.SumBound(cap), pass_.end_bound()));
    open_.push({above, cap, known, SaturatingAdd(least, rest_of_step_ * (above + 1))});
  }

  // How far an interval from `above` reaches.
  int64_t Narrowed(int64_t above) const {
    // There is one division of the layers, or nothing to be longer than.
    if (pass_.has_one_stage() || rest_of_step_ == 0) return std::numeric_limits<int64_t>::max();
    // Without a pipeline to beat, a wide interval is slow.
    if (best_ >= kUnknownStep) return above + above / 10 + 1;
    return above + best_ / kPartsOfStep / rest_of_step_ + 1;
  }

  void Close(Interval interval) {
    const int64_t sought = Sought(best_, relative_gap_);
    const int64_t least = SaturatingAdd(pass_.SumBound(interval.cap), pass_.end_bound());
    interval.cap = std::min(interval.cap, sought - pass_.end_bound());
    if (rest_of_step_ > 0) interval.cap = std::min(interval.cap, (sought - least) / rest_of_step_);
    if (interval.cap <= interval.above) return NoteClosed(sought);
    const int64_t narrow = Narrowed(interval.above);
    if (narrow < interval.cap) {
      Push(narrow, interval.cap, interval.known);
      interval.cap = narrow;
    }
    ++result_.passes;
    std::optional<StagePipeline> found = pass_.LeastSum({interval.above, interval.cap, sought});
    // Every pipeline of the interval that was not looked at takes what is sought or more.
    NoteClosed(sought);
    if (!found.has_value()) return;
    const int64_t value = found->sum_ps + found->end_ps;
    const int64_t longest = found->longest_ps;
    if (value + rest_of_step_ * longest < best_) {
      best_ = value + rest_of_step_ * longest;
      result_.pipeline = *std::move(found);
    }
    NoteClosed(value + rest_of_step_ * std::max(longest, interval.above + 1));
    SplitBelow(interval, value, std::min(longest - 1, interval.cap));
  }

  // What is left of an interval whose pipelines take at least `value` beside the longest stage.
  void SplitBelow(const Interval& interval, int64_t value, int64_t cap) {
    const int64_t middle = interval.above + (cap - interval.above) / 2;
    Push(interval.above, middle, value);
    Push(middle, cap, value);
  }

  void NoteClosed(int64_t bound) { closed_ = std::min(closed_, bound); }

  StagePass& pass_;
  int64_t rest_of_step_;
  int64_t best_;
  double relative_gap_;
  Poller& poller_;
  std::priority_queue<Interval, std::vector<Interval>, HasGreaterBound> open_;
  int64_t closed_ = std::numeric_limits<int64_t>::max();
  CapSearchResult result_;
};

}  // namespace

int64_t Sought(int64_t step_ps, double relative_gap) {
  return step_ps - static_cast<int64_t>(std::floor(static_cast<double>(step_ps) * relative_gap));
}

CapSearchResult SearchCaps(StagePass& pass, int64_t micro_batches, int64_t best_ps, double relative_gap,
                           Poller& poller) {
  return CapSearch(pass, micro_batches, best_ps, relative_gap, poller).Run();
}

}  // namespace planwright
