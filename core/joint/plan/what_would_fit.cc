#include "core/joint/plan/what_would_fit.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/infeasibility.h"
#include "core/base/quantity_text.h"
#include "core/base/violations.h"
#include "core/joint/plan/choices_together.h"
#include "core/joint/plan/device_parts.h"
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

// Devices of one class that there could be more of.
struct Growth {
  // The class alone; how far nodes and devices are apart decides nothing about what fits.
  TrainingCluster own;
  // Each device is a host of its own, and all are joined alike: no node is ever full.
  bool is_flat = false;

  int32_t devices_per_node() const { return is_flat ? 1 : own.classes.front().devices_per_node; }

  TrainingCluster With(int32_t nodes) const {
    TrainingCluster grown = own;
    TrainingClass& part = grown.classes.front();
    part.nodes = is_flat ? 1 : nodes;
    if (is_flat) part.devices_per_node = nodes;
    grown.devices.assign(static_cast<std::size_t>(part.devices()), own.devices.front());
    return grown;
  }
};

// Of one class, and how many of their devices.
struct EnoughNodes {
  TrainingClass part;
  bool is_flat = false;
  int32_t nodes = 0;
  int64_t devices = 0;
};

bool AreSingleHosts(const Cluster& cluster) {
  if (!std::holds_alternative<UniformInterconnect>(cluster.interconnect)) return false;
  std::set<std::string> hosts;
  for (const Device& device : cluster.devices) {
    if (device.host.empty() || !hosts.insert(device.host).second) return false;
  }
  return hosts.size() > 1;
}

Growth GrowthOf(const JointQuestion& question, const TrainingCluster& cluster, const TrainingClass& part) {
  Growth growth{cluster, AreSingleHosts(question.cluster)};
  growth.own.classes = {part};
  growth.own.groups.clear();
  growth.own.pairs.reset();
  return growth;
}

// The fewest devices in so many nodes that hold the model; all of them where that is not known.
int64_t FewestDevicesOfNodes(const JointRequest& request, const TrainingCluster& nodes, const SolveLimits& limits) {
  const auto asked_of = [&](const TrainingCluster& cluster) {
    return JointRequest{request.pricer, cluster, request.settings, request.reserved_bytes, kAnyPlan};
  };
  int64_t fewest = nodes.num_devices();
  if (!PlainHoldsWhatOthersDo(asked_of(nodes))) return fewest;
  // Blocks that do not fill nodes leave some devices of each idle.
  for (bool is_known = false; !is_known && fewest > 1 && !CheckInterruption(limits).has_value();) {
    is_known = true;
    for (const TrainingCluster& part : PartsWith(nodes, {fewest - 1}, request.settings)) {
      const FewestOutcome outcome =
          SearchFewestDevices(asked_of(part), std::nullopt, std::min(fewest - 1, part.num_devices()), limits);
      if (!outcome.plan.has_value()) continue;
      fewest = outcome.devices;
      is_known = false;
      break;
    }
  }
  return fewest;
}

// The fewest nodes that hold the model, more than `too_few`, of at most `most_devices`; nullopt: none that were tried.
std::optional<int32_t> FewestNodes(const JointRequest& request, const Growth& growth, int32_t too_few,
                                   int64_t most_devices, const SolveLimits& limits) {
  const auto fits = [&](int32_t nodes) {
    return Fits(request, growth.With(nodes), request.settings, limits).value_or(false);
  };
  const auto most = static_cast<int32_t>(most_devices / growth.devices_per_node());
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

// The class of which the fewest devices alone hold the model; `has_all`: those that there are do not, together.
std::optional<EnoughNodes> FewestMore(const JointQuestion& question, const JointRequest& request, bool has_all,
                                      const SolveLimits& limits) {
  std::vector<TrainingClass> classes = request.cluster.classes;
  // The first one that fits says how few of the others would have to do.
  std::stable_sort(classes.begin(), classes.end(),
                   [](const TrainingClass& a, const TrainingClass& b) { return a.memory_bytes > b.memory_bytes; });
  std::optional<EnoughNodes> best;
  for (const TrainingClass& part : classes) {
    const Growth growth = GrowthOf(question, request.cluster, part);
    const int32_t own = growth.is_flat ? static_cast<int32_t>(part.devices()) : part.nodes;
    const int64_t most = best.has_value() ? best->devices - 1 : kMostDevices;
    const std::optional<int32_t> nodes = FewestNodes(request, growth, has_all ? own : 0, most, limits);
    if (!nodes.has_value()) continue;
    best = {part, growth.is_flat, *nodes, FewestDevicesOfNodes(request, growth.With(*nodes), limits)};
  }
  return best;
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
  int32_t per_node = 1;
  for (const TrainingClass& part : request.cluster.classes) per_node = std::max(per_node, part.devices_per_node);
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
  const bool is_one = !HasUnlikeDevices(cluster);
  const auto text_of = [&](const TrainingClass& part, int64_t devices) {
    std::string text = CountedText(devices, "device");
    if (!is_one) absl::StrAppend(&text, " of ", NameOfClass(question, part));
    if (part.memory_bytes <= 0) return absl::StrCat(text, " of which all memory is reserved");
    return absl::StrCat(text, is_one ? " of " : " with ", SizeText(part.memory_bytes));
  };
  if (is_one) return text_of(cluster.classes.front(), cluster.num_devices());
  std::vector<std::string> texts;
  texts.reserve(cluster.classes.size());
  for (const TrainingClass& part : cluster.classes) texts.push_back(text_of(part, part.devices()));
  return absl::StrJoin(texts, " and ");
}

// More nodes are of one class alone; devices of a network or on hosts of their own are in none.
std::string MoreText(const JointQuestion& question, const TrainingCluster& cluster, const EnoughNodes& enough) {
  std::string more = CountedText(enough.devices, "device");
  const bool has_nodes = question.training.pairs == nullptr && !enough.is_flat;
  if (has_nodes) absl::StrAppend(&more, " (", CountedText(enough.nodes, "node"), ")");
  if (!HasUnlikeDevices(cluster)) return more;
  return absl::StrCat(more, " of ", NameOfClass(question, enough.part), " alone");
}

// Where even the most that were tried do not do.
std::string NoMoreText(const JointQuestion& question, const TrainingCluster& cluster) {
  const bool has_nodes = question.training.pairs == nullptr && !AreSingleHosts(question.cluster);
  return absl::StrCat("neither does it on more ", has_nodes ? "nodes " : "", "of ",
                      HasUnlikeDevices(cluster) ? "any of them alone" : "them");
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
  const std::optional<EnoughNodes> more = FewestMore(question, unlimited, question.all == nullptr, limits);
  if (more.has_value()) {
    infeasibility.minimum_devices = static_cast<int32_t>(more->devices);
    would_fit.push_back(MoreText(question, unlimited.cluster, *more));
  }
  std::string description = absl::StrCat("no pipeline with these degrees, recomputations and shardings fits into ",
                                         DevicesText(question, request.cluster));
  if (!would_fit.empty()) {
    absl::StrAppend(&description, "; it would fit with ", absl::StrJoin(would_fit, ", or with "));
  } else if (CheckInterruption(limits).has_value()) {
    absl::StrAppend(&description, "; there was no time to find what would fit");
  } else {
    absl::StrAppend(&description, "; ", NoMoreText(question, unlimited.cluster));
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
