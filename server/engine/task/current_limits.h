// The limits of models that hold now.
#ifndef PLANWRIGHT_SERVER_ENGINE_TASK_CURRENT_LIMITS_H_
#define PLANWRIGHT_SERVER_ENGINE_TASK_CURRENT_LIMITS_H_

#include <mutex>

#include "core/model/validator.h"

namespace planwright::server {

// Limits that may be replaced while requests are read. Thread-safe.
class CurrentLimits {
 public:
  explicit CurrentLimits(const ModelLimits& limits) : limits_(limits) {}

  ModelLimits Get() const {
    const std::lock_guard lock(mutex_);
    return limits_;
  }
  void Set(const ModelLimits& limits) {
    const std::lock_guard lock(mutex_);
    limits_ = limits;
  }

 private:
  mutable std::mutex mutex_;
  // Guarded by mutex_.
  ModelLimits limits_;
};

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_ENGINE_TASK_CURRENT_LIMITS_H_
