#include "apps/mankai/ids.hpp"

#include <fmt/format.h>

#include <charconv>

#include "mankai/catalog/spec.hpp"

namespace mankai::command {
namespace {

Result<std::uint64_t> parse_id(std::string_view text) {
  std::uint64_t id = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("id '{}' is wrong: give a whole number from 0 to 18446744073709551614", text));
  }
  return id;
}

}  // namespace

std::vector<Option> id_options(IdRequest& request, const std::string& meaning) {
  return {parsed_option("--id", "N", "The id of all these keys: " + meaning, parse_id, request.id),
          flag("--with-ids", "Lines are KEY<TAB>ID; the last tab separates.", request.with_ids)};
}

Result<void> check_ids(const IdRequest& request, bool has_key_arguments) {
  if (request.with_ids && request.id) {
    return fail(ErrorCode::invalid_argument, "--id and --with-ids exclude each other");
  }
  if (request.with_ids && has_key_arguments) {
    return fail(ErrorCode::invalid_argument, "--with-ids reads lines; keys given as arguments go with --id");
  }
  return {};
}

Result<void> IdReader::read(std::span<const std::string_view> lines) {
  keys_.clear();
  ids_.clear();
  for (const std::string_view line : lines) {
    ++line_;
    if (auto read = read_line(line); !read) {
      return std::unexpected(read.error().within(fmt::format("line {}", line_)));
    }
  }
  return {};
}

Result<void> IdReader::read_line(std::string_view line) {
  if (!request_.with_ids) {
    keys_.push_back(line);
    ids_.push_back(request_.id.value_or(0));
    return {};
  }
  const std::size_t tab = line.rfind('\t');
  if (tab == std::string_view::npos) {
    return fail(ErrorCode::invalid_argument, "no tab: give KEY<TAB>ID, or leave --with-ids out");
  }
  const auto id = parse_id(line.substr(tab + 1));
  if (!id) {
    return std::unexpected(id.error());
  }
  keys_.push_back(line.substr(0, tab));
  ids_.push_back(*id);
  return {};
}

}  // namespace mankai::command
