#include "mankai/store/kept_filter.hpp"

#include <utility>

namespace mankai {

std::unexpected<Error> created_otherwise(const std::string& path, const std::string& how) {
  return fail(ErrorCode::invalid_argument,
              path + ": was created " + how + "; leave these options out, or use another file");
}

Result<KeptFilter> KeptFilter::open(const std::string& path, const Make& make, const StoreOptions& options) {
  auto store = Store::open(path, options);
  if (!store && store.error().code == ErrorCode::not_found) {
    MANKAI_ASSIGN(auto filter, make());
    auto created = Store::create(path, std::move(filter), options);
    if (created) {
      store = std::move(created);
    } else if (store = Store::open(path, options); !store && store.error().code == ErrorCode::not_found) {
      // No other process has created the file in between, so the error of create counts.
      return std::unexpected(created.error());
    }
  }
  MANKAI_ASSIGN(auto opened, std::move(store));
  return KeptFilter(std::move(opened), path, options);
}

Result<KeptFilter> KeptFilter::share(const std::string& path, const Make& make, const StoreOptions& options) {
  MANKAI_ASSIGN(auto shared, SharedFilter::open(path, make, options));
  return KeptFilter(std::move(shared));
}

void KeptFilter::begin(BatchMode mode) {
  if (store_) {
    store_->begin(mode);
    is_in_batch_ = true;
  }
}

Result<void> KeptFilter::commit(std::string_view position) {
  if (shared_ && !position.empty()) {
    return fail(ErrorCode::invalid_argument,
                "a filter that processes share has no position of one source; open it without sharing");
  }
  if (!store_) {
    return {};
  }
  auto committed = store_->commit(position);
  is_in_batch_ = is_in_batch_ && !committed;
  return committed;
}

Result<void> KeptFilter::close() {
  if (shared_) {
    return shared_->close();
  }
  if (!store_) {
    return {};
  }
  auto closed = store_->close();
  if (std::exchange(is_in_batch_, false)) {
    // What was committed is safe even if this fails; readers find a closed file.
    if (auto again = Store::open(path_, options_); again) {
      static_cast<void>(again->close());
    }
  }
  return closed;
}

}  // namespace mankai
