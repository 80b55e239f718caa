#include "server/codec/field_path.h"

namespace planwright::server {

std::string FieldPath::ToString() const {
  std::string text = parent_ == nullptr ? std::string() : parent_->ToString() + ".";
  text += name_;
  if (index_ != kNoIndex) text += "[" + std::to_string(index_) + "]";
  return text;
}

}  // namespace planwright::server
