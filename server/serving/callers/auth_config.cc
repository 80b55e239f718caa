#include "server/serving/callers/auth_config.h"

#include <openssl/sha.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <span>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "core/base/strings.h"
#include "core/base/violations.h"

namespace planwright::server {
namespace {

using Json = nlohmann::json;

// Reads the members of one object, and says of each what is wrong with it.
class ObjectReader {
 public:
  // `json` outlives the reader.
  ObjectReader(const Json& json, std::string path, std::span<const std::string_view> known, Violations& violations)
      : json_(json), path_(std::move(path)), violations_(violations) {
    if (!json_.is_object()) {
      Complain("", "must be an object");
      return;
    }
    for (const auto& [key, value] : json_.items()) {
      if (std::find(known.begin(), known.end(), std::string_view(key)) == known.end()) Complain(key, "is not known");
    }
  }

  // Empty, with a violation, where it is missing or no text.
  std::string Text(const char* key, std::optional<std::string> otherwise = std::nullopt) {
    const Json* value = Find(key);
    if (value == nullptr && otherwise.has_value()) return *otherwise;
    if (value != nullptr && value->is_string() && !value->get_ref<const std::string&>().empty()) return *value;
    Complain(key, "must be a text that is not empty");
    return "";
  }

  // A number in [least, most].
  double Number(const char* key, double least, double most, double otherwise) {
    const Json* value = Find(key);
    if (value == nullptr) return otherwise;
    if (value->is_number() && value->get<double>() >= least && value->get<double>() <= most) return *value;
    Complain(key, absl::StrCat("must be a number from ", least, " to ", most));
    return otherwise;
  }

  int Integer(const char* key, int otherwise) {
    const Json* value = Find(key);
    if (value == nullptr) return otherwise;
    constexpr int64_t kMost = std::numeric_limits<int>::max();
    if (value->is_number_integer() && value->get<int64_t>() >= 0 && value->get<int64_t>() <= kMost) return *value;
    Complain(key, "must be a whole number >= 0");
    return otherwise;
  }

  // Reads each element of a list that may be missing.
  template <typename Read>
  void Elements(const char* key, Read read) {
    const Json* list = Find(key);
    if (list == nullptr) return;
    if (!list->is_array()) {
      Complain(key, "must be a list");
      return;
    }
    for (std::size_t i = 0; i < list->size(); ++i) read((*list)[i], absl::StrCat(key, "[", i, "]"));
  }

  void Complain(std::string_view key, std::string rule) {
    const char* dot = path_.empty() || key.empty() ? "" : ".";
    violations_.Add(absl::StrCat(path_, dot, ToAbsl(key)), std::move(rule));
  }

 private:
  const Json* Find(const char* key) const {
    const auto found = json_.is_object() ? json_.find(key) : json_.end();
    return found == json_.end() ? nullptr : &*found;
  }

  const Json& json_;
  const std::string path_;
  Violations& violations_;
};

std::string ReadTenant(const char* key, ObjectReader& reader, std::optional<std::string> otherwise) {
  std::string tenant = reader.Text(key, std::move(otherwise));
  if (!tenant.empty() && !IsPlainName(tenant)) reader.Complain(key, "must be letters, digits, - and _, at most 64");
  return tenant;
}

Caller ReadCaller(std::string subject, ObjectReader& reader) {
  Caller caller;
  caller.subject = std::move(subject);
  caller.tenant = ReadTenant("tenant", reader, kDefaultTenant);
  const std::string role = reader.Text("role");
  for (const Role known : {Role::kReader, Role::kPlanner, Role::kAdmin}) {
    if (role == NameOf(known)) {
      caller.role = known;
      return caller;
    }
  }
  if (!role.empty()) reader.Complain("role", "must be reader, planner or admin");
  return caller;
}

AuthConfig::Token ReadToken(const Json& json, const std::string& path, Violations& violations) {
  constexpr std::array<std::string_view, 4> kKnown = {"name", "sha256", "tenant", "role"};
  ObjectReader reader(json, path, kKnown, violations);
  AuthConfig::Token token;
  token.caller = ReadCaller(reader.Text("name"), reader);
  const std::string hex = reader.Text("sha256");
  const bool is_digest = hex.size() == 2 * token.digest.size() &&
                         std::all_of(hex.begin(), hex.end(), [](unsigned char c) { return absl::ascii_isxdigit(c); });
  if (!is_digest) {
    if (!hex.empty()) reader.Complain("sha256", "must be 64 hexadecimal digits: printf %s \"$TOKEN\" | sha256sum");
    return token;
  }
  const std::string bytes = absl::HexStringToBytes(hex);
  std::copy(bytes.begin(), bytes.end(), token.digest.begin());
  // What `sha256sum` says of a variable that is not set: everybody could show that token.
  if (token.digest == Sha256Of("")) reader.Complain("sha256", "is the digest of an empty token");
  return token;
}

// The member `key` of an entry, a name of `kind` or, without one, of the kind that it looks like.
CertificateName ReadName(const char* key, std::optional<NameKind> kind, ObjectReader& reader) {
  const std::string text = reader.Text(key);
  if (text.empty()) return {};
  const NameKind meant = kind.value_or(KindByLook(text));
  const std::optional<CertificateName> name = NormalName(meant, text);
  if (!name.has_value()) reader.Complain(key, absl::StrCat("is no name of the kind \"", NameOf(meant), "\""));
  return name.value_or(CertificateName{});
}

// A key of older releases, which compared it with every name of a certificate: now it is compared with alternative
// names of the kind that it looks like, since a common name is what its owner makes of it.
constexpr char kSubject[] = "subject";

CertificateName ReadCertificateName(const Json& json, ObjectReader& reader) {
  std::vector<CertificateName> names;
  for (const NameKind kind : kNameKinds) {
    if (json.contains(NameOf(kind))) names.push_back(ReadName(NameOf(kind), kind, reader));
  }
  if (json.contains(kSubject)) names.push_back(ReadName(kSubject, std::nullopt, reader));
  if (names.size() == 1) return names.front();
  reader.Complain("", "must hold exactly one of uri, dns, email, ip (alternative names) and common_name");
  return {};
}

AuthConfig::Certificate ReadCertificate(const Json& json, const std::string& path, Violations& violations) {
  constexpr std::array<std::string_view, 8> kKnown = {"uri",         "dns",     "email",  "ip",
                                                      "common_name", "subject", "tenant", "role"};
  ObjectReader reader(json, path, kKnown, violations);
  AuthConfig::Certificate certificate;
  if (json.is_object()) certificate.name = ReadCertificateName(json, reader);
  certificate.caller = ReadCaller(certificate.name.value, reader);
  return certificate;
}

TenantLimits ReadLimits(ObjectReader& reader) {
  constexpr double kLeast = 1e-3;
  constexpr double kMost = 1e6;
  TenantLimits limits;
  limits.weight = reader.Number("weight", kLeast, kMost, limits.weight);
  limits.max_running = reader.Integer("max_running", limits.max_running);
  limits.max_waiting = reader.Integer("max_waiting", limits.max_waiting);
  limits.requests_per_second = reader.Number("requests_per_second", kLeast, kMost, limits.requests_per_second);
  limits.burst = reader.Number("burst", 1, kMost, std::max(1.0, std::min(limits.requests_per_second, kMost)));
  return limits;
}

void ReadTenantLimits(const Json& json, const std::string& path, TenantTable& tenants, Violations& violations) {
  constexpr std::array<std::string_view, 6> kKnown = {
      "name", "weight", "max_running", "max_waiting", "requests_per_second", "burst"};
  ObjectReader reader(json, path, kKnown, violations);
  const std::string name = ReadTenant("name", reader, std::nullopt);
  if (!tenants.named.emplace(name, ReadLimits(reader)).second) reader.Complain("name", "is that of another tenant");
}

TenantLimits ReadOtherLimits(const Json& json, const std::string& path, Violations& violations) {
  constexpr std::array<std::string_view, 5> kKnown = {"weight", "max_running", "max_waiting", "requests_per_second",
                                                      "burst"};
  ObjectReader reader(json, path, kKnown, violations);
  return ReadLimits(reader);
}

void CheckUnique(const AuthConfig& config, Violations& violations) {
  std::set<Sha256> digests;
  for (std::size_t i = 0; i < config.tokens.size(); ++i) {
    if (!digests.insert(config.tokens[i].digest).second) {
      violations.Add(absl::StrCat("tokens[", i, "].sha256"), "is that of another token");
    }
  }
  std::set<CertificateName> names;
  for (std::size_t i = 0; i < config.certificates.size(); ++i) {
    if (!names.insert(config.certificates[i].name).second) {
      violations.Add(absl::StrCat("certificates[", i, "]"), "has the name of another certificate");
    }
  }
}

}  // namespace

Sha256 Sha256Of(std::string_view bytes) {
  Sha256 digest{};
  SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), digest.data());
  return digest;
}

absl::StatusOr<AuthConfig> ParseAuthConfig(std::string_view json) {
  const Json document = Json::parse(json, nullptr, /*allow_exceptions=*/false);
  if (document.is_discarded()) return absl::InvalidArgumentError("is no JSON");
  constexpr std::array<std::string_view, 4> kKnown = {"tokens", "certificates", "tenants", "other_tenants"};
  Violations violations;
  AuthConfig config;
  ObjectReader reader(document, "", kKnown, violations);
  reader.Elements("tokens", [&](const Json& element, const std::string& path) {
    config.tokens.push_back(ReadToken(element, path, violations));
  });
  reader.Elements("certificates", [&](const Json& element, const std::string& path) {
    config.certificates.push_back(ReadCertificate(element, path, violations));
  });
  reader.Elements("tenants", [&](const Json& element, const std::string& path) {
    ReadTenantLimits(element, path, config.tenants, violations);
  });
  if (document.is_object() && document.contains("other_tenants")) {
    config.tenants.others = ReadOtherLimits(document["other_tenants"], "other_tenants", violations);
  }
  if (violations.empty()) CheckUnique(config, violations);
  if (violations.empty() && config.tokens.empty() && config.certificates.empty()) {
    violations.Add("tokens", "must not be empty unless there are certificates: nobody could call");
  }
  if (!violations.empty()) return violations.ToStatus();
  return config;
}

}  // namespace planwright::server
