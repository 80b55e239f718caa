// Where the next page of a list begins, as text for the caller to hand back.
#ifndef PLANWRIGHT_SERVER_ENGINE_LIBRARY_PAGE_TOKEN_H_
#define PLANWRIGHT_SERVER_ENGINE_LIBRARY_PAGE_TOKEN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "server/store/store.h"

namespace planwright::server {

// How much of a list is asked for.
struct PageRequest {
  int32_t size = 0;
  std::string token;
};

struct Page {
  // 1 .. 1000.
  int64_t size = 0;
  // nullopt: the first page.
  std::optional<PagePosition> after;
};

// `query` says which list it is, and whose; `now` is seconds since 1970. INVALID_ARGUMENT: a negative size, or a token
// that is damaged, of another query, or older than a day.
absl::StatusOr<Page> ReadPage(const PageRequest& request, std::string_view query, int64_t now);

// The token of the page that begins behind `last`.
std::string NextPageToken(const PagePosition& last, std::string_view query, int64_t now);

// Seconds since 1970.
int64_t NowSeconds();

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_ENGINE_LIBRARY_PAGE_TOKEN_H_
