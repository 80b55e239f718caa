// Hosts with the devices in them, coloured by stage, and who talks to whom, as a drawing.
//
// A replica talks to those replicas of the other stage that have its share of the micro-batches: its own number where
// both stages have as many. Above 200 devices there are only hosts; above 200 hosts only the first ones in use.
#ifndef PLANWRIGHT_CLIENT_PAGE_MACHINE_PICTURE_H_
#define PLANWRIGHT_CLIENT_PAGE_MACHINE_PICTURE_H_

#include "client/page/picture.h"
#include "client/page/traffic.h"
#include "planwright/v1/cluster.pb.h"

namespace planwright::client {

Picture MachinePicture(const v1::Plan& plan, const v1::Cluster& cluster, const Traffic& traffic);

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_PAGE_MACHINE_PICTURE_H_
