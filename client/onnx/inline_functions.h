// Functions that a model brings with it, replaced by what they consist of.
#ifndef PLANWRIGHT_CLIENT_ONNX_INLINE_FUNCTIONS_H_
#define PLANWRIGHT_CLIENT_ONNX_INLINE_FUNCTIONS_H_

#include <onnx/onnx_pb.h>

#include <cstddef>

#include "absl/status/status.h"

namespace planwright::onnx_reader {

inline constexpr std::size_t kMaxInlinedNodes = 1'000'000;
inline constexpr int kMaxFunctionDepth = 32;

// Puts the nodes of local functions in the place of each use, with names of their own and the attributes of the use; in
// subgraphs of control flow uses stay. Errors: INVALID_ARGUMENT: a function that uses itself, or more than
// kMaxInlinedNodes nodes.
absl::Status InlineFunctions(onnx::ModelProto& model);

}  // namespace planwright::onnx_reader

#endif  // PLANWRIGHT_CLIENT_ONNX_INLINE_FUNCTIONS_H_
