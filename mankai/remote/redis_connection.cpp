#include "mankai/remote/redis_connection.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <vector>

#include "mankai/remote/detail/socket.hpp"
#include "mankai/remote/detail/tls_session.hpp"

namespace mankai {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kRoomBytes = std::size_t{256} << 10U;

std::unexpected<Error> closed_by_server() { return fail(ErrorCode::io, "no connection: the server closed it"); }

}  // namespace

std::unexpected<Error> refused_by_redis(std::string_view reply) {
  constexpr std::array<std::string_view, 7> kLasting = {"WRONGTYPE",       "WRONGPASS",   "NOPERM",      "ERR AUTH",
                                                        "ERR Client sent", "ERR invalid", "ERR DB index"};
  constexpr std::size_t kMostShown = 512;
  const std::string said = "Redis says: " + std::string(reply.substr(0, kMostShown));
  if (reply.starts_with("ERR unknown command")) {
    return fail(ErrorCode::invalid_argument, said + "; the server must load mankai-redis.so, of this version or later");
  }
  if (reply.starts_with("NOAUTH")) {
    return fail(ErrorCode::invalid_argument, said + "; give the password, to commands in MANKAI_REDIS_PASSWORD");
  }
  const bool is_lasting = std::ranges::any_of(kLasting, [&](std::string_view word) { return reply.starts_with(word); });
  return fail(is_lasting ? ErrorCode::invalid_argument : ErrorCode::io, said);
}

RedisConnection::RedisConnection(detail::Socket socket, Duration patience)
    : socket_(std::make_unique<detail::Socket>(std::move(socket))),
      patience_(patience),
      room_(std::make_unique_for_overwrite<char[]>(kRoomBytes)) {}

RedisConnection::RedisConnection(RedisConnection&& other) noexcept = default;
RedisConnection& RedisConnection::operator=(RedisConnection&& other) noexcept = default;
RedisConnection::~RedisConnection() = default;

int RedisConnection::descriptor() const noexcept { return socket_->descriptor(); }

Result<RedisConnection> RedisConnection::open(const RedisAddress& address, Duration patience) {
  const auto deadline = Clock::now() + patience;
  MANKAI_ASSIGN(auto socket, detail::Socket::connect(address, deadline));
  RedisConnection opened(std::move(socket), patience);
  if (address.has_tls) {
    MANKAI_TRY(opened.begin_tls(address, deadline));
  }
  MANKAI_TRY(opened.sign_on(address));
  return opened;
}

Result<void> RedisConnection::begin_tls(const RedisAddress& address, std::chrono::steady_clock::time_point deadline) {
  MANKAI_ASSIGN(tls_, detail::TlsSession::create(address));
  for (;;) {
    auto done = tls_->shake_hands();
    tls_->take_output(encrypted_);
    while (wants_write()) {
      MANKAI_TRY(write_some());
      MANKAI_TRY(wants_write() ? socket_->wait(POLLOUT, deadline) : Result<void>());
    }
    if (!done) {
      return std::unexpected(done.error());
    }
    if (*done) {
      return {};
    }
    MANKAI_TRY(socket_->wait(POLLIN, deadline));
    MANKAI_ASSIGN(const std::size_t received, receive({room_.get(), kRoomBytes}));
    tls_->add_received({room_.get(), received});
  }
}

Result<void> RedisConnection::sign_on(const RedisAddress& address) {
  std::vector<std::string_view> words{"AUTH"};
  if (!address.user.empty()) {
    words.emplace_back(address.user);
  }
  words.emplace_back(address.password);
  if (!address.user.empty() || !address.password.empty()) {
    if (const auto done = must(words); !done) {
      Error error = done.error();
      // A server without AUTH repeats its arguments.
      if (const std::size_t at = error.detail.find(address.password);
          at != std::string::npos && !address.password.empty()) {
        error.detail.replace(at, std::string::npos, "…");
      }
      return std::unexpected(std::move(error));
    }
  }
  if (address.database != 0) {
    const std::string database = std::to_string(address.database);
    MANKAI_TRY(must(std::array<std::string_view, 2>{"SELECT", database}));
  }
  return {};
}

Result<RedisReply> RedisConnection::call(std::span<const std::string_view> words) {
  const auto deadline = Clock::now() + patience_;
  append(request_of(words));
  for (;;) {
    MANKAI_TRY(write_some());
    MANKAI_ASSIGN(auto reply, next());
    if (reply) {
      return *std::move(reply);
    }
    MANKAI_TRY(socket_->wait(static_cast<short>(POLLIN | (wants_write() ? POLLOUT : 0)), deadline));
    MANKAI_TRY(read_some());
  }
}

Result<RedisReply> RedisConnection::must(std::span<const std::string_view> words) {
  auto reply = call(words);
  if (reply && !reply->error().empty()) {
    return refused_by_redis(reply->error());
  }
  return reply;
}

std::uint64_t RedisConnection::append(std::string_view request) {
  // While the server is slow to read, output_ is never empty.
  if (output_sent_ > output_.size() / 2) {
    output_.erase(0, output_sent_);
    output_sent_ = 0;
  }
  output_.append(request);
  return appended_ += request.size();
}

bool RedisConnection::wants_write() const noexcept { return !output_.empty() || !encrypted_.empty(); }

Result<void> RedisConnection::write_some() {
  if (tls_ == nullptr) {
    const std::size_t before = output_sent_;
    const std::size_t size = output_.size();
    auto sent = send(output_, output_sent_);
    written_ += (output_.empty() ? size : output_sent_) - before;  // also before an error
    return sent;
  }
  // Encrypts only what the system takes soon, so that `written` means what it says.
  while (wants_write()) {
    if (encrypted_.empty()) {
      const std::string_view some = std::string_view(output_).substr(output_sent_, kRoomBytes);
      MANKAI_TRY(tls_->encrypt(some));
      tls_->take_output(encrypted_);
      written_ += some.size();
      output_sent_ += some.size();
      if (output_sent_ == output_.size()) {
        output_.clear();
        output_sent_ = 0;
      }
    }
    MANKAI_TRY(send(encrypted_, encrypted_sent_));
    if (!encrypted_.empty()) {
      break;
    }
  }
  return {};
}

Result<void> RedisConnection::read_some() {
  MANKAI_ASSIGN(const std::size_t received, receive({room_.get(), kRoomBytes}));
  if (received == 0) {
    return {};
  }
  const std::string_view bytes(room_.get(), received);
  return tls_ == nullptr ? reader_.feed(bytes) : feed_decrypted(bytes);
}

Result<void> RedisConnection::feed_decrypted(std::string_view bytes) {
  tls_->add_received(bytes);
  for (;;) {
    MANKAI_ASSIGN(const std::size_t plain, tls_->decrypt({room_.get(), kRoomBytes}));
    if (plain == 0) {
      tls_->take_output(encrypted_);
      return {};
    }
    MANKAI_TRY(reader_.feed({room_.get(), plain}));
  }
}

Result<void> RedisConnection::send(std::string& bytes, std::size_t& sent) const {
  while (sent < bytes.size()) {
    const ssize_t done = ::send(descriptor(), bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (done >= 0) {
      sent += static_cast<std::size_t>(done);
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      return {};
    } else if (errno == EPIPE) {
      return closed_by_server();  // without EPIPE, which means to a command that its output is closed
    } else if (errno != EINTR) {
      return fail(ErrorCode::io, "no connection", errno);
    }
  }
  bytes.clear();
  sent = 0;
  return {};
}

Result<std::size_t> RedisConnection::receive(std::span<char> room) const {
  for (;;) {
    const ssize_t done = ::recv(descriptor(), room.data(), room.size(), 0);
    if (done > 0) {
      return static_cast<std::size_t>(done);
    }
    if (done == 0) {
      return closed_by_server();
    }
    if (errno == EAGAIN || errno == EWOULDBLOCK) {
      return 0;
    }
    if (errno != EINTR) {
      return fail(ErrorCode::io, "no connection", errno);
    }
  }
}

}  // namespace mankai
