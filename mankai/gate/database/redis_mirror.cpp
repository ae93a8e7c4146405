#include "mankai/gate/database/redis_mirror.hpp"

#include <array>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "mankai/gate/database/detail/gate_pieces.hpp"
#include "mankai/gate/database/detail/redis_load.hpp"
#include "mankai/remote/redis_connection.hpp"

namespace mankai {
namespace {

using detail::kBytesWithinLife;
using detail::kLoadLives;
using detail::kPieceBytes;

// Some servers refuse a command with more words, and it blocks other clients.
constexpr std::size_t kMostItems = 100'000;

GatePosition position_of(const Gate& gate) {
  return {.position = gate.position().value_or(0), .source_id = gate.source_id(), .mark = gate.position_mark()};
}

// Errors that no retry would change.
Result<void> check_can_be_kept(const std::string& key, const GatePosition& position) {
  MANKAI_TRY(detail::check_has_names_beside(key));
  if (position.source_id.empty() || position.position > std::numeric_limits<std::int64_t>::max()) {
    return fail(ErrorCode::invalid_argument, "the gate has no source with an id and a position below 2^63");
  }
  return {};
}

// Whether the key answers no queries yet: it is missing or incomplete.
bool is_no_gate_yet(std::string_view error) {
  return error == "ERR not found" || error.starts_with("ERR the filter is not complete");
}

}  // namespace

struct RedisMirror::Place {
  GatePosition position;
  std::uint64_t keys = 0;
  std::uint64_t stuck_cells = 0;

  [[nodiscard]] bool is_of(const Gate& gate) const {
    return position == position_of(gate) && keys == gate.filter().keys_inserted() &&
           stuck_cells == gate.filter().saturated_cells();
  }
};

RedisMirror::RedisMirror(RedisMirrorSettings settings) : settings_(std::move(settings)) {}
RedisMirror::~RedisMirror() = default;

Result<MirrorState> RedisMirror::bring(const Gate& gate) { return without_broken_connection(bring_or_fail(gate)); }

Result<MirrorState> RedisMirror::apply(const Gate& gate, const GateChanges& changes, const GatePosition& from) {
  return without_broken_connection(apply_or_fail(gate, changes, from));
}

Result<std::optional<GatePosition>> RedisMirror::position() {
  MANKAI_ASSIGN(const auto found, without_broken_connection(place()));
  return found ? std::optional(found->position) : std::nullopt;
}

template <class T>
Result<T> RedisMirror::without_broken_connection(Result<T> result) {
  if (!result) {
    connection_.reset();
    return std::unexpected(result.error().within(to_text(settings_.address)));
  }
  return result;
}

Result<RedisConnection*> RedisMirror::connected() {
  if (connection_ == nullptr) {
    MANKAI_ASSIGN(auto opened, RedisConnection::open(settings_.address, settings_.patience));
    connection_ = std::make_unique<RedisConnection>(std::move(opened));
  }
  return connection_.get();
}

Result<std::optional<RedisMirror::Place>> RedisMirror::place() {
  MANKAI_ASSIGN(const auto connection, connected());
  MANKAI_ASSIGN(const auto reply, connection->call(std::array<std::string_view, 2>{"GATE.INFO", settings_.key}));
  if (is_no_gate_yet(reply.error())) {
    return std::nullopt;
  }
  if (!reply.error().empty()) {
    return refused_by_redis(reply.error());
  }
  const auto source = reply.text_of("Source");
  const auto position = reply.number_of("Position");
  const auto mark = reply.text_of("Mark");
  const auto keys = reply.number_of("Number of items");
  const auto stuck = reply.number_of("Stuck counters");
  if (!source || !position || !mark || !keys || !stuck) {
    return fail(ErrorCode::invalid_argument, "GATE.INFO returned an unknown reply");
  }
  return Place{.position = {.position = *position, .source_id = std::string(*source), .mark = std::string(*mark)},
               .keys = *keys,
               .stuck_cells = *stuck};
}

Result<MirrorState> RedisMirror::bring_or_fail(const Gate& gate) {
  MANKAI_TRY(check_can_be_kept(settings_.key, position_of(gate)));
  MANKAI_ASSIGN(const auto found, place());
  if (const auto& there = found) {
    if (there->position.source_id != gate.source_id()) {
      return fail(ErrorCode::invalid_argument, "the key " + settings_.key + " is the gate " +
                                                   there->position.source_id + ", and this one is " + gate.source_id() +
                                                   "; use another key, or DEL it if that gate no longer exists");
    }
    if (there->is_of(gate)) {
      return take_away_litter(gate);
    }
  }
  return load(gate);
}

Result<MirrorState> RedisMirror::apply_or_fail(const Gate& gate, const GateChanges& changes, const GatePosition& from) {
  const KeptChanges kept = without_passing_keys(changes);
  const std::size_t items = kept.inserted.size() + kept.erased.size();
  if (changes.clears || items > kMostItems) {
    return bring_or_fail(gate);
  }
  MANKAI_ASSIGN(const auto connection, connected());
  const GatePosition to = position_of(gate);
  if (to == from && items != 0) {
    return load(gate);  // without a new position, nothing would tell whether the change was applied
  }
  const std::string from_number = std::to_string(from.position);
  const std::string to_number = std::to_string(to.position);
  const std::string inserted = std::to_string(kept.inserted.size());
  std::vector<std::string_view> words{"GATE.APPLY", settings_.key, to.source_id, from_number,
                                      from.mark,    to_number,     to.mark,      inserted};
  words.insert(words.end(), kept.inserted.begin(), kept.inserted.end());
  words.insert(words.end(), kept.erased.begin(), kept.erased.end());
  MANKAI_ASSIGN(const auto reply, connection->call(words));
  if (reply.error().empty()) {
    return MirrorState::in_step;
  }
  const bool is_elsewhere = is_no_gate_yet(reply.error()) || reply.error().starts_with("GATEPOSITION");
  return is_elsewhere ? bring_or_fail(gate) : refused_by_redis(reply.error());
}

// The header of an abandoned load may arrive at any later time, and then waits for cells.
Result<MirrorState> RedisMirror::take_away_litter(const Gate& gate) {
  if (has_given_up_) {
    const std::string name = detail::name_beside(settings_.key, gate.source_id());
    MANKAI_TRY((*connected())->must(std::array<std::string_view, 2>{"DEL", name}));
  }
  return MirrorState::in_step;
}

// Readers do not see the copy before it is complete. The next attempt removes what this one leaves; late commands fit
// no other load, and a late RENAME replaces only older copies.
Result<MirrorState> RedisMirror::load(const Gate& gate) {
  MANKAI_ASSIGN(const auto connection, connected());
  const std::string name = detail::name_beside(settings_.key, gate.source_id());
  const detail::GatePieces pieces(gate.filter(), position_of(gate));
  std::optional<Error> error;
  const auto send = [&](const auto&... words) {
    if (const auto done = connection->must(std::array<std::string_view, sizeof...(words)>{words...}); !done) {
      error = done.error();
    }
    return !error;
  };
  const auto send_cells = [&](std::size_t start, std::size_t bytes) {
    const bool lives = start % kBytesWithinLife != 0 || send("PEXPIRE", name, kLoadLives);
    const std::string iterator = std::to_string(1 + std::min(start + kPieceBytes, bytes));
    return lives && send("GATE.LOADCHUNK", name, iterator, pieces.cells(start, kPieceBytes));
  };
  bool is_sent = send("DEL", name) && send("GATE.LOADCHUNK", name, "1", pieces.header());
  const std::size_t bytes = gate.filter().cells().size();
  for (std::size_t start = 0; is_sent && start < bytes; start += kPieceBytes) {
    is_sent = send_cells(start, bytes);
  }
  is_sent = is_sent && send("PERSIST", name) && send("RENAME", name, settings_.key);
  has_given_up_ = has_given_up_ || !is_sent;
  return is_sent ? Result<MirrorState>(MirrorState::loaded) : std::unexpected(*error);
}

}  // namespace mankai
