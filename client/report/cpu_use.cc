#include "client/report/cpu_use.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace planwright::client {
namespace {

// The idle share of the accelerators in use; nullopt: CPUs are not told apart, or nothing else is used.
std::optional<double> IdleShareOfAccelerators(const v1::Plan& plan, const CpuNames& cpus) {
  double busy_ms = 0;
  int count = 0;
  for (const v1::DeviceUsage& device : plan.devices()) {
    if (device.stages().empty() || cpus.contains(device.device())) continue;
    busy_ms += device.load_ms();
    ++count;
  }
  if (cpus.empty() || count == 0 || plan.objective_ms() <= 0) return std::nullopt;
  return std::max(0.0, 1 - busy_ms / (count * plan.objective_ms()));
}

}  // namespace

CpuNames CpusOf(const v1::Cluster& cluster) {
  std::set<std::string_view> classes;
  for (const v1::DeviceClass& device_class : cluster.device_classes()) {
    if (device_class.kind() == v1::DEVICE_KIND_CPU) classes.insert(device_class.name());
  }
  CpuNames cpus;
  for (const v1::Device& device : cluster.devices()) {
    if (classes.contains(device.device_class())) cpus.insert(device.name());
  }
  for (const v1::DeviceGroup& group : cluster.device_groups()) {
    if (!classes.contains(group.device_class())) continue;
    for (int64_t i = 0; i < group.count(); ++i) cpus.insert(absl::StrCat(group.name_prefix(), i));
  }
  return cpus;
}

double IdleShare(const v1::Plan& plan, const CpuNames& cpus) {
  return IdleShareOfAccelerators(plan, cpus).value_or(plan.estimate().bubble_fraction());
}

std::string IdleText(const v1::Plan& plan, const CpuNames& cpus) {
  const char* const what = IdleShareOfAccelerators(plan, cpus).has_value() ? "accelerators" : "devices";
  return absl::StrFormat("%s in use idle %.1f %% of the time", what, IdleShare(plan, cpus) * 100);
}

std::string SlowCpuText(const v1::Plan& plan, const CpuNames& cpus) {
  const auto by_load = [](const v1::DeviceUsage& a, const v1::DeviceUsage& b) { return a.load_ms() < b.load_ms(); };
  const auto busiest = std::max_element(plan.devices().begin(), plan.devices().end(), by_load);
  if (busiest == plan.devices().end() || !cpus.contains(busiest->device())) return "";
  const bool has_accelerators = std::any_of(plan.devices().begin(), plan.devices().end(),
                                            [&](const auto& device) { return !cpus.contains(device.device()); });
  if (!has_accelerators) return "";
  return absl::StrCat("the busiest device is a CPU, ", busiest->device(),
                      ", and the accelerators wait for it: give them more memory, or add some; --exclude=",
                      busiest->device(), " plans without it");
}

}  // namespace planwright::client
