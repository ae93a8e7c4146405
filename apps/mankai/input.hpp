#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "apps/mankai/progress.hpp"
#include "apps/mankai/sources.hpp"
#include "apps/mankai/subcommand.hpp"
#include "mankai/input/line_reader.hpp"

namespace mankai::command {

/// The lines of several inputs, one after the other.
class Input {
 public:
  /// Looks at every input before anything is read, so that a misspelled name is found before the first line is used.
  /// `before_waiting` is called when nothing more can be read at once, and again now and then while that lasts. A file
  /// that is followed may be missing: it is waited for. Errors: not_found, io.
  [[nodiscard]] static Result<Input> open(const InputRequest& request, std::function<void()> before_waiting = [] {});

  /// Returns the next lines, as LineReader::next_batch; an empty span at the end, or once a signal asked to stop: then
  /// an unfinished line is left out. Errors: as LineReader's.
  [[nodiscard]] Result<std::span<const std::string_view>> next_batch();

  /// Returns how many raw bytes have been read.
  [[nodiscard]] std::uint64_t bytes_read() const noexcept;
  [[nodiscard]] std::uint64_t lines_read() const noexcept { return lines_; }
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
[[nodiscard]] std::vector<Option> key_options(std::vector<std::string>& keys, InputRequest& request);
/// Errors: invalid_argument when there are keys from both.
[[nodiscard]] Result<void> check_keys(const std::vector<std::string>& keys, const InputRequest& request);

/// Options of the subcommands that read lines.
[[nodiscard]] Option max_line_option(InputRequest& request);

/// Hands the keys to `use` in batches: those given as arguments, or else the input's lines. Stops early where `use`
/// returns false. Errors: as Input's.
[[nodiscard]] Result<void> for_each_batch(
    const std::vector<std::string>& arguments, const InputRequest& request,
    const std::function<bool(std::span<const std::string_view>)>& use, std::function<void()> before_waiting = [] {});

}  // namespace mankai::command
