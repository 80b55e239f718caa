// Log lines on their way to a file that may be slow: a pipe whose reader has stopped must not stop the server.
#ifndef PLANWRIGHT_SERVER_OBSERVABILITY_LOG_WRITER_H_
#define PLANWRIGHT_SERVER_OBSERVABILITY_LOG_WRITER_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>

namespace planwright::server {

// A bounded queue of lines and a thread that writes them. Lines are written whole and in their order; one that finds no
// room is dropped and counted, and what was dropped is said in its place as soon as there is room. Whoever writes a
// line never waits for the file. Thread-safe.
class LogWriter {
 public:
  struct Options {
    // What the lines that wait may take.
    int64_t max_bytes = int64_t{4} << 20;
    // How long the destructor waits for the file to take what is left; after that it is given up.
    std::chrono::milliseconds last_words{1000};
  };
  // The line that says how many lines were dropped.
  using LossLine = std::function<std::string(int64_t lines)>;

  // `file`: a descriptor that is open for as long as the process lives, since a write may outlast the object.
  LogWriter(int file, LossLine loss_line, Options options);
  LogWriter(int file, LossLine loss_line) : LogWriter(file, std::move(loss_line), Options()) {}
  ~LogWriter();
  LogWriter(const LogWriter&) = delete;
  LogWriter& operator=(const LogWriter&) = delete;

  // `line` with its newline.
  void Write(const std::string& line);

  // Lines that were dropped so far: there was no room, or the file refused them.
  int64_t dropped() const;

  // Whether all lines are written. Async-signal-safe, so that a handler of SIGABRT can let the last ones out.
  bool is_idle() const { return pending_->load() == 0; }

 private:
  struct State;
  static void Work(const std::shared_ptr<State>& state);

  const Options options_;
  // The thread has its share of it: it may outlive the object, stuck in a write.
  std::shared_ptr<State> state_;
  std::shared_ptr<std::atomic<int64_t>> pending_;
  std::thread worker_;
};

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_OBSERVABILITY_LOG_WRITER_H_
