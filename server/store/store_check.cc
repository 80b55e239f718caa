#include "server/store/store_check.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/base/strings.h"
#include "server/store/database/packed_bytes.h"
#include "server/store/database/schema.h"
#include "server/store/sql_codes.h"

namespace planwright::server {
namespace {

class Check {
 public:
  Check(const ContentCheck& check_content, std::size_t most) : check_content_(check_content), most_(most) {}

  std::vector<StoreFinding> TakeFindings() && { return std::move(findings_); }

  absl::Status File(Connection& connection, std::string_view kind) {
    if (kind != "sqlite") return absl::OkStatus();
    ASSIGN_OR_RETURN(const SqlResult result, connection.Execute("PRAGMA integrity_check(100)"));
    ASSIGN_OR_RETURN(const std::vector<std::string> lines,
                     result.ReadAll<std::string>([](RowReader& row) { return row.Text(); }));
    for (const std::string& line : lines) {
      if (line != "ok") Add("(file)", "", line);
    }
    return absl::OkStatus();
  }

  absl::Status Table(Connection& connection, const StoreTable& table, const StoreProgress& progress) {
    int64_t visited = 0;
    RETURN_IF_ERROR(VisitRows(connection, table, progress, [&](const SqlResult& rows) {
      visited += static_cast<int64_t>(rows.size());
      for (std::size_t i = 0; i < rows.size(); ++i) Row(table, rows, i);
      return absl::OkStatus();
    }));
    ASSIGN_OR_RETURN(const int64_t all, CountRows(connection, table.name));
    if (visited < all) Add(table.name, "", absl::StrCat(all - visited, " rows cannot be found by their keys"));
    return absl::OkStatus();
  }

  // Rows of operations that are not there, or that have none; operations that should have ended with their last row.
  absl::Status References(Connection& connection) {
    RETURN_IF_ERROR(Report(connection,
                           "SELECT id FROM operations AS member WHERE parent <> '' AND NOT EXISTS (SELECT 1 FROM "
                           "operations AS whole WHERE whole.id = member.parent AND whole.is_job = 0)",
                           "is a row of an operation that is not there"));
    return Report(
        connection,
        absl::StrCat("SELECT id FROM operations AS whole WHERE is_job = 0 AND state IN (",
                     CodeOf(OperationState::kQueued), ", ", CodeOf(OperationState::kRunning),
                     ") AND NOT EXISTS (SELECT 1 FROM operations AS member WHERE member.parent = whole.id AND "
                     "member.state IN (",
                     CodeOf(OperationState::kQueued), ", ", CodeOf(OperationState::kRunning), "))"),
        "has not ended, but all of its rows have");
  }

  void Add(std::string_view table, std::string_view row, std::string_view what) {
    if (findings_.size() < most_) findings_.push_back({std::string(table), std::string(row), std::string(what)});
  }

 private:
  absl::Status Report(Connection& connection, std::string_view sql, std::string_view what) {
    ASSIGN_OR_RETURN(const SqlResult found, connection.Execute(sql));
    for (std::size_t i = 0; i < found.size(); ++i) Add("operations", KeyOf(found, i, 1), what);
    return absl::OkStatus();
  }

  // The first `columns` values.
  static std::string KeyOf(const SqlResult& rows, std::size_t index, std::size_t columns) {
    const auto key = rows.Read<std::string>(index, [columns](RowReader& row) {
      std::string text;
      for (std::size_t i = 0; i < columns; ++i) {
        const SqlValue value = row.Any();
        const auto* number = std::get_if<int64_t>(&value);
        const auto* name = std::get_if<std::string>(&value);
        absl::StrAppend(&text, i > 0 ? "/" : "");
        if (name != nullptr) {
          absl::StrAppend(&text, *name);
        } else if (number != nullptr) {
          absl::StrAppend(&text, *number);
        } else {
          absl::StrAppend(&text, "?");
        }
      }
      return text;
    });
    return key.value_or("?");
  }

  void Row(const StoreTable& table, const SqlResult& rows, std::size_t index) {
    const bool is_document = table.name == "documents";
    const auto read =
        rows.Read<std::string>(index, [&](RowReader& row) { return is_document ? Document(row) : Operation(row); });
    const std::string what = read.ok() ? *read : std::string(read.status().message());
    if (!what.empty()) Add(table.name, KeyOf(rows, index, table.key), what);
  }

  // What is wrong with a row, beside the types of its values; empty: nothing. Reads all of StoreTable::columns.
  std::string Document(RowReader& row) const {
    row.Text();
    const int64_t code = row.Number();
    row.Text();
    const std::size_t summary_bytes = row.Blob().size();
    const std::string packed = row.Blob();
    const int64_t stored_bytes = row.Number();
    row.Number();
    row.Number();
    const absl::StatusOr<std::string> content = Unpack(packed);
    if (!content.ok()) return "content does not match its checksum";
    if (stored_bytes != static_cast<int64_t>(packed.size() + summary_bytes)) return "stored_bytes is not its size";
    for (const DocumentKind kind :
         {DocumentKind::kPlan, DocumentKind::kGraph, DocumentKind::kCluster, DocumentKind::kAnswer}) {
      if (CodeOf(kind) == code) return check_content_(kind, *content) ? "" : "content is not a message of its kind";
    }
    return "kind is none that this release knows";
  }

  static std::string Operation(RowReader& row) {
    for (int i = 0; i < 4; ++i) row.Text();
    row.Number();
    row.Number();
    const int64_t state = row.Number();
    std::string what;
    for (const std::string_view column : {"request", "incumbent", "progress", "result"}) {
      const std::string packed = row.Blob();
      const bool is_packed = column != "progress";
      if (is_packed && !packed.empty() && !Unpack(packed).ok()) {
        what = absl::StrCat(ToAbsl(column), " does not match its checksum");
      }
    }
    row.Blob();
    for (int i = 0; i < 7; ++i) row.Number();
    const bool is_known = state >= CodeOf(OperationState::kQueued) && state <= CodeOf(OperationState::kCancelled);
    return is_known ? what : "state is none that this release knows";
  }

  const ContentCheck& check_content_;
  const std::size_t most_;
  std::vector<StoreFinding> findings_;
};

}  // namespace

absl::StatusOr<std::vector<StoreFinding>> CheckStore(Database& database, const ContentCheck& check_content,
                                                     const StoreProgress& progress, std::size_t most) {
  Check check(check_content, most);
  const absl::Status schema = CheckSchema(database, SchemaSteps());
  if (absl::IsDataLoss(schema)) {
    check.Add("schema_version", "", ToStd(schema.message()));
  } else if (!schema.ok()) {
    return schema;
  }
  // A damaged file may end any of it early; what else can be read is.
  const auto note = [&check](std::string_view table, const absl::Status& read) {
    if (absl::IsDataLoss(read)) check.Add(table, "", ToStd(read.message()));
    return absl::IsDataLoss(read) ? absl::OkStatus() : read;
  };
  const auto read_all = [&](Connection& connection) -> absl::Status {
    RETURN_IF_ERROR(note("(file)", check.File(connection, database.kind())));
    for (const StoreTable& table : StoreTables()) {
      RETURN_IF_ERROR(note(table.name, check.Table(connection, table, progress)));
    }
    return note("operations", check.References(connection));
  };
  RETURN_IF_ERROR(note("(file)", database.Transact(Database::Access::kSnapshot, read_all)));
  return std::move(check).TakeFindings();
}

}  // namespace planwright::server
