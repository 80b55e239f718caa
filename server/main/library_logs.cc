#include "server/main/library_logs.h"

#include <google/protobuf/stubs/logging.h>
#include <grpc/support/log.h>

#include <atomic>
#include <string>

namespace planwright::server {
namespace {

// The libraries take plain functions, so what these write to cannot be handed to them.
std::atomic<const Logger*> library_log = nullptr;

void WriteLine(Severity severity, const char* component, const std::string& text) {
  const Logger* log = library_log;
  if (log != nullptr) log->Write(severity, text, {{"component", std::string(component)}});
}

void WriteGrpcLine(gpr_log_func_args* line) {
  constexpr Severity kSeverities[] = {Severity::kDebug, Severity::kInfo, Severity::kError};
  static_assert(GPR_LOG_SEVERITY_DEBUG == 0 && GPR_LOG_SEVERITY_INFO == 1 && GPR_LOG_SEVERITY_ERROR == 2);
  WriteLine(kSeverities[line->severity], "grpc", line->message);
}

void WriteProtobufLine(google::protobuf::LogLevel level, const char* /*file*/, int /*line*/, const std::string& text) {
  const bool is_error = level >= google::protobuf::LOGLEVEL_ERROR;
  WriteLine(is_error ? Severity::kError : Severity::kWarning, "protobuf", text);
}

}  // namespace

LibraryLogs::LibraryLogs(const Logger& log) : log_(log) {
  library_log = &log;
  gpr_set_log_function(&WriteGrpcLine);
  google::protobuf::SetLogHandler(&WriteProtobufLine);
  if (log_.level() == Severity::kDebug) FollowLevel();
}

// The functions stay: a thread of gRPC's may be in one of them.
LibraryLogs::~LibraryLogs() { library_log = nullptr; }

void LibraryLogs::FollowLevel() const {
  gpr_set_log_verbosity(log_.level() == Severity::kDebug ? GPR_LOG_SEVERITY_DEBUG : GPR_LOG_SEVERITY_ERROR);
}

}  // namespace planwright::server
