// Pipelines of several runs of layers on a device against all partitions and recomputations.
#include "core/joint/search/interleaved.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/random.h"
#include "core/joint/cost/stage_cost.h"
#include "core/joint/search/fewest_search.h"
#include "core/joint/search/joint_search.h"
#include "tests/property/cases.h"

namespace planwright {
namespace {

constexpr int64_t kNoStep = std::numeric_limits<int64_t>::max();

enum class InnerLayers {
  kAlike,
  kTwoKinds,
  kNearlyAlike,
  // Nor do ends and transfers take anything to speak of.
  kNearlyAlikeAlone
};

// An embedding, layers of one kind or two or each a little different, a head; everything is at random.
class ChainPricer : public LayerPricer {
 public:
  // `any_backward`: backward passes are at random too, else twice as long as forward ones.
  ChainPricer(uint64_t seed, int32_t num_layers, InnerLayers inner, bool any_backward = false)
      : seed_(seed), inner_(inner), any_backward_(any_backward) {
    RandomStream random(seed, 1);
    for (int32_t layer = 0; layer < num_layers; ++layer) {
      const bool is_inner = layer > 0 && layer + 1 < num_layers;
      const int32_t end = layer == 0 ? 0 : 3;
      kinds_.push_back(is_inner ? KindOfInner(layer, random) : end);
      labels_.push_back(absl::StrCat("layer.", layer));
    }
  }

  const std::vector<int32_t>& kinds() const override { return kinds_; }
  const std::vector<std::string>& labels() const override { return labels_; }
  double flops_per_sample() const override { return 1; }
  int64_t tokens_per_sample() const override { return 1; }

  std::vector<LayerPrice> Price(const PriceQuery& query) const override {
    std::vector<LayerPrice> prices;
    RandomStream shared(seed_, 2);
    // Boundaries are alike, as those of transformers are.
    const int64_t output_bytes = shared.Between(0, 6) * query.samples;
    for (uint64_t kind = 0; kind < 4; ++kind) {
      RandomStream random(seed_, 3 + kind);
      LayerPrice price;
      price.forward_ps = random.Between(5, 60) * query.samples;
      price.backward_ps = 2 * price.forward_ps;
      if (any_backward_) price.backward_ps = price.forward_ps * RandomStream(seed_, 9).Between(2, 12) / 4;
      const int64_t kept = random.Between(4, 30) * query.samples;
      price.modes[0] = {0, kept};
      const bool is_inner = kind == 1 || kind == 2;
      if (is_inner && random.Below(2) == 0) price.modes[1] = {random.Between(1, 9), kept - kept / 3};
      if (is_inner) price.modes[2] = {price.forward_ps, 1 + kept / 5};
      price.recomputed_bytes = is_inner ? kept : 0;
      price.workspace_bytes = random.Between(0, 8);
      price.parameter_bytes = random.Between(3, 30);
      price.step_end_ps = price.parameter_bytes;
      RandomStream of_ends(seed_, 90 + kind);
      if (!is_inner && seed_ % 3 == 0) price.ends_bytes = of_ends.Between(0, 40);
      price.shared = {.parameter_bytes = price.parameter_bytes / 2, .step_end_ps = price.step_end_ps / 2};
      price.output_bytes = kind == 3 ? 0 : output_bytes;
      prices.push_back(price);
    }
    if (inner_ == InnerLayers::kNearlyAlikeAlone) {
      for (LayerPrice& price : prices) {
        price.forward_ps = &price == &prices[1] ? 200 : 1;
        price.backward_ps = 2 * price.forward_ps;
        price.step_end_ps = 0;
        price.output_bytes = 0;
      }
    }
    while (AreNearlyAlike() && prices.size() < kinds_.size() + 3) {
      RandomStream random(seed_, 8 + prices.size());
      LayerPrice price = prices[1];
      price.forward_ps += random.Between(0, price.forward_ps / 10);
      price.backward_ps += random.Between(0, price.backward_ps / 10);
      for (auto& mode : price.modes) {
        if (!mode.has_value()) continue;
        mode->extra_ps += random.Between(0, 2);
        mode->kept_bytes += random.Between(0, 2);
      }
      price.parameter_bytes += random.Between(0, 2);
      prices.push_back(price);
    }
    return prices;
  }

 private:
  bool AreNearlyAlike() const {
    return inner_ == InnerLayers::kNearlyAlike || inner_ == InnerLayers::kNearlyAlikeAlone;
  }
  int32_t KindOfInner(int32_t layer, RandomStream& random) const {
    if (AreNearlyAlike()) return 3 + layer;
    return inner_ == InnerLayers::kAlike ? 1 : 1 + static_cast<int32_t>(random.Below(2));
  }

  uint64_t seed_;
  InnerLayers inner_;
  bool any_backward_;
  std::vector<int32_t> kinds_;
  std::vector<std::string> labels_;
};

// The same with ends that take next to nothing and layers that send nothing.
class LightEndsPricer : public ChainPricer {
 public:
  explicit LightEndsPricer(int32_t num_layers) : ChainPricer(1, num_layers, InnerLayers::kAlike) {}

  std::vector<LayerPrice> Price(const PriceQuery& query) const override {
    std::vector<LayerPrice> prices = ChainPricer::Price(query);
    for (LayerPrice& price : prices) {
      const bool is_inner = &price == &prices[1];
      price.forward_ps = is_inner ? 10 : 1;
      price.backward_ps = 2 * price.forward_ps;
      price.step_end_ps = is_inner ? 1 : 0;
      price.output_bytes = 0;
    }
    return prices;
  }
};

// Four layers that take as long and hold so many bytes each. `kinds`: which are alike.
class HeldBytesPricer : public ChainPricer {
 public:
  explicit HeldBytesPricer(std::vector<int32_t> kinds)
      : ChainPricer(1, 4, InnerLayers::kAlike), kinds_(std::move(kinds)) {}

  const std::vector<int32_t>& kinds() const override { return kinds_; }

  std::vector<LayerPrice> Price(const PriceQuery&) const override {
    std::vector<LayerPrice> prices;
    for (const int64_t bytes : {5, 1, 5, 9}) {
      LayerPrice& price = prices.emplace_back();
      price.forward_ps = 10;
      price.backward_ps = 20;
      price.modes[0] = {0, 0};
      price.parameter_bytes = bytes;
    }
    return prices;
  }

 private:
  std::vector<int32_t> kinds_;
};

struct Case {
  ChainPricer pricer;
  TrainingCluster cluster;
  JointSettings settings;
};

Case MakeCase(uint64_t seed, InnerLayers inner) {
  RandomStream random(seed, 99);
  Case made{ChainPricer(seed, static_cast<int32_t>(random.Between(4, 7)), inner), {}, {}};
  made.cluster.classes.push_back({DeviceClassId(0), static_cast<int32_t>(random.Between(1, 2)),
                                  static_cast<int32_t>(random.Between(1, 3)), random.Between(60, 500)});
  made.cluster.inside = {static_cast<double>(random.Between(1, 4)) * 1e12, 0};
  made.cluster.between = {1e12, random.Between(0, 5)};
  made.settings.global_batch = 12;
  made.settings.tensor_degrees = {1};
  made.settings.context_degrees = {1};
  made.settings.expert_degrees = {1};
  made.settings.data_degrees = {1};
  made.settings.micro_batch_samples = {1, 2};
  made.settings.recomputation = {LayerRecomputation::kNone, LayerRecomputation::kSelective, LayerRecomputation::kFull};
  made.settings.shardings = {Sharding::kNone};
  made.settings.orders = {PipelineOrder::kInterleaved};
  return made;
}

// Up to five nodes in racks of two, of which the first may begin with the second node.
Case MakeRackCase(uint64_t seed) {
  Case made = MakeCase(seed, InnerLayers::kAlike);
  RandomStream random(seed, 98);
  TrainingClass& part = made.cluster.classes.front();
  part.nodes = static_cast<int32_t>(random.Between(2, 5));
  part.devices_per_node = std::min(part.devices_per_node, 2);
  made.cluster.node_span = part.devices_per_node;
  const int64_t first = random.Between(0, 1) * part.devices_per_node;
  for (int64_t d = 0; d < part.devices(); ++d) made.cluster.devices.emplace_back(static_cast<std::size_t>(first + d));
  made.cluster.between.latency_ps = random.Between(5, 40);
  made.cluster.groups.push_back({2, {1e12, random.Between(0, 5)}});
  return made;
}

// More layers on more stages, none computed again: each stage can have several in a chunk. Of few micro-batches, too.
Case MakeLongCase(uint64_t seed) {
  Case made = MakeCase(seed, InnerLayers::kAlike);
  RandomStream random(seed, 97);
  const auto num_layers = static_cast<int32_t>(random.Between(8, 11));
  constexpr InnerLayers kInner[] = {InnerLayers::kTwoKinds, InnerLayers::kNearlyAlike, InnerLayers::kAlike,
                                    InnerLayers::kAlike};
  made.pricer = ChainPricer(seed, num_layers, kInner[random.Below(4)], true);
  made.cluster.classes.front().nodes = 1;
  made.cluster.classes.front().devices_per_node = static_cast<int32_t>(random.Between(2, 4));
  made.cluster.classes.front().memory_bytes = random.Between(150, 1'500);
  made.settings.micro_batch_samples = {1, 3, 4, 6};
  made.settings.recomputation = {LayerRecomputation::kNone};
  return made;
}

// Nodes of one device with links as slow as layers: the chunk with an end of the model, which pays for one of them
// only, may hold more than its share.
Case MakeSlowLinkCase(uint64_t seed) {
  Case made = MakeLongCase(seed);
  RandomStream random(seed, 96);
  TrainingClass& part = made.cluster.classes.front();
  part.nodes = static_cast<int32_t>(random.Between(2, 3));
  part.devices_per_node = 1;
  made.cluster.between.latency_ps = random.Between(5, 400);
  return made;
}

class InterleavedEnumeration {
 public:
  explicit InterleavedEnumeration(const Case& from)
      : from_(from), row_(from.cluster), num_layers_(static_cast<int32_t>(from.pricer.kinds().size())) {}

  void Run() {
    for (const int64_t samples : from_.settings.micro_batch_samples) {
      const int64_t micro_batches = from_.settings.global_batch / samples;
      for (int32_t stages = 2; stages <= row_.size(); ++stages) {
        if (micro_batches % stages != 0) continue;
        for (int32_t chunks = 2; chunks * stages <= num_layers_; ++chunks) {
          plan_ = JointPlan{.order = PipelineOrder::kInterleaved,
                            .chunks = chunks,
                            .micro_batch_samples = samples,
                            .micro_batches = micro_batches};
          for (int32_t first = 0; first + stages <= row_.size(); ++first) {
            plan_.stages.assign(static_cast<std::size_t>(stages), {});
            for (int32_t s = 0; s < stages; ++s) plan_.stages[static_cast<std::size_t>(s)].first_slot = first + s;
            AddRun(0, 0);
          }
        }
      }
    }
  }

  int64_t least_step = kNoStep;
  int64_t least_simulated = kNoStep;

 private:
  void AddRun(int32_t run, int32_t first) {
    const auto stages = static_cast<int32_t>(plan_.stages.size());
    const int32_t runs = stages * plan_.chunks;
    if (run == runs) return Judge();
    const int32_t last_end = num_layers_ - (runs - run - 1);
    for (int32_t end = run + 1 == runs ? num_layers_ : first + 1; end <= last_end; ++end) {
      auto& chunks = plan_.stages[static_cast<std::size_t>(run % stages)].chunks;
      chunks.push_back({first, {}});
      AddLayer(run, first, end);
      plan_.stages[static_cast<std::size_t>(run % stages)].chunks.pop_back();
    }
  }

  void AddLayer(int32_t run, int32_t layer, int32_t end) {
    if (layer == end) return AddRun(run + 1, end);
    const auto at = static_cast<std::size_t>(run) % plan_.stages.size();
    const LayerPrice price =
        from_.pricer.Price({})[static_cast<std::size_t>(from_.pricer.kinds()[static_cast<std::size_t>(layer)])];
    for (int mode = 0; mode < kNumRecomputations; ++mode) {
      const auto& allowed = from_.settings.recomputation;
      if (!price.modes[static_cast<std::size_t>(mode)].has_value()) continue;
      if (std::find(allowed.begin(), allowed.end(), static_cast<LayerRecomputation>(mode)) == allowed.end()) continue;
      plan_.stages[at].chunks.back().recomputation.push_back(static_cast<LayerRecomputation>(mode));
      AddLayer(run, layer + 1, end);
      plan_.stages[at].chunks.back().recomputation.pop_back();
    }
  }

  void Judge() {
    JointPlan plan = plan_;
    CostJointPlan(from_.pricer, row_, 0, plan);
    for (const JointStage& stage : plan.stages) {
      if (stage.memory.total() > row_.At(0).memory_bytes) return;
    }
    SimulateJointPlan(from_.pricer, row_, plan);
    least_step = std::min(least_step, plan.step.count());
    least_simulated = std::min(least_simulated, plan.simulated_step.count());
  }

  const Case& from_;
  const DeviceRow row_;
  const int32_t num_layers_;
  JointPlan plan_;
};

struct Found {
  int64_t plans = 0;
  // Of problems that have a plan.
  int64_t missed = 0;
  int64_t best = 0;
  double worst = 1;
  // Of the best plans over their bounds.
  double ratios = 0;
  // Of the shortest simulated steps over their bounds.
  double simulated_ratios = 0;
};

void Look(uint64_t seed, const Case& from, bool are_alike, Found& found) {
  SCOPED_TRACE(absl::StrCat("seed ", seed));
  const JointRequest request{from.pricer, from.cluster, from.settings, 0, 0};
  const JointOutcome outcome = SearchJoint(request, SolveLimits(), [](const JointPlan&) {});
  InterleavedEnumeration all(from);
  all.Run();
  const bool is_any = all.least_step != kNoStep;
  if (!outcome.plan.has_value()) {
    // That nothing fits is said only where that is so.
    ASSERT_TRUE(!is_any || (outcome.is_open && !are_alike));
    found.missed += is_any ? 1 : 0;
    return;
  }
  ASSERT_TRUE(is_any);
  ASSERT_LE(outcome.step_bound_ps, all.least_step);
  ASSERT_GE(outcome.plan->step.count(), all.least_step);
  ++found.plans;
  found.best += outcome.plan->step.count() == all.least_step ? 1 : 0;
  const auto least = static_cast<double>(all.least_step);
  found.worst = std::max(found.worst, static_cast<double>(outcome.plan->step.count()) / least);
  found.ratios += least / static_cast<double>(outcome.step_bound_ps);
  JointPlan plan = *outcome.plan;
  SimulateJointPlan(from.pricer, DeviceRow(from.cluster), plan);
  // More is asked for than there is, so that nothing but the bound keeps it below.
  const int64_t bound = BoundSimulatedStep(request, 2 * plan.simulated_step.count(), SolveLimits());
  ASSERT_LE(bound, all.least_simulated);
  found.simulated_ratios += static_cast<double>(all.least_simulated) / static_cast<double>(bound);
}

void ExpectWorst(double most, const Found& found) {
  EXPECT_LE(found.worst, most);
  // All divisions of problems so small are looked at.
  EXPECT_EQ(found.missed, 0);
}

TEST(InterleavedTest, LayersAlikeAreDealtOutAsWellAsCanBe) {
  Found found;
  for (uint64_t seed = 0; seed < NumCases(400) && !testing::Test::HasFailure(); ++seed) {
    Look(seed, MakeCase(seed, InnerLayers::kAlike), true, found);
  }
  ASSERT_GT(found.plans, 100 * CasesFactor());
  EXPECT_GE(found.best, 0.95 * static_cast<double>(found.plans));
  ExpectWorst(1.1, found);
  EXPECT_LE(found.ratios, 1.02 * static_cast<double>(found.plans));
}

TEST(InterleavedTest, LayersOfTwoKindsHaveSoundBounds) {
  Found found;
  for (uint64_t seed = 0; seed < NumCases(200) && !testing::Test::HasFailure(); ++seed) {
    Look(seed, MakeCase(seed, InnerLayers::kTwoKinds), false, found);
  }
  ASSERT_GT(found.plans, 50 * CasesFactor());
  EXPECT_GE(found.best, 0.95 * static_cast<double>(found.plans));
  ExpectWorst(1.12, found);
  EXPECT_LE(found.ratios, 1.1 * static_cast<double>(found.plans));
}

// What any of them takes at least bounds them all, and what they take beyond that counts.
TEST(InterleavedTest, LayersNearlyAlikeAreDealtOutNearlyAsWell) {
  Found found;
  for (uint64_t seed = 0; seed < NumCases(400) && !testing::Test::HasFailure(); ++seed) {
    Case from = seed % 2 == 0 ? MakeCase(seed, InnerLayers::kNearlyAlike) : MakeLongCase(seed);
    from.pricer = ChainPricer(seed, static_cast<int32_t>(from.pricer.kinds().size()), InnerLayers::kNearlyAlike);
    Look(seed, from, false, found);
  }
  ASSERT_GT(found.plans, 100 * CasesFactor());
  EXPECT_GE(found.best, 0.95 * static_cast<double>(found.plans));
  ExpectWorst(1.1, found);
  EXPECT_LE(found.ratios, 1.04 * static_cast<double>(found.plans));
  EXPECT_LE(found.simulated_ratios, 1.06 * static_cast<double>(found.plans));
}

// Bounds of the simulated step are near then, so that it shows where they count more than there is.
TEST(InterleavedTest, LayersNearlyAlikeAloneHaveNearBounds) {
  Found found;
  for (uint64_t seed = 0; seed < NumCases(100) && !testing::Test::HasFailure(); ++seed) {
    Case from = MakeLongCase(seed);
    from.pricer = ChainPricer(seed, static_cast<int32_t>(from.pricer.kinds().size()), InnerLayers::kNearlyAlikeAlone);
    from.cluster.classes.front().memory_bytes = 100'000;
    from.cluster.classes.front().devices_per_node = 2;
    from.settings.micro_batch_samples = {1};
    Look(seed, from, false, found);
  }
  ASSERT_GE(found.plans, 100 * CasesFactor());
  EXPECT_LE(found.ratios, 1.045 * static_cast<double>(found.plans));
  EXPECT_LE(found.simulated_ratios, 1.03 * static_cast<double>(found.plans));
}

// Eight layers, of which three stages of three chunks could hold nine with the same longest chunk.
TEST(InterleavedTest, StagesWhoseWorkEndsLastHaveFewerLayers) {
  Case from = MakeLongCase(1);
  from.cluster.classes.front().devices_per_node = 3;
  from.cluster.classes.front().memory_bytes = 100'000;
  from.settings.micro_batch_samples = {1};
  from.settings.num_stages = 3;
  const LightEndsPricer pricer(10);
  const JointOutcome outcome =
      SearchJoint({pricer, from.cluster, from.settings, 0, 0}, SolveLimits(), [](const JointPlan&) {});
  ASSERT_TRUE(outcome.plan.has_value());
  std::vector<std::size_t> layers;
  for (const JointStage& stage : outcome.plan->stages) {
    std::size_t& own = layers.emplace_back(0);
    for (const JointChunk& chunk : stage.chunks) own += chunk.recomputation.size();
  }
  // With the two ends: the last stage would take as long as the first one, and begins later.
  EXPECT_EQ(layers, (std::vector<std::size_t>{4, 3, 3}));
}

// Devices of 10 bytes hold the first and the third, and the second and the fourth of layers of 5, 1, 5 and 9 bytes; no
// two of them hold runs of layers that follow each other.
TEST(InterleavedTest, ChunksOfUnlikeLayersHoldWhatNoStageDoes) {
  Case from = MakeCase(1, InnerLayers::kAlike);
  from.cluster.classes.front() = {DeviceClassId(0), 1, 2, 10};
  from.settings.global_batch = 2;
  from.settings.micro_batch_samples = {1};
  from.settings.orders = {PipelineOrder::kOneFOneB, PipelineOrder::kInterleaved};
  const HeldBytesPricer unlike({0, 1, 2, 3});
  const JointRequest request{unlike, from.cluster, from.settings, 0, 0};
  const JointOutcome outcome = SearchJoint(request, SolveLimits(), [](const JointPlan&) {});
  ASSERT_TRUE(outcome.plan.has_value());
  EXPECT_EQ(outcome.plan->order, PipelineOrder::kInterleaved);
  const FewestOutcome plain = SearchFewestDevices(request, std::nullopt, 2, SolveLimits());
  EXPECT_FALSE(plain.plan.has_value());
  EXPECT_TRUE(plain.is_proven);
  // So what 1F1B does not hold proves nothing here.
  EXPECT_FALSE(PlainHoldsWhatOthersDo(request));
  from.settings.orders = {PipelineOrder::kInterleaved};
  EXPECT_FALSE(PlainHoldsWhatOthersDo({unlike, from.cluster, from.settings, 0, 0}));
  from.settings.orders = {PipelineOrder::kOneFOneB};
  EXPECT_TRUE(PlainHoldsWhatOthersDo({unlike, from.cluster, from.settings, 0, 0}));
  // Layers alike between the ends.
  from.settings.orders = {PipelineOrder::kOneFOneB, PipelineOrder::kInterleaved};
  const HeldBytesPricer alike({0, 1, 1, 3});
  EXPECT_TRUE(PlainHoldsWhatOthersDo({alike, from.cluster, from.settings, 0, 0}));
}

TEST(InterleavedTest, LongerChainsHaveSoundBoundsOfSimulatedSteps) {
  Found found;
  for (uint64_t seed = 0; seed < NumCases(200) && !testing::Test::HasFailure(); ++seed) {
    Look(seed, MakeLongCase(seed), false, found);
  }
  ASSERT_GT(found.plans, 100 * CasesFactor());
  EXPECT_LE(found.simulated_ratios, 1.1 * static_cast<double>(found.plans));
}

TEST(InterleavedTest, ChainsWithSlowLinksHaveSoundBounds) {
  Found found;
  for (uint64_t seed = 0; seed < NumCases(100) && !testing::Test::HasFailure(); ++seed) {
    Look(seed, MakeSlowLinkCase(seed), false, found);
  }
  ASSERT_GT(found.plans, 50 * CasesFactor());
}

TEST(InterleavedTest, StagesInRacksHaveSoundBounds) {
  Found found;
  for (uint64_t seed = 0; seed < NumCases(200) && !testing::Test::HasFailure(); ++seed) {
    Look(seed, MakeRackCase(seed), true, found);
  }
  ASSERT_GT(found.plans, 50 * CasesFactor());
  ExpectWorst(1.3, found);
  EXPECT_LE(found.ratios, 1.06 * static_cast<double>(found.plans));
}

}  // namespace
}  // namespace planwright
