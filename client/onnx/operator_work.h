// What an operator of ONNX computes.
#ifndef PLANWRIGHT_CLIENT_ONNX_OPERATOR_WORK_H_
#define PLANWRIGHT_CLIENT_ONNX_OPERATOR_WORK_H_

#include <onnx/onnx_pb.h>

#include <map>
#include <string>

#include "client/onnx/model_shapes.h"

namespace planwright::onnx_reader {

struct OperatorWork {
  // Floating-point operations of the forward pass; a multiply-add is two.
  double flops = 0;
  // Whether a product of matrices or a convolution is most of it, whose backward pass is twice the forward one.
  bool is_product = false;
};

// Products by their shapes; other operators by the elements that they read and write: one operation for each of simple
// ones, several for roots, exponentials and norms, none where elements only move. 0 where shapes are not known.
OperatorWork WorkOf(const onnx::NodeProto& node, const std::map<std::string, ValueShape>& shapes);

}  // namespace planwright::onnx_reader

#endif  // PLANWRIGHT_CLIENT_ONNX_OPERATOR_WORK_H_
