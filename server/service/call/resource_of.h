// What a message speaks of, for the audit log.
#ifndef PLANWRIGHT_SERVER_SERVICE_CALL_RESOURCE_OF_H_
#define PLANWRIGHT_SERVER_SERVICE_CALL_RESOURCE_OF_H_

#include <string>

namespace planwright::server {

// The name of the stored thing that a request names or that a response tells of ("plans/bert-4"); empty: it is none of
// these.
template <typename Message>
std::string ResourceOf(const Message& message) {
  if constexpr (requires { message.name(); }) {
    return message.name();
  } else if constexpr (requires { message.operation().name(); }) {
    return message.operation().name();
  } else if constexpr (requires { message.graph().name(); }) {
    return message.graph().name();
  } else if constexpr (requires { message.cluster().name(); }) {
    return message.cluster().name();
  } else {
    return "";
  }
}

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_SERVICE_CALL_RESOURCE_OF_H_
