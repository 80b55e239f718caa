// The tables of the page.
#ifndef PLANWRIGHT_CLIENT_PAGE_TABLES_H_
#define PLANWRIGHT_CLIENT_PAGE_TABLES_H_

#include <string>
#include <vector>

#include "client/page/traffic.h"
#include "client/report/cpu_use.h"
#include "planwright/v1/plan.pb.h"

namespace planwright::client {

// Rows and columns of text.
struct PageTable {
  std::string caption;
  std::vector<std::string> head;
  std::vector<std::vector<std::string>> rows;
};

int DevicesInUse(const v1::Plan& plan);

// "51.447 ms per micro-batch, proven optimal".
std::string HeadlineText(const v1::Plan& plan);

// Speed, memory, bound, search.
PageTable OverviewTable(const v1::Plan& plan, const CpuNames& cpus);
PageTable StagesTable(const v1::Plan& plan);

// Who sends how much to whom, then how busy links are; empty tables are left out, here and below.
std::vector<PageTable> TrafficTables(const v1::Plan& plan, const Traffic& traffic);

// Joint plans: the memory of a device of each stage by part.
std::vector<PageTable> MemoryTables(const v1::Plan& plan);

PageTable BoundsTable(const v1::Plan& plan);

// Reliefs, simpler plans; of joint plans what choices are worth, and equal stages.
std::vector<PageTable> AlternativeTables(const v1::Plan& plan);

// The tensors that a stage sends to others; `tensors` are those of the graph.
PageTable SentTable(const v1::Plan& plan, int stage, const Traffic& traffic, const v1::Graph& graph);

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_PAGE_TABLES_H_
