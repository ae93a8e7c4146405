#include "modules/redis/engine/redis_abi.hpp"

#include <array>
#include <cstring>
#include <string_view>

namespace mankai::redis {

constinit Engine engine{};

namespace {

using GetFunction = int (*)(const char* name, void* where);

class Binder {
 public:
  explicit Binder(Context* context) noexcept {
    std::memcpy(static_cast<void*>(&get_), static_cast<void*>(context), sizeof(get_));
  }

  template <class Function>
  Binder& optional(const char* name, Function& function) noexcept {
    if (get_(name, static_cast<void*>(&function)) != kOk) {
      function = nullptr;
    }
    return *this;
  }
  template <class Function>
  Binder& required(const char* name, Function& function) noexcept {
    optional(name, function);
    if (function == nullptr && missing_ == nullptr) {
      missing_ = name;
    }
    return *this;
  }

  [[nodiscard]] const char* missing() const noexcept { return missing_; }

 private:
  GetFunction get_ = nullptr;
  const char* missing_ = nullptr;
};

void bind_module(Binder& binder) noexcept {
  binder.required("RedisModule_TryAlloc", engine.try_alloc)
      .required("RedisModule_Free", engine.free)
      .required("RedisModule_GetUsedMemoryRatio", engine.get_used_memory_ratio)
      .required("RedisModule_SetModuleAttribs", engine.set_module_attribs)
      .required("RedisModule_GetServerVersion", engine.get_server_version)
      .required("RedisModule_SetModuleOptions", engine.set_module_options)
      .required("RedisModule_Log", engine.log)
      .required("RedisModule_CreateCommand", engine.create_command)
      .required("RedisModule_GetCommand", engine.get_command)
      .required("RedisModule_SetCommandInfo", engine.set_command_info)
      .optional("RedisModule_AddACLCategory", engine.add_acl_category)
      .optional("RedisModule_SetCommandACLCategories", engine.set_command_acl_categories)
      .required("RedisModule_WrongArity", engine.wrong_arity)
      .required("RedisModule_GetContextFlags", engine.get_context_flags)
      .required("RedisModule_Milliseconds", engine.milliseconds);
}

void bind_values(Binder& binder) noexcept {
  binder.required("RedisModule_StringPtrLen", engine.string_ptr_len)
      .required("RedisModule_StringToLongLong", engine.string_to_long_long)
      .required("RedisModule_StringToDouble", engine.string_to_double)
      .required("RedisModule_CreateString", engine.create_string)
      .required("RedisModule_FreeString", engine.free_string)
      .required("RedisModule_ReplyWithLongLong", engine.reply_with_long_long)
      .required("RedisModule_ReplyWithBool", engine.reply_with_bool)
      .required("RedisModule_ReplyWithDouble", engine.reply_with_double)
      .required("RedisModule_ReplyWithNull", engine.reply_with_null)
      .required("RedisModule_ReplyWithStringBuffer", engine.reply_with_string_buffer)
      .required("RedisModule_ReplyWithSimpleString", engine.reply_with_simple_string)
      .required("RedisModule_ReplyWithError", engine.reply_with_error)
      .required("RedisModule_ReplyWithArray", engine.reply_with_array)
      .required("RedisModule_ReplyWithMap", engine.reply_with_map);
}

void bind_keys(Binder& binder) noexcept {
  binder.required("RedisModule_OpenKey", engine.open_key)
      .required("RedisModule_CloseKey", engine.close_key)
      .required("RedisModule_KeyType", engine.key_type)
      .required("RedisModule_ModuleTypeGetType", engine.module_type_get_type)
      .required("RedisModule_ModuleTypeGetValue", engine.module_type_get_value)
      .required("RedisModule_ModuleTypeSetValue", engine.module_type_set_value)
      .required("RedisModule_DeleteKey", engine.delete_key)
      .required("RedisModule_SignalModifiedKey", engine.signal_modified_key)
      .required("RedisModule_NotifyKeyspaceEvent", engine.notify_keyspace_event)
      .required("RedisModule_Replicate", engine.replicate)
      .required("RedisModule_ReplicateVerbatim", engine.replicate_verbatim);
}

void bind_types(Binder& binder) noexcept {
  binder.required("RedisModule_CreateDataType", engine.create_data_type)
      .required("RedisModule_SaveUnsigned", engine.save_unsigned)
      .required("RedisModule_LoadUnsigned", engine.load_unsigned)
      .required("RedisModule_SaveStringBuffer", engine.save_string_buffer)
      .required("RedisModule_LoadStringBuffer", engine.load_string_buffer)
      .required("RedisModule_IsIOError", engine.is_io_error)
      .required("RedisModule_LogIOError", engine.log_io_error)
      .required("RedisModule_EmitAOF", engine.emit_aof)
      .required("RedisModule_DigestAddStringBuffer", engine.digest_add_string_buffer)
      .required("RedisModule_DigestAddLongLong", engine.digest_add_long_long)
      .required("RedisModule_DigestEndSequence", engine.digest_end_sequence)
      .required("RedisModule_DefragAlloc", engine.defrag_alloc)
      .required("RedisModule_DefragShouldStop", engine.defrag_should_stop)
      .required("RedisModule_DefragCursorSet", engine.defrag_cursor_set)
      .required("RedisModule_DefragCursorGet", engine.defrag_cursor_get)
      .required("RedisModule_RegisterInfoFunc", engine.register_info_func)
      .required("RedisModule_InfoAddSection", engine.info_add_section)
      .required("RedisModule_InfoAddFieldULongLong", engine.info_add_field_u_long_long)
      .required("RedisModule_RegisterNumericConfig", engine.register_numeric_config)
      .required("RedisModule_RegisterStringConfig", engine.register_string_config)
      .required("RedisModule_LoadConfigs", engine.load_configs);
}

}  // namespace

const char* bind_engine(Context* context) noexcept {
  Binder binder(context);
  bind_module(binder);
  bind_values(binder);
  bind_keys(binder);
  bind_types(binder);
  void* of_valkey = nullptr;
  binder.optional("ValkeyModule_CreateCommand", of_valkey);
  engine.is_valkey = of_valkey != nullptr;
  return binder.missing();
}

}  // namespace mankai::redis
