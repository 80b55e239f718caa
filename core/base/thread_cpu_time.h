// The processor time of a thread, which does not count what others had.
#ifndef PLANWRIGHT_CORE_BASE_THREAD_CPU_TIME_H_
#define PLANWRIGHT_CORE_BASE_THREAD_CPU_TIME_H_

#include <chrono>
#include <ctime>

namespace planwright {

// That of the calling thread since it began.
inline std::chrono::nanoseconds ThreadCpuTime() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_BASE_THREAD_CPU_TIME_H_
