#include "mankai/gate/database/gate_build.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <new>
#include <span>
#include <utility>
#include <vector>

#include "mankai/gate/database/source_settings.hpp"
#include "mankai/gate/gate_position.hpp"
#include "mankai/store/filter_file.hpp"

namespace mankai {
namespace {

constexpr std::uint64_t kMinKeys = 1000;

constexpr std::string_view kNameStart = "mankai_";
constexpr std::string_view kNameDigits = "0123456789abcdef";
constexpr std::size_t kNameDigitCount = 8;

// Eight random hexadecimal digits make the name unique among gates.
std::string new_name() {
  constexpr unsigned kBits = 4;
  std::uint64_t drawn = HashSpec::random().seed[0];
  std::string name(kNameStart);
  for (std::size_t i = 0; i < kNameDigitCount; ++i, drawn >>= kBits) {
    name += kNameDigits[drawn % kNameDigits.size()];
  }
  return name;
}

bool is_installed_name(std::string_view name) {
  return name.size() == kNameStart.size() + kNameDigitCount && name.starts_with(kNameStart) &&
         name.find_first_not_of(kNameDigits, kNameStart.size()) == std::string_view::npos;
}

std::string leftovers_path(const std::string& gate_path) { return gate_path + "-leftover"; }

// The path becomes absolute, because `mankai gate sync` may run in another folder.
std::string with_whole_path(const std::string& source) {
  constexpr std::string_view kScheme = "sqlite:";
  if (!source.starts_with(kScheme) || source.size() == kScheme.size()) {
    return source;
  }
  std::error_code ignored;
  const auto whole = std::filesystem::absolute(source.substr(kScheme.size()), ignored);
  return whole.empty() ? source : std::string(kScheme) + whole.lexically_normal().string();
}

Result<Gate> gate_of_snapshot(RowSource& source, const RowSourceSettings& settings, const GateBuild& build) {
  MANKAI_ASSIGN(const auto count, source.count_keys());
  MANKAI_ASSIGN(auto gate, Gate::create({.keys = build.keys.value_or(std::max(2 * count, kMinKeys)),
                                         .fpr = build.fpr,
                                         .source_id = settings.installed}));
  MANKAI_ASSIGN(const auto position, source.snapshot([&](std::span<const std::string_view> keys) -> Result<void> {
    if (build.should_stop && build.should_stop()) {
      return fail(ErrorCode::invalid_argument, "was stopped before the gate was built");
    }
    return gate.apply({.inserted = keys}, 0);
  }));
  MANKAI_TRY(gate.apply({.mark = position.mark}, position.number));
  return gate;
}

// Restores the old settings if the filter fails. After a crash in between, the names differ, and GateSync refuses them.
Result<void> put_in_place(const std::string& path, const RowSourceSettings& settings, Gate& gate,
                          const GateBuild& build) {
  const auto old = read_source_settings(path);
  // Settings without a filter are always replaced.
  MANKAI_TRY(write_source_settings(path, settings, Existing::replace, build.mode));
  auto saved = gate.save(path, build.existing, build.mode);
  if (!saved) {
    static_cast<void>(old ? write_source_settings(path, *old, Existing::replace)
                          : remove_file(source_settings_path(path)));
  }
  return saved;
}

// Lists what builds of a gate have installed and may be useless: NAME.mk-leftover, locked for the life of this object.
// An entry is written before its installation, so that the parts of a killed build can be found.
class Leftovers {
 public:
  // Creates the file if it is missing. Errors: locked; io; corrupt.
  static Result<std::unique_ptr<Leftovers>> open(const std::string& gate_path) {
    const std::string path = leftovers_path(gate_path);
    auto lock = FileLock::acquire(path);
    if (!lock && lock.error().code == ErrorCode::not_found) {
      // Another process may have made it in between.
      if (auto made = write_file(path, {}, Existing::refuse);
          !made && made.error().code != ErrorCode::invalid_argument) {
        return std::unexpected(made.error());
      }
      lock = FileLock::acquire(path);
    }
    if (!lock) {
      return std::unexpected(lock.error());
    }
    MANKAI_ASSIGN(const auto bytes, read_file(path));
    const auto text = bytes.bytes();
    auto list = parse_source_list({reinterpret_cast<const char*>(text.data()), text.size()});
    if (!list) {
      return std::unexpected(list.error().within(path));
    }
    return std::make_unique<Leftovers>(path, std::move(*lock), std::move(*list));
  }

  Leftovers(std::string path, FileLock lock, std::vector<RowSourceSettings> list) noexcept
      : path_(std::move(path)), lock_(std::move(lock)), list_(std::move(list)) {}
  Leftovers(const Leftovers&) = delete;
  Leftovers& operator=(const Leftovers&) = delete;
  ~Leftovers() {
    if (list_.empty()) {
      try {
        static_cast<void>(remove_file(path_));
      } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): what it lists is uninstalled once more
      }
    }
  }

  [[nodiscard]] bool lists(std::string_view installed) const {
    return std::ranges::find(list_, installed, &RowSourceSettings::installed) != list_.end();
  }
  // Returns when the entry is on disk.
  Result<void> add(const RowSourceSettings& settings) {
    list_.push_back(settings);
    return write();
  }
  Result<void> forget(std::string_view installed) {
    std::erase_if(list_, [&](const RowSourceSettings& each) { return each.installed == installed; });
    return list_.empty() ? Result<void>{} : write();
  }
  void forget_all() noexcept { list_.clear(); }

  // Uninstalls what is listed, except `in_use`; what cannot be uninstalled stays listed. Errors: the first one.
  Result<std::size_t> take_out(std::string_view in_use) {
    Result<std::size_t> count = 0;
    std::vector<RowSourceSettings> stay;
    for (const RowSourceSettings& settings : std::exchange(list_, {})) {
      const auto removed = settings.installed == in_use ? Result<std::size_t>(0) : uninstall(settings);
      if (removed && count) {
        *count += *removed;
      } else if (!removed) {
        count = count ? removed : count;
        stay.push_back(settings);
      }
    }
    list_ = std::move(stay);
    MANKAI_TRY(list_.empty() ? Result<void>{} : write());
    return count;
  }

 private:
  static Result<std::size_t> uninstall(const RowSourceSettings& settings) {
    MANKAI_ASSIGN(const auto source, open_row_source(settings));
    auto removed = source->uninstall();
    return removed ? removed : std::unexpected(removed.error().within(settings.source));
  }

  Result<void> write() {
    std::string text;
    for (const RowSourceSettings& settings : list_) {
      MANKAI_ASSIGN(const auto part, to_text(settings));
      text += part;
    }
    return write_file(path_, std::as_bytes(std::span(text)), Existing::replace, &lock_);
  }

  std::string path_;
  FileLock lock_;
  std::vector<RowSourceSettings> list_;
};

// Empty if the file is missing or unreadable.
std::string installed_name_in(const std::string& path) {
  const auto store = inspect_store(path);
  return store ? installed_name_of(store->filter, store->info.recovery.position) : std::string();
}

std::string words_without_source(const Error& why, const std::string& name) {
  const std::string parts = name.empty() ? "whose names begin with mankai_" : "which are named " + name;
  return why.message() + ": its database is not known; remove its parts there by hand, " + parts +
         ": docs/gate.md has the SQL";
}

class Builder {
 public:
  Builder(const std::string& path, RowSourceSettings settings, const GateBuild& build, Leftovers& leftovers)
      : path_(path), settings_(std::move(settings)), build_(build), leftovers_(leftovers) {}

  Result<GateBuilt> run() {
    const auto old = read_source_settings(path_);
    std::string left = words_of(leftovers_.take_out(old ? old->installed : std::string()));
    const std::string unknown = old ? std::string() : words_of_unknown(old.error());
    MANKAI_ASSIGN(auto source, open_row_source(settings_));
    source->stop_when(build_.should_stop);
    MANKAI_TRY(note(old));
    auto gate = build(*source);
    if (!gate) {
      return give_up(gate.error(), *source, old);
    }
    // From here on the new gate is in use.
    if (auto taken_out = words_of(leftovers_.take_out(settings_.installed)); !taken_out.empty()) {
      left = std::move(taken_out);
    }
    left += (left.empty() || unknown.empty() ? "" : "; ") + unknown;
    const std::uint64_t position = gate->position().value_or(0);
    return GateBuilt{.keys = gate->facts().keys,
                     .position = position,
                     .position_text = source->position_text(position),
                     .replaced_left = std::move(left)};
  }

 private:
  static std::string words_of(const Result<std::size_t>& taken_out) {
    return taken_out ? std::string() : taken_out.error().message();
  }

  // For a replaced gate whose database is unknown; empty if there is none.
  std::string words_of_unknown(const Error& why) const {
    const std::string name = installed_name_in(path_);
    return name.empty() && why.code == ErrorCode::not_found ? std::string() : words_without_source(why, name);
  }

  // After a crash at any time, NAME.mk-source says which of the two is in use.
  Result<void> note(const Result<RowSourceSettings>& old) {
    MANKAI_TRY(old ? leftovers_.add(*old) : Result<void>{});
    return leftovers_.add(settings_);
  }

  Result<Gate> build(RowSource& source) {
    MANKAI_TRY(source.install());
    MANKAI_ASSIGN(auto gate, gate_of_snapshot(source, settings_, build_));
    MANKAI_TRY(put_in_place(path_, settings_, gate, build_));
    return gate;
  }

  std::unexpected<Error> give_up(const Error& why, RowSource& source, const Result<RowSourceSettings>& old) {
    Result<std::size_t> taken_out = 0;
    if (source.is_installed()) {
      taken_out = source.uninstall();
    }
    auto forgotten = taken_out ? leftovers_.forget(settings_.installed) : std::unexpected(taken_out.error());
    if (old && forgotten) {
      forgotten = leftovers_.forget(old->installed);
    }
    if (forgotten) {
      return std::unexpected(why);
    }
    return fail(why.code,
                why.detail + "; and what was installed in the database could not be removed: " +
                    forgotten.error().message() + "; `mankai gate drop " + path_ + "` tries again",
                why.os_error);
  }

  const std::string& path_;
  RowSourceSettings settings_;
  const GateBuild& build_;
  Leftovers& leftovers_;
};

bool is_there(const std::string& path) {
  std::array<std::byte, 1> none{};
  const auto size = read_start(path, none);
  return size || size.error().code != ErrorCode::not_found;
}

}  // namespace

std::string installed_name_of(const AnyFilter& filter, const SourcePosition& position) {
  const auto parsed = parse_gate_position(position.view());
  const bool is_gate = parsed && check_is_gate(filter);
  return is_gate && is_installed_name(parsed->source_id) ? parsed->source_id : std::string();
}

Result<GateBuilt> build_gate(const std::string& path, RowSourceSettings settings, const GateBuild& build) {
  settings.installed = new_name();
  settings.source = with_whole_path(settings.source);
  MANKAI_TRY(to_text(settings));
  if (build.existing == Existing::refuse && is_there(path)) {
    return fail(ErrorCode::invalid_argument, path + ": exists already");
  }
  MANKAI_TRY(open_row_source(settings));
  MANKAI_ASSIGN(const auto leftovers, Leftovers::open(path));
  return Builder(path, std::move(settings), build, *leftovers).run();
}

Result<std::size_t> drop_gate(const std::string& path, bool is_forced) {
  auto gate = Gate::open(path);  // a corrupt or missing gate can be dropped
  if (!gate && gate.error().code == ErrorCode::locked) {
    return std::unexpected(gate.error());
  }
  const auto settings = read_source_settings(path);
  const std::string name = gate && is_installed_name(gate->source_id()) ? gate->source_id() : std::string();
  const bool has_settings_lost = !settings && (settings.error().code != ErrorCode::not_found || !name.empty());
  if (!settings && !has_settings_lost && !is_there(leftovers_path(path))) {
    return std::unexpected(settings.error());
  }
  MANKAI_ASSIGN(const auto leftovers, Leftovers::open(path));
  if (has_settings_lost && !is_forced && (name.empty() || !leftovers->lists(name))) {
    return fail(settings.error().code,
                words_without_source(settings.error(), name) + "; --force ends the gate, and leaves them there");
  }
  if (settings) {
    MANKAI_TRY(leftovers->forget(settings->installed));
    MANKAI_TRY(leftovers->add(*settings));
  }
  auto taken_out = leftovers->take_out({});
  if (!taken_out && !is_forced) {
    return taken_out;
  }
  leftovers->forget_all();
  if (gate && !gate->source_id().empty()) {
    MANKAI_TRY(gate->forget_source());
  }
  MANKAI_TRY(remove_file(source_settings_path(path)));
  return taken_out.value_or(0);
}

}  // namespace mankai
