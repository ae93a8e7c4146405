#include "mankai/store/detail/forks.hpp"

#include <pthread.h>

namespace mankai::detail {

Forks& Forks::instance() {
  // Never destroyed: another thread may fork while the process exits.
  static Forks& forks = *new Forks;
  return forks;
}

Forks::Forks() {
  ::pthread_atfork([] { instance().mutex_.lock(); }, [] { instance().mutex_.unlock(); },
                   [] { instance().leave_in_child(); });
}

void Forks::leave_in_child() noexcept {
  for (SharedUse* use : uses_) {
    use->was_forked = true;
    use->lock.reset();
  }
  uses_.clear();
  mutex_.unlock();
}

}  // namespace mankai::detail
