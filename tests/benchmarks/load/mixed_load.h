// What becomes of calls of every kind that come at the same time.
#ifndef PLANWRIGHT_TESTS_BENCHMARKS_LOAD_MIXED_LOAD_H_
#define PLANWRIGHT_TESTS_BENCHMARKS_LOAD_MIXED_LOAD_H_

namespace planwright::benchmarks {

// Sends `rate` calls a second for `seconds`, in turns: cached, searched for, cancelled, too large, and no message at
// all. Prints what was sent of each kind, what came back and what was lost: neither answered nor refused as it should
// be. Returns how many were lost.
int MeasureMixedLoad(double rate, double seconds);

// Prints how long a server with 10,000 stored plans takes from its start to its first answer.
void MeasureRestart();

}  // namespace planwright::benchmarks

#endif  // PLANWRIGHT_TESTS_BENCHMARKS_LOAD_MIXED_LOAD_H_
