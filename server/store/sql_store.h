// The store in SQL that SQLite and PostgreSQL have in common.
#ifndef PLANWRIGHT_SERVER_STORE_SQL_STORE_H_
#define PLANWRIGHT_SERVER_STORE_SQL_STORE_H_

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "server/store/database/database.h"
#include "server/store/database/schema.h"
#include "server/store/lease_watch.h"
#include "server/store/retention_clock.h"
#include "server/store/store.h"

namespace planwright::server {

// Invariants, whatever dies when: (1) a job runs under at most one fence at a time, and only its worker's writes count;
// (2) an operation ends once; (3) a submission is there as a whole or not at all; (4) an operation with rows ends in
// the transaction that ends the last of them.
class SqlStore final : public Store {
 public:
  // The schema is prepared by the first call that succeeds in it. `steps` outlive the store.
  SqlStore(std::unique_ptr<Database> database, bool migrate, std::span<const SchemaStep> steps = SchemaSteps(),
           const RoomAlarm& alarm = {})
      : database_(std::move(database)), migrate_(migrate), steps_(steps), alarm_(alarm) {}

  std::string_view kind() const override { return database_->kind(); }
  absl::Status Check() override;
  StoreHealth health() const override;

  absl::StatusOr<PutResult> PutDocument(std::string_view tenant, DocumentKind kind, const Document& document,
                                        const Quota& quota) override;
  absl::Status PutAnswer(std::string_view tenant, const Document& document, int64_t most_bytes) override;
  absl::Status ReplaceDocument(std::string_view tenant, DocumentKind kind, const Document& document) override;
  absl::StatusOr<Document> FindDocument(std::string_view tenant, DocumentKind kind, std::string_view id) override;
  absl::StatusOr<std::vector<DocumentSummary>> ListDocuments(std::string_view tenant, DocumentKind kind,
                                                             const std::optional<PagePosition>& after,
                                                             int64_t limit) override;
  absl::Status DeleteDocument(std::string_view tenant, DocumentKind kind, std::string_view id) override;

  absl::StatusOr<ClaimResult> Claim(std::string_view key, std::string_view owner,
                                    std::chrono::milliseconds lease) override;
  absl::Status Unclaim(std::string_view key, std::string_view owner) override;

  absl::StatusOr<Operation> Submit(std::string_view tenant, const Submission& submission, const Quota& quota) override;
  absl::StatusOr<Operation> FindOperation(std::string_view tenant, std::string_view id, OperationView view) override;
  absl::StatusOr<std::vector<Operation>> ListOperations(std::string_view tenant, const OperationFilter& filter,
                                                        const std::optional<PagePosition>& after,
                                                        int64_t limit) override;
  absl::StatusOr<std::vector<Operation>> ListRows(std::string_view tenant, std::string_view parent) override;
  absl::Status RequestCancel(std::string_view tenant, std::string_view id) override;

  absl::StatusOr<std::optional<Operation>> TakeOperation(std::chrono::milliseconds lease,
                                                         const TurnOrder& order) override;
  absl::StatusOr<bool> RenewLease(std::string_view id, int64_t fence, std::chrono::milliseconds lease) override;
  absl::Status SaveIncumbent(std::string_view id, int64_t fence, std::string_view incumbent,
                             std::string_view progress) override;
  absl::Status EndOperation(std::string_view id, int64_t fence, const OperationEnd& end) override;
  absl::Status ReturnOperation(std::string_view id, int64_t fence) override;

  absl::StatusOr<std::map<std::string, TenantUsage>> CountUsage() override;

  absl::StatusOr<int64_t> Sweep(const Retention& retention) override;

 private:
  // Runs `body`, which takes a Connection and returns a Status or a StatusOr, in a transaction, and returns what it
  // returned. Every call goes through here: the schema is ready when `body` runs.
  template <typename Body>
  std::invoke_result_t<Body, Connection&> Run(Database::Access access, Body body) {
    absl::Status status = Prepare();
    if (!status.ok()) return status;
    std::invoke_result_t<Body, Connection&> result = absl::InternalError("the transaction did not run");
    status = database_->Transact(access, [&](Connection& connection) {
      result = body(connection);
      return StatusOf(result);
    });
    if (!status.ok()) return status;
    return result;
  }
  template <typename Body>
  auto Read(Body body) {
    return Run(Database::Access::kRead, std::move(body));
  }
  // `bytes`: what is written, about.
  template <typename Body>
  auto Write(Body body, std::size_t bytes = 0) {
    auto result = Run(Database::Access::kWrite, std::move(body));
    if (absl::IsUnavailable(StatusOf(result))) NoteRefusal(bytes);
    return result;
  }
  // As Write, for what takes more room than before: nothing of it is written where there is hardly any left.
  template <typename Body>
  std::invoke_result_t<Body, Connection&> Add(Body body, std::size_t bytes) {
    absl::Status status = CheckRoom();
    if (!status.ok()) return status;
    return Write(std::move(body), bytes);
  }
  // Writes what makes room.
  template <typename Body>
  auto Free(Body body) {
    auto result = Run(Database::Access::kFree, std::move(body));
    if (absl::IsUnavailable(StatusOf(result))) NoteRefusal(0);
    return result;
  }

  static absl::Status StatusOf(const absl::Status& status) { return status; }
  template <typename Value>
  static absl::Status StatusOf(const absl::StatusOr<Value>& result) {
    return result.status();
  }

  absl::Status Prepare();

  // A write of so many bytes was refused.
  void NoteRefusal(std::size_t bytes);
  // A write that changes nothing, but takes as many bytes as what was refused.
  absl::Status Probe();
  // Whether the disk has room for more than what makes room.
  absl::Status CheckRoom() const;
  // What somebody should know of the room that is left.
  std::string RoomWarning(int64_t store_bytes, const std::optional<Database::Room>& room) const;
  // Deletes some of the answers beyond `most_bytes`, the longest unused ones, in one transaction; returns how many.
  absl::StatusOr<int64_t> EvictAnswers(int64_t most_bytes, int64_t most_rows);
  // Looks at the clock, and returns how far it is.
  absl::StatusOr<RetentionClock> LookAtClock(const Retention& retention);

  // Counts a use of a document, unless one was counted lately. Losing that is no harm.
  void TouchDocument(std::string_view tenant, DocumentKind kind, std::string_view id);
  // Ends leases that end later than they can and that nobody renews (lease_watch.h).
  absl::Status EndDeadLeases(Connection& connection, std::chrono::milliseconds lease);
  // The operation that is next (TakeOperation); empty: there is none.
  absl::StatusOr<std::string> NextOperation(Connection& connection, const TurnOrder& order);
  // Ends `parent` if all of its rows have ended; nothing where it is empty.
  static absl::Status CloseParent(Connection& connection, std::string_view parent);

  std::unique_ptr<Database> database_;
  const bool migrate_;
  const std::span<const SchemaStep> steps_;
  std::atomic<bool> is_prepared_{false};
  LeaseWatch lease_watch_;
  const RoomAlarm alarm_;
  // When Check last wrote, and the largest of what could not be written since; negative: everything could be.
  std::atomic<std::chrono::steady_clock::time_point> last_probe_{std::chrono::steady_clock::time_point()};
  std::atomic<int64_t> refused_bytes_{-1};
  // Bytes of answers that were put since their sum was last looked at; at first nobody knows.
  std::atomic<int64_t> unsummed_bytes_{std::numeric_limits<int64_t>::max() / 2};
  mutable std::mutex health_mutex_;
  // Guarded by health_mutex_.
  StoreHealth health_;
  std::string clock_warning_;
};

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_STORE_SQL_STORE_H_
