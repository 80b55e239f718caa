#include "core/joint/waits/chunk_waits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <numeric>
#include <stop_token>
#include <tuple>
#include <vector>

#include "core/base/limits.h"
#include "core/base/polling.h"
#include "core/base/random.h"
#include "core/linear/linear_program.h"

namespace planwright {
namespace {

using testing::DoubleEq;
using testing::ElementsAre;
using testing::FieldsAre;
using testing::IsEmpty;

constexpr int64_t kNever = std::numeric_limits<int64_t>::max() / 4;

// Layers in the order of the model, the first and the last one of which are its ends, and where chunks end.
struct Pipeline {
  int32_t num_stages = 2;
  int32_t chunks = 2;
  int64_t micro_batches = 2;
  std::vector<DealtTimes> layers;
  // How many layers each chunk has, in the order of the model.
  std::vector<int32_t> sizes;
  int64_t cut_ps = 0;
  int64_t wrap_ps = 0;
  // By chunk: what is computed again in its backward pass, and what the boundary behind it costs more either side.
  std::vector<int64_t> again_ps;
  std::vector<int64_t> farther_ps;
};

struct Pass {
  bool is_backward = false;
  int64_t micro_batch = 0;
  int32_t chunk = 0;
};

// As Megatron-LM orders the passes of a stage.
std::vector<Pass> OrderOf(const Pipeline& pipeline, int32_t stage) {
  const int64_t stages = pipeline.num_stages;
  const int64_t in_group = stages * pipeline.chunks;
  const int64_t all = pipeline.micro_batches * pipeline.chunks;
  const auto pass_at = [&](int64_t number, bool is_backward) {
    const auto chunk = static_cast<int32_t>(number % in_group / stages);
    return Pass{is_backward, number / in_group * stages + number % stages,
                is_backward ? pipeline.chunks - 1 - chunk : chunk};
  };
  const int64_t ahead = std::min(all, 2 * (stages - 1 - stage) + (pipeline.chunks - 1) * stages);
  std::vector<Pass> order;
  for (int64_t i = 0; i < all + ahead; ++i) {
    if (i < all) order.push_back(pass_at(i, false));
    if (i >= ahead) order.push_back(pass_at(i - ahead, true));
  }
  return order;
}

// What a chunk takes in one direction, with its boundaries.
int64_t PassPs(const Pipeline& pipeline, int32_t stage, int32_t chunk, bool is_backward) {
  const int32_t number = chunk * pipeline.num_stages + stage;
  int32_t first = 0;
  for (int32_t i = 0; i < number; ++i) first += pipeline.sizes[static_cast<std::size_t>(i)];
  int64_t time = is_backward ? pipeline.again_ps[static_cast<std::size_t>(number)] : 0;
  for (int32_t i = 0; i < pipeline.sizes[static_cast<std::size_t>(number)]; ++i) {
    const DealtTimes& layer = pipeline.layers[static_cast<std::size_t>(first) + static_cast<std::size_t>(i)];
    time += is_backward ? layer.backward_ps : layer.forward_ps;
  }
  if (number > 0) {
    time += stage == 0 ? pipeline.wrap_ps : pipeline.cut_ps;
    time += pipeline.farther_ps[static_cast<std::size_t>(number) - 1];
  }
  if (number + 1 < static_cast<int32_t>(pipeline.sizes.size())) {
    time += stage + 1 == pipeline.num_stages ? pipeline.wrap_ps : pipeline.cut_ps;
    time += pipeline.farther_ps[static_cast<std::size_t>(number)];
  }
  return time;
}

int64_t StepEndPs(const Pipeline& pipeline, int32_t stage) {
  int64_t end = 0;
  std::size_t layer = 0;
  for (std::size_t chunk = 0; chunk < pipeline.sizes.size(); ++chunk) {
    for (int32_t i = 0; i < pipeline.sizes[chunk]; ++i, ++layer) {
      if (static_cast<int32_t>(chunk) % pipeline.num_stages == stage) end += pipeline.layers[layer].step_end_ps;
    }
  }
  return end;
}

// Each pass begins when the one before it in its stage and the one it reads from have ended.
class Simulation {
 public:
  explicit Simulation(const Pipeline& pipeline) : pipeline_(pipeline) {}

  int64_t StepPs() {
    std::vector<std::vector<Pass>> orders;
    for (int32_t stage = 0; stage < pipeline_.num_stages; ++stage) orders.push_back(OrderOf(pipeline_, stage));
    std::vector<std::size_t> next(orders.size(), 0);
    std::vector<int64_t> free(orders.size(), 0);
    bool goes_on = true;
    while (goes_on) {
      goes_on = false;
      for (std::size_t s = 0; s < orders.size(); ++s) {
        while (next[s] < orders[s].size() && Runs(static_cast<int32_t>(s), orders[s][next[s]], free[s])) {
          ++next[s];
          goes_on = true;
        }
      }
    }
    int64_t step = 0;
    for (std::size_t s = 0; s < orders.size(); ++s) {
      if (next[s] < orders[s].size()) return kNever;
      step = std::max(step, free[s] + StepEndPs(pipeline_, static_cast<int32_t>(s)));
    }
    return step;
  }

 private:
  // Whether the pass could run; then the stage is free behind it.
  bool Runs(int32_t stage, const Pass& pass, int64_t& free) {
    const int32_t last = pipeline_.num_stages * pipeline_.chunks - 1;
    const int32_t number = pass.chunk * pipeline_.num_stages + stage;
    std::tuple<bool, int64_t, int32_t> source{pass.is_backward, pass.micro_batch,
                                              pass.is_backward ? number + 1 : number - 1};
    if (pass.is_backward && number == last) source = {false, pass.micro_batch, last};
    int64_t ready = 0;
    if (pass.is_backward || number > 0) {
      const auto found = ends_.find(source);
      if (found == ends_.end()) return false;
      ready = found->second;
    }
    free = std::max(free, ready) + PassPs(pipeline_, stage, pass.chunk, pass.is_backward);
    ends_[{pass.is_backward, pass.micro_batch, number}] = free;
    return true;
  }

  const Pipeline& pipeline_;
  std::map<std::tuple<bool, int64_t, int32_t>, int64_t> ends_;
};

InterleavedWork WorkOf(const Pipeline& pipeline) {
  InterleavedWork work;
  work.num_stages = pipeline.num_stages;
  work.chunks = pipeline.chunks;
  work.micro_batches = pipeline.micro_batches;
  work.first = pipeline.layers.front();
  work.last = pipeline.layers.back();
  work.least = {kNever, kNever, kNever};
  work.least_backward = 1e9;
  work.least_step_end = 1e9;
  work.cut_ps = pipeline.cut_ps;
  work.wrap_ps = pipeline.wrap_ps;
  for (std::size_t layer = 1; layer + 1 < pipeline.layers.size(); ++layer) {
    const DealtTimes& times = pipeline.layers[layer];
    const auto forward = static_cast<double>(times.forward_ps);
    work.between.forward_ps += times.forward_ps;
    work.between.backward_ps += times.backward_ps;
    work.least.forward_ps = std::min(work.least.forward_ps, times.forward_ps);
    work.least.backward_ps = std::min(work.least.backward_ps, times.backward_ps);
    work.least_backward = std::min(work.least_backward, static_cast<double>(times.backward_ps) / forward);
    work.most_backward = std::max(work.most_backward, static_cast<double>(times.backward_ps) / forward);
    work.least_step_end = std::min(work.least_step_end, static_cast<double>(times.step_end_ps) / forward);
  }
  return work;
}

int64_t BoundOf(const InterleavedWork& work, int64_t needed = kNever) {
  const SolveLimits limits;
  Poller poller(limits);
  return LeastInterleavedStepPs(work, needed, poller);
}

Pipeline RandomPipeline(RandomStream& random, bool are_alike) {
  Pipeline pipeline;
  pipeline.num_stages = static_cast<int32_t>(random.Between(2, 4));
  pipeline.chunks = static_cast<int32_t>(random.Between(2, 4));
  pipeline.cut_ps = random.Between(0, 300);
  pipeline.wrap_ps = random.Between(0, 600);
  pipeline.micro_batches = pipeline.num_stages * random.Between(1, 4);
  const auto layer = [&random] {
    return DealtTimes{random.Between(500, 3'000), random.Between(500, 6'000), random.Between(0, 20'000)};
  };
  const DealtTimes alike = layer();
  const int32_t num_chunks = pipeline.num_stages * pipeline.chunks;
  const int64_t num_layers = num_chunks + random.Between(0, int64_t{2} * num_chunks);
  for (int64_t i = 0; i < num_layers; ++i) {
    const bool is_end = i == 0 || i + 1 == num_layers;
    pipeline.layers.push_back(are_alike && !is_end ? alike : layer());
  }
  pipeline.sizes.assign(static_cast<std::size_t>(num_chunks), 1);
  for (int64_t i = num_chunks; i < num_layers; ++i) {
    ++pipeline.sizes[random.Below(static_cast<uint64_t>(num_chunks))];
  }
  for (int32_t i = 0; i < num_chunks; ++i) {
    pipeline.again_ps.push_back(random.Below(2) == 0 ? 0 : random.Between(0, 3'000));
    pipeline.farther_ps.push_back(random.Below(3) == 0 ? random.Between(0, 500) : 0);
  }
  return pipeline;
}

// A part of what each stage of this very division takes, `share` of it by what is dealt out to it.
std::vector<std::vector<StageFloor>> FloorsOf(const Pipeline& pipeline, double part, double share) {
  std::vector<std::vector<StageFloor>> floors;
  for (int32_t stage = 0; stage < pipeline.num_stages; ++stage) {
    double passes = 0;
    double dealt = 0;
    for (int32_t chunk = 0; chunk < pipeline.chunks; ++chunk) {
      for (const bool is_backward : {false, true}) {
        passes += static_cast<double>(pipeline.micro_batches * PassPs(pipeline, stage, chunk, is_backward));
      }
    }
    std::size_t layer = 0;
    for (std::size_t chunk = 0; chunk < pipeline.sizes.size(); ++chunk) {
      for (int32_t i = 0; i < pipeline.sizes[chunk]; ++i, ++layer) {
        const bool is_end = layer == 0 || layer + 1 == pipeline.layers.size();
        const bool is_own = static_cast<int32_t>(chunk) % pipeline.num_stages == stage;
        if (is_own && !is_end) dealt += static_cast<double>(pipeline.layers[layer].forward_ps);
      }
    }
    const double by_dealt = dealt > 0 ? share : 0;
    floors.push_back(
        {{.base_ps = part * passes * (1 - by_dealt), .slope = dealt > 0 ? part * passes * by_dealt / dealt : 0}});
  }
  return floors;
}

TEST(ChunkWaitsTest, NoDivisionTakesLess) {
  for (uint64_t seed = 0; seed < 400; ++seed) {
    RandomStream random(seed, 11);
    const Pipeline pipeline = RandomPipeline(random, seed % 2 == 0);
    const int64_t step = Simulation(pipeline).StepPs();
    ASSERT_LT(step, kNever);
    InterleavedWork work = WorkOf(pipeline);
    EXPECT_LE(BoundOf(work, 2 * step), step) << "seed " << seed;
    work.again_ps = std::accumulate(pipeline.again_ps.begin(), pipeline.again_ps.end(), int64_t{0});
    EXPECT_LE(BoundOf(work, 2 * step), step) << "seed " << seed;
    work.floors = FloorsOf(pipeline, seed % 3 == 0 ? 1 : 0.9, seed % 4 == 0 ? 0 : 0.7);
    EXPECT_LE(BoundOf(work, 2 * step), step) << "seed " << seed;
  }
}

// How much longer than the work of a stage the bound is.
double IdleShare(const InterleavedWork& work) {
  const int64_t all = work.between.forward_ps + work.between.backward_ps + work.first.forward_ps +
                      work.first.backward_ps + work.last.forward_ps + work.last.backward_ps;
  const double busy = static_cast<double>(work.micro_batches) * static_cast<double>(all) / work.num_stages;
  return static_cast<double>(BoundOf(work)) / busy - 1;
}

// 98 layers of f and 2 f between ends that are as long.
InterleavedWork LikeLayers(int32_t num_stages, int32_t chunks, int64_t micro_batches) {
  constexpr int64_t kForward = 1'000'000;
  InterleavedWork work;
  work.num_stages = num_stages;
  work.chunks = chunks;
  work.micro_batches = micro_batches;
  work.first = {kForward, 2 * kForward, 0};
  work.last = work.first;
  work.least = work.first;
  work.between = {98 * kForward, 196 * kForward, 0};
  work.least_backward = 2;
  work.most_backward = 2;
  return work;
}

TEST(ChunkWaitsTest, CountsWhatAllChunksWaitFor) {
  if (!HasLinearSolver()) GTEST_SKIP() << "this build has no solver of linear programs";
  // Of 4 stages with 3 chunks and 8 micro-batches a pipeline reaches 8.6 % more than its work.
  EXPECT_GT(IdleShare(LikeLayers(4, 3, 8)), 0.06);
  EXPECT_LT(IdleShare(LikeLayers(4, 3, 8)), 0.086);
}

TEST(ChunkWaitsTest, HasNoMoreThanIsNeeded) { EXPECT_EQ(BoundOf(LikeLayers(4, 3, 8), 1'000'000), 1'000'000); }

TEST(ChunkWaitsTest, EndsInTimeWithLess) {
  const std::stop_source stop;
  stop.request_stop();
  const SolveLimits stopped{.stop = stop.get_token()};
  Poller at_once(stopped);
  EXPECT_LE(LeastInterleavedStepPs(LikeLayers(4, 3, 8), kNever, at_once), BoundOf(LikeLayers(4, 3, 8)));
  // In the midst of a program of some tenths of a second.
  const InterleavedWork work = LikeLayers(16, 6, 64);
  SolveLimits short_time;
  short_time.deadline = SolveLimits::Clock::now() + std::chrono::milliseconds(20);
  Poller soon(short_time);
  EXPECT_LE(LeastInterleavedStepPs(work, kNever, soon), BoundOf(work));
  EXPECT_TRUE(soon.ShouldStopNow());
}

TEST(ChunkWaitsTest, ItsWorkGrowsWithAllChunks) {
  EXPECT_LT(WorkOfWaits(4, 3), WorkOfWaits(4, 4));
  EXPECT_EQ(WorkOfWaits(4, 6), WorkOfWaits(8, 3));
  EXPECT_GT(WorkOfWaits(128, 8), 1'000'000'000);
}

TEST(ChunkWaitsTest, FloorsAreTheLowerHull) {
  EXPECT_THAT(FloorsBelow({}), IsEmpty());
  EXPECT_THAT(FloorsBelow({{2, 7}}), ElementsAre(FieldsAre(DoubleEq(7), DoubleEq(0))));
  // The second point is above the line from the first to the third one.
  EXPECT_THAT(FloorsBelow({{0, 1}, {1, 4}, {2, 5}, {3, 9}}),
              ElementsAre(FieldsAre(DoubleEq(1), DoubleEq(2)), FieldsAre(DoubleEq(-3), DoubleEq(4))));
}

TEST(ChunkWaitsTest, WhatAllStagesComputeAgainCounts) {
  if (!HasLinearSolver()) GTEST_SKIP() << "this build has no solver of linear programs";
  InterleavedWork work = LikeLayers(2, 2, 4);
  const int64_t plain = BoundOf(work);
  // A tenth of all work.
  work.again_ps = 30'000'000;
  EXPECT_GT(static_cast<double>(BoundOf(work)), 1.04 * static_cast<double>(plain));
}

TEST(ChunkWaitsTest, FloorsCountWhatIsComputedAgain) {
  if (!HasLinearSolver()) GTEST_SKIP() << "this build has no solver of linear programs";
  InterleavedWork work = LikeLayers(2, 2, 4);
  const int64_t plain = BoundOf(work);
  // A tenth more than its work for each stage; of that part of it is waited for as it is.
  const std::vector<StageFloor> floors{{.base_ps = 0, .slope = 4 * 3 * 1.1}};
  work.floors.assign(2, floors);
  EXPECT_GT(static_cast<double>(BoundOf(work)), 1.04 * static_cast<double>(plain));
}

}  // namespace
}  // namespace planwright
