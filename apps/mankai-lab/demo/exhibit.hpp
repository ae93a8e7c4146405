#pragma once

/// Results of the tour per question: answers of a filter, compared with an exact structure.

#include <cstdint>
#include <string>
#include <vector>

#include "apps/mankai-lab/demo/day.hpp"
#include "apps/mankai-lab/demo/plot.hpp"
#include "apps/mankai-lab/demo/side.hpp"
#include "mankai/base/error.hpp"

namespace mankai::command::demo {

struct Answers {
  std::string name{};      ///< "seen"
  std::string question{};  ///< "Seen?"
  std::string about{};     ///< "URLs of the crawler's frontier"
  std::uint64_t asked = 0;
  std::uint64_t steps = 0;       ///< number of timed steps, if these are not the questions
  std::uint64_t yes = 0;         ///< of the filter
  std::uint64_t really_yes = 0;  ///< of the exact structure
  std::uint64_t false_negatives = 0;
  std::uint64_t false_positives = 0;
  std::uint64_t negatives = 0;  ///< really no; denominator of the false-positive rate
  std::string promised{};       ///< false negatives, in words
  double promised_rate = 0;     ///< false-positive rate
  std::uint64_t bytes = 0;      ///< growth of the peak memory of the filter's process
  std::uint64_t exact_bytes = 0;
  double seconds = 0;  ///< of CPU time
  double exact_seconds = 0;

  void count(bool is_yes, bool is_really_yes) noexcept;
  void add_costs(const Measured& measured) noexcept;
  [[nodiscard]] double false_positive_rate() const noexcept;
  [[nodiscard]] double ns() const noexcept { return ns_of(seconds); }
  [[nodiscard]] double exact_ns() const noexcept { return ns_of(exact_seconds); }
  [[nodiscard]] double memory_ratio() const noexcept;
  [[nodiscard]] double time_ratio() const noexcept { return seconds > 0 ? exact_seconds / seconds : 0; }

 private:
  [[nodiscard]] double ns_of(double some_seconds) const noexcept;
};

struct Exhibit {
  std::string id;                  ///< "seen"
  std::string heading;             ///< "Have I seen it?"
  std::string text;                ///< explanation in two sentences
  std::vector<std::string> found;  ///< results, one sentence each
  std::vector<Answers> rows;
  std::vector<Plot> plots;
};

struct Facts {
  Measured seen;
  Measured seen_recently;
  Measured hot;
  Measured guard;
  Measured gate;
};

/// Compare all answers of the day. Errors: as the classes under test.
[[nodiscard]] Result<Exhibit> show_seen(const Day& day, const Facts& facts);
[[nodiscard]] Result<Exhibit> show_hot(const Day& day, const Facts& facts);
[[nodiscard]] Result<Exhibit> show_guard(const Day& day, const Facts& facts);
[[nodiscard]] Result<Exhibit> show_gate(const Day& day, const Facts& facts);

/// False-positive rate that all three filters promise.
inline constexpr double kPromisedRate = 0.01;

/// Returns the CPU time of this thread, so that other load does not distort comparisons.
[[nodiscard]] double thread_seconds() noexcept;

template <class Work>
void timed(double& seconds, const Work& work) {
  const double start = thread_seconds();
  work();
  seconds += thread_seconds() - start;
}

/// Counts the answers to those events of a stream that `is_asked` selects.
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

[[nodiscard]] inline Axis day_axis() {
  return {.label = "time of day", .unit = AxisUnit::seconds, .least = 0, .greatest = 86'400};
}

}  // namespace mankai::command::demo
