#include "mankai/guard/detail/exceptions.hpp"

#include <cstring>
#include <string_view>

namespace mankai::detail {

Result<bool> Exceptions::insert(const GuardRule& rule, const RuleKey& key) {
  // First the text, so that where memory ends no exception is in force that is not written down.
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

Result<Exceptions> Exceptions::from_bytes(std::span<const std::byte> bytes, const Hasher& hasher) {
  Exceptions exceptions;
  url::CanonicalUrl url;
  std::string as_url;
  while (!bytes.empty()) {
    std::uint32_t length = 0;
    if (bytes.size() < sizeof(length)) {
      return fail(ErrorCode::corrupt, "exceptions: the last one is cut");
    }
    std::memcpy(&length, bytes.data(), sizeof(length));
    bytes = bytes.subspan(sizeof(length));
    if (length > bytes.size()) {
      return fail(ErrorCode::corrupt, "exceptions: the last one is cut");
    }
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), length);
    const auto rule = GuardRule::parse(as_url.assign("http://").append(text), url);
    const bool is_next = exceptions.texts_.empty() || *exceptions.texts_.rbegin() < text;
    if (!rule || rule->text() != text || !is_next) {
      return fail(ErrorCode::corrupt, "exceptions: one that is no rule, or out of order");
    }
    if (auto inserted = exceptions.insert(*rule, mankai::key_of(*rule, hasher)); !inserted) {
      return fail(ErrorCode::corrupt, "exceptions: " + inserted.error().detail);
    }
    bytes = bytes.subspan(length);
  }
  return exceptions;
}

}  // namespace mankai::detail
