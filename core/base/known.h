// The value of an optional one that is there by a promise which stands elsewhere: in the REQUIRES of a header, in a
// rule of the validator, or in what a data structure keeps true.
#ifndef PLANWRIGHT_CORE_BASE_KNOWN_H_
#define PLANWRIGHT_CORE_BASE_KNOWN_H_

#include <optional>
#include <stdexcept>
#include <utility>

namespace planwright {

// Throws std::logic_error where the promise is broken: the request ends as INTERNAL. Where a condition in the same
// function says that the value is there, it is read without this.
template <typename T>
const T& Known(const std::optional<T>& value) {
  if (!value.has_value()) throw std::logic_error("a value that must be known is not there");
  return *value;
}

template <typename T>
T& Known(std::optional<T>& value) {
  if (!value.has_value()) throw std::logic_error("a value that must be known is not there");
  return *value;
}

// Moves the value out, so that nothing refers to what ends with the expression.
template <typename T>
T Known(std::optional<T>&& value) {
  return std::move(Known(value));
}

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_BASE_KNOWN_H_
