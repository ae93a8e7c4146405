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
  bool present = false;
  bool absent = false;
  bool quiet = false;
  std::optional<Time> at;
  bool fast = false;
};

void print_answer(const Request& request, std::string_view key, bool is_present, Output& output) {
  if (!request.present && !request.absent) {
    output.append(is_present ? "yes\t" : "no\t");
    output.append_line(key);
  } else if (is_present == request.present) {
    output.append_line(key);
  }
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
  Output output;
  bool is_all_present = true;
  const auto answer = [&](std::span<const std::string_view> keys) {
    std::array<bool, kBatchLinesMax> outcomes{};
    const auto answers = std::span(outcomes).first(keys.size());
    filter.may_contain(keys, answers);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      is_all_present = is_all_present && answers[i];
      if (!request.quiet) {
        print_answer(request, keys[i], answers[i], output);
      }
    }
    return !output.has_failed() && (is_all_present || !request.quiet);
  };
  const auto asked = for_each_batch(request.keys, request.input, answer, [&] { output.flush(); });
  MANKAI_TRY(output.finish());
  if (!asked) {
    return std::unexpected(asked.error());
  }
  return static_cast<int>(request.quiet && !is_all_present ? ExitCode::negative : ExitCode::fine);
}

}  // namespace

Subcommand check_subcommand() {
  auto request = std::make_shared<Request>();
  Subcommand command{
      .name = "check",
      .summary = "test which keys may be in a filter",
      .description =
          "Prints yes or no, a tab and the key, for each key given as an argument or for each line of the inputs, in "
          "order. Answers are flushed whenever no more input is available.\n\nno is always right, except that keys "
          "expire from kinds with a window. yes is wrong for absent keys at the filter's false-positive rate.\n\nA "
          "kind with time answers as of the time of its last key, or of --at.",
      .examples = {{"mankai check seen.mk https://example.com/", "yes or no"},
                   {"mankai check --absent seen.mk < urls.txt", "the lines that were never added"},
                   {"mankai check --quiet seen.mk KEY && echo perhaps", "the answer as an exit code"}},
  };
  Option quiet =
      flag("--quiet", "Print nothing: exit code 0 if all keys may be in the filter, 1 if one is not.", request->quiet);
  quiet.letter = 'q';
  command.options = {positional("FILE", "File of the filter.", ValueKind::file, request->file)};
  for (Option& option : key_options(request->keys, request->input)) {
    command.options.push_back(std::move(option));
  }
  command.options.push_back(
      flag("--present", "Print only the keys that may be in the filter, without yes.", request->present));
  command.options.push_back(
      flag("--absent", "Print only the keys that are not in the filter, without no.", request->absent));
  command.options.push_back(std::move(quiet));
  command.options.push_back(at_option("Answer as of a later time; the file is not changed.", request->at));
  command.options.push_back(flag(
      "--fast", "Skip the checksums of the cells, so that a file of any size opens in milliseconds.", request->fast));
  command.options.push_back(max_line_option(request->input));
  command.run = [request]() -> Result<int> {
    if (static_cast<int>(request->present) + static_cast<int>(request->absent) + static_cast<int>(request->quiet) > 1) {
      return fail(ErrorCode::invalid_argument, "--present, --absent and --quiet cannot be combined");
    }
    MANKAI_TRY(check_keys(request->keys, request->input));
    return run(*request);
  };
  return command;
}

}  // namespace mankai::command
