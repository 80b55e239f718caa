#include "core/joint/search/joint_search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/base/random.h"
#include "core/joint/cost/stage_cost.h"
#include "core/joint/search/fewest_search.h"
#include "tests/property/cases.h"
#include "tests/support/digest.h"

namespace planwright {
namespace {

constexpr int64_t kNone = std::numeric_limits<int64_t>::max();

// Layers of random kinds whose prices depend on everything that they may depend on.
class RandomPricer : public LayerPricer {
 public:
  // `are_unlike`: each layer is a kind of its own, whose passes have nothing to do with each other.
  // `some_are_barred`: layers of some kinds cannot run at one of the tensor degrees.
  RandomPricer(uint64_t seed, int32_t num_layers, bool are_unlike = false, bool some_are_barred = false)
      : seed_(seed), are_unlike_(are_unlike), some_are_barred_(some_are_barred) {
    RandomStream random(seed, 1);
    for (int32_t layer = 0; layer < num_layers; ++layer) {
      const auto kind = static_cast<int32_t>(random.Below(3));
      const int32_t kind_if_alike = layer == 0 ? 0 : kind;
      kinds_.push_back(are_unlike ? layer : kind_if_alike);
      labels_.push_back(absl::StrCat("layer.", layer));
    }
    has_full_ = random.Below(4) != 0;
    unnumbered_ends_ = static_cast<int32_t>(seed % 2);
    slow_tensor_ = random.Below(2) == 0;
    // What a step ends with counts little, as much as a stage, or most.
    step_end_factor_ = int64_t{1} << (3 * random.Between(0, 2));
  }

  const std::vector<int32_t>& kinds() const override { return kinds_; }
  const std::vector<std::string>& labels() const override { return labels_; }
  double flops_per_sample() const override { return 1; }
  int64_t tokens_per_sample() const override { return 1; }
  int32_t unnumbered_ends() const override { return unnumbered_ends_; }

  std::vector<LayerPrice> Price(const PriceQuery& query) const override {
    std::vector<LayerPrice> prices = PriceOfAny(query);
    const auto can_run = [](const LayerPrice& price) { return price.can_run; };
    return std::all_of(prices.begin(), prices.end(), can_run) ? std::move(prices) : std::vector<LayerPrice>();
  }

  std::vector<LayerPrice> PriceOfAny(const PriceQuery& query) const override {
    std::vector<LayerPrice> prices;
    const int32_t kinds = 1 + *std::max_element(kinds_.begin(), kinds_.end());
    for (int32_t kind = 0; kind < kinds; ++kind) {
      const LayerPrice price = PriceOf(kind, query);
      prices.push_back(IsBarred(kind, query) ? Barred(price) : price);
    }
    return prices;
  }

 private:
  static LayerPrice Barred(const LayerPrice& price) {
    LayerPrice barred;
    barred.output_bytes = price.output_bytes;
    barred.can_run = false;
    return barred;
  }

  bool IsBarred(int32_t kind, const PriceQuery& query) const {
    RandomStream random(seed_, static_cast<uint64_t>(200 + kind));
    return some_are_barred_ && random.Between(0, 3) == query.degrees.tensor;
  }

  // Such layers are never computed again.
  bool IsUnnumbered(int32_t kind) const {
    return unnumbered_ends_ > 0 && (kind == kinds_.front() || kind == kinds_.back());
  }

  LayerPrice PriceOf(int32_t kind, const PriceQuery& query) const {
    RandomStream random(seed_, static_cast<uint64_t>(2 + kind));
    const int64_t tensor = query.degrees.tensor;
    const int64_t samples = query.samples;
    const int64_t slowness = static_cast<int64_t>(query.device_class.index()) + 1;
    LayerPrice price;
    price.forward_ps = random.Between(5, 60) * samples * slowness / tensor + random.Between(0, 6);
    price.backward_ps = 2 * price.forward_ps + random.Between(0, 6);
    if (tensor > 1) price.forward_ps += slow_tensor_ ? random.Between(5, 40) : 2;
    if (query.crosses_nodes) price.forward_ps += query.between->latency_ps;
    const int64_t kept = random.Between(4, 30) * samples / tensor;
    price.modes[0] = {0, kept};
    if (random.Below(2) == 0) price.modes[1] = {random.Between(1, 9), kept - kept / 3};
    if (has_full_ && !IsUnnumbered(kind)) price.modes[2] = {price.forward_ps, 1 + kept / 5};
    price.recomputed_bytes = kept;
    price.workspace_bytes = random.Between(0, 8);
    const int64_t state = random.Between(3, 30) / tensor;
    price.parameter_bytes = state;
    price.optimizer_bytes = query.sharding == Sharding::kNone ? 3 * state : 3 * state / query.degrees.data;
    price.step_end_ps = step_end_factor_ * state * (query.crosses_nodes ? 5 : 1) * (query.degrees.data - 1);
    price.output_bytes = random.Between(0, 6) * samples;
    if (are_unlike_) {
      price.backward_ps = random.Between(5, 100);
      price.step_end_ps = random.Between(0, 60);
    }
    RandomStream of_ends(seed_, static_cast<uint64_t>(300 + kind));
    if (seed_ / 2 % 2 == 0) price.ends_bytes = step_end_factor_ * of_ends.Between(0, 30) / tensor;
    if (seed_ / 4 % 2 == 0) {
      price.shared = {.parameter_bytes = of_ends.Between(0, price.parameter_bytes),
                      .optimizer_bytes = of_ends.Between(0, price.optimizer_bytes),
                      .step_end_ps = of_ends.Between(0, price.step_end_ps)};
    }
    price.weights_ps = random.Between(0, price.backward_ps);
    price.weights_kept_bytes = random.Below(4) == 0 ? 0 : random.Between(1, 30) * samples / tensor;
    return price;
  }

  uint64_t seed_;
  bool are_unlike_;
  bool some_are_barred_;
  std::vector<int32_t> kinds_;
  std::vector<std::string> labels_;
  bool has_full_ = true;
  int32_t unnumbered_ends_ = 0;
  bool slow_tensor_ = false;
  int64_t step_end_factor_ = 1;
};

struct Instance {
  RandomPricer pricer;
  TrainingCluster cluster;
  JointSettings settings;
};

Instance MakeInstance(uint64_t seed, bool per_stage, PipelineOrder order = PipelineOrder::kOneFOneB,
                      bool first_layers_alike = false, bool some_are_barred = false) {
  RandomStream random(seed, 99);
  const int64_t most_layers = first_layers_alike ? 5 : 4;
  const auto num_layers = static_cast<int32_t>(random.Between(1, most_layers));
  Instance instance{RandomPricer(seed, num_layers, /*are_unlike=*/false, some_are_barred), {}, {}};
  const int32_t classes = random.Below(3) == 0 ? 2 : 1;
  for (int32_t number = 0; number < classes; ++number) {
    const auto per_node = static_cast<int32_t>(random.Between(1, 3));
    // A block of more than a node may begin inside one only where there are three.
    const auto nodes = static_cast<int32_t>(random.Between(1, per_node == 2 ? 3 : 2));
    instance.cluster.classes.push_back(
        {DeviceClassId(static_cast<std::size_t>(number)), nodes, per_node, random.Between(30, 260)});
  }
  instance.cluster.inside = {static_cast<double>(random.Between(1, 4)) * 1e12, 0};
  instance.cluster.between = {1e12, random.Between(0, 5)};
  JointSettings& settings = instance.settings;
  // Many micro-batches make the longest stage count, few the sum.
  settings.global_batch = int64_t{1} << random.Between(0, per_stage ? 3 : 6);
  settings.tensor_degrees = {1, 2};
  settings.context_degrees = {1};
  settings.expert_degrees = {1};
  settings.micro_batch_samples = {1, 2};
  settings.recomputation = {LayerRecomputation::kNone, LayerRecomputation::kSelective, LayerRecomputation::kFull};
  settings.shardings = {Sharding::kNone, Sharding::kOptimizer};
  settings.orders = {order};
  settings.per_stage = per_stage;
  settings.first_layers_alike = first_layers_alike;
  if (first_layers_alike) settings.recomputation = {LayerRecomputation::kNone, LayerRecomputation::kFull};
  return instance;
}

// Nodes in racks of two, and some of these in pods of four; some nodes are missing, and some classes begin inside a
// rack.
Instance MakeRackInstance(uint64_t seed, bool per_stage, PipelineOrder order) {
  Instance instance = MakeInstance(seed, per_stage, order);
  RandomStream random(seed, 98);
  TrainingCluster& cluster = instance.cluster;
  if (cluster.classes.size() == 1) cluster.classes[0].nodes = static_cast<int32_t>(random.Between(2, 5));
  int64_t most = 1;
  for (TrainingClass& part : cluster.classes) {
    part.devices_per_node = std::min(part.devices_per_node, 2);
    most = std::max<int64_t>(most, part.devices_per_node);
  }
  cluster.node_span = most + random.Between(0, 1);
  const bool some_are_missing = random.Below(3) == 0;
  int64_t node = random.Between(0, 1);
  for (const TrainingClass& part : cluster.classes) {
    for (int32_t n = 0; n < part.nodes; ++n, ++node) {
      if (some_are_missing) node += random.Between(0, 2);
      for (int32_t d = 0; d < part.devices_per_node; ++d) {
        cluster.devices.emplace_back(static_cast<std::size_t>(node * cluster.node_span + d));
      }
    }
  }
  cluster.between.latency_ps = random.Between(5, 40);
  cluster.groups.push_back({2, {2e12, random.Between(0, 4)}});
  if (random.Below(2) == 0) cluster.groups.push_back({4, {1.5e12, 5}});
  return instance;
}

// More layers, in fewer ways to spread them: labels of one place that beat each other in one part each.
Instance MakeUnlikeInstance(uint64_t seed, PipelineOrder order) {
  RandomStream random(seed, 98);
  Instance instance{RandomPricer(seed, static_cast<int32_t>(random.Between(4, 6)), /*are_unlike=*/true), {}, {}};
  instance.cluster.classes.push_back({DeviceClassId(0), static_cast<int32_t>(random.Between(1, 2)),
                                      static_cast<int32_t>(random.Between(2, 3)), random.Between(60, 500)});
  // What stages send each other may take as long as a pass of a layer.
  const double speed = random.Below(2) == 0 ? 1e11 : 1e12;
  instance.cluster.inside = {static_cast<double>(random.Between(1, 4)) * speed, 0};
  instance.cluster.between = {speed, random.Between(0, 5)};
  JointSettings& settings = instance.settings;
  // With few divisors.
  settings.global_batch = 2 * random.Between(1, 4) - (random.Below(2) == 0 ? 1 : 0);
  settings.tensor_degrees = {1};
  settings.context_degrees = {1};
  settings.expert_degrees = {1};
  settings.micro_batch_samples = {1};
  settings.recomputation = {LayerRecomputation::kNone, LayerRecomputation::kSelective, LayerRecomputation::kFull};
  settings.shardings = {Sharding::kNone};
  settings.orders = {order};
  return instance;
}

// The closed form is above the step task by task, but under 1F1B for stages whose passes differ in their proportion
// (docs/joint-search.md, section 2).
void ExpectNear(const JointPlan& plan) {
  if (plan.order == PipelineOrder::kGpipe || plan.order == PipelineOrder::kZeroBubble) {
    EXPECT_LE(plan.simulated_step, plan.step);
    return;
  }
  EXPECT_LE(static_cast<double>(plan.simulated_step.count()), 1.05 * static_cast<double>(plan.step.count()));
}

// Looks at every partition, degree, recomputation and place.
class Enumeration {
 public:
  explicit Enumeration(const Instance& instance)
      : instance_(instance),
        row_(instance.cluster),
        num_layers_(static_cast<int32_t>(instance.pricer.kinds().size())) {}

  int64_t LeastStep() {
    for (const Sharding sharding : instance_.settings.shardings) {
      for (int64_t samples = 1; samples <= instance_.settings.global_batch; ++samples) TryBatch(sharding, samples);
    }
    return best_;
  }

 private:
  void TryBatch(Sharding sharding, int64_t samples) {
    const JointSettings& settings = instance_.settings;
    plan_ = JointPlan{};
    plan_.order = settings.orders.front();
    plan_.sharding = sharding;
    plan_.per_stage = settings.per_stage;
    if (settings.global_batch % samples != 0) return;
    if (settings.per_stage) {
      plan_.micro_batch_samples = samples;
      plan_.micro_batches = settings.global_batch / samples;
      return AddStage(0, 0);
    }
    // Of all ranks together: each division among them.
    for (const int64_t each : settings.micro_batch_samples) {
      if (samples % each != 0) continue;
      plan_.micro_batch_samples = each;
      plan_.micro_batches = settings.global_batch / samples;
      data_ = samples / each;
      for (const int32_t tensor : settings.tensor_degrees) {
        tensor_ = tensor;
        AddStage(0, 0);
      }
    }
  }

  void AddStage(int32_t first, int64_t slot) {
    if (first == num_layers_) return Judge();
    for (const Degrees& degrees : Spreads()) {
      for (int64_t at = slot; at + degrees.devices() <= row_.size(); ++at) {
        if (!IsAligned(at, degrees.devices())) continue;
        for (int32_t end = first + 1; end <= num_layers_; ++end) {
          JointStage stage;
          stage.degrees = degrees;
          stage.first_slot = static_cast<int32_t>(at);
          stage.chunks.push_back({first, {}});
          plan_.stages.push_back(stage);
          AddLayer(first, end, at + degrees.devices());
          plan_.stages.pop_back();
        }
      }
    }
  }

  void AddLayer(int32_t layer, int32_t end, int64_t slot) {
    if (layer == end) return AddStage(end, slot);
    const LayerPrice price = instance_.pricer.PriceOfAny(
        {.device_class = DeviceClassId(0), .degrees = plan_.stages.back().degrees})[static_cast<std::size_t>(
        instance_.pricer.kinds()[static_cast<std::size_t>(layer)])];
    for (int mode = 0; mode < kNumRecomputations; ++mode) {
      if (!price.modes[static_cast<std::size_t>(mode)].has_value()) continue;
      const std::size_t at = plan_.stages.size() - 1;
      plan_.stages[at].chunks[0].recomputation.push_back(static_cast<LayerRecomputation>(mode));
      AddLayer(layer + 1, end, slot);
      plan_.stages[at].chunks[0].recomputation.pop_back();
    }
  }

  std::vector<Degrees> Spreads() const {
    if (!plan_.per_stage) return {Degrees{static_cast<int32_t>(tensor_), 1, 1, static_cast<int32_t>(data_)}};
    std::vector<Degrees> spreads;
    for (const int32_t tensor : instance_.settings.tensor_degrees) {
      for (int32_t data = 1; data <= plan_.micro_batch_samples; ++data) {
        if (plan_.micro_batch_samples % data != 0) continue;
        const int64_t each = plan_.micro_batch_samples / data;
        if (each <= 2) spreads.push_back(Degrees{tensor, 1, 1, data});
      }
    }
    return spreads;
  }

  // Within a node, or on whole nodes up to the last one.
  bool IsAligned(int64_t slot, int64_t devices) const {
    const int32_t number = row_.ClassOf(slot);
    if (slot + devices > row_.EndOf(number)) return false;
    const int64_t size = row_.At(number).devices_per_node;
    const int64_t inside = (slot - row_.StartOf(number)) % size;
    return devices <= size ? inside + devices <= size : inside == 0 && FitsWhole(slot, devices, number);
  }
  bool FitsWhole(int64_t slot, int64_t devices, int32_t number) const {
    const int64_t size = row_.At(number).devices_per_node;
    return slot + (devices + size - 1) / size * size <= row_.EndOf(number);
  }

  // What a larger block leaves idle of its last node stays idle.
  bool SharesNoWholeNode() const {
    for (std::size_t s = 0; s + 1 < plan_.stages.size(); ++s) {
      const JointStage& stage = plan_.stages[s];
      const int32_t number = row_.ClassOf(stage.first_slot);
      const int64_t size = row_.At(number).devices_per_node;
      if (stage.degrees.devices() <= size) continue;
      const int64_t end = stage.first_slot + (stage.degrees.devices() + size - 1) / size * size;
      if (plan_.stages[s + 1].first_slot < end) return false;
    }
    return true;
  }

  // Numbered layers of each stage: as many of the first ones computed again as in every stage, and no others.
  bool AreFirstLayersAlike() const {
    const int32_t ends = instance_.pricer.unnumbered_ends();
    for (int32_t again = 0; again <= num_layers_; ++again) {
      bool are_alike = true;
      for (const JointStage& stage : plan_.stages) {
        const JointChunk& chunk = stage.chunks.front();
        int32_t numbered = 0;
        for (int32_t layer = chunk.first_layer; layer < chunk.end_layer(); ++layer) {
          const bool is_numbered = layer >= ends && layer + ends < num_layers_;
          const auto wanted = is_numbered && numbered < again ? LayerRecomputation::kFull : LayerRecomputation::kNone;
          numbered += is_numbered ? 1 : 0;
          const auto at = static_cast<std::size_t>(layer - chunk.first_layer);
          are_alike = are_alike && chunk.recomputation[at] == wanted;
        }
      }
      if (are_alike) return true;
    }
    return false;
  }

  void Judge() {
    if (!SharesNoWholeNode()) return;
    const auto num_stages = static_cast<int64_t>(plan_.stages.size());
    if (plan_.order == PipelineOrder::kZeroBubble && plan_.micro_batches < num_stages) return;
    if (instance_.settings.first_layers_alike && !AreFirstLayersAlike()) return;
    JointPlan plan = plan_;
    CostJointPlan(instance_.pricer, row_, 0, plan);
    for (const JointStage& stage : plan.stages) {
      if (stage.memory.total() > row_.At(row_.ClassOf(stage.first_slot)).memory_bytes) return;
    }
    SimulateJointPlan(instance_.pricer, row_, plan);
    ExpectNear(plan);
    least_simulated = std::min(least_simulated, plan.simulated_step.count());
    best_ = std::min(best_, plan.step.count());
  }

 public:
  int64_t least_simulated = kNone;

 private:
  const Instance& instance_;
  DeviceRow row_;
  int32_t num_layers_;
  int64_t tensor_ = 1;
  int64_t data_ = 1;
  JointPlan plan_;
  int64_t best_ = kNone;
};

// What the bound of the simulated step leaves of the least step of all plans; 1 where there is no plan.
double ExpectOptimal(const Instance& instance) {
  const JointRequest request{instance.pricer, instance.cluster, instance.settings, 0, 0};
  const JointOutcome outcome = SearchJoint(request, SolveLimits(), [](const JointPlan&) {});
  Enumeration enumeration(instance);
  const int64_t best = enumeration.LeastStep();
  EXPECT_EQ(outcome.plan.has_value(), best != kNone);
  if (!outcome.plan.has_value() || best == kNone) return 1;
  EXPECT_EQ(outcome.plan->step.count(), best);
  EXPECT_EQ(outcome.step_bound_ps, best);
  JointPlan plan = *outcome.plan;
  SimulateJointPlan(instance.pricer, DeviceRow(instance.cluster), plan);
  // More is asked for than there is, so that nothing but the bound keeps it below.
  const int64_t bound = BoundSimulatedStep(request, 2 * plan.simulated_step.count(), SolveLimits());
  EXPECT_LE(bound, enumeration.least_simulated);
  EXPECT_GT(bound, 0);
  return static_cast<double>(bound) / static_cast<double>(enumeration.least_simulated);
}

double ExpectOptimal(uint64_t seed, bool per_stage, PipelineOrder order = PipelineOrder::kOneFOneB,
                     bool first_layers_alike = false) {
  SCOPED_TRACE(absl::StrCat("seed ", seed, per_stage ? ", by stage" : ", uniform"));
  return ExpectOptimal(MakeInstance(seed, per_stage, order, first_layers_alike));
}

TEST(JointSearchTest, FindsWhatLookingAtEverythingFindsWithOneSpread) {
  const uint64_t cases = NumCases(600);
  double met = 0;
  for (uint64_t seed = 0; seed < cases && !testing::Test::HasFailure(); ++seed) met += ExpectOptimal(seed, false);
  // The bound of the simulated step is close.
  EXPECT_GE(met, 0.98 * static_cast<double>(cases)) << met;
}

TEST(JointSearchTest, FindsWhatLookingAtEverythingFindsWithSpreadsByStage) {
  for (uint64_t seed = 0; seed < NumCases(400) && !testing::Test::HasFailure(); ++seed) {
    ExpectOptimal(seed, true);
  }
}

TEST(JointSearchTest, FindsWhatLookingAtEverythingFindsWhereLayersLackDegrees) {
  int found = 0;
  for (uint64_t seed = 0; seed < NumCases(300) && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    const Instance instance = MakeInstance(seed, true, PipelineOrder::kOneFOneB, false, /*some_are_barred=*/true);
    ExpectOptimal(instance);
    const auto may_all_have = [&](int32_t tensor) {
      return !instance.pricer.Price({.device_class = DeviceClassId(0), .degrees = {.tensor = tensor}}).empty();
    };
    const bool must_differ = !may_all_have(1) && !may_all_have(2);
    found += must_differ && Enumeration(instance).LeastStep() != kNone ? 1 : 0;
  }
  // Some have plans only where stages differ.
  EXPECT_GT(found, 0);
}

TEST(JointSearchTest, FindsWhatLookingAtEverythingFindsInRacks) {
  for (uint64_t seed = 0; seed < NumCases(300) && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    constexpr std::array kOrders = {PipelineOrder::kOneFOneB, PipelineOrder::kOneFOneB, PipelineOrder::kGpipe,
                                    PipelineOrder::kZeroBubble};
    ExpectOptimal(MakeRackInstance(seed, seed % 4 == 0, kOrders[seed % 4]));
  }
}

TEST(JointSearchTest, FindsWhatLookingAtEverythingFindsUnderGpipe) {
  for (uint64_t seed = 0; seed < NumCases(400) && !testing::Test::HasFailure(); ++seed) {
    ExpectOptimal(seed, false, PipelineOrder::kGpipe);
  }
}

TEST(JointSearchTest, FindsWhatLookingAtEverythingFindsWithoutBubbles) {
  for (uint64_t seed = 0; seed < NumCases(400) && !testing::Test::HasFailure(); ++seed) {
    ExpectOptimal(seed, false, PipelineOrder::kZeroBubble);
  }
}

TEST(JointSearchTest, FindsWhatLookingAtEverythingFindsOfUnlikeLayers) {
  const uint64_t cases = NumCases(200);
  double met = 0;
  for (uint64_t seed = 0; seed < cases && !testing::Test::HasFailure(); ++seed) {
    for (const PipelineOrder order : {PipelineOrder::kOneFOneB, PipelineOrder::kGpipe, PipelineOrder::kZeroBubble}) {
      SCOPED_TRACE(absl::StrCat("seed ", seed, ", order ", static_cast<int>(order)));
      const double ratio = ExpectOptimal(MakeUnlikeInstance(seed, order));
      if (order == PipelineOrder::kOneFOneB) met += ratio;
    }
  }
  EXPECT_GE(met, 0.97 * static_cast<double>(cases)) << met;
}

TEST(JointSearchTest, FindsWhatLookingAtEverythingFindsWithFirstLayersAlike) {
  for (uint64_t seed = 0; seed < NumCases(300) && !testing::Test::HasFailure(); ++seed) {
    ExpectOptimal(seed, false, PipelineOrder::kOneFOneB, true);
  }
}

// So many devices of a row of nodes alike: what is not whole nodes comes first.
Instance OnDevices(const Instance& whole, int64_t devices) {
  Instance part = whole;
  const TrainingClass nodes = whole.cluster.classes.front();
  const auto add = [&](int64_t count, int64_t per_node) {
    if (count == 0 || per_node == 0) return;
    part.cluster.classes.push_back(
        {nodes.device_class, static_cast<int32_t>(count), static_cast<int32_t>(per_node), nodes.memory_bytes});
  };
  part.cluster.classes.clear();
  add(1, devices % nodes.devices_per_node);
  add(devices / nodes.devices_per_node, nodes.devices_per_node);
  return part;
}

// Of a row of nodes alike, the fewest devices for every target that is as good as what some number of devices reaches,
// or a little better, and for none.
class FewestDevicesOfAll {
 public:
  explicit FewestDevicesOfAll(Instance instance) : instance_(std::move(instance)) {
    instance_.cluster.classes.resize(1);
    devices_ = instance_.cluster.classes.front().devices();
    for (int64_t devices = 1; devices <= devices_; ++devices) {
      least_steps_.push_back(Enumeration(OnDevices(instance_, devices)).LeastStep());
    }
  }

  void ExpectFound() const {
    for (const int64_t most_devices : {devices_, devices_ - 1}) {
      if (most_devices == 0) continue;
      Expect(std::nullopt, most_devices);
      for (const int64_t step : std::set<int64_t>(least_steps_.begin(), least_steps_.end())) {
        if (step == kNone) continue;
        Expect(step, most_devices);
        Expect(step - 1, most_devices);
      }
    }
  }

 private:
  void Expect(std::optional<int64_t> most_ps, int64_t most_devices) const {
    SCOPED_TRACE(absl::StrCat("target ", most_ps.value_or(0), ", at most ", most_devices));
    const JointRequest request{instance_.pricer, instance_.cluster, instance_.settings, 0, 0};
    FewestOutcome outcome = SearchFewestDevices(request, most_ps, most_devices, SolveLimits());
    const auto end = least_steps_.begin() + most_devices;
    const auto reached =
        std::find_if(least_steps_.begin(), end, [&](int64_t step) { return step <= most_ps.value_or(kNone - 1); });
    EXPECT_EQ(outcome.devices, reached - least_steps_.begin() + 1);
    EXPECT_TRUE(outcome.is_proven);
    ASSERT_EQ(outcome.plan.has_value(), reached != end);
    if (outcome.plan.has_value()) ExpectReaches(*outcome.plan, outcome.devices, most_ps.value_or(kNone));
  }

  // The plan takes the last devices of the row, so that all of it is in a row of just so many.
  void ExpectReaches(JointPlan plan, int64_t devices, int64_t most_ps) const {
    const Instance part = OnDevices(instance_, devices);
    const DeviceRow row(part.cluster);
    for (JointStage& stage : plan.stages) stage.first_slot -= static_cast<int32_t>(devices_ - devices);
    CostJointPlan(part.pricer, row, 0, plan);
    EXPECT_TRUE(IsHeld(row, 0, plan));
    EXPECT_LE(plan.step.count(), most_ps);
  }

  Instance instance_;
  int64_t devices_ = 0;
  // By number of devices, from 1.
  std::vector<int64_t> least_steps_;
};

TEST(FewestSearchTest, FindsWhatLookingAtEverythingOnEachNumberOfDevicesFinds) {
  for (uint64_t seed = 0; seed < NumCases(200) && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    const bool per_stage = seed % 4 == 1;
    FewestDevicesOfAll(MakeInstance(seed, per_stage, PipelineOrder::kOneFOneB, seed % 4 == 2)).ExpectFound();
  }
}

TEST(FewestSearchTest, FindsTheFewestOfUnlikeLayers) {
  for (uint64_t seed = 0; seed < NumCases(60) && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    FewestDevicesOfAll(MakeUnlikeInstance(seed, PipelineOrder::kOneFOneB)).ExpectFound();
  }
}

TEST(JointSearchTest, MoreOrdersAreNeverWorse) {
  constexpr std::array kOrders = {PipelineOrder::kOneFOneB, PipelineOrder::kInterleaved, PipelineOrder::kGpipe,
                                  PipelineOrder::kZeroBubble};
  for (uint64_t seed = 0; seed < NumCases(100); ++seed) {
    SCOPED_TRACE(seed);
    Instance instance = MakeInstance(seed, false);
    const JointRequest request{instance.pricer, instance.cluster, instance.settings, 0, 0};
    instance.settings.orders.assign(kOrders.begin(), kOrders.end());
    const JointOutcome all = SearchJoint(request, SolveLimits(), [](const JointPlan&) {});
    for (uint32_t chosen = 1; chosen < 1U << kOrders.size(); ++chosen) {
      instance.settings.orders.clear();
      for (std::size_t i = 0; i < kOrders.size(); ++i) {
        if ((chosen >> i & 1U) != 0) instance.settings.orders.push_back(kOrders[i]);
      }
      const JointOutcome some = SearchJoint(request, SolveLimits(), [](const JointPlan&) {});
      if (!some.plan.has_value()) continue;
      ASSERT_TRUE(all.plan.has_value());
      EXPECT_LE(some.step_bound_ps, some.plan->step.count());
      EXPECT_LE(all.plan->step, some.plan->step) << chosen;
      EXPECT_LE(all.step_bound_ps, some.step_bound_ps) << chosen;
    }
  }
}

TEST(JointSearchTest, InterleavingIsNeverWorseThanWithoutAndItsPlansHoldWhatTheyState) {
  for (uint64_t seed = 0; seed < NumCases(300); ++seed) {
    Instance instance = MakeInstance(seed, false);
    const JointRequest request{instance.pricer, instance.cluster, instance.settings, 0, 0};
    const JointOutcome plain = SearchJoint(request, SolveLimits(), [](const JointPlan&) {});
    instance.settings.orders.push_back(PipelineOrder::kInterleaved);
    const JointOutcome both = SearchJoint(request, SolveLimits(), [](const JointPlan&) {});
    if (!plain.plan.has_value()) continue;
    ASSERT_TRUE(both.plan.has_value());
    EXPECT_LE(both.plan->step, plain.plan->step);
    EXPECT_LE(both.step_bound_ps, both.plan->step.count());
    JointPlan plan = *both.plan;
    SimulateJointPlan(instance.pricer, DeviceRow(instance.cluster), plan);
    ExpectNear(plan);
  }
}

void AddOutcome(const JointRequest& request, Digest& digest) {
  const JointOutcome outcome = SearchJoint(request, SolveLimits(), [](const JointPlan&) {});
  digest.Add(outcome.step_bound_ps);
  if (!outcome.plan.has_value()) return;
  JointPlan plan = *outcome.plan;
  SimulateJointPlan(request.pricer, DeviceRow(request.cluster), plan);
  digest.Add(plan.step.count());
  digest.Add(BoundSimulatedStep(request, plan.simulated_step.count(), SolveLimits()));
  digest.Add(plan.micro_batches);
  for (const JointStage& stage : plan.stages) {
    digest.Add(stage.first_slot);
    digest.Add(stage.degrees.devices());
    for (const JointChunk& chunk : stage.chunks) {
      digest.Add(chunk.first_layer);
      for (const LayerRecomputation mode : chunk.recomputation) digest.Add(static_cast<int64_t>(mode));
    }
  }
}

// As of the other algorithms (plan_digests_test): bounds and moves that no longer work are seen, too.
TEST(JointSearchTest, PlansChangeTogetherWithTheVersion) {
  Digest digest;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    for (const PipelineOrder order :
         {PipelineOrder::kOneFOneB, PipelineOrder::kInterleaved, PipelineOrder::kGpipe, PipelineOrder::kZeroBubble}) {
      const Instance unlike = MakeUnlikeInstance(seed, order);
      AddOutcome({unlike.pricer, unlike.cluster, unlike.settings, 0, 0}, digest);
      const Instance alike = MakeInstance(seed, order == PipelineOrder::kOneFOneB, order);
      AddOutcome({alike.pricer, alike.cluster, alike.settings, 0, 0}, digest);
    }
  }
  const std::string today = absl::StrFormat("%s 0x%016x", kJointSearchVersion, digest.value());
  EXPECT_EQ(today, "15 0xf257f130facd0e99") << "where plans or bounds have changed, raise kJointSearchVersion";
}

TEST(JointSearchTest, AnInterruptedSearchKeepsASoundBound) {
  uint64_t seed = 0;
  while (Enumeration(MakeInstance(seed, false)).LeastStep() == kNone) ++seed;
  const Instance instance = MakeInstance(seed, false);
  const JointRequest request{instance.pricer, instance.cluster, instance.settings, 0, 0};
  SolveLimits limits;
  limits.deadline = SolveLimits::Clock::now();
  const JointOutcome outcome = SearchJoint(request, limits, [](const JointPlan&) {});
  EXPECT_TRUE(outcome.is_interrupted);
  const int64_t least = Enumeration(instance).LeastStep();
  EXPECT_LE(outcome.step_bound_ps, least);
  // A known plan proves nothing of others.
  JointRequest knowing = request;
  knowing.known_step_ps = 10 * least;
  EXPECT_LE(SearchJoint(knowing, limits, [](const JointPlan&) {}).step_bound_ps, least);
}

TEST(JointSearchTest, ASearchWithoutRoomForItsLabelsKeepsASoundBound) {
  int stopped = 0;
  int ended = 0;
  for (uint64_t seed = 0; seed < 120; ++seed) {
    constexpr std::array kOrders = {PipelineOrder::kOneFOneB, PipelineOrder::kOneFOneB, PipelineOrder::kGpipe,
                                    PipelineOrder::kZeroBubble};
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    const Instance instance = MakeInstance(seed, seed % 4 == 0, kOrders[seed % 4]);
    const JointRequest request{instance.pricer, instance.cluster, instance.settings, 0, 0};
    SolveLimits limits;
    limits.memory_bytes = int64_t{100} << (seed % 5);
    const JointOutcome outcome = SearchJoint(request, limits, [](const JointPlan&) {});
    Enumeration enumeration(instance);
    const int64_t least = enumeration.LeastStep();
    ++(outcome.is_interrupted ? stopped : ended);
    if (!outcome.is_interrupted) {
      EXPECT_EQ(outcome.plan.has_value(), least != kNone);
    }
    if (least == kNone) continue;
    EXPECT_LE(outcome.step_bound_ps, least);
    if (outcome.plan.has_value()) {
      EXPECT_GE(outcome.plan->step.count(), least);
    }
    EXPECT_LE(BoundSimulatedStep(request, kNone / 4, limits), enumeration.least_simulated);
  }
  EXPECT_GT(stopped, 10);
  EXPECT_GT(ended, 20);
}

}  // namespace
}  // namespace planwright
