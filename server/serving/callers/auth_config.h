// Who may call, as a file says it.
//
//   {
//     "tokens":       [{"name": "ci", "sha256": "<64 hexadecimal digits>", "tenant": "team-a", "role": "planner"}],
//     "certificates": [{"subject": "spiffe://cluster/scheduler", "tenant": "team-b", "role": "admin"}],
//     "tenants":      [{"name": "team-a", "weight": 2, "max_running": 2, "max_waiting": 20,
//                       "requests_per_second": 5, "burst": 20}],
//     "other_tenants": {"max_running": 4}
//   }
//
// Tokens are not in it, only their digests. They must be long and random (`openssl rand -hex 32`): a digest without
// salt protects nothing that can be guessed.
#ifndef PLANWRIGHT_SERVER_SERVING_CALLERS_AUTH_CONFIG_H_
#define PLANWRIGHT_SERVER_SERVING_CALLERS_AUTH_CONFIG_H_

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "server/serving/callers/caller.h"
#include "server/serving/callers/certificate_name.h"
#include "server/serving/tenants/tenant_limits.h"

namespace planwright::server {

using Sha256 = std::array<uint8_t, 32>;

Sha256 Sha256Of(std::string_view bytes);

struct AuthConfig {
  struct Token {
    Sha256 digest{};
    // Its name is the caller's subject.
    Caller caller;
  };
  struct Certificate {
    // One of those in the client's certificate; its text is the caller's subject. As NormalName has it.
    CertificateName name;
    Caller caller;
  };
  std::vector<Token> tokens;
  std::vector<Certificate> certificates;
  TenantTable tenants;
};

// Errors: INVALID_ARGUMENT, with every rule that the text breaks, by the path of the field; no message holds a value of
// "sha256".
absl::StatusOr<AuthConfig> ParseAuthConfig(std::string_view json);

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_SERVING_CALLERS_AUTH_CONFIG_H_
