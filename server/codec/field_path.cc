#include "server/codec/field_path.h"

#include "absl/strings/str_cat.h"
#include "core/base/strings.h"

namespace planwright::server {

std::string FieldPath::ToString() const {
  std::string text;
  if (parent_ != nullptr) text = absl::StrCat(parent_->ToString(), ".");
  absl::StrAppend(&text, ToAbsl(name_));
  if (index_ != kNoIndex) absl::StrAppend(&text, "[", index_, "]");
  return text;
}

}  // namespace planwright::server
