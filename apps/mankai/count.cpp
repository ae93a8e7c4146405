#include <fmt/format.h>

#include <array>

#include "apps/mankai/filter_options.hpp"
#include "apps/mankai/input.hpp"
#include "apps/mankai/output.hpp"
#include "apps/mankai/store_report.hpp"
#include "apps/mankai/subcommands.hpp"
#include "apps/mankai/times.hpp"
#include "mankai/filter/any_filter.hpp"
#include "mankai/store/filter_file.hpp"

namespace mankai::command {
namespace {

struct Request {
  std::string file;
  std::vector<std::string> keys;
  InputRequest input;
  std::optional<Time> at;
  bool fast = false;
};

using Keys = std::span<const std::string_view>;

Result<void> print_counts(const AnyFilter& filter, Keys keys, Output& output) {
  std::array<KeyCount, kBatchLinesMax> all{};
  const auto counts = std::span(all).first(keys.size());
  auto counted = filter.count(keys, counts);
  for (std::size_t i = 0; counted && i < keys.size(); ++i) {
    output.append(fmt::format("{}{}\t", counts[i].value, counts[i].is_saturated ? "+" : ""));
    output.append_line(keys[i]);
  }
  return counted;
}

Result<void> print_faded_counts(const AnyFilter& filter, Keys keys, Output& output) {
  std::array<DecayedCount, kBatchLinesMax> all{};
  const auto counts = std::span(all).first(keys.size());
  auto counted = filter.count(keys, counts);
  for (std::size_t i = 0; counted && i < keys.size(); ++i) {
    output.append(fmt::format("{:.6g}{}\t", counts[i].raw, counts[i].is_saturated ? "+" : ""));
    output.append_line(keys[i]);
  }
  return counted;
}

Result<int> run(const Request& request) {
  // What is let go of is changed in memory only.
  RecoveryReport recovery;
  MANKAI_ASSIGN(auto filter, open_filter(request.file, request.at ? Access::change : Access::query,
                                         request.fast ? Trust::fast : Trust::checked, system_memory(), &recovery));
  warn_of_loss(request.file, recovery);
  if (auto advanced = advance_to(filter, request.at); !advanced) {
    return std::unexpected(advanced.error().within(request.file));
  }
  const bool fades = filter.kind().counts_decay;
  Output output;
  Result<void> counted;
  const auto answer = [&](std::span<const std::string_view> keys) {
    counted = fades ? print_faded_counts(filter, keys, output) : print_counts(filter, keys, output);
    return counted.has_value() && !output.has_failed();
  };
  const auto asked = for_each_batch(request.keys, request.input, answer, [&] { output.flush(); });
  if (!counted) {
    return std::unexpected(counted.error().within(request.file));
  }
  MANKAI_TRY(output.finish());
  if (!asked) {
    return std::unexpected(asked.error());
  }
  return static_cast<int>(ExitCode::fine);
}

}  // namespace

Subcommand count_subcommand() {
  auto request = std::make_shared<Request>();
  Subcommand command{
      .name = "count",
      .summary = "print how often keys were added to a filter",
      .description =
          "Prints a count, a tab and the key, for each key given as an argument or for each line of the inputs, in "
          "order. The count is the number of adds minus the number of removes, or higher, never lower. Counters "
          "saturate at 15: 15+ means 15 or more; growing kinds add up their slices.\n\nKinds with time print decayed "
          "counts: an add counts half after each half-life. They answer as of the time of the last key, or of "
          "--at.\n\nmankai plan lists the kinds that count.",
      .examples = {{"mankai count spam.mk https://example.com/", "one key"},
                   {"mankai count hits.mk < urls.txt | sort -rn | head", "the most frequent"},
                   {"mankai count hot.mk --at now < urls.txt", "decayed counts as of now"}},
  };
  command.options = {positional("FILE", "File of the filter.", ValueKind::file, request->file)};
  for (Option& option : key_options(request->keys, request->input)) {
    command.options.push_back(std::move(option));
  }
  command.options.push_back(at_option("Answer as of a later time; the file is not changed.", request->at));
  command.options.push_back(flag(
      "--fast", "Skip the checksums of the cells, so that a file of any size opens in milliseconds.", request->fast));
  command.options.push_back(max_line_option(request->input));
  command.run = [request]() -> Result<int> {
    MANKAI_TRY(check_keys(request->keys, request->input));
    return run(*request);
  };
  return command;
}

}  // namespace mankai::command
