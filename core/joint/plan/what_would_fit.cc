#include "core/joint/plan/what_would_fit.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/infeasibility.h"
#include "core/base/quantity_text.h"
#include "core/base/violations.h"
#include "core/joint/plan/choices_together.h"
#include "core/joint/search/fewest_search.h"
#include "core/joint/search/joint_search.h"

namespace planwright {
namespace {

// The gap of searches that only ask whether anything fits.
constexpr double kAnyPlan = 0.5;
constexpr int64_t kMostDevices = 16'384;

// Whether a search finds anything; nullopt: that is open.
std::optional<bool> Fits(const JointRequest& request, const TrainingCluster& cluster, const JointSettings& settings,
                         const SolveLimits& limits) {
  const JointRequest asked{request.pricer, cluster, settings, request.reserved_bytes, kAnyPlan};
  if (PlainHoldsWhatOthersDo(asked)) {
    const FewestOutcome outcome = SearchFewestDevices(asked, std::nullopt, cluster.num_devices(), limits);
    if (outcome.plan.has_value()) return true;
    return outcome.is_proven ? std::optional(false) : std::nullopt;
  }
  const JointOutcome outcome = SearchJoint(asked, limits, [](const JointPlan&) {});
  if (outcome.plan.has_value()) return true;
  return outcome.is_interrupted || outcome.is_open ? std::nullopt : std::optional(false);
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
  if (!PlainHoldsWhatOthersDo(asked)) return cluster.num_devices();
  const FewestOutcome outcome = SearchFewestDevices(asked, std::nullopt, cluster.num_devices(), limits);
  return outcome.plan.has_value() && outcome.is_proven ? outcome.devices : cluster.num_devices();
}

// The fewest nodes of the first class that hold the model, more than `too_few`; nullopt: none that were tried.
std::optional<int32_t> FewestNodes(const JointRequest& request, int32_t too_few, const SolveLimits& limits) {
  const int32_t per_node = request.cluster.classes.front().devices_per_node;
  const auto fits = [&](int32_t nodes) {
    return Fits(request, WithNodes(request.cluster, nodes), request.settings, limits).value_or(false);
  };
  const auto most = static_cast<int32_t>(kMostDevices / per_node);
  if (too_few >= most) return std::nullopt;
  int32_t enough = std::clamp(2 * too_few, 1, most);
  for (; !fits(enough); enough = std::min(2 * enough, most)) {
    too_few = enough;
    if (enough == most) return std::nullopt;
  }
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
  for (int64_t value = 2 * int64_t{*std::max_element(values.begin(), values.end())}; value <= most; value *= 2) {
    JointSettings with = settings;
    with.*list = {static_cast<Value>(value)};
    wider.emplace_back(static_cast<Value>(value), std::move(with));
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

// Where a limit leaves out part of a node, more devices are whole nodes, with the choices that these have.
JointRequest WithoutLimit(const JointQuestion& question, const JointRequest& request) {
  if (question.all == nullptr) return request;
  return {question.pricer, question.all->training, question.all->settings, question.reserved_bytes};
}

const std::string& NameOfClass(const JointQuestion& question, const TrainingClass& part) {
  return question.cluster.device_classes[part.device_class.index()].name;
}

// "64 devices of 80.00 GiB", of several classes "64 devices of h100 with 80.00 GiB and 64 devices of a100 with 40.00
// GiB".
std::string DevicesText(const JointQuestion& question, const TrainingCluster& cluster) {
  if (!HasUnlikeDevices(cluster)) {
    const std::string devices = CountedText(cluster.num_devices(), "device");
    const int64_t memory = cluster.classes.front().memory_bytes;
    if (memory <= 0) return absl::StrCat(devices, " of which all memory is reserved");
    return absl::StrCat(devices, " of ", SizeText(memory));
  }
  std::vector<std::string> texts;
  texts.reserve(cluster.classes.size());
  for (const TrainingClass& part : cluster.classes) {
    texts.push_back(absl::StrCat(CountedText(part.devices(), "device"), " of ", NameOfClass(question, part), " with ",
                                 SizeText(part.memory_bytes)));
  }
  return absl::StrJoin(texts, " and ");
}

// More nodes are of the first class alone; a network has devices and no nodes.
std::string MoreText(const JointQuestion& question, const TrainingCluster& cluster, int32_t nodes, int64_t devices) {
  std::string more = CountedText(devices, "device");
  if (question.training.pairs == nullptr) absl::StrAppend(&more, " (", CountedText(nodes, "node"), ")");
  if (!HasUnlikeDevices(cluster)) return more;
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
  if (std::optional<Shortage> why = WhyNoneGoTogether(request); why.has_value()) {
    infeasibility.Add(*std::move(why));
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
  if (!would_fit.empty()) {
    absl::StrAppend(&description, "; it would fit with ", absl::StrJoin(would_fit, ", or with "));
  } else if (CheckInterruption(limits).has_value()) {
    absl::StrAppend(&description, "; there was no time to find what would fit");
  } else {
    absl::StrAppend(&description, "; neither does it on more nodes of them");
  }
  infeasibility.Add({.resource = "memory",
                     .subject = "",
                     .available_bytes = request.cluster.classes.front().memory_bytes,
                     .description = std::move(description)});
  return infeasibility;
}

}  // namespace

absl::Status NotWithinLimitsError(const SolveLimits& limits) {
  const std::optional<Interruption> why = CheckInterruption(limits);
  if (why == Interruption::kCancelled) return absl::CancelledError("cancelled before a plan was found");
  if (!why.has_value()) {
    return absl::ResourceExhaustedError(
        absl::StrCat("no plan was found in the memory that searches may take; ", kMoreMemory));
  }
  return NoPlanFoundError("no plan was found in time; allow more time", SpentLimit::kTime);
}

absl::Status NotFoundInterleavedError() {
  return NoPlanFoundError(
      "no interleaved pipeline was found that fits; that there is none is not proven where layers are unlike: allow "
      "another schedule (--schedule=one_f_one_b), recomputation or more devices");
}

absl::Status NotFoundOnUnlikeMemoryError() {
  return NoPlanFoundError(
      "no plan was found that fits; that there is none is not proven where devices of one class differ in memory: "
      "allow "
      "more choices, or more devices");
}

namespace {

// What the cluster says of its links and of the first class that has a speed.
std::string SpeedsText(const Cluster& cluster, const TrainingCluster& training) {
  const TrainingLink& link = training.pairs == nullptr ? training.between : training.inside;
  std::string text = absl::StrCat("whose links carry ", link.bytes_per_second, " bytes per second");
  for (const TrainingClass& part : training.classes) {
    const DeviceClass& device = cluster.device_classes[part.device_class.index()];
    if (device.peak_flops == 0) continue;
    absl::StrAppend(&text, ", and whose ", device.name, " have peak_flops ", device.peak_flops,
                    " and memory_bandwidth_bytes_per_second ", device.memory_bandwidth_bytes_per_second);
    break;
  }
  return text;
}

}  // namespace

absl::Status NothingFitsError(const JointQuestion& question, const TrainingCluster& cluster,
                              const SolveLimits& limits) {
  const JointRequest request = question.RequestOn(cluster);
  const std::optional<bool> may_take_too_long = MayTakeTooLong(request, limits);
  if (!may_take_too_long.has_value()) return NotWithinLimitsError(limits);
  if (!*may_take_too_long) return InfeasibleError(WhatWouldFit(question, request, limits));
  Violations violations;
  violations.Add("problem.joint.global_batch",
                 absl::StrCat("must have a step of less than 160 hours: longer ones are not looked for, and no shorter "
                              "one fits; check the units of the cluster, ",
                              SpeedsText(question.cluster, cluster)));
  return violations.ToStatus();
}

}  // namespace planwright
