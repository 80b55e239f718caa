// Any bytes as a .pt2 of torch.export, and as the JSON of the model in it: readers answer with a graph or an error, and
// a graph that was read names producers and consumers that it has, each operator once.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "client/importer/graphs/torch/exported_graph.h"
#include "client/importer/graphs/torch/exported_program.h"
#include "client/importer/reading/json_text.h"

namespace planwright::client {
namespace {

void Fail(const std::string& name) {
  std::fprintf(stderr, "%s is wrong\n", name.c_str());
  std::abort();
}

void CheckGraph(const v1::Graph& graph) {
  std::set<std::string_view> names;
  for (const v1::Operator& op : graph.operators()) {
    const bool is_new = names.insert(op.name()).second;
    const bool is_work = std::isfinite(op.forward_flops()) && op.forward_flops() >= 0 && op.parameter_bytes() >= 0;
    if (!is_new || !is_work) Fail(op.name());
  }
  for (const v1::Tensor& tensor : graph.tensors()) {
    bool is_known = names.contains(tensor.producer()) && tensor.size_bytes() >= 0;
    for (const auto& consumer : tensor.consumers()) is_known = is_known && names.contains(consumer);
    if (!is_known) Fail(tensor.name());
  }
}

void ReadOnce(std::string_view bytes) {
  std::vector<std::string> warnings;
  v1::Graph graph;
  if (ReadExportedProgram(bytes, "input", {{"s0", 8}}, graph, warnings).ok()) CheckGraph(graph);
  if (!OutlineOf(bytes, "input").ok()) return;
  ViolationList violations;
  v1::Graph inner;
  ReadExportedGraph(nlohmann::json::parse(bytes), {}, inner, warnings, violations);
  if (violations.empty()) CheckGraph(inner);
}

}  // namespace
}  // namespace planwright::client

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  planwright::client::ReadOnce({reinterpret_cast<const char*>(data), size});
  return 0;
}
