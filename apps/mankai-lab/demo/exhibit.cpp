#include "apps/mankai-lab/demo/exhibit.hpp"

#include <algorithm>
#include <ctime>

namespace mankai::command::demo {

double thread_seconds() noexcept {
  constexpr double kNanosecond = 1e-9;
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * kNanosecond;
}

void Answers::count(bool is_yes, bool is_really_yes) noexcept {
  ++asked;
  yes += is_yes ? 1 : 0;
  really_yes += is_really_yes ? 1 : 0;
  negatives += is_really_yes ? 0 : 1;
  false_negatives += is_really_yes && !is_yes ? 1 : 0;
  false_positives += is_yes && !is_really_yes ? 1 : 0;
}

void Answers::add_costs(const Measured& measured) noexcept {
  bytes = measured.ours.bytes;
  exact_bytes = measured.exact.bytes;
  seconds = measured.ours.seconds;
  exact_seconds = measured.exact.seconds;
}

double Answers::false_positive_rate() const noexcept {
  return negatives == 0 ? 0 : static_cast<double>(false_positives) / static_cast<double>(negatives);
}

double Answers::memory_ratio() const noexcept {
  return static_cast<double>(exact_bytes) / static_cast<double>(std::max<std::uint64_t>(bytes, 1));
}

double Answers::ns_of(double some_seconds) const noexcept {
  return some_seconds * 1e9 / static_cast<double>(std::max<std::uint64_t>(steps > 0 ? steps : asked, 1));
}

}  // namespace mankai::command::demo
