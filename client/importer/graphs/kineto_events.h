// What counts of a trace of PyTorch's profiler (Kineto): the events that say where time went, without their graph of
// calls.
#ifndef PLANWRIGHT_CLIENT_IMPORTER_GRAPHS_KINETO_EVENTS_H_
#define PLANWRIGHT_CLIENT_IMPORTER_GRAPHS_KINETO_EVENTS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace planwright::client {

// Times in microseconds, threads as small numbers of ours.
struct KinetoEvents {
  // A stretch that the program has named (torch.profiler.record_function), on the thread that ran it.
  struct Span {
    double begin_us = 0;
    double end_us = 0;
    int32_t thread = 0;
    // Position in `names`.
    int32_t name = 0;
  };
  // An operator with a number by which autograd finds its backward pass.
  struct Op {
    double begin_us = 0;
    double end_us = 0;
    int64_t sequence = 0;
    int32_t thread = 0;
    bool is_backward = false;
  };
  // A call that has started a kernel.
  struct Launch {
    double time_us = 0;
    int64_t correlation = 0;
    int32_t thread = 0;
  };
  // Work of a device, a copy of memory included.
  struct Kernel {
    double duration_us = 0;
    int64_t correlation = 0;
  };
  std::vector<std::string> names;
  std::vector<Span> spans;
  std::vector<Op> ops;
  std::vector<Launch> launches;
  std::vector<Kernel> kernels;
};

// Reads `bytes`, JSON or gzip of it, as a stream: {"traceEvents": [...]}, or the array alone. Memory: about 40 bytes an
// event that counts, at most 20 million of them, and twice what different names take, of 1 KiB each at most. Errors:
// INVALID_ARGUMENT that begins with `source`, with the event
// ("traceEvents[7].dur"); text that is no JSON, or unpacks to more than `max_bytes`.
absl::StatusOr<KinetoEvents> ReadKinetoEvents(std::string_view bytes, std::string_view source,
                                              int64_t max_bytes = int64_t{4} << 30);

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_IMPORTER_GRAPHS_KINETO_EVENTS_H_
