// Orders of tenants, for tests that take operations.
#ifndef PLANWRIGHT_TESTS_SERVER_STORE_TURNS_H_
#define PLANWRIGHT_TESTS_SERVER_STORE_TURNS_H_

#include <string>
#include <vector>

namespace planwright::server {

// As a store names them.
inline std::vector<std::string> ByName(std::vector<std::string> tenants) { return tenants; }

}  // namespace planwright::server

#endif  // PLANWRIGHT_TESTS_SERVER_STORE_TURNS_H_
