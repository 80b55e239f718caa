#include "client/report/line_length.h"

#include <algorithm>

namespace planwright::client {
namespace {

// Tables have no use for less.
constexpr std::size_t kLeastLineLength = 40;

LineLengths& Lengths() {
  thread_local LineLengths lengths;
  return lengths;
}

}  // namespace

const LineLengths& CurrentLineLengths() { return Lengths(); }

ScopedLineLengths::ScopedLineLengths(LineLengths lengths) : before_(Lengths()) {
  Lengths() = {std::max(lengths.report, kLeastLineLength), std::max(lengths.note, kLeastLineLength)};
}

ScopedLineLengths::~ScopedLineLengths() { Lengths() = before_; }

}  // namespace planwright::client
