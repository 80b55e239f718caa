#include "core/joint/waits/chunk_waits.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "core/linear/linear_program.h"

namespace planwright {
namespace {

using Entry = LinearProgram::Entry;

// What rounding may add to a bound, relative to it.
constexpr double kRounding = 1e-9;
// Ratios that differ by less are one.
constexpr double kSameRatio = 1e-12;

// Sums of columns and a constant.
struct Sum {
  std::vector<Entry> entries;
  double constant = 0;

  Sum& Add(double factor, const Sum& other) {
    for (const Entry& entry : other.entries) entries.push_back({entry.column, factor * entry.coefficient});
    constant += factor * other.constant;
    return *this;
  }
};

// The program with one of the ends of the step, forward or backward passes, turned round as the other.
class WaitProgram {
 public:
  WaitProgram(const InterleavedWork& work, int64_t needed_ps)
      : work_(work),
        stages_(static_cast<std::size_t>(work.num_stages)),
        chunks_(static_cast<std::size_t>(work.chunks)),
        unit_(static_cast<double>(work.between.forward_ps + work.between.backward_ps) /
              static_cast<double>(stages_ * chunks_)),
        most_(static_cast<double>(needed_ps) / unit_) {}

  int64_t Solve(int64_t needed_ps, Poller& poller) {
    const Sum step = Variable(0, most_, 1);
    DealOut();
    AddEnd(/*is_backward=*/false);
    AddEnd(/*is_backward=*/true);
    Sum again{{}, -Units(static_cast<double>(work_.again_ps))};
    for (const Sum& own : again_) again.Add(1, own);
    AtLeast(std::move(again));
    for (std::size_t k = 0; k < stages_; ++k) {
      // The passes of the stage, and what is before and behind them.
      const Sum all = Whole(k);
      AtLeast(Sum(step).Add(-1, all).Add(-1, before_[k]).Add(-1, behind_[k]));
      if (k < work_.floors.size()) AddFloors(k, all);
    }
    const double least = LeastObjective(program_, poller) * unit_ * (1 - kRounding);
    return std::clamp<int64_t>(static_cast<int64_t>(std::floor(least)), 0, needed_ps);
  }

 private:
  double Units(double picoseconds) const { return picoseconds / unit_; }

  Sum Variable(double lower, double upper, double objective = 0) {
    const int32_t column = program_.AddColumn({lower, std::max(lower, upper), objective});
    return {{{column, 1}}, 0};
  }

  // `sum` is at least 0.
  void AtLeast(Sum sum) { program_.AddAtLeast(std::move(sum.entries), -sum.constant); }

  static bool IsFirst(std::size_t k, std::size_t i) { return k == 0 && i == 0; }
  bool IsLast(std::size_t k, std::size_t i) const { return k + 1 == stages_ && i + 1 == chunks_; }

  // The layers between the first and the last one, and what passes of each chunk take with its ends and boundaries.
  void DealOut() {
    const bool is_one_ratio = work_.most_backward - work_.least_backward <= kSameRatio * work_.most_backward;
    const double most_forward = Units(static_cast<double>(work_.between.forward_ps));
    const double most_backward = Units(static_cast<double>(work_.between.backward_ps));
    Sum all_forward;
    Sum all_backward;
    dealt_.resize(stages_);
    forward_.resize(stages_);
    backward_.resize(stages_);
    for (std::size_t k = 0; k < stages_; ++k) {
      for (std::size_t i = 0; i < chunks_; ++i) {
        const bool has_end = IsFirst(k, i) || IsLast(k, i);
        const Sum forward = Variable(has_end ? 0 : Units(static_cast<double>(work_.least.forward_ps)), most_forward);
        Sum backward;
        if (is_one_ratio) {
          backward.Add(work_.least_backward, forward);
        } else {
          backward = Variable(has_end ? 0 : Units(static_cast<double>(work_.least.backward_ps)), most_backward);
          AtLeast(Sum(backward).Add(-work_.least_backward, forward));
          AtLeast(Sum().Add(work_.most_backward, forward).Add(-1, backward));
        }
        all_forward.Add(1, forward);
        all_backward.Add(1, backward);
        dealt_[k].Add(1, forward);
        forward_[k].push_back(WithEnds(k, i, forward, &DealtTimes::forward_ps));
        backward_[k].push_back(WithEnds(k, i, backward, &DealtTimes::backward_ps));
      }
    }
    program_.AddEquation(std::move(all_forward.entries), most_forward);
    if (!is_one_ratio) program_.AddEquation(std::move(all_backward.entries), most_backward);
  }

  Sum WithEnds(std::size_t k, std::size_t i, Sum dealt, int64_t DealtTimes::*pass) const {
    int64_t constant = 0;
    const int64_t to_first = i == 0 ? 0 : work_.wrap_ps;
    const int64_t from_last = i + 1 == chunks_ ? 0 : work_.wrap_ps;
    constant += k == 0 ? to_first : work_.cut_ps;
    constant += k + 1 == stages_ ? from_last : work_.cut_ps;
    if (IsFirst(k, i)) constant += work_.first.*pass;
    if (IsLast(k, i)) constant += work_.last.*pass;
    dealt.constant += Units(static_cast<double>(constant));
    return dealt;
  }

  // What comes at the end of the step of stage k.
  Sum EndOf(std::size_t k) const {
    Sum end;
    end.Add(work_.least_step_end, dealt_[k]);
    if (k == 0) end.constant += Units(static_cast<double>(work_.first.step_end_ps));
    if (k + 1 == stages_) end.constant += Units(static_cast<double>(work_.last.step_end_ps));
    return end;
  }

  // One pass of all chunks of a stage.
  static Sum PassOf(const std::vector<Sum>& chunks) {
    Sum sum;
    for (const Sum& chunk : chunks) sum.Add(1, chunk);
    return sum;
  }

  // All passes of stage k, with what is computed again.
  Sum Whole(std::size_t k) {
    const auto micro_batches = static_cast<double>(work_.micro_batches);
    return Sum()
        .Add(micro_batches, PassOf(forward_[k]))
        .Add(micro_batches, PassOf(backward_[k]))
        .Add(micro_batches, again_[k]);
  }

  void AddFloors(std::size_t k, const Sum& all) {
    for (const StageFloor& floor : work_.floors[k]) {
      Sum above = Sum(all).Add(-floor.slope, dealt_[k]);
      above.constant -= Units(floor.base_ps);
      AtLeast(std::move(above));
    }
  }

  // What stages wait for before their first passes, or, `is_backward`, behind their last ones. What is computed again
  // is part of the backward passes that are left then, of which nothing is said how they are divided.
  void AddEnd(bool is_backward) {
    const std::vector<std::vector<Sum>>& near = is_backward ? backward_ : forward_;
    const std::vector<std::vector<Sum>>& far = is_backward ? forward_ : backward_;
    std::vector<Sum>& waits = is_backward ? behind_ : before_;
    const auto stages = static_cast<double>(stages_);
    Sum whole;
    for (std::size_t k = 0; k < stages_; ++k) {
      whole.Add(1, PassOf(near[k]));
      waits.push_back(Variable(0, most_));
      if (is_backward) again_.push_back(Variable(0, most_));
    }
    std::vector<std::vector<Sum>> begins(stages_);
    Sum last_chunks;
    for (std::size_t k = stages_; k-- > 0;) {
      for (std::size_t i = 0; i < chunks_; ++i) begins[k].push_back(Variable(0, most_));
      // The wait, with all that a first backward pass finds done besides.
      Sum waited = waits[k];
      if (is_backward) {
        AtLeast(Sum(waits[k]).Add(-1, EndOf(k)));
        waited.Add(stages, again_[k]);
      }
      const std::size_t done = 2 * (stages_ - 1 - k) + 1;
      if (done < stages_) {
        AtLeast(Sum(waited)
                    .Add(-1, whole)
                    .Add(-1, last_chunks)
                    .Add(stages, PassOf(near[k]))
                    .Add(static_cast<double>(done) - stages, near[k].back()));
      }
      last_chunks.Add(1, far[k].back());
      for (std::size_t i = 0; i < chunks_; ++i) {
        AtLeast(Sum(waited).Add(-1, begins[k][i]));
        waited.Add(stages, near[k][i]);
      }
    }
    AddChains(near, begins, is_backward ? EndOf(0) : Sum());
  }

  // First passes of chunks, by stage and chunk, one behind the other from `origin` on.
  void AddChains(const std::vector<std::vector<Sum>>& near, const std::vector<std::vector<Sum>>& begins,
                 const Sum& origin) {
    AtLeast(Sum(begins[0][0]).Add(-1, origin));
    const auto stages = static_cast<double>(stages_);
    for (std::size_t k = 0; k < stages_; ++k) {
      for (std::size_t i = 0; i < chunks_; ++i) {
        const Sum& begin = begins[k][i];
        if (k > 0) AtLeast(Sum(begin).Add(-1, begins[k - 1][i]).Add(-1, near[k - 1][i]));
        if (i == 0) continue;
        AtLeast(Sum(begin).Add(-1, begins[k][i - 1]).Add(-stages, near[k][i - 1]));
        if (k == 0) AtLeast(Sum(begin).Add(-1, begins[stages_ - 1][i - 1]).Add(-1, near[stages_ - 1][i - 1]));
      }
    }
  }

  const InterleavedWork& work_;
  std::size_t stages_;
  std::size_t chunks_;
  // Picoseconds: the mean chunk.
  double unit_;
  // What nothing takes more than, where more than is needed is not asked for.
  double most_;
  LinearProgram program_;
  // By stage; by stage and chunk.
  std::vector<Sum> dealt_;
  std::vector<std::vector<Sum>> forward_;
  std::vector<std::vector<Sum>> backward_;
  std::vector<Sum> before_;
  std::vector<Sum> behind_;
  // What a stage computes again of a micro-batch.
  std::vector<Sum> again_;
};

}  // namespace

std::vector<StageFloor> FloorsBelow(const std::vector<StagePoint>& points) {
  const auto slope_of = [](const StagePoint& from, const StagePoint& to) {
    return (to.passes_ps - from.passes_ps) / (to.forward_ps - from.forward_ps);
  };
  std::vector<StagePoint> hull;
  for (const StagePoint& point : points) {
    while (hull.size() > 1 && slope_of(hull[hull.size() - 2], hull.back()) >= slope_of(hull.back(), point)) {
      hull.pop_back();
    }
    hull.push_back(point);
  }
  std::vector<StageFloor> floors;
  for (std::size_t i = 1; i < hull.size(); ++i) {
    const double slope = slope_of(hull[i - 1], hull[i]);
    floors.push_back({hull[i].passes_ps - slope * hull[i].forward_ps, slope});
  }
  if (hull.size() == 1) floors.push_back({hull.front().passes_ps, 0});
  return floors;
}

int64_t WorkOfWaits(int64_t num_stages, int64_t chunks) {
  constexpr int64_t kLeast = 100;
  const int64_t all = num_stages * chunks;
  return all * all * (all + kLeast);
}

int64_t LeastInterleavedStepPs(const InterleavedWork& work, int64_t needed_ps, Poller& poller) {
  return WaitProgram(work, needed_ps).Solve(needed_ps, poller);
}

}  // namespace planwright
