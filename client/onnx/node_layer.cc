#include "client/onnx/node_layer.h"

#include <google/protobuf/unknown_field_set.h>

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <vector>

namespace planwright::onnx_reader {
namespace {

using google::protobuf::UnknownField;

constexpr int kMetadataProps = 9;
constexpr std::string_view kScopes = "pkg.torch.onnx.name_scopes";
constexpr std::string_view kNamespace = "namespace";

// The part of a path that ends in a number, such as "layers.3" of "/model/layers.3/attn/MatMul" or "encoder.layer.3" of
// "encoder.layer.3.attention".
std::string NumberedPart(std::string_view path) {
  while (!path.empty()) {
    const std::string_view part = path.substr(0, path.find('/'));
    for (std::size_t dot = part.find('.'); dot != std::string_view::npos; dot = part.find('.', dot + 1)) {
      const std::size_t end = std::min(part.find_first_not_of("0123456789", dot + 1), part.size());
      const bool is_number = end > dot + 1 && (end == part.size() || part[end] == '.');
      if (dot > 0 && is_number) return std::string(part.substr(0, end));
    }
    path.remove_prefix(std::min(path.size(), part.size() + 1));
  }
  return "";
}

// "model.layers.3" of "['', 'model', 'model.layers.3', 'matmul']": the last text in quotes that tells a layer.
std::string LayerOfScopes(std::string_view list) {
  std::string layer;
  for (std::size_t open = list.find_first_of("'\""); open != std::string_view::npos;) {
    const std::size_t close = list.find(list[open], open + 1);
    if (close == std::string_view::npos) break;
    std::string numbered = NumberedPart(list.substr(open + 1, close - open - 1));
    if (!numbered.empty()) layer = std::move(numbered);
    open = list.find_first_of("'\"", close + 1);
  }
  return layer;
}

// The layer in "model: Llama/model.layers.3: Layer/matmul: aten.matmul": parts are a name and its class.
std::string LayerOfNamespace(std::string_view path) {
  std::string layer;
  while (!path.empty()) {
    const std::string_view part = path.substr(0, path.find('/'));
    std::string numbered = NumberedPart(part.substr(0, part.find(':')));
    if (!numbered.empty()) layer = std::move(numbered);
    path.remove_prefix(std::min(path.size(), part.size() + 1));
  }
  return layer;
}

std::vector<onnx::StringStringEntryProto> MetadataOf(const onnx::NodeProto& node) {
  std::vector<onnx::StringStringEntryProto> entries;
  const auto& unknown = onnx::NodeProto::GetReflection()->GetUnknownFields(node);
  for (int i = 0; i < unknown.field_count(); ++i) {
    const UnknownField& field = unknown.field(i);
    if (field.number() != kMetadataProps || field.type() != UnknownField::TYPE_LENGTH_DELIMITED) continue;
    onnx::StringStringEntryProto entry;
    if (entry.ParseFromString(field.length_delimited())) entries.push_back(std::move(entry));
  }
  return entries;
}

}  // namespace

std::string LayerOf(const onnx::NodeProto& node) {
  for (const onnx::StringStringEntryProto& entry : MetadataOf(node)) {
    std::string layer;
    if (entry.key() == kScopes) layer = LayerOfScopes(entry.value());
    if (entry.key() == kNamespace) layer = LayerOfNamespace(entry.value());
    if (!layer.empty()) return layer;
  }
  return NumberedPart(node.name());
}

}  // namespace planwright::onnx_reader
