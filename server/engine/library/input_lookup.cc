#include "server/engine/library/input_lookup.h"

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/base/strings.h"
#include "core/zoo/zoo.h"
#include "server/codec/cluster.h"
#include "server/codec/graph.h"
#include "server/engine/library/resource_name.h"

namespace planwright::server {
namespace {

constexpr std::string_view kZoo = "zoo:";

void AddNoName(std::string_view reference, std::string_view collection, std::string_view field,
               Violations& violations) {
  violations.Add(std::string(field), absl::StrCat("must start with \"zoo:\" or \"", ToAbsl(collection), "\", is \"",
                                                  ToAbsl(reference), "\""));
}

// `made`, its INVALID_ARGUMENT as a violation of `field`.
template <typename Value>
absl::StatusOr<Value> ZooResult(absl::StatusOr<Value> made, std::string_view field, Violations& violations) {
  if (made.status().code() != absl::StatusCode::kInvalidArgument) return made;
  violations.Add(std::string(field), std::string(ToStd(made.status().message())));
  return Value{};
}

}  // namespace

absl::StatusOr<OperatorGraph> InputLookup::FindGraph(std::string_view reference, std::string_view field,
                                                     Violations& violations) const {
  if (reference.starts_with(kZoo)) {
    const std::string_view name = reference.substr(kZoo.size());
    ASSIGN_OR_RETURN(OperatorGraph graph, ZooResult(MakeZooModel(name), field, violations));
    if (violations.empty()) graph.transformer = TransformerShapeOf(name);
    return graph;
  }
  ASSIGN_OR_RETURN(const v1::Graph graph, FindRegistered(reference, field, violations));
  return DecodeGraph(graph, violations);
}

absl::StatusOr<v1::Graph> InputLookup::FindGraphMessage(std::string_view reference, std::string_view field,
                                                        Violations& violations) const {
  if (!reference.starts_with(kZoo)) return FindRegistered(reference, field, violations);
  ASSIGN_OR_RETURN(const OperatorGraph graph, FindGraph(reference, field, violations));
  return EncodeGraph(graph);
}

absl::StatusOr<v1::Graph> InputLookup::FindRegistered(std::string_view reference, std::string_view field,
                                                      Violations& violations) const {
  if (!reference.starts_with(kGraphs)) {
    AddNoName(reference, kGraphs, field, violations);
    return v1::Graph{};
  }
  if (library_ == nullptr) return StoreMissing();
  return library_->FindGraph(tenant_, reference);
}

absl::StatusOr<Cluster> InputLookup::FindCluster(std::string_view reference, std::string_view field,
                                                 const ModelLimits& limits, Violations& violations) const {
  if (reference.starts_with(kZoo)) return ZooResult(MakeZooCluster(reference.substr(kZoo.size())), field, violations);
  if (!reference.starts_with(kClusters)) {
    AddNoName(reference, kClusters, field, violations);
    return Cluster{};
  }
  if (library_ == nullptr) return StoreMissing();
  ASSIGN_OR_RETURN(const v1::Cluster cluster, library_->FindCluster(tenant_, reference));
  return DecodeCluster(cluster, limits.max_devices, violations);
}

}  // namespace planwright::server
