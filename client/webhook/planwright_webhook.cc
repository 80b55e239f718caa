// planwright-webhook: the admission hook for Kubernetes. See --help.
#include <malloc.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <string>

#include "absl/strings/str_split.h"
#include "absl/synchronization/mutex.h"
#include "client/library/version.h"
#include "client/webhook/settings.h"
#include "client/webhook/webhook.h"
#include "server/connections/descriptor_limit.h"
#include "server/observability/log.h"
#include "server/observability/log_writer.h"

namespace planwright::webhook {
namespace {

// SIGHUP, SIGTERM and SIGINT, blocked in the calling thread and in all that it starts, so that only waiting here sees
// them.
class Signals {
 public:
  Signals() {
    sigemptyset(&signals_);
    for (const int signal : {SIGHUP, SIGTERM, SIGINT}) sigaddset(&signals_, signal);
    pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
  }

  // The next of them.
  int Wait() const {
    int signal = 0;
    sigwait(&signals_, &signal);
    return signal;
  }

  // The next of them; 0: none comes by then.
  int WaitUntil(std::chrono::steady_clock::time_point end) const {
    const auto left = std::max(end - std::chrono::steady_clock::now(), std::chrono::steady_clock::duration::zero());
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(left);
    const timespec time{.tv_sec = seconds.count(), .tv_nsec = std::chrono::nanoseconds(left - seconds).count()};
    return std::max(sigtimedwait(&signals_, nullptr, &time), 0);
  }

 private:
  sigset_t signals_{};
};

int Fail(const absl::Status& status) {
  for (const absl::string_view line : absl::StrSplit(status.message(), '\n')) {
    std::fprintf(stderr, "planwright-webhook: %s\n", std::string(line).c_str());
  }
  return 1;
}

int Serve(const Settings& settings, const Signals& signals) {
  // Not const: Logger writes to it, which the check misses where a default argument of Logger is a lambda.
  // NOLINTNEXTLINE(misc-const-correctness)
  server::LogWriter writer(STDERR_FILENO, [format = settings.log_format](int64_t lines) {
    return server::FormatLogLine(format, std::chrono::system_clock::now(), server::Severity::kWarning,
                                 "log lines dropped", {{"lines", lines}});
  });
  const server::Logger log(settings.log_format, [&writer](const std::string& line) { writer.Write(line); });
  const auto webhook = Webhook::Start(settings, log);
  if (!webhook.ok()) return Fail(webhook.status());
  while (signals.Wait() == SIGHUP) (*webhook)->Reload();
  (*webhook)->AnnounceEnd();
  const auto end = std::chrono::steady_clock::now() + settings.drain_delay;
  while (signals.WaitUntil(end) == SIGHUP) (*webhook)->Reload();
  (*webhook)->Drain();
  return 0;
}

int Main(int argc, char** argv) {
  // As in planwrightd: Debian's Abseil is built with deadlock detection, which aborts on suspicion.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  // Each of the many threads that rarely run would keep an arena of its own.
  mallopt(M_ARENA_MAX, 2);
  std::signal(SIGPIPE, SIG_IGN);
  server::RaiseDescriptorLimit();
  const Signals signals;
  const auto invocation = ReadInvocation(argc, argv);
  if (!invocation.ok()) return Fail(invocation.status());
  switch (invocation->action) {
    case Action::kHelp:
      std::fputs(HelpText().c_str(), stdout);
      return 0;
    case Action::kVersion:
      std::printf("planwright-webhook %s\n", client::kVersion);
      return 0;
    case Action::kValidate:
      std::puts("planwright-webhook: the configuration is valid");
      return 0;
    case Action::kServe:
      return Serve(invocation->settings, signals);
  }
  return 1;
}

}  // namespace
}  // namespace planwright::webhook

int main(int argc, char** argv) { return planwright::webhook::Main(argc, argv); }
