// The store that a setting names.
#ifndef PLANWRIGHT_SERVER_STORE_OPEN_STORE_H_
#define PLANWRIGHT_SERVER_STORE_OPEN_STORE_H_

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "server/store/database/database.h"
#include "server/store/store.h"

namespace planwright::server {

inline constexpr char kDefaultStore[] = "sqlite:$XDG_STATE_HOME/planwright/planwright.db";

// `setting`: "sqlite:PATH" (the folder is made; a leading $XDG_STATE_HOME is what the environment says, else
// ~/.local/state, as the specification of XDG base directories says), "postgresql:" and what libpq takes, or "none"
// (nullptr). `migrate`: bring an older schema up to date. INVALID_ARGUMENT: none of these, or this build has no
// PostgreSQL. UNAVAILABLE: it cannot be written. A full disk, or a PostgreSQL that does not answer, or whose schema is
// not ours, is no error: it may answer later; until then every call says so.
absl::StatusOr<std::unique_ptr<Store>> OpenStore(std::string_view setting, bool migrate, const RoomAlarm& alarm = {});

// The database behind it, as it is; nullptr for "none".
absl::StatusOr<std::unique_ptr<Database>> OpenDatabase(std::string_view setting);

// The file of a setting that CheckStoreSetting takes; empty: it names another kind of store.
std::string SqlitePathOf(std::string_view setting);

// What is wrong with the form of `setting`, without opening anything; what stands behind "postgresql:" is not read.
absl::Status CheckStoreSetting(std::string_view setting);

// What logs may say of a setting: that of another store than SQLite may hold a password.
std::string_view WithoutSecrets(std::string_view setting);

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_STORE_OPEN_STORE_H_
