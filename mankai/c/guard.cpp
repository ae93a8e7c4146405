#include <span>
#include <string_view>

#include "mankai/c/detail/arguments.hpp"
#include "mankai/c/detail/guard_handle.hpp"
#include "mankai/c/detail/options.hpp"
#include "mankai/c/mankai.h"
#include "mankai/file/new_file.hpp"

namespace mankai::c {

Result<GuardSettings> settings_of(const mankai_guard_settings* given) {
  MANKAI_ASSIGN(const auto known, read_sized(given));
  MANKAI_ASSIGN(const auto hash, hash_of_name(known.hash));
  MANKAI_ASSIGN(const auto seed, seed_of_text(known.seed));
  GuardSettings settings{
      .hash = hash, .seed = seed, .keeps_rules = known.drops_rules == 0, .is_exact = known.is_exact != 0};
  settings.fpr = if_set(known.fpr).value_or(settings.fpr);
  return settings;
}

Result<void> write_guard(const Guard& guard, const char* path, const mankai_file_options* options) {
  MANKAI_TRY(check_given(path, "path"));
  MANKAI_ASSIGN(const auto request, request_of(options));
  return GuardFile::write(path, guard, request.existing, system_calls(), request.options.mode);
}

namespace {

static_assert(static_cast<int>(Verdict::Answer::ok) == MANKAI_GUARD_OK);
static_assert(static_cast<int>(Verdict::Answer::blocked) == MANKAI_GUARD_BLOCKED);
static_assert(static_cast<int>(Verdict::Answer::allowed) == MANKAI_GUARD_ALLOWED);
static_assert(static_cast<int>(Verdict::Answer::invalid) == MANKAI_GUARD_INVALID);

// Runs `use(guard)`, which returns a Result<void>.
template <class Use>
int read_guard(const mankai_guard* guard, const Use& use) noexcept {
  return with_handle(guard, [&](const mankai_guard& handle) { return handle.read(use); });
}

// Working memory of checks. A check returns texts in it.
GuardScratch& scratch_of_thread() {
  thread_local GuardScratch scratch;
  return scratch;
}

int check_each(const mankai_guard* guard, KeySource urls, mankai_guard_answer* answers) noexcept {
  return read_guard(guard, [&](const Guard& read) {
    return use_in_windows(urls, answers, "answers", mankai_guard_answer{MANKAI_GUARD_OK},
                          [&](auto views, std::span<mankai_guard_answer> filled) {
                            std::ranges::transform(views, filled.begin(), [&](std::string_view url) {
                              return static_cast<mankai_guard_answer>(read.check(url, scratch_of_thread()).answer);
                            });
                            return Result<void>();
                          });
  });
}

// Runs `in_memory(guard)` or `in_file(file)`, and writes the number of changes that it returns.
template <class InMemory, class InFile>
int change_guard(mankai_guard* guard, std::uint64_t* changed, const InMemory& in_memory,
                 const InFile& in_file) noexcept {
  return with_handle(guard, [&](mankai_guard& handle) -> Result<void> {
    if (handle.is_for_checks) {
      return fail(ErrorCode::invalid_argument, "the guard is open for checks only; open its file for changes");
    }
    const std::scoped_lock locks(handle.changing, handle.checking);
    auto* file = std::get_if<GuardFile>(&handle.body);
    MANKAI_ASSIGN(const std::uint64_t count,
                  file != nullptr ? in_file(*file) : in_memory(std::get<Guard>(handle.body)));
    if (changed != nullptr) {
      *changed = count;
    }
    return {};
  });
}

// `in_memory(guard, rule)` returns a Result<bool>, `in_file(file, rules)` a Result<GuardFile::Outcomes>.
template <class InMemory, class InFile>
int change_rules(mankai_guard* guard, const mankai_key* rules, std::size_t count, std::uint64_t* changed,
                 const InMemory& in_memory, const InFile& in_file) noexcept {
  const auto views_of = [&](const auto& use) -> Result<std::uint64_t> {
    MANKAI_ASSIGN(const auto keys, KeySource(rules, count).checked());
    return use(KeyViews(keys).views());
  };
  return change_guard(
      guard, changed,
      [&](Guard& memory) {
        return views_of([&](std::span<const std::string_view> views) -> Result<std::uint64_t> {
          std::uint64_t changes = 0;
          for (const std::string_view rule : views) {
            MANKAI_ASSIGN(const bool is_changed, within(shown_rule(rule), in_memory(memory, rule)));
            changes += is_changed ? 1 : 0;
          }
          return changes;
        });
      },
      [&](GuardFile& file) {
        return views_of([&](std::span<const std::string_view> views) -> Result<std::uint64_t> {
          MANKAI_ASSIGN(const auto outcomes, in_file(file, views));
          return outcomes.changed;
        });
      });
}

template <class Mode>
int open_guard(const char* path, mankai_guard** guard, Mode mode) noexcept {
  return open_handle(guard, "guard", [&]() -> Result<std::unique_ptr<mankai_guard>> {
    MANKAI_TRY(check_given(path, "path"));
    MANKAI_ASSIGN(auto file, GuardFile::open(absolute_path(path), mode));
    return std::make_unique<mankai_guard>(std::move(file), mode);
  });
}

mankai_guard_facts facts_of(const Guard& guard) {
  const GuardFacts facts = guard.facts();
  return {.size = sizeof(mankai_guard_facts),
          .rules_in_force = facts.rules_in_force(),
          .exceptions = facts.exceptions,
          .added_rules = facts.added_rules,
          .removed_rules = facts.removed_rules,
          .memory_bytes = facts.region_bytes + facts.overlay_bytes + facts.removed_bytes + facts.exceptions_bytes,
          .bits_per_rule = facts.bits_per_rule,
          .fpr = facts.fpr,
          .fpr_worst = facts.fpr_worst,
          .keeps_rules = facts.keeps_rules,
          .is_exact = facts.is_exact,
          .canonical_version = facts.canonical_version,
          .hash = name(facts.hash).data()};  // NOLINT(bugprone-suspicious-stringview-data-usage): a literal
}

}  // namespace
}  // namespace mankai::c

using namespace mankai;
using namespace mankai::c;

int mankai_guard_create(const mankai_guard_settings* settings, mankai_guard** guard) {
  return open_handle(guard, "guard", [&]() -> Result<std::unique_ptr<mankai_guard>> {
    MANKAI_ASSIGN(const auto known, settings_of(settings));
    MANKAI_ASSIGN(auto made, Guard::create(known));
    return std::make_unique<mankai_guard>(std::move(made));
  });
}

int mankai_guard_open(const char* path, mankai_guard** guard) {
  return open_guard(path, guard, GuardFile::Mode::write);
}

int mankai_guard_open_read(const char* path, mankai_guard** guard) {
  return open_guard(path, guard, GuardFile::Mode::read);
}

int mankai_guard_from_bytes(const void* image, size_t bytes, mankai_guard** guard) {
  return open_handle(guard, "guard", [&]() -> Result<std::unique_ptr<mankai_guard>> {
    MANKAI_TRY(check_given(image, "image"));
    MANKAI_ASSIGN(auto made, Guard::from_bytes({static_cast<const std::byte*>(image), bytes}));
    return std::make_unique<mankai_guard>(std::move(made));
  });
}

int mankai_guard_to_bytes(const mankai_guard* guard, void** image, size_t* bytes) {
  return read_guard(guard, [&](const Guard& read) -> Result<void> {
    MANKAI_TRY(check_given(static_cast<const void*>(image), "image"));
    MANKAI_TRY(check_given(bytes, "bytes"));
    const std::vector<std::byte> copy = read.to_bytes();
    *image = bytes_for_caller(copy);
    *bytes = copy.size();
    return {};
  });
}

int mankai_guard_save_file(const mankai_guard* guard, const char* path, const mankai_file_options* options) {
  return read_guard(guard, [&](const Guard& read) { return write_guard(read, path, options); });
}

int mankai_guard_check(const mankai_guard* guard, const void* url, size_t bytes, mankai_guard_answer* answer,
                       char* rule, size_t room, size_t* rule_bytes) {
  return read_guard(guard, [&](const Guard& read) -> Result<void> {
    MANKAI_ASSIGN(const auto view, key_of(url, bytes));
    MANKAI_TRY(check_given(answer, "answer"));
    MANKAI_TRY(check_array(rule, room, "rule"));
    const Verdict verdict = read.check(view, scratch_of_thread());
    *answer = static_cast<mankai_guard_answer>(verdict.answer);
    write_text(verdict.rule, rule, room);
    if (rule_bytes != nullptr) {
      *rule_bytes = verdict.rule.size();
    }
    return {};
  });
}

int mankai_guard_check_many(const mankai_guard* guard, const mankai_key* urls, size_t count,
                            mankai_guard_answer* answers) {
  return check_each(guard, KeySource(urls, count), answers);
}

int mankai_guard_check_packed(const mankai_guard* guard, const mankai_packed* urls, mankai_guard_answer* answers) {
  return check_each(guard, KeySource(urls), answers);
}

int mankai_guard_add(mankai_guard* guard, const mankai_key* rules, size_t count, uint64_t id, uint64_t* changed) {
  return change_rules(
      guard, rules, count, changed, [&](Guard& memory, std::string_view rule) { return memory.add(rule, id); },
      [&](GuardFile& file, auto views) { return file.add(views, id); });
}

int mankai_guard_remove(mankai_guard* guard, const mankai_key* rules, size_t count, const uint64_t* id,
                        uint64_t* changed) {
  const auto one = id == nullptr ? std::nullopt : std::optional(*id);
  return change_rules(
      guard, rules, count, changed,
      [&](Guard& memory, std::string_view rule) -> Result<bool> {
        MANKAI_ASSIGN(const auto outcome, memory.remove(rule, one));
        return outcome != RemoveOutcome::not_found;
      },
      [&](GuardFile& file, auto views) { return file.remove(views, one); });
}

int mankai_guard_allow(mankai_guard* guard, const mankai_key* rules, size_t count, uint64_t* changed) {
  return change_rules(
      guard, rules, count, changed, [](Guard& memory, std::string_view rule) { return memory.allow(rule); },
      [](GuardFile& file, auto views) { return file.allow(views); });
}

int mankai_guard_disallow(mankai_guard* guard, const mankai_key* rules, size_t count, uint64_t* changed) {
  return change_rules(
      guard, rules, count, changed, [](Guard& memory, std::string_view rule) { return memory.disallow(rule); },
      [](GuardFile& file, auto views) { return file.disallow(views); });
}

int mankai_guard_compact(mankai_guard* guard) {
  const auto compact = [](auto& body) -> Result<std::uint64_t> {
    MANKAI_TRY(body.compact());
    return std::uint64_t{0};
  };
  return change_guard(guard, nullptr, compact, compact);
}

int mankai_guard_refresh(mankai_guard* guard, bool* is_changed) {
  return with_handle(guard, [&](mankai_guard& handle) -> Result<void> {
    MANKAI_TRY(check_given(is_changed, "is_changed"));
    if (!handle.is_for_checks) {
      return fail(ErrorCode::invalid_argument, "only a guard whose file is open for checks is read from it again");
    }
    const std::scoped_lock turn(handle.changing);
    auto& file = std::get<GuardFile>(handle.body);
    MANKAI_ASSIGN(const bool is_replaced, file.is_replaced());
    if (is_replaced) {
      MANKAI_ASSIGN(auto fresh, GuardFile::open(file.path()));
      const std::scoped_lock alone(handle.checking);
      file = std::move(fresh);
    }
    *is_changed = is_replaced;
    return {};
  });
}

int mankai_guard_get_facts(const mankai_guard* guard, mankai_guard_facts* facts) {
  return read_guard(guard, [&](const Guard& read) { return write_sized(facts_of(read), facts, "facts"); });
}

int mankai_guard_exceptions(const mankai_guard* guard, mankai_texts** exceptions) {
  return read_guard(guard, [&](const Guard& read) -> Result<void> {
    MANKAI_TRY(check_given(static_cast<const void*>(exceptions), "exceptions"));
    *exceptions = texts_for_caller(read.exceptions());
    return {};
  });
}

int mankai_guard_close(mankai_guard* guard) { return close_handle(guard); }
