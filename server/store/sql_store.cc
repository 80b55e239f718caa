#include "server/store/sql_store.h"

#include "core/base/status_macros.h"
#include "server/store/sql_codes.h"

namespace planwright::server {
namespace {

// What claims that nobody gave back are kept for; their lease is over long before.
constexpr int64_t kClaimAge = 24 * 3600 * 1000;

// Answers of the cache beyond the most recently used ones that fit into $2 bytes.
constexpr std::string_view kEvictAnswers =
    "DELETE FROM documents WHERE kind = $1 AND (tenant, id) IN (SELECT tenant, id FROM (SELECT tenant, id, "
    "SUM(stored_bytes) OVER (ORDER BY use_time DESC, tenant, id) AS total FROM documents WHERE kind = $1) AS ranked "
    "WHERE total > $2)";
// A tenant's plans beyond the most recently used $2 that fit into $3 bytes.
constexpr std::string_view kDeleteSurplusPlans =
    "DELETE FROM documents WHERE kind = $1 AND (tenant, id) IN (SELECT tenant, id FROM (SELECT tenant, id, COUNT(*) "
    "OVER latest AS items, SUM(stored_bytes) OVER latest AS bytes FROM documents WHERE kind = $1 WINDOW latest AS "
    "(PARTITION BY tenant ORDER BY use_time DESC, create_time DESC, id DESC)) AS ranked WHERE items > $2 OR bytes > "
    "$3)";
// A tenant's operations that have ended, beyond the latest $3 that fit into $4 bytes. Rows count as their operation,
// stay with it while one of them has not ended, and go with it.
constexpr std::string_view kDeleteSurplusOperations =
    "WITH members AS (SELECT tenant, CASE WHEN parent = '' THEN id ELSE parent END AS whole, state, end_time, "
    "CAST(LENGTH(request) AS BIGINT) + LENGTH(incumbent) + LENGTH(progress) + LENGTH(result) + LENGTH(summary) AS "
    "bytes FROM operations), "
    "ended AS (SELECT tenant, whole, MAX(end_time) AS end_time, COUNT(*) AS items, SUM(bytes) AS bytes FROM members "
    "GROUP BY tenant, whole HAVING SUM(CASE WHEN state IN ($1, $2) THEN 1 ELSE 0 END) = 0), "
    "ranked AS (SELECT whole, SUM(items) OVER latest AS items, SUM(bytes) OVER latest AS bytes FROM ended WINDOW "
    "latest AS (PARTITION BY tenant ORDER BY end_time DESC, whole DESC)) "
    "DELETE FROM operations WHERE CASE WHEN parent = '' THEN id ELSE parent END IN (SELECT whole FROM ranked WHERE "
    "items > $3 OR bytes > $4)";
constexpr std::string_view kDeleteUnused = "DELETE FROM documents WHERE use_time < planwright_now() - $1";
constexpr std::string_view kDeleteEnded =
    "DELETE FROM operations WHERE parent = '' AND state NOT IN ($1, $2) AND end_time < planwright_now() - $3";
constexpr std::string_view kDeleteOrphans =
    "DELETE FROM operations WHERE parent <> '' AND NOT EXISTS (SELECT 1 FROM operations AS owner WHERE owner.id = "
    "operations.parent)";
constexpr std::string_view kDeleteClaims = "DELETE FROM claims WHERE lease_end < planwright_now() - $1";

}  // namespace

absl::Status SqlStore::Prepare() {
  if (is_prepared_) return absl::OkStatus();
  RETURN_IF_ERROR(PrepareSchema(*database_, steps_, migrate_));
  is_prepared_ = true;
  return absl::OkStatus();
}

absl::Status SqlStore::Check() {
  RETURN_IF_ERROR(Prepare());
  return CheckSchema(*database_, steps_);
}

absl::StatusOr<ClaimResult> SqlStore::Claim(std::string_view key, std::string_view owner,
                                            std::chrono::milliseconds lease) {
  return Write([&](Connection& connection) -> absl::StatusOr<ClaimResult> {
    ASSIGN_OR_RETURN(const SqlResult result,
                     connection.Execute("INSERT INTO claims (key, owner, lease_end) VALUES ($1, $2, planwright_now() + "
                                        "$3) ON CONFLICT (key) DO UPDATE SET owner = excluded.owner, lease_end = "
                                        "excluded.lease_end WHERE claims.owner = excluded.owner OR claims.lease_end < "
                                        "planwright_now()",
                                        {Text(key), Text(owner), int64_t{lease.count()}}));
    if (result.affected > 0) return ClaimResult{.is_ours = true, .owner = std::string(owner)};
    ASSIGN_OR_RETURN(const SqlResult found, connection.Execute("SELECT owner FROM claims WHERE key = $1", {Text(key)}));
    return ClaimResult{.owner = found.rows.empty() ? std::string() : RowReader(found.rows.front()).Text()};
  });
}

absl::Status SqlStore::Unclaim(std::string_view key, std::string_view owner) {
  return Write([&](Connection& connection) {
    return connection.Execute("DELETE FROM claims WHERE key = $1 AND owner = $2", {Text(key), Text(owner)}).status();
  });
}

absl::StatusOr<int64_t> SqlStore::Sweep(const Retention& retention) {
  struct Deletion {
    std::string_view sql;
    std::vector<SqlValue> parameters;
  };
  constexpr int64_t kQueued = CodeOf(OperationState::kQueued);
  constexpr int64_t kRunning = CodeOf(OperationState::kRunning);
  const std::vector<Deletion> deletions = {
      {kDeleteUnused, {int64_t{retention.documents.count()}}},
      {kDeleteSurplusPlans, {CodeOf(DocumentKind::kPlan), retention.items, retention.bytes}},
      {kEvictAnswers, {CodeOf(DocumentKind::kAnswer), retention.answer_bytes}},
      {kDeleteEnded, {kQueued, kRunning, int64_t{retention.operations.count()}}},
      {kDeleteSurplusOperations, {kQueued, kRunning, retention.items, retention.bytes}},
      {kDeleteOrphans, {}},
      {kDeleteClaims, {kClaimAge}}};
  return Write([&](Connection& connection) -> absl::StatusOr<int64_t> {
    int64_t deleted = 0;
    for (const Deletion& deletion : deletions) {
      ASSIGN_OR_RETURN(const SqlResult result, connection.Execute(deletion.sql, deletion.parameters));
      deleted += result.affected;
    }
    return deleted;
  });
}

}  // namespace planwright::server
