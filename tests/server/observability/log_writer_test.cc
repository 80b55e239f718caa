#include "server/observability/log_writer.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace planwright::server {
namespace {

using std::chrono::milliseconds;

// A pipe whose reader reads when it is told to.
class Pipe {
 public:
  Pipe() {
    std::signal(SIGPIPE, SIG_IGN);
    if (pipe(ends_.data()) != 0) throw std::runtime_error("no pipe");
  }
  ~Pipe() {
    CloseReader();
    CloseWriter();
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  int writer() const { return ends_[1]; }
  void CloseReader() { Close(ends_[0]); }
  void CloseWriter() { Close(ends_[1]); }

  // Everything up to the end.
  std::string Read() const {
    std::string text;
    std::array<char, 4096> buffer{};
    for (ssize_t got = 1; got > 0;) {
      got = read(ends_[0], buffer.data(), buffer.size());
      if (got > 0) text.append(buffer.data(), static_cast<std::size_t>(got));
    }
    return text;
  }

 private:
  static void Close(int& end) {
    if (end >= 0) close(end);
    end = -1;
  }
  std::array<int, 2> ends_{};
};

std::string LossLine(int64_t lines) { return "lost " + std::to_string(lines) + "\n"; }

TEST(LogWriterTest, WritesLinesInTheirOrderBeforeItEnds) {
  Pipe pipe;
  {
    LogWriter writer(pipe.writer(), &LossLine);
    for (int i = 0; i < 100; ++i) writer.Write(std::to_string(i) + "\n");
  }
  pipe.CloseWriter();
  std::istringstream lines(pipe.Read());
  int number = -1;
  for (int i = 0; i < 100; ++i) {
    lines >> number;
    EXPECT_EQ(number, i);
  }
}

// Without a thread of its own the writes would never return.
TEST(LogWriterTest, AReaderThatDoesNotReadHoldsNobodyUpAndIsToldWhatItMissed) {
  constexpr int kLines = 20'000;
  Pipe pipe;
  std::string text;
  std::jthread reader;
  {
    LogWriter writer(pipe.writer(), &LossLine, {.max_bytes = 64 << 10, .last_words = milliseconds(60'000)});
    for (int i = 0; i < kLines; ++i) writer.Write("line " + std::to_string(i) + " end\n");
    EXPECT_GT(writer.dropped(), 0);
    reader = std::jthread([&] { text = pipe.Read(); });
    while (!writer.is_idle()) std::this_thread::sleep_for(milliseconds(1));
    writer.Write("line 0 end\n");
  }
  pipe.CloseWriter();
  reader.join();
  int64_t whole = 0;
  int64_t lost = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    long long number = 0;
    char torn = 0;
    if (std::sscanf(line.c_str(), "lost %lld%c", &number, &torn) == 1) {
      lost += number;
    } else {
      EXPECT_EQ(std::sscanf(line.c_str(), "line %lld en%c", &number, &torn), 2) << line;
      EXPECT_TRUE(line.ends_with(" end")) << line;
      ++whole;
    }
  }
  EXPECT_GT(lost, 0);
  EXPECT_EQ(whole + lost, kLines + 1);
}

TEST(LogWriterTest, EndsAlthoughNobodyReads) {
  // Not a local: the thread that is given up writes to it for ever.
  static Pipe pipe;
  LogWriter writer(pipe.writer(), &LossLine, {.last_words = milliseconds(10)});
  for (int i = 0; i < 10'000; ++i) writer.Write("a line that is long enough to fill a pipe soon\n");
  EXPECT_FALSE(writer.is_idle());
}

TEST(LogWriterTest, CountsWhatTheFileRefuses) {
  Pipe pipe;
  pipe.CloseReader();
  LogWriter writer(pipe.writer(), &LossLine);
  writer.Write("one\n");
  while (!writer.is_idle()) std::this_thread::sleep_for(milliseconds(1));
  EXPECT_EQ(writer.dropped(), 1);
}

}  // namespace
}  // namespace planwright::server
