#include "server/store/sql_store.h"

#include <algorithm>
#include <chrono>
#include <random>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "core/base/status_macros.h"
#include "server/store/database/store_status.h"
#include "server/store/sql_codes.h"

namespace planwright::server {
namespace {

// How long a store that has been written to is believed to be writable, unless a write fails.
constexpr std::chrono::seconds kProbeInterval{60};

// Below this part of --store_free_alarm nothing more is taken in.
constexpr int64_t kRefusalPart = 8;

// What claims that nobody gave back are kept for; their lease is over long before.
constexpr int64_t kClaimAge = int64_t{24} * 3600 * 1000;

// What an answer of the cache counts for at least: its row and the entries of four indexes.
constexpr int64_t kLeastAnswerBytes = 1024;
// The part of their limit that answers may exceed it by before somebody looks, and that is then made free.
constexpr int64_t kAnswerSlack = 16;
constexpr std::string_view kSumAnswers =
    "SELECT COUNT(*) AS answers, CAST(COALESCE(SUM(CASE WHEN stored_bytes < $2 THEN CAST($2 AS BIGINT) ELSE "
    "stored_bytes END), 0) AS BIGINT) AS bytes FROM documents WHERE kind = $1";
constexpr std::string_view kEvictAnswers =
    "DELETE FROM documents WHERE kind = $1 AND (tenant, id) IN (SELECT tenant, id FROM documents WHERE kind = $1 ORDER "
    "BY use_time, tenant, id LIMIT $2)";

// The row of `claims` that remembers the clock (retention_clock.h), and that of the probe.
constexpr std::string_view kClockKey = "clock";
constexpr std::string_view kProbeKey = "probe";
// The largest write that is tried.
constexpr int64_t kMostProbeBytes = int64_t{64} << 20;

// The most milliseconds that count between two sweeps; no more than half of what things are kept for count, either.
constexpr int64_t kMostGap = int64_t{24} * 3600 * 1000;
constexpr std::string_view kNewest =
    "SELECT CAST(COALESCE(MAX(newest), 0) AS BIGINT) AS newest FROM (SELECT MAX(use_time) AS newest FROM documents "
    "UNION ALL SELECT MAX(create_time) FROM operations UNION ALL SELECT MAX(end_time) FROM operations) AS times";
constexpr std::string_view kPutMark =
    "INSERT INTO claims (key, owner, lease_end) VALUES ($1, $2, $3) ON CONFLICT (key) DO UPDATE SET owner = "
    "excluded.owner, lease_end = excluded.lease_end";

// Each of these deletes as many rows as its last parameter says, those first that go first: what is left beyond a limit
// must not depend on how many are deleted at a time.
//
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
    "DELETE FROM documents WHERE (tenant, kind, id) IN (SELECT tenant, kind, id FROM documents WHERE use_time < $1 "
    "LIMIT $2)";
constexpr std::string_view kDeleteEnded =
    "DELETE FROM operations WHERE id IN (SELECT id FROM operations WHERE parent = '' AND state NOT IN ($1, $2) AND "
    "end_time < $3 LIMIT $4)";
constexpr std::string_view kDeleteOrphans =
    "DELETE FROM operations WHERE id IN (SELECT id FROM operations AS member WHERE parent <> '' AND NOT EXISTS (SELECT "
    "1 FROM operations AS owner WHERE owner.id = member.parent) LIMIT $1)";
constexpr std::string_view kDeleteClaims =
    "DELETE FROM claims WHERE key IN (SELECT key FROM claims WHERE lease_end < planwright_now() - $1 AND key <> "
    "$3 LIMIT $2)";

// A text of so many bytes that nothing compresses well.
std::string Noise(std::size_t bytes) {
  std::mt19937_64 random(bytes);
  std::string noise;
  while (noise.size() < bytes) absl::StrAppend(&noise, absl::Hex(random(), absl::kZeroPad16));
  return noise;
}

// "12.3 MiB".
std::string ShortBytes(int64_t bytes) {
  constexpr double kMiB = 1 << 20;
  return absl::StrFormat("%.1f MiB", static_cast<double>(bytes) / kMiB);
}

// For a day after a leap that is longer than servers usually rest.
std::string ClockWarning(const RetentionClock& clock) {
  constexpr int64_t kRest = int64_t{3} * 24 * 3600 * 1000;
  if (clock.leaps.empty()) return "";
  const RetentionClock::Leap& last = clock.leaps.back();
  if (last.skipped < kRest || clock.seen - last.at > kMostGap) return "";
  return absl::StrCat("the clock has leapt ahead, or no server ran, for ",
                      absl::FormatDuration(absl::Milliseconds(last.skipped)),
                      ", which --retention does not count: look whether the clock is right");
}

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
  const std::optional<Database::Room> room = database_->room();
  {
    const std::lock_guard lock(health_mutex_);
    health_.free_bytes = room.has_value() ? std::optional(room->free_bytes) : std::nullopt;
    health_.warning = RoomWarning(health_.store_bytes, room);
    if (health_.warning.empty()) health_.warning = clock_warning_;
  }
  RETURN_IF_ERROR(CheckRoom());
  const bool is_due = std::chrono::steady_clock::now() - last_probe_.load() >= kProbeInterval;
  if (refused_bytes_ < 0 && !is_due) return absl::OkStatus();
  const absl::Status written = Probe();
  if (!written.ok()) return written;
  database_->Maintain();
  last_probe_ = std::chrono::steady_clock::now();
  refused_bytes_ = -1;
  return absl::OkStatus();
}

absl::Status SqlStore::Probe() {
  const std::string noise = Noise(static_cast<std::size_t>(std::clamp<int64_t>(refused_bytes_, 0, kMostProbeBytes)));
  RETURN_IF_ERROR(Write([&](Connection& connection) {
    return connection.Execute(kPutMark, {Text(kProbeKey), Text(noise), int64_t{0}}).status();
  }));
  const auto size = Free([&](Connection& connection) -> absl::StatusOr<int64_t> {
    RETURN_IF_ERROR(connection.Execute("DELETE FROM claims WHERE key = $1", {Text(kProbeKey)}).status());
    ASSIGN_OR_RETURN(const SqlResult result, connection.Execute(database_->size_query()));
    return result.Number();
  });
  if (!size.ok()) return size.status();
  const std::lock_guard lock(health_mutex_);
  health_.store_bytes = *size;
  return absl::OkStatus();
}

void SqlStore::NoteRefusal(std::size_t bytes) {
  const auto refused = static_cast<int64_t>(bytes);
  int64_t largest = refused_bytes_;
  while (refused > largest && !refused_bytes_.compare_exchange_weak(largest, refused)) {
  }
}

StoreHealth SqlStore::health() const {
  const std::lock_guard lock(health_mutex_);
  return health_;
}

absl::Status SqlStore::CheckRoom() const {
  const std::optional<Database::Room> room = database_->room();
  if (!room.has_value() || room->free_bytes >= alarm_.free_bytes / kRefusalPart) return absl::OkStatus();
  return StoreFull(absl::StrCat("its disk has only ", ShortBytes(room->free_bytes),
                                " free, and nothing is added below ", ShortBytes(alarm_.free_bytes / kRefusalPart),
                                " (--store_free_alarm)"));
}

std::string SqlStore::RoomWarning(int64_t store_bytes, const std::optional<Database::Room>& room) const {
  if (room.has_value() && room->free_bytes < alarm_.free_bytes) {
    return absl::StrCat("the disk of the store has only ", ShortBytes(room->free_bytes), " free of ",
                        ShortBytes(room->total_bytes), " (--store_free_alarm): make room");
  }
  if (alarm_.store_bytes > 0 && store_bytes > alarm_.store_bytes) {
    return absl::StrCat("the store takes ", ShortBytes(store_bytes),
                        " (--store_size_alarm): delete some of it, or lower --retention");
  }
  return "";
}

absl::StatusOr<ClaimResult> SqlStore::Claim(std::string_view key, std::string_view owner,
                                            std::chrono::milliseconds lease) {
  return Write([&](Connection& connection) -> absl::StatusOr<ClaimResult> {
    ASSIGN_OR_RETURN(const SqlResult result,
                     connection.Execute("INSERT INTO claims (key, owner, lease_end) VALUES ($1, $2, planwright_now() + "
                                        "$3) ON CONFLICT (key) DO UPDATE SET owner = excluded.owner, lease_end = "
                                        "excluded.lease_end WHERE claims.owner = excluded.owner OR claims.lease_end < "
                                        // A lease that ends later than any can: the clock went back.
                                        "planwright_now() OR claims.lease_end > planwright_now() + 2 * $3",
                                        {Text(key), Text(owner), int64_t{lease.count()}}));
    if (result.affected() > 0) return ClaimResult{.is_ours = true, .owner = std::string(owner)};
    ASSIGN_OR_RETURN(const SqlResult found, connection.Execute("SELECT owner FROM claims WHERE key = $1", {Text(key)}));
    if (found.empty()) return ClaimResult{};
    ASSIGN_OR_RETURN(std::string other, found.Text());
    return ClaimResult{.is_ours = false, .owner = std::move(other)};
  });
}

absl::Status SqlStore::Unclaim(std::string_view key, std::string_view owner) {
  return Free([&](Connection& connection) {
    return connection.Execute("DELETE FROM claims WHERE key = $1 AND owner = $2", {Text(key), Text(owner)}).status();
  });
}

absl::Status SqlStore::PutAnswer(std::string_view tenant, const Document& document, int64_t most_bytes) {
  RETURN_IF_ERROR(ReplaceDocument(tenant, DocumentKind::kAnswer, document));
  const auto bytes = static_cast<int64_t>(document.content.size() + document.summary.size());
  const int64_t slack = most_bytes / kAnswerSlack;
  // What is compressed is shorter, so this looks too often rather than too late.
  const int64_t unsummed = unsummed_bytes_ += std::max(bytes, kLeastAnswerBytes);
  if (unsummed < slack) return absl::OkStatus();
  unsummed_bytes_ = 0;
  int64_t evicted = 0;
  do {
    ASSIGN_OR_RETURN(evicted, EvictAnswers(most_bytes - slack, Retention{}.rows_at_once));
  } while (evicted > 0);
  return absl::OkStatus();
}

absl::StatusOr<int64_t> SqlStore::EvictAnswers(int64_t most_bytes, int64_t most_rows) {
  struct Sum {
    int64_t answers = 0;
    int64_t bytes = 0;
  };
  ASSIGN_OR_RETURN(const Sum sum, Read([](Connection& connection) -> absl::StatusOr<Sum> {
                     ASSIGN_OR_RETURN(
                         const SqlResult result,
                         connection.Execute(kSumAnswers, {CodeOf(DocumentKind::kAnswer), kLeastAnswerBytes}));
                     return result.Read<Sum>(0, [](RowReader& row) { return Sum{row.Number(), row.Number()}; });
                   }));
  if (sum.bytes <= most_bytes) return 0;
  // As many as would do if all were alike, so that few go too many; what is still too much goes the next time.
  const int64_t average = sum.bytes / sum.answers;
  const int64_t rows = std::clamp<int64_t>((sum.bytes - most_bytes + average - 1) / average, 1, most_rows);
  ASSIGN_OR_RETURN(const SqlResult deleted, Free([rows](Connection& connection) {
                     return connection.Execute(kEvictAnswers, {CodeOf(DocumentKind::kAnswer), rows});
                   }));
  return deleted.affected();
}

absl::StatusOr<RetentionClock> SqlStore::LookAtClock(const Retention& retention) {
  const int64_t shorter = std::min(retention.documents, retention.operations).count();
  const int64_t longer = std::max(retention.documents, retention.operations).count();
  const int64_t most = std::max<int64_t>(1, std::min(kMostGap, shorter / 2));
  const auto look = [most, longer](Connection& connection) -> absl::StatusOr<RetentionClock> {
    ASSIGN_OR_RETURN(const SqlResult now, connection.Execute("SELECT planwright_now() AS now"));
    ASSIGN_OR_RETURN(const StoreTime time, now.Number());
    ASSIGN_OR_RETURN(const SqlResult newest, connection.Execute(kNewest));
    ASSIGN_OR_RETURN(const StoreTime last_use, newest.Number());
    // A store that nobody has swept yet has been looked at when it was last used.
    RetentionClock clock{.seen = last_use > 0 ? last_use : time, .leaps = {}};
    ASSIGN_OR_RETURN(const SqlResult mark,
                     connection.Execute("SELECT owner, lease_end FROM claims WHERE key = $1", {Text(kClockKey)}));
    if (!mark.empty()) {
      const auto known = mark.Read<std::optional<RetentionClock>>(0, [](RowReader& row) {
        const std::string leaps = row.Text();
        return RetentionClock::Parse(leaps, row.Number());
      });
      if (known.ok() && known->has_value()) clock = **known;
    }
    clock.LookAt(time, most, longer);
    RETURN_IF_ERROR(connection.Execute(kPutMark, {Text(kClockKey), Text(clock.Describe()), time}).status());
    return clock;
  };
  ASSIGN_OR_RETURN(const RetentionClock clock, Free(look));
  const std::lock_guard lock(health_mutex_);
  clock_warning_ = ClockWarning(clock);
  return clock;
}

absl::StatusOr<int64_t> SqlStore::Sweep(const Retention& retention) {
  struct Deletion {
    std::string_view sql;
    std::vector<SqlValue> parameters;
  };
  constexpr int64_t kQueuedCode = CodeOf(OperationState::kQueued);
  constexpr int64_t kRunningCode = CodeOf(OperationState::kRunning);
  const int64_t most = retention.rows_at_once;
  ASSIGN_OR_RETURN(const RetentionClock clock, LookAtClock(retention));
  const std::vector<Deletion> deletions = {
      {kDeleteUnused, {clock.Cutoff(retention.documents.count()), most}},
      {kDeleteSurplusPlans, {CodeOf(DocumentKind::kPlan), retention.items, retention.bytes, most}},
      {kDeleteEnded, {kQueuedCode, kRunningCode, clock.Cutoff(retention.operations.count()), most}},
      {kDeleteSurplusOperations, {kQueuedCode, kRunningCode, retention.items, retention.bytes, most}},
      {kDeleteOrphans, {most}},
      {kDeleteClaims, {kClaimAge, most, Text(kClockKey)}}};
  ASSIGN_OR_RETURN(int64_t deleted, EvictAnswers(retention.answer_bytes, most));
  for (const Deletion& deletion : deletions) {
    ASSIGN_OR_RETURN(const SqlResult result, Free([&](Connection& connection) {
                       return connection.Execute(deletion.sql, deletion.parameters);
                     }));
    deleted += result.affected();
  }
  return deleted;
}

}  // namespace planwright::server
