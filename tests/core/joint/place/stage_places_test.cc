// Places for the stages of a plan against every way to lay out tiny networks, whose costs are written out once more.
#include "core/joint/place/stage_places.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <set>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/limits.h"
#include "core/base/random.h"
#include "core/joint/cost/pair_links.h"
#include "core/joint/cost/stage_cost.h"
#include "core/joint/place/network_cluster.h"

namespace planwright {
namespace {

// One second over the bandwidth, in picoseconds, counts; latency as it is.
int64_t TimeOver(const TrainingLink& link) {
  return static_cast<int64_t>(1e12 / link.bytes_per_second) + link.latency_ps;
}

// Layers of two kinds, which take a constant and what their groups' links take.
class LinkPricer : public LayerPricer {
 public:
  explicit LinkPricer(int32_t num_layers) : labels_(static_cast<std::size_t>(num_layers), "layer") {
    for (int32_t layer = 0; layer < num_layers; ++layer) kinds_.push_back(layer % 2);
  }

  const std::vector<int32_t>& kinds() const override { return kinds_; }
  const std::vector<std::string>& labels() const override { return labels_; }
  double flops_per_sample() const override { return 1; }
  int64_t tokens_per_sample() const override { return 1; }

  std::vector<LayerPrice> Price(const PriceQuery& query) const override {
    std::vector<LayerPrice> prices(2);
    for (int64_t kind = 0; kind < 2; ++kind) {
      LayerPrice& price = prices[static_cast<std::size_t>(kind)];
      price.forward_ps = 1'000 * (kind + 1);
      if (query.degrees.tensor > 1) price.forward_ps += (3 - kind) * TimeOver(*query.inside);
      price.backward_ps = 2'000;
      if (query.crosses_nodes) price.step_end_ps = 2 * TimeOver(*query.between);
      price.modes[0] = {0, 1};
      price.output_bytes = 1 + kind;
    }
    return prices;
  }

 private:
  std::vector<int32_t> kinds_;
  std::vector<std::string> labels_;
};

class RandomPairs : public PairLinks {
 public:
  RandomPairs(std::size_t devices, RandomStream& random) : devices_(devices) {
    for (std::size_t a = 0; a < devices; ++a) {
      for (std::size_t b = 0; b < a; ++b) {
        const TrainingLink link{1e9 * static_cast<double>(random.Between(1, 10)), 10 * random.Between(0, 5)};
        links_.resize(devices * devices);
        links_[a * devices + b] = links_[b * devices + a] = link;
      }
    }
  }

  TrainingLink Between(DeviceId a, DeviceId b) const override { return links_[a.index() * devices_ + b.index()]; }

 private:
  std::size_t devices_;
  std::vector<TrainingLink> links_;
};

struct Case {
  TrainingCluster cluster;
  JointPlan plan;
  std::vector<DeviceClassId> classes;
};

// 1 to 3 stages of up to 4 devices on `devices` of them, of one class or two.
Case RandomCase(uint64_t seed, int64_t devices) {
  RandomStream random(seed, 1);
  Case made;
  made.cluster.pairs = std::make_shared<const RandomPairs>(static_cast<std::size_t>(devices), random);
  made.cluster.inside = made.cluster.between = {1e10, 0};
  for (int64_t device = 0; device < devices; ++device) made.cluster.devices.emplace_back(device);
  const int64_t second = random.Below(3) == 0 ? devices / 2 : 0;
  for (const int64_t count : {devices - second, second}) {
    if (count == 0) continue;
    made.cluster.classes.push_back({.device_class = DeviceClassId(made.cluster.classes.size()),
                                    .nodes = 1,
                                    .devices_per_node = static_cast<int32_t>(count),
                                    .memory_bytes = 1 << 30});
  }
  std::vector<int64_t> left;
  for (const TrainingClass& part : made.cluster.classes) left.push_back(part.devices());
  made.plan.micro_batches = random.Between(1, 8);
  const auto most = static_cast<int32_t>(random.Between(1, 3));
  for (int32_t s = 0; s < most; ++s) {
    const std::size_t number = random.Below(left.size());
    Degrees degrees{.tensor = static_cast<int32_t>(random.Between(1, 3)), .context = 1, .expert = 1, .data = 1};
    degrees.data = static_cast<int32_t>(random.Between(1, 3));
    if (random.Below(4) == 0) degrees.context = 2;
    if (degrees.devices() > left[number]) continue;
    left[number] -= degrees.devices();
    JointStage& stage = made.plan.stages.emplace_back();
    stage.degrees = degrees;
    made.classes.push_back(made.cluster.classes[number].device_class);
  }
  made.plan.per_stage = true;
  made.plan.micro_batch_samples = 12;
  int32_t layer = 0;
  for (JointStage& stage : made.plan.stages) {
    const auto layers = static_cast<std::size_t>(random.Between(1, 3));
    stage.chunks.push_back({layer, std::vector(layers, LayerRecomputation::kNone)});
    layer += static_cast<int32_t>(layers);
  }
  return made;
}

int32_t LayersOf(const JointPlan& plan) { return plan.stages.back().chunks.back().end_layer(); }

// The closed form of 1F1B where stage s has the devices [from[s], from[s] + size).
class BruteForce {
 public:
  BruteForce(const Case& made, const LayerPricer& pricer) : made_(made), pricer_(pricer) {}

  int64_t Least() {
    Choose(0, 0);
    return least_;
  }

 private:
  // Gives rank `rank` of stage `s` any free device of its class.
  void Choose(std::size_t s, std::size_t rank) {
    if (s == made_.plan.stages.size()) {
      least_ = std::min(least_, StepPs());
      return;
    }
    if (rank == 0) ranks_.emplace_back();
    const auto size = static_cast<std::size_t>(made_.plan.stages[s].degrees.devices());
    int64_t begin = 0;
    for (const TrainingClass& part : made_.cluster.classes) {
      for (int64_t device = begin; device < begin + part.devices(); ++device) {
        if (part.device_class != made_.classes[s] || !used_.insert(device).second) continue;
        ranks_.back().push_back(device);
        if (rank + 1 == size) {
          Choose(s + 1, 0);
        } else {
          Choose(s, rank + 1);
        }
        ranks_.back().pop_back();
        used_.erase(device);
      }
      begin += part.devices();
    }
    if (rank == 0) ranks_.pop_back();
  }

  TrainingLink Link(int64_t a, int64_t b) const {
    return made_.cluster.pairs->Between(DeviceId(static_cast<std::size_t>(a)), DeviceId(static_cast<std::size_t>(b)));
  }

  static void Worsen(const TrainingLink& link, TrainingLink& slowest) {
    slowest.bytes_per_second = std::min(slowest.bytes_per_second, link.bytes_per_second);
    slowest.latency_ps = std::max(slowest.latency_ps, link.latency_ps);
  }

  int64_t TransferBetween(std::size_t s, int64_t bytes) const {
    TrainingLink link{1e30, 0};
    const std::vector<int64_t>& a = ranks_[s];
    const std::vector<int64_t>& b = ranks_[s + 1];
    const std::size_t most = std::max(a.size(), b.size());
    for (std::size_t i = 0; i < most; ++i) Worsen(Link(a[i * a.size() / most], b[i * b.size() / most]), link);
    return TransferPs(bytes, link);
  }

  int64_t StepPs() const {
    int64_t sum = 0;
    int64_t longest = 0;
    int64_t end = 0;
    for (std::size_t s = 0; s < ranks_.size(); ++s) {
      const Degrees& degrees = made_.plan.stages[s].degrees;
      const std::vector<int64_t>& own = ranks_[s];
      const auto tensor = static_cast<std::size_t>(degrees.tensor);
      TrainingLink inside{1e30, 0};
      TrainingLink between{1e30, 0};
      for (std::size_t a = 0; a < own.size(); ++a) {
        for (std::size_t b = 0; b < own.size(); ++b) {
          if (a == b) continue;
          if (a / tensor == b / tensor && b % tensor == (a + 1) % tensor) Worsen(Link(own[a], own[b]), inside);
          if (a % tensor != b % tensor) continue;
          const bool is_next = b == (a + tensor) % own.size();
          if (is_next || degrees.context > 1) Worsen(Link(own[a], own[b]), between);
        }
      }
      const std::vector<LayerPrice> prices = pricer_.Price({.device_class = made_.classes[s],
                                                            .degrees = degrees,
                                                            .crosses_nodes = degrees.devices() > degrees.tensor,
                                                            .devices_per_node = degrees.tensor,
                                                            .between = between,
                                                            .inside = inside});
      const JointChunk& chunk = made_.plan.stages[s].chunks.front();
      int64_t time = 0;
      int64_t own_end = 0;
      for (int32_t layer = chunk.first_layer; layer < chunk.end_layer(); ++layer) {
        const LayerPrice& price = prices[static_cast<std::size_t>(layer % 2)];
        time += price.forward_ps + price.backward_ps;
        own_end += price.step_end_ps;
      }
      if (s > 0) time += TransferBetween(s - 1, 1 + (chunk.first_layer - 1) % 2);
      if (s + 1 < ranks_.size()) time += TransferBetween(s, 1 + (chunk.end_layer() - 1) % 2);
      sum += time;
      longest = std::max(longest, time);
      end = std::max(end, own_end);
    }
    return sum + (made_.plan.micro_batches - 1) * longest + end;
  }

  const Case& made_;
  const LayerPricer& pricer_;
  std::vector<std::vector<int64_t>> ranks_;
  std::set<int64_t> used_;
  int64_t least_ = std::numeric_limits<int64_t>::max();
};

PlacedPlan Placed(const Case& made, const LayerPricer& pricer) {
  const SolveLimits limits;
  Poller poller(limits);
  return PlaceStages({pricer, made.cluster}, made.plan, made.classes, PlaceEffort::kFull, poller);
}

TEST(StagePlacesTest, AreTheBestOfAllOnTinyNetworks) {
  int64_t looked_at = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    const Case made = RandomCase(seed, 3 + static_cast<int64_t>(seed % 4));
    if (made.plan.stages.empty()) continue;
    const LinkPricer pricer(LayersOf(made.plan));
    const PlacedPlan placed = Placed(made, pricer);
    ASSERT_EQ(placed.plan.step.count(), BruteForce(made, pricer).Least());
    std::vector<DeviceId> devices = placed.cluster.devices;
    std::sort(devices.begin(), devices.end());
    ASSERT_EQ(devices, made.cluster.devices);
    ++looked_at;
  }
  EXPECT_GT(looked_at, 200);
}

// Beyond what is enumerated: 8 devices have 40,320 ways.
TEST(StagePlacesTest, AreNearTheBestOnSmallNetworks) {
  double worst = 1;
  double sum = 0;
  int64_t looked_at = 0;
  for (uint64_t seed = 0; seed < 12; ++seed) {
    const Case made = RandomCase(seed, 8);
    if (made.plan.stages.empty()) continue;
    const LinkPricer pricer(LayersOf(made.plan));
    const auto found = static_cast<double>(Placed(made, pricer).plan.step.count());
    const auto best = static_cast<double>(BruteForce(made, pricer).Least());
    ASSERT_GE(found, best);
    worst = std::max(worst, found / best);
    sum += found / best;
    ++looked_at;
  }
  EXPECT_LT(worst, 1.02);
  EXPECT_LT(sum / static_cast<double>(looked_at), 1.002);
}

// Two stages of `data` tensor groups of four on a torus of `side` x `side` devices.
Case TorusCase(int32_t side, int32_t data) {
  Cluster cluster;
  cluster.device_classes.resize(1);
  cluster.device_classes.front().kind = DeviceKind::kAccelerator;
  std::vector<DeviceId> all;
  for (int32_t device = 0; device < side * side; ++device) {
    Device& added = cluster.devices.emplace_back();
    added.name = absl::StrCat("d", device);
    added.device_class = DeviceClassId(0);
    all.emplace_back(device);
  }
  cluster.interconnect = GridInterconnect{.dimensions = {side, side},
                                          .wrap_around = true,
                                          .link_bandwidth_bytes_per_second = 1e10,
                                          .latency = Picoseconds(0),
                                          .non_adjacent = GridInterconnect::NonAdjacent::kDividedByHops};
  Case made;
  made.cluster = *MakeNetworkCluster(cluster, all, 0);
  for (int32_t s = 0; s < 2; ++s) {
    JointStage& stage = made.plan.stages.emplace_back();
    stage.degrees = {.tensor = 4, .context = 1, .expert = 1, .data = data};
    stage.chunks.push_back({2 * s, std::vector(2, LayerRecomputation::kNone)});
    made.classes.emplace_back(0);
  }
  made.plan.micro_batches = 4;
  return made;
}

// Blocks of a torus have rings: of 4 devices squares, of 8 two rows of four. Of hundreds only regular layouts have
// them.
TEST(StagePlacesTest, FindTheRingsOfATorus) {
  for (const auto& [side, data, copies] : {std::tuple{4, 2, 1e10}, {16, 32, 2.5e9}}) {
    SCOPED_TRACE(side);
    const Case made = TorusCase(side, data);
    const LinkPricer pricer(4);
    const PlacedPlan placed = Placed(made, pricer);
    const DeviceRow row(placed.cluster);
    for (const JointStage& stage : placed.plan.stages) {
      const StageLinks links = LinksWithin(*made.cluster.pairs, row.DevicesOf(stage), stage.degrees);
      EXPECT_EQ(links.tensor.bytes_per_second, 1e10);
      EXPECT_GE(links.copies.bytes_per_second, copies);
    }
    EXPECT_EQ(Placed(made, pricer).cluster.devices, placed.cluster.devices);
  }
}

}  // namespace
}  // namespace planwright
