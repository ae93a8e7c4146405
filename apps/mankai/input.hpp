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

/// Where keys come from.
struct InputRequest {
  std::vector<std::string> paths;               ///< files, "-" for standard input; standard input when empty
  std::optional<std::uint64_t> max_line_bytes;  ///< unset: LineReader's own
  bool follow_last = false;                     ///< the last file never ends, as with tail -F
  bool follow_from_end = false;                 ///< what is in it now is not read
  /// How often `before_waiting` is called while nothing more can be read.
  std::chrono::milliseconds look_interval = std::chrono::seconds(1);
};

/// Several inputs, opened one after the other. A read that a signal ends fails with EINTR.
class Sources {
 public:
  /// Looks at every input before anything is read. As Input::open.
  [[nodiscard]] static Result<Sources> open(const InputRequest& request, std::function<void()> before_waiting);

  /// Opens the next one; nothing at the end. Errors: not_found, io.
  [[nodiscard]] Result<std::optional<Source>> next();
  /// Of all together, where they are files.
  [[nodiscard]] std::optional<std::uint64_t> total_bytes() const noexcept { return total_bytes_; }

 private:
  Sources(InputRequest request, std::function<void()> before_waiting, std::optional<std::uint64_t> total);

  [[nodiscard]] Result<Source> open_source(const std::string& path);

  InputRequest request_;
  std::function<void()> before_waiting_;
  std::optional<std::uint64_t> total_bytes_;
  std::size_t opened_ = 0;
};

/// Prints how many bytes after the gzip data of a source were ignored, if there were any.
void warn_of_ignored_bytes(const Source& source, Progress& progress);

/// The lines of several inputs, one after the other.
class Input {
 public:
  /// Checks every input before anything is read, so that a misspelled name is an error before the first line is used.
  /// `before_waiting` is called when nothing more can be read at once, and again now and then while that lasts. A file
  /// that is followed may be missing: it is waited for. Errors: not_found, io.
  [[nodiscard]] static Result<Input> open(const InputRequest& request, std::function<void()> before_waiting = [] {});

  /// Returns the next lines, as LineReader::next_batch; an empty span at the end, or once a signal asked to stop: then
  /// an unfinished line is left out. Errors: as LineReader's.
  [[nodiscard]] Result<std::span<const std::string_view>> next_batch();

  /// Returns how many raw bytes have been read.
  [[nodiscard]] std::uint64_t bytes_read() const noexcept;
  /// Where the last batch comes from, and the number of its first line there, from 1. Pre: it was not empty.
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

/// KEY... and --input, of the subcommands that take keys from either.
[[nodiscard]] Options key_options(
    std::vector<std::string>& keys, InputRequest& request, const std::string& name = "KEY",
    const std::string& help = "Keys [default: one per line from --input or standard input].");
/// Errors: invalid_argument when there are keys from both.
[[nodiscard]] Result<void> check_keys(const std::vector<std::string>& keys, const InputRequest& request);

/// Options of the subcommands that read lines.
[[nodiscard]] Option max_line_option(InputRequest& request);

/// Uses a batch of keys or lines, at most kBatchLinesMax; returns whether to continue.
using UseBatch = std::function<Result<bool>(std::span<const std::string_view>)>;

/// Passes the keys to `use` in batches: those given as arguments, or else the input's lines. Errors: as Input's, and as
/// those of `use`.
[[nodiscard]] Result<void> for_each_batch(
    const std::vector<std::string>& arguments, const InputRequest& request, const UseBatch& use,
    std::function<void()> before_waiting = [] {});

/// Appends the answers to a batch of keys to the output; returns whether to continue.
using AnswerBatch = std::function<Result<bool>(std::span<const std::string_view>, Output&)>;

/// Prints the answers to keys that come as for_each_batch passes them, and what is there before it waits for more.
/// Errors: as for_each_batch and Output::finish.
[[nodiscard]] Result<void> print_answers(const std::vector<std::string>& arguments, const InputRequest& request,
                                         const AnswerBatch& answer);

}  // namespace mankai::command
