#pragma once

#include <cstdint>
#include <string>

#include "apps/mankai/store_options.hpp"
#include "mankai/base/error.hpp"
#include "mankai/store/store.hpp"

namespace mankai::command {

/// The changes of one command to a store. In mode `batches` each batch of input is written to the journal as it is
/// read, so that nothing that was read is lost. In mode `whole`, for keys given as arguments and for --position, all
/// changes are one batch, which is committed at the end.
class StoreRun {
 public:
  enum class Mode : std::uint8_t { batches, whole };

  /// Errors: as Store::open's; invalid_argument for a gate of a database.
  [[nodiscard]] static Result<StoreRun> open(const std::string& file, const StoreRequest& request, Mode mode);

  [[nodiscard]] Store& store() noexcept { return store_; }
  [[nodiscard]] bool is_whole() const noexcept { return mode_ == Mode::whole; }
  /// Counts keys that are now in the store, for messages.
  void note_keys(std::uint64_t keys) noexcept { keys_ += keys; }

  /// Commits what is one batch, and closes the store: then everything is on the disk. Where a signal asked to stop,
  /// what is one batch is given up, and of others what was read until then is in. Errors: io, out_of_space; with words
  /// about what is in the file.
  [[nodiscard]] Result<void> finish();
  /// Closes the store after an error, and adds to it what is in the file.
  [[nodiscard]] std::unexpected<Error> give_up(const Error& error);

 private:
  StoreRun(Store store, std::string file, std::string position, Mode mode);

  [[nodiscard]] std::string what_is_in() const;

  Store store_;
  std::string file_;
  std::string position_;
  Mode mode_;
  std::uint64_t keys_ = 0;
};

/// Whether a file may be changed by others than `mankai gate sync`, as far as is told by what stands beside it. Errors:
/// invalid_argument, with what to do instead, for one that is a gate of a database: its changes would go unnoticed, and
/// keys that have rows be "empty".
[[nodiscard]] Result<void> check_is_no_gate(const std::string& file);

/// As far as is told by its position, which goes wherever the file goes.
[[nodiscard]] Result<void> check_is_no_gate(const std::string& file, const Store& store);

/// By both, before a file is replaced, if it is there. Cost: reads it.
[[nodiscard]] Result<void> check_replaces_no_gate(const std::string& file);

}  // namespace mankai::command
