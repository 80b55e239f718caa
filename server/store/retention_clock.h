// How old things are, on a clock that may leap.
//
// A clock that is set wrong, by 40 days say, must not make everything look forgotten at once. So ages count time that
// servers of the store have seen pass: from one look to the next at most as much as a server could have been away for
// without anybody caring. What the clock leaps beyond that does not count, whether the clock was wrong or no server
// ran, and when the clock is set right again the leap is taken back.
#ifndef PLANWRIGHT_SERVER_STORE_RETENTION_CLOCK_H_
#define PLANWRIGHT_SERVER_STORE_RETENTION_CLOCK_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/store/store.h"

namespace planwright::server {

// What the store remembers of its clock. Milliseconds.
struct RetentionClock {
  // The `skipped` milliseconds before `at` do not count.
  struct Leap {
    StoreTime at = 0;
    int64_t skipped = 0;
  };

  // When a server last looked.
  StoreTime seen = 0;
  // In their order.
  std::vector<Leap> leaps;

  // A look at `now`; of what has passed since the last one no more than `most` counts. Forgets what is no longer needed
  // for Cutoff(`longest`), so that there are at most `longest` / `most` leaps and one more. `most` > 0.
  void LookAt(StoreTime now, int64_t most, int64_t longest);

  // Whatever was used before this has not been used for `retention` or longer.
  StoreTime Cutoff(int64_t retention) const;

  // `leaps` as a text, "<at>:<skipped> ...", and back; nullopt: it is none.
  std::string Describe() const;
  static std::optional<RetentionClock> Parse(std::string_view text, StoreTime seen);
};

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_STORE_RETENTION_CLOCK_H_
