#include "server/serving/callers/caller.h"

namespace planwright::server {

const char* NameOf(Role role) {
  switch (role) {
    case Role::kReader:
      return "reader";
    case Role::kPlanner:
      return "planner";
    case Role::kAdmin:
      return "admin";
  }
  return "admin";
}

}  // namespace planwright::server
