#include "client/importer/graphs/torch/module_stack.h"

#include <algorithm>

namespace planwright::client {
namespace {

constexpr std::string_view kDigits = "0123456789";
// How TorchDynamo writes the root.
constexpr std::string_view kRoot = "L['self']";

// The path of "key,path,class"; a class may have commas, a path has none.
std::string_view PathOf(std::string_view entry) {
  const std::size_t first = entry.find(',');
  if (first == std::string_view::npos) return {};
  std::string_view path = entry.substr(first + 1);
  path = path.substr(0, path.find(','));
  if (path.starts_with(kRoot)) path.remove_prefix(kRoot.size());
  if (path.starts_with('.')) path.remove_prefix(1);
  return path;
}

// "model.layers.3" of "model.layers.3.attn"; empty: no part is a number.
std::string_view NumberedPart(std::string_view path) {
  std::size_t begin = 0;
  while (begin < path.size()) {
    const std::size_t end = std::min(path.find('.', begin), path.size());
    const std::string_view part = path.substr(begin, end - begin);
    if (!part.empty() && part.find_first_not_of(kDigits) == std::string_view::npos) return path.substr(0, end);
    begin = end + 1;
  }
  return {};
}

}  // namespace

std::string LayerOfModuleStack(std::string_view stack) {
  std::string_view numbered;
  std::string_view innermost;
  while (!stack.empty()) {
    const std::string_view entry = stack.substr(0, stack.find(';'));
    const std::string_view path = PathOf(entry);
    if (!path.empty()) innermost = path;
    if (const std::string_view part = NumberedPart(path); !part.empty()) numbered = part;
    stack.remove_prefix(std::min(stack.size(), entry.size() + 1));
  }
  return std::string(numbered.empty() ? innermost : numbered);
}

}  // namespace planwright::client
