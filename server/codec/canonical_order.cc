#include "server/codec/canonical_order.h"

#include <algorithm>
#include <compare>

namespace planwright::server {
namespace {

// What an order says of the thing at one place.
struct Row {
  std::string code;
  // To those before.
  std::vector<JointKind> joints;

  bool operator==(const Row&) const = default;
  bool operator<(const Row& other) const { return code != other.code ? code < other.code : joints < other.joints; }
};

class Search {
 public:
  Search(const std::vector<std::string>& codes, const std::function<JointKind(std::size_t, std::size_t)>& joint,
         int64_t most_steps)
      : codes_(codes), joint_(joint), steps_left_(most_steps), is_placed_(codes.size(), false) {}

  std::optional<std::vector<std::size_t>> Run() {
    Extend();
    if (steps_left_ < 0) return std::nullopt;
    return best_;
  }

 private:
  // Tries all that may stand at the next place; `order_` is no worse than the best so far.
  void Extend() {
    if (--steps_left_ < 0) return;
    const std::size_t place = order_.size();
    if (place == codes_.size()) {
      best_ = order_;
      return;
    }
    Row least;
    const std::vector<std::size_t> candidates = Candidates(least);
    for (const std::size_t candidate : candidates) {
      if (steps_left_ < 0) return;
      // Up to this place the rows of the best order so far are ours: this row decides.
      if (place < best_rows_.size() && best_rows_[place] < least) return;
      if (place >= best_rows_.size() || least < best_rows_[place]) {
        best_rows_.resize(place);
        best_rows_.push_back(least);
      }
      Place(candidate);
    }
  }

  void Place(std::size_t candidate) {
    order_.push_back(candidate);
    is_placed_[candidate] = true;
    Extend();
    is_placed_[candidate] = false;
    order_.pop_back();
  }

  // Returns the things with the least row, one of each set of twins.
  std::vector<std::size_t> Candidates(Row& least) const {
    std::vector<std::size_t> candidates;
    for (std::size_t thing = 0; thing < codes_.size(); ++thing) {
      if (is_placed_[thing]) continue;
      Row row{.code = codes_[thing], .joints = {}};
      for (const std::size_t before : order_) row.joints.push_back(joint_(thing, before));
      if (!candidates.empty() && least < row) continue;
      if (candidates.empty() || row < least) candidates.clear();
      least = std::move(row);
      const bool has_twin =
          std::any_of(candidates.begin(), candidates.end(), [&](std::size_t other) { return AreTwins(thing, other); });
      if (!has_twin) candidates.push_back(thing);
    }
    return candidates;
  }

  // Whether exchanging the two changes nothing. REQUIRES: their codes are equal.
  bool AreTwins(std::size_t a, std::size_t b) const {
    for (std::size_t other = 0; other < codes_.size(); ++other) {
      if (other != a && other != b && joint_(a, other) != joint_(b, other)) return false;
    }
    return true;
  }

  const std::vector<std::string>& codes_;
  const std::function<JointKind(std::size_t, std::size_t)>& joint_;
  int64_t steps_left_;
  std::vector<bool> is_placed_;
  std::vector<std::size_t> order_;
  // The least rows so far, and an order that has them.
  std::vector<Row> best_rows_;
  std::vector<std::size_t> best_;
};

}  // namespace

std::optional<std::vector<std::size_t>> CanonicalOrder(const std::vector<std::string>& codes,
                                                       const std::function<JointKind(std::size_t, std::size_t)>& joint,
                                                       int64_t most_steps) {
  return Search(codes, joint, most_steps).Run();
}

}  // namespace planwright::server
