// Exceptions end here: gRPC would turn them into UNIMPLEMENTED, a worker thread into the end of the process.
#ifndef PLANWRIGHT_SERVER_ENGINE_TASK_WITHOUT_EXCEPTIONS_H_
#define PLANWRIGHT_SERVER_ENGINE_TASK_WITHOUT_EXCEPTIONS_H_

#include <exception>
#include <new>

#include "absl/status/status.h"

namespace planwright::server {

// What `handle` returns, a status or a StatusOr; RESOURCE_EXHAUSTED or INTERNAL for an exception.
template <typename Handle>
auto WithoutExceptions(Handle handle) -> decltype(handle()) {
  try {
    return handle();
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError("the request needs more memory than the server has");
  } catch (const std::exception& error) {
    return absl::InternalError(error.what());
  }
}

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_ENGINE_TASK_WITHOUT_EXCEPTIONS_H_
