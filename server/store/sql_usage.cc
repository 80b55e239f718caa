// What tenants have in SqlStore.
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status_macros.h"
#include "server/store/sql_codes.h"
#include "server/store/sql_store.h"

namespace planwright::server {
namespace {

constexpr std::string_view kDocuments =
    "SELECT tenant, COUNT(*), CAST(SUM(stored_bytes) AS BIGINT) FROM documents WHERE kind IN ($1, $2, $3) GROUP BY "
    "tenant";
constexpr std::string_view kPending =
    "SELECT tenant, COUNT(*) FROM operations WHERE is_job = 1 AND state IN ($1, $2) GROUP BY tenant";

// Rows that these queries return.
struct Stored {
  std::string tenant;
  int64_t documents = 0;
  int64_t bytes = 0;
};
struct PendingOperations {
  std::string tenant;
  int64_t operations = 0;
};

}  // namespace

absl::StatusOr<std::map<std::string, TenantUsage>> SqlStore::CountUsage() {
  const std::vector<SqlValue> kinds = {CodeOf(DocumentKind::kPlan), CodeOf(DocumentKind::kGraph),
                                       CodeOf(DocumentKind::kCluster)};
  const std::vector<SqlValue> states = {CodeOf(OperationState::kQueued), CodeOf(OperationState::kRunning)};
  return Read([&](Connection& connection) -> absl::StatusOr<std::map<std::string, TenantUsage>> {
    std::map<std::string, TenantUsage> usage;
    ASSIGN_OR_RETURN(const SqlResult documents, connection.Execute(kDocuments, kinds));
    ASSIGN_OR_RETURN(const auto stored, documents.ReadAll<Stored>([](RowReader& row) {
      return Stored{row.Text(), row.Number(), row.Number()};
    }));
    for (const Stored& one : stored) usage[one.tenant] = {.documents = one.documents, .bytes = one.bytes};
    ASSIGN_OR_RETURN(const SqlResult operations, connection.Execute(kPending, states));
    ASSIGN_OR_RETURN(const auto pending, operations.ReadAll<PendingOperations>([](RowReader& row) {
      return PendingOperations{row.Text(), row.Number()};
    }));
    for (const PendingOperations& one : pending) usage[one.tenant].pending_operations = one.operations;
    return usage;
  });
}

}  // namespace planwright::server
