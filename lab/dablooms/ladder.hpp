#pragma once

#include <span>
#include <string>
#include <vector>

#include "mankai/base/error.hpp"
#include "mankai/url/ladders.hpp"

namespace mankai::lab::spam {

/// The keys of a URL: list entries that would block it. A host with a path; "/" stands for the whole host.
class Ladder {
 public:
  /// Errors: invalid_argument for an invalid URL.
  [[nodiscard]] Result<void> climb(const std::string& raw) {
    MANKAI_TRY(url::canonicalize(raw, url_, url::UrlRules::safe_browsing));
    expressions_.clear();
    url::append_expressions(url_, url::HostLadder::safe_browsing_v4, url::PathLadder::uncapped, expressions_);
    keys_.clear();
    for (const url::Expression& expression : expressions_) {
      keys_.push_back(std::string(expression.host) + std::string(expression.path));
    }
    return {};
  }
  [[nodiscard]] std::span<const std::string> keys() const noexcept { return keys_; }

 private:
  url::CanonicalUrl url_;
  std::vector<url::Expression> expressions_;
  std::vector<std::string> keys_;
};

}  // namespace mankai::lab::spam
