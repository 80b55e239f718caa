#include "core/joint/search/dominance.h"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/joint/cost/training_cluster.h"

namespace planwright {
namespace {

using Raise = void (*)(LayerPrice&);

// Every number of a layer that a stage may suffer from.
constexpr std::array<Raise, 19> kRaises = {
    [](LayerPrice& price) { ++price.forward_ps; },
    [](LayerPrice& price) { ++price.backward_ps; },
    [](LayerPrice& price) { ++price.weights_ps, ++price.backward_ps; },
    [](LayerPrice& price) { ++price.weights_kept_bytes; },
    [](LayerPrice& price) { ++price.modes[0]->extra_ps; },
    [](LayerPrice& price) { ++price.modes[0]->kept_bytes; },
    [](LayerPrice& price) { ++price.modes[2]->extra_ps; },
    [](LayerPrice& price) { ++price.modes[2]->kept_bytes; },
    [](LayerPrice& price) { ++price.recomputed_bytes; },
    [](LayerPrice& price) { ++price.workspace_bytes; },
    [](LayerPrice& price) { ++price.parameter_bytes; },
    [](LayerPrice& price) { ++price.gradient_bytes; },
    [](LayerPrice& price) { ++price.optimizer_bytes; },
    [](LayerPrice& price) { ++price.gathered_bytes; },
    [](LayerPrice& price) { ++price.step_end_ps; },
    [](LayerPrice& price) { ++price.ends_bytes; },
    [](LayerPrice& price) { price.shared.optimizer_bytes -= 2; },
    [](LayerPrice& price) { price.shared.step_end_ps -= 2; },
    [](LayerPrice& price) { ++price.output_bytes; },
};

// Two kinds of layers; `change` is made to the second one where ranks are spread so, in a micro-batch of so many
// samples.
class ChangedPricer : public LayerPricer {
 public:
  using Change = std::function<void(const PriceQuery& query, LayerPrice& price)>;

  explicit ChangedPricer(Change change) : change_(std::move(change)) {}

  const std::vector<int32_t>& kinds() const override { return kinds_; }
  const std::vector<std::string>& labels() const override { return labels_; }
  double flops_per_sample() const override { return 1; }
  int64_t tokens_per_sample() const override { return 1; }
  std::vector<LayerPrice> Price(const PriceQuery& query) const override {
    LayerPrice price;
    price.forward_ps = 10;
    price.backward_ps = 20;
    price.weights_ps = 10;
    price.output_bytes = 5;
    price.optimizer_bytes = price.step_end_ps = 3;
    price.shared = {.optimizer_bytes = 2, .step_end_ps = 2};
    price.modes[0] = {0, 5};
    price.modes[2] = {10, 1};
    std::vector<LayerPrice> prices(2, price);
    change_(query, prices.back());
    return prices;
  }

 private:
  Change change_;
  std::vector<int32_t> kinds_ = {0, 1};
  std::vector<std::string> labels_ = {"a", "b"};
};

// Families of two devices, tensor degree 2 or data degree 2, with one micro-batch of two samples.
class DominanceTest : public testing::Test {
 protected:
  DominanceTest() {
    cluster_.classes.push_back({DeviceClassId(0), 1, 2, 1'000'000});
    settings_.global_batch = 2;
    settings_.tensor_degrees = {1, 2};
    settings_.context_degrees = settings_.expert_degrees = {1};
    settings_.micro_batch_samples = {1, 2};
    settings_.micro_batches = 1;
    settings_.recomputation = {LayerRecomputation::kNone};
    settings_.shardings = {Sharding::kNone};
  }

  std::vector<PipelineFamily> FamiliesOn(const ChangedPricer::Change& change, const SolveLimits& limits = {}) {
    const ChangedPricer pricer(change);
    const DeviceRow row(cluster_);
    const Places places(row);
    const SolveLimits unlimited;
    Poller listing(unlimited);
    Poller poller(limits);
    const SegmentNumbers segments = *NumberSegments(pricer.kinds(), unlimited);
    const JointSpace space{pricer, places, segments, settings_, 0};
    return WithoutNeedless(space, ListFamilies(space, listing), poller);
  }

  // The tensor degrees of what is left of two devices.
  std::vector<int32_t> LeftOn(const ChangedPricer::Change& change, const SolveLimits& limits = {}) {
    std::vector<int32_t> left;
    for (const PipelineFamily& family : FamiliesOn(change, limits)) {
      for (const Degrees& degrees : family.degrees) {
        if (degrees.devices() == 2) left.push_back(degrees.tensor);
      }
    }
    return left;
  }

  TrainingCluster cluster_;
  JointSettings settings_;
};

TEST_F(DominanceTest, AWayThatCostsMoreInOneNumberIsNeedless) {
  for (std::size_t raised = 0; raised < kRaises.size(); ++raised) {
    const auto change = [&](const PriceQuery& query, LayerPrice& price) {
      if (query.degrees.tensor == 2) kRaises[raised](price);
    };
    EXPECT_EQ(LeftOn(change), std::vector<int32_t>{1}) << raised;
    settings_.per_stage = true;
    EXPECT_EQ(LeftOn(change), std::vector<int32_t>{1}) << raised;
    settings_.per_stage = false;
  }
}

TEST_F(DominanceTest, WaysOfWhichEachCostsLessInOneNumberStay) {
  for (std::size_t a = 0; a < kRaises.size(); ++a) {
    for (std::size_t b = 0; b < kRaises.size(); ++b) {
      if (a == b) continue;
      const auto change = [&](const PriceQuery& query, LayerPrice& price) {
        if (query.degrees.devices() == 2) kRaises[query.degrees.tensor == 2 ? a : b](price);
      };
      EXPECT_EQ(LeftOn(change).size(), 2U) << a << " " << b;
    }
  }
}

TEST_F(DominanceTest, OfWaysThatCostTheSameOneStays) {
  EXPECT_EQ(LeftOn([](const PriceQuery&, LayerPrice&) {}).size(), 1U);
}

TEST_F(DominanceTest, AWayWithoutAModeDoesNotStandInForOneWithIt) {
  const auto change = [](const PriceQuery& query, LayerPrice& price) {
    if (query.degrees.tensor == 1) price.modes[1] = {0, 0};
    if (query.degrees.tensor == 2) ++price.forward_ps;
  };
  EXPECT_EQ(LeftOn(change).size(), 2U);
}

TEST_F(DominanceTest, AShardingThatSavesNothingIsNeedless) {
  settings_.shardings = {Sharding::kNone, Sharding::kOptimizer};
  const auto change = [](const PriceQuery& query, LayerPrice& price) {
    price.optimizer_bytes = query.sharding == Sharding::kNone ? 2 : 1;
    if (query.degrees.tensor == 2) ++price.forward_ps;
  };
  EXPECT_EQ(LeftOn(change), std::vector<int32_t>{1});
}

// Without sharding there is a way that is as good as with it, and one that is worse.
TEST_F(DominanceTest, AFamilyWhoseWaysAllHaveTwinsIsNeedless) {
  settings_.per_stage = true;
  for (const bool is_first : {false, true}) {
    settings_.shardings = {Sharding::kNone, Sharding::kOptimizer};
    if (is_first) std::swap(settings_.shardings[0], settings_.shardings[1]);
    const auto change = [](const PriceQuery& query, LayerPrice& price) {
      if (query.degrees.tensor == 2) ++price.forward_ps, --price.output_bytes;
      price.optimizer_bytes = query.sharding == Sharding::kNone && query.degrees.data == 2 ? 4 : 3;
    };
    for (const PipelineFamily& family : FamiliesOn(change)) EXPECT_EQ(family.sharding, Sharding::kOptimizer);
  }
}

TEST_F(DominanceTest, WithoutTimeNothingIsLeftOut) {
  SolveLimits limits;
  limits.deadline = SolveLimits::Clock::now();
  EXPECT_EQ(LeftOn([](const PriceQuery&, LayerPrice&) {}, limits).size(), 2U);
}

TEST_F(DominanceTest, EveryClassCounts) {
  cluster_.classes.push_back({DeviceClassId(1), 1, 2, 1'000'000});
  const auto change = [](const PriceQuery& query, LayerPrice& price) {
    const bool is_first = query.device_class == DeviceClassId(0);
    if (query.degrees.devices() == 2 && is_first == (query.degrees.tensor == 1)) ++price.forward_ps;
  };
  EXPECT_EQ(LeftOn(change).size(), 2U);
}

}  // namespace
}  // namespace planwright
