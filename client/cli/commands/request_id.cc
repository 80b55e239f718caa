#include "client/cli/commands/request_id.h"

#include <algorithm>
#include <cstddef>
#include <random>

#include "absl/strings/ascii.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"

namespace planwright::client {

std::string NewRequestId(std::string_view title) {
  constexpr std::size_t kMostOfTitle = 55;
  std::string id = absl::StrReplaceAll(std::string(title), {{"zoo:", ""}, {" on ", "_on_"}});
  id.resize(std::min(id.size(), kMostOfTitle));
  for (char& c : id) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c)) && c != '_') c = '-';
  }
  std::random_device random;
  return absl::StrFormat("%s_%08x", id, random());
}

}  // namespace planwright::client
