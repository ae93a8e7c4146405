#include "apps/mankai/hot_screen.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>

namespace mankai::command {
namespace {

struct Size {
  std::size_t lines = 24;
  std::size_t columns = 80;
};

Size terminal_size() {
  Size size;
  winsize window{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_row > 0 && window.ws_col > 0) {
    size = {.lines = window.ws_row, .columns = window.ws_col};
  }
  return size;
}

}  // namespace

void HotScreen::draw(HotBlock block, const std::string& heading, Output& output) {
  constexpr std::size_t kOtherLines = 3;  // heading, titles, and that of the cursor
  const Size size = terminal_size();
  const std::size_t rows = size.lines > kOtherLines ? size.lines - kOtherLines : 1;
  block.rows.resize(std::min(block.rows.size(), rows));
  clear(output);
  const std::string table = heading.substr(0, size.columns) + "\n" + hot_table(block, size.columns);
  output.append(table);
  lines_ = static_cast<std::size_t>(std::ranges::count(table, '\n'));
}

void HotScreen::clear(Output& output) {
  if (lines_ > 0) {
    output.append(fmt::format("\x1b[{}A\r\x1b[J", lines_));
    lines_ = 0;
  }
}

}  // namespace mankai::command
