#include "core/verify/joint/choice_rules.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace planwright::verify {
namespace {

class ChoiceRules {
 public:
  ChoiceRules(const JointChoices& choices, const std::vector<DeviceId>& usable, Violations& violations)
      : choices_(choices),
        plan_(choices.plan()),
        settings_(choices.settings()),
        usable_(usable),
        violations_(violations) {}

  void Check() {
    CheckStructure();
    if (!violations_.empty()) return;
    CheckLayers();
    CheckBatch();
    if (!violations_.empty()) return;
    CheckPlaces();
  }

 private:
  void Require(bool holds, const std::string& path, std::string_view rule) {
    if (!holds) violations_.Add(path, std::string(rule));
  }
  void Compare(int64_t chosen, int64_t wanted, const std::string& path) {
    if (chosen != wanted) violations_.Add(path, absl::StrCat("must be ", wanted, ", is ", chosen));
  }

  void CheckStructure() {
    Require(!plan_.stages.empty() && plan_.stages.size() == choices_.placement.stages.size(), "plan.stages",
            "must be as many as the joint plan has");
    Require(plan_.micro_batches >= 1, "plan.joint.micro_batches", "must be >= 1");
    Require(plan_.micro_batch_samples >= 1, "plan.joint.micro_batch_samples", "must be >= 1");
    Require(plan_.chunks >= 1 && (choices_.is_interleaved() || plan_.chunks == 1), "plan.joint.chunks_per_stage",
            "must be 1 unless the schedule is INTERLEAVED");
    for (std::size_t s = 0; s < plan_.stages.size(); ++s) {
      const Degrees& degrees = plan_.stages[s].degrees;
      Require(static_cast<int32_t>(plan_.stages[s].chunks.size()) == plan_.chunks, StagePath(s) + ".joint.chunks",
              "must be as many as the plan says");
      Require(degrees.tensor >= 1 && degrees.context >= 1 && degrees.expert >= 1 && degrees.data >= 1,
              StagePath(s) + ".joint", "must have degrees of at least 1");
    }
  }

  // Runs of layers follow each other around the stages.
  void CheckLayers() {
    const auto num_layers = static_cast<int64_t>(choices_.pricer.kinds().size());
    int64_t next = 0;
    for (int64_t run = 0; run < choices_.num_stages() * plan_.chunks; ++run) {
      const JointChunk& chunk = choices_.RunAt(run);
      Require(chunk.first_layer == next && chunk.end_layer() > chunk.first_layer && chunk.end_layer() <= num_layers,
              StagePath(static_cast<std::size_t>(run % choices_.num_stages())) + ".joint.chunks",
              "must go on where the ones before end");
      next = chunk.end_layer();
    }
    Require(next == num_layers, "plan.stages", "must hold every layer");
    const bool are_labelled = choices_.graph.transformer.has_value() || plan_.layer_labels == choices_.pricer.labels();
    Require(are_labelled, "plan.stages", "must have the layers into which the graph is divided");
    if (violations_.empty()) CheckOperators();
  }

  // Every stage has the operators of its layers, and no others.
  void CheckOperators() {
    std::map<std::string, std::size_t> stage_of;
    for (std::size_t s = 0; s < plan_.stages.size(); ++s) {
      for (const JointChunk& chunk : plan_.stages[s].chunks) {
        for (int32_t layer = chunk.first_layer; layer < chunk.end_layer(); ++layer) {
          stage_of[choices_.pricer.labels()[static_cast<std::size_t>(layer)]] = s;
        }
      }
    }
    if (choices_.graph.transformer.has_value()) stage_of["loss"] = stage_of["head"];
    std::vector<std::size_t> counts(plan_.stages.size(), 0);
    const std::vector<Operator>& operators = choices_.graph.operators;
    for (const Operator& op : operators) {
      const auto found = stage_of.find(op.layer);
      if (found != stage_of.end()) ++counts[found->second];
    }
    for (std::size_t s = 0; s < plan_.stages.size(); ++s) {
      const std::vector<OperatorId>& held = choices_.placement.stages[s].operators;
      const bool belong = std::all_of(held.begin(), held.end(), [&](OperatorId op) {
        const auto found = stage_of.find(operators[op.index()].layer);
        return found != stage_of.end() && found->second == s;
      });
      Require(belong && std::set<OperatorId>(held.begin(), held.end()).size() == counts[s] && held.size() == counts[s],
              StagePath(s) + ".operators", "must be those of its layers");
    }
  }

  void CheckBatch() {
    const Degrees& first = plan_.stages.front().degrees;
    const int64_t ranks = plan_.per_stage ? 1 : first.data;
    // None of the three exceeds the batch where their product is it.
    const bool is_small = plan_.micro_batch_samples <= settings_.global_batch && ranks <= settings_.global_batch &&
                          plan_.micro_batches <= settings_.global_batch;
    Require(is_small && plan_.micro_batch_samples * ranks <= settings_.global_batch &&
                plan_.micro_batch_samples * ranks * plan_.micro_batches == settings_.global_batch,
            "plan.joint.micro_batches",
            absl::StrCat("times the ", plan_.micro_batch_samples, " samples of a micro-batch",
                         plan_.per_stage ? "" : absl::StrCat(" and the data degree of ", ranks),
                         " must be the global batch of ", settings_.global_batch, ", is ", plan_.micro_batches));
    Require(!choices_.is_interleaved() || plan_.micro_batches % choices_.num_stages() == 0, "plan.joint.micro_batches",
            "must be divided by the stages of an interleaved pipeline");
    Require(plan_.order != PipelineOrder::kZeroBubble || plan_.micro_batches >= choices_.num_stages(),
            "plan.joint.micro_batches", "must be at least the stages of a pipeline under ZERO_BUBBLE_H1");
    Require(IsAllowed(settings_.shardings, plan_.sharding), "plan.joint.optimizer_sharding",
            "must be one that may be chosen");
    Require(IsAllowed(settings_.orders, plan_.order), "plan.joint.schedule", "must be one that may be chosen");
    Require(!plan_.per_stage || settings_.per_stage, "plan.joint.degrees", "must be one choice for all stages");
    if (settings_.num_stages.has_value()) Compare(choices_.num_stages(), *settings_.num_stages, "plan.stages");
    if (settings_.micro_batches.has_value()) {
      Compare(plan_.micro_batches, *settings_.micro_batches, "plan.joint.micro_batches");
    }
    for (std::size_t s = 0; s < plan_.stages.size(); ++s) CheckDegrees(s);
    if (settings_.first_layers_alike) CheckFirstLayers();
  }

  // Behind some number of first layers of every stage none is computed again, before it all that can be.
  void CheckFirstLayers() {
    std::vector<std::vector<LayerRecomputation>> modes;
    std::size_t most = 0;
    for (std::size_t s = 0; s < plan_.stages.size(); ++s) {
      std::vector<LayerRecomputation>& own = modes.emplace_back();
      for (const int32_t layer : NumberedLayers(s)) own.push_back(ModeOf(s, layer));
      const auto last = std::find_if(own.rbegin(), own.rend(),
                                     [](LayerRecomputation mode) { return mode != LayerRecomputation::kNone; });
      most = std::max(most, static_cast<std::size_t>(own.rend() - last));
    }
    for (std::size_t s = 0; s < modes.size(); ++s) {
      const std::vector<LayerPrice> prices = PricesOf(s);
      std::vector<LayerRecomputation> wanted;
      for (const int32_t layer : NumberedLayers(s)) {
        const bool is_again = wanted.size() < most && CanBeAgain(prices, layer);
        wanted.push_back(is_again ? LayerRecomputation::kFull : LayerRecomputation::kNone);
      }
      Require(modes[s] == wanted, StagePath(s) + ".joint.chunks",
              "must compute again as many first layers as every stage, and no others");
    }
  }

  // Returns the stage's layers that are numbered: of a language model all but embedding and head.
  std::vector<int32_t> NumberedLayers(std::size_t s) const {
    const JointChunk& chunk = plan_.stages[s].chunks.front();
    const auto layers = static_cast<int32_t>(choices_.pricer.kinds().size());
    const int32_t ends = choices_.graph.transformer.has_value() ? 1 : 0;
    std::vector<int32_t> numbered;
    for (int32_t layer = std::max(chunk.first_layer, ends); layer < std::min(chunk.end_layer(), layers - ends);
         ++layer) {
      numbered.push_back(layer);
    }
    return numbered;
  }

  LayerRecomputation ModeOf(std::size_t s, int32_t layer) const {
    const JointChunk& chunk = plan_.stages[s].chunks.front();
    return chunk.recomputation[static_cast<std::size_t>(layer - chunk.first_layer)];
  }

  // Prices by kind; links between devices decide nothing about what can be computed again. Empty: on no devices.
  std::vector<LayerPrice> PricesOf(std::size_t s) const {
    if (choices_.placement.stages[s].devices.empty()) return {};
    const Degrees& degrees = plan_.stages[s].degrees;
    return choices_.pricer.Price({.device_class = choices_.ClassOf(s),
                                  .degrees = degrees,
                                  .samples = choices_.SamplesOf(degrees),
                                  .sharding = plan_.sharding});
  }

  bool CanBeAgain(const std::vector<LayerPrice>& prices, int32_t layer) const {
    const auto kind = static_cast<std::size_t>(choices_.pricer.kinds()[static_cast<std::size_t>(layer)]);
    return kind < prices.size() && prices[kind].modes[static_cast<std::size_t>(LayerRecomputation::kFull)].has_value();
  }

  void CheckDegrees(std::size_t s) {
    const Degrees& degrees = plan_.stages[s].degrees;
    const std::string path = StagePath(s) + ".joint";
    const auto require_choice = [&](const auto& list, int64_t degree, const char* field) {
      Require(IsAllowed(list, degree), absl::StrCat(path, ".", field), "must be one that may be chosen");
    };
    Require(plan_.per_stage || degrees == plan_.stages.front().degrees, path, "must have the degrees of all stages");
    require_choice(settings_.tensor_degrees, degrees.tensor, "tensor_degree");
    require_choice(settings_.context_degrees, degrees.context, "context_degree");
    require_choice(settings_.expert_degrees, degrees.expert, "expert_degree");
    require_choice(settings_.data_degrees, degrees.data, "data_degree");
    Require(!plan_.per_stage || plan_.micro_batch_samples % degrees.data == 0, path + ".data_degree",
            "must divide the samples of a micro-batch");
    Require(int64_t{degrees.context} * degrees.data % degrees.expert == 0, path + ".expert_degree",
            "must divide the context times the data degree");
    const bool is_said = s > 0 && !plan_.per_stage;
    Require(is_said || IsAllowed(settings_.micro_batch_samples, choices_.SamplesOf(degrees)),
            "plan.joint.micro_batch_samples", "must be a size that may be chosen");
  }

  // Every device is used once; blocks are of one class, of at most a node in one, larger ones on whole nodes.
  void CheckPlaces() {
    std::set<DeviceId> used;
    for (std::size_t s = 0; s < plan_.stages.size(); ++s) {
      const std::vector<DeviceId>& devices = choices_.placement.stages[s].devices;
      const std::string path = StagePath(s) + ".replicas";
      const auto count = static_cast<int64_t>(devices.size());
      Require(count == plan_.stages[s].degrees.devices(), path, "must be as many as the degrees say");
      std::set<int64_t> nodes;
      for (const DeviceId device : devices) {
        const bool is_usable = std::binary_search(usable_.begin(), usable_.end(), device);
        Require(is_usable, path, "must be on devices that may be used");
        Require(used.insert(device).second, path, "must be on devices of their own");
        if (is_usable) nodes.insert(choices_.machines.NodeOf(device));
      }
      if (!violations_.empty()) return;
      const DeviceClassId own = choices_.ClassOf(s);
      Require(
          std::all_of(devices.begin(), devices.end(),
                      [&](DeviceId device) { return choices_.cluster.devices[device.index()].device_class == own; }),
          path, "must be on devices of one class");
      if (!violations_.empty()) return;
      const auto num_nodes = static_cast<int64_t>(nodes.size());
      const int64_t node = choices_.UsableInNodeOf(s);
      const bool has_equal_shares = num_nodes * choices_.NodeSizeOf(s) == count;
      Require(num_nodes == 1 || (count > node && (num_nodes == (count + node - 1) / node || has_equal_shares)), path,
              "must be in one node, or, if more than one has, take whole nodes or as many devices of each");
    }
    const std::optional<int32_t> most = choices_.problem.devices_to_use.max_devices;
    Require(!most.has_value() || std::cmp_less_equal(used.size(), *most), "plan.stages",
            "must take no more devices than problem.devices_to_use.max_devices");
  }

  const JointChoices& choices_;
  const JointPlan& plan_;
  const JointSettings& settings_;
  const std::vector<DeviceId>& usable_;
  Violations& violations_;
};

}  // namespace

std::string StagePath(std::size_t stage) { return absl::StrCat("plan.stages[", stage, "]"); }

const JointChunk& JointChoices::RunAt(int64_t run) const {
  const JointStage& stage = plan().stages[static_cast<std::size_t>(run % num_stages())];
  return stage.chunks[static_cast<std::size_t>(run / num_stages())];
}

int64_t JointChoices::SamplesOf(const Degrees& degrees) const {
  return plan().per_stage ? plan().micro_batch_samples / degrees.data : plan().micro_batch_samples;
}

DeviceClassId JointChoices::ClassOf(std::size_t stage) const {
  return cluster.devices[placement.stages[stage].devices.front().index()].device_class;
}

int64_t JointChoices::UsableInNodeOf(std::size_t stage) const {
  const DeviceClassId own = ClassOf(stage);
  int64_t least = std::numeric_limits<int64_t>::max();
  for (const DeviceId device : placement.stages[stage].devices) {
    least = std::min(least, node_sizes.at({own, machines.NodeOf(device)}));
  }
  return least;
}

int64_t JointChoices::NodeSizeOf(std::size_t stage) const {
  std::map<int64_t, int64_t> own_by_node;
  for (const DeviceId device : placement.stages[stage].devices) ++own_by_node[machines.NodeOf(device)];
  const int64_t usable = UsableInNodeOf(stage);
  if (own_by_node.size() == 1) return usable;
  const auto fewer = [](const auto& a, const auto& b) { return a.second < b.second; };
  return std::min(usable, std::max_element(own_by_node.begin(), own_by_node.end(), fewer)->second);
}

void CheckJointChoices(const JointChoices& choices, const std::vector<DeviceId>& usable, Violations& violations) {
  ChoiceRules(choices, usable, violations).Check();
}

}  // namespace planwright::verify
