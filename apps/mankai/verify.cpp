#include <fmt/format.h>

#include "apps/mankai/errors.hpp"
#include "apps/mankai/filter_options.hpp"
#include "apps/mankai/format.hpp"
#include "apps/mankai/output.hpp"
#include "apps/mankai/subcommands.hpp"
#include "mankai/durable/filter_file.hpp"

namespace mankai::command {
namespace {

struct Request {
  std::vector<std::string> files;
  bool json = false;
};

// Every file is looked at, and the worst outcome is the command's: damage above trouble with reading.
ExitCode worse(ExitCode a, ExitCode b) { return a == ExitCode::bad_data || b == ExitCode::fine ? a : b; }

ExitCode verify_file(const std::string& path, Report& report, Output& output, bool json) {
  const auto filter = open_filter(path, Access::query);
  report.add("file", path);
  report.add("ok", filter.has_value());
  if (filter) {
    if (!json) {
      output.append_line(fmt::format("{}: ok, {} of {}", path, info_of(spec_of(*filter).kind).name,
                                     human_bytes(image_bytes(*filter))));
    }
    return ExitCode::fine;
  }
  report.add("error", std::string(name(filter.error().code)));
  report.add("message", filter.error().message());
  if (!json) {
    output.flush();
    say(filter.error().message());
  }
  return exit_code_for(filter.error().code);
}

Result<int> run(const Request& request) {
  Output output;
  std::vector<Report> reports;
  ExitCode code = ExitCode::fine;
  for (const std::string& path : request.files) {
    code = worse(code, verify_file(path, reports.emplace_back(), output, request.json));
  }
  if (request.json) {
    output.append(json_array(reports));
  }
  if (auto finished = output.finish(); !finished) {
    return std::unexpected(finished.error());
  }
  return static_cast<int>(code);
}

}  // namespace

Subcommand verify_subcommand() {
  auto request = std::make_shared<Request>();
  Subcommand command{
      .name = "verify",
      .summary = "check files for damage",
      .description =
          "Reads each file completely and compares all of its checksums. Says ok, or what is wrong and where. All "
          "files "
          "are looked at; the exit code is 3 if one is damaged, else 4 if one cannot be read.",
      .examples = {{"mankai verify *.mk", "all of them"}},
  };
  Option files = positionals("FILE", "The filters' files.", ValueKind::file, request->files);
  files.is_required = true;
  command.options = {std::move(files), flag("--json", "Prints a JSON array.", request->json)};
  command.run = [request] { return run(*request); };
  return command;
}

}  // namespace mankai::command
