#include "core/joint/search/families.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/base/random.h"

namespace planwright {
namespace {

constexpr int64_t kNotYet = -1;

struct StageTimes {
  int64_t forward = 0;
  int64_t backward = 0;
};

struct Task {
  bool is_backward = false;
  std::size_t micro_batch = 0;
};

// The tasks of a stage, `from_end` of the last one is 1.
std::vector<Task> OrderOf(std::size_t from_end, std::size_t micro_batches) {
  const std::size_t ahead = std::min(micro_batches, from_end);
  std::vector<Task> order;
  for (std::size_t i = 0; i < micro_batches + ahead; ++i) {
    if (i >= ahead) order.push_back({true, i - ahead});
    if (i < micro_batches) order.push_back({false, i});
  }
  return order;
}

// A step of the stages under 1F1B, task by task.
int64_t PlainStepPs(const std::vector<StageTimes>& stages, std::size_t micro_batches) {
  const std::vector<int64_t> none(micro_batches, kNotYet);
  std::vector<std::vector<int64_t>> forward(stages.size(), none);
  std::vector<std::vector<int64_t>> backward(stages.size(), none);
  std::vector<int64_t> free(stages.size(), 0);
  std::vector<std::size_t> done(stages.size(), 0);
  const auto run = [&](std::size_t s) {
    const Task task = OrderOf(stages.size() - s, micro_batches)[done[s]];
    int64_t ready = 0;
    if (task.is_backward) {
      ready = s + 1 == stages.size() ? forward[s][task.micro_batch] : backward[s + 1][task.micro_batch];
    } else if (s > 0) {
      ready = forward[s - 1][task.micro_batch];
    }
    if (ready == kNotYet) return false;
    free[s] = std::max(free[s], ready) + (task.is_backward ? stages[s].backward : stages[s].forward);
    (task.is_backward ? backward : forward)[s][task.micro_batch] = free[s];
    ++done[s];
    return true;
  };
  bool goes_on = true;
  while (goes_on) {
    goes_on = false;
    for (std::size_t s = 0; s < stages.size(); ++s) {
      while (done[s] < 2 * micro_batches && run(s)) goes_on = true;
    }
  }
  EXPECT_EQ(*std::min_element(done.begin(), done.end()), 2 * micro_batches);
  return *std::max_element(free.begin(), free.end());
}

TEST(LeastPlainStepTest, TheSimulationKnowsWhatIsKnown) {
  // (M + S - 1) (f + b) of like stages.
  EXPECT_EQ(PlainStepPs({{1, 2}, {1, 2}, {1, 2}}, 5), 7 * 3);
  EXPECT_EQ(PlainStepPs({{1, 2}}, 4), 4 * 3);
  EXPECT_EQ(PlainStepPs({{1, 2}, {1, 2}, {1, 2}, {1, 2}}, 2), 5 * 3);
}

TEST(LeastPlainStepTest, NoDivisionTakesLess) {
  double closest = 0;
  for (uint64_t seed = 0; seed < 3'000; ++seed) {
    RandomStream random(seed, 23);
    std::vector<StageTimes> stages(static_cast<std::size_t>(random.Between(1, 6)));
    const bool is_one_ratio = random.Below(2) == 0;
    const bool has_transfers = random.Below(2) == 0;
    PipelineFamily family{.micro_batches = random.Between(1, 10), .degrees = {Degrees{}}};
    family.most_stages = std::ssize(stages) + random.Between(0, 2);
    family.forward_share = 0;
    for (StageTimes& stage : stages) {
      for (int64_t layers = random.Between(1, 4); layers > 0; --layers) {
        const int64_t forward = 10 * random.Between(1, 100);
        const int64_t backward = is_one_ratio ? 2 * forward : random.Between(1, 2'000);
        const auto all = static_cast<double>(forward + backward);
        stage.forward += forward;
        stage.backward += backward;
        family.layers_ps += forward + backward;
        family.forward_share = std::max(family.forward_share, static_cast<double>(forward) / all);
      }
    }
    for (std::size_t s = 0; has_transfers && s + 1 < stages.size(); ++s) {
      const int64_t transfer = random.Between(0, 300);
      for (StageTimes* const side : {&stages[s], &stages[s + 1]}) {
        side->forward += transfer;
        side->backward += transfer + random.Between(0, 100);
      }
    }
    const int64_t step = PlainStepPs(stages, static_cast<std::size_t>(family.micro_batches));
    const int64_t bound = LeastPlainStepPs(family, std::numeric_limits<int64_t>::max());
    EXPECT_LE(bound, step) << "seed " << seed;
    closest = std::max(closest, static_cast<double>(bound) / static_cast<double>(step));
  }
  EXPECT_GT(closest, 0.99);
}

TEST(LeastPlainStepTest, LikeStagesReachIt) {
  PipelineFamily family{.micro_batches = 8, .degrees = {Degrees{}}};
  family.most_stages = 1;
  family.layers_ps = 300;
  EXPECT_NEAR(static_cast<double>(LeastPlainStepPs(family, 1)), 8 * 300, 1);
  // Spread by stage, nothing is known.
  family.degrees.push_back(Degrees{});
  EXPECT_EQ(LeastPlainStepPs(family, 1), 0);
}

}  // namespace
}  // namespace planwright
