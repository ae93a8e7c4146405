#include "mankai/seen/confirmed_seen.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "mankai/base/assert.hpp"
#include "mankai/store/kept_filter.hpp"
#include "mankai/url/canonical_url.hpp"

namespace mankai {
namespace {

/// Number of keys whose digests stay in the cache.
constexpr std::size_t kWindow = 1024;

Result<DigestLogKeys> keys_for(const ConfirmedSeenRequest& request) {
  HashSpec first = HashSpec::random(request.hash.value_or(kDefaultHash));
  first.seed = request.seed.value_or(first.seed);
  MANKAI_TRY(check_seed(first));
  // Derives the second seed from a given one, so that runs are reproducible.
  HashSpec second = HashSpec::random(first.kind);
  if (request.seed) {
    constexpr std::uint64_t kOther = 0x9e3779b97f4a7c15U;  // 2^64 divided by the golden ratio
    second.seed = {mix_integer(first.seed[0], kOther).value, mix_integer(first.seed[1], kOther).value};
    second = trimmed(second);
  }
  return DigestLogKeys{.first = first,
                       .second = second,
                       .canonical_version = request.canonical.value_or(false) ? url::kCanonicalVersion : 0};
}

// A log with other parameters would work, but not as requested.
Result<void> check_request_fits(const std::string& path, const DigestLogKeys& keys,
                                const ConfirmedSeenRequest& request) {
  if (keys.canonical_version != 0 && !url::url_rules(keys.canonical_version)) {
    return fail(ErrorCode::unsupported_version,
                path + ": has URLs in canonical form of version " + std::to_string(keys.canonical_version) +
                    ", and this library reads versions 1 to " + std::to_string(url::kCanonicalVersion) +
                    "; use a newer version of Mankai, or name another file");
  }
  const bool is_canonical = keys.canonical_version != 0;
  if (differs(request.hash, keys.first.kind) || differs(request.seed, keys.first.seed) ||
      differs(request.canonical, is_canonical)) {
    return created_otherwise(path, "with hash " + std::string(name(keys.first.kind)) + " and a seed, of " +
                                       (is_canonical ? "canonical URLs" : "keys as they are") +
                                       ", requested another hash, seed or form of keys");
  }
  return {};
}

}  // namespace

std::string_view name(ConfirmedSeen::Answer answer) noexcept {
  constexpr std::array<std::string_view, 3> kNames = {"new", "repeat", "rescued"};
  return kNames[static_cast<std::size_t>(answer)];
}

ConfirmedSeen::ConfirmedSeen(DigestLog log, BlockedBloom filter, double fpr)
    : log_(std::move(log)),
      filter_(std::move(filter)),
      fpr_(fpr),
      first_(std::make_unique<Digest[]>(kWindow)),
      second_(std::make_unique<Digest[]>(kWindow)),
      may_be_repeat_(std::make_unique<bool[]>(kWindow)) {}

Result<ConfirmedSeen> ConfirmedSeen::open(const std::string& path, const ConfirmedSeenRequest& request,
                                          const DigestLogOptions& options) {
  MANKAI_ASSIGN(const auto keys, keys_for(request));
  // Checks the request before a log is created.
  MANKAI_TRY(BlockedBloom::create({.keys = request.keys, .fpr = request.fpr}));
  MANKAI_ASSIGN(auto log, DigestLog::open(path, keys, options));
  MANKAI_TRY(check_request_fits(path, log.keys(), request));
  MANKAI_ASSIGN(auto filter,
                filled_filter(log, std::max(request.keys, log.digests() + log.digests() / 2), request.fpr));
  return ConfirmedSeen(std::move(log), std::move(filter), request.fpr);
}

Result<BlockedBloom> ConfirmedSeen::filled_filter(const DigestLog& log, std::uint64_t keys, double fpr) {
  MANKAI_ASSIGN(auto filter, BlockedBloom::create({.keys = keys, .fpr = fpr, .hash = log.keys().first}));
  std::vector<Digest> digests;
  MANKAI_TRY(log.for_each([&](std::span<const WideDigest> piece) {
    digests.resize(piece.size());
    std::ranges::transform(piece, digests.begin(), [](const WideDigest& wide) { return Digest{wide.first}; });
    filter.insert(digests);
  }));
  return filter;
}

void ConfirmedSeen::observe(std::span<const std::string_view> keys, std::span<Answer> answers) {
  MANKAI_ASSERT(keys.size() == answers.size());
  for (std::size_t begin = 0; begin < keys.size(); begin += kWindow) {
    const std::size_t count = std::min(kWindow, keys.size() - begin);
    hash(keys.subspan(begin, count));
    filter_.observe({first_.get(), count}, {may_be_repeat_.get(), count});
    for (std::size_t i = 0; i < count; ++i) {
      answers[begin + i] = answer({.first = first_[i].value, .second = second_[i].value}, may_be_repeat_[i]);
    }
  }
}

void ConfirmedSeen::hash(std::span<const std::string_view> keys) {
  const Hasher first(log_.keys().first);
  const Hasher second(log_.keys().second);
  if (!is_canonical()) {
    first(keys, {first_.get(), keys.size()});
    second(keys, {second_.get(), keys.size()});
    return;
  }
  // check_request_fits refused other versions.
  const url::UrlRules rules = url::url_rules(log_.keys().canonical_version).value();
  url::CanonicalUrl url;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const std::string_view key = url::canonicalize(keys[i], url, rules) ? url.text() : keys[i];
    first_[i] = first(key);
    second_[i] = second(key);
  }
}

ConfirmedSeen::Answer ConfirmedSeen::answer(WideDigest digest, bool may_be_repeat) {
  if (may_be_repeat && log_.contains(digest)) {
    return Answer::repeat;
  }
  log_.add(digest);
  return may_be_repeat ? Answer::rescued : Answer::fresh;
}

Result<void> ConfirmedSeen::commit() {
  if (auto committed = log_.commit(); !committed || log_.digests() <= filter_.capacity_keys()) {
    return committed;
  }
  MANKAI_ASSIGN(auto larger, filled_filter(log_, std::max(filter_.capacity_keys(), log_.digests()) * 2, fpr_));
  filter_ = std::move(larger);
  return {};
}

std::uint64_t ConfirmedSeen::memory_bytes() const noexcept { return filter_.image_bytes() + log_.memory_bytes(); }

}  // namespace mankai
