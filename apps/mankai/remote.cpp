#include "apps/mankai/remote.hpp"

#include <cstdlib>
#include <utility>

#include "apps/mankai/output.hpp"
#include "apps/mankai/signals.hpp"

namespace mankai::command {

Option filter_positional(std::string& target) {
  return positional("FILE", "File of the filter." + std::string(kOrRemote), ValueKind::file_or_server, target);
}

void add_password(RedisAddress& address) {
  if (const char* const password = std::getenv("MANKAI_REDIS_PASSWORD");
      password != nullptr && address.password.empty()) {
    address.password = password;
  }
}

Result<RemoteFilter> open_remote(const std::string& text, const std::optional<RemoteCreation>& creation) {
  MANKAI_ASSIGN(auto address, parse_remote_address(text));
  add_password(address.server);
  return RemoteFilter::open(address, creation, [] { return stop_signal() != 0; });
}

void add_facts(const RemoteFilter& filter, const RemoteFacts& facts, Report& report) {
  const std::uint64_t shards = filter.address().shards;
  report.add("type", filter.type_name(), "type", filter.type_name());
  report.add("shards", shards, shards > 0 ? "shards" : "", human_count(shards));
  report.add("keys_inserted", facts.keys, "keys", human_count(facts.keys));
  if (facts.capacity) {
    report.add("capacity_keys", *facts.capacity, "capacity", human_count(*facts.capacity));
  }
  if (facts.sub_filters) {
    report.add("sub_filters", *facts.sub_filters, "sub-filters", human_count(*facts.sub_filters));
  }
  report.add("memory_bytes", facts.bytes, "memory", human_bytes(facts.bytes));
  if (facts.fpr_target) {
    report.add("fpr_target", *facts.fpr_target, "target rate", human_share(*facts.fpr_target));
  }
  if (facts.fpr) {
    report.add("fpr_estimate", *facts.fpr, "false-positive rate", human_share(*facts.fpr));
  }
}

Result<void> RemotePipe::send(Lines lines, Lines keys, std::span<const std::uint64_t> numbers, const Deliver& deliver) {
  copy(lines, keys, numbers);
  if (next_.lines.size() < filter_.best_batch()) {
    return {};
  }
  MANKAI_TRY(send_round());
  while (!sent_.empty()) {
    const auto answered = filter_.is_full() ? Result<bool>(true) : filter_.is_answered();
    if (answered && !*answered) {
      return {};
    }
    if (auto delivered = deliver_oldest(deliver); !delivered) {
      static_cast<void>(deliver_all(deliver));
      return delivered;
    }
  }
  return {};
}

void RemotePipe::copy(Lines lines, Lines keys, std::span<const std::uint64_t> numbers) {
  for (std::size_t i = 0; i < lines.size(); ++i) {
    next_.lines.push_back({.begin = next_.text.size(), .size = lines[i].size()});
    next_.text.append(lines[i]).append("\n");  // so that adjacent lines are printed at once
    if (keys[i].data() == lines[i].data() && keys[i].size() == lines[i].size()) {
      next_.keys.push_back(next_.lines.back());
    } else {
      next_.keys.push_back({.begin = next_.text.size(), .size = keys[i].size()});
      next_.text.append(keys[i]);
    }
  }
  next_.numbers.insert(next_.numbers.end(), numbers.begin(), numbers.end());
}

Result<void> RemotePipe::send_round() {
  if (next_.lines.empty()) {
    return {};
  }
  views_.clear();
  for (const Extent& key : next_.keys) {
    views_.emplace_back(next_.text.data() + key.begin, key.size);
  }
  MANKAI_TRY(filter_.submit(work_, views_, next_.numbers));
  sent_.push_back(std::exchange(next_, {}));
  next_.text.reserve(sent_.back().text.size());
  next_.lines.reserve(sent_.back().lines.size());
  next_.keys.reserve(sent_.back().lines.size());
  return {};
}

Result<void> RemotePipe::drain(const Deliver& deliver) {
  MANKAI_TRY(send_round());
  return deliver_all(deliver);
}

// Returns the first error.
Result<void> RemotePipe::deliver_all(const Deliver& deliver) {
  Result<void> result;
  while (!sent_.empty()) {
    auto delivered = deliver_oldest(deliver);
    if (result) {
      result = std::move(delivered);
    }
  }
  return result;
}

// After an error a batch has no answers, but the server may have run some of it.
Result<void> RemotePipe::deliver_oldest(const Deliver& deliver) {
  std::optional<Error> error;
  auto answered = filter_.receive();
  if (!answered) {
    error = answered.error();
    filter_.abandon();
    answered = filter_.receive();
  }
  const Round round = std::move(sent_.front());
  sent_.pop_front();
  views_.clear();
  std::vector<RemoteAnswer> answers;
  answers.reserve(round.lines.size());
  for (std::size_t i = 0; i < round.lines.size(); ++i) {
    if (answered->answers[i].state != RemoteAnswer::State::skipped) {
      views_.emplace_back(round.text.data() + round.lines[i].begin, round.lines[i].size);
      answers.push_back(answered->answers[i]);
    }
  }
  deliver(views_, answers);
  if (!error) {
    error = std::move(answered->error);
  }
  return error ? std::unexpected(*std::move(error)) : Result<void>();
}

Result<void> answer_lines(RemotePipe& pipe, const std::vector<std::string>& arguments, const InputRequest& input,
                          const NumberRequest& numbers, Output& output, const RemotePipe::Deliver& deliver,
                          const std::function<bool()>& is_enough) {
  NumberReader reader(numbers);
  Result<void> waited;
  const auto use = [&](RemotePipe::Lines lines) -> Result<bool> {
    MANKAI_TRY(waited);
    MANKAI_TRY(reader.read(lines));
    const auto given = numbers.is_given() ? reader.all() : std::span<const std::uint64_t>();
    MANKAI_TRY(pipe.send(lines, reader.keys(), given, deliver));
    return stop_signal() == 0 && !output.has_failed() && !is_enough();
  };
  const auto wait = [&] {
    if (waited) {
      waited = pipe.drain(deliver);
    }
    output.flush();
  };
  auto read = for_each_batch(arguments, input, use, wait);
  auto drained = pipe.drain(deliver);
  MANKAI_TRY(read);
  MANKAI_TRY(waited);
  return drained;
}

}  // namespace mankai::command
