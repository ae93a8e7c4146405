#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "apps/mankai/pipeline.hpp"
#include "apps/mankai/subcommand.hpp"
#include "mankai/input/line_reader.hpp"

namespace mankai::command {

/// What a block takes for a line beside the line's bytes: views, digests, times.
inline constexpr std::size_t kBytesPerLine = 64;

/// Lines of one input.
struct LinesBlock {
  std::span<const std::string_view> lines;  ///< after parse()
  std::string label;                        ///< of the input
  std::uint64_t first_line_number = 0;

  /// As the read of a PipelineWork's Reader. Errors: as LineReader.
  [[nodiscard]] Result<std::size_t> read(LineReader& reader, bool keeps);
  [[nodiscard]] std::size_t size() const noexcept { return count_; }
  void parse() {
    if (lines.empty()) {
      lines = memory_.lines();
    }
  }

 private:
  LineBlock memory_;
  std::size_t count_ = 0;
};

/// Reads one input as blocks of lines, which are or extend a LinesBlock.
template <class LinesOrMore>
struct LinesReader {
  using Block = LinesOrMore;

  LineReader reader;

  [[nodiscard]] static auto opener(const InputRequest& request) {
    return [options = request.lines](Source source) -> Result<LinesReader> {
      MANKAI_ASSIGN(auto lines, LineReader::create(std::move(source), options));
      return LinesReader{std::move(lines)};
    };
  }
  Result<std::size_t> read(Block& block, bool keeps) { return block.read(reader, keeps); }
  [[nodiscard]] const Source& source() const noexcept { return reader.source(); }
};

/// The lines of several inputs in order.
class Input {
 public:
  /// Errors: as Pipeline::open.
  [[nodiscard]] static Result<Input> open(const InputRequest& request, std::function<void()> before_waiting = [] {});

  /// Returns the next lines, as LineReader::next_batch; none at the end or after a stop signal, which drops an
  /// incomplete line. Errors: as LineReader.
  [[nodiscard]] Result<std::span<const std::string_view>> next_batch();

  /// Name of the last batch's input, and number of its first line there, from 1. Pre: the batch was not empty.
  [[nodiscard]] const std::string& label() const noexcept { return block_->label; }
  [[nodiscard]] std::uint64_t first_line_number() const noexcept { return block_->first_line_number; }

 private:
  using Lines = LinesReader<LinesBlock>;

  explicit Input(std::unique_ptr<Pipeline<Lines>> pipeline) : pipeline_(std::move(pipeline)) {}

  std::unique_ptr<Pipeline<Lines>> pipeline_;
  LinesBlock* block_ = nullptr;
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

/// Appends the answers for a batch of keys to a text; returns whether one of them decides the exit code of --quiet.
/// Threads: any number at once.
using AnswerBatch = std::function<Result<bool>(std::span<const std::string_view>, std::string&)>;

/// Prints the answers for the keys of for_each_batch on request.threads, and flushes before it waits for input. Returns
/// whether a batch decides; with `ends_there` it reads no further. Errors: as for_each_batch and Output::finish.
[[nodiscard]] Result<bool> print_answers(const std::vector<std::string>& arguments, const InputRequest& request,
                                         const AnswerBatch& answer, bool ends_there = false);

}  // namespace mankai::command
