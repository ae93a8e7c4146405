#pragma once

/// A filter, or the exact structure beside it, in a process of its own: its memory is what the operating system says,
/// and neither finds its data in a cache that the other one filled.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "apps/mankai-lab/demo/day.hpp"
#include "mankai/base/error.hpp"

namespace mankai::command::demo {

struct SideOptions {
  std::uint64_t events = 0;  ///< of the day, about
  std::uint64_t seed = 0;
  std::uint64_t size = 0;  ///< what the exact structure held at most; 0 for that structure itself
  int block_list = -1;     ///< the day's file
};

/// Who answers a question.
class Side {
 public:
  Side() = default;
  virtual ~Side() = default;
  Side(const Side&) = delete;
  Side& operator=(const Side&) = delete;

  /// Before the questions, and not timed.
  virtual Result<void> load(std::span<const DayEvent> /*events*/) { return {}; }
  virtual Result<void> loaded() { return {}; }
  /// Before each block, and not timed.
  virtual void prepare(std::span<const DayEvent> /*events*/) {}
  /// Answers each event of a block; `truth` is what the exact structure answered, empty for that structure itself.
  virtual Result<void> ask(std::span<const DayEvent> events, std::span<const bool> truth, std::span<bool> yes) = 0;
  /// Returns the most keys that were held, where the filter is sized for that.
  [[nodiscard]] virtual std::uint64_t size() const { return 0; }
};
using MakeSide = Result<std::unique_ptr<Side>> (*)(const SideOptions&);

struct Question {
  std::string_view name;
  Stream list;   ///< is loaded
  Stream asked;  ///< is asked about, event by event
  MakeSide ours;
  MakeSide exact;
};
extern const Question kSeen;
extern const Question kSeenRecently;
extern const Question kHot;
extern const Question kGuard;
extern const Question kGate;

/// Compiles the day's rules into its block list. Errors: as GuardBuilder's; out_of_space.
[[nodiscard]] Result<void> write_block_list(const Day& day);

/// What a process reports.
struct Measurement {
  double seconds = 0;
  std::uint64_t bytes = 0;  ///< by which its peak memory exceeds what it had before the structure
  std::uint64_t size = 0;
  int file = -1;  ///< has the answers

  [[nodiscard]] std::vector<char> answers() const;
};
struct Measured {
  Measurement ours;
  Measurement exact;
};

/// Runs a question's two processes, one after the other. Errors: those of the process; io, out_of_space when it fails
/// otherwise.
[[nodiscard]] Result<Measured> measure(const Question& question, const Day& day);
/// Generates the day in a process of its own, so that this one stays small: a process starts with the peak memory of
/// the one that starts it. Returns the number of events.
[[nodiscard]] Result<std::uint64_t> generate(const Day& day);

/// The word by which mankai-lab is started as such a process, before the arguments that only `measure` knows.
inline constexpr std::string_view kProcessWord = "--demo-process";
/// Such a process. Returns its exit code.
int run_process(std::span<char* const> arguments);

}  // namespace mankai::command::demo
