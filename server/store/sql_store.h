// The store in SQL that SQLite and PostgreSQL have in common.
#ifndef PLANWRIGHT_SERVER_STORE_SQL_STORE_H_
#define PLANWRIGHT_SERVER_STORE_SQL_STORE_H_

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "server/store/database.h"
#include "server/store/schema.h"
#include "server/store/store.h"

namespace planwright::server {

// Invariants, whatever dies when: (1) a job runs under at most one fence at a time, and only its worker's writes count;
// (2) an operation ends once; (3) a submission is there as a whole or not at all; (4) an operation with rows ends in
// the transaction that ends the last of them.
class SqlStore final : public Store {
 public:
  // The schema is prepared by the first call that succeeds in it. `steps` outlive the store.
  SqlStore(std::unique_ptr<Database> database, bool migrate, std::span<const SchemaStep> steps = SchemaSteps())
      : database_(std::move(database)), migrate_(migrate), steps_(steps) {}

  std::string_view kind() const override { return database_->kind(); }
  absl::Status Check() override;

  absl::StatusOr<PutResult> PutDocument(std::string_view tenant, DocumentKind kind, const Document& document,
                                        const Quota& quota) override;
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
    if (access == Database::Access::kWrite && absl::IsUnavailable(status)) has_failed_ = true;
    if (!status.ok()) return status;
    return result;
  }
  template <typename Body>
  auto Read(Body body) {
    return Run(Database::Access::kRead, std::move(body));
  }
  template <typename Body>
  auto Write(Body body) {
    return Run(Database::Access::kWrite, std::move(body));
  }

  static absl::Status StatusOf(const absl::Status& status) { return status; }
  template <typename Value>
  static absl::Status StatusOf(const absl::StatusOr<Value>& result) {
    return result.status();
  }

  absl::Status Prepare();

  // Counts a use of a document, unless one was counted lately. Losing that is no harm.
  void TouchDocument(std::string_view tenant, DocumentKind kind, std::string_view id);
  // The operation that is next (TakeOperation); empty: there is none.
  absl::StatusOr<std::string> NextOperation(Connection& connection, const TurnOrder& order);
  // Ends `parent` if all of its rows have ended; nothing where it is empty.
  static absl::Status CloseParent(Connection& connection, std::string_view parent);

  std::unique_ptr<Database> database_;
  const bool migrate_;
  const std::span<const SchemaStep> steps_;
  std::atomic<bool> is_prepared_{false};
  // When Check last wrote, and whether something could not be written since.
  std::atomic<std::chrono::steady_clock::time_point> last_probe_{std::chrono::steady_clock::time_point()};
  std::atomic<bool> has_failed_{false};
};

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_STORE_SQL_STORE_H_
