#include "mankai/gate/database/detail/redis_connection.hpp"

#include <pthread.h>
#include <sys/time.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <vector>

namespace mankai::detail {
namespace {

// hiredis writes to its socket as to a file, so a broken connection would end the program by SIGPIPE.
class WithoutSigpipe {
 public:
  WithoutSigpipe() noexcept {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  WithoutSigpipe(const WithoutSigpipe&) = delete;
  WithoutSigpipe& operator=(const WithoutSigpipe&) = delete;
  ~WithoutSigpipe() {
    const int error = errno;
    const timespec at_once{};
    while (!was_pending_ && sigtimedwait(&pipe_, nullptr, &at_once) == -1 && errno == EINTR) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    errno = error;
  }

 private:
  sigset_t pipe_;
  sigset_t before_;
  bool was_pending_ = false;
};

timeval to_timeval(Duration duration) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(duration);
  const auto rest = std::chrono::duration_cast<std::chrono::microseconds>(duration - seconds);
  return {.tv_sec = static_cast<time_t>(seconds.count()), .tv_usec = static_cast<suseconds_t>(rest.count())};
}

std::string_view error_in(const redisReply& reply) {
  if (reply.type == REDIS_REPLY_ERROR) {
    return {reply.str, reply.len};
  }
  if (reply.type == REDIS_REPLY_ARRAY) {
    for (const redisReply* const member : std::span(reply.element, reply.elements)) {
      if (member->type == REDIS_REPLY_ERROR) {
        return {member->str, member->len};
      }
    }
  }
  return {};
}

// Keys share a cluster slot if the text between their first braces is the same.
bool has_slot_tag(std::string_view key) {
  const std::size_t open = key.find('{');
  const std::size_t close = open == std::string_view::npos ? open : key.find('}', open);
  return close != std::string_view::npos && close > open + 1;
}

bool begins_with_one_of(std::string_view text, std::span<const std::string_view> words) {
  return std::ranges::any_of(words, [&](std::string_view word) { return text.starts_with(word); });
}

}  // namespace

std::unexpected<Error> refused_by_redis(std::string_view reply) {
  constexpr std::array<std::string_view, 8> kLasting = {"WRONGTYPE", "NOAUTH",          "WRONGPASS",   "NOPERM",
                                                        "ERR AUTH",  "ERR Client sent", "ERR invalid", "ERR DB index"};
  const std::string said = "Redis says: " + std::string(reply);
  if (reply.starts_with("ERR unknown command")) {
    return fail(ErrorCode::invalid_argument, said + "; the server must load mankai-redis.so, of this version or later");
  }
  return fail(begins_with_one_of(reply, kLasting) ? ErrorCode::invalid_argument : ErrorCode::io, said);
}

std::string name_beside(const std::string& key, const std::string& what) {
  return (has_slot_tag(key) ? key : "{" + key + "}") + ":" + what;
}

Result<void> check_has_names_beside(const std::string& key) {
  if (key.find('}') != std::string::npos && !has_slot_tag(key)) {
    return fail(ErrorCode::invalid_argument,
                "the key " + key + " has a } without a { before it, so no other key shares its slot; use another key");
  }
  return {};
}

const redisReply* RedisReply::value_of(std::string_view name) const noexcept {
  if (reply_->type != REDIS_REPLY_ARRAY) {
    return nullptr;
  }
  const std::span members(reply_->element, reply_->elements);
  for (std::size_t i = 0; i + 1 < members.size(); i += 2) {
    const redisReply& member = *members[i];
    const bool is_text = member.type == REDIS_REPLY_STATUS || member.type == REDIS_REPLY_STRING;
    if (is_text && std::string_view(member.str, member.len) == name) {
      return members[i + 1];
    }
  }
  return nullptr;
}

std::optional<std::string_view> RedisReply::text_of(std::string_view name) const noexcept {
  const redisReply* const value = value_of(name);
  const bool is_text = value != nullptr && (value->type == REDIS_REPLY_STRING || value->type == REDIS_REPLY_STATUS);
  return is_text ? std::optional(std::string_view(value->str, value->len)) : std::nullopt;
}

std::optional<std::uint64_t> RedisReply::number_of(std::string_view name) const noexcept {
  const redisReply* const value = value_of(name);
  const bool is_number = value != nullptr && value->type == REDIS_REPLY_INTEGER && value->integer >= 0;
  return is_number ? std::optional(static_cast<std::uint64_t>(value->integer)) : std::nullopt;
}

std::string_view RedisReply::error() const noexcept { return error_in(*reply_); }

Result<RedisConnection> RedisConnection::open(const RedisAddress& address, Duration patience) {
  const timeval limit = to_timeval(patience);
  RedisConnection opened(address.socket.empty() ? redisConnectWithTimeout(address.host.c_str(), address.port, limit)
                                                : redisConnectUnixWithTimeout(address.socket.c_str(), limit));
  if (opened.context_ == nullptr) {
    return fail(ErrorCode::out_of_space, "no memory for a connection to Redis");
  }
  if (opened.context_->err != 0) {
    return opened.broken();
  }
  if (redisSetTimeout(opened.context_.get(), limit) != REDIS_OK) {
    return opened.broken();
  }
  MANKAI_TRY(opened.sign_on(address));
  return opened;
}

Result<void> RedisConnection::sign_on(const RedisAddress& address) {
  std::vector<std::string_view> words{"AUTH"};
  if (!address.user.empty()) {
    words.emplace_back(address.user);
  }
  words.emplace_back(address.password);
  if (!address.user.empty() || !address.password.empty()) {
    MANKAI_TRY(must(words));
  }
  if (address.database != 0) {
    const std::string database = std::to_string(address.database);
    MANKAI_TRY(must(std::array<std::string_view, 2>{"SELECT", database}));
  }
  return {};
}

Result<RedisReply> RedisConnection::call(std::span<const std::string_view> words) {
  std::vector<const char*> starts;
  std::vector<std::size_t> sizes;
  starts.reserve(words.size());
  sizes.reserve(words.size());
  for (const std::string_view word : words) {
    starts.push_back(word.data());
    sizes.push_back(word.size());
  }
  const WithoutSigpipe quiet;
  void* const reply = redisCommandArgv(context_.get(), static_cast<int>(words.size()), starts.data(), sizes.data());
  if (reply == nullptr) {
    return broken();
  }
  return RedisReply(static_cast<redisReply*>(reply));
}

Result<RedisReply> RedisConnection::must(std::span<const std::string_view> words) {
  auto reply = call(words);
  if (reply && !reply->error().empty()) {
    return refused_by_redis(reply->error());
  }
  return reply;
}

std::unexpected<Error> RedisConnection::broken() const {
  if (context_->err == REDIS_ERR_IO) {
    const bool is_late = errno == EAGAIN || errno == EWOULDBLOCK;
    return is_late ? fail(ErrorCode::io, "no answer in time") : fail(ErrorCode::io, "no connection", errno);
  }
  return fail(ErrorCode::io, "no connection: " + std::string(context_->errstr));
}

}  // namespace mankai::detail
