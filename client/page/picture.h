// Drawings of boxes and lines, with every place settled.
#ifndef PLANWRIGHT_CLIENT_PAGE_PICTURE_H_
#define PLANWRIGHT_CLIENT_PAGE_PICTURE_H_

#include <cstddef>
#include <string>
#include <vector>

namespace planwright::client {

struct Box {
  double x = 0;
  double y = 0;
  double width = 0;
  double height = 0;
  std::string label = {};
  // What is said about it where somebody points at it.
  std::string tip = {};
  // Equal numbers have equal colours; -1: none.
  int colour = -1;
  // Stands around other boxes.
  bool outline = false;
};

struct Line {
  double x1 = 0;
  double y1 = 0;
  double x2 = 0;
  double y2 = 0;
  // How far below its ends it passes; 0: it leaves and arrives sideways.
  double bend = 0;
  // In [0, 1]: how thick.
  double strength = 0;
  std::string tip = {};
};

// Pixels of a page of usual width; y grows downwards.
struct Picture {
  double width = 0;
  double height = 0;
  std::vector<Box> boxes;
  std::vector<Line> lines;
  // What the picture leaves out.
  std::vector<std::string> notes;
};

}  // namespace planwright::client

#endif  // PLANWRIGHT_CLIENT_PAGE_PICTURE_H_
