#include "tests/integration/daemon_process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <stdexcept>

extern char** environ;

namespace planwright {
namespace {

constexpr std::chrono::minutes kPatience{1};

// Starts the program with its standard streams going to `output` and `errors`.
pid_t Spawn(const std::vector<std::string>& arguments, int output, int errors) {
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, errors, STDERR_FILENO);
  pid_t pid = -1;
  const int error = posix_spawn(&pid, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw std::runtime_error("cannot start " + arguments.front());
  return pid;
}

// Reads to the end, and closes it.
std::string ReadAll(int file) {
  std::string text;
  std::array<char, 4096> bytes{};
  for (ssize_t size = read(file, bytes.data(), bytes.size()); size > 0; size = read(file, bytes.data(), bytes.size())) {
    text.append(bytes.data(), static_cast<std::size_t>(size));
  }
  close(file);
  return text;
}

int ExitCode(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status); }

}  // namespace

DaemonProcess::DaemonProcess(const std::vector<std::string>& flags) {
  std::vector<std::string> arguments = {PLANWRIGHTD, "--listen_address=127.0.0.1:0",
                                        "--metrics_address=", "--log_format=json", "--store=none"};
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  pid_ = Spawn(arguments, ends[1], ends[1]);
  close(ends[1]);
  reader_ = std::jthread([this, file = ends[0]] { ReadLines(file); });
}

DaemonProcess::~DaemonProcess() {
  if (!exited_) {
    kill(pid_, SIGKILL);
    WaitForExit();
  }
}

nlohmann::json DaemonProcess::WaitForLog(const std::string& message) {
  const auto has_message = [&](const nlohmann::json& line) { return line.value("message", "") == message; };
  std::unique_lock lock(mutex_);
  auto found = lines_.end();
  changed_.wait_for(lock, kPatience, [&] {
    found = std::find_if(lines_.begin(), lines_.end(), has_message);
    return found != lines_.end() || closed_;
  });
  if (found == lines_.end()) return nlohmann::json::object();
  nlohmann::json line = std::move(*found);
  lines_.erase(found);
  return line;
}

void DaemonProcess::Signal(int signal) const { kill(pid_, signal); }

void DaemonProcess::LimitFiles(std::optional<std::uintmax_t> bytes) const {
  const rlimit limit{bytes.value_or(RLIM_INFINITY), RLIM_INFINITY};
  if (prlimit(pid_, RLIMIT_FSIZE, &limit, nullptr) != 0) throw std::runtime_error("prlimit fails");
}

int64_t DaemonProcess::MemoryBytes(const std::string& name) const {
  std::ifstream status("/proc/" + std::to_string(pid_) + "/status");
  std::string word;
  int64_t kibibytes = 0;
  while (status >> word && word != name) continue;
  status >> kibibytes;
  return kibibytes * 1024;
}

int DaemonProcess::WaitForExit() {
  int status = 0;
  waitpid(pid_, &status, 0);
  exited_ = true;
  if (reader_.joinable()) reader_.join();
  return ExitCode(status);
}

std::string DaemonProcess::log_text() {
  const std::lock_guard lock(mutex_);
  return log_text_;
}

std::string DaemonProcess::plain_output() {
  const std::lock_guard lock(mutex_);
  return plain_output_;
}

void DaemonProcess::ReadLines(int file) {
  FILE* stream = fdopen(file, "r");
  std::string line;
  for (int c = std::fgetc(stream); c != EOF; c = std::fgetc(stream)) {
    line.push_back(static_cast<char>(c));
    if (c != '\n') continue;
    nlohmann::json parsed = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
    const std::lock_guard lock(mutex_);
    if (parsed.is_object()) {
      lines_.push_back(std::move(parsed));
      log_text_ += line;
    } else {
      plain_output_ += line;
    }
    line.clear();
    changed_.notify_all();
  }
  std::fclose(stream);
  const std::lock_guard lock(mutex_);
  closed_ = true;
  changed_.notify_all();
}

PlanwrightdRun RunPlanwrightd(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), PLANWRIGHTD);
  std::array<int, 2> out{};
  std::array<int, 2> err{};
  if (pipe2(out.data(), O_CLOEXEC) != 0 || pipe2(err.data(), O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  const pid_t pid = Spawn(arguments, out[1], err[1]);
  close(out[1]);
  close(err[1]);
  PlanwrightdRun run;
  run.out = ReadAll(out[0]);
  run.err = ReadAll(err[0]);
  int status = 0;
  waitpid(pid, &status, 0);
  run.exit_code = ExitCode(status);
  return run;
}

}  // namespace planwright
