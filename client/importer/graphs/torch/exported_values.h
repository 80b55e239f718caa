// How large the values of a graph of torch.export are.
#ifndef PLANWRIGHT_CLIENT_IMPORTER_GRAPHS_TORCH_EXPORTED_VALUES_H_
#define PLANWRIGHT_CLIENT_IMPORTER_GRAPHS_TORCH_EXPORTED_VALUES_H_

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <unordered_map>
#include <vector>

#include "client/library/error_details.h"

namespace planwright::client {

struct ExportedTensor {
  // Each >= 0.
  std::vector<int64_t> sizes;
  int64_t element_bytes = 0;

  double elements() const;
  double bytes() const { return elements() * static_cast<double>(element_bytes); }
  // 1 for a scalar.
  double last() const { return sizes.empty() ? 1 : static_cast<double>(sizes.back()); }
};

// The tensors of a graph by name; others have sizes that nobody knows.
using ExportedTensors = std::unordered_map<std::string, ExportedTensor>;

// Reads the field "tensor_values" of `graph`, whose path is `path`. A size that is a symbol is what `dimensions` says,
// else the hint of the exporter, which is counted in `hinted` by symbol; a tensor with neither is left out and counted
// in `unknown`. What is wrong is added to `violations`.
ExportedTensors ReadExportedTensors(const nlohmann::json& graph, const std::string& path,
                                    const std::map<std::string, int64_t>& dimensions,
                                    std::map<std::string, int64_t>& hinted, int64_t& unknown,
                                    ViolationList& violations);

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_IMPORTER_GRAPHS_TORCH_EXPORTED_VALUES_H_
