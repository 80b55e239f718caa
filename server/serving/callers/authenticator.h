// Says who calls.
#ifndef PLANWRIGHT_SERVER_SERVING_CALLERS_AUTHENTICATOR_H_
#define PLANWRIGHT_SERVER_SERVING_CALLERS_AUTHENTICATOR_H_

#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "server/serving/callers/auth_config.h"
#include "server/serving/callers/caller.h"
#include "server/serving/callers/certificate_name.h"
#include "server/serving/callers/revocations.h"

namespace planwright::server {

// What a call brings to show who makes it.
struct Credentials {
  // The value of the metadata "authorization"; nullopt: there is none.
  std::optional<std::string_view> authorization;
  // Names in the client's certificate, which the transport has verified; as NormalName has them.
  std::span<const CertificateName> certificate_names;
  // The certificate and those that the client has sent with it, each text in PEM form.
  std::span<const std::string> certificates;
  // The tenant that the caller says it is of; believed only where nobody is asked who they are.
  std::optional<std::string_view> stated_tenant;
};

// Thread-safe.
class Authenticator {
 public:
  // What callers are judged by.
  struct Rules {
    // nullptr: everybody may do everything.
    std::shared_ptr<const AuthConfig> config;
    // nullptr: no certificate has been revoked.
    std::shared_ptr<const Revocations> revocations;
  };

  Authenticator() = default;
  explicit Authenticator(Rules rules) : rules_(std::move(rules)) {}

  // Later calls are judged by `rules`, also those of connections that are open.
  void Replace(Rules rules);

  // Whoever shows a revoked certificate is nobody. A token goes before a certificate. Its digest is compared with all
  // of the configuration in constant time, so that the time of an answer tells nothing. Errors: UNAUTHENTICATED; the
  // message holds nothing of what was sent.
  absl::StatusOr<Caller> Identify(const Credentials& credentials) const;

  // The tenants that the configuration names; none where nobody is asked who they are.
  std::vector<std::string> Tenants() const;

 private:
  Rules rules() const;

  mutable std::mutex mutex_;
  // Guarded by mutex_.
  Rules rules_;
};

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_SERVING_CALLERS_AUTHENTICATOR_H_
