#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <optional>
#include <random>

#include "apps/mankai/input.hpp"
#include "apps/mankai/output.hpp"
#include "apps/mankai/remote.hpp"
#include "apps/mankai/report.hpp"
#include "apps/mankai/signals.hpp"
#include "apps/mankai/subcommands.hpp"
#include "apps/mankai/takeover_values.hpp"
#include "mankai/base/duration.hpp"
#include "mankai/base/number.hpp"
#include "mankai/file/file.hpp"
#include "mankai/filter/spec.hpp"
#include "mankai/remote/redis_client.hpp"

namespace mankai::command {
namespace {

using Outcome = ValueComparison::Outcome;

constexpr Duration kTimeout = std::chrono::seconds(30);
constexpr std::string_view kKeysPerScan = "200";
constexpr std::size_t kMostListed = 1000;

struct TakeoverCompareRequest {
  std::string old_address;
  std::string new_address;
  std::optional<std::uint64_t> database;
  std::uint64_t sample = 100;
  std::string items;
  Duration ttl_tolerance = std::chrono::seconds(5);
  std::string resume;
  std::uint64_t list = 20;
  bool json = false;
};

/// Where the comparison is, and what it has found. A file of lines NAME VALUE keeps it.
struct CompareState {
  std::uint64_t pass = 0;  ///< 0: the keys of the old server; 1: those that only the new one has
  std::uint64_t database = 0;
  std::uint64_t cursor = 0;
  std::uint64_t keys = 0;
  std::uint64_t identical = 0;
  std::uint64_t alike = 0;
  std::uint64_t different = 0;
  std::uint64_t is_done = 0;

  template <class Use>
  void for_each(const Use& use) {
    use("pass", pass);
    use("database", database);
    use("cursor", cursor);
    use("keys", keys);
    use("identical", identical);
    use("alike", alike);
    use("different", different);
    use("done", is_done);
  }
};

/// Keys of one reply to SCAN.
struct Page {
  std::size_t keys = 0;  ///< without a result
  std::uint64_t next = 0;
};

struct Difference {
  std::uint64_t database;
  std::string key;
  std::string what;
};

constexpr std::string_view kStateBegin = "mankai takeover compare 1\n";

std::string servers_text(const TakeoverCompareRequest& request) {
  return fmt::format("{}{} {}\n", kStateBegin, request.old_address, request.new_address);
}

Result<CompareState> read_state(const TakeoverCompareRequest& request) {
  CompareState state;
  if (request.resume.empty()) {
    return state;
  }
  const auto bytes = read_file(request.resume);
  if (!bytes) {
    return bytes.error().code == ErrorCode::not_found ? Result<CompareState>(state) : std::unexpected(bytes.error());
  }
  std::string_view text(reinterpret_cast<const char*>(bytes->bytes().data()), bytes->size());
  const std::string begin = servers_text(request);
  if (!text.starts_with(begin)) {
    return fail(ErrorCode::invalid_argument,
                request.resume + ": is not the state of a comparison of these servers; give another --resume FILE");
  }
  text.remove_prefix(begin.size());
  bool is_valid = true;
  state.for_each([&](std::string_view name, std::uint64_t& value) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    const auto number =
        line.starts_with(name) ? to_number<std::uint64_t>(line.substr(std::min(name.size() + 1, end))) : std::nullopt;
    is_valid = is_valid && number.has_value();
    value = number.value_or(0);
    text.remove_prefix(std::min(end + 1, text.size()));
  });
  return is_valid ? Result<CompareState>(state)
                  : fail(ErrorCode::corrupt, request.resume + ": the state of the comparison is corrupt; remove it");
}

Result<void> write_state(const TakeoverCompareRequest& request, CompareState& state) {
  if (request.resume.empty()) {
    return {};
  }
  std::string text = servers_text(request);
  state.for_each([&](std::string_view name, std::uint64_t value) { text += fmt::format("{} {}\n", name, value); });
  return write_file(request.resume, std::as_bytes(std::span(text)), Existing::replace);
}

Result<RedisAddress> address_of(const std::string& text, const char* variable) {
  MANKAI_ASSIGN(auto address, parse_redis_address(text));
  if (address.database != 0) {
    return fail(ErrorCode::invalid_argument, text + ": names a database; give --database instead");
  }
  if (const char* const password = std::getenv(variable); password != nullptr) {
    address.password = password;
  }
  add_password(address);
  return address;
}

Result<std::vector<std::string>> probes_of(const TakeoverCompareRequest& request) {
  std::vector<std::string> probes;
  std::mt19937_64 random;  // the same probes in every run
  for (std::uint64_t i = 0; i < request.sample; ++i) {
    probes.push_back(fmt::format("mankai-probe-{:016x}", random()));
  }
  if (!request.items.empty()) {
    InputRequest file;
    file.paths.push_back(request.items);
    MANKAI_ASSIGN(auto input, Input::open(file));
    for (;;) {
      MANKAI_ASSIGN(const auto lines, input.next_batch());
      if (lines.empty()) {
        break;
      }
      probes.insert(probes.end(), lines.begin(), lines.end());
    }
  }
  return probes;
}

class Comparison {
 public:
  Comparison(const TakeoverCompareRequest& request, RedisAddress older, RedisAddress newer,
             ValueCompareSettings settings, CompareState state)
      : request_(request),
        old_(std::move(older)),
        new_(std::move(newer)),
        settings_(std::move(settings)),
        state_(state) {}

  Result<void> run() {
    while (state_.pass < 2 && stop_signal() == 0) {
      MANKAI_TRY(run_pass());
      if (stop_signal() == 0) {
        ++state_.pass;
        state_.database = 0;
        state_.cursor = 0;
      }
    }
    state_.is_done = static_cast<std::uint64_t>(state_.pass == 2);
    return write_state(request_, state_);
  }

  [[nodiscard]] const CompareState& state() const noexcept { return state_; }
  [[nodiscard]] const std::vector<Difference>& differences() const noexcept { return differences_; }

 private:
  // Databases that have keys: "db0", "db1" in INFO keyspace.
  Result<std::vector<std::uint64_t>> databases_of(const RedisAddress& address) const {
    if (request_.database) {
      return std::vector<std::uint64_t>{*request_.database};
    }
    MANKAI_ASSIGN(auto connection, within(to_text(address), RedisConnection::open(address, kTimeout)));
    MANKAI_ASSIGN(const auto info,
                  within(to_text(address), connection.must(std::array<std::string_view, 2>{"INFO", "keyspace"})));
    std::vector<std::uint64_t> databases;
    constexpr std::string_view kBegin = "\ndb";
    for (std::size_t at = 0; (at = info.text.find(kBegin, at)) != std::string::npos;) {
      at += kBegin.size();
      const std::size_t end = std::min(info.text.find(':', at), info.text.size());
      if (const auto number = to_number<std::uint64_t>(std::string_view(info.text).substr(at, end - at))) {
        databases.push_back(*number);
      }
    }
    return databases;
  }

  Result<void> run_pass() {
    MANKAI_ASSIGN(const auto databases, databases_of(state_.pass == 0 ? old_ : new_));
    for (const std::uint64_t database : databases) {
      if (database < state_.database || stop_signal() != 0) {
        continue;
      }
      state_.cursor = database == state_.database ? state_.cursor : 0;
      state_.database = database;
      MANKAI_TRY(run_database());
    }
    return {};
  }

  Result<void> run_database() {
    RedisAddress older = old_;
    RedisAddress newer = new_;
    older.database = newer.database = static_cast<std::uint32_t>(state_.database);
    const RedisAddress& scanned = state_.pass == 0 ? older : newer;
    MANKAI_ASSIGN(auto scan, within(to_text(scanned), RedisConnection::open(scanned, kTimeout)));
    const auto should_stop = [] { return stop_signal() != 0; };
    MANKAI_ASSIGN(auto old_client, RedisClient::connect(older, kTimeout, should_stop));
    MANKAI_ASSIGN(auto new_client, RedisClient::connect(newer, kTimeout, should_stop));
    using Scope = ValueComparer::Scope;
    ValueComparer comparer(old_client, new_client, settings_, state_.pass == 0 ? Scope::values : Scope::only_new);
    std::deque<Page> pages;  // whose keys are being compared
    std::optional<std::uint64_t> cursor = state_.cursor;
    for (;;) {
      const bool is_reading = cursor && stop_signal() == 0;
      if (is_reading && (pages.empty() || comparer.has_room())) {
        MANKAI_ASSIGN(const Page page, within(to_text(scanned), read_page(scan, *cursor, comparer)));
        pages.push_back(page);
        cursor = page.next != 0 ? std::optional(page.next) : std::nullopt;
      } else if (pages.empty()) {
        return {};
      } else if (pages.front().keys > 0) {
        MANKAI_ASSIGN(auto compared, comparer.next());
        count(compared.name, std::move(compared.found));
        --pages.front().keys;
      } else {
        MANKAI_TRY(finish_page(pages.front()));
        pages.pop_front();
      }
    }
  }

  static Result<Page> read_page(RedisConnection& scan, std::uint64_t cursor, ValueComparer& comparer) {
    const std::string from = std::to_string(cursor);
    MANKAI_ASSIGN(auto reply, scan.must(std::array<std::string_view, 4>{"SCAN", from, "COUNT", kKeysPerScan}));
    const auto next = reply.members.size() == 2 ? to_number<std::uint64_t>(reply.members[0].text) : std::nullopt;
    if (!next) {
      return fail(ErrorCode::corrupt, "unexpected reply to SCAN");
    }
    for (RedisReply& key : reply.members[1].members) {
      comparer.add(std::move(key.text));
    }
    return Page{.keys = reply.members[1].members.size(), .next = *next};
  }

  Result<void> finish_page(const Page& page) {
    state_.cursor = page.next;
    state_.database += static_cast<std::uint64_t>(page.next == 0);  // a later run does not count it again
    MANKAI_TRY(write_state(request_, state_));
    show_progress();
    return {};
  }

  void count(const std::string& key, ValueComparison found) {
    if (found.outcome == Outcome::absent) {
      return;
    }
    ++state_.keys;
    switch (found.outcome) {
      case Outcome::identical: ++state_.identical; break;
      case Outcome::alike: ++state_.alike; break;
      case Outcome::different: add_difference(key, std::move(found.difference)); break;
      case Outcome::absent: break;
    }
  }

  void add_difference(const std::string& key, std::string what) {
    ++state_.different;
    if (differences_.size() < std::min<std::uint64_t>(request_.list, kMostListed)) {
      differences_.push_back({.database = state_.database, .key = key, .what = std::move(what)});
    }
  }

  void show_progress() const {
    show_step(fmt::format("database {}: {} compared, {} differ", state_.database, counted(state_.keys, "key"),
                          human_count(state_.different)));
  }

  const TakeoverCompareRequest& request_;
  RedisAddress old_;
  RedisAddress new_;
  ValueCompareSettings settings_;
  CompareState state_;
  std::vector<Difference> differences_;
};

std::string text_of(const Comparison& comparison) {
  std::string text;
  for (const Difference& difference : comparison.differences()) {
    text += fmt::format("different: key \"{}\" in database {}: {}\n", printable(difference.key), difference.database,
                        difference.what);
  }
  const CompareState& state = comparison.state();
  if (state.different > comparison.differences().size()) {
    text += fmt::format("and {} more\n", human_count(state.different - comparison.differences().size()));
  }
  return text + fmt::format("{} compared: {} identical, {} with the same counts and answers, {} different{}\n",
                            counted(state.keys, "key"), human_count(state.identical), human_count(state.alike),
                            human_count(state.different), state.is_done != 0 ? "" : "; stopped before the end");
}

Report report_of(const TakeoverCompareRequest& request, const Comparison& comparison) {
  const CompareState& state = comparison.state();
  Report report;
  report.add("old", request.old_address);
  report.add("new", request.new_address);
  report.add("ok", state.is_done != 0 && state.different == 0);
  report.add("done", state.is_done != 0);
  report.add("keys", state.keys);
  report.add("identical", state.identical);
  report.add("alike", state.alike);
  report.add("different", state.different);
  std::vector<Report> differences;
  for (const Difference& difference : comparison.differences()) {
    Report& each = differences.emplace_back();
    each.add("database", difference.database);
    add_bytes("key", difference.key, each);
    each.add("difference", difference.what);
  }
  report.add_list("differences", std::move(differences));
  return report;
}

Result<int> run(const TakeoverCompareRequest& request) {
  MANKAI_ASSIGN(auto older, address_of(request.old_address, "MANKAI_REDIS_OLD_PASSWORD"));
  MANKAI_ASSIGN(auto newer, address_of(request.new_address, "MANKAI_REDIS_PASSWORD"));
  if (to_text(older) == to_text(newer)) {
    say("warning: both addresses are " + to_text(older) + ", which is compared with itself");
  }
  MANKAI_ASSIGN(auto state, read_state(request));
  MANKAI_ASSIGN(auto probes, probes_of(request));
  if (state.is_done != 0) {
    state = {};
  }
  catch_stop_signals();
  Comparison comparison(request, std::move(older), std::move(newer),
                        {.probes = std::move(probes), .ttl_tolerance = request.ttl_tolerance}, state);
  const auto compared = comparison.run();
  show_step("");
  MANKAI_TRY(compared);
  MANKAI_TRY(write_output(request.json ? report_of(request, comparison).json() : text_of(comparison)));
  const bool is_same = comparison.state().different == 0;
  return exit_code_after_stop(static_cast<int>(is_same ? ExitCode::fine : ExitCode::negative));
}

}  // namespace

Subcommand takeover_compare_subcommand() {
  auto request = std::make_shared<TakeoverCompareRequest>();
  return {
      .name = "takeover compare",
      .summary = "report whether two servers hold the same keys",
      .description =
          "Compares every key of two servers, of RedisBloom, valkey-bloom or Mankai's module: types, times to live, "
          "and values. Filters and sketches of one type are compared byte by byte, top-k lists item by item, and each "
          "is queried for random items and for those of --items. For a filter that MANKAI.CONVERT changed, the counts "
          "must be equal, and no item that the old server has may be absent. Strings are compared whole, other types "
          "of the engine by their bytes or, if these differ, by their sizes.\n\nA key that differs is compared a "
          "second time. Both servers may run, but items that are added meanwhile can appear as differences: compare "
          "when no client writes and the new server has caught up. It only reads; 16 MiB of values, or one larger "
          "value, are held in memory per server.\n\nWith --resume, the comparison continues where it stopped. For a "
          "cluster, run the command once per primary of the old cluster. Passwords are taken from "
          "MANKAI_REDIS_PASSWORD in the environment, for the old server from MANKAI_REDIS_OLD_PASSWORD if that is set. "
          "The exit code is 0 if nothing differs, 1 if something differs, and 4 if a server cannot be reached.",
      .examples = {{"mankai takeover compare redis://old redis://new", "all databases"},
                   {"mankai takeover compare redis://old redis://new --items urls.txt --resume compare.state",
                    "also queries every filter for these items; continues after an interruption"},
                   {"mankai takeover compare unix:/run/old.sock redis://new:6380 --json", "for programs"}},
      .options = {positional("OLD",
                             "Server to compare with: redis://[USER@]HOST[:PORT], the same with rediss:// for TLS and "
                             "?cacert=FILE&cert=FILE&certkey=FILE, or unix:/PATH.",
                             ValueKind::text, request->old_address),
                  positional("NEW", "Server that replaces it.", ValueKind::text, request->new_address),
                  parsed_option("--database", "N", "Compare only this database [default: all that have keys].",
                                parse_count, request->database),
                  parsed_option("--sample", "N", "Number of random items to ask of each filter [default: 100].",
                                parse_count, request->sample),
                  text_option("--items", "FILE", "Items to ask of each filter as well, one per line.", ValueKind::file,
                              request->items),
                  parsed_option("--ttl-tolerance", "TIME", "Ignore smaller differences of times to live [default: 5s].",
                                parse_duration, request->ttl_tolerance),
                  text_option("--resume", "FILE",
                              "Keep the position and the counts in FILE, and continue from it if it exists.",
                              ValueKind::file, request->resume),
                  parsed_option("--list", "N", "Number of differences to print, at most 1000 [default: 20].",
                                parse_count, request->list),
                  flag("--json", "Print a JSON object.", request->json)},
      .run = [request] { return run(*request); }};
}

}  // namespace mankai::command
