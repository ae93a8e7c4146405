#include "mankai/remote/redis_reply.hpp"

#include <hiredis/read.h>

#include <algorithm>
#include <charconv>
#include <new>

namespace mankai {
namespace {

// Moves a finished value to its place: the next member of the array that is being read, or the whole reply.
void* place(const redisReadTask* task, RedisReply&& reply) {
  if (task->parent == nullptr) {
    return std::make_unique<RedisReply>(std::move(reply)).release();
  }
  return &static_cast<RedisReply*>(task->parent->obj)->members.emplace_back(std::move(reply));
}

void* create_text(const redisReadTask* task, char* bytes, std::size_t size) {
  const auto type = task->type == REDIS_REPLY_ERROR ? RedisReply::Type::error : RedisReply::Type::text;
  return place(task, {.type = type, .text = std::string(bytes, size)});
}

void* create_array(const redisReadTask* task, int members) {
  constexpr int kReserved = 1024;
  RedisReply reply{.type = RedisReply::Type::array};
  reply.members.reserve(static_cast<std::size_t>(std::clamp(members, 0, kReserved)));
  return place(task, std::move(reply));
}

void* create_integer(const redisReadTask* task, long long value) {  // NOLINT(google-runtime-int): hiredis' type
  return place(task, {.type = RedisReply::Type::integer, .integer = value});
}

void* create_nil(const redisReadTask* task) { return place(task, {}); }

void free_reply(void* reply) { std::unique_ptr<RedisReply>(static_cast<RedisReply*>(reply)).reset(); }

redisReplyObjectFunctions functions = {.createString = create_text,
                                       .createArray = create_array,
                                       .createInteger = create_integer,
                                       .createNil = create_nil,
                                       .freeObject = free_reply};

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

RedisReplyReader::RedisReplyReader() : reader_(redisReaderCreateWithFunctions(&functions), redisReaderFree) {
  if (reader_ == nullptr) {
    throw std::bad_alloc();
  }
  reader_->maxbuf = 0;  // keeps its buffer between replies
}

Result<void> RedisReplyReader::feed(std::string_view bytes) {
  if (redisReaderFeed(reader_.get(), bytes.data(), bytes.size()) != REDIS_OK) {
    return fail(ErrorCode::corrupt, std::string("invalid reply: ") + redisReaderGetError(reader_.get()));
  }
  return {};
}

Result<std::optional<RedisReply>> RedisReplyReader::next() {
  void* found = nullptr;
  if (redisReaderGetReply(reader_.get(), &found) != REDIS_OK) {
    return fail(ErrorCode::corrupt,
                std::string("invalid reply: ") + redisReaderGetError(reader_.get()) + "; is this a Redis server?");
  }
  if (found == nullptr) {
    return std::optional<RedisReply>();
  }
  const std::unique_ptr<RedisReply> reply(static_cast<RedisReply*>(found));
  return std::optional(std::move(*reply));
}

}  // namespace mankai
