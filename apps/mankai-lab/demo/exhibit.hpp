#pragma once

/// What the tour finds out about each question: measured on the day, beside the truth.

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <memory_resource>
#include <string>
#include <utility>
#include <vector>

#include "apps/mankai-lab/demo/day.hpp"
#include "apps/mankai-lab/demo/plot.hpp"
#include "mankai/base/error.hpp"

namespace mankai::command::demo {

/// One row of the table.
struct Answers {
  std::string name{};      ///< for programs: "seen"
  std::string question{};  ///< "Seen?"
  std::string about{};     ///< "URLs of the crawler's frontier"
  std::uint64_t asked = 0;
  std::uint64_t steps = 0;      ///< what was timed, where it is not the questions: events that were counted
  std::uint64_t yes = 0;        ///< told
  std::uint64_t truth = 0;      ///< the exact structure told yes
  std::uint64_t missed = 0;     ///< told no, and it was yes
  std::uint64_t wrong_yes = 0;  ///< told yes, and it was no
  std::uint64_t strangers = 0;  ///< asked about where the truth is no: what wrong_yes is a share of
  std::string promised{};       ///< in words: "0 missed, 1 % wrong"
  double promised_share = 0;    ///< of wrong_yes
  std::uint64_t bytes = 0;
  std::uint64_t exact_bytes = 0;
  double seconds = 0;
  double exact_seconds = 0;

  [[nodiscard]] double wrong_share() const noexcept {
    return strangers == 0 ? 0 : static_cast<double>(wrong_yes) / static_cast<double>(strangers);
  }
  [[nodiscard]] double per_second() const noexcept { return timed_steps() / seconds; }
  [[nodiscard]] double exact_per_second() const noexcept { return timed_steps() / exact_seconds; }
  [[nodiscard]] double timed_steps() const noexcept { return static_cast<double>(steps > 0 ? steps : asked); }
};

/// One of the four questions.
struct Exhibit {
  std::string id;                  ///< "seen"
  std::string heading;             ///< "Have I seen it?"
  std::string text;                ///< what the question is, in two sentences
  std::vector<std::string> found;  ///< what came out, a sentence each
  std::vector<Answers> rows;
  std::vector<Plot> plots;
  Curve wrong_by_hour;  ///< share of absent keys that were told yes; no points where the question has no such answer
};

/// Each asks its question of the whole day. Errors: as those of the classes they ask.
[[nodiscard]] Result<Exhibit> ask_seen(const Day& day, std::uint64_t seed);
[[nodiscard]] Result<Exhibit> ask_hot(const Day& day, std::uint64_t seed);
[[nodiscard]] Result<Exhibit> ask_guard(const Day& day, std::uint64_t seed);
[[nodiscard]] Result<Exhibit> ask_gate(const Day& day, std::uint64_t seed);

/// What all three filters promise of absent keys.
inline constexpr double kPromisedRate = 0.01;

/// Memory that counts what is asked of it: what an exact structure holds, without what the system's allocator adds.
class CountedMemory : public std::pmr::memory_resource {
 public:
  [[nodiscard]] std::uint64_t most_bytes() const noexcept { return most_; }

 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    void* const memory = std::pmr::new_delete_resource()->allocate(bytes, alignment);
    bytes_ += bytes;
    most_ = std::max(most_, bytes_);
    return memory;
  }
  void do_deallocate(void* memory, std::size_t bytes, std::size_t alignment) override {
    std::pmr::new_delete_resource()->deallocate(memory, bytes, alignment);
    bytes_ -= bytes;
  }
  [[nodiscard]] bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }

  std::uint64_t bytes_ = 0;
  std::uint64_t most_ = 0;
};

/// The processor's time of this thread, so that a busy machine slows nobody down more than others.
[[nodiscard]] double thread_seconds() noexcept;

/// Adds up the time that pieces of work take.
template <class Work>
void timed(double& seconds, const Work& work) {
  const double start = thread_seconds();
  work();
  seconds += thread_seconds() - start;
}

/// Wrong answers and what they are a share of, by the hours of the day.
class WrongByHour {
 public:
  explicit WrongByHour(const Day& day) : day_(&day) {}

  void add(Time time, bool is_stranger, bool is_wrong) {
    const auto hour = static_cast<std::size_t>((time - day_->start) / std::chrono::hours(1));
    strangers_.at(hour) += is_stranger ? 1 : 0;
    wrong_.at(hour) += is_wrong ? 1 : 0;
  }
  /// A point in the middle of each hour in which there were absent keys.
  [[nodiscard]] Curve curve(std::string name, std::size_t colour) const;

 private:
  const Day* day_;
  std::array<std::uint64_t, 24> strangers_{};
  std::array<std::uint64_t, 24> wrong_{};
};

/// The axis of a day, whose values are seconds.
[[nodiscard]] inline Axis day_axis() {
  return {.label = "time of day", .unit = AxisUnit::seconds, .least = 0, .greatest = 86'400};
}

}  // namespace mankai::command::demo
