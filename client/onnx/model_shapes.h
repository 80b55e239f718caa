// The shapes of a model's values, by libonnx.
#ifndef PLANWRIGHT_CLIENT_ONNX_MODEL_SHAPES_H_
#define PLANWRIGHT_CLIENT_ONNX_MODEL_SHAPES_H_

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace planwright::onnx_reader {

// The newest version of the standard operators that Debian's libonnx 1.12 knows.
inline constexpr int64_t kKnownOpset = 17;

// A value: its type and its dimensions. Empty dimensions are those of a scalar.
struct ValueShape {
  int32_t element_type = 0;
  std::vector<int64_t> dimensions;
};

// Bytes of one element of a type of ONNX; 0: not known, or of no fixed size.
int64_t ElementBytes(int32_t element_type);

// The product of the dimensions, at most 2^62.
int64_t ElementsOf(const ValueShape& shape);

// Binds the symbols of the inputs to `dimensions` (1 where it has none, which `warnings` gets), takes operators of
// later versions for those of kKnownOpset where they mean the same, infers shapes, and returns those that are known, by
// the name of the value. `model` gets the inferred shapes.
std::map<std::string, ValueShape> InferValueShapes(const std::map<std::string, int64_t>& dimensions,
                                                   onnx::ModelProto& model, std::vector<std::string>& warnings);

}  // namespace planwright::onnx_reader

#endif  // PLANWRIGHT_CLIENT_ONNX_MODEL_SHAPES_H_
