// Names of submissions that say what was submitted.
#ifndef PLANWRIGHT_CLIENT_CLI_COMMANDS_REQUEST_ID_H_
#define PLANWRIGHT_CLIENT_CLI_COMMANDS_REQUEST_ID_H_

#include <string>
#include <string_view>

namespace planwright::client {

// A request_id that other submissions hardly have: "bert-large_on_pcie-4_0f3a9c21", of `title` ("zoo:bert-large on
// zoo:pcie:4") and 8 random digits; at most 64 letters, digits, '-' and '_'. Lists of operations show it.
std::string NewRequestId(std::string_view title);

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_CLI_COMMANDS_REQUEST_ID_H_
