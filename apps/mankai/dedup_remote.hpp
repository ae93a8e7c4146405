#pragma once

/// The memory of `mankai dedup --state redis://…`: several batches at a time are on their way to a server.

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "apps/mankai/dedup_input.hpp"
#include "apps/mankai/report.hpp"
#include "mankai/remote/remote_filter.hpp"
#include "mankai/seen/confirmed_seen.hpp"
#include "mankai/url/canonical_url.hpp"

namespace mankai::command {

/// Takes a batch whose answers are known. Shape: answers[c] of the batch's lines.
using DeliverDedup = std::function<void(const DedupBatch&, std::span<const ConfirmedSeen::Answer>)>;

/// Every line is delivered once, in order, when the server has acknowledged it. If a connection breaks, the server may
/// have remembered lines without an acknowledgment: they are delivered as new, and counted.
class DedupRemote {
 public:
  DedupRemote(RemoteFilter filter, bool is_canonical) : filter_(std::move(filter)), is_canonical_(is_canonical) {}

  /// Copies and sends a batch, and delivers earlier ones. Errors: as RemoteFilter; what may be remembered is delivered
  /// before.
  [[nodiscard]] Result<void> observe(const DedupBatch& batch, const DeliverDedup& deliver);
  /// Waits for all answers. Errors: as observe.
  [[nodiscard]] Result<void> drain(const DeliverDedup& deliver);

  /// Number of lines that may have been printed by an earlier attempt, too.
  [[nodiscard]] std::uint64_t unconfirmed() const noexcept { return unconfirmed_; }
  /// Number of lines that a filter of URLs cannot remember.
  [[nodiscard]] std::uint64_t refused() const noexcept { return refused_; }
  [[nodiscard]] const RemoteFilter& filter() const noexcept { return filter_; }
  /// Reads the facts for add_to, unless an error ended the run. Pre: drained.
  [[nodiscard]] Result<void> close();
  void add_to(Report& report) const;

 private:
  struct Extent {
    std::size_t begin;
    std::size_t size;
  };
  /// Lines that are sent together.
  struct Round {
    std::string text;
    std::vector<Extent> lines;
    std::vector<Extent> keys;
  };

  void copy(const DedupBatch& batch);
  [[nodiscard]] Result<void> send();
  [[nodiscard]] Result<void> deliver_oldest(const DeliverDedup& deliver);
  [[nodiscard]] Result<void> deliver_all(const DeliverDedup& deliver);
  void deliver_round(const Round& round, const RemoteBatch& answered, const DeliverDedup& deliver);

  RemoteFilter filter_;
  bool is_canonical_;
  url::CanonicalUrl url_;
  Round next_;
  std::deque<Round> sent_;
  std::vector<std::string_view> lines_;
  std::vector<ConfirmedSeen::Answer> answers_;
  std::uint64_t unconfirmed_ = 0;
  std::uint64_t refused_ = 0;
  bool is_usable_ = true;  // no error so far
  std::optional<RemoteFacts> facts_;
};

}  // namespace mankai::command
