#pragma once

#include <string_view>

namespace mankai::command {

/// Shows what is being worked on, in place of what was shown before, where standard error is a terminal. An empty text
/// takes the line away.
void show_step(std::string_view text);

}  // namespace mankai::command
