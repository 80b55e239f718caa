// Bounds of dealt layers against all ways to deal them out.
#include "core/joint/slots/stage_levels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/interruption.h"
#include "core/base/random.h"
#include "core/joint/slots/chunk_slots.h"
#include "tests/property/cases.h"

namespace planwright {
namespace {

const SolveLimits kNoStop;

// Stages that keep fewer layers of a chunk the more they have in all, and compute the others again. The first and the
// last one have an end of the model.
class KeepingStages {
 public:
  explicit KeepingStages(uint64_t seed) {
    RandomStream random(seed, 1);
    shape_.num_stages = random.Between(2, 3);
    shape_.chunks = shape_.num_stages == 2 ? random.Between(2, 3) : 2;
    shape_.micro_batches = shape_.num_stages * random.Between(1, 4);
    forward_ = random.Between(5, 20);
    backward_ = random.Between(5, 40);
    again_ = random.Between(1, 40);
    for (int64_t& end : ends_) end = random.Between(0, 60);
    for (int64_t stage = 0; stage < shape_.num_stages; ++stage) kept_.push_back(random.Between(2, 10));
    num_layers_ = static_cast<int32_t>(shape_.num_chunks() + random.Between(0, 6));
  }

  const SlotShape& shape() const { return shape_; }
  int32_t num_layers() const { return num_layers_; }

  int64_t ForwardOf(int64_t layers, bool has_end, std::size_t stage) const {
    return layers * forward_ + (has_end ? ends_[stage == 0 ? 0 : 1] : 0);
  }
  int64_t BothOf(int64_t in_chunk, bool has_end, std::size_t stage, int64_t of_stage) const {
    const int64_t kept = std::max<int64_t>(0, kept_[stage] - of_stage / 2);
    const int64_t again = std::max<int64_t>(0, in_chunk - kept) * again_;
    return in_chunk * (forward_ + backward_) + again + (has_end ? 3 * ends_[stage == 0 ? 0 : 1] : 0);
  }
  bool HasEnd(std::size_t stage) const { return stage == 0 || stage + 1 == kept_.size(); }

  std::vector<std::vector<StageOption>> Options() const {
    std::vector<std::vector<StageOption>> stages;
    for (std::size_t stage = 0; stage < kept_.size(); ++stage) {
      std::vector<StageOption>& options = stages.emplace_back();
      for (auto layers = static_cast<int32_t>(shape_.chunks) - (HasEnd(stage) ? 1 : 0); layers <= num_layers_;
           ++layers) {
        StageOption& option = options.emplace_back();
        option.layers = layers;
        for (int32_t in_chunk = 0; in_chunk <= layers; ++in_chunk) {
          option.chunk.push_back(in_chunk == 0 ? kCannotBe : BothOf(in_chunk, false, stage, layers));
          if (HasEnd(stage)) option.end_chunk.push_back(BothOf(in_chunk, true, stage, layers));
        }
      }
    }
    return stages;
  }

 private:
  SlotShape shape_;
  int32_t num_layers_ = 0;
  int64_t forward_ = 0;
  int64_t backward_ = 0;
  int64_t again_ = 0;
  int64_t ends_[2] = {0, 0};
  std::vector<int64_t> kept_;
};

struct Least {
  int64_t slots = kCannotBe;
  // The integral that the bound is the least of.
  int64_t levels = kCannotBe;
};

class AllDeals {
 public:
  explicit AllDeals(const KeepingStages& stages) : stages_(stages) {}

  Least Run() {
    Deal(stages_.num_layers());
    return least_;
  }

 private:
  void Deal(int32_t left) {
    const auto chunks = static_cast<std::size_t>(stages_.shape().num_chunks());
    if (layers_.size() == chunks) {
      if (left == 0) Judge();
      return;
    }
    const bool is_end = layers_.empty() || layers_.size() + 1 == chunks;
    for (int32_t own = is_end ? 0 : 1; own <= left; ++own) {
      layers_.push_back(own);
      Deal(left - own);
      layers_.pop_back();
    }
  }

  void Judge() {
    const SlotShape& shape = stages_.shape();
    const auto num_stages = static_cast<std::size_t>(shape.num_stages);
    std::vector<int64_t> of_stage(num_stages, 0);
    for (std::size_t chunk = 0; chunk < layers_.size(); ++chunk) of_stage[chunk % num_stages] += layers_[chunk];
    std::vector<int64_t> forward;
    std::vector<int64_t> backward;
    std::vector<int64_t> both;
    for (std::size_t chunk = 0; chunk < layers_.size(); ++chunk) {
      const std::size_t stage = chunk % num_stages;
      const bool has_end = chunk == 0 || chunk + 1 == layers_.size();
      both.push_back(stages_.BothOf(layers_[chunk], has_end, stage, of_stage[stage]));
      forward.push_back(stages_.ForwardOf(layers_[chunk], has_end, stage));
      backward.push_back(both.back() - forward.back());
    }
    least_.slots = std::min(least_.slots, SlotsPs(forward, shape) + SlotsPs(backward, shape));
    least_.levels = std::min(least_.levels, Levels(std::move(both)));
  }

  int64_t Levels(std::vector<int64_t> times) const {
    const SlotShape& shape = stages_.shape();
    std::sort(times.begin(), times.end());
    int64_t sum = 0;
    int64_t below = 0;
    for (std::size_t i = 0; i < times.size(); ++i) {
      const int64_t reached = static_cast<int64_t>(times.size() - i) + shape.num_stages - 1;
      sum += (times[i] - below) * ((shape.groups() - 1) * std::min(shape.num_chunks(), reached) + reached);
      below = times[i];
    }
    return sum;
  }

  const KeepingStages& stages_;
  std::vector<int32_t> layers_;
  Least least_;
};

TEST(LeastDealtSlotsTest, IsTheLeastOfItsIntegralAndNoDealTakesLess) {
  double ratios = 0;
  const uint64_t cases = NumCases(300);
  for (uint64_t seed = 0; seed < cases; ++seed) {
    const KeepingStages stages(seed);
    Poller poller(kNoStop);
    const int64_t bound = LeastDealtSlotsPs(stages.Options(), stages.num_layers(), stages.shape(), kCannotBe, poller);
    const Least least = AllDeals(stages).Run();
    ASSERT_LE(bound, least.slots) << "seed " << seed;
    ASSERT_EQ(bound, least.levels) << "seed " << seed;
    ratios += static_cast<double>(least.slots) / static_cast<double>(bound);
  }
  EXPECT_LE(ratios, 1.05 * static_cast<double>(cases));
}

TEST(LeastDealtSlotsTest, SaysNoMoreThanIsNeeded) {
  const KeepingStages stages(1);
  Poller poller(kNoStop);
  EXPECT_EQ(LeastDealtSlotsPs(stages.Options(), stages.num_layers(), stages.shape(), 100, poller), 100);
  // Nothing holds all layers.
  EXPECT_EQ(LeastDealtSlotsPs({{}, {}}, stages.num_layers(), stages.shape(), 100, poller), 100);
}

// A chunk of two layers that takes less than one of one and of three: what lies on the line between counts.
TEST(LeastDealtSlotsTest, TablesThatAreNotConvexHaveSoundBounds) {
  const std::vector<int64_t> times{kCannotBe, 10, 40, 45, 100};
  const std::vector<StageOption> options{{.layers = 4, .chunk = times, .end_chunk = {}}};
  Poller poller(kNoStop);
  const int64_t bound = LeastDealtSlotsPs({options, options}, 8, {2, 2, 4}, kCannotBe, poller);
  // Two layers each, or one and three in each stage.
  const std::vector<int64_t> even(4, 40);
  EXPECT_LE(bound, SlotsPs(even, {2, 2, 4}));
  EXPECT_LE(bound, SlotsPs(std::vector<int64_t>{10, 10, 45, 45}, {2, 2, 4}));
  EXPECT_GE(bound, SlotsPs(std::vector<int64_t>(4, 27), {2, 2, 4}));
}

}  // namespace
}  // namespace planwright
