// How far a thread yields to others.
#ifndef PLANWRIGHT_SERVER_SERVING_ADMISSION_NICENESS_H_
#define PLANWRIGHT_SERVER_SERVING_ADMISSION_NICENESS_H_

namespace planwright::server {

// Gives the calling thread the niceness of the process's first one and `by` >= 0 more, unless it has as much: Linux
// keeps it by thread. Threads that it starts from now on begin with its own.
void BeNicer(int by);

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_SERVING_ADMISSION_NICENESS_H_
