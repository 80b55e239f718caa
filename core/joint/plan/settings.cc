#include "core/joint/plan/settings.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "core/base/divisors.h"

namespace planwright {
namespace {

constexpr int32_t kMostContext = 16;
// Fewer tokens on a rank are hardly worth their exchange.
constexpr int64_t kFewestTokensOfRank = 2'048;
// Such samples are divided in any case. Others are not where pairs of devices have links of their own, as each degree
// is many searches for places, nor as nobody measured it where passes were measured.
constexpr int64_t kLongSample = 32'768;
constexpr int32_t kMostExpert = 64;
constexpr int64_t kMostSamples = 16;

template <typename Value, typename IsPossible>
std::vector<Value> PowersOfTwo(int64_t most, IsPossible is_possible) {
  std::vector<Value> powers;
  for (int64_t power = 1; power <= most; power *= 2) {
    if (is_possible(power)) powers.push_back(static_cast<Value>(power));
  }
  return powers;
}

bool DividesTensors(const TransformerShape& shape, int64_t degree) {
  const bool divides_keys = shape.has_latent_attention() || shape.kv_heads % degree == 0;
  return shape.heads % degree == 0 && shape.hidden % degree == 0 && shape.feed_forward % degree == 0 && divides_keys;
}

// Where passes were measured, only what was measured is compared with it.
template <typename Value>
bool MayCompete(const TransformerShape& shape, Value MeasuredLayer::*number, int64_t value) {
  const std::vector<MeasuredLayer>& rows = shape.measured_layers;
  return rows.empty() ||
         std::any_of(rows.begin(), rows.end(), [&](const MeasuredLayer& row) { return row.*number == value; });
}

bool MayDivideSamples(const TransformerShape& shape, bool has_nodes, int64_t degree) {
  const bool is_long = shape.sequence >= kLongSample;
  const bool may_compete = has_nodes && MayCompete(shape, &MeasuredLayer::context_degree, degree);
  return (is_long || may_compete) && shape.sequence % (2 * degree) == 0 &&
         shape.sequence / degree >= kFewestTokensOfRank;
}

// Powers of two, and on nodes all others.
std::vector<int64_t> Samples(const TransformerShape& shape, bool has_nodes, int64_t global_batch) {
  std::vector<int64_t> divisors;
  for (int64_t samples = 1; samples <= kMostSamples; ++samples) {
    const bool may_be = std::has_single_bit(static_cast<uint64_t>(samples)) ||
                        (has_nodes && MayCompete(shape, &MeasuredLayer::samples, samples));
    if (may_be && global_batch % samples == 0) divisors.push_back(samples);
  }
  return divisors;
}

template <typename Value>
void FillIn(std::vector<Value>& list, std::vector<Value> defaults) {
  if (list.empty()) list = std::move(defaults);
}

}  // namespace

JointSettings ResolveJoint(const JointSettings& given, const TransformerShape& shape, const TrainingCluster& cluster) {
  JointSettings settings = given;
  const bool has_nodes = cluster.pairs == nullptr;
  int64_t per_node = 1;
  for (const TrainingClass& part : cluster.classes) per_node = std::max<int64_t>(per_node, part.devices_per_node);
  FillIn(settings.tensor_degrees,
         PowersOfTwo<int32_t>(per_node, [&](int64_t degree) { return DividesTensors(shape, degree); }));
  FillIn(settings.context_degrees, PowersOfTwo<int32_t>(kMostContext, [&](int64_t degree) {
           return degree == 1 || MayDivideSamples(shape, has_nodes, degree);
         }));
  FillIn(settings.expert_degrees, PowersOfTwo<int32_t>(shape.has_experts() ? kMostExpert : 1, [&](int64_t degree) {
           return degree == 1 || shape.experts % degree == 0;
         }));
  FillIn(settings.micro_batch_samples, Samples(shape, has_nodes, settings.global_batch));
  if (settings.first_layers_alike) {
    FillIn(settings.recomputation, {LayerRecomputation::kNone, LayerRecomputation::kFull});
    FillIn(settings.orders, {PipelineOrder::kOneFOneB});
  }
  FillIn(settings.recomputation,
         {LayerRecomputation::kNone, LayerRecomputation::kSelective, LayerRecomputation::kFull});
  FillIn(settings.shardings, {Sharding::kOptimizer, Sharding::kParameters});
  FillIn(settings.orders, {PipelineOrder::kOneFOneB, PipelineOrder::kInterleaved});
  return settings;
}

std::vector<int32_t> DataDegreesUpTo(int64_t most, const JointSettings& settings) {
  std::vector<int32_t> degrees = settings.data_degrees;
  std::erase_if(degrees, [most](int32_t degree) { return degree > most; });
  if (!settings.data_degrees.empty()) return degrees;
  for (const int64_t degree : DivisorsOf(settings.global_batch)) {
    if (degree <= most) degrees.push_back(static_cast<int32_t>(degree));
  }
  return degrees;
}

}  // namespace planwright
