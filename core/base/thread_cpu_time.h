// The processor time of a thread, which does not count what others had, but for those who worked for it alone.
#ifndef PLANWRIGHT_CORE_BASE_THREAD_CPU_TIME_H_
#define PLANWRIGHT_CORE_BASE_THREAD_CPU_TIME_H_

#include <chrono>
#include <ctime>

namespace planwright {

namespace internal {

inline constinit thread_local std::chrono::nanoseconds charged_cpu_time{0};

}  // namespace internal

// The CPU time of the calling thread since it began, with what was charged to it.
inline std::chrono::nanoseconds ThreadCpuTime() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec) + internal::charged_cpu_time;
}

// What another thread has worked for the calling one.
inline void ChargeThread(std::chrono::nanoseconds time) { internal::charged_cpu_time += time; }

}  // namespace planwright

#endif  // PLANWRIGHT_CORE_BASE_THREAD_CPU_TIME_H_
