#pragma once

#include <string>

#include "apps/mankai/hot_report.hpp"
#include "apps/mankai/output.hpp"

namespace mankai::command {

/// A table that is drawn again and again at the same place of a terminal. Nothing about the terminal is changed, so
/// there is nothing to put back, however the process ends.
class HotScreen {
 public:
  /// Draws over what was drawn last, as many rows as fit.
  void draw(HotBlock block, const std::string& heading, Output& output);
  /// Takes away what was drawn last.
  void clear(Output& output);

 private:
  std::size_t lines_ = 0;  // drawn last; the cursor stands below them
};

}  // namespace mankai::command
