#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mankai/base/error.hpp"
#include "mankai/input/detail/input_buffer.hpp"

namespace mankai {

/// Maximum number of lines in a batch. 1024 views are 16 KiB, half of a first-level cache, and hide the latency of a
/// batch call completely; more were not faster.
inline constexpr std::size_t kBatchLinesMax = 1024;

/// Settings of a LineReader.
struct LineReaderOptions {
  /// Size of the buffer, which grows only for a line that does not fit.
  std::size_t buffer_bytes = std::size_t{256} << 10;

  /// A longer line (up to its LF, including a CR) is an error: the input is probably not text.
  std::size_t max_line_bytes = std::size_t{1} << 30;

  /// How users of the program raise that limit, for the error, such as "--max-line"; empty if they cannot.
  std::string limit_option = {};
};

/// Lines and the memory that has them; reused from block to block.
class LineBlock {
 public:
  /// Splits the text into lines. They are valid until the block is passed again.
  [[nodiscard]] std::span<const std::string_view> lines();
  /// The size of the memory.
  [[nodiscard]] std::size_t bytes() const noexcept { return memory_.capacity(); }

 private:
  friend class LineReader;

  std::vector<std::string_view> lines_;
  std::string_view rest_;  // complete lines that follow
  detail::InputBuffer::Memory memory_;
};

/// Splits a source into lines, many per call. Threads: one at a time.
///
/// A line ends at LF; one CR before that LF is removed. Everything else is content: NUL bytes, other control
/// characters, invalid UTF-8. Empty lines are lines. A last line without LF is delivered, including a CR at its end.
class LineReader {
 public:
  /// Errors: invalid_argument if a size is 0; out_of_space.
  [[nodiscard]] static Result<LineReader> create(Source source, const LineReaderOptions& options = {});

  /// Returns the next lines, at most kBatchLinesMax; an empty span at the end. The views are valid until the next call.
  /// A batch never waits to become full: a stalled pipe delays at most one unfinished line.
  /// Cost:    one pass over the bytes; no allocation unless a line is longer than the buffer.
  /// Errors:  as Source::read, and the number of the last line before it; out_of_space with line number and offset if a
  ///          line exceeds `max_line_bytes` or memory runs out. Complete lines before the error are delivered first;
  ///          the error then repeats on every call.
  [[nodiscard]] Result<std::span<const std::string_view>> next_batch();

  /// As next_batch, but all complete lines that were read are in the block, however many; returns their number. They
  /// can be split and used while this reader reads on into another block.
  /// Errors:  also std::bad_alloc.
  [[nodiscard]] Result<std::size_t> next_block(LineBlock& block);

  /// The number, from 1, of the first line of the last batch.
  [[nodiscard]] std::uint64_t first_line_number() const noexcept { return lines_before_ + 1; }

  [[nodiscard]] const Source& source() const noexcept { return buffer_.source(); }

 private:
  using Lines = std::array<std::string_view, kBatchLinesMax>;

  LineReader(Source source, const LineReaderOptions& options);

  void take_complete_lines();
  void take_last_line();
  void fill();
  void fail_on_line(std::string_view problem);

  detail::InputBuffer buffer_;
  std::size_t buffer_bytes_;
  std::size_t max_line_bytes_;
  std::string limit_option_;
  std::unique_ptr<Lines> lines_;
  std::size_t line_count_ = 0;
  std::uint64_t lines_before_ = 0;  // number of lines delivered before this batch
  std::optional<Error> failure_;
};

}  // namespace mankai
