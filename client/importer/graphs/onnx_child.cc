#include "client/importer/graphs/onnx_child.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace planwright::client {
namespace {

using Clock = std::chrono::steady_clock;

constexpr char kReader[] = "planwright-onnx";
// Beyond the time that the reader gives itself.
constexpr auto kPatience = std::chrono::seconds(180);
constexpr std::size_t kMaxOutput = std::size_t{1} << 30;

absl::Status Refused(std::string_view source, std::string_view reason) {
  return absl::InvalidArgumentError(absl::StrCat(std::string(source), ": ", std::string(reason)));
}

// An open file; closed at the end.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { Close(); }

  int number() const { return number_; }
  void Reset(int number) {
    Close();
    number_ = number;
  }
  void Close() {
    if (number_ >= 0) close(number_);
    number_ = -1;
  }

 private:
  int number_;
};

// A pipe that only those inherit to whom it is handed.
bool MakePipe(Descriptor& reading, Descriptor& writing) {
  int ends[2] = {};
  if (pipe2(ends, O_CLOEXEC) != 0) return false;
  reading.Reset(ends[0]);
  writing.Reset(ends[1]);
  return true;
}

// A file in memory that holds `text`, read from its beginning.
bool FillMemory(std::string_view text, Descriptor& file) {
  file.Reset(memfd_create("model", MFD_CLOEXEC));
  while (!text.empty() && file.number() >= 0) {
    const ssize_t written = write(file.number(), text.data(), text.size());
    if (written < 0 && errno != EINTR) return false;
    if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
  }
  return file.number() >= 0 && lseek(file.number(), 0, SEEK_SET) == 0;
}

// Reads what is there. False: at the end.
bool ReadSome(const Descriptor& from, std::string& text) {
  std::array<char, 65536> block;
  const ssize_t count = read(from.number(), block.data(), block.size());
  if (count > 0) text.append(block.data(), static_cast<std::size_t>(count));
  return count > 0 || (count < 0 && errno == EINTR);
}

struct Answer {
  // As waitpid says it.
  int status = 0;
  bool is_late = false;
  std::string out;
  std::string err;
};

// One run of the reader.
class Reader {
 public:
  ~Reader() {
    if (child_ <= 0) return;
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
  }

  // An error of the system; empty: it runs.
  std::string Start(const std::string& program, const std::map<std::string, int64_t>& dimensions,
                    std::string_view model) {
    Descriptor in;
    Descriptor out_end;
    Descriptor err_end;
    if (!FillMemory(model, in) || !MakePipe(out_, out_end) || !MakePipe(err_, err_end)) return std::strerror(errno);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in.number(), STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out_end.number(), STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, err_end.number(), STDERR_FILENO);
    std::vector<std::string> words = {program};
    for (const auto& [name, size] : dimensions) words.push_back(absl::StrCat("--dim=", name, "=", size));
    std::vector<char*> arguments;
    arguments.reserve(words.size() + 1);
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    const int error = posix_spawn(&child_, program.c_str(), &actions, nullptr, arguments.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    if (error != 0) child_ = -1;
    return error == 0 ? "" : std::strerror(error);
  }

  // Until it ends, or patience does.
  Answer Wait() {
    Answer answer;
    const auto deadline = Clock::now() + kPatience;
    bool has_out = true;
    bool has_err = true;
    while (has_out || has_err) {
      std::array<pollfd, 2> files = {
          {{has_out ? out_.number() : -1, POLLIN, 0}, {has_err ? err_.number() : -1, POLLIN, 0}}};
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
      const int ready = left <= 0 ? 0 : poll(files.data(), files.size(), static_cast<int>(left));
      if (ready < 0 && errno == EINTR) continue;
      answer.is_late = ready <= 0;
      if (answer.is_late || answer.out.size() > kMaxOutput) break;
      if (files[0].revents != 0) has_out = ReadSome(out_, answer.out);
      if (files[1].revents != 0) has_err = ReadSome(err_, answer.err);
    }
    if (answer.is_late || answer.out.size() > kMaxOutput) kill(child_, SIGKILL);
    while (waitpid(child_, &answer.status, 0) < 0 && errno == EINTR) {
    }
    child_ = -1;
    return answer;
  }

 private:
  pid_t child_ = -1;
  Descriptor out_;
  Descriptor err_;
};

// What the reader wrote: a line of warnings, then the graph.
absl::Status TakeAnswer(const std::string& out, std::string_view source, v1::Graph& graph,
                        std::vector<std::string>& warnings) {
  const std::size_t end = out.find('\n');
  const auto said = nlohmann::json::parse(out.substr(0, end), nullptr, /*allow_exceptions=*/false);
  const bool is_whole = end != std::string::npos && said.is_array() &&
                        graph.ParseFromArray(out.data() + end + 1, static_cast<int>(out.size() - end - 1));
  if (!is_whole) return Refused(source, "the reader of ONNX models wrote something else than a graph");
  for (const auto& warning : said) {
    if (warning.is_string()) warnings.push_back(absl::StrCat(std::string(source), ": ", warning.get<std::string>()));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ReadOnnxModel(std::string_view model, std::string_view source,
                           const std::map<std::string, int64_t>& dimensions, v1::Graph& graph,
                           std::vector<std::string>& warnings) {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error).parent_path() / kReader;
  if (!std::filesystem::exists(program, error)) {
    return Refused(source, absl::StrCat("is an ONNX model, and this build cannot read any: there is no ",
                                        program.string(), ", for which libonnx-dev is needed"));
  }
  Reader reader;
  const std::string failed = reader.Start(program.string(), dimensions, model);
  if (!failed.empty()) return Refused(source, absl::StrCat("the reader of ONNX models cannot be started: ", failed));
  const Answer answer = reader.Wait();
  if (answer.is_late) return Refused(source, "reading the model takes too long");
  if (WIFEXITED(answer.status) && WEXITSTATUS(answer.status) == 0)
    return TakeAnswer(answer.out, source, graph, warnings);
  if (WIFEXITED(answer.status) && WEXITSTATUS(answer.status) == 2) {
    std::string reason = answer.err;
    absl::StripAsciiWhitespace(&reason);
    return Refused(source, reason);
  }
  return Refused(source, "reading the model needs more memory or time than it may, or ends the library that reads it");
}

}  // namespace planwright::client
