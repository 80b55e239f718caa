// What a statement returns, and the one way to read it.
//
// SQLite keeps whatever is written into a column, so a damaged row may hold text where a number belongs. Values are
// therefore read by RowReader alone, which says what is wrong instead of trusting the type, and RowReaders come from
// SqlResult alone, which does not let an error of one pass.
#ifndef PLANWRIGHT_SERVER_STORE_DATABASE_SQL_RESULT_H_
#define PLANWRIGHT_SERVER_STORE_DATABASE_SQL_RESULT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace planwright::server {

// A value of a column of type BYTEA.
struct Bytes {
  std::string data;
};

// NULL, BIGINT, TEXT or BYTEA.
using SqlValue = std::variant<std::monostate, int64_t, std::string, Bytes>;
using SqlRow = std::vector<SqlValue>;

// Reads the values of one row in the order of its columns. After the first that has another type than is asked for, or
// is not there, all are 0 or empty, and `status` is DATA_LOSS with the row and the column.
class RowReader {
 public:
  RowReader(const RowReader&) = delete;
  RowReader& operator=(const RowReader&) = delete;

  int64_t Number() { return Next<int64_t>("a number", 0); }
  std::string Text() { return Next<std::string>("text", {}); }
  std::string Blob() { return std::string(BlobView()); }
  // The bytes in the row itself.
  std::string_view BlobView();
  // The next value, whatever its type.
  SqlValue Any();

  const absl::Status& status() const { return status_; }
  // What is wrong with the column that was read last.
  absl::Status Damaged(std::string_view what) const;

 private:
  friend class SqlResult;

  // Both outlive the reader.
  RowReader(const std::vector<std::string>& columns, const SqlRow& row) : columns_(columns), row_(row) {}

  // The next column's; nullptr where it has another type, or one before it had.
  template <typename Value>
  const Value* Find(std::string_view expected) {
    const bool is_there = next_ < row_.size();
    const Value* value = is_there ? std::get_if<Value>(&row_[next_]) : nullptr;
    ++next_;
    if (value == nullptr && status_.ok()) status_ = WrongType(expected);
    return status_.ok() ? value : nullptr;
  }

  template <typename Value>
  Value Next(std::string_view expected, const Value& otherwise) {
    const auto* value = Find<Value>(expected);
    return value != nullptr ? *value : otherwise;
  }

  absl::Status WrongType(std::string_view expected) const;

  const std::vector<std::string>& columns_;
  const SqlRow& row_;
  std::size_t next_ = 0;
  absl::Status status_;
};

// Rows and the names of their columns.
class SqlResult {
 public:
  SqlResult() = default;
  explicit SqlResult(std::vector<std::string> columns) : columns_(std::move(columns)) {}

  void Add(SqlRow row) { rows_.push_back(std::move(row)); }
  void set_affected(int64_t affected) { affected_ = affected; }

  bool empty() const { return rows_.empty(); }
  std::size_t size() const { return rows_.size(); }
  // Rows that were inserted, updated or deleted.
  int64_t affected() const { return affected_; }
  const std::vector<std::string>& columns() const { return columns_; }

  // What `decode`, which takes a RowReader&, makes of the row `index`: a value, or a StatusOr of one. DATA_LOSS: a
  // column has another type than it asked for.
  template <typename Value, typename Decode>
  absl::StatusOr<Value> Read(std::size_t index, Decode decode) const {
    RowReader row(columns_, rows_[index]);
    absl::StatusOr<Value> value = decode(row);
    if (!row.status().ok()) return row.status();
    return value;
  }

  // As Read, for all rows.
  template <typename Value, typename Decode>
  absl::StatusOr<std::vector<Value>> ReadAll(Decode decode) const {
    std::vector<Value> values;
    values.reserve(rows_.size());
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      absl::StatusOr<Value> value = Read<Value>(i, decode);
      if (!value.ok()) return value.status();
      values.push_back(*std::move(value));
    }
    return values;
  }

  // The only column of the first row. REQUIRES: !empty().
  absl::StatusOr<int64_t> Number() const {
    return Read<int64_t>(0, [](RowReader& row) { return row.Number(); });
  }
  absl::StatusOr<std::string> Text() const {
    return Read<std::string>(0, [](RowReader& row) { return row.Text(); });
  }

 private:
  std::vector<std::string> columns_;
  std::vector<SqlRow> rows_;
  int64_t affected_ = 0;
};

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_STORE_DATABASE_SQL_RESULT_H_
