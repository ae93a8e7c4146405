#include <algorithm>
#include <array>
#include <span>

#include "apps/mankai/input.hpp"
#include "apps/mankai/output.hpp"
#include "apps/mankai/report.hpp"
#include "apps/mankai/signals.hpp"
#include "apps/mankai/subcommands.hpp"
#include "mankai/guard/guard_file.hpp"

namespace mankai::command {
namespace {

using Answer = Verdict::Answer;

struct GuardCheckRequest {
  std::string file;
  std::vector<std::string> urls;
  InputRequest input;
  bool blocked = false;
  bool ok = false;
  bool quiet = false;
  bool json = false;
  bool invalid_is_ok = false;
};

constexpr std::array<std::string_view, 2> kInvalidIs = {"ok", "blocked"};

Result<bool> is_ok_by_name(const std::string& text) {
  if (std::ranges::find(kInvalidIs, text) == kInvalidIs.end()) {
    return fail(ErrorCode::invalid_argument, "invalid value \"" + text + "\"; expected ok or blocked");
  }
  return text == kInvalidIs.front();
}

// Only --json distinguishes exceptions from ok.
std::string_view word_for(Answer answer) {
  switch (answer) {
    case Answer::ok:
    case Answer::allowed: return "ok";
    case Answer::blocked: return "blocked";
    case Answer::invalid: return "invalid";
  }
  return "";
}

std::string json_line(std::string_view url, const Verdict& verdict) {
  Report report;
  report.add("answer", std::string(verdict.answer == Answer::allowed ? "allowed" : word_for(verdict.answer)));
  add_bytes("url", url, report);
  if (verdict.answer == Answer::invalid) {
    report.add("reason", std::string(verdict.rule));
  } else if (verdict.answer != Answer::ok) {
    report.add("rule", std::string(verdict.rule));
  }
  return report.json();
}

// Whether --quiet, --ok and --blocked treat the URL as blocked.
bool is_refused(const GuardCheckRequest& request, Answer answer) {
  return answer == Answer::blocked || (answer == Answer::invalid && !request.invalid_is_ok);
}

void print(const GuardCheckRequest& request, std::string_view url, const Verdict& verdict, std::string& text) {
  if (request.quiet || (is_refused(request, verdict.answer) ? request.ok : request.blocked)) {
    return;
  }
  if (request.json) {
    text.append(json_line(url, verdict));
    return;
  }
  const std::string_view word = word_for(verdict.answer);
  if (!request.blocked && !request.ok) {
    text.append(word).append("\t");
  }
  text.append(url);
  if (!request.blocked && !request.ok && word != "ok") {
    text.append("\t").append(verdict.rule);
  }
  text.append("\n");
}

Result<int> run(const GuardCheckRequest& request) {
  if (static_cast<int>(request.blocked) + static_cast<int>(request.ok) + static_cast<int>(request.quiet) > 1) {
    return fail(ErrorCode::invalid_argument, "--blocked, --ok and --quiet cannot be combined");
  }
  MANKAI_TRY(check_keys(request.urls, request.input));
  catch_stop_signals();
  MANKAI_ASSIGN(const auto file, GuardFile::open(request.file));
  const auto answer = [&](std::span<const std::string_view> urls, std::string& text) {
    GuardScratch scratch;
    bool is_any_refused = false;
    for (const std::string_view url : urls) {
      const Verdict verdict = file.guard().check(url, scratch);
      is_any_refused = is_any_refused || is_refused(request, verdict.answer);
      print(request, url, verdict, text);
    }
    return is_any_refused;
  };
  MANKAI_ASSIGN(const bool is_any_refused, print_answers(request.urls, request.input, answer, request.quiet));
  const bool is_negative = request.quiet && is_any_refused;
  return exit_code_after_stop(static_cast<int>(is_negative ? ExitCode::negative : ExitCode::fine));
}

}  // namespace

Subcommand guard_check_subcommand() {
  auto request = std::make_shared<GuardCheckRequest>();
  return {
      .name = "guard check",
      .summary = "print which URLs are blocked",
      .description =
          "Prints, for each URL given as an argument or for each line of the inputs, in order: blocked, the URL and "
          "the rule, or ok and the URL, separated by tabs. The rule is the part of the URL that is in the lists, such "
          "as evil.example/foo. A line that is not a URL with a host is invalid, with the reason. Answers are flushed "
          "whenever no more input is available.\n\nA URL is checked in every reading that browsers and other programs "
          "have of it. It is blocked if a rule covers one of them, unless exceptions cover all.\n\nok is always right. "
          "blocked is wrong for at most the share --fpr of the URLs, and never if the file is --exact. The exit code "
          "is 0 whatever the answers.",
      .examples = {{"mankai guard check blocked.mkg https://evil.example/foo", "one answer"},
                   {"mankai guard check --ok blocked.mkg < frontier.txt", "the URLs that are not blocked"},
                   {"mankai guard check --quiet blocked.mkg URL || echo blocked", "the answer as an exit code"}},
      .options =
          {positional("FILE", "File of the guard.", ValueKind::file, request->file),
           key_options(request->urls, request->input, "URL",
                       "URLs [default: one per line from --input or standard input]."),
           flag("--blocked", "Print only the blocked URLs.", request->blocked),
           flag("--ok", "Print only the URLs that are not blocked.", request->ok),
           choice_option(
               parsed_option("--invalid", "ANSWER",
                             "How --quiet, --ok and --blocked treat an invalid URL: ok or blocked [default: blocked].",
                             is_ok_by_name, request->invalid_is_ok),
               kInvalidIs),
           with_letter('q',
                       flag("--quiet", "Print nothing: exit code 0 if no URL is blocked, 1 if one is. See --invalid.",
                            request->quiet)),
           flag("--json", "Print an object per line; an exception appears as allowed, with its rule.", request->json),
           max_line_option(request->input), threads_option(request->input)},
      .run = [request] { return run(*request); }};
}

}  // namespace mankai::command
