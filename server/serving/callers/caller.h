// Who calls, and what that entitles to.
#ifndef PLANWRIGHT_SERVER_SERVING_CALLERS_CALLER_H_
#define PLANWRIGHT_SERVER_SERVING_CALLERS_CALLER_H_

#include <string>
#include <string_view>

namespace planwright::server {

// Each may do what those before it may: look, plan and keep plans, see and end the work of every tenant.
enum class Role { kReader, kPlanner, kAdmin };

// "reader", "planner", "admin".
const char* NameOf(Role role);

// Whether a tenant or a request may be called so: 1 to 64 letters, digits, hyphens and underscores, which are safe in
// logs and labels.
bool IsPlainName(std::string_view name);

// The tenant of callers that name none.
inline constexpr char kDefaultTenant[] = "default";

struct Caller {
  // Owner of what the call stores, and whose share of the server it uses.
  std::string tenant = kDefaultTenant;
  // Who it is, for logs: the name of a token or of a certificate; empty: nobody was asked.
  std::string subject;
  Role role = Role::kAdmin;
};

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_SERVING_CALLERS_CALLER_H_
