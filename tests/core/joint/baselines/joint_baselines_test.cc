#include "core/joint/baselines/joint_baselines.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/random.h"
#include "core/joint/baselines/alpa.h"
#include "core/joint/baselines/alpa_table.h"
#include "core/joint/baselines/data_parallel.h"
#include "core/joint/cost/layer_modes.h"
#include "core/joint/search/joint_search.h"

namespace planwright {
namespace {

constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

// Layers alike: 10 ps forward and 20 backward for each sample on one tensor rank, and 2 forward more where tensor ranks
// exchange; 6 bytes of parameters, 4 of a sample kept, 1 after 10 ps more. Sharded parameters cost 3 ps a pass.
class PlainPricer : public LayerPricer {
 public:
  explicit PlainPricer(int32_t num_layers) : kinds_(static_cast<std::size_t>(num_layers), 0) {
    for (int32_t layer = 0; layer < num_layers; ++layer) labels_.push_back(absl::StrCat("layer.", layer));
  }

  const std::vector<int32_t>& kinds() const override { return kinds_; }
  const std::vector<std::string>& labels() const override { return labels_; }
  double flops_per_sample() const override { return 1; }
  int64_t tokens_per_sample() const override { return 1; }

  std::vector<LayerPrice> Price(const PriceQuery& query) const override {
    const int64_t tensor = query.degrees.tensor;
    const bool is_sharded = query.sharding == Sharding::kParameters;
    LayerPrice price;
    price.forward_ps = 10 * query.samples / tensor + (tensor > 1 ? 2 : 0) + (is_sharded ? 3 : 0);
    price.backward_ps = 20 * query.samples / tensor + (is_sharded ? 3 : 0);
    price.modes[0] = {0, 4 * query.samples / tensor};
    price.modes[2] = {10 * query.samples / tensor, query.samples};
    price.parameter_bytes = 6 / tensor / (is_sharded ? query.degrees.data : 1);
    price.step_end_ps = query.degrees.data > 1 ? 5 : 0;
    return {price};
  }

 private:
  std::vector<int32_t> kinds_;
  std::vector<std::string> labels_;
};

TrainingCluster MakeCluster(int32_t nodes, int32_t devices_per_node, int64_t memory_bytes) {
  TrainingCluster cluster;
  cluster.classes.push_back({DeviceClassId(0), nodes, devices_per_node, memory_bytes});
  cluster.inside = {1e12, 0};
  cluster.between = {1e12, 0};
  return cluster;
}

JointSettings MakeSettings(int64_t global_batch) {
  JointSettings settings;
  settings.global_batch = global_batch;
  settings.tensor_degrees = {1, 2};
  settings.context_degrees = {1};
  settings.expert_degrees = {1};
  settings.micro_batch_samples = {1, 2};
  settings.recomputation = {LayerRecomputation::kNone, LayerRecomputation::kFull};
  settings.shardings = {Sharding::kOptimizer, Sharding::kParameters};
  settings.orders = {PipelineOrder::kOneFOneB};
  settings.per_stage = true;
  return settings;
}

TEST(ShardedDataParallelTest, EveryDeviceHasTheWholeModel) {
  const PlainPricer pricer(4);
  const TrainingCluster cluster = MakeCluster(2, 2, 1000);
  const JointSettings settings = MakeSettings(16);
  const auto plan = ShardedDataParallel({pricer, cluster, settings});
  ASSERT_TRUE(plan.has_value());
  EXPECT_EQ(plan->stages.size(), 1);
  EXPECT_EQ(plan->stages.front().degrees, (Degrees{.data = 4}));
  EXPECT_EQ(plan->sharding, Sharding::kParameters);
  // 2 samples of 30 ps, with 6 ps of gathers, in 4 layers and 2 micro-batches: less than twice as many of 1 sample. The
  // end of each layer takes 5 ps.
  EXPECT_EQ(plan->step.count(), 2 * 4 * (2 * 30 + 6) + 4 * 5);
}

TEST(ShardedDataParallelTest, ComputesAgainWhereMemoryIsShort) {
  const PlainPricer pricer(4);
  const TrainingCluster cluster = MakeCluster(1, 2, 20);
  const JointSettings settings = MakeSettings(2);
  // 4 layers of 3 bytes of parameters, and 16 bytes kept of one sample: 4 where all is computed again.
  const auto plan = ShardedDataParallel({pricer, cluster, settings});
  ASSERT_TRUE(plan.has_value());
  EXPECT_EQ(plan->stages.front().chunks.front().recomputation.front(), LayerRecomputation::kFull);
  const TrainingCluster small = MakeCluster(1, 2, 15);
  EXPECT_FALSE(ShardedDataParallel({pricer, small, settings}).has_value());
}

TEST(ShardedDataParallelTest, TakesAsManyDevicesAsDivideTheBatch) {
  const PlainPricer pricer(2);
  const JointSettings settings = MakeSettings(8);
  const TrainingCluster three = MakeCluster(3, 2, 1000);
  EXPECT_EQ(ShardedDataParallel({pricer, three, settings})->stages.front().degrees.data, 4);
  const TrainingCluster node = MakeCluster(1, 6, 1000);
  EXPECT_EQ(ShardedDataParallel({pricer, node, settings})->stages.front().degrees.data, 4);
}

TEST(AlpaTableTest, SubmeshesArePowersOfTwoAndAllNodes) {
  EXPECT_EQ(SubmeshSizes({DeviceClassId(0), 6, 8, 0}), (std::vector<int64_t>{1, 2, 4, 8, 16, 32, 48}));
  EXPECT_EQ(SubmeshSizes({DeviceClassId(0), 1, 6, 0}), (std::vector<int64_t>{1, 2, 4, 6}));
  EXPECT_EQ(SubmeshSizes({DeviceClassId(0), 512, 8, 0}),
            (std::vector<int64_t>{32, 64, 128, 256, 512, 1024, 2048, 4096}));
  // 4 devices would not end where a node does.
  EXPECT_EQ(SubmeshSizes({DeviceClassId(0), 64, 6, 0}).front(), 6);
}

TEST(AlpaTableTest, EndsOfTheModelGoWithTheirNeighbours) {
  EXPECT_EQ(GroupLayers(6, 2), (std::vector<int32_t>{0, 3, 6}));
  EXPECT_EQ(GroupLayers(34, 16), (std::vector<int32_t>{0, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31, 34}));
  EXPECT_EQ(GroupLayers(1, 16), (std::vector<int32_t>{0, 1}));
}

TEST(AlpaTableTest, WhereNothingFitsOneDeviceTheWorkIsThatOfNoPlan) {
  const PlainPricer pricer(6);
  const TrainingCluster cluster = MakeCluster(1, 1, 1);
  const JointSettings settings = MakeSettings(8);
  const std::vector<int32_t> groups = GroupLayers(6, 6);
  const AlpaTable table({pricer, cluster, settings}, AlpaChoice(), {1}, groups);
  EXPECT_EQ(table.LeastWorkPs(), AlpaStage::kNever);
}

TEST(AlpaProgramTest, DividesLayersAlikeAmongNodesAlike) {
  const PlainPricer pricer(6);
  const TrainingCluster cluster = MakeCluster(2, 1, 39);
  JointSettings settings = MakeSettings(8);
  settings.tensor_degrees = {1};
  settings.data_degrees = {1};
  settings.micro_batch_samples = {1};
  const SolveLimits limits;
  Poller poller(limits);
  // A layer has 6 bytes of parameters and keeps 4 of each micro-batch in flight: 3 layers take 42 bytes in front, 4
  // take 40 behind; computed again they keep 1.
  const auto plan = AlpaProgram({pricer, cluster, settings}, poller);
  ASSERT_TRUE(plan.has_value());
  ASSERT_EQ(plan->stages.size(), 2);
  EXPECT_EQ(plan->stages.front().chunks.front().end_layer(), 3);
  EXPECT_EQ(plan->stages.front().first_slot, 0);
  // Stages of 3 x 40 ps: (2 + 7) x 120.
  EXPECT_EQ(plan->step.count(), 9 * 120);
}

// Layers of random kinds, whose prices depend on everything that they may depend on.
class RandomPricer : public LayerPricer {
 public:
  RandomPricer(uint64_t seed, int32_t num_layers, bool sends) : seed_(seed), sends_(sends) {
    RandomStream random(seed, 1);
    for (int32_t layer = 0; layer < num_layers; ++layer) {
      kinds_.push_back(static_cast<int32_t>(random.Below(3)));
      labels_.push_back(absl::StrCat("layer.", layer));
    }
  }

  const std::vector<int32_t>& kinds() const override { return kinds_; }
  const std::vector<std::string>& labels() const override { return labels_; }
  double flops_per_sample() const override { return 1; }
  int64_t tokens_per_sample() const override { return 1; }

  std::vector<LayerPrice> Price(const PriceQuery& query) const override {
    std::vector<LayerPrice> prices;
    for (uint64_t kind = 0; kind < 3; ++kind) {
      RandomStream random(seed_, 2 + kind);
      LayerPrice& price = prices.emplace_back();
      price.forward_ps = random.Between(5, 60) * query.samples / query.degrees.tensor + random.Between(0, 6);
      price.backward_ps = 2 * price.forward_ps;
      if (query.degrees.tensor > 1) price.forward_ps += random.Between(1, 20);
      const int64_t kept = random.Between(4, 30) * query.samples / query.degrees.tensor;
      price.modes[0] = {0, kept};
      if (random.Below(3) > 0) price.modes[2] = {price.forward_ps, 1 + kept / 5};
      price.recomputed_bytes = kept;
      price.workspace_bytes = random.Between(0, 8);
      price.parameter_bytes = random.Between(3, 30) / query.degrees.tensor;
      if (sends_) price.step_end_ps = price.parameter_bytes * (query.degrees.data - 1);
      if (sends_) price.output_bytes = random.Between(0, 6) * query.samples;
    }
    return prices;
  }

 private:
  uint64_t seed_;
  bool sends_;
  std::vector<int32_t> kinds_;
  std::vector<std::string> labels_;
};

TrainingCluster RandomCluster(RandomStream& random) {
  return MakeCluster(static_cast<int32_t>(random.Between(1, 3)), static_cast<int32_t>(1 << random.Below(3)),
                     random.Between(30, 200));
}

TEST(JointBaselinesTest, NoneIsBetterThanTheBoundOfTheSearch) {
  int found = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    RandomStream random(seed, 7);
    const RandomPricer pricer(seed, static_cast<int32_t>(random.Between(1, 7)), /*sends=*/true);
    const TrainingCluster cluster = RandomCluster(random);
    const JointSettings settings = MakeSettings(int64_t{1} << random.Between(0, 4));
    const JointOutcome outcome =
        SearchJoint({.pricer = pricer, .cluster = cluster, .settings = settings}, {}, [](const JointPlan&) {});
    for (const JointBaseline& baseline : JointBaselines({pricer, cluster, settings}, {})) {
      if (!baseline.plan.has_value() || !baseline.reason.empty()) continue;
      ++found;
      ASSERT_TRUE(outcome.plan.has_value()) << seed << " " << baseline.algorithm;
      EXPECT_GE(baseline.plan->step.count(), outcome.step_bound_ps) << seed << " " << baseline.algorithm;
    }
  }
  EXPECT_GT(found, 100);
}

// All of what Alpa's program chooses from, for one size of micro-batches, sharding and recomputation.
class Enumeration {
 public:
  Enumeration(const BaselineQuestion& question, const AlpaChoice& choice)
      : question_(question),
        row_(question.cluster),
        choice_(choice),
        sizes_(SubmeshSizes(row_.At(0))),
        groups_(GroupLayers(question.num_layers(), 16)) {}

  int64_t LeastStep() {
    plan_.per_stage = true;
    plan_.sharding = choice_.sharding;
    plan_.micro_batch_samples = choice_.samples;
    plan_.micro_batches = question_.settings.global_batch / choice_.samples;
    Extend(0, 0);
    return best_;
  }

 private:
  // Stages from the front: places are alike for both directions where nodes are.
  void Extend(std::size_t first, int64_t slot) {
    if (first + 1 == groups_.size()) {
      if (slot == row_.size()) Judge();
      return;
    }
    for (const int64_t size : sizes_) {
      const int64_t node = row_.At(0).devices_per_node;
      if (slot + size > row_.size() || (size > node ? slot % node != 0 : slot % node + size > node)) continue;
      for (std::size_t end = first + 1; end < groups_.size(); ++end) {
        for (const int32_t tensor : question_.settings.tensor_degrees) AddStage(first, end, slot, size, tensor);
      }
    }
  }

  void AddStage(std::size_t first, std::size_t end, int64_t slot, int64_t size, int32_t tensor) {
    if (size % tensor != 0) return;
    const Degrees degrees{.tensor = tensor, .data = static_cast<int32_t>(size / tensor)};
    const auto& samples = question_.settings.micro_batch_samples;
    if (choice_.samples % degrees.data != 0) return;
    if (std::find(samples.begin(), samples.end(), choice_.samples / degrees.data) == samples.end()) return;
    const auto prices = question_.pricer.Price({.device_class = DeviceClassId(0),
                                                .degrees = degrees,
                                                .samples = choice_.samples / degrees.data,
                                                .sharding = choice_.sharding});
    JointStage& stage = plan_.stages.emplace_back();
    stage.degrees = degrees;
    stage.first_slot = static_cast<int32_t>(slot);
    stage.chunks.resize(1);
    stage.chunks[0].first_layer = groups_[first];
    for (int32_t layer = groups_[first]; layer < groups_[end]; ++layer) {
      const auto kind = static_cast<std::size_t>(question_.pricer.kinds()[static_cast<std::size_t>(layer)]);
      stage.chunks[0].recomputation.push_back(
          *ModeOf(prices[kind], choice_.recomputation, question_.settings.recomputation));
    }
    Extend(end, slot + size);
    plan_.stages.pop_back();
  }

  void Judge() {
    std::optional<JointPlan> offered;
    Offer(question_, row_, plan_, offered);
    if (offered.has_value()) best_ = std::min(best_, offered->step.count());
  }

  const BaselineQuestion& question_;
  const DeviceRow row_;
  const AlpaChoice choice_;
  const std::vector<int64_t> sizes_;
  const std::vector<int32_t> groups_;
  JointPlan plan_;
  int64_t best_ = kNever;
};

TEST(AlpaProgramTest, IsExactWhereStagesSendNothing) {
  int found = 0;
  for (uint64_t seed = 0; seed < 150; ++seed) {
    RandomStream random(seed, 17);
    const RandomPricer pricer(seed, static_cast<int32_t>(random.Between(1, 6)), /*sends=*/false);
    const TrainingCluster cluster = RandomCluster(random);
    const JointSettings settings = MakeSettings(int64_t{1} << random.Between(0, 3));
    const BaselineQuestion question{pricer, cluster, settings};
    int64_t least = kNever;
    for (const Sharding sharding : settings.shardings) {
      for (const LayerRecomputation mode : settings.recomputation) {
        for (int64_t samples = 1; samples <= settings.global_batch; samples *= 2) {
          least = std::min(least, Enumeration(question, {samples, sharding, mode}).LeastStep());
        }
      }
    }
    const SolveLimits limits;
    Poller poller(limits);
    const auto plan = AlpaProgram(question, poller);
    ASSERT_EQ(plan.has_value(), least < kNever) << seed;
    if (!plan.has_value()) continue;
    ++found;
    EXPECT_GE(plan->step.count(), least) << seed;
    // Caps that are nearly those before are skipped.
    EXPECT_LE(static_cast<double>(plan->step.count()), 1.002 * static_cast<double>(least)) << seed;
  }
  EXPECT_GT(found, 50);
}

}  // namespace
}  // namespace planwright
