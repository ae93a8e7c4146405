#include "apps/mankai/dedup_remote.hpp"

namespace mankai::command {

using Answer = ConfirmedSeen::Answer;
using State = RemoteAnswer::State;

Result<void> DedupRemote::observe(const DedupBatch& batch, const DeliverDedup& deliver) {
  if (!batch.headings.empty()) {
    MANKAI_TRY(drain(deliver));
    deliver({.headings = batch.headings, .lines = {}, .keys = {}, .times = {}}, {});
  }
  auto sent = pipe_.send(batch.lines, is_canonical_ ? canonical(batch.keys) : batch.keys, {}, delivering(deliver));
  is_usable_ = is_usable_ && sent;
  return sent;
}

Result<void> DedupRemote::drain(const DeliverDedup& deliver) {
  auto drained = pipe_.drain(delivering(deliver));
  is_usable_ = is_usable_ && drained;
  return drained;
}

RemotePipe::Deliver DedupRemote::delivering(const DeliverDedup& deliver) {
  return [&](RemotePipe::Lines lines, std::span<const RemoteAnswer> answers) {
    answers_.clear();
    for (const RemoteAnswer& answer : answers) {
      // Of a request that was sent twice, 0 may be the trace of the first one.
      const bool is_unconfirmed = answer.state == State::lost || (answer.state == State::repeated && answer.value == 0);
      unconfirmed_ += static_cast<std::uint64_t>(is_unconfirmed);
      refused_ += static_cast<std::uint64_t>(answer.state == State::refused);
      answers_.push_back(answer.state == State::certain && answer.value == 0 ? Answer::repeat : Answer::fresh);
    }
    deliver({.headings = {}, .lines = lines, .keys = lines, .times = {}}, answers_);
  };
}

// A key that is not a URL is used unchanged.
std::span<const std::string_view> DedupRemote::canonical(std::span<const std::string_view> keys) {
  std::vector<std::size_t> ends;
  url::CanonicalUrl url;
  canonical_text_.clear();
  for (const std::string_view key : keys) {
    canonical_text_.append(canonicalize(key, url, url::UrlRules::keys) ? url.text() : key);
    ends.push_back(canonical_text_.size());
  }
  canonical_keys_.clear();
  std::size_t begin = 0;
  for (const std::size_t end : ends) {
    canonical_keys_.push_back(std::string_view(canonical_text_).substr(begin, end - begin));
    begin = end;
  }
  return canonical_keys_;
}

Result<void> DedupRemote::close() {
  if (is_usable_) {
    MANKAI_ASSIGN(facts_, pipe_.filter().facts(false));
  }
  return {};
}

void DedupRemote::add_to(Report& report) const {
  report.add("unconfirmed", unconfirmed_);
  report.add("connections_lost", filter().losses());
  if (facts_) {
    add_facts(filter(), *facts_, report);
  }
}

}  // namespace mankai::command
