#include "apps/mankai/input.hpp"

#include <algorithm>
#include <utility>

#include "apps/mankai/output.hpp"
#include "mankai/filter/spec.hpp"

namespace mankai::command {

Result<std::size_t> LinesBlock::read(LineReader& reader, bool keeps) {
  lines = {};
  if (keeps) {
    MANKAI_ASSIGN(count_, reader.next_block(memory_));
  } else {
    MANKAI_ASSIGN(lines, reader.next_batch());
    count_ = lines.size();
  }
  label = reader.source().label();
  first_line_number = reader.first_line_number();
  return count_ == 0 ? 0 : memory_.bytes() + count_ * kBytesPerLine;
}

Result<Input> Input::open(const InputRequest& request, std::function<void()> before_waiting) {
  const PipelineWork<Lines> work{.open = Lines::opener(request), .make_block = [] { return LinesBlock(); }};
  MANKAI_ASSIGN(auto pipeline, Pipeline<Lines>::open(request, work, std::move(before_waiting)));
  return Input(std::move(pipeline));
}

Result<std::span<const std::string_view>> Input::next_batch() {
  MANKAI_ASSIGN(block_, pipeline_->next());
  return block_ == nullptr ? std::span<const std::string_view>() : block_->lines;
}

Options key_options(std::vector<std::string>& keys, InputRequest& request, const std::string& name,
                    const std::string& help) {
  return {positionals(name, help, ValueKind::text, keys),
          with_letter('i', list_option("--input", "PATH",
                                       "Input file with one item per line; - reads standard input. Repeatable.",
                                       ValueKind::file, request.paths))};
}

Result<void> check_keys(const std::vector<std::string>& keys, const InputRequest& request) {
  if (!keys.empty() && !request.paths.empty()) {
    return fail(ErrorCode::invalid_argument, "keys and --input cannot be combined");
  }
  return {};
}

Option max_line_option(InputRequest& request) {
  request.lines.limit_option = "--max-line";
  return parsed_option(request.lines.limit_option, "BYTES",
                       "Longest line accepted; a longer one is an error [default: 1 GiB].", at_least_one(parse_bytes),
                       request.lines.max_line_bytes);
}

Result<void> for_each_batch(const std::vector<std::string>& arguments, const InputRequest& request, const UseBatch& use,
                            std::function<void()> before_waiting) {
  if (!arguments.empty()) {
    const std::vector<std::string_view> keys(arguments.begin(), arguments.end());
    bool continues = true;
    for (std::size_t i = 0; continues && i < keys.size(); i += kBatchLinesMax) {
      MANKAI_ASSIGN(continues, use(std::span(keys).subspan(i, std::min(kBatchLinesMax, keys.size() - i))));
    }
    return {};
  }
  MANKAI_ASSIGN(auto input, Input::open(request, std::move(before_waiting)));
  for (bool continues = true; continues;) {
    MANKAI_ASSIGN(const auto batch, input.next_batch());
    if (batch.empty()) {
      break;
    }
    MANKAI_ASSIGN(continues, use(batch));
  }
  return {};
}

namespace {

/// Lines and the answers for them.
struct AnswersBlock : LinesBlock {
  const AnswerBatch* answer = nullptr;
  std::string text;
  Result<bool> decides = false;

  void parse() {
    LinesBlock::parse();
    text.clear();
    decides = false;
    for (std::size_t i = 0; decides && i < lines.size(); i += kBatchLinesMax) {
      const auto one = (*answer)(lines.subspan(i, std::min(kBatchLinesMax, lines.size() - i)), text);
      decides = one ? Result<bool>(*one || *decides) : one;
    }
  }
};

using Answers = LinesReader<AnswersBlock>;

Result<bool> answer_inputs(const InputRequest& request, const AnswerBatch& answer, bool ends_there, Output& output) {
  const auto make_block = [&answer] {
    AnswersBlock block;
    block.answer = &answer;
    return block;
  };
  const PipelineWork<Answers> work{.open = Answers::opener(request), .make_block = make_block};
  MANKAI_ASSIGN(auto pipeline, Pipeline<Answers>::open(request, work, [&output] { output.flush(); }));
  bool decides = false;
  while (!output.has_failed() && !(decides && ends_there)) {
    MANKAI_ASSIGN(auto* const block, pipeline->next());
    if (block == nullptr) {
      break;
    }
    output.append(block->text);
    MANKAI_ASSIGN(const bool one, block->decides);
    decides = decides || one;
  }
  return decides;
}

Result<bool> answer_keys(const std::vector<std::string>& arguments, const AnswerBatch& answer, Output& output) {
  const std::vector<std::string_view> keys(arguments.begin(), arguments.end());
  AnswersBlock block;
  block.answer = &answer;
  block.lines = keys;
  block.parse();
  output.append(block.text);
  return block.decides;
}

}  // namespace

Result<bool> print_answers(const std::vector<std::string>& arguments, const InputRequest& request,
                           const AnswerBatch& answer, bool ends_there) {
  Output output;
  const auto decides =
      arguments.empty() ? answer_inputs(request, answer, ends_there, output) : answer_keys(arguments, answer, output);
  MANKAI_TRY(output.finish());
  return decides;
}

}  // namespace mankai::command
