#pragma once

/// What the tour finds out about each question: measured on the day, beside the truth.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "apps/mankai-lab/demo/day.hpp"
#include "apps/mankai-lab/demo/plot.hpp"
#include "apps/mankai-lab/demo/side.hpp"
#include "mankai/base/error.hpp"

namespace mankai::command::demo {

/// One row of the table.
struct Answers {
  std::string name{};      ///< for programs: "seen"
  std::string question{};  ///< "Seen?"
  std::string about{};     ///< "URLs of the crawler's frontier"
  std::uint64_t asked = 0;
  std::uint64_t steps = 0;            ///< what was timed, where it is not the questions: events that were counted
  std::uint64_t yes = 0;              ///< answered by the filter
  std::uint64_t really_yes = 0;       ///< answered by the exact structure
  std::uint64_t false_negatives = 0;  ///< answered no, really yes
  std::uint64_t false_positives = 0;  ///< answered yes, really no
  std::uint64_t negatives = 0;        ///< really no: what false positives are a share of
  std::string promised{};             ///< of false negatives, in words
  double promised_rate = 0;           ///< of false positives
  std::uint64_t bytes = 0;            ///< by which the peak memory of the filter's process grew
  std::uint64_t exact_bytes = 0;
  double seconds = 0;  ///< of the processor
  double exact_seconds = 0;

  void count(bool is_yes, bool is_really_yes) noexcept;
  void add_costs(const Measured& measured) noexcept;
  [[nodiscard]] double false_positive_rate() const noexcept;
  [[nodiscard]] double ns() const noexcept { return ns_of(seconds); }
  [[nodiscard]] double exact_ns() const noexcept { return ns_of(exact_seconds); }
  /// How many times as much the exact structure takes.
  [[nodiscard]] double memory_ratio() const noexcept;
  [[nodiscard]] double time_ratio() const noexcept { return seconds > 0 ? exact_seconds / seconds : 0; }

 private:
  [[nodiscard]] double ns_of(double some_seconds) const noexcept;
};

/// One of the four questions.
struct Exhibit {
  std::string id;                  ///< "seen"
  std::string heading;             ///< "Have I seen it?"
  std::string text;                ///< what the question is, in two sentences
  std::vector<std::string> found;  ///< what came out, a sentence each
  std::vector<Answers> rows;
  std::vector<Plot> plots;
};

/// What the processes measured.
struct Facts {
  Measured seen;
  Measured seen_recently;
  Measured hot;
  Measured guard;
  Measured gate;
};

/// Each compares the answers of the whole day. Errors: as those of the classes they ask.
[[nodiscard]] Result<Exhibit> show_seen(const Day& day, const Facts& facts);
[[nodiscard]] Result<Exhibit> show_hot(const Day& day, const Facts& facts);
[[nodiscard]] Result<Exhibit> show_guard(const Day& day, const Facts& facts);
[[nodiscard]] Result<Exhibit> show_gate(const Day& day, const Facts& facts);

/// What all three filters promise of absent keys.
inline constexpr double kPromisedRate = 0.01;

/// The processor's time of this thread, so that a busy machine slows nobody down more than others.
[[nodiscard]] double thread_seconds() noexcept;

/// Adds up the time that pieces of work take.
template <class Work>
void timed(double& seconds, const Work& work) {
  const double start = thread_seconds();
  work();
  seconds += thread_seconds() - start;
}

/// Counts a stream's answers, of those events that `is_asked` picks.
template <class IsAsked>
void compare(const Day& day, Stream stream, const Measured& measured, const IsAsked& is_asked, Answers& row) {
  const std::vector<char> told = measured.ours.answers();
  const std::vector<char> truth = measured.exact.answers();
  std::size_t next = 0;
  for_each_event(day, stream, [&](const DayEvent& event) {
    const std::size_t i = next++;
    if (is_asked(event)) {
      row.count(told.at(i) != 0, truth.at(i) != 0);
    }
  });
  row.add_costs(measured);
}

/// The axis of a day, whose values are seconds.
[[nodiscard]] inline Axis day_axis() {
  return {.label = "time of day", .unit = AxisUnit::seconds, .least = 0, .greatest = 86'400};
}

}  // namespace mankai::command::demo
