// Times of files that do not say which devices they were measured on.
#ifndef PLANWRIGHT_CLIENT_IMPORTER_GRAPHS_CLASS_TIMES_H_
#define PLANWRIGHT_CLIENT_IMPORTER_GRAPHS_CLASS_TIMES_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "planwright/v1/cluster.pb.h"
#include "planwright/v1/graph.pb.h"

namespace planwright::client {

// The class that such times have until the cluster is known.
inline constexpr char kUnnamedClass[] = "accelerator";

// Whether an operator has times of kUnnamedClass.
bool HasUnnamedTimes(const v1::Graph& graph);

// Takes times of kUnnamedClass for those of every class of accelerators of `cluster`, and forbids the classes of CPUs
// to operators with such times that nobody measured there and no FLOPs tell. Nothing is done where `cluster` has a
// class of that name. Returns what was assumed, for people; nullopt: nothing.
std::optional<std::string> NameClasses(const v1::Cluster& cluster, v1::Graph& graph);

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_IMPORTER_GRAPHS_CLASS_TIMES_H_
