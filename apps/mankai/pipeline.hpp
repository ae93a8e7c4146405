#pragma once

/// Reads inputs in blocks of lines or records, on several threads or on the caller's, and delivers the blocks in order.

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "apps/mankai/output.hpp"
#include "apps/mankai/signals.hpp"
#include "apps/mankai/sources.hpp"
#include "mankai/base/parallel.hpp"

namespace mankai::command {

/// How a pipeline reads. A Reader reads one input, on one thread at a time:
///
///     struct Reader {
///       using Block = ...;  // movable, reused; size() is its number of lines
///       Result<std::size_t> read(Block& block, bool keeps);
///       const Source& source() const;
///     };
///
/// read() returns about the bytes that the block takes, and 0 at the end; with `keeps`, the block is used while the
/// next one is read. Block::parse() is called after that, on any thread and beside those of other blocks.
template <class Reader>
struct PipelineWork {
  std::function<Result<Reader>(Source)> open;
  std::function<typename Reader::Block()> make_block;
};

/// The thread that calls next() is one of the threads: while it has nothing to deliver, it reads and parses, too. A
/// sleeping caller beside as many threads as processors would share a processor with one of them. While a compressed
/// file is being read, the next files are, too, so that several are decompressed at once. Streams are read in turn,
/// since two of them may be the same, and next() waits for them. Threads: the one that opened it.
template <class Reader>
class Pipeline {
 public:
  using Block = typename Reader::Block;

  /// Checks every input before anything is read, so that a misspelled name is reported first. A followed file may be
  /// missing. next() calls `before_waiting` before it blocks because no input is available, and then at look_interval.
  /// Errors: not_found; io.
  [[nodiscard]] static Result<std::unique_ptr<Pipeline>> open(const InputRequest& request, PipelineWork<Reader> work,
                                                              std::function<void()> before_waiting) {
    MANKAI_ASSIGN(auto sources, Sources::open(request, std::move(before_waiting)));
    // A thread that waits for a followed file could not be ended.
    const std::size_t threads = request.follow_last ? 1 : request.threads;
    auto pipeline = std::unique_ptr<Pipeline>(new Pipeline(std::move(sources), std::move(work), threads));
    const WithoutStopSignals inherited;  // they interrupt the thread of next()
    pipeline->threads_ = start_threads(threads - 1, [self = pipeline.get()](std::size_t) { self->run(); });
    return pipeline;
  }
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;
  ~Pipeline() {
    {
      const std::scoped_lock lock(mutex_);
      is_stopping_ = true;
    }
    work_.notify_all();
    waited_.notify_all();
  }

  /// Returns the next block, valid until the next call; nullptr at the end or after a stop signal, which drops what was
  /// read ahead. Errors: those of the readers, in the order of the inputs; they say if there are inputs after theirs.
  [[nodiscard]] Result<Block*> next() {
    while (stop_signal() == 0 && current_ < inputs_.size()) {
      auto item = next_item();
      if (!item) {
        progress_.clear();
        if (stop_signal() != 0) {
          return nullptr;
        }
        const bool is_last = current_ + 1 == inputs_.size();
        return is_last ? std::unexpected(item.error()) : fail_after(item.error(), "inputs after it were not used");
      }
      if (*item != nullptr) {
        lines_ += (*item)->block.size();
        raw_bytes_ = (*item)->raw_bytes;
        has_compressed_ = has_compressed_ || (*item)->is_compressed;
        progress_.advance(bytes_read(), lines_, has_compressed_);
        return &(*item)->block;
      }
      close_current();
    }
    progress_.clear();
    return nullptr;
  }

  /// Counts compressed bytes of compressed inputs.
  [[nodiscard]] std::uint64_t bytes_read() const noexcept { return bytes_before_ + raw_bytes_; }
  /// Whether an input that lines were returned of is compressed.
  [[nodiscard]] bool has_compressed() const noexcept { return has_compressed_; }

 private:
  /// Blocks of the input in turn that wait to be delivered: enough that no thread waits for another.
  static constexpr std::size_t kBlocksPerThread = 4;
  /// Of the blocks of all inputs while files are read before their turn, and of those of the input in turn.
  static constexpr std::size_t kMostBytes = std::size_t{16} << 20;
  /// A larger block is not used again, but freed.
  static constexpr std::size_t kMostBytesKept = std::size_t{1} << 20;
  static constexpr std::size_t kInputsAhead = 64;

  using Lock = std::unique_lock<std::mutex>;

  struct Item {
    Block block;
    std::size_t bytes = 0;        // as Reader::read
    std::uint64_t raw_bytes = 0;  // of the input, so far
    bool is_compressed = false;
    bool is_parsed = false;
  };

  struct Input {
    std::unique_ptr<Reader> reader;          // of the thread that is reading, if one is
    std::list<std::unique_ptr<Item>> items;  // in order
    std::optional<Error> error;
    std::uint64_t raw_bytes = 0;  // at the end
    bool is_compressed = false;
    bool is_busy = false;
    bool is_ended = false;
  };

  Pipeline(Sources sources, PipelineWork<Reader> work, std::size_t threads)
      : sources_(std::move(sources)),
        work_to_do_(std::move(work)),
        most_in_turn_(threads == 1 ? 1 : kBlocksPerThread * threads),
        inputs_(sources_.size()),
        progress_(sources_.total_bytes()) {}

  Result<bool> read(std::size_t index, Item& item, const Sources::Wait& wait) {
    auto& reader = inputs_[index].reader;
    if (!reader) {
      MANKAI_ASSIGN(auto source, sources_.open_source(index, wait));
      MANKAI_ASSIGN(auto opened, work_to_do_.open(std::move(source)));
      reader = std::make_unique<Reader>(std::move(opened));
    }
    MANKAI_ASSIGN(item.bytes, reader->read(item.block, most_in_turn_ > 1));
    item.raw_bytes = reader->source().raw_bytes_consumed();
    item.is_compressed = reader->source().compression() != Compression::plain;
    return item.bytes > 0;
  }

  static void end(Input& input) {
    if (input.reader) {
      input.raw_bytes = input.reader->source().raw_bytes_consumed();
      input.reader.reset();
    }
    input.is_ended = true;
  }

  void close_current() {
    bytes_before_ += inputs_[current_].raw_bytes;
    raw_bytes_ = 0;
    const std::scoped_lock lock(mutex_);
    ++current_;
    work_.notify_one();  // one more input may be read ahead
  }

  // Returns nullptr at the end of the current input.
  Result<Item*> next_item() {
    Lock lock(mutex_);
    if (delivered_) {
      queued_bytes_ -= delivered_->bytes;
      if (delivered_->bytes > kMostBytesKept) {
        delivered_.reset();
      } else {
        free_.push_back(std::move(delivered_));
      }
      work_.notify_one();
    }
    Input& input = inputs_[current_];
    for (;;) {
      if (failure_) {
        std::rethrow_exception(failure_);
      }
      if (!input.items.empty() && input.items.front()->is_parsed) {
        delivered_ = std::move(input.items.front());
        input.items.pop_front();
        return delivered_.get();
      }
      if (input.items.empty() && input.is_ended) {
        return input.error ? Result<Item*>(std::unexpected(*input.error)) : nullptr;
      }
      if (input.items.empty() && wait_ != nullptr) {
        const auto* const wait = wait_;
        lock.unlock();
        (*wait)();
        lock.lock();
        wait_ = nullptr;
        waited_.notify_one();
      } else if (!work(lock)) {
        delivery_.wait(lock);
      }
    }
  }

  // An exception, such as that of missing memory, is rethrown by next().
  void run() noexcept {
    Lock lock(mutex_);
    try {
      while (!is_stopping_) {
        if (!work(lock)) {
          work_.wait(lock);
        }
      }
    } catch (...) {
      if (!lock.owns_lock()) {
        lock.lock();
      }
      failure_ = std::current_exception();
      delivery_.notify_one();
    }
  }

  // Reads or parses a block; returns false if there is none. One thread at a time can read the input in turn, and the
  // others depend on it: so that comes first, but for next(), which depends on what is unparsed.
  bool work(Lock& lock) {
    const std::size_t index = readable_input();
    if (index < inputs_.size() && (unparsed_.empty() || (index == current_ && !is_next()))) {
      if (!unparsed_.empty()) {
        wake();  // a reader may take long
      }
      read(index, lock);
    } else if (!unparsed_.empty()) {
      parse_one(lock);
    } else {
      return false;
    }
    return true;
  }

  [[nodiscard]] bool is_next() const { return std::this_thread::get_id() == next_thread_; }

  void wake() {
    work_.notify_one();
    delivery_.notify_one();
  }

  // Returns the first input to read from; inputs_.size() if there is none or next() has enough to deliver. Before
  // next() itself reads from a stream, and may wait, it delivers everything.
  [[nodiscard]] std::size_t readable_input() const {
    std::size_t in_turn = 0;
    std::size_t bytes_in_turn = 0;
    bool is_in_turn = true;
    for (std::size_t i = current_; i < std::min(inputs_.size(), current_ + kInputsAhead); ++i) {
      const Input& input = inputs_[i];
      if (is_in_turn) {
        in_turn += input.items.size();
        for (const auto& item : input.items) {
          bytes_in_turn += item->bytes;
        }
      }
      if (input.is_ended) {
        continue;
      }
      // next() waits for the input in turn if nothing of it is left, whatever the inputs after it take.
      const bool is_file = sources_.is_file(i);
      const bool has_enough_in_turn =
          in_turn > 0 && (in_turn >= most_in_turn_ || bytes_in_turn >= kMostBytes || (is_next() && !is_file));
      if (is_in_turn ? has_enough_in_turn : !is_file || queued_bytes_ >= kMostBytes) {
        break;
      }
      if (!input.is_busy) {
        return i;
      }
      // What is not compressed is read faster than it is used.
      if (!input.is_compressed) {
        break;
      }
      is_in_turn = false;
    }
    return inputs_.size();
  }

  void parse_one(Lock& lock) {
    Item& item = *unparsed_.front();
    unparsed_.pop_front();
    lock.unlock();
    item.block.parse();
    lock.lock();
    item.is_parsed = true;
    delivery_.notify_one();
  }

  void read(std::size_t index, Lock& lock) {
    Input& input = inputs_[index];
    input.is_busy = true;
    std::unique_ptr<Item> item;
    if (!free_.empty()) {
      item = std::move(free_.back());
      free_.pop_back();
    }
    lock.unlock();
    if (!item) {
      item = std::make_unique<Item>(Item{.block = work_to_do_.make_block()});
    }
    const auto is_read = read(index, *item, [this](const auto& wait) { return wait_in_next(wait); });
    lock.lock();
    input.is_busy = false;
    if (!is_read || !*is_read) {
      input.error = is_read ? std::nullopt : std::optional(is_read.error());
      end(input);
      free_.push_back(std::move(item));
      work_.notify_all();
      delivery_.notify_one();
      return;
    }
    input.is_compressed = item->is_compressed;
    queued_bytes_ += item->bytes;
    item->is_parsed = false;
    unparsed_.push_back(input.items.emplace_back(std::move(item)).get());
    wake();
  }

  // Calls a function that may wait, on the thread of next(), after everything before it was delivered: signals
  // interrupt that thread, and before_waiting() belongs to it. Returns false, without a call, to end the reader.
  bool wait_in_next(const std::function<void()>& wait) {
    if (is_next()) {
      wait();
      return true;
    }
    Lock lock(mutex_);
    wait_ = &wait;
    delivery_.notify_one();
    waited_.wait(lock, [&] { return wait_ != &wait || is_stopping_; });
    return wait_ != &wait;
  }

  Sources sources_;
  PipelineWork<Reader> work_to_do_;
  std::thread::id next_thread_ = std::this_thread::get_id();
  std::size_t most_in_turn_;  // 1: no block is used while the next one is read
  std::vector<Input> inputs_;
  Progress progress_;
  std::size_t current_ = 0;
  std::unique_ptr<Item> delivered_;
  std::uint64_t bytes_before_ = 0;  // of the inputs before the current one
  std::uint64_t raw_bytes_ = 0;
  std::uint64_t lines_ = 0;
  bool has_compressed_ = false;

  std::mutex mutex_;  // of all below, of current_, and of the inputs' members except `reader`
  std::condition_variable work_;
  std::condition_variable delivery_;
  std::condition_variable waited_;
  std::vector<std::unique_ptr<Item>> free_;
  std::deque<Item*> unparsed_;
  std::size_t queued_bytes_ = 0;  // of the inputs' items, and of delivered_
  const std::function<void()>* wait_ = nullptr;
  std::exception_ptr failure_;
  bool is_stopping_ = false;
  std::vector<std::jthread> threads_;  // last: joined first
};

}  // namespace mankai::command
