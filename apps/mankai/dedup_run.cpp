#include "apps/mankai/dedup_run.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <set>
#include <utility>

#include "apps/mankai/format.hpp"
#include "apps/mankai/output.hpp"
#include "apps/mankai/signals.hpp"

namespace mankai::command {
namespace {

using Answer = DedupMemory::Answer;
using Lines = std::span<const std::string_view>;

struct Counts {
  std::uint64_t lines = 0;
  std::uint64_t repeats = 0;
  std::uint64_t rescued = 0;
};

// Lines that stand one after the other in the reader's buffer, line feeds between them, go out as one piece.
void print_lines(Lines lines, std::span<const Answer> answers, bool wants_repeats, Output& output) {
  const auto is_wanted = [&](std::size_t i) { return (answers[i] == Answer::repeat) == wants_repeats; };
  for (std::size_t i = 0; i < lines.size();) {
    if (!is_wanted(i)) {
      ++i;
      continue;
    }
    const char* const begin = lines[i].data();
    const char* end = begin + lines[i].size();
    std::size_t next = i + 1;
    while (next < lines.size() && is_wanted(next) && lines[next].data() == end + 1) {
      end = lines[next].data() + lines[next].size();
      ++next;
    }
    output.append_line({begin, static_cast<std::size_t>(end - begin)});
    i = next;
  }
}

class Dedup {
 public:
  Dedup(const DedupRequest& request, DedupMemory memory) : request_(request), memory_(std::move(memory)) {}

  Result<int> run() {
    MANKAI_ASSIGN(auto input, DedupInput::open(request_.input, [this] { wait(); }));
    auto read = read_all(input);
    MANKAI_TRY(finish());
    say_what_was_odd(input);
    summarise(input);
    if (!read) {
      return std::unexpected(read.error());
    }
    return exit_code_after_stop(static_cast<int>(is_overfull_ ? ExitCode::overfull : ExitCode::fine));
  }

 private:
  // What is printed and kept must not wait for more to come.
  void wait() {
    output_.flush();
    if (auto kept = memory_.idle(); !kept && !failure_) {
      failure_ = kept.error();
    }
  }

  Result<void> read_all(DedupInput& input) {
    while (!output_.has_failed()) {
      const auto batch = input.next_batch();
      if (failure_) {
        return std::unexpected(*failure_);
      }
      if (!batch) {
        return std::unexpected(batch.error());
      }
      if (batch->lines.empty() && batch->headings.empty()) {
        break;
      }
      MANKAI_TRY(take(*batch));
    }
    return {};
  }

  Result<void> take(const DedupBatch& batch) {
    std::array<Answer, kBatchLinesMax> room;
    const auto answers = std::span(room).first(batch.lines.size());
    MANKAI_TRY(memory_.observe(batch, answers));
    print(batch, answers);
    counts_.lines += batch.lines.size();
    counts_.repeats += static_cast<std::uint64_t>(std::ranges::count(answers, Answer::repeat));
    counts_.rescued += static_cast<std::uint64_t>(std::ranges::count(answers, Answer::rescued));
    warn_of_capacity();
    return remember();
  }

  void print(const DedupBatch& batch, std::span<const Answer> answers) {
    if (request_.label) {
      for (std::size_t i = 0; i < answers.size(); ++i) {
        output_.append(label_of(answers[i]));
        output_.append("\t");
        output_.append_line(batch.lines[i]);
      }
      return;
    }
    // Of several indexes of one kind the legend is printed once.
    for (const std::string_view heading : batch.headings) {
      if (headings_.emplace(heading).second) {
        output_.append_line(heading);
      }
    }
    print_lines(batch.lines, answers, request_.repeats, output_);
  }

  // A filter alone cannot say that something came before.
  [[nodiscard]] std::string_view label_of(Answer answer) const {
    return answer == Answer::repeat && !memory_.is_exact() ? "maybe" : name(answer);
  }

  void warn_of_capacity() {
    is_overfull_ = is_overfull_ || memory_.is_overfull();
    if (is_warned_) {
      return;
    }
    if (const std::string warning = memory_.capacity_warning(false); !warning.empty()) {
      is_warned_ = true;
      say(fmt::format("warning: by line {}: {}", human_count(counts_.lines), warning));
    }
  }

  // Only when they have been written, so that no line is remembered that nobody got.
  Result<void> remember() { return memory_.file().empty() || !output_.flush() ? Result<void>{} : memory_.commit(); }

  Result<void> finish() {
    if (auto finished = output_.finish(); !finished) {
      static_cast<void>(memory_.close());
      if (memory_.file().empty()) {
        return finished;
      }
      // Said aloud for a closed pipe too, which is a quiet end where nothing depends on it.
      return fail(finished.error().code, finished.error().message() + "; " + memory_.file() +
                                             " does not contain the lines that were not written");
    }
    return memory_.close();
  }

  void say_what_was_odd(const DedupInput& input) const {
    const DedupInputCounts& counts = input.counts();
    if (counts.without_key > 0) {
      const std::string what = request_.input.field ? fmt::format("no field {}", *request_.input.field) : "no URL";
      say(fmt::format("{} lines have {} and were compared as a whole", human_count(counts.without_key), what));
    }
    if (counts.records > 0 && counts.records == counts.other_records) {
      say(fmt::format("none of {} WARC records has a requested type; give other types with --records",
                      human_count(counts.records)));
    }
    if (memory_.in_future() > 0) {
      say(fmt::format("warning: {} lines have timestamps in the future; they were given the time of the line before",
                      human_count(memory_.in_future())));
    }
    if (is_overfull_) {
      say(memory_.overfull_error());
    } else if (is_warned_ && !has_summary()) {
      if (const std::string warning = memory_.capacity_warning(true); !warning.empty()) {
        say("warning: " + warning);
      }
    }
  }

  [[nodiscard]] bool has_summary() const noexcept { return request_.count || request_.json; }

  void summarise(const DedupInput& input) const {
    if (!has_summary()) {
      return;
    }
    const Report report = summary(input);
    const std::string text = request_.json ? report.json() : report.text();
    static_cast<void>(!write(STDERR_FILENO, text.data(), text.size()));
  }

  [[nodiscard]] Report summary(const DedupInput& input) const {
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    const std::uint64_t unique = counts_.lines - counts_.repeats;
    Report report;
    report.add("lines", counts_.lines, "lines", human_count(counts_.lines));
    report.add("unique", unique, "unique", human_count(unique));
    report.add("repeats", counts_.repeats, "repeats", human_count(counts_.repeats));
    if (memory_.is_exact()) {
      report.add("rescued", counts_.rescued, "rescued",
                 fmt::format("{} new lines that a filter alone would have dropped", human_count(counts_.rescued)));
    }
    report.add("without_field", input.counts().without_key);
    if (input.counts().records > 0) {
      report.add("records", input.counts().records, "records",
                 fmt::format("{}, {} of them of other types", human_count(input.counts().records),
                             human_count(input.counts().other_records)));
      report.add("other_records", input.counts().other_records);
      report.add("without_uri", input.counts().without_uri);
    }
    report.add("bytes_read", input.bytes_read(), "read", human_bytes(input.bytes_read()));
    report.add("seconds", seconds, "time",
               fmt::format("{:.2f} s, {} lines/s", seconds,
                           human_count(static_cast<std::uint64_t>(static_cast<double>(counts_.lines) / seconds))));
    memory_.add_to(report, unique);
    return report;
  }

  const DedupRequest& request_;
  DedupMemory memory_;
  Output output_;
  Counts counts_;
  std::set<std::string, std::less<>> headings_;
  std::optional<Error> failure_;
  bool is_warned_ = false;
  bool is_overfull_ = false;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace

Result<int> run_dedup(const DedupRequest& request, DedupMemory memory) {
  return Dedup(request, std::move(memory)).run();
}

}  // namespace mankai::command
