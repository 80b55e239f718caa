// What fills devices, as stacked bars: time by what it goes to, memory by what takes it.
#ifndef PLANWRIGHT_CLIENT_PAGE_BARS_H_
#define PLANWRIGHT_CLIENT_PAGE_BARS_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "planwright/v1/graph.pb.h"
#include "planwright/v1/plan.pb.h"

namespace planwright::client {

struct Bars {
  struct Part {
    std::string name;
    // By row, in `unit`.
    std::vector<double> values;
    // Parts with equal numbers follow each other; others begin anew below.
    int stack = 0;
  };

  std::string unit;
  std::vector<std::string> rows;
  std::vector<Part> parts;
  // By row; no limit: not set.
  std::vector<std::optional<double>> limits;
  // Where all rows are compared with one value.
  std::optional<double> line;
  // What the bars cannot say.
  std::vector<std::string> notes;
};

// A row for each device in use; where there are more than 8 of them and fewer stages, one for each stage, with the
// name of its first device. Milliseconds for a micro-batch.
Bars LoadBars(const v1::Plan& plan);

// Such rows of memory, in GiB. The parts add up to what the plan says; where the memory model of the plan has no parts,
// there is one.
Bars MemoryBars(const v1::Plan& plan, const v1::Graph& graph);

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_PAGE_BARS_H_
