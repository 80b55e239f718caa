#include "tests/benchmarks/child_process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace planwright::benchmarks {
namespace {

absl::Status SystemError(const std::string& what, int error) {
  return absl::InternalError(absl::StrCat(what, ": ", std::generic_category().message(error)));
}

double Milliseconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_usec) / 1e3;
}

std::string ReadAll(int descriptor) {
  std::string text;
  std::array<char, 65'536> buffer;
  for (;;) {
    const ssize_t length = read(descriptor, buffer.data(), buffer.size());
    if (length < 0 && errno == EINTR) continue;
    if (length <= 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(length));
  }
}

// Starts `command` with its standard output at `output`.
absl::StatusOr<pid_t> Start(const std::vector<std::string>& command, int output) {
  std::vector<char*> arguments;
  arguments.reserve(command.size() + 1);
  for (const std::string& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t child = 0;
  const int error = posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return SystemError(absl::StrCat("cannot start ", command.front()), error);
  return child;
}

}  // namespace

absl::StatusOr<ProcessResult> RunProcess(const std::vector<std::string>& command) {
  std::array<int, 2> ends;
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return SystemError("pipe2", errno);
  const auto start = std::chrono::steady_clock::now();
  const absl::StatusOr<pid_t> child = Start(command, ends[1]);
  close(ends[1]);
  ProcessResult result;
  if (child.ok()) result.output = ReadAll(ends[0]);
  close(ends[0]);
  if (!child.ok()) return child.status();

  int status = 0;
  rusage usage = {};
  while (wait4(*child, &status, 0, &usage) < 0) {
    if (errno != EINTR) return SystemError("wait4", errno);
  }
  const std::chrono::duration<double, std::milli> wall = std::chrono::steady_clock::now() - start;
  result.wall_ms = wall.count();
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  result.cpu_ms = Milliseconds(usage.ru_utime) + Milliseconds(usage.ru_stime);
  result.peak_resident_bytes = int64_t{usage.ru_maxrss} * 1'024;
  return result;
}

}  // namespace planwright::benchmarks
