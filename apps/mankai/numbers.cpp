#include "apps/mankai/numbers.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "mankai/base/number.hpp"

namespace mankai::command {
namespace {

Result<std::uint64_t> parse_number(const NumberRequest& request, std::string_view text) {
  if (request.parse != nullptr) {
    return request.parse(text);
  }
  const auto id = to_number<std::uint64_t>(text);
  if (!id || *id > request.most) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("invalid {} '{}'; give a whole number from 0 to {}", request.noun, text, request.most));
  }
  return *id;
}

std::string upper(std::string_view noun) {
  std::string text(noun);
  std::ranges::transform(text, text.begin(), [](char c) { return static_cast<char>(c - 'a' + 'A'); });
  return text;
}

}  // namespace

Options number_options(NumberRequest& request, const std::string& meaning, const std::string& placeholder) {
  const auto parse = [&request](std::string_view text) { return parse_number(request, text); };
  return {parsed_option(fmt::format("--{}", request.noun), placeholder,
                        fmt::format("The {} of all keys, {}", request.noun, meaning), parse, request.for_all),
          flag(fmt::format("--with-{}s", request.noun),
               fmt::format("Input lines are KEY<TAB>{}; the last tab separates.", upper(request.noun)),
               request.is_on_lines)};
}

Result<void> check_numbers(const NumberRequest& request, bool has_key_arguments) {
  if (request.is_on_lines && request.for_all) {
    return fail(ErrorCode::invalid_argument, fmt::format("--{0} and --with-{0}s cannot be combined", request.noun));
  }
  if (request.is_on_lines && has_key_arguments) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("--with-{0}s is for lines; use --{0} with keys given as arguments", request.noun));
  }
  return {};
}

Result<void> NumberReader::read(std::span<const std::string_view> lines) {
  keys_.clear();
  numbers_.clear();
  for (const std::string_view line : lines) {
    ++line_;
    if (auto read = read_line(line); !read) {
      return std::unexpected(read.error().within(fmt::format("line {}", line_)));
    }
  }
  return {};
}

Result<void> NumberReader::read_line(std::string_view line) {
  if (!request_.is_on_lines) {
    keys_.push_back(line);
    numbers_.push_back(request_.for_all.value_or(0));
    return {};
  }
  const std::size_t tab = line.rfind('\t');
  if (tab == std::string_view::npos) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("no tab; give KEY<TAB>{}, or leave out --with-{}s", upper(request_.noun), request_.noun));
  }
  MANKAI_ASSIGN(const auto id, parse_number(request_, line.substr(tab + 1)));
  keys_.push_back(line.substr(0, tab));
  numbers_.push_back(id);
  return {};
}

}  // namespace mankai::command
