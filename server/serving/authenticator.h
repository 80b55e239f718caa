// Says who calls.
#ifndef PLANWRIGHT_SERVER_SERVING_AUTHENTICATOR_H_
#define PLANWRIGHT_SERVER_SERVING_AUTHENTICATOR_H_

#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "server/serving/auth_config.h"
#include "server/serving/caller.h"

namespace planwright::server {

// What a call brings to show who makes it.
struct Credentials {
  // The value of the metadata "authorization"; nullopt: there is none.
  std::optional<std::string_view> authorization;
  // Names in the client's certificate, which the transport has verified.
  std::span<const std::string> certificate_names;
  // The tenant that the caller says it is of; believed only where nobody is asked who they are.
  std::optional<std::string_view> stated_tenant;
};

// Thread-safe.
class Authenticator {
 public:
  // nullptr: everybody may do everything.
  explicit Authenticator(std::shared_ptr<const AuthConfig> config) : config_(std::move(config)) {}

  // Later calls are judged by `config`.
  void Replace(std::shared_ptr<const AuthConfig> config);

  // A token goes before a certificate. Its digest is compared with all of the configuration in constant time, so that
  // the time of an answer tells nothing. Errors: UNAUTHENTICATED; the message holds nothing of what was sent.
  absl::StatusOr<Caller> Identify(const Credentials& credentials) const;

 private:
  std::shared_ptr<const AuthConfig> config() const;

  mutable std::mutex mutex_;
  // Guarded by mutex_.
  std::shared_ptr<const AuthConfig> config_;
};

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_SERVING_AUTHENTICATOR_H_
