#include "client/exporter/accelerate.h"

#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/exporter/cannot_express.h"
#include "client/exporter/hostfile.h"
#include "client/exporter/model_layers.h"

namespace planwright::client {
namespace {

constexpr char kAccelerate[] = "accelerate";

// The device of each stage as accelerate names it.
absl::StatusOr<std::vector<nlohmann::ordered_json>> DevicesOf(const ExportInput& input) {
  const auto seats = SeatsOf(*input.cluster);
  std::vector<nlohmann::ordered_json> devices;
  std::optional<std::string> host;
  for (const v1::Stage& stage : input.plan.stages()) {
    if (stage.replicas_size() != 1) {
      return CannotExpress(kAccelerate, absl::StrCat("stage ", stage.index(), " has ", stage.replicas_size(),
                                                     " devices, and every module is on one"));
    }
    const std::string& device = stage.replicas(0).device();
    const auto seat = seats.find(device);
    if (seat == seats.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("the cluster has no device \"", device, "\"; give the cluster that the plan was made for"));
    }
    if (host.value_or(seat->second.host) != seat->second.host) {
      return CannotExpress(kAccelerate, "its devices are on several hosts, and a device_map is for one process");
    }
    host = seat->second.host;
    devices.emplace_back(seat->second.is_cpu ? nlohmann::ordered_json("cpu")
                                             : nlohmann::ordered_json(seat->second.slot));
  }
  return devices;
}

}  // namespace

absl::StatusOr<Exported> ExportAccelerate(const ExportInput& input) {
  if (input.plan.problem().workload() == v1::WORKLOAD_TRAINING) {
    return CannotExpress(kAccelerate, "it is for training, and a device_map serves; plan with --workload=inference");
  }
  const auto stages = LayersOfStages(*input.graph, input.plan, kAccelerate);
  if (!stages.ok()) return stages.status();
  const auto devices = DevicesOf(input);
  if (!devices.ok()) return devices.status();
  nlohmann::ordered_json map;
  for (std::size_t stage = 0; stage < stages->size(); ++stage) {
    const StageLayers& layers = (*stages)[stage];
    const nlohmann::ordered_json& device = (*devices)[stage];
    if (!layers.front.empty()) map["model.embed_tokens"] = device;
    for (std::size_t i = 0; i < layers.num_layers; ++i) {
      map[absl::StrCat("model.layers.", layers.first_layer + i)] = device;
    }
    for (const std::string& label : layers.back) {
      if (label != "head") continue;
      map["model.norm"] = device;
      map["lm_head"] = device;
    }
  }
  return Exported{map.dump(2) + "\n",
                  "give it to from_pretrained as device_map; models other than Llama and its likes name modules "
                  "otherwise (GPT-2: transformer.wte, transformer.h.0)"};
}

}  // namespace planwright::client
