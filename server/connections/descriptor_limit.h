// How many files and sockets the process may have open.
#ifndef PLANWRIGHT_SERVER_CONNECTIONS_DESCRIPTOR_LIMIT_H_
#define PLANWRIGHT_SERVER_CONNECTIONS_DESCRIPTOR_LIMIT_H_

namespace planwright::server {

// Raises the soft limit to the hard one, as far as the system lets us. To be called once, before threads are started.
void RaiseDescriptorLimit();

// The soft limit, capped at a million.
int DescriptorLimit();

}  // namespace planwright::server

#endif  // PLANWRIGHT_SERVER_CONNECTIONS_DESCRIPTOR_LIMIT_H_
