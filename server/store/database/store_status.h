// What is wrong with the store itself, rather than with what is asked of it.
#ifndef PLANWRIGHT_SERVER_STORE_DATABASE_STORE_STATUS_H_
#define PLANWRIGHT_SERVER_STORE_DATABASE_STORE_STATUS_H_

#include <string_view>

#include "absl/status/status.h"

namespace planwright::server {

// UNAVAILABLE: the database cannot be reached, read or written just now.
absl::Status StoreUnavailable(std::string_view why);

// UNAVAILABLE because room is missing: what is stored can be read and deleted.
absl::Status StoreFull(std::string_view why);

// Whether `status` is one that StoreFull made.
bool IsStoreFull(const absl::Status& status);

// Whether `status` is one that StoreUnavailable or StoreFull made.
bool IsStoreUnavailable(const absl::Status& status);

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_STORE_DATABASE_STORE_STATUS_H_
