#include "modules/redis/engine/fields.hpp"

namespace mankai::redis {

template <class T>
Result<T> IoReader::unless_truncated(T value) const {
  return engine.is_io_error(io_) == 0 ? Result<T>(value) : fail(ErrorCode::io, "truncated");
}

Result<std::uint64_t> IoReader::unsigned_number() { return unless_truncated(engine.load_unsigned(io_)); }
Result<std::int64_t> IoReader::signed_number() { return unless_truncated(engine.load_signed(io_)); }
Result<double> IoReader::real() { return unless_truncated(engine.load_double(io_)); }

Result<std::span<const std::byte>> IoReader::string() {
  string_.reset();
  string_.emplace(io_);
  return unless_truncated(string_->bytes());
}

EmitCommand emit_to(Io* io, String* name) {
  return [=](const char* command, std::optional<long long> number, std::span<const std::byte> data) {
    if (number) {
      engine.emit_aof(io, command, "slb", name, *number, chars(data), data.size());
    } else {
      engine.emit_aof(io, command, "sb", name, chars(data), data.size());
    }
  };
}

EmitCommand replicate_to(const Call& call) noexcept {
  return [&call](const char* command, std::optional<long long> number, std::span<const std::byte> data) {
    if (number) {
      engine.replicate(call.context(), command, "slb", call.key(), *number, chars(data), data.size());
    } else {
      engine.replicate(call.context(), command, "sb", call.key(), chars(data), data.size());
    }
  };
}

}  // namespace mankai::redis
