#include "server/store/store_copy.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/status_macros.h"
#include "core/base/strings.h"
#include "server/store/database/schema.h"
#include "server/store/sql_codes.h"

namespace planwright::server {
namespace {

// The row of `claims` that goes along: how far the store's clock was, so that what is restored years later is not old.
const StoreTable& Clock() {
  static const StoreTable kClock{.name = "claims", .columns = {"key", "owner", "lease_end"}, .key = 1};
  return kClock;
}
constexpr std::string_view kSelectClock = "SELECT key, owner, lease_end FROM claims WHERE key = 'clock'";

absl::Status InsertRows(Connection& to, const StoreTable& table, const SqlResult& rows) {
  std::vector<std::string> places;
  for (std::size_t i = 1; i <= table.columns.size(); ++i) places.push_back(absl::StrCat("$", i));
  const std::string insert = absl::StrCat(
      "INSERT INTO ", ToAbsl(table.name), " (",
      absl::StrJoin(table.columns, ", ", [](std::string* text, std::string_view name) { text->append(name); }),
      ") VALUES (", absl::StrJoin(places, ", "), ")");
  ASSIGN_OR_RETURN(const std::vector<SqlRow> values, rows.ReadAll<SqlRow>([&table](RowReader& row) {
    SqlRow copy;
    for (std::size_t i = 0; i < table.columns.size(); ++i) copy.push_back(row.Any());
    return copy;
  }));
  for (const SqlRow& row : values) {
    RETURN_IF_ERROR(to.Execute(insert, std::span<const SqlValue>(row)).status());
  }
  return absl::OkStatus();
}

absl::Status MakeEmpty(Connection& to, bool replaces) {
  for (const StoreTable& table : StoreTables()) {
    ASSIGN_OR_RETURN(const int64_t rows, CountRows(to, table.name));
    if (rows > 0 && !replaces) {
      return absl::FailedPreconditionError(absl::StrCat("the store is not empty, it has ", rows, " ",
                                                        ToAbsl(table.name),
                                                        ": name another one, or say --replace to lose them"));
    }
    RETURN_IF_ERROR(to.Execute(absl::StrCat("DELETE FROM ", ToAbsl(table.name))).status());
  }
  return to.Execute("DELETE FROM claims").status();
}

absl::StatusOr<int64_t> CopyAll(Connection& from, Connection& to, CopyKind kind, bool replaces,
                                const StoreProgress& progress) {
  RETURN_IF_ERROR(MakeEmpty(to, replaces));
  int64_t copied = 0;
  for (const StoreTable& table : StoreTables()) {
    RETURN_IF_ERROR(VisitRows(from, table, progress, [&](const SqlResult& rows) {
      copied += static_cast<int64_t>(rows.size());
      return InsertRows(to, table, rows);
    }));
  }
  ASSIGN_OR_RETURN(const SqlResult clock, from.Execute(kSelectClock));
  RETURN_IF_ERROR(InsertRows(to, Clock(), clock));
  if (kind == CopyKind::kBackup) return copied;
  RETURN_IF_ERROR(to.Execute("UPDATE operations SET state = $1, fence = fence + 1, lease_end = 0 WHERE state = $2 AND "
                             "is_job = 1",
                             {CodeOf(OperationState::kQueued), CodeOf(OperationState::kRunning)})
                      .status());
  return copied;
}

}  // namespace

absl::StatusOr<int64_t> CopyStore(Database& from, Database& to, CopyKind kind, bool replaces,
                                  const StoreProgress& progress) {
  RETURN_IF_ERROR(CheckSchema(from, SchemaSteps()));
  RETURN_IF_ERROR(PrepareSchema(to, SchemaSteps(), /*migrate=*/false));
  int64_t copied = 0;
  const auto copy_all = [&](Connection& source) {
    return to.Transact(Database::Access::kWrite, [&](Connection& target) {
      const absl::StatusOr<int64_t> rows = CopyAll(source, target, kind, replaces, progress);
      copied = rows.value_or(0);
      return rows.status();
    });
  };
  RETURN_IF_ERROR(from.Transact(Database::Access::kSnapshot, copy_all));
  return copied;
}

}  // namespace planwright::server
