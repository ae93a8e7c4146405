#pragma once

/// The memory of `mankai dedup --state redis://…`.

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "apps/mankai/dedup_input.hpp"
#include "apps/mankai/remote.hpp"
#include "apps/mankai/report.hpp"
#include "mankai/seen/confirmed_seen.hpp"
#include "mankai/url/canonical_url.hpp"

namespace mankai::command {

/// Takes a batch whose answers are known. Shape: answers[c] of the batch's lines.
using DeliverDedup = std::function<void(const DedupBatch&, std::span<const ConfirmedSeen::Answer>)>;

/// Every line is delivered once, in order, when the server has acknowledged it. If a connection breaks, the server may
/// have remembered lines without an acknowledgment: they are delivered as new, and counted.
class DedupRemote {
 public:
  DedupRemote(RemoteFilter filter, bool is_canonical)
      : pipe_(std::move(filter), RemoteWork::observe), is_canonical_(is_canonical) {}

  /// Errors: as RemotePipe.
  [[nodiscard]] Result<void> observe(const DedupBatch& batch, const DeliverDedup& deliver);
  [[nodiscard]] Result<void> drain(const DeliverDedup& deliver);
  /// Reads the facts for add_to, unless an error ended the run. Pre: drained.
  [[nodiscard]] Result<void> close();

  /// Number of lines that may have been printed by an earlier attempt, too.
  [[nodiscard]] std::uint64_t unconfirmed() const noexcept { return unconfirmed_; }
  /// Number of lines that a filter of URLs cannot remember.
  [[nodiscard]] std::uint64_t refused() const noexcept { return refused_; }
  [[nodiscard]] const RemoteFilter& filter() const noexcept { return pipe_.filter(); }
  void add_to(Report& report) const;

 private:
  [[nodiscard]] RemotePipe::Deliver delivering(const DeliverDedup& deliver);
  [[nodiscard]] std::span<const std::string_view> canonical(std::span<const std::string_view> keys);

  RemotePipe pipe_;
  bool is_canonical_;
  std::string canonical_text_;
  std::vector<std::string_view> canonical_keys_;
  std::vector<ConfirmedSeen::Answer> answers_;
  std::uint64_t unconfirmed_ = 0;
  std::uint64_t refused_ = 0;
  bool is_usable_ = true;  // no error so far
  std::optional<RemoteFacts> facts_;
};

}  // namespace mankai::command
