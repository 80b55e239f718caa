#include "server/pages/page_answer.h"

#include <microhttpd.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "core/base/strings.h"
#include "server/serving/admission/retry_delay.h"

namespace planwright::server {
namespace {

std::string Escaped(std::string_view text) {
  return absl::StrReplaceAll(ToAbsl(text), {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}});
}

int HttpCode(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kInvalidArgument:
      return MHD_HTTP_BAD_REQUEST;
    case absl::StatusCode::kUnauthenticated:
    case absl::StatusCode::kPermissionDenied:
      return MHD_HTTP_FORBIDDEN;
    case absl::StatusCode::kNotFound:
      return MHD_HTTP_NOT_FOUND;
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kResourceExhausted:
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kCancelled:
      return MHD_HTTP_SERVICE_UNAVAILABLE;
    default:
      return MHD_HTTP_INTERNAL_SERVER_ERROR;
  }
}

}  // namespace

PageAnswer Refusal(int code, std::string_view reason) {
  const std::string title = absl::StrCat(code, " ", MHD_get_reason_phrase_for(static_cast<unsigned int>(code)));
  return {.code = code,
          .html = absl::StrCat("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                               "<meta name=\"viewport\" content=\"width=device-width\">\n"
                               "<link rel=\"icon\" href=\"data:,\">\n<title>",
                               title, "</title>\n</head>\n<body>\n<h1>", title, "</h1>\n<p>", Escaped(reason),
                               "</p>\n</body>\n</html>\n"),
          .policy = "default-src 'none'; img-src data:; base-uri 'none'; form-action 'none'",
          .retry_after = std::nullopt};
}

PageAnswer Refusal(const absl::Status& status) {
  PageAnswer answer = Refusal(HttpCode(status.code()), ToStd(status.message()));
  if (answer.code == MHD_HTTP_SERVICE_UNAVAILABLE) {
    answer.retry_after =
        std::chrono::ceil<std::chrono::seconds>(RetryDelayOf(status).value_or(std::chrono::seconds(1)));
  }
  return answer;
}

}  // namespace planwright::server
