#include "mankai/remote/redis_reply.hpp"

#include <hiredis/read.h>

#include <algorithm>
#include <charconv>
#include <new>

#include "mankai/base/number.hpp"

namespace mankai {
namespace {

/// Lines are short: types, sizes, numbers, status and errors.
constexpr std::size_t kMaxLineBytes = std::size_t{64} << 10U;
constexpr std::string_view kTooLarge = "it is larger than any reply to this command";
constexpr std::string_view kEndlessLine = "a line of more than 64 KiB";

void append_size(std::string& request, char letter, std::size_t size) {
  constexpr std::size_t kMostBytes = 24;
  char text[kMostBytes];  // NOLINT(*-avoid-c-arrays)
  text[0] = letter;
  char* end = std::to_chars(text + 1, text + kMostBytes - 2, size).ptr;
  *end++ = '\r';
  *end++ = '\n';
  request.append(text, end);
}

}  // namespace

/// What hiredis calls for each value. nullptr ends the reading.
struct RedisReplyReader::Builders {
  // Moves a finished value to its place: the next member of the array that is being read, or the whole reply.
  static void* place(const redisReadTask* task, std::size_t more_bytes, RedisReply&& reply) {
    Budget& budget = *static_cast<Budget*>(task->privdata);
    if (budget.left() < sizeof(RedisReply) || budget.left() - sizeof(RedisReply) < more_bytes) {
      budget.is_exceeded = true;
      return nullptr;
    }
    budget.used_bytes += sizeof(RedisReply) + (reply.type == RedisReply::Type::array ? 0 : more_bytes);
    if (task->parent == nullptr) {
      return std::make_unique<RedisReply>(std::move(reply)).release();
    }
    return &static_cast<RedisReply*>(task->parent->obj)->members.emplace_back(std::move(reply));
  }

  static void* create_text(const redisReadTask* task, char* bytes, std::size_t size) {
    const auto type = task->type == REDIS_REPLY_ERROR ? RedisReply::Type::error : RedisReply::Type::text;
    return place(task, size, {.type = type, .text = std::string(bytes, size)});
  }

  // Members are paid for as they arrive, but an array that has no room for them is refused at once.
  static void* create_array(const redisReadTask* task, int members) {
    constexpr std::size_t kReserved = 1024;
    const auto count = static_cast<std::size_t>(std::max(members, 0));
    RedisReply reply{.type = RedisReply::Type::array};
    if (task->parent == nullptr) {
      reply.members.reserve(std::min(count, kReserved));
    }
    return place(task, count * sizeof(RedisReply), std::move(reply));
  }

  static void* create_integer(const redisReadTask* task,
                              long long value) {  // NOLINT(google-runtime-int): hiredis' type
    return place(task, 0, {.type = RedisReply::Type::integer, .integer = value});
  }

  static void* create_nil(const redisReadTask* task) { return place(task, 0, {}); }

  static void free_reply(void* reply) { std::unique_ptr<RedisReply>(static_cast<RedisReply*>(reply)).reset(); }

  static inline redisReplyObjectFunctions functions = {.createString = create_text,
                                                       .createArray = create_array,
                                                       .createInteger = create_integer,
                                                       .createNil = create_nil,
                                                       .freeObject = free_reply};
};

const RedisReply* RedisReply::value_of(std::string_view name) const noexcept {
  for (std::size_t i = 0; i + 1 < members.size(); i += 2) {
    if (members[i].type == Type::text && members[i].text == name) {
      return &members[i + 1];
    }
  }
  return nullptr;
}

std::optional<std::string_view> RedisReply::text_of(std::string_view name) const noexcept {
  const RedisReply* const value = value_of(name);
  return value != nullptr && value->type == Type::text ? std::optional(std::string_view(value->text)) : std::nullopt;
}

std::optional<std::uint64_t> RedisReply::number_of(std::string_view name) const noexcept {
  const RedisReply* const value = value_of(name);
  const bool is_number = value != nullptr && value->type == Type::integer && value->integer >= 0;
  return is_number ? std::optional(static_cast<std::uint64_t>(value->integer)) : std::nullopt;
}

std::string_view RedisReply::error() const noexcept {
  if (type == Type::error) {
    return text;
  }
  const auto found = std::ranges::find(members, Type::error, &RedisReply::type);
  return found == members.end() ? std::string_view() : found->text;
}

void append_header(std::string& request, std::size_t words) { append_size(request, '*', words); }

void append_word(std::string& request, std::string_view word) {
  append_size(request, '$', word.size());
  request.append(word).append("\r\n");
}

std::string request_of(std::span<const std::string_view> words) {
  std::string request;
  append_header(request, words.size());
  for (const std::string_view word : words) {
    append_word(request, word);
  }
  return request;
}

RedisReplyReader::RedisReplyReader()
    : budget_(std::make_unique<Budget>()),
      reader_(redisReaderCreateWithFunctions(&Builders::functions), redisReaderFree) {
  if (reader_ == nullptr) {
    throw std::bad_alloc();
  }
  reader_->privdata = budget_.get();
  reader_->maxbuf = 0;  // keeps its buffer between replies
}

Result<void> RedisReplyReader::feed(std::string_view bytes) {
  if (!failure_.empty() || redisReaderFeed(reader_.get(), bytes.data(), bytes.size()) != REDIS_OK) {
    return invalid();
  }
  return {};
}

std::unexpected<Error> RedisReplyReader::invalid() const {
  const std::string why(failure_.empty() ? redisReaderGetError(reader_.get()) : failure_);
  return fail(ErrorCode::corrupt, "invalid reply: " + why + "; is this a Redis server?");
}

// The buffer starts with a value that is not complete, after its type. hiredis looks for the end of its first line at
// every call.
void RedisReplyReader::check_incomplete() {
  const std::string_view rest(reader_->buf + reader_->pos, reader_->len - reader_->pos);
  const std::string_view line = rest.substr(0, rest.substr(0, kMaxLineBytes).find("\r\n"));
  if (line.size() >= kMaxLineBytes) {
    failure_ = kEndlessLine;
  } else if (reader_->ridx >= 0 && reader_->rstack[reader_->ridx].type == REDIS_REPLY_STRING &&
             line.size() < rest.size() && to_number<std::size_t>(line).value_or(0) > budget_->left()) {
    failure_ = kTooLarge;
  }
}

Result<std::optional<RedisReply>> RedisReplyReader::next(std::size_t max_bytes) {
  budget_->max_bytes = max_bytes;
  void* found = nullptr;
  if (!failure_.empty() || redisReaderGetReply(reader_.get(), &found) != REDIS_OK) {
    failure_ = budget_->is_exceeded ? kTooLarge : failure_;
    return invalid();
  }
  if (found == nullptr) {
    check_incomplete();
    return failure_.empty() ? Result<std::optional<RedisReply>>(std::nullopt) : invalid();
  }
  budget_->used_bytes = 0;
  const std::unique_ptr<RedisReply> reply(static_cast<RedisReply*>(found));
  return std::optional(std::move(*reply));
}

}  // namespace mankai
