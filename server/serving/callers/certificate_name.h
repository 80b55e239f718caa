// Names in certificates. Each kind is a namespace of its own: an authority that checks who owns a DNS name may let
// anybody choose their common name.
#ifndef PLANWRIGHT_SERVER_SERVING_CALLERS_CERTIFICATE_NAME_H_
#define PLANWRIGHT_SERVER_SERVING_CALLERS_CERTIFICATE_NAME_H_

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace planwright::server {

// The first four are subject alternative names.
enum class NameKind { kUri, kDns, kEmail, kIp, kCommonName };

inline constexpr std::array kNameKinds = {NameKind::kUri, NameKind::kDns, NameKind::kEmail, NameKind::kIp,
                                          NameKind::kCommonName};

// As auth.json spells it: "uri", "dns", "email", "ip", "common_name".
const char* NameOf(NameKind kind);

struct CertificateName {
  NameKind kind = NameKind::kDns;
  std::string value;

  auto operator<=>(const CertificateName&) const = default;
};

// The name in the form in which names are compared: DNS names in lower case, addresses as inet_ntop writes them.
// nullopt: no such name can be of that kind.
std::optional<CertificateName> NormalName(NameKind kind, std::string_view value);

// The kind of alternative name that a text looks like; never that of a common name.
NameKind KindByLook(std::string_view value);

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_SERVING_CALLERS_CERTIFICATE_NAME_H_
