// Prices of layers on a class of devices that reaches all of its data sheet, so that they can be computed by hand.
#ifndef PLANWRIGHT_TESTS_CORE_JOINT_COST_PRICING_H_
#define PLANWRIGHT_TESTS_CORE_JOINT_COST_PRICING_H_

#include <cstdint>
#include <vector>

#include "core/joint/cost/transformer_pricer.h"
#include "core/model/cluster.h"
#include "core/model/transformer_shape.h"

namespace planwright {

inline constexpr double kPeakFlops = 1e14;
inline constexpr TrainingLink kInside = {1e11, 0};
inline constexpr TrainingLink kBetween = {1e10, 0};

// Nothing but products and attention takes time, at the peak.
inline TrainingEfficiency PerfectEfficiency() {
  return {.products = 1,
          .half_extent = 0,
          .attention = 1,
          .eight_bit_gain = 2,
          .memory = 1,
          .network = 1,
          .hidden_in_layers = 0,
          .hidden_among_data = 0,
          .hidden_at_step_end = 0,
          .launch = Picoseconds(0)};
}

inline Cluster ClusterOf(const TrainingEfficiency& efficiency, double memory_bandwidth = 1e30) {
  DeviceClass device;
  device.name = "device";
  device.peak_flops = kPeakFlops;
  device.memory_bandwidth_bytes_per_second = memory_bandwidth;
  device.training = efficiency;
  Cluster cluster;
  cluster.device_classes = {device};
  return cluster;
}

// By LayerKind.
inline std::vector<LayerPrice> PricesOf(const TransformerShape& shape, const Cluster& cluster, const Degrees& degrees,
                                        Sharding sharding = Sharding::kNone, int64_t samples = 1,
                                        const TransformerPricerOptions& options = {}) {
  return TransformerPricer(shape, cluster, kInside, kBetween, options)
      .Price({.device_class = DeviceClassId(0),
              .degrees = degrees,
              .samples = samples,
              .sharding = sharding,
              .crosses_nodes = degrees.devices() > 8,
              .devices_per_node = 8});
}

// GPT-3 as Korthikanti et al. 2022 train it: scores are stored.
inline TransformerShape GptShape(int32_t layers, int64_t hidden, int32_t heads) {
  return {.layers = layers,
          .hidden = hidden,
          .heads = heads,
          .kv_heads = heads,
          .head_width = hidden / heads,
          .feed_forward = 4 * hidden,
          .stores_scores = true,
          .dropout = true,
          .learned_positions = true,
          .vocabulary = 51'200,
          .sequence = 2'048,
          .tied = true};
}

// A small Llama.
inline TransformerShape LlamaShape() {
  return {.layers = 4,
          .hidden = 1'024,
          .heads = 16,
          .kv_heads = 8,
          .head_width = 64,
          .feed_forward = 4'096,
          .gated = true,
          .vocabulary = 32'000,
          .sequence = 1'024};
}

inline TransformerShape ExpertShape() {
  TransformerShape shape = LlamaShape();
  shape.experts = 16;
  shape.experts_per_token = 2;
  shape.expert_feed_forward = 512;
  return shape;
}

}  // namespace planwright

#endif  // PLANWRIGHT_TESTS_CORE_JOINT_COST_PRICING_H_
