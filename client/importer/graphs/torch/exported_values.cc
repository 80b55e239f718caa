#include "client/importer/graphs/torch/exported_values.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/importer/reading/cells.h"
#include "client/importer/reading/json_fields.h"

namespace planwright::client {
namespace {

using Json = nlohmann::json;

// Bytes of an element by ScalarType of torch._export.serde.schema, which is an enumeration of its own; 0: unknown.
int64_t ElementBytes(int64_t type) {
  // UNKNOWN, BYTE, CHAR, SHORT, INT, LONG, HALF, FLOAT, DOUBLE, COMPLEXHALF, COMPLEXFLOAT, COMPLEXDOUBLE, BOOL,
  // BFLOAT16.
  constexpr std::array<int64_t, 14> kFirst = {0, 1, 1, 2, 4, 8, 2, 4, 8, 4, 8, 16, 1, 2};
  // UINT16, five kinds of FLOAT8, UINT32, UINT64.
  constexpr std::array<int64_t, 8> kLater = {2, 1, 1, 1, 1, 1, 4, 8};
  constexpr int64_t kFirstLater = 28;
  if (type < std::ssize(kFirst)) return kFirst.at(static_cast<std::size_t>(type));
  const int64_t later = type - kFirstLater;
  return later >= 0 && later < std::ssize(kLater) ? kLater.at(static_cast<std::size_t>(later)) : 0;
}

class TensorReader {
 public:
  TensorReader(const std::map<std::string, int64_t>& dimensions, std::map<std::string, int64_t>& hinted,
               ViolationList& violations)
      : dimensions_(dimensions), hinted_(hinted), violations_(violations) {}

  // nullopt: it is wrong, or a size is not known.
  std::optional<ExportedTensor> Read(const Json& value, const std::string& path) {
    FieldReader fields(value, path, violations_);
    fields.Require("dtype");
    fields.Require("sizes");
    const auto type = fields.Integer("dtype", 0, std::numeric_limits<int32_t>::max());
    const Json* const sizes = fields.Array("sizes");
    if (!type.has_value() || sizes == nullptr) return std::nullopt;
    ExportedTensor tensor;
    tensor.element_bytes = ElementBytes(*type);
    bool is_known = tensor.element_bytes > 0;
    for (const Json& size : *sizes) {
      const std::optional<int64_t> number = Size(size, path);
      is_known = is_known && number.has_value();
      tensor.sizes.push_back(number.value_or(0));
    }
    return is_known ? std::optional(std::move(tensor)) : std::nullopt;
  }

 private:
  // {"as_int": 8}, or {"as_expr": {"expr_str": "s0", "hint": {"as_int": 8}}}.
  std::optional<int64_t> Size(const Json& size, const std::string& path) {
    if (const Json* const number = FieldOf(size, "as_int")) return NonNegative(*number, path);
    const Json* const expression = FieldOf(size, "as_expr");
    const Json* const text = expression == nullptr ? nullptr : FieldOf(*expression, "expr_str");
    if (text == nullptr || !text->is_string()) {
      violations_.Add(path, "a size must be as_int, or as_expr with expr_str");
      return std::nullopt;
    }
    const auto name = text->get<std::string>();
    if (const auto bound = dimensions_.find(name); bound != dimensions_.end()) return bound->second;
    const Json* const hint = FieldOf(*expression, "hint");
    const Json* const number = hint == nullptr ? nullptr : FieldOf(*hint, "as_int");
    if (number == nullptr) return std::nullopt;
    const auto value = NonNegative(*number, path);
    if (value.has_value()) hinted_.emplace(name, *value);
    return value;
  }

  std::optional<int64_t> NonNegative(const Json& number, const std::string& path) {
    const auto value = WholeNumber(number);
    if (value.has_value() && *value >= 0) return value;
    violations_.Add(path, absl::StrCat("a size must be a whole number >= 0, is ", Shown(number)));
    return std::nullopt;
  }

  const std::map<std::string, int64_t>& dimensions_;
  std::map<std::string, int64_t>& hinted_;
  ViolationList& violations_;
};

}  // namespace

double ExportedTensor::elements() const {
  // Beyond all numbers times nothing is nothing.
  if (std::find(sizes.begin(), sizes.end(), 0) != sizes.end()) return 0;
  double product = 1;
  for (const int64_t size : sizes) product *= static_cast<double>(size);
  return product;
}

ExportedTensors ReadExportedTensors(const Json& graph, const std::string& path,
                                    const std::map<std::string, int64_t>& dimensions,
                                    std::map<std::string, int64_t>& hinted, int64_t& unknown,
                                    ViolationList& violations) {
  ExportedTensors tensors;
  const Json* const values = FieldOf(graph, "tensor_values");
  if (values == nullptr || !values->is_object()) {
    violations.Add(absl::StrCat(path, ".tensor_values"), "must be an object");
    return tensors;
  }
  TensorReader reader(dimensions, hinted, violations);
  for (const auto& [name, value] : values->items()) {
    auto tensor = reader.Read(value, absl::StrCat(path, ".tensor_values[", Quoted(name), "]"));
    if (tensor.has_value()) {
      tensors.emplace(name, *std::move(tensor));
    } else {
      ++unknown;
    }
  }
  return tensors;
}

}  // namespace planwright::client
