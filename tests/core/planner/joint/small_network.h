// Requests for four layers on three devices whose pairs have links of their own, and all plans of such.
#ifndef PLANWRIGHT_TESTS_CORE_PLANNER_JOINT_SMALL_NETWORK_H_
#define PLANWRIGHT_TESTS_CORE_PLANNER_JOINT_SMALL_NETWORK_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/random.h"
#include "tests/core/planner/joint/joint_test_request.h"

namespace planwright {

inline constexpr int32_t kSmallLayers = 4;
inline constexpr std::size_t kSmallDevices = 3;
inline constexpr int64_t kSmallBatch = 4;

// An embedding, two layers and a head.
inline OperatorGraph SmallModel(const std::string& device_class) {
  OperatorGraph graph;
  const std::vector<std::string> layers = {"embedding", "layer.0", "layer.1", "head"};
  for (std::size_t i = 0; i < layers.size(); ++i) {
    Operator& op = graph.operators.emplace_back();
    op.name = op.layer = layers[i];
    op.costs = {{.device_class = device_class, .forward = Picoseconds(1'000), .backward = Picoseconds(2'000)}};
    if (i == 0) continue;
    graph.tensors.push_back({.name = absl::StrCat("t", i),
                             .producer = OperatorId(i - 1),
                             .consumers = {OperatorId(i)},
                             .size_bytes = 1'000,
                             .transfer = std::nullopt});
  }
  graph.transformer = TransformerShape{.layers = 2,
                                       .hidden = 1'024,
                                       .heads = 8,
                                       .kv_heads = 8,
                                       .head_width = 128,
                                       .feed_forward = 4'096,
                                       .stores_scores = true,
                                       .vocabulary = 32'000,
                                       .sequence = 1'024};
  return graph;
}

// Every pair a random bandwidth of `least` to `most` GB/s, the same both ways.
inline MatrixInterconnect RandomMatrix(RandomStream& random, std::size_t devices, int64_t least, int64_t most,
                                       Picoseconds latency) {
  MatrixInterconnect matrix{.bandwidth_bytes_per_second = std::vector<double>(devices * devices, 0),
                            .latency = latency};
  for (std::size_t a = 0; a < devices; ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      const double bandwidth = 1e9 * static_cast<double>(random.Between(least, most));
      matrix.bandwidth_bytes_per_second[a * devices + b] = bandwidth;
      matrix.bandwidth_bytes_per_second[b * devices + a] = bandwidth;
    }
  }
  return matrix;
}

struct UniformAndGrid {
  absl::StatusOr<Plan> uniform;
  absl::StatusOr<Plan> grid;
};

// Plans of a request where all pairs of devices are alike, as a uniform interconnect and as a grid, which is a network.
inline UniformAndGrid PlansOfAlikePairs(JointTestRequest request, std::vector<int32_t> dimensions) {
  constexpr double kBandwidth = 50e9;
  constexpr Picoseconds kLatency(1'000'000);
  request.cluster.interconnect = UniformInterconnect{.bandwidth_bytes_per_second = kBandwidth, .latency = kLatency};
  absl::StatusOr<Plan> uniform = Make(request);
  request.cluster.interconnect = GridInterconnect{.dimensions = std::move(dimensions),
                                                  .link_bandwidth_bytes_per_second = kBandwidth,
                                                  .latency = kLatency,
                                                  .non_adjacent = GridInterconnect::NonAdjacent::kLinkBandwidth};
  return {std::move(uniform), Make(request)};
}

// Under ONE_F_ONE_B, with tensor and data degrees, samples, shardings and recomputations to choose.
inline JointTestRequest SmallNetworkRequest(RandomStream& random) {
  JointTestRequest request = RequestOf("gpt-125m", "dgx-h100:1", kSmallBatch);
  request.cluster.devices.resize(kSmallDevices);
  const Picoseconds latency(random.Below(2) == 0 ? 0 : 2'000'000);
  request.cluster.interconnect = RandomMatrix(random, kSmallDevices, 1, 200, latency);
  request.graph = SmallModel(request.cluster.device_classes.front().name);
  JointSettings& joint = *request.problem.joint;
  joint.orders = {PipelineOrder::kOneFOneB};
  joint.micro_batch_samples = {1, 2, 4};
  joint.tensor_degrees = {1, 2};
  joint.shardings = {Sharding::kOptimizer, Sharding::kParameters};
  return request;
}

// Every partition, degree, sharding, recomputation and place of a small request, as the verifier costs them.
class AllSmallPlans {
 public:
  // Hears of each plan that the request allows, with its step.
  using Hearer = std::function<void(const JointPlan&, Picoseconds)>;

  AllSmallPlans(const JointTestRequest& request, Hearer on_plan) : request_(request), on_plan_(std::move(on_plan)) {}

  void Run() {
    for (const int32_t stages : {1, 2, 3}) {
      for (const int32_t tensor : request_.problem.joint->tensor_degrees) {
        for (const int32_t data : {1, 2}) {
          if (static_cast<std::size_t>(stages * tensor * data) <= kSmallDevices) LookAt(stages, {tensor, 1, 1, data});
        }
      }
    }
  }

  int64_t looked_at() const { return looked_at_; }

 private:
  void LookAt(int32_t stages, const Degrees& degrees) {
    for (const int64_t samples : {1, 2, 4}) {
      if (kSmallBatch % (samples * degrees.data) != 0) continue;
      for (const Sharding sharding : request_.problem.joint->shardings) {
        for (int modes = 0; modes < 9; ++modes) {
          Placement placement;
          placement.joint = JointPlan{.sharding = sharding,
                                      .micro_batch_samples = samples,
                                      .micro_batches = kSmallBatch / samples / degrees.data};
          Divide(stages, degrees, {modes / 3, modes % 3}, 0, placement);
        }
      }
    }
  }

  // Every way to cut the layers from `first` on into so many more stages.
  void Divide(int32_t stages, const Degrees& degrees, const std::vector<int>& modes, int32_t first,
              const Placement& placement) {
    for (int32_t end = stages == 1 ? kSmallLayers : first + 1; end <= kSmallLayers - stages + 1; ++end) {
      Placement longer = placement;
      JointStage& stage = longer.joint->stages.emplace_back();
      Placement::Stage& own = longer.stages.emplace_back();
      stage.degrees = degrees;
      JointChunk& chunk = stage.chunks.emplace_back();
      chunk.first_layer = first;
      for (int32_t layer = first; layer < end; ++layer) {
        const bool is_inner = layer > 0 && layer + 1 < kSmallLayers;
        chunk.recomputation.push_back(is_inner
                                          ? static_cast<LayerRecomputation>(modes[static_cast<std::size_t>(layer - 1)])
                                          : LayerRecomputation::kNone);
        own.operators.emplace_back(static_cast<std::size_t>(layer));
      }
      own.devices.resize(static_cast<std::size_t>(degrees.devices()), DeviceId(0));
      if (stages > 1) {
        Divide(stages - 1, degrees, modes, end, longer);
      } else {
        Place(std::move(longer));
      }
    }
  }

  void Place(Placement placement) {
    std::vector<std::size_t> devices(kSmallDevices);
    std::iota(devices.begin(), devices.end(), 0);
    do {
      std::size_t next = 0;
      for (Placement::Stage& stage : placement.stages) {
        for (DeviceId& device : stage.devices) device = DeviceId(devices[next++]);
      }
      Cost(placement);
    } while (std::next_permutation(devices.begin(), devices.end()));
  }

  void Cost(const Placement& placement) {
    ++looked_at_;
    const absl::StatusOr<Verdict> verdict = Judge(request_, placement);
    ASSERT_TRUE(verdict.ok()) << verdict.status();
    if (verdict->violations.empty()) on_plan_(*verdict->costed->joint, verdict->costed->objective);
  }

  const JointTestRequest& request_;
  Hearer on_plan_;
  int64_t looked_at_ = 0;
};

// What the fullest device of a plan holds.
inline int64_t MostHeld(const Plan& plan) {
  int64_t most = 0;
  for (const JointStage& stage : plan.joint->stages) most = std::max(most, stage.memory.total());
  return most;
}

}  // namespace planwright

#endif  // PLANWRIGHT_TESTS_CORE_PLANNER_JOINT_SMALL_NETWORK_H_
