#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <span>

#include "apps/mankai/output.hpp"
#include "apps/mankai/report.hpp"
#include "apps/mankai/subcommands.hpp"
#include "mankai/input/source.hpp"
#include "mankai/takeover/takeover_survey.hpp"

namespace mankai::command {
namespace {

using takeover::RdbFileReader;
using takeover::RdbKind;
using takeover::SurveyedType;
using takeover::SurveyFinding;
using takeover::TakeoverSurvey;

struct TakeoverCheckRequest {
  std::string file;
  bool json = false;
};

Result<TakeoverSurvey> survey_of(const std::string& path) {
  MANKAI_ASSIGN(auto source, Source::open(path));
  Progress progress(source.raw_bytes_total(), false);
  std::optional<Error> unreadable;  // has the path already
  RdbFileReader file([&](std::span<std::byte> into) -> Result<std::size_t> {
    progress.advance(source.raw_bytes_consumed());
    auto got = source.read({reinterpret_cast<char*>(into.data()), into.size()});
    if (!got) {
      unreadable = got.error();
    }
    return got;
  });
  auto survey = takeover::survey_rdb(file);
  progress.clear();
  if (unreadable) {
    return std::unexpected(*unreadable);
  }
  return within(source.label(), std::move(survey));
}

std::uint64_t key_count(const TakeoverSurvey& survey) {
  return std::accumulate(survey.keys.begin(), survey.keys.end(), std::uint64_t{0});
}

std::uint64_t other_key_count(const TakeoverSurvey& survey) {
  return key_count(survey) - survey.keys[static_cast<std::size_t>(RdbKind::module)];
}

bool is_taken_over(const TakeoverSurvey& survey) { return survey.refused() == 0 && survey.file.aux_modules.empty(); }

std::string encodings_text(const SurveyedType& type) {
  std::string text;
  for (const auto& [encver, keys] : type.encvers) {
    text += fmt::format("{}{}", text.empty() ? "" : ", ", encver);
    if (type.encvers.size() > 1) {
      text += fmt::format(" ({})", human_count(keys));
    }
  }
  return text;
}

std::string types_text(const TakeoverSurvey& survey) {
  constexpr std::string_view kColumns = "{:<10} {:<8} {:>12} {:>15} {:>12} {:>12} {:>9} {:>9}  {}\n";
  std::string text =
      fmt::format(kColumns, "type", "family", "keys", "items", "bytes", "largest", "refused", "doubtful", "encodings");
  for (const auto& [name, type] : survey.types) {
    text += fmt::format(kColumns, name, type.family.empty() ? "-" : type.family, human_count(type.keys),
                        human_count(type.items), human_bytes(type.bytes), human_bytes(type.largest_bytes),
                        human_count(type.refused), human_count(type.doubtful), encodings_text(type));
  }
  return text;
}

std::string findings_text(const TakeoverSurvey& survey) {
  std::string text;
  for (const SurveyFinding& finding : survey.findings) {
    text += fmt::format("{}: key \"{}\" in database {}, {} of encoding {}: {}; {}\n",
                        finding.is_refused ? "refused" : "doubtful", printable(finding.key), finding.database,
                        finding.type.name, finding.type.encver, printable(finding.reason), finding.remedy);
  }
  for (const std::string& module : survey.file.aux_modules) {
    text +=
        fmt::format("refused: the module of {} saved data beside the keys; load it into the new server too\n", module);
  }
  const std::uint64_t more = survey.refused() + survey.doubtful() - survey.findings.size();
  return more == 0 ? text : text + fmt::format("and {} more\n", human_count(more));
}

std::string text_of(const std::string& file, const TakeoverSurvey& survey) {
  std::string text = fmt::format("{}: {}RDB version {}{}{}, {}, {} in {}\nengines that read this version: {}\n", file,
                                 survey.file.is_valkey ? "Valkey's " : "", survey.file.version,
                                 survey.file.engine.empty() ? "" : ", written by ", printable(survey.file.engine),
                                 human_bytes(survey.bytes), counted(key_count(survey), "key"),
                                 counted(survey.databases.size(), "database"), survey.engines());
  if (!survey.types.empty()) {
    text += "\n" + types_text(survey);
  }
  if (other_key_count(survey) != 0) {
    text += fmt::format("{} of the engine's own types\n", counted(other_key_count(survey), "key"));
  }
  if (const std::string findings = findings_text(survey); !findings.empty()) {
    text += "\n" + findings;
  }
  return text + (is_taken_over(survey) ? "\nall keys will be taken over\n"
                                       : fmt::format("\n{} will be refused\n", counted(survey.refused(), "key")));
}

std::vector<Report> type_reports(const TakeoverSurvey& survey) {
  std::vector<Report> reports;
  for (const auto& [name, type] : survey.types) {
    Report& report = reports.emplace_back();
    report.add("type", name);
    report.add("family", std::string(type.family));
    report.add("keys", type.keys);
    report.add("items", type.items);
    report.add("bytes", type.bytes);
    report.add("largest_bytes", type.largest_bytes);
    report.add("refused", type.refused);
    report.add("doubtful", type.doubtful);
    std::vector<Report> encodings;
    for (const auto& [encver, keys] : type.encvers) {
      Report& encoding = encodings.emplace_back();
      encoding.add("encoding", std::uint64_t{encver});
      encoding.add("keys", keys);
    }
    report.add_list("encodings", std::move(encodings));
  }
  return reports;
}

std::vector<Report> finding_reports(const TakeoverSurvey& survey) {
  std::vector<Report> reports;
  for (const SurveyFinding& finding : survey.findings) {
    Report& report = reports.emplace_back();
    report.add("verdict", std::string(finding.is_refused ? "refused" : "doubtful"));
    report.add("database", finding.database);
    add_bytes("key", finding.key, report);
    report.add("type", finding.type.name);
    report.add("encoding", std::uint64_t{finding.type.encver});
    add_bytes("reason", finding.reason, report);
    report.add("remedy", std::string(finding.remedy));
  }
  return reports;
}

Report report_of(const std::string& file, const TakeoverSurvey& survey) {
  Report report;
  add_bytes("file", file, report);
  report.add("ok", is_taken_over(survey));
  report.add("format", std::string(survey.file.is_valkey ? "valkey" : "redis"));
  report.add("rdb_version", std::uint64_t{survey.file.version});
  add_bytes("engine", survey.file.engine, report);
  report.add("engines", std::string(survey.engines()));
  report.add("has_checksum", survey.file.has_checksum);
  report.add("bytes", survey.bytes);
  report.add("databases", std::uint64_t{survey.databases.size()});
  report.add("keys", key_count(survey));
  report.add("other_keys", other_key_count(survey));
  report.add("refused", survey.refused());
  report.add("doubtful", survey.doubtful());
  report.add_list("types", type_reports(survey));
  report.add_list("findings", finding_reports(survey));
  std::vector<Report> modules;
  for (const std::string& module : survey.file.aux_modules) {
    modules.emplace_back().add("type", module);
  }
  report.add_list("aux_modules", std::move(modules));
  return report;
}

Result<int> run(const TakeoverCheckRequest& request) {
  MANKAI_ASSIGN(const auto survey, survey_of(request.file));
  MANKAI_TRY(write_output(request.json ? report_of(request.file, survey).json() : text_of(request.file, survey)));
  return static_cast<int>(is_taken_over(survey) ? ExitCode::fine : ExitCode::negative);
}

}  // namespace

Subcommand takeover_check_subcommand() {
  auto request = std::make_shared<TakeoverCheckRequest>();
  return {.name = "takeover check",
          .summary = "report what a takeover of an RDB file would refuse",
          .description =
              "Reads an RDB file of Redis (versions 1 to 13) or Valkey (80), plain or compressed, and loads every "
              "value of RedisBloom and valkey-bloom as a server with Mankai's module does. Prints, per type: keys, "
              "items, bytes in the file, the largest value, and the versions of the encoding. Run it before a server "
              "loads the file or becomes a replica: a value that the module refuses ends the server's process, and a "
              "replica has then deleted its own data.\n\nA refused value is printed with its key, the reason and what "
              "to do: t-digests, cuckoo filters of RedisBloom 1.1 to 2.0, corrupt values, and types of other modules. "
              "A doubtful value loads, but seems incomplete: a cuckoo filter with more or fewer cells in use than "
              "items, or a Bloom filter with too few set bits for its items. The checksum of the file is "
              "verified.\n\nFor the engine's own types, only the lengths of values are read. Memory: twice the largest "
              "value of a filter. The exit code is 0 if everything will be taken over, 1 if something will be refused, "
              "3 if the file is corrupt or has a type that mankai does not support.",
          .examples = {{"mankai takeover check dump.rdb", "types, keys, and what will be refused"},
                       {"redis-cli -h old --rdb - | mankai takeover check -", "a dump that a running server sends"},
                       {"mankai takeover check --json dump.rdb.gz | jq .findings", "for programs"}},
          .options = {positional("FILE", "The RDB file; - for standard input.", ValueKind::file, request->file),
                      flag("--json", "Print a JSON object.", request->json)},
          .run = [request] { return run(*request); }};
}

}  // namespace mankai::command
