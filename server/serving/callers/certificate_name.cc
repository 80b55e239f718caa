#include "server/serving/callers/certificate_name.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "absl/strings/ascii.h"
#include "core/base/strings.h"

namespace planwright::server {
namespace {

// nullopt: `text` is no IP address.
std::optional<std::string> NormalAddress(const std::string& text) {
  in6_addr address{};
  std::array<char, INET6_ADDRSTRLEN> normal{};
  for (const int family : {AF_INET, AF_INET6}) {
    if (inet_pton(family, text.c_str(), &address) != 1) continue;
    return inet_ntop(family, &address, normal.data(), normal.size());
  }
  return std::nullopt;
}

}  // namespace

const char* NameOf(NameKind kind) {
  switch (kind) {
    case NameKind::kUri:
      return "uri";
    case NameKind::kDns:
      return "dns";
    case NameKind::kEmail:
      return "email";
    case NameKind::kIp:
      return "ip";
    case NameKind::kCommonName:
      return "common_name";
  }
  return "common_name";
}

std::optional<CertificateName> NormalName(NameKind kind, std::string_view value) {
  if (value.empty() || value.find('\0') != std::string_view::npos) return std::nullopt;
  CertificateName name{.kind = kind, .value = std::string(value)};
  switch (kind) {
    case NameKind::kUri:
      return value.find(':') != std::string_view::npos ? std::optional(name) : std::nullopt;
    case NameKind::kEmail:
      return value.find('@') != std::string_view::npos ? std::optional(name) : std::nullopt;
    case NameKind::kDns:
      absl::AsciiStrToLower(&name.value);
      return value.find_first_of(":/@ ") == std::string_view::npos ? std::optional(name) : std::nullopt;
    case NameKind::kIp: {
      std::optional<std::string> address = NormalAddress(name.value);
      if (!address.has_value()) return std::nullopt;
      name.value = *std::move(address);
      return name;
    }
    case NameKind::kCommonName:
      return name;
  }
  return std::nullopt;
}

NameKind KindByLook(std::string_view value) {
  if (value.find("://") != std::string_view::npos) return NameKind::kUri;
  if (value.find('@') != std::string_view::npos) return NameKind::kEmail;
  return NormalName(NameKind::kIp, value).has_value() ? NameKind::kIp : NameKind::kDns;
}

}  // namespace planwright::server
