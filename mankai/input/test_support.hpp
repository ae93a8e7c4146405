#pragma once

#include <string>
#include <string_view>
#include <vector>

// For this layer's tests and its fuzz target: what a reader must say, written as plainly as possible.

namespace mankai::test {

/// Cuts text into lines by the rules of LineReader.
[[nodiscard]] inline std::vector<std::string> split_model(std::string_view text) {
  std::vector<std::string> lines;
  std::string line;
  for (const char character : text) {
    if (character != '\n') {
      line += character;
      continue;
    }
    if (line.ends_with('\r')) {
      line.pop_back();
    }
    lines.push_back(line);
    line.clear();
  }
  if (!text.empty() && text.back() != '\n') {
    lines.push_back(line);
  }
  return lines;
}

}  // namespace mankai::test
