#include "server/store/open_store.h"

#include <cstdlib>
#include <filesystem>
#include <span>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/base/strings.h"
#include "server/store/database/sqlite_database.h"
#include "server/store/database/store_status.h"
#include "server/store/sql_store.h"
#ifdef PLANWRIGHT_POSTGRESQL
#include "server/store/database/postgres_database.h"
#endif

namespace planwright::server {
namespace {

constexpr std::string_view kSqlite = "sqlite:";
constexpr std::string_view kPostgres = "postgresql:";

std::string EnvironmentOr(const char* name, std::string otherwise) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : std::move(otherwise);
}

std::filesystem::path WithStateHome(std::string_view path) {
  constexpr std::string_view kStateHome = "$XDG_STATE_HOME";
  if (!path.starts_with(kStateHome)) return path;
  const std::string home = EnvironmentOr("XDG_STATE_HOME", EnvironmentOr("HOME", ".") + "/.local/state");
  return absl::StrCat(home, ToAbsl(path.substr(kStateHome.size())));
}

absl::StatusOr<std::unique_ptr<Database>> OpenSqliteFile(const std::filesystem::path& path) {
  std::error_code error;
  if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path(), error);
  if (error) {
    return StoreUnavailable(
        absl::StrCat("cannot make the folder ", path.parent_path().string(), ": ", error.message()));
  }
  return OpenSqlite(path.string());
}

absl::StatusOr<std::unique_ptr<Database>> OpenPostgresServer([[maybe_unused]] std::string_view setting) {
#ifdef PLANWRIGHT_POSTGRESQL
  const bool is_uri = setting.starts_with("postgresql://");
  return OpenPostgres(std::string(is_uri ? setting : setting.substr(kPostgres.size())));
#else
  return nullptr;
#endif
}

}  // namespace

absl::StatusOr<std::unique_ptr<Database>> OpenDatabase(std::string_view setting) {
  RETURN_IF_ERROR(CheckStoreSetting(setting));
  if (setting.starts_with(kSqlite)) return OpenSqliteFile(SqlitePathOf(setting));
  if (setting.starts_with(kPostgres)) return OpenPostgresServer(setting);
  return nullptr;
}

absl::StatusOr<std::unique_ptr<Store>> OpenStore(std::string_view setting, bool migrate, const RoomAlarm& alarm) {
  ASSIGN_OR_RETURN(std::unique_ptr<Database> database, OpenDatabase(setting));
  if (database == nullptr) return nullptr;
  return std::make_unique<SqlStore>(std::move(database), migrate, SchemaSteps(), alarm);
}

std::string SqlitePathOf(std::string_view setting) {
  return setting.starts_with(kSqlite) ? WithStateHome(setting.substr(kSqlite.size())).string() : std::string();
}

absl::Status CheckStoreSetting(std::string_view setting) {
  if (setting == "none") return absl::OkStatus();
  if (setting == kSqlite) return absl::InvalidArgumentError("must name a file: sqlite:PATH");
  if (setting.starts_with(kSqlite)) return absl::OkStatus();
  if (setting.starts_with(kPostgres)) {
#ifdef PLANWRIGHT_POSTGRESQL
    return absl::OkStatus();
#else
    return absl::InvalidArgumentError("this build has no PostgreSQL (libpqxx-dev was missing)");
#endif
  }
  return absl::InvalidArgumentError(
      absl::StrCat("must be sqlite:PATH, postgresql:CONNECTION or none, is \"", ToAbsl(WithoutSecrets(setting)), "\""));
}

std::string_view WithoutSecrets(std::string_view setting) {
  return setting.starts_with(kSqlite) ? setting : setting.substr(0, setting.find(':'));
}

}  // namespace planwright::server
