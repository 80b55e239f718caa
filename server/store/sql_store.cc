#include "server/store/sql_store.h"

#include <chrono>
#include <string_view>
#include <vector>

#include "core/base/status_macros.h"
#include "server/store/sql_codes.h"

namespace planwright::server {
namespace {

// How long a store that has been written to is believed to be writable, unless a write fails.
constexpr std::chrono::seconds kProbeInterval{60};

// What claims that nobody gave back are kept for; their lease is over long before.
constexpr int64_t kClaimAge = 24 * 3600 * 1000;

// Each of these deletes as many rows as its last parameter says, those first that go first: what is left beyond a limit
// must not depend on how many are deleted at a time.
//
// Answers of the cache beyond the most recently used ones that fit into $2 bytes.
constexpr std::string_view kEvictAnswers =
    "DELETE FROM documents WHERE kind = $1 AND (tenant, id) IN (SELECT tenant, id FROM (SELECT tenant, id, "
    "SUM(stored_bytes) OVER (ORDER BY use_time DESC, tenant, id) AS total FROM documents WHERE kind = $1) AS ranked "
    "WHERE total > $2 ORDER BY total DESC LIMIT $3)";
// A tenant's plans beyond the most recently used $2 that fit into $3 bytes.
constexpr std::string_view kDeleteSurplusPlans =
    "DELETE FROM documents WHERE kind = $1 AND (tenant, id) IN (SELECT tenant, id FROM (SELECT tenant, id, COUNT(*) "
    "OVER latest AS items, SUM(stored_bytes) OVER latest AS bytes FROM documents WHERE kind = $1 WINDOW latest AS "
    "(PARTITION BY tenant ORDER BY use_time DESC, create_time DESC, id DESC)) AS ranked WHERE items > $2 OR bytes > "
    "$3 ORDER BY items DESC LIMIT $4)";
// A tenant's operations that have ended, beyond the latest $3 that fit into $4 bytes. Rows count as their operation,
// stay with it while one of them has not ended, and go with it, whatever $5 is.
constexpr std::string_view kDeleteSurplusOperations =
    "WITH members AS (SELECT tenant, CASE WHEN parent = '' THEN id ELSE parent END AS whole, state, end_time, "
    "CAST(LENGTH(request) AS BIGINT) + LENGTH(incumbent) + LENGTH(progress) + LENGTH(result) + LENGTH(summary) AS "
    "bytes FROM operations), "
    "ended AS (SELECT tenant, whole, MAX(end_time) AS end_time, COUNT(*) AS items, SUM(bytes) AS bytes FROM members "
    "GROUP BY tenant, whole HAVING SUM(CASE WHEN state IN ($1, $2) THEN 1 ELSE 0 END) = 0), "
    "ranked AS (SELECT whole, SUM(items) OVER latest AS items, SUM(bytes) OVER latest AS bytes FROM ended WINDOW "
    "latest AS (PARTITION BY tenant ORDER BY end_time DESC, whole DESC)) "
    "DELETE FROM operations WHERE CASE WHEN parent = '' THEN id ELSE parent END IN (SELECT whole FROM ranked WHERE "
    "items > $3 OR bytes > $4 ORDER BY items DESC LIMIT $5)";
constexpr std::string_view kDeleteUnused =
    "DELETE FROM documents WHERE (tenant, kind, id) IN (SELECT tenant, kind, id FROM documents WHERE use_time < "
    "planwright_now() - $1 LIMIT $2)";
constexpr std::string_view kDeleteEnded =
    "DELETE FROM operations WHERE id IN (SELECT id FROM operations WHERE parent = '' AND state NOT IN ($1, $2) AND "
    "end_time < planwright_now() - $3 LIMIT $4)";
constexpr std::string_view kDeleteOrphans =
    "DELETE FROM operations WHERE id IN (SELECT id FROM operations AS member WHERE parent <> '' AND NOT EXISTS (SELECT "
    "1 FROM operations AS owner WHERE owner.id = member.parent) LIMIT $1)";
constexpr std::string_view kDeleteClaims =
    "DELETE FROM claims WHERE key IN (SELECT key FROM claims WHERE lease_end < planwright_now() - $1 LIMIT $2)";

// A write that changes nothing: it tells of a store that has become read-only, or full.
constexpr std::string_view kProbe = "UPDATE schema_version SET version = version";

}  // namespace

absl::Status SqlStore::Prepare() {
  if (is_prepared_) return absl::OkStatus();
  RETURN_IF_ERROR(PrepareSchema(*database_, steps_, migrate_));
  is_prepared_ = true;
  return absl::OkStatus();
}

absl::Status SqlStore::Check() {
  RETURN_IF_ERROR(Prepare());
  RETURN_IF_ERROR(CheckSchema(*database_, steps_));
  const bool is_due = std::chrono::steady_clock::now() - last_probe_.load() >= kProbeInterval;
  if (!has_failed_ && !is_due) return absl::OkStatus();
  const absl::Status written = Write([](Connection& connection) { return connection.Execute(kProbe).status(); });
  if (written.ok()) {
    last_probe_ = std::chrono::steady_clock::now();
    has_failed_ = false;
  }
  return written;
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
  const int64_t most = retention.rows_at_once;
  const std::vector<Deletion> deletions = {
      {kDeleteUnused, {int64_t{retention.documents.count()}, most}},
      {kDeleteSurplusPlans, {CodeOf(DocumentKind::kPlan), retention.items, retention.bytes, most}},
      {kEvictAnswers, {CodeOf(DocumentKind::kAnswer), retention.answer_bytes, most}},
      {kDeleteEnded, {kQueued, kRunning, int64_t{retention.operations.count()}, most}},
      {kDeleteSurplusOperations, {kQueued, kRunning, retention.items, retention.bytes, most}},
      {kDeleteOrphans, {most}},
      {kDeleteClaims, {kClaimAge, most}}};
  int64_t deleted = 0;
  for (const Deletion& deletion : deletions) {
    ASSIGN_OR_RETURN(const SqlResult result, Write([&](Connection& connection) {
                       return connection.Execute(deletion.sql, deletion.parameters);
                     }));
    deleted += result.affected;
  }
  return deleted;
}

}  // namespace planwright::server
