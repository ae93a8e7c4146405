#include "mankai/gate/gate_follower.hpp"

#include <mutex>
#include <utility>

#include "mankai/gate/detail/gate_core.hpp"
#include "mankai/gate/detail/gate_file.hpp"
#include "mankai/gate/gate_position.hpp"
#include "mankai/store/filter_file.hpp"

namespace mankai {
namespace {

struct Copy {
  AnyFilter filter;
  RecoveryReport report;
  std::optional<std::uint64_t> position;
};

Result<Copy> read_copy(const std::string& path, const GateOptions& options) {
  RecoveryReport report;
  MANKAI_ASSIGN(auto filter, open_filter(path, Access::query, options.store.trust, options.store.memory, &report));
  auto fits = detail::check_is_gate(filter);
  auto position = detail::gate_position_of(report.position);
  if (!fits || !position) {
    return std::unexpected((fits ? position.error() : fits.error()).within(path));
  }
  std::optional<std::uint64_t> number;
  if (*position) {
    number = (*position)->position;
  }
  return Copy{.filter = std::move(filter), .report = std::move(report), .position = number};
}

// Two builds may stand at the same numbers, but not with the same seed.
bool is_same(const Copy& a, const Copy& b) {
  return a.report.sequence == b.report.sequence && a.report.position == b.report.position &&
         a.filter.as<CountingBloom>()->hash() == b.filter.as<CountingBloom>()->hash();
}

}  // namespace

class GateFollower::Impl {
 public:
  Impl(std::string path, const GateOptions& options, Copy copy)
      : path_(std::move(path)),
        options_(options),
        copy_(std::make_unique<Copy>(std::move(copy))),
        core_(*copy_->filter.as<CountingBloom>(), options.memo_bytes) {
    core_.set_position(copy_->position);
  }

  Result<bool> refresh() {
    const std::lock_guard lock(refreshing_);
    MANKAI_ASSIGN(auto read, read_copy(path_, options_));
    if (is_same(read, *copy_)) {
      return false;
    }
    auto fresh = std::make_unique<Copy>(std::move(read));
    core_.exclusive([&](const CountingBloom*& filter) {
      filter = fresh->filter.as<CountingBloom>();
      core_.memo().drop_all();
      core_.set_position(fresh->position);
    });
    copy_ = std::move(fresh);
    return true;
  }

  [[nodiscard]] detail::GateCore& core() noexcept { return core_; }
  [[nodiscard]] const CountingBloom& counters() const noexcept { return *copy_->filter.as<CountingBloom>(); }

 private:
  std::string path_;
  GateOptions options_;
  std::mutex refreshing_;
  std::unique_ptr<Copy> copy_;
  detail::GateCore core_;
};

GateFollower::GateFollower(std::unique_ptr<Impl> impl) noexcept : impl_(std::move(impl)) {}
GateFollower::GateFollower(GateFollower&&) noexcept = default;
GateFollower& GateFollower::operator=(GateFollower&&) noexcept = default;
GateFollower::~GateFollower() = default;

Result<GateFollower> GateFollower::open(const std::string& path, const GateOptions& options) {
  MANKAI_ASSIGN(auto copy, read_copy(path, options));
  return GateFollower(std::make_unique<Impl>(path, options, std::move(copy)));
}

Result<bool> GateFollower::refresh() { return impl_->refresh(); }
GateAnswer GateFollower::maybe(std::string_view key) const noexcept { return impl_->core().maybe(key, 0); }
GateAnswer GateFollower::maybe(std::string_view key, std::uint64_t after) const noexcept {
  return impl_->core().maybe(key, after);
}
void GateFollower::report_false_positive(std::string_view key, const GateAnswer& answer) const noexcept {
  impl_->core().report(key, answer);
}
std::optional<std::uint64_t> GateFollower::position() const noexcept { return impl_->core().position(); }
GateCounts GateFollower::counts() const noexcept { return impl_->core().counts(); }
GateFacts GateFollower::facts() const { return gate_facts(impl_->counters()); }

}  // namespace mankai
