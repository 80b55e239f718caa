// The operations of SqlStore.
#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/base/strings.h"
#include "server/store/database/packed_bytes.h"
#include "server/store/sql_codes.h"
#include "server/store/sql_store.h"

namespace planwright::server {
namespace {

constexpr int64_t kQueued = CodeOf(OperationState::kQueued);
constexpr int64_t kRunning = CodeOf(OperationState::kRunning);
constexpr int64_t kSucceeded = CodeOf(OperationState::kSucceeded);
constexpr int64_t kFailed = CodeOf(OperationState::kFailed);
constexpr int64_t kCancelled = CodeOf(OperationState::kCancelled);

// Which columns are read.
enum class Columns { kShort, kAll };

constexpr std::string_view kShortColumns =
    "tenant, id, request_id, parent, is_job, state, progress, summary, attempts, cancel_requested, create_time, "
    "start_time, end_time, fence";
constexpr std::string_view kOtherColumns = ", request, incumbent, result";

constexpr std::string_view kInsertOperation =
    "INSERT INTO operations (id, tenant, request_id, parent, position, is_job, state, request, incumbent, progress, "
    "result, summary, attempts, cancel_requested, create_time, start_time, end_time, fence, lease_end) VALUES ($1, $2, "
    "$3, $4, $5, $6, $7, $8, $9, $9, $9, $9, 0, 0, $10, $11, 0, 0, 0) ON CONFLICT DO NOTHING";
// What the open operations take; sweeps have the bytes of their grids, too.
constexpr std::string_view kPendingBytes =
    "CAST(COALESCE(SUM(CAST(LENGTH(request) AS BIGINT) + LENGTH(incumbent) + LENGTH(progress)), 0) AS BIGINT)";
constexpr std::string_view kCancel =
    "UPDATE operations SET cancel_requested = 1, state = CASE WHEN state = $3 THEN $5 ELSE state END, end_time = CASE "
    "WHEN state = $3 THEN planwright_now() ELSE end_time END WHERE tenant = $1 AND (id = $2 OR parent = $2) AND state "
    "IN "
    "($3, $4)";
constexpr std::string_view kClose =
    "UPDATE operations SET state = CASE WHEN cancel_requested = 1 THEN CAST($4 AS BIGINT) ELSE CAST($5 AS BIGINT) END, "
    "end_time = planwright_now() WHERE id = $1 AND state IN ($2, $3) AND NOT EXISTS (SELECT 1 FROM operations AS "
    "member "
    "WHERE member.parent = $1 AND member.state IN ($2, $3))";
// Jobs that a worker may take: they are queued, or their worker is dead. Names that are no texts, which SQLite would
// keep, equal no text: nobody could end what is called so, and it must not stand before the others for ever.
constexpr std::string_view kRunnable =
    "is_job = 1 AND (state = $1 OR (state = $2 AND lease_end < planwright_now())) AND id = CAST(id AS TEXT) AND tenant "
    "= CAST(tenant AS TEXT)";
// Leases of running jobs that end later than those of $2 milliseconds can; whatever else stands for a time does, too.
constexpr std::string_view kFarLeases =
    "SELECT id, CAST(fence AS BIGINT) AS fence, CAST(lease_end AS BIGINT) AS lease_end FROM operations WHERE is_job = "
    "1 AND state = $1 AND lease_end > planwright_now() + $2 "
    "AND id = CAST(id AS TEXT)";
constexpr std::string_view kEndLease =
    "UPDATE operations SET lease_end = 0 WHERE id = $1 AND CAST(fence AS BIGINT) = $2 AND state = $3 AND lease_end > "
    "planwright_now() "
    "+ $4";
// What must be known of an operation to end it. A parent that is no text is nobody's.
constexpr std::string_view kEnding =
    "SELECT CASE WHEN parent = CAST(parent AS TEXT) THEN parent ELSE '' END AS parent, state, fence FROM operations "
    "WHERE id = $1";

struct Ending {
  std::string parent;
  OperationState state = OperationState::kFailed;
  int64_t fence = 0;
};

// What ends a running operation, or changes it: nothing where the fence has passed to somebody else.
constexpr std::string_view kOwned = " WHERE id = $1 AND fence = $2 AND state = $3";

// Request, incumbent and result are packed; an empty one stays empty.
std::string PackOptional(std::string_view bytes) { return bytes.empty() ? std::string() : Pack(bytes); }

absl::StatusOr<Operation> ReadRow(RowReader& row, Columns columns) {
  Operation operation;
  operation.tenant = row.Text();
  operation.id = row.Text();
  operation.request_id = row.Text();
  operation.parent = row.Text();
  operation.has_rows = row.Number() == 0;
  operation.state = StateOf(row.Number());
  operation.progress = row.Blob();
  operation.summary = row.Blob();
  operation.attempts = static_cast<int32_t>(row.Number());
  operation.cancel_requested = row.Number() != 0;
  operation.create_time = row.Number();
  operation.start_time = row.Number();
  operation.end_time = row.Number();
  operation.fence = row.Number();
  if (columns == Columns::kShort) return operation;
  ASSIGN_OR_RETURN(operation.request, ReadOptional(row));
  // Without it the search takes longer, no more.
  operation.incumbent = ReadOptional(row).value_or("");
  ASSIGN_OR_RETURN(operation.result, ReadOptional(row));
  return operation;
}

absl::Status NoOperation(std::string_view id) {
  return absl::NotFoundError(absl::StrCat("there is no operation \"", ToAbsl(id), "\""));
}

absl::Status TakenOver(std::string_view id) {
  return absl::AbortedError(absl::StrCat("operation \"", ToAbsl(id), "\" belongs to another worker"));
}

// Inserts one operation; returns whether it is new.
absl::StatusOr<bool> Insert(Connection& connection, std::string_view tenant, const NewOperation& operation,
                            std::string_view request_id, std::string_view parent, int64_t position, bool is_job,
                            StoreTime now) {
  ASSIGN_OR_RETURN(
      const SqlResult result,
      connection.Execute(kInsertOperation, {Text(operation.id), Text(tenant), Text(request_id), Text(parent), position,
                                            int64_t{is_job ? 1 : 0}, is_job ? kQueued : kRunning,
                                            Blob(PackOptional(operation.request)), Blob(""), now, is_job ? 0 : now}));
  return result.affected() > 0;
}

// The operations that `clauses` selects; a WHERE and what may follow it.
absl::StatusOr<std::vector<Operation>> Select(Connection& connection, Columns columns, std::string_view clauses,
                                              std::span<const SqlValue> parameters) {
  ASSIGN_OR_RETURN(const SqlResult result,
                   connection.Execute(absl::StrCat("SELECT ", ToAbsl(kShortColumns),
                                                   columns == Columns::kAll ? ToAbsl(kOtherColumns) : "",
                                                   " FROM operations WHERE ", ToAbsl(clauses)),
                                      parameters));
  return result.ReadAll<Operation>([columns](RowReader& row) { return ReadRow(row, columns); });
}

absl::StatusOr<Operation> SelectOne(Connection& connection, Columns columns, std::string_view clauses,
                                    std::initializer_list<SqlValue> parameters, std::string_view id) {
  ASSIGN_OR_RETURN(std::vector<Operation> operations, Select(connection, columns, clauses, std::vector(parameters)));
  if (operations.empty()) return NoOperation(id);
  return std::move(operations.front());
}

absl::StatusOr<StoreTime> Now(Connection& connection) {
  ASSIGN_OR_RETURN(const SqlResult result, connection.Execute("SELECT planwright_now()"));
  return result.Number();
}

struct Pending {
  int64_t operations = 0;
  int64_t bytes = 0;
};

absl::Status CheckOperationQuota(Connection& connection, std::string_view tenant, const Quota& quota) {
  const std::string pending = absl::StrCat("SELECT CAST(COALESCE(SUM(is_job), 0) AS BIGINT) AS operations, ",
                                           ToAbsl(kPendingBytes), " AS bytes FROM operations WHERE state IN ($1, $2)");
  const auto read = [](RowReader& row) { return Pending{row.Number(), row.Number()}; };
  ASSIGN_OR_RETURN(const SqlResult everybody, connection.Execute(pending, {kQueued, kRunning}));
  ASSIGN_OR_RETURN(const SqlResult own,
                   connection.Execute(absl::StrCat(pending, " AND tenant = $3"), {kQueued, kRunning, Text(tenant)}));
  ASSIGN_OR_RETURN(const Pending all, everybody.Read<Pending>(0, read));
  ASSIGN_OR_RETURN(const Pending mine, own.Read<Pending>(0, read));
  if (mine.operations > quota.pending_operations) {
    return absl::ResourceExhaustedError(absl::StrCat("the quota is used up: with these, ", mine.operations,
                                                     " operations would not have ended, allowed are ",
                                                     quota.pending_operations, "; wait for some or cancel them"));
  }
  if (mine.bytes > quota.bytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the quota is used up: with these, the operations that have not "
                     "ended would take ",
                     mine.bytes, " bytes, compressed, allowed are ", quota.bytes, "; wait for some or cancel them"));
  }
  if (all.bytes > quota.all_pending_bytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("with these, the operations of all tenants that have not ended "
                     "would take ",
                     all.bytes, " bytes, compressed, allowed are ", quota.all_pending_bytes, "; wait for some to end"));
  }
  return absl::OkStatus();
}

// Runs an UPDATE of what the worker owns; ABORTED where it owns it no more.
absl::Status UpdateOwned(Connection& connection, std::string_view assignments, std::vector<SqlValue> parameters,
                         std::string_view id) {
  ASSIGN_OR_RETURN(
      const SqlResult result,
      connection.Execute(absl::StrCat("UPDATE operations SET ", ToAbsl(assignments), ToAbsl(kOwned)), parameters));
  return result.affected() > 0 ? absl::OkStatus() : TakenOver(id);
}

// Inserts all of a submission; where there is one of its name, returns the operation of then.
absl::StatusOr<Operation> InsertSubmission(Connection& connection, std::string_view tenant,
                                           const Submission& submission, const Quota& quota) {
  const NewOperation& whole = submission.operation;
  ASSIGN_OR_RETURN(const StoreTime now, Now(connection));
  ASSIGN_OR_RETURN(const bool is_new, Insert(connection, tenant, whole, submission.request_id, /*parent=*/"",
                                             /*position=*/0, submission.rows.empty(), now));
  if (!is_new) {
    return SelectOne(connection, Columns::kAll, "tenant = $1 AND request_id = $2",
                     {Text(tenant), Text(submission.request_id)}, submission.request_id);
  }
  for (std::size_t i = 0; i < submission.rows.size(); ++i) {
    RETURN_IF_ERROR(Insert(connection, tenant, submission.rows[i], /*request_id=*/"", whole.id, static_cast<int64_t>(i),
                           /*is_job=*/true, now)
                        .status());
  }
  RETURN_IF_ERROR(CheckOperationQuota(connection, tenant, quota));
  return SelectOne(connection, Columns::kAll, "id = $1", {Text(whole.id)}, whole.id);
}

}  // namespace

absl::StatusOr<Operation> SqlStore::Submit(std::string_view tenant, const Submission& submission, const Quota& quota) {
  const auto insert = [&](Connection& connection) -> absl::StatusOr<Operation> {
    // Submissions at the same time would not see each other's, and some of them count together.
    RETURN_IF_ERROR(database_->LockName(connection, "operations"));
    return InsertSubmission(connection, tenant, submission, quota);
  };
  std::size_t bytes = submission.operation.request.size();
  for (const NewOperation& row : submission.rows) bytes += row.request.size();
  ASSIGN_OR_RETURN(Operation stored, Add(insert, bytes));
  if (stored.request == submission.operation.request) return stored;
  return absl::AlreadyExistsError(
      absl::StrCat("request_id \"", submission.request_id, "\" was used for another request: choose a new one"));
}

absl::StatusOr<Operation> SqlStore::FindOperation(std::string_view tenant, std::string_view id, OperationView view) {
  const Columns columns = view == OperationView::kShort ? Columns::kShort : Columns::kAll;
  return Read([&](Connection& connection) {
    return SelectOne(connection, columns, "tenant = $1 AND id = $2", {Text(tenant), Text(id)}, id);
  });
}

absl::StatusOr<std::vector<Operation>> SqlStore::ListOperations(std::string_view tenant, const OperationFilter& filter,
                                                                const std::optional<PagePosition>& after,
                                                                int64_t limit) {
  std::string clauses = tenant.empty() ? "$1 = '' AND parent = $2" : "tenant = $1 AND parent = $2";
  std::vector<SqlValue> parameters = {Text(tenant), Text(filter.parent), limit};
  const auto add = [&](SqlValue value) {
    parameters.push_back(std::move(value));
    return absl::StrCat("$", parameters.size());
  };
  if (filter.state.has_value()) absl::StrAppend(&clauses, " AND state = ", add(CodeOf(*filter.state)));
  if (after.has_value()) {
    const std::string time = add(after->time);
    absl::StrAppend(&clauses, " AND (create_time, id) < (", time, ", ", add(Text(after->id)), ")");
  }
  absl::StrAppend(&clauses, " ORDER BY create_time DESC, id DESC LIMIT $3");
  return Read([&](Connection& connection) { return Select(connection, Columns::kShort, clauses, parameters); });
}

absl::StatusOr<std::vector<Operation>> SqlStore::ListRows(std::string_view tenant, std::string_view parent) {
  const std::vector<SqlValue> parameters = {Text(tenant), Text(parent)};
  return Read([&](Connection& connection) {
    return Select(connection, Columns::kShort, "tenant = $1 AND parent = $2 ORDER BY position", parameters);
  });
}

absl::Status SqlStore::CloseParent(Connection& connection, std::string_view parent) {
  if (parent.empty()) return absl::OkStatus();
  return connection.Execute(kClose, {Text(parent), kQueued, kRunning, kCancelled, kSucceeded}).status();
}

absl::Status SqlStore::RequestCancel(std::string_view tenant, std::string_view id) {
  // Parents are locked before their rows, here and in EndOperation: whoever ends the last row sees all the others.
  const std::string lock = absl::StrCat(
      "SELECT id, is_job FROM operations WHERE tenant = $1 AND id IN ($2, (SELECT parent FROM operations WHERE id = "
      "$2)) ORDER BY is_job",
      ToAbsl(database_->lock_clause()));
  return Free([&](Connection& connection) -> absl::Status {
    ASSIGN_OR_RETURN(const SqlResult found, connection.Execute(lock, {Text(tenant), Text(id)}));
    if (found.empty()) return NoOperation(id);
    RETURN_IF_ERROR(connection.Execute(kCancel, {Text(tenant), Text(id), kQueued, kRunning, kCancelled}).status());
    // Empty: there are no rows.
    ASSIGN_OR_RETURN(const std::string parent, found.Read<std::string>(0, [](RowReader& first) {
      const std::string whole = first.Text();
      return first.Number() == 0 ? whole : std::string();
    }));
    return CloseParent(connection, parent);
  });
}

absl::Status SqlStore::EndDeadLeases(Connection& connection, std::chrono::milliseconds lease) {
  const int64_t most = lease.count();
  ASSIGN_OR_RETURN(const SqlResult far, connection.Execute(kFarLeases, {kRunning, most}));
  ASSIGN_OR_RETURN(const std::vector<LeaseWatch::Lease> suspects, far.ReadAll<LeaseWatch::Lease>([](RowReader& row) {
    return LeaseWatch::Lease{.id = row.Text(), .fence = row.Number(), .end = row.Number()};
  }));
  for (const LeaseWatch::Lease& dead : lease_watch_.Dead(suspects, lease, LeaseWatch::Clock::now())) {
    RETURN_IF_ERROR(connection.Execute(kEndLease, {Text(dead.id), dead.fence, kRunning, most}).status());
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> SqlStore::NextOperation(Connection& connection, const TurnOrder& order) {
  const std::string waiting =
      absl::StrCat("SELECT DISTINCT tenant FROM operations WHERE ", ToAbsl(kRunnable), " ORDER BY tenant");
  const std::string next =
      absl::StrCat("SELECT id FROM operations WHERE ", ToAbsl(kRunnable), " AND tenant = $3 ",
                   "ORDER BY create_time, position, id LIMIT 1", ToAbsl(database_->skip_locked_clause()));
  ASSIGN_OR_RETURN(const SqlResult found, connection.Execute(waiting, {kQueued, kRunning}));
  ASSIGN_OR_RETURN(std::vector<std::string> tenants,
                   found.ReadAll<std::string>([](RowReader& row) { return row.Text(); }));
  for (const std::string& tenant : order(std::move(tenants))) {
    ASSIGN_OR_RETURN(const SqlResult first, connection.Execute(next, {kQueued, kRunning, Text(tenant)}));
    if (!first.empty()) return first.Text();
  }
  return std::string();
}

absl::StatusOr<std::optional<Operation>> SqlStore::TakeOperation(std::chrono::milliseconds lease,
                                                                 const TurnOrder& order) {
  constexpr std::string_view kTake =
      "UPDATE operations SET state = $2, fence = fence + 1, attempts = attempts + 1, lease_end = planwright_now() + "
      "$3, "
      "start_time = CASE WHEN start_time = 0 THEN planwright_now() ELSE start_time END WHERE id = $1";
  // The id of an operation that is taken but cannot be read.
  std::string damaged;
  int64_t fence = 0;
  auto taken = Write([&](Connection& connection) -> absl::StatusOr<std::optional<Operation>> {
    damaged.clear();
    RETURN_IF_ERROR(EndDeadLeases(connection, lease));
    ASSIGN_OR_RETURN(const std::string id, NextOperation(connection, order));
    if (id.empty()) return std::nullopt;
    RETURN_IF_ERROR(connection.Execute(kTake, {Text(id), kRunning, int64_t{lease.count()}}).status());
    absl::StatusOr<Operation> found_whole = SelectOne(connection, Columns::kAll, "id = $1", {Text(id)}, id);
    if (found_whole.status().code() != absl::StatusCode::kDataLoss) return found_whole;
    ASSIGN_OR_RETURN(const SqlResult now, connection.Execute("SELECT fence FROM operations WHERE id = $1", {Text(id)}));
    ASSIGN_OR_RETURN(fence, now.Number());
    damaged = id;
    return std::nullopt;
  });
  // What nobody can read must not stand before the others for ever. It is ours: it ends as any other, in a transaction
  // of its own that locks in the order of all.
  if (taken.ok() && !damaged.empty()) {
    RETURN_IF_ERROR(EndOperation(damaged, fence, {.state = OperationState::kFailed, .result = "", .summary = ""}));
  }
  return taken;
}

absl::StatusOr<bool> SqlStore::RenewLease(std::string_view id, int64_t fence, std::chrono::milliseconds lease) {
  return Write([&](Connection& connection) -> absl::StatusOr<bool> {
    RETURN_IF_ERROR(UpdateOwned(connection, "lease_end = planwright_now() + $4",
                                {Text(id), fence, kRunning, int64_t{lease.count()}}, id));
    ASSIGN_OR_RETURN(const SqlResult result,
                     connection.Execute("SELECT cancel_requested FROM operations WHERE id = $1", {Text(id)}));
    ASSIGN_OR_RETURN(const int64_t requested, result.Number());
    return requested != 0;
  });
}

absl::Status SqlStore::SaveIncumbent(std::string_view id, int64_t fence, std::string_view incumbent,
                                     std::string_view progress) {
  const std::string packed = PackOptional(incumbent);
  const auto save = [&](Connection& connection) {
    return UpdateOwned(connection, "incumbent = $4, progress = $5",
                       {Text(id), fence, kRunning, Blob(packed), Blob(std::string(progress))}, id);
  };
  return Write(save, packed.size());
}

absl::Status SqlStore::EndOperation(std::string_view id, int64_t fence, const OperationEnd& end) {
  const std::string packed = PackOptional(end.result);
  const std::string lock = absl::StrCat("SELECT id FROM operations WHERE id = $1", ToAbsl(database_->lock_clause()));
  const auto end_once = [&](Connection& connection) -> absl::Status {
    ASSIGN_OR_RETURN(const SqlResult found, connection.Execute(kEnding, {Text(id)}));
    if (found.empty()) return TakenOver(id);
    ASSIGN_OR_RETURN(const Ending ending, found.Read<Ending>(0, [](RowReader& row) {
      return Ending{.parent = row.Text(), .state = StateOf(row.Number()), .fence = row.Number()};
    }));
    // An answer that was lost on its way: we have ended it before.
    if (HasEnded(ending.state) && ending.fence == fence) return absl::OkStatus();
    RETURN_IF_ERROR(connection.Execute(lock, {Text(ending.parent)}).status());
    RETURN_IF_ERROR(UpdateOwned(connection, "state = $4, result = $5, summary = $6, end_time = planwright_now()",
                                {Text(id), fence, kRunning, CodeOf(end.state), Blob(packed), Blob(end.summary)}, id));
    return CloseParent(connection, ending.parent);
  };
  return Write(end_once, packed.size());
}

absl::Status SqlStore::ReturnOperation(std::string_view id, int64_t fence) {
  return Write([&](Connection& connection) {
    return UpdateOwned(connection, "state = $4", {Text(id), fence, kRunning, kQueued}, id);
  });
}

}  // namespace planwright::server
