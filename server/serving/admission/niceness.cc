#include "server/serving/admission/niceness.h"

#include <sys/resource.h>
#include <unistd.h>

namespace planwright::server {

void BeNicer(int by) {
  if (by == 0) return;
  const auto thread = static_cast<id_t>(gettid());
  const int wanted = getpriority(PRIO_PROCESS, static_cast<id_t>(getpid())) + by;
  if (getpriority(PRIO_PROCESS, thread) < wanted) setpriority(PRIO_PROCESS, thread, wanted);
}

}  // namespace planwright::server
