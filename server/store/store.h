// What the service keeps: plans, graphs, clusters, cached answers, long-running operations.
//
// One interface, SQLite or PostgreSQL behind it (open_store.h). Plain values: what rows contain is bytes here, and
// messages above. Every row has an owner tenant, and no call sees rows of another one, except those of the workers that
// run operations, and of those who look after the store. Times are milliseconds since 1970 on the clock of the
// database, which all servers of a store share.
#ifndef PLANWRIGHT_SERVER_STORE_STORE_H_
#define PLANWRIGHT_SERVER_STORE_STORE_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace planwright::server {

// Milliseconds since 1970.
using StoreTime = int64_t;

// ---- Documents: whatever is put once and read by its name.

// kAnswer: answers of the plan cache, by their request's digest; they count towards no tenant's quota, but have a limit
// of their own (PutAnswer).
enum class DocumentKind { kPlan, kGraph, kCluster, kAnswer };

struct Document {
  // Unique for its tenant and kind; at most 128 printable ASCII characters.
  std::string id;
  // What lists show; small.
  std::string summary;
  // Compressed and checksummed on its way.
  std::string content;
  // Set by the store.
  StoreTime create_time = 0;
};

// What became of a document that was to be put.
struct PutResult {
  // Otherwise there was one already.
  bool was_put = false;
  // When the document was created that is there now.
  StoreTime create_time = 0;
};

// What is listed: no content.
struct DocumentSummary {
  std::string id;
  std::string summary;
  StoreTime create_time = 0;
};

// Where a page of a list begins: behind this row, in descending order of (time, id).
struct PagePosition {
  StoreTime time = 0;
  std::string id;
};

// What a tenant may have.
struct Quota {
  // Plans, graphs and clusters together; bytes as stored.
  int64_t documents = 100'000;
  int64_t bytes = int64_t{10} << 30;
  // Operations that have not ended; they may take as many bytes again as documents.
  int64_t pending_operations = 10'000;
  // The operations of all tenants together, bytes as stored.
  int64_t all_pending_bytes = int64_t{4} << 30;
};

// ---- Health

// When somebody should look after the room that the store has.
struct RoomAlarm {
  // Less is free on its disk, where that is known; 0: never. Below an eighth of it nothing more is taken in.
  int64_t free_bytes = 0;
  // The store is larger; 0: never.
  int64_t store_bytes = 0;
};

// What is known of a store that works.
struct StoreHealth {
  // What it takes, some minutes ago at most.
  int64_t store_bytes = 0;
  // What is free on its disk; nullopt: it is not known.
  std::optional<int64_t> free_bytes;
  // What somebody should look at before it stops working; empty: nothing.
  std::string warning;
};

// What a tenant has.
struct TenantUsage {
  // As Quota counts them.
  int64_t documents = 0;
  int64_t bytes = 0;
  int64_t pending_operations = 0;
};

// ---- ClaimKeeper: who of several servers does something that is worth doing once.

struct ClaimResult {
  bool is_ours = false;
  // The owner, ours or not; empty: nobody's any more.
  std::string owner;
};

// ---- Operations: jobs that outlive the call that submitted them.

enum class OperationState { kQueued, kRunning, kSucceeded, kFailed, kCancelled };

inline bool HasEnded(OperationState state) {
  return state != OperationState::kQueued && state != OperationState::kRunning;
}

struct NewOperation {
  // Unique in the store; as Document.id.
  std::string id;
  // What is to be done.
  std::string request;
};

// A batch of operations that is submitted as one.
struct Submission {
  // The one that the caller learns of. Where `rows` is empty it is a job itself; otherwise its rows are, and it ends
  // with the last of them.
  NewOperation operation;
  std::vector<NewOperation> rows;
  // Names the submission for its tenant; empty: it has no name.
  std::string request_id;
};

struct Operation {
  std::string tenant;
  std::string id;
  // The submission's; empty for rows.
  std::string request_id;
  // The operation that this one is a row of; empty: none.
  std::string parent;
  // Whether it has rows, which are the jobs then.
  bool has_rows = false;
  OperationState state = OperationState::kQueued;
  std::string request;
  // The best that was saved so far, and in short.
  std::string incumbent;
  std::string progress;
  // What it ended with, and in short.
  std::string result;
  std::string summary;
  int32_t attempts = 0;
  bool cancel_requested = false;
  StoreTime create_time = 0;
  // 0: not yet.
  StoreTime start_time = 0;
  StoreTime end_time = 0;
  // Proves the right to write to the operation: only the latest taker has its current value.
  int64_t fence = 0;
};

// Which of its bytes an operation is read with.
enum class OperationView {
  // progress and summary.
  kShort,
  // Also request, incumbent and result.
  kFull,
};

struct OperationFilter {
  std::optional<OperationState> state = std::nullopt;
  // Rows of this operation; empty: operations that are no rows.
  // GCC warns where only fields before or behind one without an initializer are given.
  std::string parent = {};  // NOLINT(readability-redundant-member-init)
};

// How an operation ends.
struct OperationEnd {
  // kSucceeded, kFailed or kCancelled.
  OperationState state = OperationState::kFailed;
  std::string result;
  std::string summary;
};

// ---- The store.

// Thread-safe; calls block on the database, so none belongs on a thread of gRPC's. Errors of every call:
//   UNAVAILABLE         the database does not answer, is locked, full or read-only; IsStoreUnavailable (database.h).
//   FAILED_PRECONDITION the database has a schema that this release cannot use.
//   DATA_LOSS           a row is damaged.
class Store {
 public:
  virtual ~Store() = default;

  // "sqlite", "postgresql".
  virtual std::string_view kind() const = 0;

  // OK: the database answers, has a schema of ours and can be written: that is tried once a minute, and each time after
  // something could not be, with as many bytes as that had.
  virtual absl::Status Check() = 0;
  // As of the last Check and Sweep.
  virtual StoreHealth health() const = 0;

  // -- Documents

  // Puts a document unless there is one of its kind with its id, which counts as a use of it then. RESOURCE_EXHAUSTED:
  // the quota is used up.
  virtual absl::StatusOr<PutResult> PutDocument(std::string_view tenant, DocumentKind kind, const Document& document,
                                                const Quota& quota) = 0;
  // Puts an answer of the cache whatever is there. All of them together take at most `most_bytes` of the store, where
  // each counts for at least a KiB; the longest unused ones make room. Of several servers each may exceed that by a
  // sixteenth.
  virtual absl::Status PutAnswer(std::string_view tenant, const Document& document, int64_t most_bytes) = 0;
  // Puts a document whatever is there.
  virtual absl::Status ReplaceDocument(std::string_view tenant, DocumentKind kind, const Document& document) = 0;
  // NOT_FOUND. DATA_LOSS: it does not match its checksum. Counts as a use (Retention::documents).
  virtual absl::StatusOr<Document> FindDocument(std::string_view tenant, DocumentKind kind, std::string_view id) = 0;
  // Lists at most `limit` of them, the latest first, from `after`.
  virtual absl::StatusOr<std::vector<DocumentSummary>> ListDocuments(std::string_view tenant, DocumentKind kind,
                                                                     const std::optional<PagePosition>& after,
                                                                     int64_t limit) = 0;
  // NOT_FOUND.
  virtual absl::Status DeleteDocument(std::string_view tenant, DocumentKind kind, std::string_view id) = 0;

  // -- Claims

  // Gives `key` to `owner` until `lease` is over, if it was free, its lease was over, or `owner` had it already.
  virtual absl::StatusOr<ClaimResult> Claim(std::string_view key, std::string_view owner,
                                            std::chrono::milliseconds lease) = 0;
  // Does nothing where `owner` does not have it.
  virtual absl::Status Unclaim(std::string_view key, std::string_view owner) = 0;

  // -- Operations, for those who submit them

  // Stores all of a submission or nothing. Where the tenant has submitted under this request_id before: the operation
  // of then; ALREADY_EXISTS where its request was another. RESOURCE_EXHAUSTED: the quota is used up.
  virtual absl::StatusOr<Operation> Submit(std::string_view tenant, const Submission& submission,
                                           const Quota& quota) = 0;
  // NOT_FOUND.
  virtual absl::StatusOr<Operation> FindOperation(std::string_view tenant, std::string_view id, OperationView view) = 0;
  // As ListDocuments, with OperationView::kShort. `tenant` empty: those of all tenants, which reads all operations.
  virtual absl::StatusOr<std::vector<Operation>> ListOperations(std::string_view tenant, const OperationFilter& filter,
                                                                const std::optional<PagePosition>& after,
                                                                int64_t limit) = 0;
  // The rows of an operation in the order of their submission, with OperationView::kShort.
  virtual absl::StatusOr<std::vector<Operation>> ListRows(std::string_view tenant, std::string_view parent) = 0;
  // Ends what is queued, and asks what runs to stop; rows included. Nothing happens to what has ended. NOT_FOUND.
  virtual absl::Status RequestCancel(std::string_view tenant, std::string_view id) = 0;

  // -- Operations, for the workers that run them

  // Puts tenants for whom operations wait into the order of their turns, and leaves out those that may not have one.
  // May be called several times, or not at all, for one operation.
  using TurnOrder = std::function<std::vector<std::string>(std::vector<std::string> tenants)>;

  // Takes an operation of the first tenant in `order` for whom one can be had, the one that has waited longest: one
  // that is queued, or whose lease is over because its worker died. It belongs to the caller until `lease` is over,
  // RUNNING, with a new fence. nullopt: there is none just now. One whose request is damaged is ended as kFailed,
  // without a result.
  virtual absl::StatusOr<std::optional<Operation>> TakeOperation(std::chrono::milliseconds lease,
                                                                 const TurnOrder& order) = 0;
  // Keeps what was taken for another `lease`; returns whether it was asked to stop. ABORTED: somebody else has it.
  virtual absl::StatusOr<bool> RenewLease(std::string_view id, int64_t fence, std::chrono::milliseconds lease) = 0;
  // Saves the best so far. ABORTED: somebody else has the operation.
  virtual absl::Status SaveIncumbent(std::string_view id, int64_t fence, std::string_view incumbent,
                                     std::string_view progress) = 0;
  // Ends it, exactly once: saying it again changes nothing. ABORTED: somebody else has it or has ended it.
  virtual absl::Status EndOperation(std::string_view id, int64_t fence, const OperationEnd& end) = 0;
  // Puts it back into the queue. ABORTED: somebody else has it.
  virtual absl::Status ReturnOperation(std::string_view id, int64_t fence) = 0;

  // -- For those who look after the store

  // What tenants have that have something. Reads an index from end to end: a moment for a million rows.
  virtual absl::StatusOr<std::map<std::string, TenantUsage>> CountUsage() = 0;

  // -- Housekeeping

  // How long things are kept.
  struct Retention {
    // Since the last use, to a day. Of the time between two sweeps no more than a day counts, nor than half of the
    // shorter one of these: a clock that leaps makes nothing old (retention_clock.h).
    std::chrono::milliseconds documents = std::chrono::hours(24 * 30);
    // Since they ended; with their rows.
    std::chrono::milliseconds operations = std::chrono::hours(24 * 30);
    // What each tenant may keep: so many plans, and as many operations that have ended, where a sweep counts with its
    // rows. The plans that nobody has used for longest and the operations that ended first go first.
    int64_t items = 100'000;
    // As above, but bytes as stored.
    int64_t bytes = int64_t{10} << 30;
    // What all answers of the cache may take together, as PutAnswer counts; the longest unused go first.
    int64_t answer_bytes = int64_t{1} << 30;
    // What one transaction deletes at most, so that nobody waits for it for long; sweeps go whole. >= 1.
    int64_t rows_at_once = 1000;
  };
  // Deletes some of what has been kept long enough and of what is too much, in a few short transactions; returns how
  // many rows, 0: nothing of it is left. Operations that have not ended stay, whatever they take.
  virtual absl::StatusOr<int64_t> Sweep(const Retention& retention) = 0;
};

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_STORE_STORE_H_
