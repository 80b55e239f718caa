// Two implementations of what measured layers cost against each other.
#include "core/verify/joint/measured_costs.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/random.h"
#include "core/joint/cost/measured_pricer.h"
#include "core/joint/cost/pair_links.h"
#include "core/joint/cost/training_efficiency.h"
#include "core/joint/cost/transformer_pricer.h"
#include "core/zoo/zoo.h"
#include "tests/property/cases.h"

namespace planwright {
namespace {

OperatorGraph ModelWith(RandomStream& random, const Degrees& degrees, int64_t samples, const std::string& class_name) {
  OperatorGraph graph;
  graph.transformer = TransformerShapeOf(random.Below(2) == 0 ? "gpt-125m" : "mixtral-8x7b");
  TransformerShape& shape = *graph.transformer;
  shape.stores_scores = random.Below(2) == 0;
  for (const std::string layer : {"embedding", "layer", "layer.1", "head"}) {
    for (const std::string& of : {std::string(), class_name, std::string("another")}) {
      if (random.Below(2) == 0) continue;
      MeasuredLayer& row = shape.measured_layers.emplace_back();
      row = {.layer = layer,
             .device_class = of,
             .tensor_degree = degrees.tensor,
             .context_degree = degrees.context,
             .expert_degree = degrees.expert,
             .samples = samples + random.Between(0, 3) / 3,
             .forward_ms = 0.001 * static_cast<double>(random.Between(0, 90'000)),
             .backward_ms = 0.001 * static_cast<double>(random.Between(0, 90'000)),
             .activation_bytes = std::nullopt};
      if (random.Below(2) == 0) row.activation_bytes = random.Between(0, 1'000'000);
    }
  }
  return graph;
}

// One layer's price, and what it is held against.
struct JudgedRow {
  LayerPrice price;
  std::optional<MeasuredLayer> row;
  verify::RankCosts costs;
  verify::RankCosts slowest;
  verify::RankCosts fastest;

  std::string Difference(const LayerPrice& stated) const {
    if (!row.has_value()) return verify::DifferenceOf(stated, costs);
    return verify::DifferenceOfMeasured(stated, *row, costs, slowest, fastest);
  }
};

verify::MachineLink SlowerLink(RandomStream& random, const TrainingLink& link) {
  return {link.bytes_per_second / static_cast<double>(random.Between(1, 30)), link.latency_ps + random.Between(0, 9)};
}

// Of the first layers of a model, on a spread whose links are those of its place, or of nodes.
std::vector<JudgedRow> JudgeRows(uint64_t seed) {
  RandomStream random(seed, 8);
  const Cluster cluster = *MakeZooCluster("dgx-h100:4");
  const DeviceClass& device = cluster.device_classes.front();
  Degrees degrees{.tensor = 1 << random.Below(3), .data = 1 << random.Below(3)};
  const int64_t samples = random.Between(1, 3);
  OperatorGraph graph = ModelWith(random, degrees, samples, device.name);
  if (graph.transformer->has_experts()) degrees.expert = degrees.data;
  for (MeasuredLayer& row : graph.transformer->measured_layers) row.expert_degree = degrees.expert;
  const bool is_network = random.Below(2) == 0;
  const TrainingLink inside{4e11, 3'000};
  const TrainingLink between{is_network ? 4e11 : 5e10, 3'000};
  const TransformerPricer computed(*graph.transformer, cluster, inside, is_network ? kNoLink : between);
  const MeasuredPricer pricer(computed, graph.transformer->measured_layers, cluster,
                              is_network ? std::optional(inside) : std::nullopt);
  const verify::MachineLink near = {inside.bytes_per_second, inside.latency_ps};
  const verify::MachineLink far = {between.bytes_per_second, between.latency_ps};
  const verify::RankSpread spread{.degrees = degrees,
                                  .samples = samples,
                                  .sharding = static_cast<Sharding>(random.Below(kNumShardings)),
                                  .node_size = is_network ? degrees.tensor : 8,
                                  .inside = is_network ? SlowerLink(random, inside) : near,
                                  .between = is_network ? SlowerLink(random, inside) : far};
  const std::vector<LayerPrice> prices = pricer.Price(verify::QueryOf(DeviceClassId(0), spread));
  std::vector<JudgedRow> judged;
  if (prices.empty()) return judged;
  const verify::MeasuredRows rows(graph);
  const auto last = static_cast<int32_t>(pricer.kinds().size()) - 1;
  const auto [slowest, fastest] = verify::SpreadsOfProfile(spread, !is_network);
  for (const int32_t layer : {0, 1, 2, 3, last}) {
    const auto costs_on = [&](const verify::RankSpread& on) {
      return verify::CostsOfRank(*graph.transformer, layer, device, TrainingEfficiencyOf(device), on);
    };
    const auto at = static_cast<std::size_t>(layer);
    const MeasuredLayer* row = rows.Of(pricer.labels()[at], device.name, spread);
    judged.push_back({.price = prices[static_cast<std::size_t>(pricer.kinds()[at])],
                      .row = row == nullptr ? std::nullopt : std::optional(*row),
                      .costs = costs_on(spread),
                      .slowest = costs_on(slowest),
                      .fastest = costs_on(fastest)});
  }
  return judged;
}

TEST(MeasuredCostsTest, AgreeWithThePricesOfTheSearch) {
  int measured = 0;
  int computed = 0;
  for (uint64_t seed = 1; seed <= NumCases(1'000); ++seed) {
    SCOPED_TRACE(seed);
    for (const JudgedRow& each : JudgeRows(seed)) {
      ASSERT_EQ(each.row.has_value(), each.price.is_measured);
      ASSERT_EQ(each.Difference(each.price), "");
      (each.row.has_value() ? measured : computed) += 1;
    }
  }
  EXPECT_GT(measured, 1'000 * CasesFactor());
  EXPECT_GT(computed, 300 * CasesFactor());
}

TEST(MeasuredCostsTest, NoticeEveryNumberThatIsOtherwise) {
  int looked_at = 0;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    for (const JudgedRow& each : JudgeRows(seed)) {
      if (!each.row.has_value() || each.row->forward_ms < 1 || each.row->backward_ms < 1) continue;
      ++looked_at;
      const auto is_noticed = [&](auto change) {
        LayerPrice changed = each.price;
        change(changed);
        return !each.Difference(changed).empty();
      };
      EXPECT_TRUE(is_noticed([](LayerPrice& changed) { changed.is_measured = false; }));
      for (int64_t LayerPrice::*number : {&LayerPrice::forward_ps, &LayerPrice::backward_ps, &LayerPrice::step_end_ps,
                                          &LayerPrice::parameter_bytes, &LayerPrice::output_bytes}) {
        EXPECT_TRUE(is_noticed([&](LayerPrice& changed) { changed.*number += 10 + changed.*number / 10'000; }));
        EXPECT_TRUE(is_noticed([&](LayerPrice& changed) { changed.*number -= 10 + changed.*number / 10'000; }));
      }
      EXPECT_TRUE(is_noticed([](LayerPrice& changed) { changed.weights_ps = changed.backward_ps + 1'000'000; }));
      for (std::size_t mode = 0; mode < each.price.modes.size(); ++mode) {
        if (!each.price.modes[mode].has_value()) continue;
        EXPECT_TRUE(is_noticed([&](LayerPrice& changed) { changed.modes[mode]->kept_bytes += 1'000; }));
        EXPECT_TRUE(is_noticed([&](LayerPrice& changed) {
          changed.modes[mode]->extra_ps = changed.modes[mode]->extra_ps * 2 + 1'000'000;
        }));
      }
    }
  }
  EXPECT_GT(looked_at, 50);
}

// The own row of a layer wins over that of all, and that of the class over that of all classes.
TEST(MeasuredCostsTest, TheNearestRowHolds) {
  OperatorGraph graph;
  graph.transformer.emplace();
  std::vector<MeasuredLayer>& rows = graph.transformer->measured_layers;
  for (const std::string layer : {"layer", "layer.1", "head"}) {
    for (const std::string of : {"", "fast"}) {
      rows.emplace_back();
      rows.back().layer = layer;
      rows.back().device_class = of;
    }
  }
  const verify::MeasuredRows found(graph);
  const verify::RankSpread spread{.degrees = {.data = 7}};
  EXPECT_EQ(found.Of("layer.0", "slow", spread), &rows[0]);
  EXPECT_EQ(found.Of("layer.0", "fast", spread), &rows[1]);
  EXPECT_EQ(found.Of("layer.1", "slow", spread), &rows[2]);
  EXPECT_EQ(found.Of("layer.1", "fast", spread), &rows[3]);
  EXPECT_EQ(found.Of("head", "slow", spread), &rows[4]);
  EXPECT_EQ(found.Of("embedding", "fast", spread), nullptr);
  EXPECT_EQ(found.Of("layer.1", "fast", {.degrees = {}, .samples = 2}), nullptr);
  EXPECT_EQ(found.Of("layer.1", "fast", {.degrees = {.tensor = 2}}), nullptr);
}

}  // namespace
}  // namespace planwright
