// planwrightd: the planning server. See --help.
#include <oneapi/tbb/global_control.h>
#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "server/connections/descriptor_limit.h"
#include "server/main/allocator_settings.h"
#include "server/main/configuration/configuration.h"
#include "server/main/configuration/log_level.h"
#include "server/main/daemon.h"
#include "server/main/library_logs.h"
#include "server/main/store_command.h"
#include "server/observability/log.h"
#include "server/observability/log_writer.h"

namespace planwright::server {
namespace {

// What a thread that is about to abort waits for: the last lines may say why.
std::atomic<const LogWriter*> aborting_log = nullptr;

// Async-signal-safe. When it returns, abort() goes on as without a handler.
void LetLinesOut(int /*signal*/) {
  constexpr int kPatienceMs = 1000;
  const LogWriter* writer = aborting_log;
  for (int i = 0; writer != nullptr && !writer->is_idle() && i < kPatienceMs; ++i) poll(nullptr, 0, /*timeout=*/1);
}

// SIGTERM, SIGINT, SIGHUP, SIGUSR1 and SIGUSR2, blocked in the calling thread and in all that it starts, so that only
// Wait sees them.
class Signals {
 public:
  Signals() {
    sigemptyset(&signals_);
    for (const int signal : {SIGHUP, SIGTERM, SIGINT, SIGUSR1, SIGUSR2}) sigaddset(&signals_, signal);
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

// Until a signal that ends the server.
void HandleSignals(const Signals& signals, Daemon& daemon, Logger& log, const LibraryLogs& library_logs, int argc,
                   char** argv) {
  for (;;) {
    const int signal = signals.Wait();
    if (signal == SIGHUP) {
      daemon.Reload(ReadConfigurationAgain(argc, argv));
    } else if (signal == SIGUSR1 || signal == SIGUSR2) {
      log.SetLevel(LevelAfter(signal, log.level()));
      library_logs.FollowLevel();
      log.Announce("log level", {{"level", std::string(LevelName(log.level()))}});
    } else {
      return;
    }
  }
}

int Serve(const Configuration& configuration, const Signals& signals, int argc, char** argv) {
  LogWriter writer(STDERR_FILENO, [format = configuration.log_format](int64_t lines) {
    return FormatLogLine(format, std::chrono::system_clock::now(), Severity::kWarning, "log lines dropped",
                         {{"lines", lines}});
  });
  aborting_log = &writer;
  std::signal(SIGABRT, &LetLinesOut);
  Logger log(
      configuration.log_format, [&writer](const std::string& line) { writer.Write(line); }, configuration.log_level,
      [&writer] { return writer.dropped(); });
  const LibraryLogs library_logs(log);
  if (!ReturnMemoryInBackground()) log.Warning("freed memory is not given back in the background");
  const FreedMemoryLimit freed_memory(configuration.engine.memory_budget_bytes / 8 * 5);
  // One worker for every CPU beside the threads of the executor, which take part in their own searches.
  const oneapi::tbb::global_control parallelism(
      oneapi::tbb::global_control::max_allowed_parallelism,
      static_cast<std::size_t>(configuration.engine.cpus + configuration.engine.max_running +
                               configuration.engine.max_operations));
  const auto daemon = Daemon::Start(configuration, log);
  if (!daemon.ok()) return Fail(daemon.status());
  HandleSignals(signals, **daemon, log, library_logs, argc, argv);
  (*daemon)->Drain();
  return 0;
}

int Main(int argc, char** argv) {
  // Debian's Abseil is built with deadlock detection, which gRPC's locks would pay for and which aborts on suspicion.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  std::signal(SIGPIPE, SIG_IGN);
  // A file that may not grow is an error of its write, as a full disk is.
  std::signal(SIGXFSZ, SIG_IGN);
  RaiseDescriptorLimit();
  const Signals signals;
  const std::vector<std::string> arguments(std::next(argv), std::next(argv, argc));
  if (IsStoreCommand(arguments)) return RunStoreCommand(arguments, std::cout, std::cerr);
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
