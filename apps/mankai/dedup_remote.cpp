#include "apps/mankai/dedup_remote.hpp"

#include <optional>
#include <utility>

#include "apps/mankai/remote.hpp"

namespace mankai::command {

using Answer = ConfirmedSeen::Answer;
using State = RemoteAnswer::State;

Result<void> DedupRemote::observe(const DedupBatch& batch, const DeliverDedup& deliver) {
  if (!batch.headings.empty()) {
    MANKAI_TRY(drain(deliver));
    deliver({.headings = batch.headings, .lines = {}, .keys = {}, .times = {}}, {});
  }
  copy(batch);
  if (next_.lines.size() < filter_.best_batch()) {
    return {};
  }
  MANKAI_TRY(send());
  for (;;) {
    const auto answered = filter_.is_full() ? Result<bool>(true) : filter_.is_answered();
    if (answered && !*answered) {
      return {};
    }
    if (const auto delivered = deliver_oldest(deliver); !delivered) {
      static_cast<void>(deliver_all(deliver));  // what the server may remember
      return delivered;
    }
  }
}

void DedupRemote::copy(const DedupBatch& batch) {
  for (std::size_t i = 0; i < batch.lines.size(); ++i) {
    const std::string_view line = batch.lines[i];
    const std::string_view key = batch.keys[i];
    next_.lines.push_back({.begin = next_.text.size(), .size = line.size()});
    next_.text.append(line).append("\n");  // so that adjacent lines are printed at once
    const bool is_rewritten = is_canonical_ && canonicalize(key, url_, url::UrlRules::keys);
    const std::string_view compared = is_rewritten ? url_.text() : key;
    if (compared.data() == line.data() && compared.size() == line.size()) {
      next_.keys.push_back(next_.lines.back());
    } else {
      next_.keys.push_back({.begin = next_.text.size(), .size = compared.size()});
      next_.text.append(compared);
    }
  }
}

Result<void> DedupRemote::send() {
  if (next_.lines.empty()) {
    return {};
  }
  std::vector<std::string_view> keys;
  keys.reserve(next_.keys.size());
  for (const Extent& key : next_.keys) {
    keys.emplace_back(next_.text.data() + key.begin, key.size);
  }
  MANKAI_TRY(filter_.submit(RemoteWork::observe, keys));
  sent_.push_back(std::exchange(next_, {}));
  next_.text.reserve(sent_.back().text.size());
  next_.lines.reserve(sent_.back().lines.size());
  next_.keys.reserve(sent_.back().lines.size());
  return {};
}

Result<void> DedupRemote::drain(const DeliverDedup& deliver) {
  MANKAI_TRY(send());
  return deliver_all(deliver);
}

// Returns the first error.
Result<void> DedupRemote::deliver_all(const DeliverDedup& deliver) {
  Result<void> result;
  while (!sent_.empty()) {
    auto delivered = deliver_oldest(deliver);
    result = result ? std::move(delivered) : std::move(result);
  }
  return result;
}

// After an error the batch has no answers, but some of it may be remembered.
Result<void> DedupRemote::deliver_oldest(const DeliverDedup& deliver) {
  Result<void> result;
  auto answered = filter_.receive();
  if (!answered) {
    result = std::unexpected(answered.error());
    filter_.abandon();
    answered = filter_.receive();
  }
  deliver_round(sent_.front(), *answered, deliver);
  sent_.pop_front();
  is_usable_ = is_usable_ && result && !answered->error;
  return result && answered->error ? std::unexpected(*std::move(answered->error)) : result;
}

void DedupRemote::deliver_round(const Round& round, const RemoteBatch& answered, const DeliverDedup& deliver) {
  lines_.clear();
  answers_.clear();
  for (std::size_t i = 0; i < round.lines.size(); ++i) {
    const RemoteAnswer& answer = answered.answers[i];
    if (answer.state == State::skipped) {
      continue;
    }
    // Of a request that was sent twice, 0 may be the trace of the first one.
    const bool is_unconfirmed = answer.state == State::lost || (answer.state == State::repeated && answer.value == 0);
    unconfirmed_ += static_cast<std::uint64_t>(is_unconfirmed);
    refused_ += static_cast<std::uint64_t>(answer.state == State::refused);
    const bool is_repeat = answer.state <= State::repeated && answer.value == 0 && !is_unconfirmed;
    lines_.emplace_back(round.text.data() + round.lines[i].begin, round.lines[i].size);
    answers_.push_back(is_repeat ? Answer::repeat : Answer::fresh);
  }
  deliver({.headings = {}, .lines = lines_, .keys = lines_, .times = {}}, answers_);
}

Result<void> DedupRemote::close() {
  if (is_usable_) {
    MANKAI_ASSIGN(facts_, filter_.facts(false));
  }
  return {};
}

void DedupRemote::add_to(Report& report) const {
  report.add("unconfirmed", unconfirmed_);
  report.add("connections_lost", filter_.losses());
  if (facts_) {
    add_facts(filter_, *facts_, report);
  }
}

}  // namespace mankai::command
