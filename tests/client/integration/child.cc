#include "tests/client/integration/child.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "absl/strings/str_cat.h"

namespace planwright::client {
namespace {

std::string ReadFile(const std::string& path) {
  const std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// In the child, between fork and exec: only calls that are safe there.
void RedirectTo(const std::string& path, int flags, int descriptor) {
  const int file = open(path.c_str(), flags, 0600);
  if (file < 0 || dup2(file, descriptor) < 0) _exit(126);
}

}  // namespace

Child::Child(const std::vector<std::string>& command, std::string_view input) {
  std::string pattern = absl::StrCat(::testing::TempDir(), "/planwright_child_XXXXXX");
  folder_ = mkdtemp(pattern.data());
  std::ofstream(absl::StrCat(folder_, "/in"), std::ios::binary) << input;
  std::vector<char*> arguments;
  std::vector<std::string> copies = command;
  for (std::string& argument : copies) arguments.push_back(argument.data());
  arguments.push_back(nullptr);
  const std::string in = absl::StrCat(folder_, "/in");
  const std::string out = absl::StrCat(folder_, "/out");
  const std::string err = absl::StrCat(folder_, "/err");
  pid_ = fork();
  if (pid_ != 0) return;
  RedirectTo(in, O_RDONLY, STDIN_FILENO);
  RedirectTo(out, O_WRONLY | O_CREAT, STDOUT_FILENO);
  RedirectTo(err, O_WRONLY | O_CREAT, STDERR_FILENO);
  unsetenv("PLANWRIGHT_SERVER");
  execv(arguments[0], arguments.data());
  _exit(127);
}

Child::~Child() {
  if (!HasEnded()) {
    Signal(SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

bool Child::HasEnded() {
  if (!has_ended_) has_ended_ = waitpid(pid_, &wait_status_, WNOHANG) == pid_;
  return has_ended_;
}

bool Child::WaitForError(std::string_view text) {
  for (;;) {
    // Asked before the file is read, so that the last words are not missed.
    const bool ended = HasEnded();
    if (ReadFile(absl::StrCat(folder_, "/err")).find(text) != std::string::npos) return true;
    if (ended) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

void Child::Signal(int signal) const { kill(pid_, signal); }

Finished Child::Wait() {
  if (!has_ended_) waitpid(pid_, &wait_status_, 0);
  has_ended_ = true;
  Finished finished;
  finished.exit_code = WIFSIGNALED(wait_status_) ? 128 + WTERMSIG(wait_status_) : WEXITSTATUS(wait_status_);
  finished.out = ReadFile(absl::StrCat(folder_, "/out"));
  finished.err = ReadFile(absl::StrCat(folder_, "/err"));
  return finished;
}

Finished Planwright(std::vector<std::string> arguments, std::string_view input) {
  arguments.insert(arguments.begin(), PLANWRIGHT_PROGRAM);
  return Child(arguments, input).Wait();
}

}  // namespace planwright::client
