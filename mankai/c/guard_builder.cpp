#include <algorithm>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mankai/c/detail/arguments.hpp"
#include "mankai/c/detail/guard_handle.hpp"
#include "mankai/c/mankai.h"
#include "mankai/file/file.hpp"
#include "mankai/guard/rule_list.hpp"

struct mankai_guard_builder : mankai::c::HandleOf<mankai::c::HandleType::guard_builder> {
  explicit mankai_guard_builder(mankai::GuardBuilder made) : HandleOf(false), builder(std::move(made)) {}

  mutable std::mutex changing;
  std::optional<mankai::GuardBuilder> builder;  ///< until the first build
  std::optional<mankai::Guard> built;           ///< then, until it was handed on
  mankai::RuleListCounts counts;
};

namespace mankai::c {
namespace {

// Runs `use(handle)` alone.
template <class Handle, class Use>
int with_builder(Handle* builder, const Use& use) noexcept {
  return with_handle(builder, [&](Handle& handle) -> Result<void> {
    const std::scoped_lock lock(handle.changing);
    return use(handle);
  });
}

// Runs `use(builder)`. Errors: invalid_argument after the guard was built.
template <class Use>
int add_to_builder(mankai_guard_builder* builder, const Use& use) noexcept {
  return with_builder(builder, [&](mankai_guard_builder& handle) -> Result<void> {
    if (!handle.builder) {
      return fail(ErrorCode::invalid_argument, "the guard was built already: create another builder");
    }
    return use(*handle.builder, handle.counts);
  });
}

Result<RuleListOptions> list_options_of(const mankai_list_options* given) {
  MANKAI_ASSIGN(const auto known, read_sized(given));
  constexpr std::array kFormats = {RuleListFormat::automatic, RuleListFormat::lines, RuleListFormat::adblock,
                                   RuleListFormat::csv, RuleListFormat::urls};
  static_assert(MANKAI_LIST_LINES == 1 && MANKAI_LIST_ADBLOCK == 2 && MANKAI_LIST_CSV == 3 && MANKAI_LIST_URLS == 4);
  if (known.format >= kFormats.size()) {
    return fail(ErrorCode::invalid_argument, "there is no list format " + std::to_string(known.format));
  }
  return RuleListOptions{.format = kFormats[known.format],
                         .column = known.column == nullptr ? std::string() : std::string(known.column),
                         .is_allow_list = known.is_allow_list != 0};
}

// Removes a line and its end from the text.
std::string_view take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  if (line.ends_with('\r')) {
    line.remove_suffix(1);
  }
  return line;
}

std::vector<std::string_view> first_lines(std::string_view text) {
  std::vector<std::string_view> lines;
  std::size_t saying = 0;
  while (!text.empty() && saying < kRuleListFirstLines) {
    lines.push_back(take_line(text));
    saying += RuleListReader::says_something(lines.back()) ? 1 : 0;
  }
  return lines;
}

void add_counts(const RuleListCounts& list, RuleListCounts& sum) {
  sum.lines += list.lines;
  sum.rules += list.rules;
  sum.exceptions += list.exceptions;
  sum.without_rules += list.without_rules;
  sum.widened += list.widened;
  sum.narrowed += list.narrowed;
  std::ranges::transform(sum.skipped, list.skipped, sum.skipped.begin(), std::plus());
}

// Invalid rules are counted. A rule that the guard cannot hold is an error, since it would not be blocked.
Result<void> add_rules(RuleListReader& reader, GuardBuilder& builder) {
  while (const auto read = reader.next()) {
    for (const std::string_view rule : read->rules) {
      const auto added = read->is_exception ? builder.add_allow(rule) : builder.add_block(rule);
      if (added) {
        continue;
      }
      if (added.error().code != ErrorCode::invalid_argument) {
        return std::unexpected(added.error().within(shown_rule(rule)));
      }
      reader.refuse(*read);
    }
  }
  return {};
}

Result<void> add_list(std::string_view text, const RuleListOptions& options, GuardBuilder& builder,
                      RuleListCounts& counts) {
  MANKAI_ASSIGN(auto reader, RuleListReader::create(options, first_lines(text)));
  while (!text.empty()) {
    reader.add(take_line(text));
    MANKAI_TRY(add_rules(reader, builder));
  }
  reader.finish();
  MANKAI_TRY(add_rules(reader, builder));
  add_counts(reader.counts(), counts);
  return {};
}

// Static; "" if no rule was skipped that the guard should have.
const char* usual_skip(const RuleListCounts& counts) {
  std::size_t usual = kRuleSkips;
  for (std::size_t i = 0; i < kRuleSkips; ++i) {
    if (!is_out_of_scope(static_cast<RuleSkip>(i)) &&
        counts.skipped[i] > (usual < kRuleSkips ? counts.skipped[usual] : 0)) {
      usual = i;
    }
  }
  // NOLINTNEXTLINE(bugprone-suspicious-stringview-data-usage): a literal, closed by a zero
  return usual == kRuleSkips ? "" : describe(static_cast<RuleSkip>(usual)).data();
}

// Returns the guard, which the builder keeps until it was handed on.
Result<Guard*> build_once(mankai_guard_builder& handle) {
  if (handle.builder) {
    GuardBuilder builder = *std::exchange(handle.builder, std::nullopt);
    MANKAI_ASSIGN(handle.built, builder.build());
  }
  if (!handle.built) {
    return fail(ErrorCode::invalid_argument, "the guard was built already: create another builder");
  }
  return &*handle.built;
}

}  // namespace
}  // namespace mankai::c

using namespace mankai;
using namespace mankai::c;

int mankai_guard_builder_create(const mankai_guard_settings* settings, mankai_guard_builder** builder) {
  return open_handle(builder, "builder", [&]() -> Result<std::unique_ptr<mankai_guard_builder>> {
    MANKAI_ASSIGN(const auto known, settings_of(settings));
    MANKAI_ASSIGN(auto made, GuardBuilder::create(known));
    return std::make_unique<mankai_guard_builder>(std::move(made));
  });
}

int mankai_guard_builder_add(mankai_guard_builder* builder, const void* rule, size_t bytes) {
  return add_to_builder(builder, [&](GuardBuilder& made, RuleListCounts&) -> Result<void> {
    MANKAI_ASSIGN(const auto view, key_of(rule, bytes));
    MANKAI_TRY(within(shown_rule(view), made.add_block(view)));
    return {};
  });
}

int mankai_guard_builder_allow(mankai_guard_builder* builder, const void* rule, size_t bytes) {
  return add_to_builder(builder, [&](GuardBuilder& made, RuleListCounts&) -> Result<void> {
    MANKAI_ASSIGN(const auto view, key_of(rule, bytes));
    MANKAI_TRY(within(shown_rule(view), made.add_allow(view)));
    return {};
  });
}

int mankai_guard_builder_add_list(mankai_guard_builder* builder, const void* text, size_t bytes,
                                  const mankai_list_options* options) {
  return add_to_builder(builder, [&](GuardBuilder& made, RuleListCounts& counts) -> Result<void> {
    MANKAI_TRY(check_array(text, bytes, "text"));
    MANKAI_ASSIGN(const auto known, list_options_of(options));
    return add_list({static_cast<const char*>(text), bytes}, known, made, counts);
  });
}

int mankai_guard_builder_add_file(mankai_guard_builder* builder, const char* path, const mankai_list_options* options) {
  return add_to_builder(builder, [&](GuardBuilder& made, RuleListCounts& counts) -> Result<void> {
    MANKAI_TRY(check_given(path, "path"));
    MANKAI_ASSIGN(const auto known, list_options_of(options));
    MANKAI_ASSIGN(const auto list, read_file(path));
    const auto bytes = list.bytes().first(list.size());
    return within(path, add_list({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, known, made, counts));
  });
}

int mankai_guard_builder_report(const mankai_guard_builder* builder, mankai_guard_report* report) {
  return with_builder(builder, [&](const mankai_guard_builder& handle) {
    const RuleListCounts& counts = handle.counts;
    const std::uint64_t in_force = handle.builder ? handle.builder->rule_count()
                                   : handle.built ? handle.built->facts().rules_in_force()
                                                  : 0;
    return write_sized(mankai_guard_report{.size = sizeof(mankai_guard_report),
                                           .lines = counts.lines,
                                           .rules = counts.rules,
                                           .exceptions = counts.exceptions,
                                           .without_rules = counts.without_rules,
                                           .skipped = counts.all_skipped(),
                                           .skipped_rules = counts.skipped_rules(),
                                           .widened = counts.widened,
                                           .narrowed = counts.narrowed,
                                           .rules_in_force = in_force,
                                           .skipped_reason = usual_skip(counts)},
                       report, "report");
  });
}

int mankai_guard_builder_build(mankai_guard_builder* builder, mankai_guard** guard) {
  set_null(guard);
  return with_builder(builder, [&](mankai_guard_builder& handle) -> Result<void> {
    MANKAI_TRY(check_given(static_cast<const void*>(guard), "guard"));
    MANKAI_ASSIGN(Guard * built, build_once(handle));
    *guard = new mankai_guard(std::move(*built));
    handle.built.reset();
    return {};
  });
}

int mankai_guard_builder_build_file(mankai_guard_builder* builder, const char* path,
                                    const mankai_file_options* options) {
  return with_builder(builder, [&](mankai_guard_builder& handle) -> Result<void> {
    MANKAI_ASSIGN(const Guard* built, build_once(handle));
    MANKAI_TRY(write_guard(*built, path, options));
    handle.built.reset();
    return {};
  });
}

int mankai_guard_builder_close(mankai_guard_builder* builder) { return close_handle(builder); }
