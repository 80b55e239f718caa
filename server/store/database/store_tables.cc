#include "server/store/database/store_tables.h"

#include <array>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/status_macros.h"
#include "core/base/strings.h"

namespace planwright::server {
namespace {

// Rows that are in memory at the same time; one may take some megabytes.
constexpr int kRowsAtOnce = 16;

std::string Joined(std::span<const std::string_view> names) {
  return absl::StrJoin(names, ", ", [](std::string* text, std::string_view name) { text->append(name); });
}

}  // namespace

std::span<const StoreTable> StoreTables() {
  static const std::array kTables = {
      StoreTable{.name = "documents",
                 .columns = {"tenant", "kind", "id", "summary", "content", "stored_bytes", "create_time", "use_time"},
                 .key = 3},
      StoreTable{.name = "operations",
                 .columns = {"id", "tenant", "request_id", "parent", "position", "is_job", "state", "request",
                             "incumbent", "progress", "result", "summary", "attempts", "cancel_requested",
                             "create_time", "start_time", "end_time", "fence", "lease_end"},
                 .key = 1}};
  return kTables;
}

absl::StatusOr<int64_t> CountRows(Connection& connection, std::string_view table) {
  ASSIGN_OR_RETURN(const SqlResult result,
                   connection.Execute(absl::StrCat("SELECT COUNT(*) AS rows FROM ", ToAbsl(table))));
  return result.Number();
}

absl::Status VisitRows(Connection& connection, const StoreTable& table, const StoreProgress& progress,
                       const std::function<absl::Status(const SqlResult& rows)>& visit) {
  ASSIGN_OR_RETURN(const int64_t all, CountRows(connection, table.name));
  const std::string key = Joined(std::span(table.columns).first(table.key));
  const std::string select = absl::StrCat("SELECT ", Joined(table.columns), " FROM ", ToAbsl(table.name));
  const std::string rest = absl::StrCat(" ORDER BY ", key, " LIMIT ", kRowsAtOnce);
  std::vector<std::string> places;
  for (std::size_t i = 1; i <= table.key; ++i) places.push_back(absl::StrCat("$", i));
  const std::string behind = absl::StrCat(" WHERE (", key, ") > (", absl::StrJoin(places, ", "), ")");
  SqlRow last;
  for (int64_t done = 0; done < all;) {
    ASSIGN_OR_RETURN(const SqlResult rows, connection.Execute(absl::StrCat(select, last.empty() ? "" : behind, rest),
                                                              std::span<const SqlValue>(last)));
    if (rows.empty()) break;
    RETURN_IF_ERROR(visit(rows));
    done += static_cast<int64_t>(rows.size());
    progress(table.name, done, all);
    ASSIGN_OR_RETURN(last, rows.Read<SqlRow>(rows.size() - 1, [&table](RowReader& row) {
      SqlRow values;
      for (std::size_t i = 0; i < table.key; ++i) values.push_back(row.Any());
      return values;
    }));
  }
  return absl::OkStatus();
}

}  // namespace planwright::server
