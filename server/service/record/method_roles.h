// The role that each RPC needs.
#ifndef PLANWRIGHT_SERVER_SERVICE_RECORD_METHOD_ROLES_H_
#define PLANWRIGHT_SERVER_SERVICE_RECORD_METHOD_ROLES_H_

#include <string_view>

#include "server/serving/callers/caller.h"

namespace planwright::server {

// `method`: its name in planwright.v1.PlanningService or AdminService. A test demands a row for every method of the
// contract; a method without one is for admins.
Role RoleNeeded(std::string_view method);

// Whether a method changes what others see, so that the audit log tells of its calls: never, always, or those that name
// what they have stored. A method without a row: always.
enum class Change { kNothing, kAlways, kWhereNamed };
Change ChangeOf(std::string_view method);

// Whether the table has a row for it.
bool HasRole(std::string_view method);

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_SERVICE_RECORD_METHOD_ROLES_H_
