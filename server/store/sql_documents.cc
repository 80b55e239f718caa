// The documents of SqlStore.
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/base/strings.h"
#include "server/store/database/packed_bytes.h"
#include "server/store/database/store_status.h"
#include "server/store/sql_codes.h"
#include "server/store/sql_store.h"

namespace planwright::server {
namespace {

// How exactly the time of the last use is known.
constexpr int64_t kUseGrain = int64_t{24} * 3600 * 1000;

constexpr std::string_view kUsage =
    "SELECT COUNT(*), CAST(COALESCE(SUM(stored_bytes), 0) AS BIGINT) FROM documents WHERE tenant = $1 AND kind IN ($2, "
    "$3, $4)";
constexpr std::string_view kInsertDocument =
    "INSERT INTO documents (tenant, kind, id, summary, content, stored_bytes, create_time, use_time) VALUES ($1, $2, "
    "$3, "
    "$4, $5, $6, planwright_now(), planwright_now()) ON CONFLICT (tenant, kind, id) DO ";
constexpr std::string_view kOverwrite =
    "UPDATE SET summary = excluded.summary, content = excluded.content, stored_bytes = excluded.stored_bytes, "
    "create_time = excluded.create_time, use_time = excluded.use_time";
constexpr std::string_view kSelect =
    "SELECT id, summary, content, create_time, CAST(CASE WHEN use_time < planwright_now() - $4 THEN 1 ELSE 0 END AS "
    "BIGINT) AS is_stale FROM documents WHERE tenant = $1 AND kind = $2 AND id = $3";
constexpr std::string_view kTouch =
    "UPDATE documents SET use_time = planwright_now() WHERE tenant = $1 AND kind = $2 AND id = $3";
constexpr std::string_view kDelete = "DELETE FROM documents WHERE tenant = $1 AND kind = $2 AND id = $3";

absl::Status NothingStored(std::string_view id) {
  return absl::NotFoundError(absl::StrCat("nothing is stored as \"", ToAbsl(id), "\""));
}

struct Usage {
  int64_t documents = 0;
  int64_t bytes = 0;
};

// Whether what the tenant has is within its quota.
absl::Status CheckDocumentQuota(Connection& connection, std::string_view tenant, const Quota& quota) {
  ASSIGN_OR_RETURN(const SqlResult result,
                   connection.Execute(kUsage, {Text(tenant), CodeOf(DocumentKind::kPlan), CodeOf(DocumentKind::kGraph),
                                               CodeOf(DocumentKind::kCluster)}));
  ASSIGN_OR_RETURN(const Usage usage, result.Read<Usage>(0, [](RowReader& row) {
    return Usage{row.Number(), row.Number()};
  }));
  if (usage.documents > quota.documents) {
    return absl::ResourceExhaustedError(absl::StrCat("the quota is used up: ", quota.documents,
                                                     " plans, graphs and clusters may be stored; delete some"));
  }
  if (usage.bytes > quota.bytes) {
    return absl::ResourceExhaustedError(absl::StrCat("the quota is used up: plans, graphs and clusters may take ",
                                                     quota.bytes, " bytes together, compressed; delete some"));
  }
  return absl::OkStatus();
}

struct DocumentRow {
  std::vector<SqlValue> values;
  std::size_t packed_bytes = 0;
};

DocumentRow RowOf(std::string_view tenant, DocumentKind kind, const Document& document) {
  std::string packed = Pack(document.content);
  DocumentRow row{.values = {Text(tenant), CodeOf(kind), Text(document.id), Blob(document.summary)},
                  .packed_bytes = packed.size()};
  // Moved: a list would copy it.
  row.values.push_back(Blob(std::move(packed)));
  row.values.emplace_back(static_cast<int64_t>(row.packed_bytes + document.summary.size()));
  return row;
}

}  // namespace

absl::StatusOr<PutResult> SqlStore::PutDocument(std::string_view tenant, DocumentKind kind, const Document& document,
                                                const Quota& quota) {
  const DocumentRow row = RowOf(tenant, kind, document);
  const std::string insert = absl::StrCat(ToAbsl(kInsertDocument), "NOTHING RETURNING create_time");
  const std::string touch = absl::StrCat(ToAbsl(kTouch), " RETURNING create_time");
  const auto put_once = [&](Connection& connection) -> absl::StatusOr<PutResult> {
    // Documents of a tenant that are put at the same time would not see each other.
    RETURN_IF_ERROR(database_->LockName(connection, absl::StrCat("documents/", ToAbsl(tenant))));
    ASSIGN_OR_RETURN(const SqlResult put, connection.Execute(insert, row.values));
    if (!put.empty()) {
      // What was inserted counts already, and goes again where it does not fit.
      RETURN_IF_ERROR(CheckDocumentQuota(connection, tenant, quota));
      ASSIGN_OR_RETURN(const StoreTime create_time, put.Number());
      return PutResult{.was_put = true, .create_time = create_time};
    }
    ASSIGN_OR_RETURN(const SqlResult kept, connection.Execute(touch, {Text(tenant), CodeOf(kind), Text(document.id)}));
    // Deleted between the two statements.
    if (kept.empty()) return StoreUnavailable("the row was deleted meanwhile");
    ASSIGN_OR_RETURN(const StoreTime create_time, kept.Number());
    return PutResult{.was_put = false, .create_time = create_time};
  };
  return Add(put_once, row.packed_bytes);
}

absl::Status SqlStore::ReplaceDocument(std::string_view tenant, DocumentKind kind, const Document& document) {
  const DocumentRow row = RowOf(tenant, kind, document);
  const auto put = [&](Connection& connection) {
    return connection.Execute(absl::StrCat(ToAbsl(kInsertDocument), ToAbsl(kOverwrite)), row.values).status();
  };
  return Add(put, row.packed_bytes);
}

absl::StatusOr<Document> SqlStore::FindDocument(std::string_view tenant, DocumentKind kind, std::string_view id) {
  bool is_stale = false;
  auto document = Read([&](Connection& connection) -> absl::StatusOr<Document> {
    ASSIGN_OR_RETURN(const SqlResult result,
                     connection.Execute(kSelect, {Text(tenant), CodeOf(kind), Text(id), kUseGrain}));
    if (result.empty()) return NothingStored(id);
    return result.Read<Document>(0, [&is_stale](RowReader& row) -> absl::StatusOr<Document> {
      Document found;
      found.id = row.Text();
      found.summary = row.Blob();
      ASSIGN_OR_RETURN(found.content, ReadPacked(row));
      found.create_time = row.Number();
      is_stale = row.Number() != 0;
      return found;
    });
  });
  if (is_stale) TouchDocument(tenant, kind, id);
  return document;
}

void SqlStore::TouchDocument(std::string_view tenant, DocumentKind kind, std::string_view id) {
  Write([&](Connection& connection) {
    return connection.Execute(kTouch, {Text(tenant), CodeOf(kind), Text(id)}).status();
  }).IgnoreError();
}

absl::StatusOr<std::vector<DocumentSummary>> SqlStore::ListDocuments(std::string_view tenant, DocumentKind kind,
                                                                     const std::optional<PagePosition>& after,
                                                                     int64_t limit) {
  std::string sql = "SELECT id, summary, create_time FROM documents WHERE tenant = $1 AND kind = $2";
  std::vector<SqlValue> parameters = {Text(tenant), CodeOf(kind), limit};
  if (after.has_value()) {
    sql += " AND (create_time, id) < ($4, $5)";
    parameters.emplace_back(after->time);
    parameters.push_back(Text(after->id));
  }
  sql += " ORDER BY create_time DESC, id DESC LIMIT $3";
  return Read([&](Connection& connection) -> absl::StatusOr<std::vector<DocumentSummary>> {
    ASSIGN_OR_RETURN(const SqlResult result, connection.Execute(sql, parameters));
    return result.ReadAll<DocumentSummary>([](RowReader& row) {
      DocumentSummary document;
      document.id = row.Text();
      document.summary = row.Blob();
      document.create_time = row.Number();
      return document;
    });
  });
}

absl::Status SqlStore::DeleteDocument(std::string_view tenant, DocumentKind kind, std::string_view id) {
  return Free([&](Connection& connection) -> absl::Status {
    ASSIGN_OR_RETURN(const SqlResult result, connection.Execute(kDelete, {Text(tenant), CodeOf(kind), Text(id)}));
    return result.affected() > 0 ? absl::OkStatus() : NothingStored(id);
  });
}

}  // namespace planwright::server
