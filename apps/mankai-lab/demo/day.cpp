#include "apps/mankai-lab/demo/day.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

namespace mankai::command::demo {
namespace {

constexpr std::uint64_t kEventsPerRow = 10;  // a million rows for the default number of events
constexpr std::uint64_t kRowsMin = 1'000;
constexpr std::uint64_t kRowsMax = 10'000'000;
constexpr std::uint64_t kPagesPerReturn = 6;  // one in so many pages is viewed by a shopper with an old basket

struct Record {
  std::int64_t time_us = 0;
  std::uint64_t number = 0;
  std::uint32_t items = 0;
  std::uint32_t what_bytes = 0;
  std::uint32_t who_bytes = 0;
  TrafficKind kind{};
  std::array<std::uint8_t, 3> zeros{};
};
static_assert(sizeof(Record) == EventReader::kLeastBytes);

class EventWriter {
 public:
  explicit EventWriter(int file) : file_(file) {}

  Result<void> append(const TrafficEvent& event) {
    Record record;
    record.time_us = event.time.time_since_epoch().count();
    record.number = event.number;
    record.items = static_cast<std::uint32_t>(event.items);
    record.what_bytes = static_cast<std::uint32_t>(event.what.size());
    record.who_bytes = static_cast<std::uint32_t>(event.who.size());
    record.kind = event.kind;
    bytes_.append(reinterpret_cast<const char*>(&record), sizeof record).append(event.who).append(event.what);
    constexpr std::size_t kFull = std::size_t{1} << 18;
    return bytes_.size() < kFull ? Result<void>{} : flush();
  }

  Result<void> flush() {
    MANKAI_TRY(write_all(file_, bytes_.data(), bytes_.size(), offset_));
    offset_ += bytes_.size();
    bytes_.clear();
    return {};
  }

 private:
  int file_;
  std::size_t offset_ = 0;
  std::string bytes_;
};

Stream stream_of(TrafficKind kind) {
  switch (kind) {
    case TrafficKind::redirect: return Stream::links;
    case TrafficKind::fetch: return Stream::frontier;
    default: return Stream::shop;
  }
}

// Returns the cookie of a shopper with a basket from an earlier day.
std::string old_cookie(const TrafficOptions& options, std::uint64_t number) {
  constexpr std::uint64_t kOdd = 0x9E3779B97F4A7C15U;  // odd, so the mapping is injective
  return fmt::format("{:016x}", (options.seed + number) * kOdd);
}

Result<void> write_lists(const Day& day, const TrafficGenerator& generator) {
  EventWriter rules(day.file(Stream::rules));
  EventWriter baskets(day.file(Stream::baskets));
  TrafficEvent event;
  event.time = day.options.start;
  for (std::uint64_t i = 0; i < day.options.rules; ++i) {
    event.who.clear();
    event.what.clear();
    generator.append_rule(i, event.what);
    MANKAI_TRY(rules.append(event));
    event.what.clear();
    event.who = old_cookie(day.options, i);
    MANKAI_TRY(baskets.append(event));
  }
  MANKAI_TRY(rules.flush());
  return baskets.flush();
}

}  // namespace

TrafficOptions day_options(std::uint64_t events, std::uint64_t seed) {
  TrafficOptions options{.events = events, .seed = seed};
  options.rules = std::clamp(events / kEventsPerRow, kRowsMin, kRowsMax);
  options.products = std::clamp(events / kEventsPerRow, options.products, kRowsMax);
  return options;
}

Result<int> new_file() {
  const int file = memfd_create("mankai-demo", 0);
  return file >= 0 ? Result<int>(file) : fail(ErrorCode::io, "cannot make a file in memory", errno);
}

Result<void> write_all(int file, const void* bytes, std::size_t count, std::size_t at) {
  return pwrite(file, bytes, count, static_cast<off_t>(at)) == static_cast<ssize_t>(count)
             ? Result<void>{}
             : fail(ErrorCode::out_of_space, "the day does not fit in memory; give fewer --events", errno);
}

Result<std::uint64_t> write_day(const Day& day) {
  MANKAI_ASSIGN(auto generator, TrafficGenerator::create(day.options));
  MANKAI_TRY(write_lists(day, generator));
  std::array writers = {EventWriter(day.file(Stream::shop)), EventWriter(day.file(Stream::links)),
                        EventWriter(day.file(Stream::frontier))};
  std::uint64_t events = 0;
  std::uint64_t pages = 0;
  for (TrafficEvent event; generator.next(event); ++events) {
    if (event.kind == TrafficKind::page && ++pages % kPagesPerReturn == 0) {
      event.who = old_cookie(day.options, pages / kPagesPerReturn % day.options.rules);
    }
    MANKAI_TRY(writers.at(static_cast<std::size_t>(stream_of(event.kind))).append(event));
  }
  for (EventWriter& writer : writers) {
    MANKAI_TRY(writer.flush());
  }
  return events;
}

std::span<const DayEvent> EventReader::next() {
  events_.clear();
  // Events of a block refer to the buffer, so it is refilled between blocks only.
  constexpr std::size_t kLowBytes = kBufferBytes / 4;
  if (end_ - begin_ < kLowBytes && file_ >= 0) {
    refill();
  }
  while (events_.size() < kMostInBlock && parse_one()) {
  }
  return events_;
}

void EventReader::refill() {
  std::memmove(bytes_.data(), bytes_.data() + begin_, end_ - begin_);
  end_ -= std::exchange(begin_, 0);
  const ssize_t count = pread(file_, bytes_.data() + end_, bytes_.size() - end_, static_cast<off_t>(offset_));
  end_ += static_cast<std::size_t>(std::max<ssize_t>(count, 0));
  offset_ += static_cast<std::uint64_t>(std::max<ssize_t>(count, 0));
}

bool EventReader::parse_one() {
  Record record;
  if (end_ - begin_ < sizeof record) {
    return false;
  }
  std::memcpy(&record, bytes_.data() + begin_, sizeof record);
  const std::size_t bytes = sizeof record + record.who_bytes + record.what_bytes;
  if (end_ - begin_ < bytes) {
    return false;
  }
  const char* const who = bytes_.data() + begin_ + sizeof record;
  events_.push_back({.time = Time(Duration(record.time_us)),
                     .kind = record.kind,
                     .who = {who, record.who_bytes},
                     .what = {who + record.who_bytes, record.what_bytes},
                     .number = record.number,
                     .items = record.items});
  begin_ += bytes;
  return true;
}

}  // namespace mankai::command::demo
