#include "server/main/allocator_settings.h"

#ifdef PLANWRIGHT_WITH_JEMALLOC
#include <fcntl.h>
#include <jemalloc/jemalloc.h>
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <condition_variable>
#include <iterator>
#include <mutex>
#include <stop_token>
#include <string_view>

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

namespace {

// What the process holds in memory, from the kernel's account of it.
class ResidentMemory {
 public:
  ResidentMemory() : file_(open("/proc/self/statm", O_RDONLY | O_CLOEXEC)) {}
  ~ResidentMemory() {
    if (file_ >= 0) close(file_);
  }
  ResidentMemory(const ResidentMemory&) = delete;
  ResidentMemory& operator=(const ResidentMemory&) = delete;

  // 0 where it cannot be known.
  int64_t Bytes() const {
    char text[128];
    const ssize_t size = pread(file_, text, sizeof(text), /*offset=*/0);
    if (size <= 0) return 0;
    // Pages: "total resident ...".
    const std::string_view line(text, static_cast<std::size_t>(size));
    const std::size_t space = line.find(' ');
    if (space == std::string_view::npos) return 0;
    int64_t pages = 0;
    std::from_chars(std::next(text, static_cast<std::ptrdiff_t>(space) + 1), std::next(text, size), pages);
    return pages * page_bytes_;
  }

 private:
  const int file_;
  const int64_t page_bytes_ = sysconf(_SC_PAGESIZE);
};

// Purges all arenas (MALLCTL_ARENAS_ALL).
void ReturnFreedPages() { mallctl("arena.4096.purge", nullptr, nullptr, nullptr, 0); }

void KeepWithin(int64_t soft_limit, const std::stop_token& stop) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds kTick{20};
  // What is in use cannot go back: asked again when there is more, or later.
  constexpr std::chrono::seconds kPatience{1};
  const int64_t step = soft_limit / 32;
  const ResidentMemory resident;
  int64_t left = 0;
  Clock::time_point last;
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  while (!stop.stop_requested()) {
    never.wait_for(lock, stop, kTick, [] { return false; });
    const int64_t bytes = resident.Bytes();
    if (bytes < soft_limit) left = 0;
    if (bytes < soft_limit || (bytes < left + step && Clock::now() < last + kPatience)) continue;
    ReturnFreedPages();
    left = resident.Bytes();
    last = Clock::now();
  }
}

}  // namespace

FreedMemoryLimit::FreedMemoryLimit(int64_t soft_limit)
    : worker_([soft_limit](const std::stop_token& stop) { KeepWithin(soft_limit, stop); }) {}

#else

bool ReturnMemoryInBackground() { return true; }

FreedMemoryLimit::FreedMemoryLimit(int64_t /*soft_limit*/) {}

#endif

}  // namespace planwright::server

#ifdef PLANWRIGHT_WITH_JEMALLOC
// jemalloc reads its settings here, before main. Pieces of 8 MiB and more, the tables of searches, are kept for a
// moment as others are (oversize_threshold): by default they go back at once, and the next search has every page of its
// own cleared.
extern "C" {
extern const char* malloc_conf;
const char* malloc_conf = "dirty_decay_ms:1000,muzzy_decay_ms:0,oversize_threshold:0";
}
#endif
