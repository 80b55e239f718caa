// What the libraries log, which they would write to standard error themselves.
#ifndef PLANWRIGHT_SERVER_MAIN_LIBRARY_LOGS_H_
#define PLANWRIGHT_SERVER_MAIN_LIBRARY_LOGS_H_

#include "server/observability/log.h"

namespace planwright::server {

// While it lives, lines of gRPC and Protobuf go to a logger. One at a time.
class LibraryLogs {
 public:
  // `log` outlives it.
  explicit LibraryLogs(const Logger& log);
  ~LibraryLogs();
  LibraryLogs(const LibraryLogs&) = delete;
  LibraryLogs& operator=(const LibraryLogs&) = delete;

  // Has gRPC say as much as the logger writes: all of it when that is at Severity::kDebug, else errors only.
  void FollowLevel() const;

 private:
  const Logger& log_;
};

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_MAIN_LIBRARY_LOGS_H_
