#include "server/observability/log_writer.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <string_view>
#include <utility>

namespace planwright::server {
namespace {

// Waits as long as it takes. False: the file takes no more.
bool WriteAll(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(file, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EAGAIN) {
      // Whoever started us has made it non-blocking.
      pollfd room{.fd = file, .events = POLLOUT, .revents = 0};
      poll(&room, 1, /*timeout=*/-1);
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

}  // namespace

struct LogWriter::State {
  State(int to, LossLine line, int64_t most) : file(to), loss_line(std::move(line)), max_bytes(most) {}

  // REQUIRES: mutex is held.
  void Push(std::string line) {
    bytes += static_cast<int64_t>(line.size());
    waiting.push_back(std::move(line));
    ++*pending;
  }
  // Puts a line for what was dropped where it is missing. REQUIRES: mutex is held.
  void SayLoss() {
    const int64_t lost = dropped - std::exchange(said, dropped);
    if (lost > 0) Push(loss_line(lost));
  }

  const int file;
  const LossLine loss_line;
  const int64_t max_bytes;
  // Lines that are not written, that which is being written among them.
  const std::shared_ptr<std::atomic<int64_t>> pending = std::make_shared<std::atomic<int64_t>>(0);
  mutable std::mutex mutex;
  std::condition_variable changed;
  // Guarded by mutex.
  std::deque<std::string> waiting;
  int64_t bytes = 0;
  int64_t dropped = 0;
  // How many of these a line has told of, or none can tell of.
  int64_t said = 0;
  bool is_ending = false;
  bool has_ended = false;
};

LogWriter::LogWriter(int file, LossLine loss_line, Options options)
    : options_(options),
      state_(std::make_shared<State>(file, std::move(loss_line), options.max_bytes)),
      pending_(state_->pending),
      worker_([state = state_] { Work(state); }) {}

LogWriter::~LogWriter() {
  std::unique_lock lock(state_->mutex);
  state_->is_ending = true;
  state_->changed.notify_all();
  const bool has_ended = state_->changed.wait_for(lock, options_.last_words, [&] { return state_->has_ended; });
  lock.unlock();
  if (has_ended) {
    worker_.join();
  } else {
    worker_.detach();
  }
}

void LogWriter::Write(const std::string& line) {
  const std::lock_guard lock(state_->mutex);
  if (state_->bytes + static_cast<int64_t>(line.size()) > state_->max_bytes) {
    ++state_->dropped;
    return;
  }
  state_->SayLoss();
  state_->Push(line);
  state_->changed.notify_all();
}

int64_t LogWriter::dropped() const {
  const std::lock_guard lock(state_->mutex);
  return state_->dropped;
}

void LogWriter::Work(const std::shared_ptr<State>& state) {
  std::unique_lock lock(state->mutex);
  for (;;) {
    state->changed.wait(lock, [&] { return !state->waiting.empty() || state->is_ending; });
    if (state->waiting.empty()) break;
    const std::string line = std::move(state->waiting.front());
    state->waiting.pop_front();
    lock.unlock();
    const bool is_written = WriteAll(state->file, line);
    lock.lock();
    // What is being written takes room until it is.
    state->bytes -= static_cast<int64_t>(line.size());
    if (!is_written) {
      // Nor can a file that takes no lines be told of it.
      ++state->dropped;
      ++state->said;
    }
    if (state->waiting.empty()) state->SayLoss();
    --*state->pending;
  }
  state->has_ended = true;
  state->changed.notify_all();
}

}  // namespace planwright::server
