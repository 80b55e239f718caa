// A text on a terminal that is written again in its place.
#ifndef PLANWRIGHT_CLIENT_CLI_TERMINAL_LIVE_VIEW_H_
#define PLANWRIGHT_CLIENT_CLI_TERMINAL_LIVE_VIEW_H_

#include <ostream>
#include <string_view>

#include "client/cli/terminal/command.h"

namespace planwright::client {

// Owns the screen while it lives; the last text stays.
class LiveView {
 public:
  // `out` is the terminal, and outlives the view.
  explicit LiveView(std::ostream& out);

  // The first lines of the text, as many and as long as there is room for in a terminal of that size. False: the
  // terminal is gone.
  bool Show(std::string_view text, TerminalSize size);

 private:
  std::ostream& out_;
};

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_CLI_TERMINAL_LIVE_VIEW_H_
