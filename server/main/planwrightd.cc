// planwrightd: the planning server. See --help.
#include <grpc/support/log.h>
#include <oneapi/tbb/global_control.h>
#include <pthread.h>

#include <csignal>
#include <cstdio>
#include <string>

#include "absl/synchronization/mutex.h"
#include "server/main/configuration.h"
#include "server/main/daemon.h"
#include "server/observability/log.h"

namespace planwright::server {
namespace {

// gRPC's log function is a plain function pointer, so the logger that it writes to cannot be handed to it.
const Logger* grpc_log = nullptr;

void WriteGrpcLog(gpr_log_func_args* line) {
  const Severity severity = line->severity == GPR_LOG_SEVERITY_ERROR ? Severity::kError : Severity::kInfo;
  grpc_log->Write(severity, line->message, {{"component", std::string("grpc")}});
}

// SIGTERM, SIGINT and SIGHUP, blocked in the calling thread and in all that it starts, so that only Wait sees them.
class Signals {
 public:
  Signals() {
    sigemptyset(&signals_);
    sigaddset(&signals_, SIGHUP);
    sigaddset(&signals_, SIGTERM);
    sigaddset(&signals_, SIGINT);
    pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
  }

  // The next of them.
  int Wait() const {
    int signal = 0;
    sigwait(&signals_, &signal);
    return signal;
  }

 private:
  sigset_t signals_{};
};

int Fail(const absl::Status& status) {
  std::fprintf(stderr, "planwrightd: %s\n", std::string(status.message()).c_str());
  return 1;
}

int Serve(const Configuration& configuration, const Signals& signals, int argc, char** argv) {
  const Logger log(configuration.log_format, &WriteToStderr);
  grpc_log = &log;
  gpr_set_log_function(&WriteGrpcLog);
  // One worker for every CPU beside the threads of the executor, which take part in their own searches.
  const oneapi::tbb::global_control parallelism(
      oneapi::tbb::global_control::max_allowed_parallelism,
      static_cast<std::size_t>(configuration.engine.cpus + configuration.engine.max_running +
                               configuration.engine.max_operations));
  const auto daemon = Daemon::Start(configuration, log);
  if (!daemon.ok()) return Fail(daemon.status());
  while (signals.Wait() == SIGHUP) (*daemon)->Reload(ReadConfigurationAgain(argc, argv));
  (*daemon)->Drain();
  return 0;
}

int Main(int argc, char** argv) {
  // Debian's Abseil is built with deadlock detection, which gRPC's locks would pay for and which aborts on suspicion.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  std::signal(SIGPIPE, SIG_IGN);
  // A file that may not grow is an error of its write, as a full disk is.
  std::signal(SIGXFSZ, SIG_IGN);
  const Signals signals;
  const absl::StatusOr<Invocation> invocation = ReadInvocation(argc, argv);
  if (!invocation.ok()) return Fail(invocation.status());
  switch (invocation->action) {
    case Action::kHelp:
      std::fputs(HelpText().c_str(), stdout);
      return 0;
    case Action::kVersion:
      std::fputs(VersionText().c_str(), stdout);
      return 0;
    case Action::kValidate:
      std::puts("planwrightd: the configuration is valid");
      return 0;
    case Action::kServe:
      return Serve(invocation->configuration, signals, argc, argv);
  }
  return 1;
}

}  // namespace
}  // namespace planwright::server

int main(int argc, char** argv) { return planwright::server::Main(argc, argv); }
