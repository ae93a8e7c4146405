#include <fmt/format.h>

#include "apps/mankai/filter_options.hpp"
#include "apps/mankai/input.hpp"
#include "apps/mankai/output.hpp"
#include "apps/mankai/subcommands.hpp"
#include "mankai/filter/any_filter.hpp"
#include "mankai/store/filter_file.hpp"

namespace mankai::command {
namespace {

/// Two absent keys' cells that agree on a value are rare; one that looks like some value is not.
constexpr std::uint64_t kMinMatches = 2;

struct Request {
  std::string file;
  std::vector<std::string> keys;
  InputRequest input;
  std::uint64_t min_matches = kMinMatches;
};

Result<void> print_values(const Request& request, const AnyFilter& filter, std::string_view key, Output& output) {
  const auto matches = static_cast<std::uint32_t>(std::min<std::uint64_t>(request.min_matches, UINT32_MAX));
  MANKAI_ASSIGN(const auto values, filter.recall(key, matches));
  for (const ValueMatches& ranked : values) {
    output.append(fmt::format("{}\t{}\t", ranked.matches, ranked.value));
    output.append_line(key);
  }
  return {};
}

Result<int> run(const Request& request) {
  MANKAI_ASSIGN(const auto filter, open_filter(request.file, Access::query));
  Output output;
  Result<void> recalled;
  const auto answer = [&](std::span<const std::string_view> keys) {
    for (std::size_t i = 0; recalled && i < keys.size(); ++i) {
      recalled = print_values(request, filter, keys[i], output);
    }
    return recalled.has_value() && !output.has_failed();
  };
  const auto asked = for_each_batch(request.keys, request.input, answer, [&] { output.flush(); });
  if (!recalled) {
    return std::unexpected(recalled.error().within(request.file));
  }
  MANKAI_TRY(output.finish());
  return asked ? Result<int>(static_cast<int>(ExitCode::fine)) : std::unexpected(asked.error());
}

}  // namespace

Subcommand recall_subcommand() {
  auto request = std::make_shared<Request>();
  Subcommand command{
      .name = "recall",
      .summary = "print which values were recently added with keys",
      .description =
          "Prints matches, value and key, separated by tabs, for each value that was recently added with a key (add "
          "--value, add --with-values), most matches first. More matches mean more often or more recently.",
      .examples = {{"mankai recall results.mk 'black shoes'", "what was recently chosen for this query"}},
  };
  command.options = {positional("FILE", "File of the filter.", ValueKind::file, request->file)};
  for (Option& option : key_options(request->keys, request->input)) {
    command.options.push_back(std::move(option));
  }
  command.options.push_back(
      parsed_option("--min-matches", "R",
                    "Leave out values with fewer matches; most with one match are false positives [default: 2].",
                    parse_count, request->min_matches));
  command.options.push_back(max_line_option(request->input));
  command.run = [request]() -> Result<int> {
    MANKAI_TRY(check_keys(request->keys, request->input));
    return run(*request);
  };
  return command;
}

}  // namespace mankai::command
