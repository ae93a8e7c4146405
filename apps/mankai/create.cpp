#include <fmt/format.h>

#include "apps/mankai/filter_options.hpp"
#include "apps/mankai/format.hpp"
#include "apps/mankai/gate_file.hpp"
#include "apps/mankai/output.hpp"
#include "apps/mankai/signals.hpp"
#include "apps/mankai/store_options.hpp"
#include "apps/mankai/store_report.hpp"
#include "apps/mankai/subcommands.hpp"
#include "mankai/durable/filter_file.hpp"

namespace mankai::command {
namespace {

struct Request {
  std::string file;
  FilterOptions filter;
  std::vector<std::pair<const SpecOption*, std::string>> shape;
  std::optional<FilterSpec> spec;
  std::string like;
  FileMode mode;
  bool force = false;
  bool json = false;

  [[nodiscard]] bool says_what() const {
    return filter.kind || filter.keys || filter.fpr || filter.hash || filter.seed || !shape.empty() || spec;
  }
};

template <class T, class U>
void overwrite(T& target, const std::optional<U>& value) {
  if (value) {
    target = static_cast<T>(*value);
  }
}

Result<void> check_spec(const FilterSpec& spec, bool asked_for_keys) {
  const bool is_sized_otherwise = spec.bytes != 0 || spec.slots != 0 || spec.counters != 0;
  if (spec.keys == 0 && !asked_for_keys && !is_sized_otherwise) {
    return fail(ErrorCode::invalid_argument,
                "--keys is missing: say how many different keys the filter is for, or, where the kind takes "
                "them, --bytes, --counters or --slots");
  }
  return check_options(spec);
}

Result<AnyFilter> make_like(const Request& request) {
  if (request.says_what()) {
    return fail(ErrorCode::invalid_argument,
                "--like takes everything from the other filter: leave "
                "the other options out");
  }
  const auto other = open_filter(request.like, Access::query, Trust::fast);
  return other ? create_like(*other) : Result<AnyFilter>(std::unexpected(other.error()));
}

Result<FilterSpec> spec_for(const Request& request) {
  FilterSpec spec = request.spec.value_or(FilterSpec{});
  overwrite(spec.kind, request.filter.kind);
  overwrite(spec.keys, request.filter.keys);
  overwrite(spec.fpr, request.filter.fpr);
  overwrite(spec.hash, request.filter.hash);
  for (const auto& [option, text] : request.shape) {
    if (auto read = option->read(spec, text); !read) {
      return std::unexpected(read.error());
    }
  }
  spec.seed = request.filter.seed ? request.filter.seed : spec.seed;
  if (auto valid = check_spec(spec, request.filter.keys.has_value()); !valid) {
    return std::unexpected(valid.error());
  }
  return spec;
}

Result<AnyFilter> make(const Request& request) {
  if (!request.like.empty()) {
    return make_like(request);
  }
  const auto spec = spec_for(request);
  return spec ? create_filter(*spec) : Result<AnyFilter>(std::unexpected(spec.error()));
}

Result<void> save_new(const Request& request, AnyFilter& filter) {
  if (auto allowed = check_replaces_no_gate(request.file); !allowed) {
    return allowed;
  }
  auto saved = save_filter(request.file, filter, request.force ? Existing::replace : Existing::refuse, request.mode);
  if (!saved && saved.error().code == ErrorCode::invalid_argument) {
    return fail(ErrorCode::invalid_argument, saved.error().detail + "; --force replaces it");
  }
  return saved;
}

Result<int> run(const Request& request) {
  catch_stop_signals();
  auto filter = make(request);
  if (!filter) {
    return std::unexpected(filter.error());
  }
  if (auto saved = save_new(request, *filter); !saved) {
    return std::unexpected(saved.error());
  }
  if (request.json) {
    const auto made = inspect_store(request.file, Trust::fast);
    if (!made) {
      return std::unexpected(made.error());
    }
    Report report = report_on(made->filter, request.file);
    add_store(made->info, report);
    Output output;
    output.append(report.json());
    if (auto finished = output.finish(); !finished) {
      return std::unexpected(finished.error());
    }
  } else {
    const FilterSpec spec = spec_of(*filter);
    say(fmt::format("{}: {} for {} keys at {}, {}", request.file, info_of(spec.kind).name, human_count(spec.keys),
                    human_share(spec.fpr), human_bytes(image_bytes(*filter))));
  }
  return exit_code_after_stop(0);
}

// An option that only some kinds have, made from the catalog's line about it.
Option shape_option(const SpecOption& option, Request& request) {
  std::string kinds_with_it;
  for (const KindInfo& info : kinds()) {
    if (option.applies_to(info.kind)) {
      kinds_with_it += (kinds_with_it.empty() ? "" : ", ") + std::string(info.name);
    }
  }
  Option made{.name = "--" + std::string(option.name),
              .value = std::string(option.value),
              .help = fmt::format("For {}. {}", kinds_with_it, option.help),
              .kind = option.value.empty()     ? ValueKind::none
                      : option.choices.empty() ? ValueKind::text
                                               : ValueKind::choice,
              .choices = {option.choices.begin(), option.choices.end()}};
  made.take = [&option, &request](const std::string& value) -> Result<void> {
    const std::string text = option.value.empty() ? "yes" : value;
    FilterSpec scratch;
    if (auto read = option.read(scratch, text); !read) {
      return fail(ErrorCode::invalid_argument, "--" + std::string(option.name) + ": " + read.error().detail);
    }
    request.shape.emplace_back(&option, text);
    return {};
  };
  return made;
}

}  // namespace

Subcommand create_subcommand() {
  auto request = std::make_shared<Request>();
  Subcommand command{
      .name = "create",
      .summary = "make an empty filter",
      .description =
          "Makes the file of an empty filter, sized exactly for the keys and the rate asked for. A file that exists "
          "is left as it is unless --force is given.\n\n"
          "Two filters can be merged when one was made --like the other: same kind, size, hash and seed.\n\n"
          "A growing kind (scalable-...) is made for --keys at first and takes as many as come.",
      .examples = {{"mankai create seen.mk --keys 10M --fpr 0.001", "a filter for ten million keys"},
                   {"mankai create new.mk --like seen.mk", "one that can be merged with it"},
                   {"mankai create spam.mk --kind counting-bloom --keys 1M", "one that keys can be removed from"},
                   {"mankai create all.mk --kind scalable-bloom --keys 100k", "one that grows"},
                   {"mankai create f.mk --spec bloom:keys=1e6,fpr=1e-4,hash=xxh3", "everything in one word"}},
  };
  command.options = {positional("FILE", "The file to make.", ValueKind::file, request->file)};
  for (Option& option : filter_options(request->filter, "", "0.01 unless given.")) {
    command.options.push_back(std::move(option));
  }
  for (const SpecOption& option : spec_options()) {
    command.options.push_back(shape_option(option, *request));
  }
  command.options.push_back(parsed_option("--spec", "SPEC",
                                          "All of these in one word, KIND:name=value,...; options given beside it win.",
                                          parse_spec, request->spec));
  command.options.push_back(text_option("--like", "OTHER",
                                        "Takes kind, size, hash and seed from another filter's file.", ValueKind::file,
                                        request->like));
  command.options.push_back(flag("--force", "Replaces FILE if it exists, and removes its journal.", request->force));
  command.options.push_back(mode_option(request->mode));
  command.options.push_back(flag("--json", "Prints what was made, as `mankai info --json` does.", request->json));
  command.run = [request] { return run(*request); };
  return command;
}

}  // namespace mankai::command
