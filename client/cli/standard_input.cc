#include "client/cli/standard_input.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <ios>
#include <utility>

namespace planwright::client {
namespace {

constexpr std::size_t kBlockBytes = 65536;
// How late a stop request may be noticed.
constexpr int kLookEveryMs = 50;

}  // namespace

StandardInput::StandardInput(int descriptor, std::stop_token stop)
    : descriptor_(descriptor), stop_(std::move(stop)), block_(kBlockBytes) {}

void StandardInput::AwaitInput() const {
  pollfd input{.fd = descriptor_, .events = POLLIN, .revents = 0};
  while (!stop_.stop_requested()) {
    if (poll(&input, 1, kLookEveryMs) != 0) return;
  }
  errno = EINTR;
  throw std::ios_base::failure("interrupted");
}

StandardInput::int_type StandardInput::underflow() {
  AwaitInput();
  const ssize_t count = read(descriptor_, block_.data(), block_.size());
  if (count < 0) throw std::ios_base::failure("cannot be read");
  if (count == 0) return traits_type::eof();
  setg(block_.data(), block_.data(), block_.data() + count);
  return traits_type::to_int_type(block_.front());
}

}  // namespace planwright::client
