// A plan as one page of HTML to look at, or two plans side by side.
//
// The page holds everything that it shows, its script and its style, and its Content-Security-Policy forbids the rest:
// it asks no network. What is said and where it stands is settled here; the script only draws (web/). Names reach the
// page as JSON inside an element that no browser runs, and the script sets them as text.
#ifndef PLANWRIGHT_CLIENT_PAGE_PAGE_H_
#define PLANWRIGHT_CLIENT_PAGE_PAGE_H_

#include <cstdint>
#include <span>
#include <string>

#include "client/report/simulation_report.h"
#include "planwright/v1/cluster.pb.h"
#include "planwright/v1/graph.pb.h"
#include "planwright/v1/plan.pb.h"

namespace planwright::client {

struct PagePlan {
  // What was planned: "zoo:bert-large on zoo:pcie:4".
  std::string title;
  const v1::Plan& plan;
  // What it is for.
  const v1::Graph& graph;
  const v1::Cluster& cluster;
  // A step of it; nullptr: there is none, and `no_simulation` says why.
  const Simulation* simulation = nullptr;
  std::string no_simulation;
  // Tasks of the step behind those of `simulation`, which are not in it.
  int64_t more_tasks = 0;
};

// Whether this build can make pages: it had npm.
bool HasPages();

// What the page may do, as the value of the header Content-Security-Policy; the page says so itself as well. REQUIRES:
// HasPages().
std::string PagePolicy();

// The page. REQUIRES: HasPages(), one or two plans. Names that graph or cluster do not have are shown as they are.
// Complexity O(operators + tensor ends + tasks + devices).
std::string PageText(std::span<const PagePlan> plans);

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_PAGE_PAGE_H_
