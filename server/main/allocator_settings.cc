#include "server/main/allocator_settings.h"

#ifdef PLANWRIGHT_WITH_JEMALLOC
#include <jemalloc/jemalloc.h>

#include <thread>

#include "server/serving/admission/niceness.h"
#endif

namespace planwright::server {

#ifdef PLANWRIGHT_WITH_JEMALLOC

bool ReturnMemoryInBackground() {
  constexpr int kNiceness = 10;
  bool is_on = false;
  // jemalloc's threads begin with the niceness of the one that asks for them.
  std::thread([&is_on] {
    BeNicer(kNiceness);
    bool on = true;
    is_on = mallctl("background_thread", nullptr, nullptr, &on, sizeof(on)) == 0;
  }).join();
  return is_on;
}

#else

bool ReturnMemoryInBackground() { return true; }

#endif

}  // namespace planwright::server

#ifdef PLANWRIGHT_WITH_JEMALLOC
// jemalloc reads its settings here, before main.
extern "C" {
extern const char* malloc_conf;
const char* malloc_conf = "dirty_decay_ms:1000,muzzy_decay_ms:0";
}
#endif
