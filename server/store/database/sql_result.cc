#include "server/store/database/sql_result.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "core/base/strings.h"

namespace planwright::server {
namespace {

// What a value of each alternative of SqlValue is called.
constexpr std::array<std::string_view, std::variant_size_v<SqlValue>> kNames = {"nothing", "a number", "text", "bytes"};

}  // namespace

std::string_view RowReader::BlobView() {
  const auto* value = Find<Bytes>("bytes");
  return value != nullptr ? std::string_view(value->data) : std::string_view();
}

SqlValue RowReader::Any() {
  const std::size_t place = next_++;
  return place < row_.size() ? row_[place] : SqlValue();
}

absl::Status RowReader::Damaged(std::string_view what) const {
  // Rows are known by their id, or key, where it was read and can be.
  std::string row;
  for (const std::string_view name : {"id", "key"}) {
    const auto found = std::find(columns_.begin(), columns_.end(), name);
    if (found == columns_.end()) continue;
    const auto* id = std::get_if<std::string>(&row_[static_cast<std::size_t>(std::distance(columns_.begin(), found))]);
    if (id != nullptr) row = absl::StrCat(" of row \"", *id, "\"");
  }
  const std::string column = next_ > 0 && next_ <= columns_.size() ? columns_[next_ - 1] : "?";
  return absl::DataLossError(absl::StrCat("the store is damaged: column ", column, row, " ", ToAbsl(what),
                                          "; `planwrightd store check` finds all such rows"));
}

absl::Status RowReader::WrongType(std::string_view expected) const {
  const std::string_view held = next_ <= row_.size() ? kNames[row_[next_ - 1].index()] : "nothing";
  return Damaged(absl::StrCat("holds ", ToAbsl(held), " instead of ", ToAbsl(expected)));
}

}  // namespace planwright::server
