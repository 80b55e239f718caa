#include "core/joint/place/grid_layouts.h"

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <utility>

namespace planwright {
namespace {

using Box = std::vector<int32_t>;
using Place = std::vector<int32_t>;

int64_t SizeOf(const Box& box) { return std::accumulate(box.begin(), box.end(), int64_t{1}, std::multiplies<>()); }

// Row by row, every second one backwards.
std::vector<Place> Snake(const Box& box) {
  std::vector<Place> places{Place(box.size(), 0)};
  std::size_t done = 1;
  for (std::size_t dimension = 0; dimension < box.size(); ++dimension) {
    for (int32_t at = 1; at < box[dimension]; ++at) {
      for (std::size_t i = 0; i < done; ++i) {
        // Behind the last place of the row before it comes the one beside that.
        Place place = places[static_cast<std::size_t>(at) * done - 1 - i];
        place[dimension] = at;
        places.push_back(std::move(place));
      }
    }
    done = places.size();
  }
  return places;
}

// The dimension that a comb's back has: the places of the others are even in number; -1: there is none.
int BackOf(const Box& box) {
  for (std::size_t dimension = 0; dimension < box.size(); ++dimension) {
    if (box[dimension] > 1 && SizeOf(box) / box[dimension] % 2 == 0) return static_cast<int>(dimension);
  }
  return -1;
}

// Teeth there and back from the second place of the back's dimension on, then home along its first places.
std::vector<Place> Comb(const Box& box, std::size_t back) {
  Box others = box;
  others[back] = 1;
  const std::vector<Place> rows = Snake(others);
  std::vector<Place> way;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    for (int32_t step = 1; step < box[back]; ++step) {
      way.push_back(rows[row]);
      way.back()[back] = row % 2 == 0 ? step : box[back] - step;
    }
  }
  way.insert(way.end(), rows.rbegin(), rows.rend());
  return way;
}

// Lists all boxes of `size` places whose sides divide those of `within`.
void ListBoxes(int64_t size, const Box& within, Box& box, std::vector<Box>& boxes) {
  if (box.size() == within.size()) {
    if (size == 1) boxes.push_back(box);
    return;
  }
  for (int32_t side = 1; side <= within[box.size()]; ++side) {
    if (within[box.size()] % side != 0 || size % side != 0) continue;
    box.push_back(side);
    ListBoxes(size / side, within, box, boxes);
    box.pop_back();
  }
}

std::vector<Box> BoxesOf(int64_t size, const Box& within) {
  std::vector<Box> boxes;
  Box box;
  ListBoxes(size, within, box, boxes);
  return boxes;
}

Box Divided(const Box& box, const Box& by) {
  Box parts = box;
  for (std::size_t dimension = 0; dimension < box.size(); ++dimension) parts[dimension] /= by[dimension];
  return parts;
}

constexpr std::size_t kTensor = 0;
constexpr std::size_t kCopies = 1;
constexpr std::size_t kStages = 2;

struct Layout {
  // By what it is of.
  std::array<Box, 3> boxes;
  // From the innermost to the outermost.
  std::array<std::size_t, 3> nested;
};

int32_t StrideOf(const Layout& layout, std::size_t what, std::size_t dimension) {
  int32_t stride = 1;
  for (std::size_t level = 0; layout.nested[level] != what; ++level) {
    stride *= layout.boxes[layout.nested[level]][dimension];
  }
  return stride;
}

bool IsLine(const Box& box) {
  return std::count_if(box.begin(), box.end(), [](int32_t side) { return side > 1; }) == 1;
}

// Whether a line goes around the torus.
bool IsRing(const GridInterconnect& grid, const Layout& layout, std::size_t what) {
  const Box& box = layout.boxes[what];
  if (!grid.wrap_around || !IsLine(box)) return false;
  const auto dimension = static_cast<std::size_t>(std::max_element(box.begin(), box.end()) - box.begin());
  return box[dimension] * StrideOf(layout, what, dimension) == grid.dimensions[dimension];
}

// What the steps in a box are on the grid, as device numbers.
std::vector<std::size_t> NumbersOf(const GridInterconnect& grid, const Layout& layout, std::size_t what) {
  const Box& box = layout.boxes[what];
  std::vector<std::size_t> numbers;
  for (const Place& place : IsRing(grid, layout, what) ? Snake(box) : WayAround(box)) {
    std::size_t number = 0;
    for (std::size_t dimension = box.size(); dimension-- > 0;) {
      number = number * static_cast<std::size_t>(grid.dimensions[dimension]) +
               static_cast<std::size_t>(place[dimension] * StrideOf(layout, what, dimension));
    }
    numbers.push_back(number);
  }
  return numbers;
}

}  // namespace

std::vector<std::vector<int32_t>> WayAround(const std::vector<int32_t>& box) {
  const int back = BackOf(box);
  if (back >= 0) return Comb(box, static_cast<std::size_t>(back));
  std::vector<Place> line = Snake(box);
  if (!IsLine(box)) return line;
  std::vector<Place> way;
  for (std::size_t i = 0; i < line.size(); i += 2) way.push_back(line[i]);
  for (std::size_t i = line.size() / 2; i-- > 0;) way.push_back(line[2 * i + 1]);
  return way;
}

std::vector<std::vector<std::size_t>> GridLayouts(const GridInterconnect& grid, const RegularPipeline& pipeline,
                                                  std::size_t most) {
  std::vector<Layout> layouts;
  for (const Box& tensor : BoxesOf(pipeline.tensor, grid.dimensions)) {
    const Box without_tensor = Divided(grid.dimensions, tensor);
    for (const Box& copies : BoxesOf(pipeline.copies, without_tensor)) {
      const Box stages = Divided(without_tensor, copies);
      if (SizeOf(stages) < pipeline.stages) continue;
      std::array<std::size_t, 3> nested = {kTensor, kCopies, kStages};
      do {
        layouts.push_back({{tensor, copies, stages}, nested});
      } while (std::next_permutation(nested.begin(), nested.end()));
    }
  }
  std::vector<std::vector<std::size_t>> orders;
  const std::size_t count = std::min(most, layouts.size());
  for (std::size_t i = 0; i < count; ++i) {
    const Layout& layout = layouts[i * layouts.size() / count];
    const std::vector<std::size_t> tensor = NumbersOf(grid, layout, kTensor);
    const std::vector<std::size_t> copies = NumbersOf(grid, layout, kCopies);
    const std::vector<std::size_t> stages = NumbersOf(grid, layout, kStages);
    std::vector<std::size_t>& order = orders.emplace_back();
    for (const std::size_t stage : stages) {
      for (const std::size_t copy : copies) {
        for (const std::size_t part : tensor) order.push_back(stage + copy + part);
      }
    }
  }
  return orders;
}

}  // namespace planwright
