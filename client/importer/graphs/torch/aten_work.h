// What an operator of ATen computes.
#ifndef PLANWRIGHT_CLIENT_IMPORTER_GRAPHS_TORCH_ATEN_WORK_H_
#define PLANWRIGHT_CLIENT_IMPORTER_GRAPHS_TORCH_ATEN_WORK_H_

#include <string>
#include <string_view>
#include <vector>

#include "client/importer/graphs/torch/exported_values.h"

namespace planwright::client {

// A node of the graph, as far as its work goes.
struct AtenCall {
  // "torch.ops.aten.linear.default".
  std::string target;
  // Tensors in the order of the arguments; nullptr: absent, or of unknown size.
  std::vector<const ExportedTensor*> inputs;
  std::vector<const ExportedTensor*> outputs;
  // Elements of the window of a pooling operator.
  double window = 1;
  // Of an einsum.
  std::string equation;
  // A convolution that is transposed by its argument.
  bool is_transposed = false;
};

struct AtenWork {
  // Floating-point operations of the forward pass; a multiply-add is two.
  double flops = 0;
  // Whether products are most of it, whose backward pass is twice the forward one.
  bool is_product = false;
};

// "linear" of "torch.ops.aten.linear.default"; the target itself where it is of nobody that is known here.
std::string_view AtenName(std::string_view target);

// Products by their sizes; other operators by the elements that they read and write: one operation for each of simple
// ones, several for roots, exponentials and norms, none where elements only move. 0 where sizes are not known.
AtenWork WorkOf(const AtenCall& call);

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_IMPORTER_GRAPHS_TORCH_ATEN_WORK_H_
