#include <shared_mutex>
#include <span>
#include <utility>

#include "mankai/c/detail/arguments.hpp"
#include "mankai/c/detail/handle.hpp"
#include "mankai/c/detail/options.hpp"
#include "mankai/c/detail/stored.hpp"
#include "mankai/c/mankai.h"
#include "mankai/seen/confirmed_seen.hpp"

/// The handle of exact memories.
struct mankai_confirmed : mankai::c::HandleOf<mankai::c::HandleType::confirmed> {
  explicit mankai_confirmed(mankai::ConfirmedSeen made) : HandleOf(true), body{std::move(made), {}} {}

  struct Body {
    mankai::ConfirmedSeen seen;
    mankai::Result<void> failure;  ///< of a commit: nothing more may be observed
  };

  mutable std::shared_mutex mutex;
  Body body;
};

namespace mankai::c {
namespace {

using Answer = ConfirmedSeen::Answer;
// One-byte enumerators may be written through a pointer to bytes.
static_assert(sizeof(Answer) == sizeof(mankai_confirmed_answer));
static_assert(static_cast<int>(Answer::fresh) == MANKAI_CONFIRMED_NEW);
static_assert(static_cast<int>(Answer::repeat) == MANKAI_CONFIRMED_REPEAT);
static_assert(static_cast<int>(Answer::rescued) == MANKAI_CONFIRMED_RESCUED);

Result<ConfirmedSeenRequest> confirmed_request_of(const mankai_confirmed_request& known) {
  ConfirmedSeenRequest request;
  request.keys = if_set(known.keys).value_or(request.keys);
  request.fpr = if_set(known.fpr).value_or(request.fpr);
  MANKAI_ASSIGN(request.hash, hash_of_name(known.hash));
  MANKAI_ASSIGN(request.seed, seed_of_text(known.seed));
  MANKAI_ASSIGN(request.canonical, choice_of(known.canonical, "canonical"));
  return request;
}

int observe_confirmed(mankai_confirmed* confirmed, KeySource source, mankai_confirmed_answer* answers) noexcept {
  return change_alone(confirmed, [&](mankai_confirmed::Body& body) -> Result<void> {
    MANKAI_TRY(body.failure);
    MANKAI_ASSIGN(const auto keys, source.checked());
    return use_at_once(keys, reinterpret_cast<Answer*>(answers), "answers", Answer::repeat,
                       [&](auto views, std::span<Answer> outcomes) {
                         body.seen.observe(views, outcomes);
                         return Result<void>();
                       });
  });
}

}  // namespace
}  // namespace mankai::c

using namespace mankai;
using namespace mankai::c;

int mankai_confirmed_open(const char* path, const mankai_confirmed_request* request, mankai_confirmed** confirmed) {
  return open_handle(confirmed, "confirmed", [&]() -> Result<std::unique_ptr<mankai_confirmed>> {
    MANKAI_TRY(check_given(path, "path"));
    MANKAI_ASSIGN(const auto known, read_sized(request));
    MANKAI_ASSIGN(const auto wanted, confirmed_request_of(known));
    // The mode is checked as that of any file.
    mankai_file_options file{};
    file.size = sizeof(file);
    file.mode = known.mode;
    MANKAI_ASSIGN(const auto options, options_to_open(&file));
    DigestLogOptions log;
    log.mode = options.mode;
    MANKAI_ASSIGN(auto seen, ConfirmedSeen::open(path, wanted, log));
    return std::make_unique<mankai_confirmed>(std::move(seen));
  });
}

int mankai_confirmed_observe(mankai_confirmed* confirmed, const mankai_key* keys, size_t count,
                             mankai_confirmed_answer* answers) {
  return observe_confirmed(confirmed, KeySource(keys, count), answers);
}

int mankai_confirmed_observe_packed(mankai_confirmed* confirmed, const mankai_packed* keys,
                                    mankai_confirmed_answer* answers) {
  return observe_confirmed(confirmed, KeySource(keys), answers);
}

int mankai_confirmed_observe_one(mankai_confirmed* confirmed, const void* key, size_t bytes,
                                 mankai_confirmed_answer* answer) {
  const mankai_key one{key, bytes};
  return mankai_confirmed_observe(confirmed, &one, 1, answer);
}

int mankai_confirmed_commit(mankai_confirmed* confirmed) {
  return change_alone(confirmed, [](mankai_confirmed::Body& body) -> Result<void> {
    MANKAI_TRY(body.failure);
    body.failure = fail(ErrorCode::out_of_space, "no memory");  // stays if memory runs out
    body.failure = body.seen.commit();
    return body.failure;
  });
}

int mankai_confirmed_sync(mankai_confirmed* confirmed) {
  return change_alone(confirmed, [](mankai_confirmed::Body& body) { return body.seen.sync(); });
}

int mankai_confirmed_get_facts(const mankai_confirmed* confirmed, mankai_confirmed_facts* facts) {
  return read_shared(confirmed, [&](const mankai_confirmed::Body& body) {
    const DigestLog& log = body.seen.log();
    return write_sized(mankai_confirmed_facts{.size = sizeof(mankai_confirmed_facts),
                                              .keys = log.digests(),
                                              .file_bytes = log.file_bytes(),
                                              .memory_bytes = body.seen.memory_bytes(),
                                              .dropped_bytes = log.dropped_bytes()},
                       facts, "facts");
  });
}

int mankai_confirmed_close(mankai_confirmed* confirmed) {
  return close_handle(confirmed, [](mankai_confirmed& handle) { return handle.body.seen.close(); });
}
