// How planwrightd keeps its memory (docs/adr/0009-the-server-allocates-with-jemalloc.md).
#ifndef PLANWRIGHT_SERVER_MAIN_ALLOCATOR_SETTINGS_H_
#define PLANWRIGHT_SERVER_MAIN_ALLOCATOR_SETTINGS_H_

#include <cstdint>
#include <thread>

namespace planwright::server {

// Has threads of jemalloc's give freed pages back to the system within about a second, also those of threads that have
// nothing to do any more. They yield to whoever serves requests. False: they could not be started, and pages go back
// when threads allocate again. Does nothing where the program is built without jemalloc. To be called once, by main.
bool ReturnMemoryInBackground();

// Looks at what the process holds, fifty times a second, for as long as it lives. Above `soft_limit` bytes every freed
// page goes back at once: a second of kept pages is cheap only while there is room, and several large requests that end
// together leave hundreds of megabytes behind. Does nothing where the program is built without jemalloc.
class FreedMemoryLimit {
 public:
  explicit FreedMemoryLimit(int64_t soft_limit);

 private:
  std::jthread worker_;
};

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_MAIN_ALLOCATOR_SETTINGS_H_
