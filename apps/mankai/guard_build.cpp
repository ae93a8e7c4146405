#include <fmt/format.h>
#include <unistd.h>

#include "apps/mankai/format.hpp"
#include "apps/mankai/guard_report.hpp"
#include "apps/mankai/guard_subcommands.hpp"
#include "apps/mankai/input.hpp"
#include "apps/mankai/output.hpp"
#include "apps/mankai/signals.hpp"
#include "mankai/catalog/spec.hpp"
#include "mankai/service/guard_file.hpp"

namespace mankai::command {
namespace {

struct Request {
  std::string file;
  std::vector<std::string> lists;
  std::vector<std::string> allow_lists;
  GuardSettings settings;
  bool no_rules = false;
  bool force = false;
};

/// Reads lists into a builder.
class Building {
 public:
  Building(const Request& request, GuardBuilder builder) : request_(request), builder_(std::move(builder)) {}

  Result<int> run() {
    for (const bool is_allow : {false, true}) {
      for (const std::string& path : is_allow ? request_.allow_lists : request_.lists) {
        if (auto read = read_list(path, is_allow); !read) {
          return std::unexpected(read.error());
        }
      }
    }
    if (stop_signal() != 0) {
      return exit_code_after_stop(0);
    }
    const auto guard = builder_.build();
    if (!guard) {
      return std::unexpected(guard.error());
    }
    const Existing existing = request_.force ? Existing::replace : Existing::refuse;
    auto written = GuardFile::write(request_.file, *guard, existing);
    return written ? Result<int>(0) : std::unexpected(written.error());
  }

 private:
  Result<void> read_list(const std::string& path, bool is_allow) {
    const InputRequest input{.paths = {path}, .max_line_bytes = {}};
    return for_each_batch({}, input, [&](std::span<const std::string_view> lines) {
      for (const std::string_view line : lines) {
        static_cast<void>(is_allow ? builder_.add_allow(line) : builder_.add_block(line));
      }
      return stop_signal() == 0;
    });
  }

  const Request& request_;
  GuardBuilder builder_;
};

Result<int> run(const Request& request) {
  if (!request.force && ::access(request.file.c_str(), F_OK) == 0) {
    return fail(ErrorCode::invalid_argument, request.file + ": exists already; replace it with --force");
  }
  catch_stop_signals();
  auto builder = GuardBuilder::create(request.settings);
  return builder ? Building(request, std::move(*builder)).run() : std::unexpected(builder.error());
}

}  // namespace

Subcommand guard_build_subcommand() {
  auto request = std::make_shared<Request>();
  Subcommand command{
      .name = "guard build",
      .summary = "make a guard of block lists",
      .description = "Makes one file of block lists, a rule a line.",
      .examples = {{"mankai guard build blocked.mkg hosts.txt urls.txt", "of two lists"}},
  };
  command.options = {
      positional("FILE", "The file to make.", ValueKind::file, request->file),
      positionals("LIST", "Lists, - for standard input.", ValueKind::file, request->lists),
  };
  Option allow = positionals("--allow", "A list of exceptions.", ValueKind::file, request->allow_lists);
  allow.value = "LIST";
  command.options.push_back(std::move(allow));
  command.options.push_back(parsed_option("--fpr", "RATE",
                                          "The share of URLs that may be blocked though no rule covers them. 0.01 "
                                          "unless given.",
                                          parse_rate, request->settings.fpr));
  command.options.push_back(flag("--exact", "Blocks nothing wrongly: each blocked URL is confirmed by the kept rules.",
                                 request->settings.is_exact));
  command.options.push_back(
      flag("--no-rules", "Does not keep the rules beside the filter, 16 bytes each.", request->no_rules));
  command.options.push_back(flag("--force", "Replaces FILE if it exists.", request->force));
  command.run = [request] {
    request->settings.keeps_rules = !request->no_rules;
    return run(*request);
  };
  return command;
}

}  // namespace mankai::command
