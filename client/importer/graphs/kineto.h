// Times out of a trace of PyTorch's profiler: what each stretch that the program has named takes on the devices.
//
// Names are those of torch.profiler.record_function: "layer.0/attention". A kernel belongs to the stretch in which it
// was launched (the call with the same correlation), on the thread of the call, and to those around it. A kernel of the
// backward pass was launched inside an operator of autograd; that has the sequence number of the forward operator, and
// the kernel belongs to the stretch of that one. Steps are marked by "ProfilerStep#k"; what began before the end of the
// first one does not count, since it warms up. A trace without kernels, of a run on CPUs, has the stretches themselves
// as forward times and the operators of autograd as backward times. Kernels that run beside each other count in full.
// Complexity O(n log n) for n events.
#ifndef PLANWRIGHT_CLIENT_IMPORTER_GRAPHS_KINETO_H_
#define PLANWRIGHT_CLIENT_IMPORTER_GRAPHS_KINETO_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "client/importer/graphs/kineto_events.h"
#include "client/importer/graphs/profile.h"

namespace planwright::client {

struct KinetoTimes {
  // The mean over the times that each name was entered, in the order of the first ones.
  std::vector<ProfileRow> rows;
  // What was taken and left out, for people.
  std::string assumption;
};

// Whether `bytes` begin as a trace does, or as gzip, rather than as a table.
bool MayBeTrace(std::string_view bytes);

// The times in a trace. INVALID_ARGUMENT: it names no stretch outside of the first step.
absl::StatusOr<KinetoTimes> TimesOf(const KinetoEvents& events, std::string_view source);

// The times in a file. Errors: those of ReadKinetoEvents as well.
absl::StatusOr<KinetoTimes> ReadKineto(std::string_view bytes, std::string_view source);

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_IMPORTER_GRAPHS_KINETO_H_
