#include "core/joint/search/places.h"

#include <cstddef>

namespace planwright {

Places::Places(const DeviceRow& row) : row_(row) {
  int64_t class_end = 0;
  for (int32_t number = row.num_classes(); number-- > 0;) {
    const TrainingClass& part = row.At(number);
    const int64_t start = class_end;
    class_starts_.push_back(start);
    class_end += part.devices();
    for (int64_t depth = start; depth < class_end; ++depth) {
      const int64_t used = (depth - start) % part.devices_per_node;
      class_.push_back(number);
      node_end_.push_back(depth - used + part.devices_per_node);
      class_end_.push_back(class_end);
      kind_.push_back(num_kinds_ + used);
    }
    num_kinds_ += part.devices_per_node;
  }
  kind_.push_back(num_kinds_++);
}

int64_t Places::EndOf(int64_t depth, int64_t devices) const {
  if (depth >= size()) return -1;
  const auto at = static_cast<std::size_t>(depth);
  const int64_t per_node = row_.At(class_[at]).devices_per_node;
  if (devices <= per_node) return depth + devices <= node_end_[at] ? depth + devices : -1;
  const int64_t end = depth + (devices + per_node - 1) / per_node * per_node;
  return !IsInsideNode(depth) && end <= class_end_[at] ? end : -1;
}

}  // namespace planwright
