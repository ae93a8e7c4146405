#include "mankai/guard/guard.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "apps/mankai-lab/demo/exhibit.hpp"
#include "apps/mankai/format.hpp"
#include "lab/exact_sets.hpp"
#include "mankai/url/canonical_url.hpp"
#include "mankai/url/ladders.hpp"

namespace mankai::command::demo {
namespace {

/// The block list as text, asked exactly: every host of the URL with every beginning of its path.
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

  baseline::HashSet rules_;
  url::CanonicalUrl url_;
  std::vector<std::string_view> hosts_;
  std::string expression_;
};

/// A mapped block list, as `GuardFile` opens one.
class GuardSide : public Side {
 public:
  GuardSide() = default;
  GuardSide(const GuardSide&) = delete;
  GuardSide& operator=(const GuardSide&) = delete;
  ~GuardSide() override {
    if (bytes_ != MAP_FAILED) {
      munmap(bytes_, size_);
    }
  }

  Result<void> open(int file) {
    size_ = static_cast<std::size_t>(lseek(file, 0, SEEK_END));
    bytes_ = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
    if (bytes_ == MAP_FAILED) {
      return fail(ErrorCode::out_of_space, "cannot map the block list; give fewer --events", errno);
    }
    MANKAI_ASSIGN(guard_, Guard::from_region(Region::borrow({static_cast<std::byte*>(bytes_), size_})));
    return {};
  }
  Result<void> ask(std::span<const DayEvent> events, std::span<const bool> /*truth*/, std::span<bool> yes) override {
    std::ranges::transform(events, yes.begin(), [this](const DayEvent& event) {
      return guard_->check(event.what, scratch_).answer == Verdict::Answer::blocked;
    });
    return {};
  }

 private:
  void* bytes_ = MAP_FAILED;
  std::size_t size_ = 0;
  std::optional<Guard> guard_;
  GuardScratch scratch_;
};

Result<std::unique_ptr<Side>> open_guard(const SideOptions& options) {
  auto side = std::make_unique<GuardSide>();
  MANKAI_TRY(side->open(options.block_list));
  return side;
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
  // A rate is promised for URLs, of which some are followed very often: each counts once, when it is followed first.
  WrongByHour by_hour(day);
  std::unordered_set<std::uint64_t> links;
  compare(
      day, Stream::links, facts.guard,
      [&](const DayEvent& event) {
        ++row.steps;
        return links.insert(event.number).second;
      },
      row, by_hour);
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
      "{} clicks on {} different links, {} of which are in the list of {} rules; {} of these were answered no. {} "
      "other "
      "links were blocked by mistake: {}, where at most 1% was promised.",
      human_count(row.steps), human_count(row.asked), human_count(row.really_yes), human_count(day.options.rules),
      human_count(row.false_negatives), human_count(row.false_positives), human_share(row.false_positive_rate())));
  exhibit.rows.push_back(std::move(row));
  return exhibit;
}

}  // namespace mankai::command::demo
