#include "apps/mankai-lab/step_line.hpp"

#include <unistd.h>

#include <string>

namespace mankai::command {

void show_step(std::string_view text) {
  if (isatty(STDERR_FILENO) == 1) {
    const std::string line = "\r\x1b[K" + std::string(text);
    static_cast<void>(!write(STDERR_FILENO, line.data(), line.size()));
  }
}

}  // namespace mankai::command
