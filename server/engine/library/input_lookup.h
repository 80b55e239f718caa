// Graphs and clusters that requests name: those of the zoo, and what the caller's tenant has registered.
#ifndef PLANWRIGHT_SERVER_ENGINE_LIBRARY_INPUT_LOOKUP_H_
#define PLANWRIGHT_SERVER_ENGINE_LIBRARY_INPUT_LOOKUP_H_

#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "core/base/violations.h"
#include "core/model/cluster.h"
#include "core/model/graph.h"
#include "core/model/validator.h"
#include "planwright/v1/graph.pb.h"
#include "server/engine/library/library.h"

namespace planwright::server {

class InputLookup {
 public:
  // `library`: nullptr, only the zoo has names; outlives the object.
  InputLookup(Library* library, std::string tenant) : library_(library), tenant_(std::move(tenant)) {}

  // What `reference`, the value of the request's field `field`, names; a violation where it names nothing that could
  // be. A transformer of the zoo has its shape. Errors: NOT_FOUND; those of Library.
  absl::StatusOr<OperatorGraph> FindGraph(std::string_view reference, std::string_view field,
                                          Violations& violations) const;
  // As FindGraph, as a message: what is registered as it is stored, so that a large one is never in memory twice.
  absl::StatusOr<v1::Graph> FindGraphMessage(std::string_view reference, std::string_view field,
                                             Violations& violations) const;
  absl::StatusOr<Cluster> FindCluster(std::string_view reference, std::string_view field, const ModelLimits& limits,
                                      Violations& violations) const;

 private:
  // REQUIRES: `reference` does not name a model of the zoo.
  absl::StatusOr<v1::Graph> FindRegistered(std::string_view reference, std::string_view field,
                                           Violations& violations) const;

  Library* library_;
  std::string tenant_;
};

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_ENGINE_LIBRARY_INPUT_LOOKUP_H_
