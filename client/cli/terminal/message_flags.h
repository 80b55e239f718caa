// Flags that set a field of a message, found by reflection, so that a setting is spelled once.
#ifndef PLANWRIGHT_CLIENT_CLI_TERMINAL_MESSAGE_FLAGS_H_
#define PLANWRIGHT_CLIENT_CLI_TERMINAL_MESSAGE_FLAGS_H_

#include <google/protobuf/duration.pb.h>
#include <google/protobuf/message.h>

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "client/cli/terminal/flags.h"

namespace planwright::client {

// A flag for the field at `path` below `message` ("memory_model.kind"). Enums take the names of their values in lower
// case without the common prefix; numbers what the whole text says; fields whose name ends in "_bytes" also amounts
// such as "2GiB"; lists a comma-separated text, of names with Slurm's ranges ("node[01-04]"); Durations what
// ParseDuration takes. Whether a value makes sense is for the service to say. Very many choices are listed behind
// `help`. REQUIRES: the field exists and is no other message. `message` outlives the flag.
Flag MessageFlag(std::string name, std::string_view path, std::string help, google::protobuf::Message& message);

// Unsets the field at `path` below `message`. REQUIRES: the field exists.
void ClearFieldAt(std::string_view path, google::protobuf::Message& message);

// "500ms", "10s", "2m", "1h", "3d"; a bare number counts seconds; fractions are fine. INVALID_ARGUMENT: anything else,
// negative, or longer than a year.
absl::Status ParseDuration(std::string_view text, google::protobuf::Duration& duration);

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_CLI_TERMINAL_MESSAGE_FLAGS_H_
