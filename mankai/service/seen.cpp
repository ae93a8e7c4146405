#include "mankai/service/seen.hpp"

#include "mankai/catalog/keys.hpp"

namespace mankai {
namespace {

FilterSpec spec_for(const SeenRequest& request) {
  return {.kind = request.kind.value_or(kDefaultKind),
          .keys = request.keys.value_or(Seen::kDefaultKeys),
          .fpr = request.fpr.value_or(Seen::kDefaultFpr),
          .hash = request.hash.value_or(HashKind::xxh3),
          .seed = request.seed,
          .canonical = request.canonical.value_or(false)};
}

template <class T>
bool differs(const std::optional<T>& asked, const T& found) {
  return asked.has_value() && *asked != found;
}

// A state that was made for another request would answer, but not as asked.
Result<void> check_request_fits(const std::string& path, const FilterSpec& found, const SeenRequest& request) {
  if (!differs(request.kind, found.kind) && !differs(request.keys, found.keys) && !differs(request.fpr, found.fpr) &&
      !differs(request.hash, found.hash) && !differs(request.seed, found.seed.value()) &&
      !differs(request.canonical, found.canonical || info_of(found.kind).key_shape == KeyShape::path)) {
    return {};
  }
  FilterSpec shown = found;
  shown.seed.reset();
  return fail(ErrorCode::invalid_argument, path + ": was made as " + to_string(shown) +
                                               ", which is not what was asked for; leave the options out to use it as "
                                               "it is, or name another file");
}

// A kind that counts would count every repeat, until its counters are stuck or it has grown without end; one that has
// time would stand still.
Result<void> check_kind_fits(Kind kind) {
  const KindInfo& info = info_of(kind);
  if (info.has_time || info.key_shape == KeyShape::valued) {
    return fail(ErrorCode::invalid_argument, "kind " + std::string(info.name) +
                                                 " is told times or values, which this is not; blocked-bloom, "
                                                 "scalable-bloom or fading-fingerprints remember keys");
  }
  if (!info.can_count) {
    return {};
  }
  return fail(ErrorCode::invalid_argument, "kind " + std::string(info.name) +
                                               " counts repeats, which has no use here; blocked-bloom or "
                                               "scalable-bloom remember as many keys in a quarter of the memory");
}

}  // namespace

Result<Seen> Seen::create(const SeenRequest& request) {
  if (auto valid = check_kind_fits(request.kind.value_or(kDefaultKind)); !valid) {
    return std::unexpected(valid.error());
  }
  auto filter = create_filter(spec_for(request));
  if (!filter) {
    return std::unexpected(filter.error());
  }
  return Seen(detail::KeptFilter(std::move(*filter)));
}

Result<Seen> Seen::open(const std::string& path, const SeenRequest& request, const StoreOptions& options) {
  if (auto valid = check_kind_fits(request.kind.value_or(kDefaultKind)); !valid) {
    return std::unexpected(valid.error());
  }
  auto kept = detail::KeptFilter::open(path, [&request] { return create_filter(spec_for(request)); }, options);
  if (!kept) {
    return std::unexpected(kept.error());
  }
  if (auto valid = check_kind_fits(spec_of(kept->filter()).kind); !valid) {
    return std::unexpected(valid.error().within(path));
  }
  if (auto fits = check_request_fits(path, spec_of(kept->filter()), request); !fits) {
    return std::unexpected(fits.error());
  }
  return Seen(std::move(*kept));
}

Result<void> Seen::observe(std::span<const std::string_view> keys, std::span<bool> seen) {
  if (Store* const store = kept_.store()) {
    return store->observe(keys, seen);
  }
  observe_keys(*kept_.memory(), keys, seen);
  return {};
}

std::uint64_t Seen::keys_inserted() const noexcept { return mankai::keys_inserted(filter()); }

std::uint64_t Seen::capacity_keys() const noexcept { return mankai::capacity_keys(filter()); }

}  // namespace mankai
