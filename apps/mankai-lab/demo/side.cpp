#include "apps/mankai-lab/demo/side.hpp"

#include <fmt/format.h>
#include <malloc.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <fstream>
#include <new>

#include "apps/mankai-lab/demo/exhibit.hpp"

namespace mankai::command::demo {
namespace {

constexpr const std::array kQuestions = {&kSeen, &kSeenRecently, &kHot, &kGuard, &kGate};
constexpr std::string_view kDay = "day";

/// Start of a process's result file. The answers follow, one byte each, or the text of the error.
struct Head {
  double seconds = 0;
  std::uint64_t start_bytes = 0;
  std::uint64_t end_bytes = 0;
  std::uint64_t size = 0;
};

struct Order {
  std::string name;
  bool is_exact = false;
  Day day{};
  std::uint64_t size = 0;
  int truth = -1;
  int out = -1;
};

template <class Field>
void for_each_number(Order& order, const Field& field) {
  field(order.is_exact);
  field(order.day.options.events);
  field(order.day.options.seed);
  for (int& file : order.day.files) {
    field(file);
  }
  field(order.size);
  field(order.truth);
  field(order.out);
}

std::vector<std::string> words_of(Order& order) {
  std::vector<std::string> words = {"mankai-lab", std::string(kProcessWord), order.name};
  for_each_number(order, [&words](const auto& number) { words.push_back(fmt::format("{:d}", number)); });
  return words;
}

Order order_of(std::span<char* const> arguments) {
  Order order{.name = arguments.empty() ? "" : arguments.front(), .is_exact = false};
  std::size_t next = 1;
  for_each_number(order, [&](auto& number) {
    using Number = std::remove_reference_t<decltype(number)>;
    using Value = std::conditional_t<std::is_same_v<Number, std::uint64_t>, std::uint64_t, std::int64_t>;
    auto value = static_cast<Value>(-1);
    const std::string_view text = next < arguments.size() ? arguments[next] : "";
    std::from_chars(text.data(), text.data() + text.size(), value);
    number = static_cast<Number>(value);
    ++next;
  });
  order.day.options = day_options(order.day.options.events, order.day.options.seed);
  return order;
}

std::vector<char> bytes_of(int file, std::size_t from) {
  const off_t end = lseek(file, 0, SEEK_END);
  std::vector<char> bytes(end > static_cast<off_t>(from) ? static_cast<std::size_t>(end) - from : 0);
  const ssize_t count = pread(file, bytes.data(), bytes.size(), static_cast<off_t>(from));
  bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  return bytes;
}

std::uint64_t peak_bytes(const rusage& usage) {
  constexpr std::uint64_t kUnit = 1024;
  return static_cast<std::uint64_t>(usage.ru_maxrss) * kUnit;
}

std::uint64_t resident_bytes() {
  // Counted for this: statm and getrusage() may be up to 32 pages per processor behind.
  std::ifstream sums("/proc/self/smaps_rollup");
  for (std::string word; sums >> word;) {
    if (std::uint64_t kib = 0; word == "Rss:" && sums >> kib) {
      return kib * 1024;
    }
  }
  return 0;
}

/// Loads a side and asks it all questions; passes the answers of each block to `answered`.
template <class Answered>
Result<void> interrogate(Side& side, EventReader& list, EventReader& asked, std::size_t most_blocks,
                         std::span<const char> truth, double& seconds, const Answered& answered) {
  std::array<bool, EventReader::kMostInBlock> yes{};
  std::array<bool, EventReader::kMostInBlock> known{};
  auto block = list.next();
  for (std::size_t i = 0; i < most_blocks && !block.empty(); block = list.next(), ++i) {
    MANKAI_TRY(side.load(block));
  }
  MANKAI_TRY(side.loaded());
  block = asked.next();
  for (std::size_t i = 0; i < most_blocks && !block.empty(); block = asked.next(), ++i) {
    const auto told = truth.first(std::min(block.size(), truth.size()));
    truth = truth.subspan(told.size());
    std::ranges::transform(told, known.begin(), [](char byte) { return byte != 0; });
    yes.fill(false);
    side.prepare(block);
    Result<void> done;
    timed(seconds,
          [&] { done = side.ask(block, std::span(known).first(told.size()), std::span(yes).first(block.size())); });
    MANKAI_TRY(done);
    answered(std::span<const bool>(yes).first(block.size()));
  }
  return {};
}

Result<void> ask_all(const Question& question, const Order& order) {
  const MakeSide make = order.is_exact ? question.exact : question.ours;
  const SideOptions options{.events = order.day.options.events,
                            .seed = order.day.options.seed,
                            .size = order.size,
                            .block_list = order.day.file(Stream::block_list)};
  const std::vector<char> truth = order.is_exact ? std::vector<char>() : bytes_of(order.truth, sizeof(Head));
  std::vector<char> answers;
  answers.resize(static_cast<std::size_t>(lseek(order.day.file(question.asked), 0, SEEK_END)) /
                 EventReader::kLeastBytes);
  Head head;
  constexpr std::uint64_t kSmall = 1000;
  {
    // A small run first loads the program's code, which is not part of the structure's memory.
    MANKAI_ASSIGN(const auto small,
                  make({.events = kSmall, .seed = options.seed, .size = kSmall, .block_list = options.block_list}));
    EventReader list(order.day.file(question.list));
    EventReader asked(order.day.file(question.asked));
    MANKAI_TRY(interrogate(*small, list, asked, 1, truth, head.seconds, [](auto) {}));
  }
  EventReader list(order.day.file(question.list));
  EventReader asked(order.day.file(question.asked));
  malloc_trim(0);
  head = {.start_bytes = resident_bytes()};
  MANKAI_ASSIGN(const auto side, make(options));
  std::size_t count = 0;
  MANKAI_TRY(interrogate(*side, list, asked, SIZE_MAX, truth, head.seconds, [&](std::span<const bool> yes) {
    std::ranges::copy(yes, answers.begin() + static_cast<std::ptrdiff_t>(count));
    count += yes.size();
  }));
  head.size = side->size();
  head.end_bytes = resident_bytes();
  MANKAI_TRY(write_all(order.out, answers.data(), count, sizeof head));
  return write_all(order.out, &head, sizeof head, 0);
}

Result<void> carry_out(const Order& order) {
  if (order.name == kDay) {
    Head head;
    MANKAI_ASSIGN(head.size, write_day(order.day));
    MANKAI_TRY(write_block_list(order.day));
    return write_all(order.out, &head, sizeof head, 0);
  }
  const auto question = std::ranges::find(kQuestions, order.name, &Question::name);
  return question != kQuestions.end() ? ask_all(**question, order)
                                      : fail(ErrorCode::invalid_argument, "a part of mankai demo; run that instead");
}

Result<Measurement> run(Order order, std::string_view what) {
  MANKAI_ASSIGN(order.out, new_file());
  std::vector<std::string> words = words_of(order);
  std::vector<char*> pointers;
  std::ranges::transform(words, std::back_inserter(pointers), [](std::string& word) { return word.data(); });
  pointers.push_back(nullptr);
  pid_t child = 0;
  if (const int error = posix_spawn(&child, "/proc/self/exe", nullptr, nullptr, pointers.data(), environ); error != 0) {
    return fail(ErrorCode::io, fmt::format("{}: cannot start a process; stop other programs", what), error);
  }
  int status = 0;
  rusage usage{};
  while (wait4(child, &status, 0, &usage) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status)) {
    return fail(ErrorCode::out_of_space, fmt::format("{}: the process was killed by signal {}; if memory ran out, give "
                                                     "fewer --events",
                                                     what, WTERMSIG(status)));
  }
  const std::vector<char> rest = WEXITSTATUS(status) == 0 ? std::vector<char>() : bytes_of(order.out, sizeof(Head));
  if (WEXITSTATUS(status) != 0) {
    return rest.empty() ? fail(ErrorCode::io, fmt::format("{}: the process failed; try again", what))
                        : fail(static_cast<ErrorCode>(WEXITSTATUS(status)), std::string(rest.begin(), rest.end()));
  }
  Head head;
  if (pread(order.out, &head, sizeof head, 0) != sizeof head) {
    return fail(ErrorCode::io, fmt::format("{}: the process returned nothing; try again", what));
  }
  const std::uint64_t most_bytes = std::max(peak_bytes(usage), head.end_bytes);
  return Measurement{.seconds = head.seconds,
                     .bytes = most_bytes - std::min(most_bytes, head.start_bytes),
                     .size = head.size,
                     .file = order.out};
}

}  // namespace

std::vector<char> Measurement::answers() const { return bytes_of(file, sizeof(Head)); }

Result<std::uint64_t> generate(const Day& day) {
  MANKAI_ASSIGN(const auto made, run({.name = std::string(kDay), .day = day}, "the day"));
  return made.size;
}

Result<Measured> measure(const Question& question, const Day& day) {
  Order order{.name = std::string(question.name), .is_exact = true, .day = day};
  Measured measured;
  MANKAI_ASSIGN(measured.exact, run(order, fmt::format("{}, exact", question.name)));
  order.is_exact = false;
  order.size = measured.exact.size;
  order.truth = measured.exact.file;
  MANKAI_ASSIGN(measured.ours, run(order, question.name));
  return measured;
}

int run_process(std::span<char* const> arguments) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // exits when the tour is stopped
  const Order order = order_of(arguments);
  Result<void> done;
  try {
    done = carry_out(order);
  } catch (const std::bad_alloc&) {
    done = fail(ErrorCode::out_of_space, order.name + ": out of memory; give fewer --events");
  }
  if (done) {
    return 0;
  }
  const std::string text = done.error().message();
  if (!write_all(order.out, text.data(), text.size(), sizeof(Head))) {
    return static_cast<int>(ErrorCode::io);
  }
  return static_cast<int>(done.error().code);
}

}  // namespace mankai::command::demo
