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

Result<void> create_missing(const std::string& path, const SeenRequest& request) {
  auto filter = create_filter(spec_for(request));
  if (!filter) {
    return std::unexpected(filter.error());
  }
  return save_filter(path, *filter, Existing::refuse);
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
  return Seen(std::move(*filter));
}

Result<Seen> Seen::open(const std::string& path, const SeenRequest& request) {
  if (auto valid = check_kind_fits(request.kind.value_or(kDefaultKind)); !valid) {
    return std::unexpected(valid.error());
  }
  auto lock = FileLock::acquire(path);
  if (!lock && lock.error().code == ErrorCode::not_found) {
    const auto created = create_missing(path, request);
    lock = FileLock::acquire(path);
    // Somebody else may have created it meanwhile; if nobody has, what kept us from it is the answer.
    if (!created && !lock && lock.error().code == ErrorCode::not_found) {
      return std::unexpected(created.error());
    }
  }
  if (!lock) {
    return std::unexpected(lock.error());
  }
  auto filter = open_filter(path, Access::change);
  if (!filter) {
    return std::unexpected(filter.error());
  }
  if (auto valid = check_kind_fits(spec_of(*filter).kind); !valid) {
    return std::unexpected(valid.error().within(path));
  }
  if (auto fits = check_request_fits(path, spec_of(*filter), request); !fits) {
    return std::unexpected(fits.error());
  }
  Seen seen(std::move(*filter));
  seen.path_ = path;
  seen.lock_ = std::move(*lock);
  return seen;
}

bool Seen::observe(std::string_view key) {
  bool seen = false;
  observe_keys(filter_, std::span(&key, 1), std::span(&seen, 1));
  return seen;
}

void Seen::observe(std::span<const std::string_view> keys, std::span<bool> seen) { observe_keys(filter_, keys, seen); }

Result<void> Seen::save() {
  return path_.empty() ? Result<void>{} : save_filter(path_, filter_, Existing::replace, &*lock_);
}

std::uint64_t Seen::keys_inserted() const noexcept { return mankai::keys_inserted(filter_); }

std::uint64_t Seen::capacity_keys() const noexcept { return mankai::capacity_keys(filter_); }

}  // namespace mankai
