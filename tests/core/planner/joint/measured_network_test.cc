// Measured layers where pairs of devices have links of their own: small requests against all partitions, degrees,
// recomputations, shardings and places, as the verifier costs them. Fixed seeds.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/random.h"
#include "core/planner/joint/joint_request.h"
#include "tests/core/planner/joint/joint_test_request.h"
#include "tests/core/planner/joint/small_network.h"
#include "tests/property/cases.h"

namespace planwright {
namespace {

// Of some layers, for some ways to spread them; what nobody measured is computed.
std::vector<MeasuredLayer> RandomRows(RandomStream& random) {
  std::vector<MeasuredLayer> rows;
  for (const char* layer : {"embedding", "layer", "layer.1", "head"}) {
    for (const int32_t tensor : {1, 2}) {
      for (const int64_t samples : {1, 2, 4}) {
        if (random.Below(5) == 0) continue;
        MeasuredLayer& row = rows.emplace_back();
        row.layer = layer;
        row.tensor_degree = tensor;
        row.samples = samples;
        row.forward_ms = 0.001 * static_cast<double>(random.Between(10, 4'000));
        row.backward_ms = 0.001 * static_cast<double>(random.Between(10, 8'000));
        if (random.Below(2) == 0) row.activation_bytes = random.Between(0, 200'000'000);
      }
    }
  }
  return rows;
}

JointTestRequest RandomMeasuredRequest(uint64_t seed) {
  RandomStream random(seed, 33);
  JointTestRequest request = SmallNetworkRequest(random);
  request.graph.transformer->measured_layers = RandomRows(random);
  return request;
}

TEST(MeasuredNetworkTest, NoPartitionDegreeRecomputationOrPlaceIsBetter) {
  int planned = 0;
  for (uint64_t seed = 1; seed <= NumCases(8); ++seed) {
    SCOPED_TRACE(seed);
    JointTestRequest request = RandomMeasuredRequest(seed);
    if (seed % 2 == 0) {
      const absl::StatusOr<Plan> roomy = Make(request);
      ASSERT_TRUE(roomy.ok()) << roomy.status();
      request.cluster.device_classes.front().memory_bytes = MostHeld(*roomy) * 9 / 10;
    }
    const absl::StatusOr<Plan> plan = Make(request);
    std::optional<Picoseconds> least;
    AllSmallPlans all(request,
                      [&](const JointPlan&, Picoseconds step) { least = std::min(least.value_or(step), step); });
    all.Run();
    ASSERT_GT(all.looked_at(), 1'000);
    ASSERT_EQ(plan.ok(), least.has_value()) << plan.status();
    if (!plan.ok()) continue;
    ++planned;
    EXPECT_LE(plan->lower_bound, *least);
    EXPECT_GE(plan->objective, *least);
    EXPECT_LE(ToMilliseconds(plan->objective), ToMilliseconds(*least) * (1 + kJointGap));
  }
  EXPECT_GE(planned, static_cast<int>(NumCases(4)));
}

// Passes take what was measured, wherever they run: sums of rows.
TEST(MeasuredNetworkTest, PassesAreSumsOfRows) {
  JointTestRequest request = RandomMeasuredRequest(1);
  std::vector<MeasuredLayer>& rows = request.graph.transformer->measured_layers;
  rows.clear();
  for (const int32_t tensor : {1, 2}) {
    for (const int64_t samples : {1, 2, 4}) {
      for (const std::string layer : {"embedding", "layer.0", "layer.1", "head"}) {
        MeasuredLayer& row = rows.emplace_back();
        row.layer = layer;
        row.tensor_degree = tensor;
        row.samples = samples;
        row.forward_ms = static_cast<double>(layer.size()) * static_cast<double>(samples) + 1.0 / tensor;
        row.backward_ms = 2 * row.forward_ms;
      }
    }
  }
  JointSettings& joint = *request.problem.joint;
  joint.shardings = {Sharding::kOptimizer};
  for (const LayerRecomputation mode : {LayerRecomputation::kNone, LayerRecomputation::kFull}) {
    for (const int32_t tensor : {1, 2}) {
      for (const int32_t stages : {1, 3}) {
        if (tensor * stages > 3) continue;
        joint.recomputation = {mode};
        joint.tensor_degrees = {tensor};
        joint.num_stages = stages;
        const absl::StatusOr<Plan> plan = Make(request);
        ASSERT_TRUE(plan.ok()) << plan.status();
        double forward_ms = 0;
        double again_ms = 0;
        for (const MeasuredLayer& row : rows) {
          if (row.tensor_degree != tensor || row.samples != plan->joint->micro_batch_samples) continue;
          forward_ms += row.forward_ms;
          if (row.layer.starts_with("layer.") && mode == LayerRecomputation::kFull) again_ms += row.forward_ms;
        }
        double planned_forward_ms = 0;
        double planned_backward_ms = 0;
        int32_t measured = 0;
        for (const JointStage& stage : plan->joint->stages) {
          planned_forward_ms += ToMilliseconds(stage.forward);
          planned_backward_ms += ToMilliseconds(stage.backward);
          measured += stage.measured_layers;
        }
        EXPECT_EQ(measured, kSmallLayers);
        EXPECT_NEAR(planned_forward_ms, forward_ms, 1e-6);
        EXPECT_NEAR(planned_backward_ms, 2 * forward_ms + again_ms, 1e-6);
      }
    }
  }
}

// Where all pairs are alike a network is what a uniform interconnect is.
TEST(MeasuredNetworkTest, PairsThatAreAlikeAreUniform) {
  JointTestRequest request = RequestOf("llama3-8b", "dgx-h100:1", 16);
  for (const int32_t tensor : {1, 2, 4, 8}) {
    for (const int64_t samples : {1, 2, 4, 8, 16}) {
      MeasuredLayer& row = request.graph.transformer->measured_layers.emplace_back();
      row.layer = "layer";
      row.tensor_degree = tensor;
      row.samples = samples;
      row.forward_ms = (3 + static_cast<double>(samples)) / std::sqrt(tensor);
      row.backward_ms = 2 * row.forward_ms;
    }
  }
  const auto [uniform, grid] = PlansOfAlikePairs(request, {4, 2});
  ASSERT_TRUE(uniform.ok() && grid.ok()) << uniform.status() << grid.status();
  EXPECT_LE(RelativeGap(grid->objective, uniform->objective), 2e-4);
  EXPECT_LE(RelativeGap(uniform->objective, grid->objective), 2e-4);
  EXPECT_LE(grid->lower_bound, uniform->objective);
}

}  // namespace
}  // namespace planwright
