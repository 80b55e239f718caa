// Standard input that a stop request ends.
#ifndef PLANWRIGHT_CLIENT_CLI_STANDARD_INPUT_H_
#define PLANWRIGHT_CLIENT_CLI_STANDARD_INPUT_H_

#include <stop_token>
#include <streambuf>
#include <vector>

namespace planwright::client {

// Reads a file descriptor. Reading blocks until there is something to read, the input ends, or `stop` is requested:
// then it throws, which sets badbit of the stream that reads, with errno EINTR. Not thread-safe.
class StandardInput final : public std::streambuf {
 public:
  // `descriptor` is not closed.
  StandardInput(int descriptor, std::stop_token stop);

 protected:
  int_type underflow() override;

 private:
  void AwaitInput() const;

  const int descriptor_;
  const std::stop_token stop_;
  std::vector<char> block_;
};

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_CLI_STANDARD_INPUT_H_
