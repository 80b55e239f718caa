// Strongly typed indices into the lists of the model.
//
// An OperatorId cannot be passed where a DeviceId is expected. Ids are dense: the id of an element is its position in
// its list, so `graph.operators[id.index()]` is the element.
#ifndef PLANWRIGHT_CORE_BASE_IDS_H_
#define PLANWRIGHT_CORE_BASE_IDS_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace planwright {

template <typename Tag>
class StrongId {
 public:
  constexpr StrongId() = default;
  constexpr explicit StrongId(std::size_t index) : value_(static_cast<int32_t>(index)) {}

  constexpr std::size_t index() const { return static_cast<std::size_t>(value_); }
  constexpr auto operator<=>(const StrongId&) const = default;

 private:
  int32_t value_ = 0;
};

using OperatorId = StrongId<struct OperatorTag>;
using TensorId = StrongId<struct TensorTag>;
using DeviceId = StrongId<struct DeviceTag>;
using DeviceClassId = StrongId<struct DeviceClassTag>;
using StageId = StrongId<struct StageTag>;

// Those of the first `count` of their kind, in their order.
template <typename Id>
std::vector<Id> AllIds(std::size_t count) {
  std::vector<Id> ids;
  ids.reserve(count);
  for (std::size_t i = 0; i < count; ++i) ids.emplace_back(i);
  return ids;
}

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_BASE_IDS_H_
