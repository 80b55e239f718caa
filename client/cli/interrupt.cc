#include "client/cli/interrupt.h"

#include <pthread.h>
#include <unistd.h>

#include <csignal>
#include <thread>

#include "client/cli/terminal/exit_code.h"

namespace planwright::client {

std::stop_token StopOnInterrupt() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  const std::stop_source source;
  // Waits for as long as the process lives; a signal that never comes needs no end.
  std::thread([signals, source = source]() mutable {
    int signal = 0;
    sigwait(&signals, &signal);
    source.request_stop();
    sigwait(&signals, &signal);
    _exit(static_cast<int>(ExitCode::kInterrupted));
  }).detach();
  return source.get_token();
}

}  // namespace planwright::client
