// Plans of the joint search made by hand, of models and clusters of the zoo.
#ifndef PLANWRIGHT_TESTS_CORE_JOINT_STEP_TRAINING_PLANS_H_
#define PLANWRIGHT_TESTS_CORE_JOINT_STEP_TRAINING_PLANS_H_

#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/random.h"
#include "core/joint/cost/stage_cost.h"
#include "core/joint/cost/training_cluster.h"
#include "core/joint/cost/transformer_pricer.h"
#include "core/joint/place/network_cluster.h"
#include "core/joint/step/link_uses.h"
#include "core/joint/step/step_tasks.h"
#include "core/zoo/zoo.h"

namespace planwright {

inline std::vector<DeviceId> AllDevices(const Cluster& cluster) {
  std::vector<DeviceId> devices;
  devices.reserve(cluster.devices.size());
  for (std::size_t d = 0; d < cluster.devices.size(); ++d) devices.emplace_back(d);
  return devices;
}

// What a step is simulated from.
struct TrainingCase {
  Cluster cluster;
  TrainingCluster training;
  TransformerPricer pricer;
  DeviceRow row;

  TrainingCase(const std::string& model, Cluster given)
      : cluster(std::move(given)),
        training(*(IsNetwork(cluster) ? MakeNetworkCluster : MakeTrainingCluster)(cluster, AllDevices(cluster), 0)),
        pricer(*TransformerShapeOf(model), cluster, training.inside, training.between),
        row(training) {}
  TrainingCase(const std::string& model, const std::string& zoo_cluster)
      : TrainingCase(model, *MakeZooCluster(zoo_cluster)) {}
  TrainingCase(const TrainingCase&) = delete;

  static std::vector<std::string> Names(const JointPlan& plan) {
    std::vector<std::string> names;
    names.reserve(plan.stages.size());
    for (std::size_t s = 0; s < plan.stages.size(); ++s) names.push_back(absl::StrCat("stage ", s));
    return names;
  }

  StepOnLinks OnLinks(const JointPlan& plan, int64_t wanted_tasks = 1'000'000) const {
    return *StepTasksOnLinks(pricer, row, plan, Names(plan), *LinkUsesOf(cluster, row, plan), {.wanted = wanted_tasks});
  }
};

struct PlanChoices {
  PipelineOrder order = PipelineOrder::kOneFOneB;
  int64_t stages = 1;
  int32_t chunks = 1;
  Degrees degrees;
  Sharding sharding = Sharding::kNone;
  LayerRecomputation recomputation = LayerRecomputation::kNone;
  int64_t micro_batches = 1;
};

// Layers spread evenly over the stages, one behind the other on the row; costed. step is kBeyondPrices where the model
// cannot be spread so.
inline JointPlan MakeTrainingPlan(const TrainingCase& training, const PlanChoices& choices) {
  JointPlan plan{.order = choices.order,
                 .chunks = choices.chunks,
                 .sharding = choices.sharding,
                 .micro_batches = choices.micro_batches};
  const auto layers = static_cast<int64_t>(training.pricer.kinds().size());
  const int64_t runs = choices.stages * choices.chunks;
  plan.stages.resize(static_cast<std::size_t>(choices.stages));
  for (int64_t run = 0; run < runs; ++run) {
    JointStage& stage = plan.stages[static_cast<std::size_t>(run % choices.stages)];
    JointChunk& chunk = stage.chunks.emplace_back();
    chunk.first_layer = static_cast<int32_t>(run * layers / runs);
    const auto end = static_cast<int32_t>((run + 1) * layers / runs);
    for (int32_t layer = chunk.first_layer; layer < end; ++layer) {
      const bool is_end = layer == 0 || layer + 1 == layers;
      chunk.recomputation.push_back(is_end ? LayerRecomputation::kNone : choices.recomputation);
    }
  }
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    plan.stages[s].degrees = choices.degrees;
    plan.stages[s].first_slot = static_cast<int32_t>(static_cast<int64_t>(s) * choices.degrees.devices());
  }
  CostJointPlan(training.pricer, training.row, 0, plan);
  if (plan.step != kBeyondPrices) SimulateJointPlan(training.pricer, training.row, plan);
  return plan;
}

inline PlanChoices RandomChoices(RandomStream& random, int64_t devices) {
  constexpr std::array kOrders = {PipelineOrder::kOneFOneB, PipelineOrder::kInterleaved, PipelineOrder::kGpipe,
                                  PipelineOrder::kZeroBubble};
  const auto power = [&](uint64_t most) { return int32_t{1} << random.Below(most + 1); };
  PlanChoices choices;
  choices.order = kOrders.at(random.Below(kOrders.size()));
  choices.degrees.tensor = power(3);
  choices.degrees.context = power(2);
  choices.degrees.data = power(3);
  choices.degrees.expert = power(3);
  choices.stages = power(3);
  if (choices.degrees.devices() * choices.stages > devices) choices.degrees.data = 1;
  if (choices.degrees.devices() * choices.stages > devices) choices.stages = devices / choices.degrees.devices();
  choices.sharding = static_cast<Sharding>(random.Below(kNumShardings));
  choices.recomputation = random.Below(2) == 0 ? LayerRecomputation::kNone : LayerRecomputation::kFull;
  choices.chunks = choices.order == PipelineOrder::kInterleaved ? 2 : 1;
  choices.micro_batches = choices.stages * static_cast<int64_t>(1 + random.Below(3));
  return choices;
}

}  // namespace planwright

#endif  // PLANWRIGHT_TESTS_CORE_JOINT_STEP_TRAINING_PLANS_H_
