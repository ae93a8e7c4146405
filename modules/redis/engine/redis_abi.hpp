#pragma once

/// The part of the engine's module interface that we use, declared here because no Debian package has its header.
///
/// The engine calls `RedisModule_OnLoad(context, arguments, count)`. The first pointer in the context is a function
/// that returns the address of any other by name ("RedisModule_" and the name below in CamelCase), so nothing is
/// linked. The structures here are part of the engine's binary interface. Their layout must never change. They may only
/// grow at the end, where a version or a size tells the engine how much to read.
///
/// Redis 7.0 is the oldest supported engine; Valkey uses the same names. Newer functions are marked, and are null in an
/// engine without them.

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace mankai::redis {

// Opaque types of the engine.
struct Context;
struct String;
struct Key;
struct Type;
struct Io;
struct DigestState;
struct InfoState;
struct CommandHandle;
struct DefragState;

inline constexpr int kOk = 0;
inline constexpr int kError = 1;
inline constexpr int kApiVersion = 1;

inline constexpr int kRead = 1;
inline constexpr int kWrite = 2;
inline constexpr int kKeyTypeEmpty = 0;

// Options of SetModuleOptions: the module checks for I/O errors itself; it signals modified keys itself; its type can
// be loaded while a replica still serves the old data; slots may be migrated at once (Valkey 9 and later, not Redis).
inline constexpr int kHandleIoErrors = 1 << 0;
inline constexpr int kNoImplicitSignalModified = 1 << 1;
inline constexpr int kHandleReplAsyncLoad = 1 << 2;
inline constexpr int kHandleAtomicSlotMigration = 1 << 5;

/// The class of keyspace events that belong to modules ("d" in notify-keyspace-events).
inline constexpr int kNotifyModule = 1 << 13;

// Flags of GetContextFlags: the server is a replica; maxmemory is set; an eviction policy is set; the command comes
// from the primary or an AOF; a file is being loaded; the client uses RESP3.
inline constexpr unsigned kContextReplica = 1U << 3U;
inline constexpr unsigned kContextMaxmemory = 1U << 8U;
inline constexpr unsigned kContextEvict = 1U << 9U;
inline constexpr unsigned kContextReplicated = 1U << 12U;
inline constexpr unsigned kContextLoading = 1U << 13U;
inline constexpr unsigned kContextResp3 = 1U << 22U;

/// Flags of configs: default; a number of bytes, such as 100mb; a name without the module's prefix (Redis 8 and later,
/// not Valkey).
inline constexpr unsigned kConfigDefault = 0;
inline constexpr unsigned kConfigMemory = 1U << 7U;
inline constexpr unsigned kConfigUnprefixed = 1U << 9U;

using CommandFunction = int (*)(Context*, String**, int);

/// The callbacks of a type. The engine reads as far as `version` says: 4 is up to copy2, of Redis 7.0.
struct TypeMethods {
  std::uint64_t version;
  void* (*rdb_load)(Io*, int encoding_version);
  void (*rdb_save)(Io*, void* value);
  void (*aof_rewrite)(Io*, String* key, void* value);
  std::size_t (*mem_usage)(const void* value);
  void (*digest)(DigestState*, void* value);
  void (*free)(void* value);
  int (*aux_load)(Io*, int encoding_version, int when);
  void (*aux_save)(Io*, int when);
  int aux_save_triggers;
  std::size_t (*free_effort)(String* key, const void* value);
  void (*unlink)(String* key, const void* value);
  void* (*copy)(String* from, String* to, const void* value);
  int (*defrag)(DefragState*, String* key, void** value);
  // Variants of four callbacks that also get the database; unused.
  void* mem_usage2;
  void* free_effort2;
  void* unlink2;
  void* copy2;
};
inline constexpr std::uint64_t kTypeMethodsVersion = 4;

/// Position and use of a command's keys among its arguments.
struct KeySpec {
  const char* notes;
  std::uint64_t flags;
  int begin_kind;  ///< 0 ends a list
  union {
    struct {
      int position;
    } index;
    struct {
      const char* keyword;
      int start_from;
    } keyword;
  } begin;
  int find_kind;
  union {
    struct {
      int last_key;  ///< relative to the first; -1: to the end
      int key_step;
      int limit;
    } range;
    struct {
      int count_index;
      int first_key;
      int key_step;
    } key_count;
  } find;
};
inline constexpr int kBeginAtIndex = 2;
inline constexpr int kFindRange = 2;
inline constexpr int kFindKeyCount = 3;
inline constexpr std::uint64_t kKeyReadOnly = 1U << 0U;
inline constexpr std::uint64_t kKeyReadWrite = 1U << 1U;
inline constexpr std::uint64_t kKeyAccess = 1U << 4U;
inline constexpr std::uint64_t kKeyUpdate = 1U << 5U;
inline constexpr std::uint64_t kKeyInsert = 1U << 6U;
inline constexpr std::uint64_t kKeyDelete = 1U << 7U;

enum class ArgumentKind : int { string, integer, real, key, pattern, unix_time, pure_token, one_of, block };
inline constexpr int kArgumentOptional = 1 << 0;
inline constexpr int kArgumentMultiple = 1 << 1;

/// One argument in COMMAND DOCS. An argument without a name ends a list.
struct CommandArgument {
  const char* name = nullptr;
  ArgumentKind kind{};
  int key_spec_index = 0;
  const char* token = nullptr;
  const char* summary = nullptr;
  const char* since = nullptr;
  int flags = 0;
  const char* deprecated_since = nullptr;
  const CommandArgument* parts = nullptr;
  const char* display_text = nullptr;
};

struct CommandHistory {
  const char* since;
  const char* changes;
};

struct CommandInfoVersion {
  int version;
  std::size_t history_bytes;
  std::size_t key_spec_bytes;
  std::size_t argument_bytes;
};

struct CommandInfo {
  const CommandInfoVersion* version;
  const char* summary;
  const char* complexity;
  const char* since;
  const CommandHistory* history;
  const char* tips;
  int arity;
  const KeySpec* key_specs;
  const CommandArgument* arguments;
};

/// The engine's functions, bound by name when the module is loaded.
struct Engine {
  // Memory. Only this counts towards used_memory.
  void* (*try_alloc)(std::size_t bytes);
  void (*free)(void* data);
  float (*get_used_memory_ratio)();  ///< above 1: more than maxmemory; 0: no limit

  // The module and its commands.
  int (*is_module_name_busy)(const char* name);
  void (*set_module_attribs)(Context*, const char* name, int version, int api_version);
  int (*get_server_version)();  ///< 0x00MMmmpp
  void (*set_module_options)(Context*, int options);
  void (*log)(Context*, const char* level, const char* format, ...);
  int (*create_command)(Context*, const char* name, CommandFunction, const char* flags, int first, int last, int step);
  CommandHandle* (*get_command)(Context*, const char* name);
  int (*set_command_info)(CommandHandle*, const CommandInfo*);
  int (*add_acl_category)(Context*, const char* name);                   ///< newer than 7.0
  int (*set_command_acl_categories)(CommandHandle*, const char* names);  ///< newer than 7.0
  // For commands with the flag getkeys-api: if it is such a request, they name their keys and do nothing else.
  int (*is_keys_position_request)(Context*);
  void (*key_at_pos_with_flags)(Context*, int position, int flags);
  int (*wrong_arity)(Context*);
  int (*get_context_flags)(Context*);
  long long (*milliseconds)();  ///< the clock: since 1970, UTC

  // Arguments.
  const char* (*string_ptr_len)(const String*, std::size_t* bytes);
  int (*string_to_long_long)(const String*, long long* value);
  int (*string_to_double)(const String*, double* value);
  String* (*create_string)(Context*, const char* data, std::size_t bytes);
  void (*free_string)(Context*, String*);

  // Replies.
  int (*reply_with_long_long)(Context*, long long);
  int (*reply_with_bool)(Context*, int);
  int (*reply_with_double)(Context*, double);
  int (*reply_with_null)(Context*);
  int (*reply_with_string_buffer)(Context*, const char*, std::size_t);
  int (*reply_with_simple_string)(Context*, const char*);
  int (*reply_with_error)(Context*, const char*);
  int (*reply_with_array)(Context*, long);
  int (*reply_with_map)(Context*, long);

  // Keys.
  Key* (*open_key)(Context*, String* name, int mode);
  void (*close_key)(Key*);
  int (*key_type)(Key*);
  Type* (*module_type_get_type)(Key*);
  void* (*module_type_get_value)(Key*);
  int (*module_type_set_value)(Key*, Type*, void*);
  int (*module_type_replace_value)(Key*, Type*, void*, void**);
  int (*delete_key)(Key*);
  long long (*get_abs_expire)(Key*);  ///< milliseconds since 1970; -1: none
  int (*set_abs_expire)(Key*, long long);
  int (*signal_modified_key)(Context*, String*);
  int (*notify_keyspace_event)(Context*, int kind, const char* event, String* key);

  // Replication.
  int (*replicate)(Context*, const char* command, const char* format, ...);
  int (*replicate_verbatim)(Context*);

  // Types.
  Type* (*create_data_type)(Context*, const char* name, int encoding_version, TypeMethods*);
  void (*save_unsigned)(Io*, std::uint64_t);
  std::uint64_t (*load_unsigned)(Io*);
  void (*save_signed)(Io*, std::int64_t);
  std::int64_t (*load_signed)(Io*);
  void (*save_double)(Io*, double);
  double (*load_double)(Io*);
  void (*save_string_buffer)(Io*, const char*, std::size_t);
  char* (*load_string_buffer)(Io*, std::size_t* bytes);
  int (*is_io_error)(Io*);
  const String* (*get_key_name_from_io)(Io*);  ///< null if the engine does not say
  void (*log_io_error)(Io*, const char* level, const char* format, ...);
  void (*emit_aof)(Io*, const char* command, const char* format, ...);
  void (*digest_add_string_buffer)(DigestState*, const char*, std::size_t);
  void (*digest_end_sequence)(DigestState*);
  void* (*defrag_alloc)(DefragState*, void* data);  ///< null: the block stays in place
  int (*defrag_should_stop)(DefragState*);
  int (*defrag_cursor_set)(DefragState*, unsigned long cursor);
  int (*defrag_cursor_get)(DefragState*, unsigned long* cursor);  ///< an error if there is none

  // INFO and CONFIG.
  int (*register_info_func)(Context*, void (*)(InfoState*, int for_crash_report));
  int (*info_add_section)(InfoState*, const char* name);
  int (*info_add_field_u_long_long)(InfoState*, const char* name, unsigned long long value);
  int (*info_add_field_c_string)(InfoState*, const char* name, const char* value);
  int (*register_numeric_config)(Context*, const char* name, long long initial, unsigned flags, long long least,
                                 long long most, long long (*get)(const char*, void*),
                                 int (*set)(const char*, long long, void*, String** error),
                                 int (*apply)(Context*, void*, String** error), void* data);
  int (*register_string_config)(Context*, const char* name, const char* initial, unsigned flags,
                                String* (*get)(const char*, void*),
                                int (*set)(const char*, String*, void*, String** error),
                                int (*apply)(Context*, void*, String** error), void* data);
  int (*register_enum_config)(Context*, const char* name, int initial, unsigned flags, const char** names,
                              const int* values, int count, int (*get)(const char*, void*),
                              int (*set)(const char*, int, void*, String** error),
                              int (*apply)(Context*, void*, String** error), void* data);
  int (*register_bool_config)(Context*, const char* name, int initial, unsigned flags, int (*get)(const char*, void*),
                              int (*set)(const char*, int, void*, String** error),
                              int (*apply)(Context*, void*, String** error), void* data);
  int (*load_configs)(Context*);

  bool is_valkey;
};

/// Null until `bind_engine`, then constant. Threads: any may read it.
extern Engine engine;

/// The bytes of a string of the engine, which belong to it.
[[nodiscard]] inline std::string_view text_of(const String* string) noexcept {
  std::size_t bytes = 0;
  const char* data = engine.string_ptr_len(string, &bytes);
  return {data, bytes};
}

/// Binds the functions. Returns the name of a required one that the engine lacks, or null.
[[nodiscard]] const char* bind_engine(Context* context) noexcept;

}  // namespace mankai::redis
