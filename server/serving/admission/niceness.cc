#include "server/serving/admission/niceness.h"

#include <sys/resource.h>
#include <unistd.h>

namespace planwright::server {

void BeNicer(int by) {
  if (by == 0) return;
  const auto thread = static_cast<id_t>(gettid());
  setpriority(PRIO_PROCESS, thread, getpriority(PRIO_PROCESS, thread) + by);
}

}  // namespace planwright::server
