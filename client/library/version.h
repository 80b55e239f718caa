// Version of the client library and the program.
#ifndef PLANWRIGHT_CLIENT_LIBRARY_VERSION_H_
#define PLANWRIGHT_CLIENT_LIBRARY_VERSION_H_

namespace planwright::client {

// As in the project's CMakeLists.txt.
inline constexpr char kVersion[] = PLANWRIGHT_VERSION;

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_LIBRARY_VERSION_H_
