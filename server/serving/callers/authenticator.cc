#include "server/serving/callers/authenticator.h"

#include <openssl/crypto.h>

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "core/base/strings.h"

namespace planwright::server {
namespace {

constexpr std::string_view kScheme = "Bearer ";

absl::StatusOr<Caller> IdentifyToken(const AuthConfig& config, std::string_view authorization) {
  if (!absl::StartsWithIgnoreCase(ToAbsl(authorization), ToAbsl(kScheme))) {
    return absl::UnauthenticatedError("the metadata \"authorization\" must be \"Bearer TOKEN\"");
  }
  const Sha256 digest = Sha256Of(authorization.substr(kScheme.size()));
  const Caller* caller = nullptr;
  for (const AuthConfig::Token& token : config.tokens) {
    if (CRYPTO_memcmp(digest.data(), token.digest.data(), digest.size()) == 0) caller = &token.caller;
  }
  if (caller == nullptr) return absl::UnauthenticatedError("the token is not known");
  return *caller;
}

bool IsRevoked(const Revocations& revocations, std::span<const std::string> certificates) {
  return std::any_of(certificates.begin(), certificates.end(),
                     [&](const std::string& pem) { return revocations.IsRevoked(pem); });
}

}  // namespace

void Authenticator::Replace(Rules rules) {
  const std::lock_guard lock(mutex_);
  std::swap(rules_, rules);
}

absl::StatusOr<Caller> Authenticator::Identify(const Credentials& credentials) const {
  const auto [known, revocations] = rules();
  if (revocations != nullptr && IsRevoked(*revocations, credentials.certificates)) {
    return absl::UnauthenticatedError("the client's certificate has been revoked: get another one");
  }
  if (known == nullptr) {
    Caller anybody;
    anybody.tenant = credentials.stated_tenant.value_or(kDefaultTenant);
    return anybody;
  }
  if (credentials.authorization.has_value()) return IdentifyToken(*known, *credentials.authorization);
  for (const AuthConfig::Certificate& certificate : known->certificates) {
    const auto& names = credentials.certificate_names;
    if (std::find(names.begin(), names.end(), certificate.name) != names.end()) return certificate.caller;
  }
  return absl::UnauthenticatedError(credentials.certificate_names.empty()
                                        ? "send the metadata \"authorization: Bearer TOKEN\" or a client certificate"
                                        : "no name of the client's certificate is known, and there is no token");
}

std::vector<std::string> Authenticator::Tenants() const {
  const std::shared_ptr<const AuthConfig> known = rules().config;
  std::set<std::string> tenants;
  if (known == nullptr) return {};
  for (const AuthConfig::Token& token : known->tokens) tenants.insert(token.caller.tenant);
  for (const AuthConfig::Certificate& certificate : known->certificates) tenants.insert(certificate.caller.tenant);
  return {tenants.begin(), tenants.end()};
}

Authenticator::Rules Authenticator::rules() const {
  const std::lock_guard lock(mutex_);
  return rules_;
}

}  // namespace planwright::server
