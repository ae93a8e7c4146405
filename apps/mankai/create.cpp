#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "apps/mankai/output.hpp"
#include "apps/mankai/report.hpp"
#include "apps/mankai/signals.hpp"
#include "apps/mankai/store_options.hpp"
#include "apps/mankai/store_report.hpp"
#include "apps/mankai/store_run.hpp"
#include "apps/mankai/subcommands.hpp"
#include "mankai/store/filter_file.hpp"

namespace mankai::command {
namespace {

struct CreateRequest {
  std::string file;
  FilterOptions filter;
  OptionTexts shape;
  std::optional<FilterSpec> spec;
  std::string like;
  bool canonical = false;
  FileMode mode;
  bool force = false;
  bool json = false;

  [[nodiscard]] bool says_what() const {
    return filter.kind || filter.keys || filter.fpr || filter.hash || filter.seed || canonical || !shape.empty() ||
           spec;
  }
};

template <class T, class U>
void overwrite(T& target, const std::optional<U>& value) {
  if (value) {
    target = static_cast<T>(*value);
  }
}

Result<void> check_spec(const FilterSpec& spec, bool asked_for_keys) {
  const bool is_sized_otherwise = std::ranges::any_of(std::array{"bytes", "slots", "counters"},
                                                      [&](const char* name) { return !option_of(spec, name).empty(); });
  if (spec.keys == 0 && !asked_for_keys && !is_sized_otherwise) {
    return fail(ErrorCode::invalid_argument,
                "--keys is missing; give the number of distinct keys or, for kinds that take them, --bytes, --counters "
                "or --slots");
  }
  return check_options(spec);
}

Result<AnyFilter> make_like(const CreateRequest& request) {
  if (request.says_what()) {
    return fail(ErrorCode::invalid_argument,
                "--like copies every option from the other filter; leave the other options out");
  }
  const auto other = open_filter(request.like, Access::query, Trust::fast);
  return other ? other->create_like() : Result<AnyFilter>(std::unexpected(other.error()));
}

Result<FilterSpec> spec_for(const CreateRequest& request) {
  FilterSpec spec = request.spec.value_or(FilterSpec{});
  overwrite(spec.kind, request.filter.kind);
  overwrite(spec.keys, request.filter.keys);
  overwrite(spec.fpr, request.filter.fpr);
  overwrite(spec.hash, request.filter.hash);
  spec.canonical = spec.canonical || request.canonical;
  for (const auto& [name, text] : request.shape) {
    set_option(spec, name, text);
  }
  spec.seed = request.filter.seed ? request.filter.seed : spec.seed;
  MANKAI_TRY(check_spec(spec, request.filter.keys.has_value()));
  return spec;
}

Result<AnyFilter> make(const CreateRequest& request) {
  if (!request.like.empty()) {
    return make_like(request);
  }
  const auto spec = spec_for(request);
  return spec ? create_filter(*spec) : Result<AnyFilter>(std::unexpected(spec.error()));
}

// Otherwise --keys and --fpr determine the size.
bool is_sized_by_bytes(const CreateRequest& request) {
  const auto is_bytes = [](const auto& option) { return option.first == "bytes"; };
  return std::ranges::any_of(request.shape, is_bytes) || (request.spec && !option_of(*request.spec, "bytes").empty());
}

Result<void> save_new(const CreateRequest& request, AnyFilter& filter) {
  MANKAI_TRY(check_replaces_no_gate(request.file));
  auto saved = save_filter(request.file, filter, request.force ? Existing::replace : Existing::refuse, request.mode);
  if (!saved && saved.error().code == ErrorCode::invalid_argument) {
    return fail(ErrorCode::invalid_argument, saved.error().detail + "; replace it with --force");
  }
  return saved;
}

Result<int> run(const CreateRequest& request) {
  catch_stop_signals();
  MANKAI_ASSIGN(auto filter, make(request));
  MANKAI_TRY(save_new(request, filter));
  if (request.json) {
    MANKAI_ASSIGN(const auto made, inspect_store(request.file, Trust::fast));
    Report report = report_on(made.filter, request.file);
    add_store(made.info, report);
    MANKAI_TRY(write_output(report.json()));
  } else {
    const FilterSpec spec = filter.spec();
    const std::string room = is_sized_by_bytes(request)
                                 ? ""
                                 : fmt::format(" for {} at {}", counted(spec.keys, "key"), human_share(spec.fpr));
    say(fmt::format("{}: {}{}, {}", request.file, description_of(spec.kind).name, room,
                    human_bytes(filter.image_bytes())));
  }
  return exit_code_after_stop(0);
}

// Succeeds if any kind with this option accepts the value: --kind may follow later on the command line.
Result<void> check_value(const SharedOption& shared, const std::string& text) {
  Result<void> refusal;
  for (const KindDescription* kind : shared.kinds) {
    const auto read = kind->normalize({{std::string(shared.option->name), text}});
    if (read) {
      return {};
    }
    refusal = std::unexpected(read.error());
  }
  return refusal;
}

// Builds a kind-specific option from the first kind's description.
Option shape_option(const SharedOption& shared, CreateRequest& request) {
  const KindOption& option = *shared.option;
  std::string kinds_with_it;
  for (const KindDescription* kind : shared.kinds) {
    kinds_with_it += (kinds_with_it.empty() ? "" : ", ") + std::string(kind->name);
  }
  Option made{.name = "--" + std::string(option.name),
              .value = std::string(option.value),
              .help = fmt::format("For {}. {}", kinds_with_it, option.help),
              .kind = option.value.empty()     ? ValueKind::none
                      : option.choices.empty() ? ValueKind::text
                                               : ValueKind::choice,
              .choices = {option.choices.begin(), option.choices.end()}};
  made.take = [&shared, &request](const std::string& value) -> Result<void> {
    const std::string name(shared.option->name);
    const std::string text = shared.option->value.empty() ? "yes" : value;
    if (auto valid = check_value(shared, text); !valid) {
      return fail(ErrorCode::invalid_argument, "--" + name + ": " + valid.error().detail);
    }
    request.shape.emplace_back(name, text);
    return {};
  };
  return made;
}

Options shape_options(CreateRequest& request) {
  Options options;
  for (const SharedOption& shared : shared_options()) {
    options.push_back(shape_option(shared, request));
  }
  return options;
}

}  // namespace

Subcommand create_subcommand() {
  auto request = std::make_shared<CreateRequest>();
  return {
      .name = "create",
      .summary = "create an empty filter",
      .description =
          "Creates the file of an empty filter, sized for --keys distinct keys at the false-positive rate --fpr. An "
          "existing file is an error without --force.\n\nTo merge two filters, create one of them with --like the "
          "other: same kind, size, hash and seed.\n\nGrowing kinds (scalable-bloom, scalable-counting-bloom, cuckoo) "
          "start with room for --keys and grow beyond it.",
      .examples = {{"mankai create seen.mk --keys 10M --fpr 0.001", "a filter for ten million keys"},
                   {"mankai create new.mk --like seen.mk", "a filter that can be merged with it"},
                   {"mankai create spam.mk --kind counting-bloom --keys 1M", "a filter from which keys can be removed"},
                   {"mankai create all.mk --kind scalable-bloom --keys 100k", "a filter that grows"},
                   {"mankai create f.mk --spec bloom:keys=1e6,fpr=1e-4,hash=xxh3", "all options in one word"}},
      .options = {positional("FILE", "File to create.", ValueKind::file, request->file),
                  filter_options(request->filter, ".", " [default: 0.01]. Has no effect with recent-values.",
                                 [](const KindDescription&) { return true; }),
                  flag("--canonical",
                       "Canonicalize keys as URLs before hashing, so that all spellings of a URL are one key. A key "
                       "that is not a URL is hashed unchanged.",
                       request->canonical),
                  shape_options(*request),
                  parsed_option(
                      "--spec", "SPEC",
                      "All of these options in one word, KIND:name=value,...; separate options take precedence.",
                      parse_spec, request->spec),
                  text_option("--like", "OTHER", "Copy kind, size, hash and seed from the file of another filter.",
                              ValueKind::file, request->like),
                  flag("--force", "Replace FILE if it exists, and remove its journal.", request->force),
                  mode_option(request->mode),
                  flag("--json", "Print the new filter as mankai info --json does.", request->json)},
      .run = [request] { return run(*request); }};
}

}  // namespace mankai::command
