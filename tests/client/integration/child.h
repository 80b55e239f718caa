// Runs the real program the way a shell does.
#ifndef PLANWRIGHT_TESTS_CLIENT_INTEGRATION_CHILD_H_
#define PLANWRIGHT_TESTS_CLIENT_INTEGRATION_CHILD_H_

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

namespace planwright::client {

struct Finished {
  // 128 + signal when one ended it, as shells say.
  int exit_code = 0;
  std::string out;
  std::string err;
};

// A process with its standard streams in files of its own. PLANWRIGHT_SERVER is not handed on.
class Child {
 public:
  // `command` is a path and its arguments; `input` is what standard input holds.
  explicit Child(const std::vector<std::string>& command, std::string_view input = "");
  // Kills it when nobody waited.
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // Blocks until standard error holds `text` or the process has ended; false: it ended without.
  bool WaitForError(std::string_view text);
  void Signal(int signal) const;
  // Once.
  Finished Wait();

 private:
  bool HasEnded();

  std::string folder_;
  pid_t pid_ = -1;
  bool has_ended_ = false;
  int wait_status_ = 0;
};

// `planwright ARGUMENTS...`, from start to end.
Finished Planwright(std::vector<std::string> arguments, std::string_view input = "");

}  // namespace planwright::client

#endif  // PLANWRIGHT_TESTS_CLIENT_INTEGRATION_CHILD_H_
