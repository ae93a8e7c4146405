#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "lab/dablooms/filters.hpp"
#include "lab/dablooms/mapped_original.hpp"
#include "lab/outside.hpp"
#include "lab/parts.hpp"
#include "mankai/base/bits.hpp"
#include "mankai/file/file.hpp"
#include "mankai/store/store.hpp"

namespace mankai::lab::spam {
namespace {

constexpr std::uint64_t kPage = 4096;
// One filter that the changes below do not fill.
constexpr Original::Options kRoomy{.keys = 20'000, .fpr = kHighRate};
constexpr std::uint64_t kChanges = 10'000;

// Change i of every run: two keys are added, then the first of the two is removed.
struct Step {
  std::uint64_t key;
  bool is_removal;
};
Step step(std::uint64_t i) { return i % 3 < 2 ? Step{i, false} : Step{i - 2, true}; }

template <class Disk>
void apply(MappedOriginal<Disk>& filter, const Keys& numbers, std::uint64_t i, Fault fault) {
  const auto [key, is_removal] = step(i);
  if (is_removal) {
    filter.erase(numbers.member(key), key);
  } else if (!loses_insert(fault, numbers.member(key).value)) {
    filter.insert(numbers.member(key), key);
  }
}

struct NoDisk {
  void stored(std::size_t /*offset*/) noexcept {}
  void synced() noexcept {}
};

std::size_t file_bytes(const Original::Slice& shape) {
  return align_up(MappedOriginal<NoDisk>::kCounters + shape.bytes.size(), sizeof(std::uint64_t));
}

// A file in memory, at an aligned address.
class Bytes {
 public:
  explicit Bytes(std::size_t count) : words_(count / sizeof(std::uint64_t)) {}
  [[nodiscard]] std::span<std::uint8_t> all() noexcept {
    return {reinterpret_cast<std::uint8_t*>(words_.data()), words_.size() * sizeof(std::uint64_t)};
  }

 private:
  std::vector<std::uint64_t> words_;
};

// A file that two processes map.
class Shared {
 public:
  static Result<Shared> create(const std::string& path, std::size_t bytes) {
    const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    void* data = file >= 0 && ::ftruncate(file, static_cast<off_t>(bytes)) == 0
                     ? ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)
                     : MAP_FAILED;
    if (file >= 0) {
      ::close(file);
    }
    if (data == MAP_FAILED) {
      return fail(ErrorCode::io, "cannot map a temporary file");
    }
    return Shared({static_cast<std::uint8_t*>(data), bytes});
  }
  Shared(Shared&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}
  Shared& operator=(Shared&&) = delete;
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;
  ~Shared() {
    if (!bytes_.empty()) {
      ::munmap(bytes_.data(), bytes_.size());
    }
  }
  [[nodiscard]] std::span<std::uint8_t> all() const noexcept { return bytes_; }

 private:
  explicit Shared(std::span<std::uint8_t> bytes) noexcept : bytes_(bytes) {}
  std::span<std::uint8_t> bytes_;
};

// Runs work without end in a process of its own, and calls meanwhile(child) here until SIGKILL ends it. Errors: io.
template <class Work, class Meanwhile>
Result<void> run_until_killed(const Work& work, const Meanwhile& meanwhile) {
  const pid_t child = ::fork();
  if (child < 0) {
    return fail(ErrorCode::io, "cannot start a process");
  }
  if (child == 0) {
    work();
    ::_exit(1);
  }
  meanwhile(child);
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL
             ? Result<void>{}
             : fail(ErrorCode::io, "a process ended before it was killed");
}

// The process ends after so many stores.
class KillingDisk {
 public:
  explicit KillingDisk(std::uint64_t stores) noexcept : left_(stores) {}
  void stored(std::size_t /*offset*/) noexcept {
    if (--left_ == 0) {
      static_cast<void>(std::raise(SIGKILL));
    }
  }
  void synced() noexcept {}

 private:
  std::uint64_t left_;
};

struct Crashes {
  std::uint64_t count = 0;
  std::uint64_t between = 0;  // crashes between two changes
  std::uint64_t placed = 0;   // of these, with a position for a replay
  std::uint64_t dirty = 0;    // the numbers say that a change was written in part
  std::uint64_t wrong = 0;    // the numbers name a position, and the contents are others
  std::uint64_t unlike = 0;   // after the other changes were replayed, the filter is not the one that never crashed
};

// Whether the counters and counts of two files are equal; numbers and the greatest id are left out.
bool has_same_contents(std::span<const std::uint8_t> a, std::span<const std::uint8_t> b) {
  constexpr std::size_t kSequences = Original::kHeaderBytes;
  return std::ranges::equal(a.subspan(kSequences), b.subspan(kSequences));
}

// Every store of the first changes is a moment at which the process may end.
class EveryStore {
 public:
  EveryStore(std::span<std::uint8_t> file, std::span<const std::uint8_t> before, std::span<const std::uint8_t> after)
      : file_(file), before_(before), after_(after) {}
  void begin(std::uint64_t change) noexcept { change_ = change; }
  void synced() noexcept {}
  void stored(std::size_t /*offset*/) noexcept {
    if (change_ == kNone) {
      return;
    }
    ++found_.count;
    std::uint64_t number = 0;
    std::memcpy(&number, &file_[MappedOriginal<EveryStore>::kInMemory], sizeof(number));
    found_.dirty += static_cast<std::uint64_t>(number == 0);
    // The number is that of the next change, beginning with 1.
    const bool is_right = number == 0 || (number == change_ + 1 && has_same_contents(file_, before_)) ||
                          (number == change_ + 2 && has_same_contents(file_, after_));
    found_.wrong += static_cast<std::uint64_t>(!is_right);
  }
  [[nodiscard]] const Crashes& found() const noexcept { return found_; }

 private:
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};
  std::span<std::uint8_t> file_;
  std::span<const std::uint8_t> before_;
  std::span<const std::uint8_t> after_;
  std::uint64_t change_ = kNone;
  Crashes found_;
};

Crashes crash_at_every_store(const Original::Slice& shape, std::uint64_t changes, const Context& context) {
  const Keys numbers(context.seed);
  NoDisk none;
  Bytes file(file_bytes(shape));
  Bytes before(file_bytes(shape));
  Bytes after(file_bytes(shape));
  EveryStore disk(file.all(), before.all(), after.all());
  MappedOriginal filter(file.all(), shape, disk);
  MappedOriginal behind(before.all(), shape, none);
  MappedOriginal ahead(after.all(), shape, none);
  std::uint64_t placed = 0;
  for (std::uint64_t i = 0; i < changes; ++i) {
    apply(ahead, numbers, i, Fault::none);
    disk.begin(i);
    apply(filter, numbers, i, context.fault);
    apply(behind, numbers, i, Fault::none);
    placed += static_cast<std::uint64_t>(filter.in_memory() == i + 2 && has_same_contents(file.all(), after.all()));
  }
  Crashes found = disk.found();
  found.between = changes;
  found.placed = placed;
  return found;
}

// A process that changes a mapped file is killed after a random one of its stores, and the changes from the position on
// are replayed.
Result<Crashes> kill_original(const Original::Slice& shape, std::uint64_t kills, const Context& context) {
  MANKAI_ASSIGN(const auto folder, TemporaryFolder::create());
  const Keys numbers(context.seed);
  NoDisk none;
  Random random(context.seed);
  Bytes whole(file_bytes(shape));
  MappedOriginal never_crashed(whole.all(), shape, none);
  for (std::uint64_t i = 0; i < kChanges; ++i) {
    apply(never_crashed, numbers, i, Fault::none);
  }
  Crashes found{.count = kills};
  for (std::uint64_t round = 0; round < kills; ++round) {
    MANKAI_ASSIGN(const auto file, Shared::create(folder.file(fmt::format("{}", round)), file_bytes(shape)));
    MappedOriginal filter(file.all(), shape, none);
    const std::uint64_t stores = 1 + random.below(kChanges * shape.k);
    const auto change_all = [&] {
      KillingDisk disk(stores);
      MappedOriginal killed(file.all(), shape, disk);
      for (std::uint64_t i = 0; i < kChanges; ++i) {
        apply(killed, numbers, i, context.fault);
      }
    };
    MANKAI_TRY(run_until_killed(change_all, [](pid_t /*child*/) {}));
    const std::uint64_t number = filter.in_memory();
    if (number == 0) {
      ++found.dirty;
      continue;
    }
    for (std::uint64_t i = number - 1; i < kChanges; ++i) {
      apply(filter, numbers, i, Fault::none);
    }
    found.unlike += static_cast<std::uint64_t>(!has_same_contents(file.all(), whole.all()));
  }
  return found;
}

// The share of stores after which the number is 0, of a filter with k probes. Of three changes two are of new keys,
// which store their ids.
double stores_within_changes(std::uint32_t k) { return 1 - 3 / (3.0 * k + 11); }

// Of kills of which at least half hit a change; else there is no measurement.
Estimate if_in_mid_change(std::uint64_t in_mid_change, std::uint64_t kills, std::uint64_t wrong) {
  return 2 * in_mid_change >= kills ? exact(wrong) : Estimate{};
}

// The system writes pages of the file back whenever it wants to, and at a power loss the other ones are lost.
class LosingDisk {
 public:
  LosingDisk(std::span<std::uint8_t> file, std::uint64_t seed)
      : file_(file),
        disk_(file.begin(), file.end()),
        flushed_(disk_),
        dirty_(divide_up(file.size(), kPage)),
        random_(seed) {}

  void stored(std::size_t offset) {
    constexpr std::uint64_t kWrittenBack = 8;  // one page in so many stores
    dirty_[offset / kPage] = true;
    if (random_.below(kWrittenBack) == 0) {
      write_back(random_.below(dirty_.size()));
    }
    look();
  }
  void synced() {
    for (std::size_t page = 0; page < dirty_.size(); ++page) {
      write_back(page);
    }
    look();
  }
  // Counts a power loss between two changes.
  void lose_between() {
    ++found_.between;
    found_.placed += static_cast<std::uint64_t>(number_on_disk() != 0);
  }
  void note_flush(std::span<const std::uint8_t> contents) { flushed_.assign(contents.begin(), contents.end()); }
  [[nodiscard]] const Crashes& found() const noexcept { return found_; }

 private:
  void write_back(std::size_t page) {
    if (dirty_[page]) {
      dirty_[page] = false;
      const std::size_t first = page * kPage;
      std::copy_n(file_.begin() + static_cast<std::ptrdiff_t>(first),
                  std::min<std::size_t>(kPage, file_.size() - first),
                  disk_.begin() + static_cast<std::ptrdiff_t>(first));
    }
  }
  // What a power loss at this moment leaves. Clean is a number on disk that is not 0.
  void look() {
    ++found_.count;
    const std::uint64_t number = number_on_disk();
    found_.dirty += static_cast<std::uint64_t>(number == 0);
    found_.wrong += static_cast<std::uint64_t>(number != 0 && !has_same_contents(disk_, flushed_));
  }
  [[nodiscard]] std::uint64_t number_on_disk() const noexcept {
    std::uint64_t number = 0;
    std::memcpy(&number, &disk_[MappedOriginal<LosingDisk>::kOnDisk], sizeof(number));
    return number;
  }

  std::span<std::uint8_t> file_;
  std::vector<std::uint8_t> disk_;
  std::vector<std::uint8_t> flushed_;
  std::vector<bool> dirty_;
  Random random_;
  Crashes found_;
};

constexpr std::uint64_t kFlushEvery = 20;  // changes

Crashes lose_power(const Original::Slice& shape, std::uint64_t changes, const Context& context) {
  const Keys numbers(context.seed);
  Bytes file(file_bytes(shape));
  LosingDisk disk(file.all(), context.seed);
  NoDisk none;
  Bytes reference(file_bytes(shape));
  MappedOriginal never_crashed(reference.all(), shape, none);
  MappedOriginal filter(file.all(), shape, disk);
  for (std::uint64_t i = 0; i < changes; ++i) {
    apply(filter, numbers, i, context.fault);
    apply(never_crashed, numbers, i, Fault::none);
    if (i % kFlushEvery == 0) {
      disk.note_flush(reference.all());
      filter.flush();
    }
    disk.lose_between();
  }
  return disk.found();
}

Result<void> measure_original(const Context& context, Findings& findings) {
  const Original model(kRoomy);
  const Original::Slice& shape = model.slice(0);
  const Crashes stores = crash_at_every_store(shape, context.trials(300, 3000), context);
  MANKAI_ASSIGN(const auto kills, kill_original(shape, context.trials(100, 2000), context));
  const Crashes losses = lose_power(shape, context.trials(300, 3000), context);
  const auto percent = [](std::uint64_t part, std::uint64_t all) {
    return 100 * static_cast<double>(part) / static_cast<double>(all);
  };
  findings.judged({"failed-writes-are-seen", stores.count, percent(stores.dirty, stores.count)}, equals(0),
                  exact(stores.wrong));
  findings.judged({"replay-catches-up", kills.count, kills.dirty, kills.count - kills.dirty}, equals(0),
                  if_in_mid_change(kills.dirty, kills.count, kills.unlike));
  findings.judged({"killed-without-a-position", kills.count}, equals(stores_within_changes(shape.k)),
                  share(kills.dirty, kills.count));
  const auto placed = [](const Crashes& crashes) {
    return exact(static_cast<double>(crashes.placed) / static_cast<double>(crashes.between));
  };
  findings.depends({"position-after-a-crash", kFlushEvery}, {equals(1), placed(stores)}, {equals(1), placed(losses)});
  findings.judged({"clean-after-power-loss", losses.count, kFlushEvery}, equals(0), exact(losses.wrong));
  return {};
}

// ---- Ours: a store, whose journal has each change before the filter has it.

std::string url_of(std::uint64_t key) { return fmt::format("http://host{}.example/{}", key % 1000, key); }

Result<ScalableCountingBloom> make_stored(std::uint64_t keys, const Context& context) {
  return ScalableCountingBloom::create({.keys = keys, .fpr = kHighRate, .hash = context.hash()});
}

// Makes change i of a store, or of a filter. Errors: the store's.
Result<void> apply(Store& store, std::uint64_t i, Fault fault) {
  const auto [key, is_removal] = step(i);
  const std::string url = url_of(key);
  const std::array<std::string_view, 1> keys = {url};
  const std::array<std::uint64_t, 1> ids = {key};
  if (is_removal) {
    std::array<EraseResult, 1> results{};
    return store.erase(keys, ids, results);
  }
  return loses_insert(fault, store.filter().hasher()(url).value) ? Result<void>{} : store.insert(keys, ids);
}
void apply(ScalableCountingBloom& filter, std::uint64_t i) {
  const auto [key, is_removal] = step(i);
  const Digest digest = filter.hasher()(url_of(key));
  if (is_removal) {
    static_cast<void>(filter.erase(digest, key));
  } else {
    static_cast<void>(filter.insert(digest, key));
  }
}

// Counts changes in memory that survives the process.
class Progress {
 public:
  explicit Progress(const Shared& shared) noexcept : counts_(reinterpret_cast<std::uint64_t*>(shared.all().data()), 2) {
    std::ranges::fill(counts_, 0);
  }
  [[nodiscard]] std::atomic_ref<std::uint64_t> begun() const noexcept { return std::atomic_ref(counts_[0]); }
  [[nodiscard]] std::atomic_ref<std::uint64_t> returned() const noexcept { return std::atomic_ref(counts_[1]); }

 private:
  std::span<std::uint64_t> counts_;
};

struct Recovered {
  bool is_in_mid_change = false;  // a change had begun and not returned before the kill
  std::uint64_t before = 0;       // changes that had returned
  std::uint64_t kept = 0;         // by the sequence number after opening
  bool is_exact = false;          // the filter is the one after so many changes, byte for byte
  bool is_caught_up = false;
};

// A process that changes a store without end is killed at a random moment.
Result<Recovered> kill_store(const std::string& path, const Shared& shared, Random& random, const Context& context) {
  constexpr std::uint64_t kMostMicroseconds = 2000;
  const Progress progress(shared);
  MANKAI_ASSIGN(auto empty, make_stored(1000, context));
  MANKAI_ASSIGN(auto created, Store::create(path, std::move(empty), {}, Existing::replace));
  MANKAI_TRY(created.close());
  const auto change_all = [&] {
    auto store = Store::open(path);
    for (std::uint64_t i = 0; store; ++i) {
      progress.begun() = i + 1;
      if (!apply(*store, i, context.fault)) {
        return;
      }
      progress.returned() = i + 1;
    }
  };
  const auto kill_later = [&](pid_t child) {
    while (progress.returned() == 0 &&
           ::waitid(P_PID, static_cast<id_t>(child), nullptr, WEXITED | WNOHANG | WNOWAIT) == 0) {
      std::this_thread::yield();
    }
    std::this_thread::sleep_for(std::chrono::microseconds(random.below(kMostMicroseconds)));
    ::kill(child, SIGKILL);
  };
  MANKAI_TRY(run_until_killed(change_all, kill_later));
  MANKAI_ASSIGN(auto store, Store::open(path));
  Recovered found{.is_in_mid_change = progress.begun() > progress.returned(),
                  .before = progress.returned(),
                  .kept = store.sequence()};
  MANKAI_ASSIGN(auto reference, make_stored(1000, context));
  for (std::uint64_t i = 0; i < found.kept; ++i) {
    apply(reference, i);
  }
  found.is_exact = store.filter().to_bytes() == reference.to_bytes();
  for (std::uint64_t i = found.kept; i < found.kept + 1000; ++i) {
    MANKAI_TRY(apply(store, i, Fault::none));
    apply(reference, i);
  }
  found.is_caught_up = store.filter().to_bytes() == reference.to_bytes();
  return found;
}

Result<void> measure_ours(const Context& context, Findings& findings) {
  const std::uint64_t kills = context.trials(12, 500);
  MANKAI_ASSIGN(const auto folder, TemporaryFolder::create());
  MANKAI_ASSIGN(const auto shared, Shared::create(folder.file("progress"), kPage));
  Random random(context.seed);
  std::uint64_t in_mid_change = 0;
  std::uint64_t lost = 0;
  std::uint64_t inexact = 0;
  std::uint64_t behind = 0;
  std::uint64_t changes = 0;
  for (std::uint64_t round = 0; round < kills; ++round) {
    MANKAI_ASSIGN(const auto found, kill_store(folder.file("spam.mk"), shared, random, context));
    in_mid_change += static_cast<std::uint64_t>(found.is_in_mid_change);
    lost += found.kept < found.before ? found.before - found.kept : 0;
    inexact += static_cast<std::uint64_t>(!found.is_exact);
    behind += static_cast<std::uint64_t>(!found.is_caught_up);
    changes += found.kept;
  }
  findings.judged({"failed-writes-ours", kills, in_mid_change, changes}, equals(0),
                  if_in_mid_change(in_mid_change, kills, lost + inexact));
  findings.judged({"replay-catches-up-ours", kills, in_mid_change}, equals(0),
                  if_in_mid_change(in_mid_change, kills, behind));
  return {};
}

// ---- What a flush writes, beside writing everything.

std::uint64_t changed_pages(std::span<const std::uint8_t> before, std::span<const std::uint8_t> after) {
  std::uint64_t pages = 0;
  for (std::size_t first = 0; first < after.size(); first += kPage) {
    const auto page = after.subspan(first, std::min<std::size_t>(kPage, after.size() - first));
    const bool is_old =
        first + page.size() <= before.size() && std::ranges::equal(page, before.subspan(first, page.size()));
    pages += static_cast<std::uint64_t>(!is_old);
  }
  return pages;
}

Result<std::vector<std::uint8_t>> contents(const std::string& path) {
  auto read = read_file(path);
  if (!read) {
    return read.error().code == ErrorCode::not_found ? Result<std::vector<std::uint8_t>>{}
                                                     : std::unexpected(read.error());
  }
  const std::span bytes = read->bytes();
  const auto* const first = reinterpret_cast<const std::uint8_t*>(bytes.data());
  return std::vector<std::uint8_t>(first, first + bytes.size());
}

struct Flush {
  std::uint64_t changes = 0;
  double pages_of_original = 0;
  double pages_of_ours = 0;
};

Result<Flush> measure_flush(std::uint64_t changes, const Original::Slice& shape, const std::string& path,
                            const Context& context) {
  const Keys numbers(context.seed);
  NoDisk none;
  Bytes file(file_bytes(shape));
  MappedOriginal filter(file.all(), shape, none);
  const std::vector<std::uint8_t> before(file.all().begin(), file.all().end());
  for (std::uint64_t i = 0; i < changes; ++i) {
    filter.insert(numbers.member(i), i);
  }
  Flush flush{.changes = changes, .pages_of_original = static_cast<double>(changed_pages(before, file.all()))};
  MANKAI_ASSIGN(auto empty, make_stored(1000, context));
  MANKAI_ASSIGN(auto store, Store::create(path, std::move(empty), {}, Existing::replace));
  MANKAI_TRY(apply(store, 0, Fault::none));
  MANKAI_TRY(store.sync());
  MANKAI_ASSIGN(const auto old_image, contents(path));
  MANKAI_ASSIGN(const auto old_journal, contents(path + "-journal"));
  for (std::uint64_t i = 0; i < changes; ++i) {
    MANKAI_TRY(apply(store, 3 * i + 4, Fault::none));
  }
  MANKAI_TRY(store.sync());
  MANKAI_ASSIGN(const auto image, contents(path));
  MANKAI_ASSIGN(const auto journal, contents(path + "-journal"));
  flush.pages_of_ours = static_cast<double>(changed_pages(old_image, image) + changed_pages(old_journal, journal));
  return flush;
}

// A list of spam as large as the article's may be: 1.2% of 2.5 GB.
Result<void> measure_flushes(const Context& context, Findings& findings) {
  constexpr double kListBytes = 30e6;
  constexpr std::uint64_t kOften = 100;  // changes between two flushes
  constexpr std::uint64_t kSeldom = 1000;
  const Original model({.keys = static_cast<std::uint64_t>(kListBytes * 2 / 7.7), .fpr = kHighRate});
  const Original::Slice& shape = model.slice(0);
  MANKAI_ASSIGN(const auto folder, TemporaryFolder::create());
  const auto all = static_cast<double>(divide_up(file_bytes(shape), kPage));
  Figure figure = findings.figure("flush");
  const double low = findings.threshold("flushing-at-low-cost");
  std::map<std::uint64_t, Side> sides;
  for (const std::uint64_t changes : {1U, 10U, 100U, 1000U, 10'000U}) {
    MANKAI_ASSIGN(const auto flush, measure_flush(changes, shape, folder.file("spam.mk"), context));
    const double touched = static_cast<double>(changes) * shape.k + 1;
    figure.rows.push_back({changes, all * -std::expm1(touched * std::log1p(-1 / all)), flush.pages_of_original,
                           flush.pages_of_ours, all});
    sides[changes] = {at_most(low), exact(flush.pages_of_original / all)};
    if (changes == kSeldom) {
      findings.judged({"flushing-at-low-cost-ours", kSeldom}, at_most(findings.threshold("flushing-at-low-cost-ours")),
                      exact(flush.pages_of_ours / all));
    }
  }
  findings.depends({"flushing-at-low-cost", kOften, kSeldom, all}, sides.at(kOften), sides.at(kSeldom));
  findings.add(std::move(figure));
  return {};
}

}  // namespace

Result<void> measure_crashes(const Context& context, Findings& findings) {
  return measure_all({measure_original, measure_ours, measure_flushes}, context, findings);
}

}  // namespace mankai::lab::spam
