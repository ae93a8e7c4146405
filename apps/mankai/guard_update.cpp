// `mankai guard update`: block lists that change, compiled again.

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "apps/mankai/guard_list.hpp"
#include "apps/mankai/guard_load.hpp"
#include "apps/mankai/guard_sources.hpp"
#include "apps/mankai/guard_update_lists.hpp"
#include "apps/mankai/output.hpp"
#include "apps/mankai/report.hpp"
#include "apps/mankai/signals.hpp"
#include "apps/mankai/store_options.hpp"
#include "apps/mankai/subcommands.hpp"
#include "mankai/file/file.hpp"
#include "mankai/guard/guard_file.hpp"
#include "mankai/hash/checksum.hpp"

namespace mankai::command {
namespace {

struct GuardUpdateRequest {
  std::string file;
  std::string sources;
  std::vector<std::string> accept;
  FileMode mode;
  bool force = false;
  bool quiet = false;
  bool json = false;
};

std::unexpected<Error> made_elsewhere(const std::string& file) {
  return fail(ErrorCode::invalid_argument, file +
                                               ": was not written by `mankai guard update`, which would discard its "
                                               "rules and exceptions; add them to lists of SOURCES, then use --force");
}

/// Makes the guard from the accepted versions of the lists.
class GuardMaker {
 public:
  GuardMaker(const GuardUpdateRequest& request, const GuardSources& sources, const ListFolder& folder)
      : request_(request), sources_(sources), folder_(folder) {}

  /// Fails before anything is fetched if the file certainly comes from elsewhere. Errors: as run.
  [[nodiscard]] Result<void> check_target() const {
    for (const std::string& path : {request_.file, folder_.built(), folder_.next_built()}) {
      MANKAI_ASSIGN(const bool exists, has_file(path));
      if (exists != (path == request_.file)) {
        return {};
      }
    }
    return request_.force ? GuardFile::check_replaceable(request_.file) : made_elsewhere(request_.file);
  }

  /// Number of changes of the former guard that the new one has too.
  [[nodiscard]] std::uint64_t kept_changes() const noexcept { return kept_changes_; }

  /// Puts a new guard in place, unless the one there was made from the same. Returns whether it did; also false after a
  /// request to stop. Errors: invalid_argument for a file that `guard update` did not make; as GuardFile.
  Result<bool> run(std::span<ListUpdate> lists) {
    MANKAI_ASSIGN(const bool exists, has_file(request_.file));
    MANKAI_ASSIGN(const std::string record, record_text());
    MANKAI_ASSIGN(const bool is_current, has_record(record));
    if (exists && is_current && !request_.force) {
      return false;
    }
    const bool replaces = exists && !request_.force;
    GuardSettings settings{.fpr = sources_.fpr, .is_exact = sources_.is_exact};
    if (replaces) {
      MANKAI_ASSIGN(const auto before, GuardFile::open(request_.file));
      // Only digests of the same hash can be compared.
      settings.hash = before.guard().settings().hash;
      settings.seed = before.guard().settings().seed;
    }
    MANKAI_ASSIGN(auto builder, GuardBuilder::create(settings));
    for (ListUpdate& list : lists) {
      MANKAI_TRY(add_list(list, builder));
      if (stop_signal() != 0) {
        return false;
      }
    }
    MANKAI_ASSIGN(auto guard, builder.build());
    // If this run is killed before the end, the next one builds again.
    MANKAI_TRY(remove_file(folder_.record()));
    MANKAI_TRY(replaces ? replace(std::move(guard)) : write(guard));
    MANKAI_TRY(move_file(folder_.next_built(), folder_.built()));
    MANKAI_TRY(write_file(folder_.record(), std::as_bytes(std::span(record)), Existing::replace));
    return true;
  }

 private:
  Result<void> add_list(ListUpdate& list, GuardBuilder& builder) const {
    const ListSource& source = *list.source;
    MANKAI_ASSIGN(const auto outcome, read_rule_list(folder_.list(source), source.format, &builder));
    if (outcome.all_rules() == 0 && !source.allow_empty && stop_signal() == 0) {
      return fail(ErrorCode::corrupt, fmt::format("{}: {}; nothing was written; set its format, or allow_empty = true "
                                                  "if it may have no rules",
                                                  source.name, no_rules_text(outcome)));
    }
    if (!list.is_bad()) {
      list.rules = outcome.all_rules();
    }
    return {};
  }

  Result<void> write(const Guard& guard) const {
    MANKAI_TRY(GuardFile::write(folder_.next_built(), guard, Existing::replace));
    return GuardFile::write(request_.file, guard, request_.force ? Existing::replace : Existing::refuse, system_calls(),
                            request_.mode);
  }
  Result<void> replace(Guard guard) {
    MANKAI_ASSIGN(auto file, GuardFile::open(request_.file, GuardFile::Mode::write));
    MANKAI_ASSIGN(const auto changes, changes_of(file.guard()));  // compares with next_built, too
    MANKAI_TRY(GuardFile::write(folder_.next_built(), guard, Existing::replace));
    MANKAI_ASSIGN(kept_changes_, within(request_.file, guard.repeat(changes)));
    return file.replace(std::move(guard), request_.mode);
  }

  // A run that was killed may have left two guards: the file comes from the one with fewer differences.
  [[nodiscard]] Result<GuardChanges> changes_of(const Guard& guard) const {
    std::optional<GuardChanges> fewest;
    for (const std::string& path : {folder_.built(), folder_.next_built()}) {
      MANKAI_ASSIGN(const bool exists, has_file(path));
      if (!exists) {
        continue;
      }
      MANKAI_ASSIGN(const auto built, GuardFile::open(path));
      auto changes = guard.changes_since(built.guard());
      if (changes && (!fewest || changes->size() < fewest->size())) {
        fewest = *std::move(changes);
      }
    }
    return fewest ? Result<GuardChanges>(*std::move(fewest)) : made_elsewhere(request_.file);
  }

  // Everything that decides what the guard contains, changes excepted. Errors: as read_file.
  [[nodiscard]] Result<std::string> record_text() const {
    std::string text = fmt::format("mankai {}, fpr {}, exact {}\n", MANKAI_VERSION, sources_.fpr, sources_.is_exact);
    for (const ListSource& source : sources_.lists) {
      MANKAI_ASSIGN(const auto bytes, read_file(folder_.list(source)));
      text += fmt::format("{} {} {} '{}' {:016x}\n", source.name, source.format.is_allow_list ? "allow" : "block",
                          name(source.format.format), source.format.column, checksum(bytes.bytes()));
    }
    return text;
  }
  [[nodiscard]] Result<bool> has_record(std::string_view text) const {
    MANKAI_ASSIGN(const bool exists, has_file(folder_.record()));
    if (!exists) {
      return false;
    }
    MANKAI_ASSIGN(const auto bytes, read_file(folder_.record()));
    return std::ranges::equal(bytes.bytes(), std::as_bytes(std::span(text)));
  }

  const GuardUpdateRequest& request_;
  const GuardSources& sources_;
  const ListFolder& folder_;
  std::uint64_t kept_changes_ = 0;
};

/// The guard after a run.
struct Made {
  GuardFacts facts;
  bool is_updated = false;
  std::uint64_t kept_changes = 0;
};

struct Loaded {
  const RedisTarget* target = nullptr;
  std::optional<Error> why;
};

class Updating {
 public:
  Updating(const GuardUpdateRequest& request, std::span<const AcceptedVersion> accepted, const GuardSources& sources,
           const ListFolder& folder)
      : request_(request), accepted_(accepted), sources_(sources), folder_(folder) {}

  Result<int> run() {
    GuardMaker maker(request_, sources_, folder_);
    MANKAI_TRY(maker.check_target());
    MANKAI_TRY(fetch());
    if (stop_signal() != 0) {
      return exit_code_after_stop(0);
    }
    if (const auto checked = check_versions(); !checked) {
      if (request_.json) {
        MANKAI_TRY(write_output(json(std::nullopt, checked.error().message())));
      }
      return std::unexpected(checked.error());
    }
    show_step("building " + request_.file);
    const auto is_updated = maker.run(lists_);
    show_step("");
    MANKAI_TRY(is_updated);
    if (stop_signal() != 0) {
      return exit_code_after_stop(0);
    }
    MANKAI_ASSIGN(const auto file, GuardFile::open(request_.file));
    load(file.guard());
    const Made made{.facts = file.guard().facts(), .is_updated = *is_updated, .kept_changes = maker.kept_changes()};
    MANKAI_TRY(write_output(request_.json ? json(made, "") : request_.quiet ? std::string() : text(made)));
    return exit_code();
  }

 private:
  Result<void> fetch() {
    const ListFetcher fetcher(accepted_, sources_, folder_);
    for (const ListSource& source : sources_.lists) {
      show_step("fetching " + source.name);
      auto update = fetcher.update(source);
      show_step("");
      MANKAI_TRY(update);
      if (stop_signal() != 0) {
        return {};
      }
      if (update->is_bad()) {
        say(fmt::format("{}: {}: {}; {}", source.name, state_name(update->state), update->why->message(),
                        update->has_version ? "its last accepted version is used" : "it has no accepted version"));
      }
      lists_.push_back(*std::move(update));
    }
    return {};
  }

  // A list that was never accepted cannot be left out silently.
  [[nodiscard]] Result<void> check_versions() const {
    std::string names;
    bool is_refused = false;
    for (const ListUpdate& list : lists_) {
      if (!list.has_version) {
        names += (names.empty() ? "" : ", ") + list.source->name;
        is_refused = is_refused || list.state == ListUpdate::State::refused;
      }
    }
    return names.empty() ? Result<void>()
                         : fail(is_refused ? ErrorCode::corrupt : ErrorCode::io,
                                fmt::format("{}: was not written: no version of {} has been accepted yet; correct the "
                                            "list, accept a refused version with --accept, or remove the list from {}",
                                            request_.file, names, request_.sources));
  }

  void load(const Guard& guard) {
    for (const RedisTarget& target : sources_.targets) {
      Loaded& loaded = loaded_.emplace_back(Loaded{.target = &target, .why = {}});
      if (auto sent = load_into_server(guard, target.server, target.key); !sent) {
        loaded.why = sent.error();
        say(fmt::format("{}; the key {} is unchanged", sent.error().message(), target.key));
      }
    }
  }

  [[nodiscard]] std::string text(const Made& made) const {
    std::string text;
    for (const ListUpdate& list : lists_) {
      text += fmt::format("{}: {}", list.source->name, state_name(list.state));
      text += list.rules ? ", " + counted(*list.rules, "rule") : std::string();
      text += list.rules_before ? fmt::format(", {} before", human_count(*list.rules_before)) : std::string();
      text += "\n";
    }
    text += fmt::format("{}: {}, {}, {}", printable(request_.file), made.is_updated ? "updated" : "unchanged",
                        counted(made.facts.rules_in_force(), "rule"), counted(made.facts.exceptions, "exception"));
    text += made.kept_changes == 0 ? "\n" : fmt::format(", {} kept\n", counted(made.kept_changes, "other change"));
    for (const Loaded& each : loaded_) {
      text += fmt::format("{} {}: {}\n", to_text(each.target->server), printable(each.target->key),
                          each.why ? "failed" : "loaded");
    }
    return text;
  }

  // `why`: nothing was made.
  [[nodiscard]] std::string json(const std::optional<Made>& made, const std::string& why) const {
    Report report;
    report.add("file", request_.file);
    report.add("updated", made && made->is_updated);
    if (made) {
      report.add("rules", made->facts.rules_in_force());
      report.add("exceptions", made->facts.exceptions);
      report.add("kept_changes", made->kept_changes);
    } else {
      add_bytes("why", why, report);
    }
    std::vector<Report> lists;
    for (const ListUpdate& list : lists_) {
      Report& each = lists.emplace_back();
      each.add("list", list.source->name);
      each.add("state", std::string(state_name(list.state)));
      if (list.rules) {
        each.add("rules", *list.rules);
      }
      if (list.rules_before) {
        each.add("rules_before", *list.rules_before);
      }
      if (list.why) {
        add_bytes("why", list.why->message(), each);
      }
      if (!list.sha256.empty()) {
        each.add("sha256", list.sha256);
      }
    }
    report.add_list("lists", std::move(lists));
    std::vector<Report> servers;
    for (const Loaded& loaded : loaded_) {
      Report& each = servers.emplace_back();
      each.add("redis", to_text(loaded.target->server));
      add_bytes("key", loaded.target->key, each);
      each.add("loaded", !loaded.why);
      if (loaded.why) {
        add_bytes("why", loaded.why->message(), each);
      }
    }
    report.add_list("servers", std::move(servers));
    return report.json();
  }

  [[nodiscard]] int exit_code() const {
    for (const Loaded& each : loaded_) {
      if (each.why) {
        return static_cast<int>(exit_code_for(each.why->code));
      }
    }
    return static_cast<int>(std::ranges::any_of(lists_, &ListUpdate::is_bad) ? ExitCode::negative : ExitCode::fine);
  }

  const GuardUpdateRequest& request_;
  std::span<const AcceptedVersion> accepted_;
  const GuardSources& sources_;
  const ListFolder& folder_;
  std::vector<ListUpdate> lists_;
  std::vector<Loaded> loaded_;
};

Result<int> run(const GuardUpdateRequest& request) {
  if (request.sources.empty()) {
    return fail(ErrorCode::invalid_argument, "--from is missing; see `mankai guard update --help`");
  }
  MANKAI_ASSIGN(const auto sources, read_guard_sources(request.sources));
  std::vector<AcceptedVersion> accepted;
  for (const std::string& text : request.accept) {
    MANKAI_ASSIGN(auto version, parse_accepted_version(text, sources));
    accepted.push_back(std::move(version));
  }
  catch_stop_signals();
  const ListFolder folder(request.file);
  MANKAI_ASSIGN(const auto lock, folder.lock());
  for (const AcceptedVersion& version : accepted) {
    MANKAI_TRY(check_is_kept(version, folder));
  }
  return Updating(request, accepted, sources, folder).run();
}

}  // namespace

Subcommand guard_update_subcommand() {
  auto request = std::make_shared<GuardUpdateRequest>();
  return {
      .name = "guard update",
      .summary = "fetch block lists again and compile what changed",
      .description =
          "Fetches the lists that SOURCES names, compiles them into FILE if any changed, and loads FILE into Redis "
          "servers, if SOURCES names some. A list is a local file, or the output of a command, such as curl. mankai "
          "guard serve notices the new file by itself.\n\nA new version of a list is refused if it has no rules, if "
          "more than 10% of its rules are skipped, or if it lost half of its rules or more; SOURCES can set other "
          "limits. Instead of a list that is refused or cannot be fetched, its last accepted version is used, and the "
          "exit code is 1. If a list was never accepted, nothing is written.\n\nThe new file is built beside the old "
          "one and replaces it atomically. Changes made to FILE by guard add, remove, allow and disallow are kept. "
          "FILE.lists beside FILE has the accepted versions; do not delete it.\n\nSOURCES is a TOML file. Each list is "
          "a table [[list]] with a name, and with path = \"FILE\" or command = [\"PROGRAM\", \"ARGUMENT\", ...]. "
          "Optional keys: action = \"allow\" for exceptions, format and column as for mankai guard build, "
          "allow_skipped, max_loss, allow_empty and timeout. Each server is a table [[redis]] with server and key. fpr "
          "and exact, before the tables, are those of the guard. Paths and commands are relative to the folder of "
          "SOURCES. Commands run without a shell, and without MANKAI_REDIS_PASSWORD in their environment.",
      .examples = {{"mankai guard update blocked.mkg --from sources.toml", "every hour, from a timer"},
                   {"mankai guard update blocked.mkg --from sources.toml --accept phishing=4bb7...",
                    "accepts the refused version of phishing; the run that refused it printed the digest"}},
      .options = {positional("FILE", "File of the guard; created if it is missing.", ValueKind::file, request->file),
                  text_option("--from", "SOURCES", "TOML file that names the lists.", ValueKind::file,
                              request->sources),
                  list_option(
                      "--accept", "NAME=SHA256",
                      "Accept the version of this list that was refused, even if too many of its rules are skipped or "
                      "missing. The list is not fetched again. The run that refused it printed the digest. Repeatable.",
                      ValueKind::text, request->accept),
                  flag("--force",
                       "Build, and replace FILE even if another command made it or it is corrupt; changes that were "
                       "made to it are lost.",
                       request->force),
                  mode_option(request->mode), flag("--quiet", "Print nothing but errors.", request->quiet),
                  flag("--json", "Print what was done as JSON.", request->json)},
      .run = [request] { return run(*request); }};
}

}  // namespace mankai::command
