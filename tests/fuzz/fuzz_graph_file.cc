// Any bytes as a graph's file of every format that is not ours, as times beside one and as a plan of another tool:
// readers answer with a value or an error, and a graph that was read names producers and consumers that it has.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <string_view>

#include "client/importer/graphs/profile.h"
#include "client/importer/importer.h"
#include "client/importer/plans/foreign_plan.h"

namespace planwright::client {
namespace {

void CheckGraph(const v1::Graph& graph) {
  std::set<std::string_view> names;
  for (const v1::Operator& op : graph.operators()) names.insert(op.name());
  for (const v1::Tensor& tensor : graph.tensors()) {
    bool is_known = names.contains(tensor.producer());
    for (const auto& consumer : tensor.consumers()) is_known = is_known && names.contains(consumer);
    if (is_known) continue;
    std::fprintf(stderr, "tensor %s has unknown ends\n", tensor.name().c_str());
    std::abort();
  }
}

// A plan of another tool, for two layers and four devices.
void ReadPlan(std::string_view text) {
  if (RecognisePlan(text) == ForeignPlan::kNone) return;
  v1::Graph graph;
  for (const char* layer : {"embedding", "layer.0", "layer.1", "head"}) {
    v1::Operator& op = *graph.add_operators();
    op.set_name(layer);
    op.set_layer(layer);
  }
  v1::Cluster cluster;
  cluster.add_device_groups()->set_count(4);
  ReadForeignPlan(text, "input", graph, cluster).IgnoreError();
}

void ReadOnce(std::string_view text) {
  const Workpiece workpiece = {.sequence = 512, .micro_batch = 1};
  for (const GraphFormat format : {GraphFormat::kPipeDream, GraphFormat::kPiper}) {
    const auto imported = ImportGraph(text, "input", {.format = format, .ms_per_unit = 1e-3});
    if (imported.ok()) CheckGraph(imported->request.graph());
  }
  ImportGraph(text, "input", {.format = GraphFormat::kModelConfig, .workpiece = workpiece}).IgnoreError();
  ImportGraph(text, "input", {}).IgnoreError();
  ReadPlan(text);
  const auto rows = ReadProfile(text, "input");
  if (!rows.ok()) return;
  v1::Graph graph;
  for (const ProfileRow& row : *rows) graph.add_operators()->set_name("layer/" + row.name);
  ApplyProfile(*rows, graph);
}

}  // namespace
}  // namespace planwright::client

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  planwright::client::ReadOnce({reinterpret_cast<const char*>(data), size});
  return 0;
}
