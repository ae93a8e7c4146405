#pragma once

/// Runs a filter and an exact structure in separate processes: the operating system reports the memory of each, and
/// neither profits from the other's cache.

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "apps/mankai-lab/demo/day.hpp"
#include "mankai/base/error.hpp"

namespace mankai::command::demo {

struct SideOptions {
  std::uint64_t events = 0;  ///< of the day, approximately
  std::uint64_t seed = 0;
  std::uint64_t size = 0;  ///< maximum size of the exact structure; 0 for that structure itself
  int block_list = -1;     ///< file of the day
};

/// A filter or exact structure that answers a question.
class Side {
 public:
  Side() = default;
  virtual ~Side() = default;
  Side(const Side&) = delete;
  Side& operator=(const Side&) = delete;

  /// Called before the questions; not timed.
  virtual Result<void> load(std::span<const DayEvent> /*events*/) { return {}; }
  virtual Result<void> loaded() { return {}; }
  /// Called before each block; not timed.
  virtual void prepare(std::span<const DayEvent> /*events*/) {}
  /// Answers the events of a block. `truth` has the answers of the exact structure; empty for that structure itself.
  virtual Result<void> ask(std::span<const DayEvent> events, std::span<const bool> truth, std::span<bool> yes) = 0;
  /// Returns the maximum number of keys, if the filter is sized for it.
  [[nodiscard]] virtual std::uint64_t size() const { return 0; }
};
using MakeSide = Result<std::unique_ptr<Side>> (*)(const SideOptions&);

struct Question {
  std::string_view name;
  Stream list;   ///< loaded first
  Stream asked;  ///< one question per event
  MakeSide ours;
  MakeSide exact;
};
extern const Question kSeen;
extern const Question kSeenRecently;
extern const Question kHot;
extern const Question kGuard;
extern const Question kGate;

/// Compiles the day's rules. Errors: as GuardBuilder; out_of_space.
[[nodiscard]] Result<void> write_block_list(const Day& day);

struct Measurement {
  double seconds = 0;
  std::uint64_t bytes = 0;  ///< growth of the peak memory after the structure was created
  std::uint64_t size = 0;
  int file = -1;  ///< of the answers

  [[nodiscard]] std::vector<char> answers() const;
};
struct Measured {
  Measurement ours;
  Measurement exact;
};

/// Runs a question's two processes one after the other. Errors: those of the process; io or out_of_space if the process
/// fails otherwise.
[[nodiscard]] Result<Measured> measure(const Question& question, const Day& day);
/// Generates the day in a separate process: peak memory is inherited by child processes, so this one must stay small.
/// Returns the number of events.
[[nodiscard]] Result<std::uint64_t> generate(const Day& day);

/// First argument of such a process; internal arguments follow.
inline constexpr std::string_view kProcessWord = "--demo-process";
/// Runs such a process and returns its exit code.
int run_process(std::span<char* const> arguments);

}  // namespace mankai::command::demo
