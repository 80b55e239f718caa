// The tables of the store, and how they change from release to release.
//
// Expand, then contract: a step that adds something leaves the releases before it working; what is no longer used goes
// away a release later. So release N works with schemas N - 1 and N, servers of both run side by side, and an upgrade
// needs no pause.
#ifndef PLANWRIGHT_SERVER_STORE_DATABASE_SCHEMA_H_
#define PLANWRIGHT_SERVER_STORE_DATABASE_SCHEMA_H_

#include <span>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "server/store/database/database.h"

namespace planwright::server {

// From version - 1 to version.
struct SchemaStep {
  std::vector<std::string_view> statements;
  // The oldest release, by the version of its newest schema, that still works afterwards.
  int64_t oldest_release = 1;
};

// The steps of this release; the first one makes schema 1 of nothing.
std::span<const SchemaStep> SchemaSteps();

// Makes the newest schema in an empty database; `migrate`: also of an older one. Several servers may do so at once.
// FAILED_PRECONDITION: the schema is too new for this release, or too old: then --migrate helps.
absl::Status PrepareSchema(Database& database, std::span<const SchemaStep> steps, bool migrate);

// As PrepareSchema without changing anything; an empty database is FAILED_PRECONDITION, too.
absl::Status CheckSchema(Database& database, std::span<const SchemaStep> steps);

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_STORE_DATABASE_SCHEMA_H_
