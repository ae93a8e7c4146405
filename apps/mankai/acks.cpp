#include "apps/mankai/acks.hpp"

#include <utility>

namespace mankai::command {

void Acks::wait_for(std::uint64_t sequence, std::span<const std::string_view> keys) {
  std::size_t bytes = 0;
  for (const std::string_view key : keys) {
    bytes += key.size() + 1;
  }
  std::string lines;
  lines.reserve(bytes);
  for (const std::string_view key : keys) {
    lines.append(key).append("\n");
  }
  bytes_ += bytes;
  waiting_.push_back({.sequence = sequence, .lines = std::move(lines)});
}

void Acks::print(std::uint64_t durable_sequence, Output& output) {
  while (!waiting_.empty() && waiting_.front().sequence <= durable_sequence) {
    output.append(waiting_.front().lines);
    bytes_ -= waiting_.front().lines.size();
    waiting_.pop_front();
  }
  output.flush();
}

}  // namespace mankai::command
