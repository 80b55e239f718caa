// How planwrightd keeps its memory (docs/adr/0009-the-server-allocates-with-jemalloc.md).
#ifndef PLANWRIGHT_SERVER_MAIN_ALLOCATOR_SETTINGS_H_
#define PLANWRIGHT_SERVER_MAIN_ALLOCATOR_SETTINGS_H_

namespace planwright::server {

// Has threads of jemalloc's give freed pages back to the system within about a second, also those of threads that have
// nothing to do any more. They yield to whoever serves requests. False: they could not be started, and pages go back
// when threads allocate again. Does nothing where the program is built without jemalloc. To be called once, by main.
bool ReturnMemoryInBackground();

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_MAIN_ALLOCATOR_SETTINGS_H_
