#include "mankai/guard/guard.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <unordered_set>
#include <vector>

#include "apps/mankai-lab/demo/exhibit.hpp"
#include "apps/mankai/report.hpp"
#include "lab/exact_sets.hpp"
#include "mankai/url/canonical_url.hpp"
#include "mankai/url/ladders.hpp"

namespace mankai::command::demo {
namespace {

/// The block list as text, asked exactly: every host of the URL with every beginning of its path.
class ExactRules {
 public:
  explicit ExactRules(const Day& day) : rules_(&memory_) {
    for (const std::string_view rule : day.rules) {
      rules_.insert(rule);
    }
  }

  [[nodiscard]] bool blocks(std::string_view raw) {
    if (!url::canonicalize(raw, url_, url::UrlRules::safe_browsing)) {
      return false;
    }
    hosts_.clear();
    url::append_hosts(url_, url::HostLadder::uncapped, hosts_);
    return std::ranges::any_of(hosts_, [this](std::string_view host) { return is_listed(host, url_.path()); });
  }

  [[nodiscard]] std::uint64_t bytes() const noexcept { return memory_.most_bytes(); }

 private:
  // A path is covered by what it begins with, as far as a slash or its end.
  [[nodiscard]] bool is_listed(std::string_view host, std::string_view path) {
    expression_.assign(host);
    if (rules_.contains(expression_)) {
      return true;
    }
    while (path.size() > 1) {
      const std::size_t end = std::min(path.find('/', 1), path.size());
      expression_.append(path.substr(0, end));
      if (rules_.contains(expression_)) {
        return true;
      }
      path.remove_prefix(end);
    }
    return false;
  }

  CountedMemory memory_;
  baseline::HashSet rules_;
  url::CanonicalUrl url_;
  std::vector<std::string_view> hosts_;
  std::string expression_;
};

Result<Guard> make_guard(const Day& day, std::uint64_t seed) {
  MANKAI_ASSIGN(auto builder, GuardBuilder::create({.fpr = kPromisedRate, .seed = {{seed, 0}}, .keeps_rules = false}));
  for (const std::string_view rule : day.rules) {
    MANKAI_TRY(builder.add_block(rule));
  }
  return builder.build();
}

/// What the guard answered to each link that was followed.
struct Asked {
  std::vector<bool> blocked;
  std::vector<bool> truth;
  std::uint64_t probes = 0;
  std::string example;  // a URL that was rightly blocked, and the rule
};

Asked ask(const Guard& guard, ExactRules& rules, const Day& day, Answers& row) {
  Asked asked;
  asked.blocked.reserve(day.links.size());
  asked.truth.reserve(day.links.size());
  GuardScratch scratch;
  timed(row.seconds, [&] {
    for (const DayEvent& link : day.links) {
      const Verdict verdict = guard.check(link.what, scratch);
      asked.blocked.push_back(verdict.answer == Verdict::Answer::blocked);
      asked.probes += verdict.probes;
    }
  });
  timed(row.exact_seconds, [&] {
    for (const DayEvent& link : day.links) {
      asked.truth.push_back(rules.blocks(link.what));
    }
  });
  for (std::size_t i = 0; i < day.links.size() && asked.example.empty(); ++i) {
    if (asked.truth[i]) {
      asked.example = fmt::format("For example {} is blocked by the rule {}.", day.links[i].what,
                                  guard.check(day.links[i].what, scratch).rule);
    }
  }
  return asked;
}

}  // namespace

Result<Exhibit> ask_guard(const Day& day, std::uint64_t seed) {
  const auto guard = make_guard(day, seed);
  if (!guard) {
    return std::unexpected(guard.error());
  }
  ExactRules rules(day);
  Answers row{.name = "guard",
              .question = "Blocked?",
              .about = fmt::format("different links, {} rules", human_count(day.rules.size())),
              .steps = day.links.size(),
              .promised = "none missed",
              .promised_share = kPromisedRate,
              .exact_bytes = rules.bytes()};
  const Asked asked = ask(*guard, rules, day, row);
  // A rate is promised for URLs, of which some are followed very often: each counts once, when it is followed first.
  WrongByHour by_hour(day);
  std::unordered_set<std::uint64_t> links;
  for (std::size_t i = 0; i < day.links.size(); ++i) {
    if (!links.insert(day.links[i].number).second) {
      continue;
    }
    const bool is_wrong = asked.blocked[i] && !asked.truth[i];
    row.yes += asked.blocked[i] ? 1 : 0;
    row.truth += asked.truth[i] ? 1 : 0;
    row.missed += asked.truth[i] && !asked.blocked[i] ? 1 : 0;
    row.wrong_yes += is_wrong ? 1 : 0;
    by_hour.add(day.links[i].time, !asked.truth[i], is_wrong);
  }
  row.asked = links.size();
  row.strangers = row.asked - row.truth;
  const GuardFacts facts = guard->facts();
  row.bytes = facts.base_bytes + facts.rules_bytes + facts.overlay_bytes;
  Exhibit exhibit{
      .id = "guard",
      .heading = "Is it blocked?",
      .text =
          "A link shortener should not lead its readers to malware, so it asks a block list about every link that is "
          "followed. A rule covers a host with everything below it, or a path with everything below it; what is "
          "listed is always recognized.",
      .found = {},
      .rows = {},
      .plots = {},
      .wrong_by_hour = by_hour.curve("Blocked? The link shortener", 1)};
  exhibit.found.push_back(fmt::format(
      "{} clicks on {} different links, {} of which lead into the list of {} rules; {} of these were missed. {} other "
      "links were blocked by mistake: {}, where 1 % was promised.",
      human_count(row.steps), human_count(row.asked), human_count(row.truth), human_count(day.rules.size()),
      human_count(row.missed), human_count(row.wrong_yes), human_share(row.wrong_share())));
  exhibit.found.push_back(fmt::format(
      "A rule takes {:.1f} bits, and a click {:.2f} looks into them. {}", facts.bits_per_rule,
      static_cast<double>(asked.probes) / static_cast<double>(std::max<std::uint64_t>(row.steps, 1)), asked.example));
  exhibit.rows.push_back(std::move(row));
  return exhibit;
}

}  // namespace mankai::command::demo
