#include "mankai/guard/detail/exceptions.hpp"

#include <cstring>
#include <string_view>

namespace mankai::detail {

Result<bool> Exceptions::insert(const GuardRule& rule, const RuleKey& key) {
  // The text first, so that after an allocation failure no exception is in force without its text.
  const auto [text, is_new] = texts_.insert(rule.text());
  if (!is_new) {
    return false;
  }
  const auto take_back = [&] { texts_.erase(text); };
  try {
    auto inserted = table_.insert(key, 0);
    if (!inserted) {
      take_back();
      return inserted;
    }
  } catch (...) {
    take_back();
    throw;
  }
  text_bytes_ += text_bytes(*text);
  return true;
}

bool Exceptions::erase(const GuardRule& rule, const RuleKey& key) {
  const auto found = texts_.find(rule.text());
  if (found == texts_.end()) {
    return false;
  }
  text_bytes_ -= text_bytes(*found);
  texts_.erase(found);
  return table_.erase(key.rule, std::nullopt);
}

std::vector<std::byte> Exceptions::to_bytes() const {
  std::vector<std::byte> out;
  for (const std::string& text : texts_) {
    const auto length = static_cast<std::uint32_t>(text.size());
    const auto length_bytes = std::as_bytes(std::span(&length, 1));
    const auto text_bytes = std::as_bytes(std::span(text));
    out.insert(out.end(), length_bytes.begin(), length_bytes.end());
    out.insert(out.end(), text_bytes.begin(), text_bytes.end());
  }
  return out;
}

namespace {

// Older guards store some hosts escaped ("%E2%98%83.net"), and some addresses as names ("1.0x.2.3").
bool is_older_form(std::string_view text, std::string_view as_url, url::CanonicalUrl& url) {
  if (!url::canonicalize(as_url, url, url::UrlRules::safe_browsing)) {
    return false;
  }
  std::string older(url.host());
  older.append(url.path());
  older.resize(older.size() - (older.ends_with('/') ? 1 : 0));
  older.append(url.query().size() > 1 ? url.query() : std::string_view());
  return older == text;
}

}  // namespace

Result<Exceptions> Exceptions::from_bytes(std::span<const std::byte> bytes, const Hasher& hasher) {
  Exceptions exceptions;
  url::CanonicalUrl url;
  std::string as_url;
  std::string_view last;
  while (!bytes.empty()) {
    std::uint32_t length = 0;
    if (bytes.size() < sizeof(length)) {
      return fail(ErrorCode::corrupt, "exceptions: the last one is truncated");
    }
    std::memcpy(&length, bytes.data(), sizeof(length));
    bytes = bytes.subspan(sizeof(length));
    if (length > bytes.size()) {
      return fail(ErrorCode::corrupt, "exceptions: the last one is truncated");
    }
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), length);
    const auto rule = GuardRule::parse(as_url.assign("http://").append(text), url);
    const bool is_current = rule && rule->text() == text;
    if (last >= text || (!is_current && !is_older_form(text, as_url, url))) {
      return fail(ErrorCode::corrupt, "exceptions: an invalid rule, or out of order");
    }
    last = text;
    bytes = bytes.subspan(length);
    // An older text that is not a rule today is dropped: no program opens its host.
    if (!rule) {
      continue;
    }
    if (auto inserted = exceptions.insert(*rule, mankai::key_of(*rule, hasher)); !inserted) {
      return fail(ErrorCode::corrupt, "exceptions: " + inserted.error().detail);
    }
  }
  return exceptions;
}

}  // namespace mankai::detail
