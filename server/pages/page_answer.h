// What a browser is sent.
#ifndef PLANWRIGHT_SERVER_PAGES_PAGE_ANSWER_H_
#define PLANWRIGHT_SERVER_PAGES_PAGE_ANSWER_H_

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace planwright::server {

struct PageAnswer {
  // The status code of HTTP.
  int code = 200;
  std::string html;
  // The value of the header Content-Security-Policy.
  std::string policy;
  // How long to wait before it is worth asking again.
  std::optional<std::chrono::seconds> retry_after;
};

// A page that says why there is no other one: `code` of HTTP, `reason` a sentence, shown as text.
PageAnswer Refusal(int code, std::string_view reason);

// Such a page for a status that is not OK: 400, 403, 404, 503 where trying again helps, else 500.
PageAnswer Refusal(const absl::Status& status);

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_PAGES_PAGE_ANSWER_H_
