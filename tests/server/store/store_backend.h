// The databases that every test of the store runs on.
#ifndef PLANWRIGHT_TESTS_SERVER_STORE_STORE_BACKEND_H_
#define PLANWRIGHT_TESTS_SERVER_STORE_STORE_BACKEND_H_

#include <memory>
#include <string>

#include "server/store/database/database.h"

namespace planwright::server {

// One empty database, which several stores may share.
class StoreBackend {
 public:
  virtual ~StoreBackend() = default;

  // Another way in, as another server would have.
  virtual std::unique_ptr<Database> Open() = 0;
  // Moves its clock; negative: back. REQUIRES: a store has prepared its schema.
  virtual void AdvanceClock(int64_t milliseconds) = 0;
};

// "sqlite" or "postgresql"; nullptr: PostgreSQL is not installed, or this build knows none.
std::unique_ptr<StoreBackend> MakeStoreBackend(const std::string& kind);

}  // namespace planwright::server

#endif  // PLANWRIGHT_TESTS_SERVER_STORE_STORE_BACKEND_H_
