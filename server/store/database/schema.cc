#include "server/store/database/schema.h"

#include <array>
#include <cstdint>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "server/store/database/store_status.h"

namespace planwright::server {
namespace {

// BYTEA is PostgreSQL's; SQLite takes any name of a type and keeps blobs as they are. Kinds and states are the numbers
// of their enumerators in sql_codes.h.
constexpr std::string_view kDocuments =
    "CREATE TABLE documents (tenant TEXT NOT NULL, kind BIGINT NOT NULL, id TEXT NOT NULL, summary BYTEA NOT NULL, "
    "content BYTEA NOT NULL, stored_bytes BIGINT NOT NULL, create_time BIGINT NOT NULL, use_time BIGINT NOT NULL, "
    "PRIMARY KEY (tenant, kind, id))";
constexpr std::string_view kDocumentsByTime =
    "CREATE INDEX documents_by_time ON documents (tenant, kind, create_time, id)";
constexpr std::string_view kDocumentsBySize =
    "CREATE INDEX documents_by_size ON documents (tenant, kind, stored_bytes)";
constexpr std::string_view kDocumentsByUse = "CREATE INDEX documents_by_use ON documents (use_time)";
constexpr std::string_view kClaims =
    "CREATE TABLE claims (key TEXT PRIMARY KEY, owner TEXT NOT NULL, lease_end BIGINT NOT NULL)";
// `position` orders the rows of a submission; `is_job` = 0: its rows are the jobs.
constexpr std::string_view kOperations =
    "CREATE TABLE operations (id TEXT PRIMARY KEY, tenant TEXT NOT NULL, request_id TEXT NOT NULL, "
    "parent TEXT NOT NULL, position BIGINT NOT NULL, is_job BIGINT NOT NULL, state BIGINT NOT NULL, "
    "request BYTEA NOT NULL, incumbent BYTEA NOT NULL, progress BYTEA NOT NULL, result BYTEA NOT NULL, "
    "summary BYTEA NOT NULL, attempts BIGINT NOT NULL, cancel_requested BIGINT NOT NULL, create_time BIGINT NOT NULL, "
    "start_time BIGINT NOT NULL, end_time BIGINT NOT NULL, fence BIGINT NOT NULL, lease_end BIGINT NOT NULL)";
constexpr std::string_view kOperationsByName =
    "CREATE UNIQUE INDEX operations_by_name ON operations (tenant, request_id) WHERE request_id <> ''";
constexpr std::string_view kOperationsByTime =
    "CREATE INDEX operations_by_time ON operations (tenant, parent, create_time, id)";
constexpr std::string_view kOperationsByParent = "CREATE INDEX operations_by_parent ON operations (parent, state)";
constexpr std::string_view kOperationsToRun =
    "CREATE INDEX operations_to_run ON operations (state, create_time, position, id)";

// What the database says of itself; both 0: nothing, it is empty.
struct SchemaState {
  int64_t version = 0;
  int64_t oldest_release = 0;
};

absl::StatusOr<SchemaState> ReadState(Connection& connection) {
  ASSIGN_OR_RETURN(const SqlResult result, connection.Execute("SELECT version, oldest_release FROM schema_version"));
  if (result.empty()) return SchemaState{};
  return result.Read<SchemaState>(0, [](RowReader& row) -> absl::StatusOr<SchemaState> {
    const SchemaState state{row.Number(), row.Number()};
    if (state.version < 1) return absl::DataLossError("the store is damaged: schema_version holds no version");
    return state;
  });
}

// OK: the schema is the newest one, and what a release that knows no newer one works with.
absl::Status CheckNewest(Database& database, int64_t newest) {
  return database.Transact(Database::Access::kRead, [newest](Connection& connection) -> absl::Status {
    ASSIGN_OR_RETURN(const SchemaState state, ReadState(connection));
    if (state.version != newest) return absl::NotFoundError("the schema is another one");
    return state.oldest_release <= newest ? absl::OkStatus() : absl::NotFoundError("it is for newer releases");
  });
}

// Whether a release whose newest schema is `newest` works with the schema.
absl::Status CheckState(const SchemaState& state, int64_t newest) {
  if (state.oldest_release > newest) {
    return absl::FailedPreconditionError(absl::StrCat("the store has schema ", state.version,
                                                      ", made by a newer release; this one knows schema ", newest,
                                                      ": start a newer planwrightd"));
  }
  if (state.version < newest - 1) {
    return absl::FailedPreconditionError(absl::StrCat("the store has schema ", state.version,
                                                      ", this release works with ", newest - 1, " and ", newest,
                                                      ": start planwrightd with --migrate"));
  }
  return absl::OkStatus();
}

absl::Status Migrate(Connection& connection, std::span<const SchemaStep> steps, const SchemaState& from) {
  int64_t oldest_release = from.oldest_release;
  for (const SchemaStep& step : steps.subspan(static_cast<std::size_t>(from.version))) {
    for (const std::string_view statement : step.statements) RETURN_IF_ERROR(connection.Execute(statement).status());
    oldest_release = step.oldest_release;
  }
  RETURN_IF_ERROR(connection.Execute("DELETE FROM schema_version").status());
  return connection
      .Execute("INSERT INTO schema_version (version, oldest_release) VALUES ($1, $2)",
               {std::ssize(steps), oldest_release})
      .status();
}

}  // namespace

std::span<const SchemaStep> SchemaSteps() {
  static const std::array kSteps = {
      SchemaStep{.statements = {kDocuments, kDocumentsByTime, kDocumentsBySize, kDocumentsByUse, kClaims, kOperations,
                                kOperationsByName, kOperationsByTime, kOperationsByParent, kOperationsToRun},
                 .oldest_release = 1}};
  return kSteps;
}

absl::Status PrepareSchema(Database& database, std::span<const SchemaStep> steps, bool migrate) {
  // What is up to date needs no write: a database that is full or read-only can still be read.
  absl::Status current = CheckNewest(database, std::ssize(steps));
  if (current.ok() || IsStoreUnavailable(current) || absl::IsDataLoss(current)) return current;
  return database.Transact(Database::Access::kWrite, [&](Connection& connection) -> absl::Status {
    RETURN_IF_ERROR(database.LockSchema(connection));
    RETURN_IF_ERROR(connection
                        .Execute("CREATE TABLE IF NOT EXISTS schema_version (version BIGINT NOT NULL, "
                                 "oldest_release BIGINT NOT NULL)")
                        .status());
    ASSIGN_OR_RETURN(const SchemaState state, ReadState(connection));
    const int64_t newest = std::ssize(steps);
    if (state.version < newest && (state.version == 0 || migrate)) return Migrate(connection, steps, state);
    return CheckState(state, newest);
  });
}

absl::Status CheckSchema(Database& database, std::span<const SchemaStep> steps) {
  const absl::Status checked = database.Transact(Database::Access::kRead, [&](Connection& connection) -> absl::Status {
    ASSIGN_OR_RETURN(const SchemaState state, ReadState(connection));
    return CheckState(state, std::ssize(steps));
  });
  const bool says_why = checked.ok() || absl::IsFailedPrecondition(checked) || absl::IsDataLoss(checked);
  if (says_why || IsStoreUnavailable(checked)) return checked;
  return absl::FailedPreconditionError(absl::StrCat("this is no store of planwrightd: ", checked.message()));
}

}  // namespace planwright::server
