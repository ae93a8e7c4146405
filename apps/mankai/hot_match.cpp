#include "apps/mankai/hot_match.hpp"

// The only file that sees RE2.
#include <re2/re2.h>

#include <array>
#include <string>

namespace mankai::command {
namespace {

constexpr std::int64_t kMemoryBytes = std::int64_t{1} << 20;

re2::RE2::Options options() {
  re2::RE2::Options options(re2::RE2::Latin1);  // lines are bytes: a dot stands for one, whether it is UTF-8 or not
  options.set_log_errors(false);
  options.set_max_mem(kMemoryBytes);
  return options;
}

re2::StringPiece piece(std::string_view text) { return {text.data(), text.size()}; }

}  // namespace

LineMatch::LineMatch(std::unique_ptr<re2::RE2> compiled) noexcept : compiled_(std::move(compiled)) {}
LineMatch::LineMatch(LineMatch&&) noexcept = default;
LineMatch& LineMatch::operator=(LineMatch&&) noexcept = default;
LineMatch::~LineMatch() = default;

Result<LineMatch> LineMatch::create(std::string_view expression) {
  auto compiled = std::make_unique<re2::RE2>(piece(expression), options());
  if (!compiled->ok()) {
    return fail(ErrorCode::invalid_argument,
                "'" + std::string(expression) + "' is not a regular expression (RE2): " + compiled->error());
  }
  return LineMatch(std::move(compiled));
}

std::optional<std::string_view> LineMatch::find(std::string_view line) const {
  std::array<re2::StringPiece, 2> groups;
  const int wanted = compiled_->NumberOfCapturingGroups() > 0 ? 2 : 1;
  if (!compiled_->Match(piece(line), 0, line.size(), re2::RE2::UNANCHORED, groups.data(), wanted)) {
    return std::nullopt;
  }
  const re2::StringPiece& found = groups[static_cast<std::size_t>(wanted - 1)];
  if (found.data() == nullptr) {
    return std::nullopt;
  }
  return std::string_view(found.data(), found.size());
}

}  // namespace mankai::command
