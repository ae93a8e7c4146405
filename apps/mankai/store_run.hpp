#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "apps/mankai/store_options.hpp"
#include "mankai/base/error.hpp"
#include "mankai/store/store.hpp"

namespace mankai::command {

/// The changes of one command to a store. Mode `batches` writes each batch of input to the journal at once, so a crash
/// loses nothing that was read. Mode `whole` makes all changes one batch, committed at the end; keys given as arguments
/// and --position use it.
class StoreRun {
 public:
  enum class Mode : std::uint8_t { batches, whole };

  /// Errors: as Store::open; invalid_argument for a gate of a database.
  [[nodiscard]] static Result<StoreRun> open(const std::string& file, const StoreRequest& request, Mode mode);

  [[nodiscard]] Store& store() noexcept { return store_; }
  [[nodiscard]] bool is_whole() const noexcept { return mode_ == Mode::whole; }
  /// Counts keys added to the store, for error messages. 0: other changes were made.
  void note_keys(std::uint64_t keys) noexcept {
    keys_ += keys;
    noted_ = store_.sequence();
  }

  /// Commits in mode `whole`, then closes the store, which syncs it. After a stop signal, mode `whole` discards its
  /// changes and mode `batches` keeps those made so far. Errors: io; out_of_space; the message says what the file
  /// contains. `where`: of the counted keys.
  [[nodiscard]] Result<void> finish(std::string_view where = "in");
  /// Closes the store after an error and appends to the error what the file contains. `where`: of the counted keys.
  [[nodiscard]] std::unexpected<Error> give_up(const Error& error, std::string_view where = "in");

 private:
  StoreRun(Store store, std::string file, std::string position, Mode mode);

  [[nodiscard]] std::string what_is_in(std::string_view where) const;

  Store store_;
  std::string file_;
  std::string position_;
  Mode mode_;
  std::uint64_t keys_ = 0;
  std::uint64_t noted_;  ///< the store's last change that is known here
};

/// Returns an error if a settings file next to this one says that it is a gate of a database: changes other than those
/// of `mankai gate sync` would give it false negatives. Errors: invalid_argument.
[[nodiscard]] Result<void> check_is_no_gate(const std::string& file);

/// The same by the store's position, which remains if the file is moved.
[[nodiscard]] Result<void> check_is_no_gate(const std::string& file, const Store& store);

/// Both checks, before a file is replaced; a missing file passes. Cost: reads the file.
[[nodiscard]] Result<void> check_replaces_no_gate(const std::string& file);

}  // namespace mankai::command
