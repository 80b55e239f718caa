// How long the lines of reports and messages are: as the terminal says, else 120 characters.
#ifndef PLANWRIGHT_CLIENT_REPORT_LINE_LENGTH_H_
#define PLANWRIGHT_CLIENT_REPORT_LINE_LENGTH_H_

#include <cstddef>

namespace planwright::client {

// Characters of the longest line where words allow it and no terminal says otherwise.
inline constexpr std::size_t kMaxLineLength = 120;

struct LineLengths {
  // The length of lines that go to standard output, and of notes and errors.
  std::size_t report = kMaxLineLength;
  std::size_t note = kMaxLineLength;
};

// The lengths of this thread.
const LineLengths& CurrentLineLengths();

// Sets the lengths of this thread for as long as it lives. Less than 40 characters count as 40.
class ScopedLineLengths {
 public:
  explicit ScopedLineLengths(LineLengths lengths);
  ScopedLineLengths(const ScopedLineLengths&) = delete;
  ScopedLineLengths& operator=(const ScopedLineLengths&) = delete;
  ~ScopedLineLengths();

 private:
  LineLengths before_;
};

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_REPORT_LINE_LENGTH_H_
