#include "apps/mankai/input.hpp"

#include <algorithm>
#include <utility>

#include "apps/mankai/output.hpp"
#include "apps/mankai/signals.hpp"
#include "mankai/filter/spec.hpp"

namespace mankai::command {

Input::Input(Sources sources, const InputRequest& request)
    : sources_(std::move(sources)), max_line_bytes_(request.max_line_bytes), progress_(sources_.total_bytes()) {}

Result<Input> Input::open(const InputRequest& request, std::function<void()> before_waiting) {
  auto sources = Sources::open(request, std::move(before_waiting));
  return sources ? Result<Input>(Input(std::move(*sources), request)) : std::unexpected(sources.error());
}

Result<std::span<const std::string_view>> Input::next_batch() {
  while (stop_signal() == 0) {
    if (!reader_) {
      MANKAI_ASSIGN(const auto opened, open_next());
      if (!opened) {
        break;
      }
    }
    auto batch = reader_->next_batch();
    if (!batch && stop_signal() == 0) {
      progress_.clear();
      return batch;
    }
    if (batch && !batch->empty()) {
      lines_ += batch->size();
      progress_.advance(bytes_read(), lines_);
      return batch;
    }
    close_current();
  }
  progress_.clear();
  return std::span<const std::string_view>();
}

std::uint64_t Input::bytes_read() const noexcept {
  return bytes_before_ + (reader_ ? reader_->source().raw_bytes_consumed() : 0);
}

Result<bool> Input::open_next() {
  MANKAI_ASSIGN(auto source, sources_.next());
  if (!source) {
    return false;
  }
  LineReaderOptions options;
  options.max_line_bytes = max_line_bytes_.value_or(options.max_line_bytes);
  MANKAI_ASSIGN(auto reader, LineReader::create(std::move(*source), options));
  reader_ = std::move(reader);
  return true;
}

void Input::close_current() {
  warn_of_ignored_bytes(reader_->source(), progress_);
  bytes_before_ = bytes_read();
  reader_.reset();
}

std::vector<Option> key_options(std::vector<std::string>& keys, InputRequest& request) {
  Option input = positionals("--input", "Input file with one item per line; - reads standard input. Repeatable.",
                             ValueKind::file, request.paths);
  input.letter = 'i';
  input.value = "PATH";
  return {positionals("KEY", "Keys [default: one per line from --input or standard input].", ValueKind::text, keys),
          std::move(input)};
}

Result<void> check_keys(const std::vector<std::string>& keys, const InputRequest& request) {
  if (!keys.empty() && !request.paths.empty()) {
    return fail(ErrorCode::invalid_argument, "keys and --input cannot be combined");
  }
  return {};
}

namespace {

Result<std::uint64_t> parse_line_bytes(std::string_view text) {
  auto bytes = parse_count(text);
  if (bytes && *bytes == 0) {
    return fail(ErrorCode::invalid_argument, "'" + std::string(text) + "' is too small; give at least 1");
  }
  return bytes;
}

}  // namespace

Option max_line_option(InputRequest& request) {
  return parsed_option("--max-line", "BYTES", "Longest line accepted; a longer one is an error [default: 1 GiB].",
                       parse_line_bytes, request.max_line_bytes);
}

Result<void> for_each_batch(const std::vector<std::string>& arguments, const InputRequest& request,
                            const std::function<bool(std::span<const std::string_view>)>& use,
                            std::function<void()> before_waiting) {
  if (!arguments.empty()) {
    const std::vector<std::string_view> keys(arguments.begin(), arguments.end());
    for (std::size_t i = 0; i < keys.size(); i += kBatchLinesMax) {
      if (!use(std::span(keys).subspan(i, std::min(kBatchLinesMax, keys.size() - i)))) {
        break;
      }
    }
    return {};
  }
  MANKAI_ASSIGN(auto input, Input::open(request, std::move(before_waiting)));
  for (;;) {
    MANKAI_ASSIGN(const auto batch, input.next_batch());
    if (batch.empty() || !use(batch)) {
      return {};
    }
  }
}

}  // namespace mankai::command
