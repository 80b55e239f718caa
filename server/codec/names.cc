#include "server/codec/names.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace planwright::server {

std::optional<OperatorId> RequestNames::ResolveOperator(std::string_view name, const FieldPath& path,
                                                        Violations& violations) {
  if (!operators_.has_value()) operators_ = IndexNames<OperatorId>(graph_.operators);
  return operators_->Resolve(name, "an operator of the graph", path, violations);
}

std::optional<DeviceId> RequestNames::ResolveDevice(std::string_view name, const FieldPath& path,
                                                    Violations& violations) {
  const std::optional<DeviceId> device = FindDevice(name);
  if (!device.has_value()) {
    violations.Add(path.ToString(),
                   absl::StrCat("must name a device of the cluster, is \"", ToAbsl(name), "\"", DevicesBehind(name)));
  }
  return device;
}

std::string RequestNames::DevicesBehind(std::string_view name) {
  if (std::exchange(has_looked_for_host_, true)) return "";
  const std::string host = absl::StrCat(ToAbsl(name), "/");
  const auto found = std::find_if(cluster_.devices.begin(), cluster_.devices.end(),
                                  [&host](const Device& device) { return device.name.starts_with(host); });
  return found == cluster_.devices.end() ? ""
                                         : absl::StrCat("; devices of that host are \"", found->name, "\" and so on");
}

std::vector<OperatorId> RequestNames::ResolveOperators(const Strings& names, std::string_view field,
                                                       const FieldPath& path, Violations& violations) {
  std::vector<OperatorId> operators;
  for (int i = 0; i < names.size(); ++i) {
    const auto op = ResolveOperator(names.Get(i), path.Element(field, i), violations);
    if (op.has_value()) operators.push_back(*op);
  }
  return operators;
}

std::optional<DeviceId> RequestNames::FindDevice(std::string_view name) {
  if (!devices_.has_value()) devices_ = IndexNames<DeviceId>(cluster_.devices);
  return devices_->Find(name);
}

std::vector<DeviceId> RequestNames::ResolveDevices(const Strings& names, std::string_view field, const FieldPath& path,
                                                   Violations& violations) {
  std::vector<DeviceId> devices;
  for (int i = 0; i < names.size(); ++i) {
    const auto device = ResolveDevice(names.Get(i), path.Element(field, i), violations);
    if (device.has_value()) devices.push_back(*device);
  }
  return devices;
}

}  // namespace planwright::server
