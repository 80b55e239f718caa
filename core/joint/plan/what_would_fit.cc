#include "core/joint/plan/what_would_fit.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/infeasibility.h"
#include "core/base/quantity_text.h"
#include "core/base/violations.h"
#include "core/joint/cost/stage_cost.h"
#include "core/joint/search/fewest_search.h"
#include "core/joint/search/joint_search.h"

namespace planwright {
namespace {

// The gap of searches that only ask whether anything fits.
constexpr double kAnyPlan = 0.5;
constexpr int64_t kMostDevices = 16'384;

int64_t NumDevicesOf(const TrainingCluster& cluster) {
  int64_t devices = 0;
  for (const TrainingClass& part : cluster.classes) devices += part.devices();
  return devices;
}

// Whether a search finds anything; nullopt: interrupted.
std::optional<bool> Fits(const JointRequest& request, const TrainingCluster& cluster, const JointSettings& settings,
                         const SolveLimits& limits) {
  const JointRequest asked{request.pricer, cluster, settings, request.reserved_bytes, kAnyPlan};
  if (PlainHoldsWhatOthersDo(asked)) {
    const FewestOutcome outcome = SearchFewestDevices(asked, std::nullopt, NumDevicesOf(cluster), limits);
    if (outcome.plan.has_value()) return true;
    return outcome.is_proven ? std::optional(false) : std::nullopt;
  }
  const JointOutcome outcome = SearchJoint(asked, limits, [](const JointPlan&) {});
  if (outcome.plan.has_value()) return true;
  return outcome.is_interrupted ? std::nullopt : std::optional(false);
}

TrainingCluster WithNodes(const TrainingCluster& cluster, int32_t nodes) {
  TrainingCluster grown = cluster;
  grown.classes = {cluster.classes.front()};
  grown.classes.front().nodes = nodes;
  grown.devices.assign(static_cast<std::size_t>(grown.classes.front().devices()), cluster.devices.front());
  // How far nodes and devices are apart decides nothing about what fits.
  grown.groups.clear();
  grown.pairs.reset();
  return grown;
}

// The fewest devices in so many nodes that hold the model; all of them where that is not proven.
int64_t FewestDevicesOfNodes(const JointRequest& request, int32_t nodes, const SolveLimits& limits) {
  const TrainingCluster cluster = WithNodes(request.cluster, nodes);
  const JointRequest asked{request.pricer, cluster, request.settings, request.reserved_bytes, kAnyPlan};
  if (!PlainHoldsWhatOthersDo(asked)) return NumDevicesOf(cluster);
  const FewestOutcome outcome = SearchFewestDevices(asked, std::nullopt, NumDevicesOf(cluster), limits);
  return outcome.plan.has_value() && outcome.is_proven ? outcome.devices : NumDevicesOf(cluster);
}

// The fewest nodes of the first class that hold the model, more than `too_few`; nullopt: none that were tried.
std::optional<int32_t> FewestNodes(const JointRequest& request, int32_t too_few, const SolveLimits& limits) {
  const int32_t per_node = request.cluster.classes.front().devices_per_node;
  const auto fits = [&](int32_t nodes) {
    return Fits(request, WithNodes(request.cluster, nodes), request.settings, limits).value_or(false);
  };
  const auto is_tried = [&](int32_t nodes) { return int64_t{nodes} * per_node <= kMostDevices; };
  int32_t enough = std::max(2 * too_few, 1);
  for (; is_tried(enough) && !fits(enough); enough *= 2) too_few = enough;
  if (!is_tried(enough)) return std::nullopt;
  while (enough - too_few > 1) {
    const int32_t middle = too_few + (enough - too_few) / 2;
    (fits(middle) ? enough : too_few) = middle;
  }
  return enough;
}

// `settings` with a degree of the list doubled until `most`; each is a choice of its own.
template <typename Value>
std::vector<std::pair<Value, JointSettings>> Doubled(const JointSettings& settings,
                                                     std::vector<Value> JointSettings::*list, Value most) {
  std::vector<std::pair<Value, JointSettings>> wider;
  const std::vector<Value>& values = settings.*list;
  for (Value value = 2 * *std::max_element(values.begin(), values.end()); value <= most; value *= 2) {
    JointSettings with = settings;
    with.*list = {value};
    wider.emplace_back(value, std::move(with));
  }
  return wider;
}

// The smallest tensor degree beyond those that may be chosen with which anything fits.
std::optional<int32_t> LeastTensorDegree(const JointRequest& request, const SolveLimits& limits) {
  const int32_t per_node = request.cluster.classes.front().devices_per_node;
  for (const auto& [degree, settings] : Doubled(request.settings, &JointSettings::tensor_degrees, per_node)) {
    if (Fits(request, request.cluster, settings, limits).value_or(false)) return degree;
  }
  return std::nullopt;
}

// Choices that hold more than the settings allow, by what a person would say.
std::vector<std::pair<std::string, JointSettings>> WiderSettings(const JointSettings& settings) {
  std::vector<std::pair<std::string, JointSettings>> wider;
  const auto lacks = [](const auto& list, auto value) {
    return std::find(list.begin(), list.end(), value) == list.end();
  };
  JointSettings with = settings;
  if (lacks(settings.recomputation, LayerRecomputation::kFull)) {
    with.recomputation.push_back(LayerRecomputation::kFull);
    wider.emplace_back("full recomputation", with);
  }
  if (lacks(settings.shardings, Sharding::kParameters)) {
    JointSettings sharded = settings;
    sharded.shardings.push_back(Sharding::kParameters);
    wider.emplace_back("sharding of parameters", sharded);
    with.shardings.push_back(Sharding::kParameters);
    if (wider.size() > 1) wider.emplace_back("full recomputation and sharding of parameters", with);
  }
  return wider;
}

bool IsAllowed(const std::vector<int32_t>& degrees, int64_t degree) {
  return degrees.empty() || std::find(degrees.begin(), degrees.end(), degree) != degrees.end();
}

// Whether samples, a data degree and a number of micro-batches that may be chosen together make the global batch. With
// spreads by stage the data degree divides each micro-batch.
bool MakesTheBatch(const JointSettings& settings) {
  for (const int64_t samples : settings.micro_batch_samples) {
    for (int64_t data = 1; samples * data <= settings.global_batch; ++data) {
      const int64_t micro_batches = settings.global_batch / (samples * data);
      if (settings.global_batch % (samples * data) == 0 && IsAllowed(settings.data_degrees, data) &&
          settings.micro_batches.value_or(micro_batches) == micro_batches) {
        return true;
      }
    }
  }
  return false;
}

// Whether a tensor, context and expert degree that may be chosen together divide the model, on one node and beyond;
// where stages may differ, whether every layer has such.
bool DivideTheModel(const JointRequest& request) {
  const JointSettings& settings = request.settings;
  const TrainingClass& part = request.cluster.classes.front();
  std::set<int32_t> left(request.pricer.kinds().begin(), request.pricer.kinds().end());
  for (const int32_t tensor : settings.tensor_degrees) {
    for (const int32_t context : settings.context_degrees) {
      for (const int32_t expert : settings.expert_degrees) {
        const PriceQuery query =
            QueryOn(request.cluster, part, request.cluster.num_tiers() - 1, {tensor, context, expert, expert},
                    settings.micro_batch_samples.front(), settings.shardings.front());
        const std::vector<LayerPrice> prices = request.pricer.PriceFor(query, settings.per_stage);
        std::erase_if(left, [&](int32_t kind) {
          const auto at = static_cast<std::size_t>(kind);
          return at < prices.size() && prices[at].can_run;
        });
        if (left.empty()) return true;
      }
    }
  }
  return false;
}

struct Reason {
  // As of a shortage (Infeasibility).
  std::string resource;
  std::string description;
};

// Why choices do not go together, whatever the memory; nullopt: some do.
std::optional<Reason> WhyNoneGoTogether(const JointRequest& request, int64_t devices) {
  const JointSettings& settings = request.settings;
  const auto layers = static_cast<int64_t>(request.pricer.kinds().size());
  const int64_t stages = settings.num_stages.value_or(1);
  if (stages > layers) {
    return Reason{"operators", absl::StrCat(stages, " stages are asked for, and the model has ", layers, " layers")};
  }
  if (!MakesTheBatch(settings)) {
    return Reason{"support", absl::StrCat("no samples, data degree and micro-batches that may be chosen multiply to "
                                          "the global batch of ",
                                          settings.global_batch)};
  }
  if (!DivideTheModel(request)) {
    return Reason{"support", "no tensor, context and expert degrees that may be chosen divide the model"};
  }
  const auto least = [](const auto& list) { return int64_t{*std::min_element(list.begin(), list.end())}; };
  const int64_t data = settings.data_degrees.empty() ? 1 : least(settings.data_degrees);
  const int64_t block = least(settings.tensor_degrees) * least(settings.context_degrees) * data;
  if (stages * block <= devices) return std::nullopt;
  return Reason{"devices", absl::StrCat(stages, stages == 1 ? " stage" : " stages", " of at least ", block,
                                        block == 1 ? " device" : " devices", " are ", stages * block,
                                        " devices, and there are ", devices)};
}

// Where a limit leaves out part of a node, more devices are whole nodes, with the choices that these have.
JointRequest WithoutLimit(const JointQuestion& question, const JointRequest& request) {
  if (question.all == nullptr) return request;
  return {question.pricer, question.all->training, question.all->settings, question.reserved_bytes};
}

bool HasSeveralClasses(const TrainingCluster& cluster) {
  const DeviceClassId first = cluster.classes.front().device_class;
  return std::any_of(cluster.classes.begin(), cluster.classes.end(),
                     [&](const TrainingClass& part) { return part.device_class != first; });
}

const std::string& NameOfClass(const JointQuestion& question, const TrainingClass& part) {
  return question.cluster.device_classes[part.device_class.index()].name;
}

// "64 devices of 80.00 GiB", of several classes "64 devices of h100 with 80.00 GiB and 64 devices of a100 with 40.00
// GiB".
std::string DevicesText(const JointQuestion& question, const TrainingCluster& cluster) {
  if (!HasSeveralClasses(cluster)) {
    return absl::StrCat(CountedText(NumDevicesOf(cluster), "device"), " of ",
                        SizeText(cluster.classes.front().memory_bytes));
  }
  std::vector<std::string> texts;
  for (const TrainingClass& part : cluster.classes) {
    texts.push_back(absl::StrCat(CountedText(part.devices(), "device"), " of ", NameOfClass(question, part), " with ",
                                 SizeText(part.memory_bytes)));
  }
  return absl::StrJoin(texts, " and ");
}

// More nodes are of the first class alone; a network has devices and no nodes.
std::string MoreText(const JointQuestion& question, const TrainingCluster& cluster, int32_t nodes, int64_t devices) {
  std::string more = CountedText(devices, "device");
  if (question.training.pairs == nullptr) more = absl::StrCat(CountedText(nodes, "node"), " (", more, ")");
  if (!HasSeveralClasses(cluster)) return more;
  return absl::StrCat(more, " of ", NameOfClass(question, cluster.classes.front()), " alone");
}

// What a person can choose beside more devices.
std::vector<std::string> OtherChoices(const JointRequest& request, const SolveLimits& limits) {
  std::vector<std::string> would_fit;
  for (const auto& [what, settings] : WiderSettings(request.settings)) {
    if (Fits(request, request.cluster, settings, limits).value_or(false)) would_fit.push_back(what);
  }
  const std::optional<int32_t> tensor = LeastTensorDegree(request, limits);
  if (tensor.has_value()) would_fit.push_back(absl::StrCat("a tensor degree of ", *tensor));
  const std::vector<int64_t>& samples = request.settings.micro_batch_samples;
  if (*std::min_element(samples.begin(), samples.end()) > 1) {
    JointSettings smallest = request.settings;
    smallest.micro_batch_samples = {1};
    if (Fits(request, request.cluster, smallest, limits).value_or(false)) would_fit.emplace_back("samples of 1");
  }
  return would_fit;
}

Infeasibility WhatWouldFit(const JointQuestion& question, const JointRequest& request, const SolveLimits& limits) {
  Infeasibility infeasibility;
  if (std::optional<Reason> why = WhyNoneGoTogether(request, NumDevicesOf(request.cluster)); why.has_value()) {
    infeasibility.Add(
        {.resource = std::move(why->resource), .subject = "", .description = std::move(why->description)});
    return infeasibility;
  }
  std::vector<std::string> would_fit = OtherChoices(request, limits);
  const JointRequest unlimited = WithoutLimit(question, request);
  const int32_t too_few = question.all == nullptr ? request.cluster.classes.front().nodes : 0;
  const std::optional<int32_t> nodes = FewestNodes(unlimited, too_few, limits);
  if (nodes.has_value()) {
    infeasibility.minimum_devices = static_cast<int32_t>(FewestDevicesOfNodes(unlimited, *nodes, limits));
    would_fit.push_back(MoreText(question, unlimited.cluster, *nodes, infeasibility.minimum_devices));
  }
  std::string description = absl::StrCat("no pipeline with these degrees, recomputations and shardings fits into ",
                                         DevicesText(question, request.cluster));
  absl::StrAppend(&description, would_fit.empty()
                                    ? "; neither does it on more nodes of them"
                                    : absl::StrCat("; it would fit with ", absl::StrJoin(would_fit, ", or with ")));
  infeasibility.Add({.resource = "memory",
                     .subject = "",
                     .available_bytes = request.cluster.classes.front().memory_bytes,
                     .description = std::move(description)});
  return infeasibility;
}

}  // namespace

absl::Status NotInTimeError(const SolveLimits& limits) {
  if (limits.stop.stop_requested()) return absl::CancelledError("cancelled before a plan was found");
  return NoPlanFoundError("no plan was found in time; allow more time", SpentLimit::kTime);
}

absl::Status NothingFitsError(const JointQuestion& question, const TrainingCluster& cluster,
                              const SolveLimits& limits) {
  const JointRequest request{question.pricer, cluster, question.settings, question.reserved_bytes};
  const std::optional<bool> may_take_too_long = MayTakeTooLong(request, limits);
  if (!may_take_too_long.has_value()) return NotInTimeError(limits);
  if (!*may_take_too_long) return InfeasibleError(WhatWouldFit(question, request, limits));
  Violations violations;
  violations.Add("problem.joint.global_batch",
                 "must have a step of less than 160 hours: longer ones are not looked for, and no shorter one fits");
  return violations.ToStatus();
}

}  // namespace planwright
