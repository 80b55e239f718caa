#include "client/cli/commands/store_access.h"

#include <chrono>

#include "client/cli/terminal/errors.h"

namespace planwright::client {

absl::StatusOr<StoreAccess> ConnectToStore(const ServerFlags& server, const Environment& environment) {
  StoreAccess access{.client = server.Connect(environment)};
  access.store = access.client->store();
  if (access.store != nullptr) return access;
  return UsageError("plans, graphs, clusters and operations are kept by a server",
                    "Name one with --server or PLANWRIGHT_SERVER; `planwrightd` starts one.");
}

CallOptions ShortCall(const Environment& environment) {
  constexpr std::chrono::minutes kPatience{1};
  return {.deadline = CallOptions::Clock::now() + kPatience, .stop = environment.interrupt};
}

}  // namespace planwright::client
