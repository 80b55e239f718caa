// Equations of einsum: "bhqd,bhkd->bhqk".
#ifndef PLANWRIGHT_CORE_TEXT_EINSUM_H_
#define PLANWRIGHT_CORE_TEXT_EINSUM_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace planwright {

// Of how many elements of all operands together the products are summed up: the sizes of all indices, multiplied.
// `operands`: the sizes of each. "..." stands for whatever dimensions an operand has beside its letters, of which the
// last ones are the same in all. nullopt: the equation is none of these operands.
std::optional<double> EinsumProducts(std::string_view equation, std::span<const std::vector<int64_t>> operands);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_TEXT_EINSUM_H_
