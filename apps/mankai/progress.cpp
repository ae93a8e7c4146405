#include "apps/mankai/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include "apps/mankai/format.hpp"

namespace mankai::command {
namespace {

void show(const std::string& text) { static_cast<void>(!write(STDERR_FILENO, text.data(), text.size())); }

}  // namespace

Progress::Progress(std::optional<std::uint64_t> total_bytes, bool writes_output)
    : is_on_(isatty(STDERR_FILENO) == 1 && !(writes_output && isatty(STDOUT_FILENO) == 1)), total_bytes_(total_bytes) {}

void Progress::advance(std::uint64_t bytes, std::optional<std::uint64_t> lines) {
  if (!is_on_ || Clock::now() < next_) {
    return;
  }
  const auto now = Clock::now();
  next_ = now + std::chrono::milliseconds(250);
  const double seconds = std::chrono::duration<double>(now - start_).count();
  std::string share;
  if (total_bytes_) {
    share = fmt::format(" of {}, {:.0f}%", human_bytes(*total_bytes_),
                        100 * static_cast<double>(bytes) / static_cast<double>(*total_bytes_));
  }
  const std::string counted = lines ? fmt::format("{} lines, ", human_count(*lines)) : std::string();
  show(fmt::format("\r\x1b[K{}{}; {}{}/s", human_bytes(bytes), share, counted,
                   human_bytes(static_cast<std::uint64_t>(static_cast<double>(bytes) / seconds))));
  is_shown_ = true;
}

void Progress::clear() {
  if (is_shown_) {
    show("\r\x1b[K");
    is_shown_ = false;
  }
}

}  // namespace mankai::command
