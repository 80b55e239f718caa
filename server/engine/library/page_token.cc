#include "server/engine/library/page_token.h"

#include <algorithm>
#include <chrono>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/base/strings.h"
#include "core/base/violations.h"
#include "server/codec/canonical_hash.h"

namespace planwright::server {
namespace {

constexpr int32_t kDefaultSize = 100;
constexpr int32_t kMostSize = 1000;
constexpr int64_t kLifeSeconds = 86'400;
constexpr std::size_t kTagDigits = 16;

// Ties a token to its query; rows of others are out of reach whatever a token says, so this keeps no secret.
std::string TagOf(std::string_view query, std::string_view content) {
  CanonicalHash hash("page token 1");
  hash.Add(query);
  hash.Add(content);
  return hash.Hex().substr(0, kTagDigits);
}

absl::Status Refused(const char* field, std::string rule) {
  Violations violations;
  violations.Add(field, std::move(rule));
  return violations.ToStatus();
}

}  // namespace

absl::StatusOr<Page> ReadPage(const PageRequest& request, std::string_view query, int64_t now) {
  if (request.size < 0) return Refused("page_size", absl::StrCat("must be >= 0, is ", request.size));
  Page page{.size = request.size == 0 ? kDefaultSize : std::min(request.size, kMostSize), .after = std::nullopt};
  if (request.token.empty()) return page;
  const char* again = "; begin with the first page again";
  std::string text;
  if (!absl::WebSafeBase64Unescape(request.token, &text) || text.size() <= kTagDigits ||
      text.substr(0, kTagDigits) != TagOf(query, std::string_view(text).substr(kTagDigits))) {
    return Refused("page_token", absl::StrCat("is not a token of this list", again));
  }
  const std::vector<std::string> fields = absl::StrSplit(text.substr(kTagDigits), absl::MaxSplits(',', 2));
  int64_t issued = 0;
  PagePosition after;
  if (fields.size() != 3 || !absl::SimpleAtoi(fields[0], &issued) || !absl::SimpleAtoi(fields[1], &after.time) ||
      issued < 0 || !absl::c_all_of(fields[2], absl::ascii_isprint)) {
    return Refused("page_token", absl::StrCat("is not a token of this list", again));
  }
  if (now - issued > kLifeSeconds) return Refused("page_token", absl::StrCat("is older than a day", again));
  after.id = fields[2];
  page.after = std::move(after);
  return page;
}

std::string NextPageToken(const PagePosition& last, std::string_view query, int64_t now) {
  const std::string content = absl::StrCat(now, ",", last.time, ",", last.id);
  return absl::WebSafeBase64Escape(absl::StrCat(TagOf(query, content), content));
}

int64_t NowSeconds() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace planwright::server
