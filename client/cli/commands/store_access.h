// What commands on stored things have in common.
#ifndef PLANWRIGHT_CLIENT_CLI_COMMANDS_STORE_ACCESS_H_
#define PLANWRIGHT_CLIENT_CLI_COMMANDS_STORE_ACCESS_H_

#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cli/terminal/command.h"
#include "client/cli/terminal/shared_flags.h"
#include "client/library/planning_client.h"
#include "client/library/store_client.h"

namespace planwright::client {

struct StoreAccess {
  std::unique_ptr<PlanningClient> client;
  // The part of `client` that looks after the store.
  StoreClient* store = nullptr;
};

// INVALID_ARGUMENT: no server is named, and this process keeps nothing.
absl::StatusOr<StoreAccess> ConnectToStore(const ServerFlags& server, const Environment& environment);

// Options for a call that does not plan: a minute, unless ^C.
CallOptions ShortCall(const Environment& environment);

// Everything that a list has, page by page. `ask`: makes the call for a page; `take`: moves what its answer holds.
template <typename Element, typename Request, typename Ask, typename Take>
absl::StatusOr<std::vector<Element>> ReadPages(Request request, Ask ask, Take take) {
  std::vector<Element> elements;
  do {
    auto page = ask(request);
    if (!page.ok()) return page.status();
    for (Element& element : *take(*page)) elements.push_back(std::move(element));
    request.set_page_token(page->next_page_token());
  } while (!request.page_token().empty());
  return elements;
}

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_CLI_COMMANDS_STORE_ACCESS_H_
