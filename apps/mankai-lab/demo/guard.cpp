#include "mankai/guard/guard.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <unordered_set>
#include <vector>

#include "apps/mankai-lab/demo/exhibit.hpp"
#include "apps/mankai/report.hpp"
#include "lab/exact_sets.hpp"
#include "mankai/guard/guard_file.hpp"
#include "mankai/url/canonical_url.hpp"
#include "mankai/url/ladders.hpp"

namespace mankai::command::demo {
namespace {

/// The block list as text: looks up each host suffix with each path prefix.
class ExactRules : public Side {
 public:
  Result<void> load(std::span<const DayEvent> events) override {
    for (const DayEvent& event : events) {
      rules_.insert(event.what);
    }
    return {};
  }
  Result<void> ask(std::span<const DayEvent> events, std::span<const bool> /*truth*/, std::span<bool> yes) override {
    std::ranges::transform(events, yes.begin(), [this](const DayEvent& event) { return blocks(event.what); });
    return {};
  }

 private:
  [[nodiscard]] bool blocks(std::string_view raw) {
    if (!url::canonicalize(raw, url_, url::UrlRules::safe_browsing)) {
      return false;
    }
    hosts_.clear();
    url::append_hosts(url_, url::HostLadder::uncapped, hosts_);
    return std::ranges::any_of(hosts_, [this](std::string_view host) { return is_listed(host, url_.path()); });
  }

  // A rule covers paths that continue with a slash or end.
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

  baseline::HashSet rules_;
  url::CanonicalUrl url_;
  std::vector<std::string_view> hosts_;
  std::string expression_;
};

class GuardSide : public Side {
 public:
  explicit GuardSide(GuardFile file) : file_(std::move(file)) {}

  Result<void> ask(std::span<const DayEvent> events, std::span<const bool> /*truth*/, std::span<bool> yes) override {
    std::ranges::transform(events, yes.begin(), [this](const DayEvent& event) {
      return file_.guard().check(event.what, scratch_).answer == Verdict::Answer::blocked;
    });
    return {};
  }

 private:
  GuardFile file_;
  GuardScratch scratch_;
};

Result<std::unique_ptr<Side>> open_guard(const SideOptions& options) {
  MANKAI_ASSIGN(auto file, GuardFile::open(fmt::format("/proc/self/fd/{}", options.block_list)));
  return std::make_unique<GuardSide>(std::move(file));
}

}  // namespace

Result<void> write_block_list(const Day& day) {
  MANKAI_ASSIGN(auto builder,
                GuardBuilder::create({.fpr = kPromisedRate, .seed = {{day.options.seed, 0}}, .keeps_rules = false}));
  Result<void> added;
  for_each_event(day, Stream::rules, [&](const DayEvent& event) {
    if (const auto one = added ? builder.add_block(event.what) : false; !one) {
      added = std::unexpected(one.error());
    }
  });
  MANKAI_TRY(added);
  MANKAI_ASSIGN(const auto guard, builder.build());
  const std::vector<std::byte> bytes = guard.to_bytes();
  return write_all(day.file(Stream::block_list), bytes.data(), bytes.size(), 0);
}

const Question kGuard{.name = "guard",
                      .list = Stream::rules,
                      .asked = Stream::links,
                      .ours = open_guard,
                      .exact = [](const SideOptions& /*options*/) -> Result<std::unique_ptr<Side>> {
                        return std::make_unique<ExactRules>();
                      }};

Result<Exhibit> show_guard(const Day& day, const Facts& facts) {
  Answers row{.name = "guard",
              .question = "Blocked?",
              .about = fmt::format("different links, {} rules", human_count(day.options.rules)),
              .promised = "none",
              .promised_rate = kPromisedRate};
  // Counts each URL once: the promised rate is per URL, and some are followed very often.
  std::unordered_set<std::uint64_t> links;
  compare(
      day, Stream::links, facts.guard,
      [&](const DayEvent& event) {
        ++row.steps;
        return links.insert(event.number).second;
      },
      row);
  Exhibit exhibit{
      .id = "guard",
      .heading = "Is it blocked?",
      .text =
          "A link shortener should not lead its readers to malware, so it asks a block list about every link that is "
          "followed. A rule covers a host with everything below it, or a path with everything below it; what is "
          "listed is always recognized.",
      .found = {},
      .rows = {},
      .plots = {}};
  exhibit.found.push_back(fmt::format(
      "{} clicks on {} different links, {} of which are in the list of {} rules; {} of these were answered no. {} "
      "other "
      "links were blocked by mistake: {}, where at most 1% was promised.",
      human_count(row.steps), human_count(row.asked), human_count(row.really_yes), human_count(day.options.rules),
      human_count(row.false_negatives), human_count(row.false_positives), human_share(row.false_positive_rate())));
  exhibit.rows.push_back(std::move(row));
  return exhibit;
}

}  // namespace mankai::command::demo
