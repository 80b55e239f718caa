// Every rule that a request breaks, each with the path of the field that breaks it.
#ifndef PLANWRIGHT_CORE_BASE_VIOLATIONS_H_
#define PLANWRIGHT_CORE_BASE_VIOLATIONS_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace planwright {

struct Violation {
  // Path as a client writes it: "graph.operators[17].costs[0].forward_ms".
  std::string path;
  // The rule and what was found: "must be finite and >= 0, is nan".
  std::string rule;

  bool operator==(const Violation&) const = default;
};

// Collects violations in the order found; keeps the first kMaxListed and counts the rest. Not thread-safe.
class Violations {
 public:
  static constexpr std::size_t kMaxListed = 100;

  void Add(std::string path, std::string rule);

  bool empty() const { return listed_.empty(); }
  const std::vector<Violation>& listed() const { return listed_; }
  std::size_t unlisted_count() const { return unlisted_count_; }
  // Listed or not.
  std::size_t count() const { return listed_.size() + unlisted_count_; }

  // OK when empty; else INVALID_ARGUMENT whose message names every listed violation, and which carries them for
  // ViolationsOf.
  absl::Status ToStatus() const;

 private:
  std::vector<Violation> listed_;
  std::size_t unlisted_count_ = 0;
};

// The violations that ToStatus packed into `status`; empty for any other status.
std::vector<Violation> ViolationsOf(const absl::Status& status);
// How many more there were, beyond those that ToStatus listed; 0 for any other status.
std::size_t UnlistedViolationsOf(const absl::Status& status);

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_BASE_VIOLATIONS_H_
