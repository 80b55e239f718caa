#include "core/text/einsum.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <map>
#include <string>

namespace planwright {
namespace {

constexpr std::string_view kEllipsis = "...";
// More are as many for everybody, and twice as many must not be infinite.
constexpr double kMostProducts = 1e300;
// Behind those of letters.
constexpr int kFirstOfEllipsis = 256;

// The indices of a term of an operand of so many dimensions, in their order; nullopt: it has others.
std::optional<std::vector<int>> IndicesOf(std::string_view term, std::size_t rank) {
  const std::size_t ellipsis = term.find(kEllipsis);
  const bool has_ellipsis = ellipsis != std::string_view::npos;
  const std::size_t letters = term.size() - (has_ellipsis ? kEllipsis.size() : 0);
  if (letters > rank || (!has_ellipsis && letters < rank)) return std::nullopt;
  std::vector<int> indices;
  for (std::size_t i = 0; i < term.size(); ++i) {
    if (i == ellipsis) {
      for (std::size_t left = rank - letters; left > 0; --left) {
        indices.push_back(kFirstOfEllipsis + static_cast<int>(left));
      }
      i += kEllipsis.size() - 1;
      continue;
    }
    const auto letter = static_cast<unsigned char>(term[i]);
    if (std::isalpha(letter) == 0) return std::nullopt;
    indices.push_back(letter);
  }
  return indices;
}

}  // namespace

std::optional<double> EinsumProducts(std::string_view equation, std::span<const std::vector<int64_t>> operands) {
  std::string inputs(equation.substr(0, equation.find("->")));
  std::erase_if(inputs, [](unsigned char c) { return std::isspace(c) != 0; });
  std::map<int, int64_t> sizes;
  std::string_view rest = inputs;
  for (std::size_t operand = 0; operand < operands.size(); ++operand) {
    const std::size_t comma = rest.find(',');
    if ((comma == std::string_view::npos) != (operand + 1 == operands.size())) return std::nullopt;
    const std::vector<int64_t>& own = operands[operand];
    const std::optional<std::vector<int>> indices = IndicesOf(rest.substr(0, comma), own.size());
    if (!indices.has_value()) return std::nullopt;
    for (std::size_t i = 0; i < own.size(); ++i) {
      // A dimension of 1 is taken as often as others of the index have it.
      int64_t& size = sizes.try_emplace((*indices)[i], 1).first->second;
      if (own[i] != 1) size = own[i];
    }
    if (comma != std::string_view::npos) rest.remove_prefix(comma + 1);
  }
  if (operands.empty()) return std::nullopt;
  double products = 1;
  for (const auto& [index, size] : sizes) {
    if (size == 0) return 0;
    products = std::min(products * static_cast<double>(size), kMostProducts);
  }
  return products;
}

}  // namespace planwright
