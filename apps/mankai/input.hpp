#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "apps/mankai/output.hpp"
#include "apps/mankai/subcommand.hpp"
#include "mankai/input/line_reader.hpp"
#include "mankai/input/source.hpp"

namespace mankai::command {

/// Files or streams to read.
struct InputRequest {
  std::vector<std::string> paths;               ///< "-": standard input; empty: only standard input
  std::optional<std::uint64_t> max_line_bytes;  ///< [default: LineReader's]
  bool follow_last = false;                     ///< waits for more of the last file, as tail -F
  bool follow_from_end = false;                 ///< skips the current contents of the last file
  /// Interval between calls of `before_waiting` while no input is available.
  std::chrono::milliseconds look_interval = std::chrono::seconds(1);
};

/// Several inputs, opened in order. A read that a signal interrupts fails with EINTR.
class Sources {
 public:
  [[nodiscard]] static Result<Sources> open(const InputRequest& request, std::function<void()> before_waiting);

  /// Opens the next input; nothing at the end. Errors: not_found; io.
  [[nodiscard]] Result<std::optional<Source>> next();
  /// Total size, if all inputs are regular files.
  [[nodiscard]] std::optional<std::uint64_t> total_bytes() const noexcept { return total_bytes_; }

 private:
  Sources(InputRequest request, std::function<void()> before_waiting, std::optional<std::uint64_t> total);

  [[nodiscard]] Result<Source> open_source(const std::string& path);

  InputRequest request_;
  std::function<void()> before_waiting_;
  std::optional<std::uint64_t> total_bytes_;
  std::size_t opened_ = 0;
};

/// Warns of bytes after the gzip data of a source, which were ignored.
void warn_of_ignored_bytes(const Source& source, Progress& progress);

/// The lines of several inputs in order.
class Input {
 public:
  /// Checks every input before anything is read, so that a misspelled name is reported first. A followed file may be
  /// missing. Calls `before_waiting` before it blocks, and then at look_interval. Errors: not_found; io.
  [[nodiscard]] static Result<Input> open(const InputRequest& request, std::function<void()> before_waiting = [] {});

  /// Returns the next lines, as LineReader::next_batch; none at the end or after a stop signal, which drops an
  /// incomplete line. Errors: as LineReader.
  [[nodiscard]] Result<std::span<const std::string_view>> next_batch();

  /// Counts compressed bytes of compressed inputs.
  [[nodiscard]] std::uint64_t bytes_read() const noexcept;
  /// Name of the last batch's input, and number of its first line there, from 1. Pre: the batch was not empty.
  [[nodiscard]] const std::string& label() const noexcept { return reader_->source().label(); }
  [[nodiscard]] std::uint64_t first_line_number() const noexcept { return reader_->first_line_number(); }

 private:
  Input(Sources sources, const InputRequest& request);

  [[nodiscard]] Result<bool> open_next();
  void close_current();

  Sources sources_;
  std::optional<std::uint64_t> max_line_bytes_;
  std::optional<LineReader> reader_;
  std::uint64_t bytes_before_ = 0;
  std::uint64_t lines_ = 0;
  Progress progress_;
};

/// KEY... and --input.
[[nodiscard]] Options key_options(
    std::vector<std::string>& keys, InputRequest& request, const std::string& name = "KEY",
    const std::string& help = "Keys [default: one per line from --input or standard input].");
/// Errors: invalid_argument if both are given.
[[nodiscard]] Result<void> check_keys(const std::vector<std::string>& keys, const InputRequest& request);

[[nodiscard]] Option max_line_option(InputRequest& request);

/// Processes at most kBatchLinesMax keys or lines; returns whether to continue.
using UseBatch = std::function<Result<bool>(std::span<const std::string_view>)>;

/// Passes the keys to `use` in batches: the arguments if there are any, otherwise the input's lines. Errors: as Input
/// and `use`.
[[nodiscard]] Result<void> for_each_batch(
    const std::vector<std::string>& arguments, const InputRequest& request, const UseBatch& use,
    std::function<void()> before_waiting = [] {});

/// Appends the answers for a batch of keys to the output; returns whether to continue.
using AnswerBatch = std::function<Result<bool>(std::span<const std::string_view>, Output&)>;

/// Prints the answers for the keys of for_each_batch, and flushes before it waits for input. Errors: as for_each_batch
/// and Output::finish.
[[nodiscard]] Result<void> print_answers(const std::vector<std::string>& arguments, const InputRequest& request,
                                         const AnswerBatch& answer);

}  // namespace mankai::command
