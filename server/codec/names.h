// Names of operators and devices in a request, resolved to ids.
#ifndef PLANWRIGHT_SERVER_CODEC_NAMES_H_
#define PLANWRIGHT_SERVER_CODEC_NAMES_H_

#include <google/protobuf/repeated_ptr_field.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/ids.h"
#include "core/base/violations.h"
#include "core/model/cluster.h"
#include "core/model/graph.h"
#include "server/codec/field_path.h"
#include "server/codec/scalars.h"

namespace planwright::server {

// Each list is indexed when the first of its names is asked for: most requests ask for none. Graph and cluster must
// outlive it. Not thread-safe.
class RequestNames {
 public:
  using Strings = google::protobuf::RepeatedPtrField<std::string>;

  RequestNames(const OperatorGraph& graph, const Cluster& cluster) : graph_(graph), cluster_(cluster) {}

  // Violation and nullopt: there is none of that name.
  std::optional<OperatorId> ResolveOperator(std::string_view name, const FieldPath& path, Violations& violations);
  std::optional<DeviceId> ResolveDevice(std::string_view name, const FieldPath& path, Violations& violations);

  // nullopt: the cluster has no device of that name.
  std::optional<DeviceId> FindDevice(std::string_view name);

  // The names of the repeated field `field` of the message at `path`; those that do not resolve are left out.
  std::vector<OperatorId> ResolveOperators(const Strings& names, std::string_view field, const FieldPath& path,
                                           Violations& violations);
  std::vector<DeviceId> ResolveDevices(const Strings& names, std::string_view field, const FieldPath& path,
                                       Violations& violations);

 private:
  // Where it is the name of a host: what its devices are called. Of the first name that is asked about, as each takes
  // O(devices).
  std::string DevicesBehind(std::string_view name);

  const OperatorGraph& graph_;
  const Cluster& cluster_;
  std::optional<NameIndex<OperatorId>> operators_;
  std::optional<NameIndex<DeviceId>> devices_;
  bool has_looked_for_host_ = false;
};

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_CODEC_NAMES_H_
