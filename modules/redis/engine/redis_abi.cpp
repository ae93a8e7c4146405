#include "modules/redis/engine/redis_abi.hpp"

#include <array>
#include <cstring>

namespace mankai::redis {

constinit Engine engine{};

namespace {

using GetFunction = int (*)(const char* name, void* where);

struct Binding {
  const char* name;
  void* where;  // a pointer to a function
  bool is_required = true;
};

const std::array kBindings = {
    Binding{"RedisModule_TryAlloc", static_cast<void*>(&engine.try_alloc)},
    Binding{"RedisModule_Free", static_cast<void*>(&engine.free)},
    Binding{"RedisModule_GetUsedMemoryRatio", static_cast<void*>(&engine.get_used_memory_ratio)},
    Binding{"RedisModule_IsModuleNameBusy", static_cast<void*>(&engine.is_module_name_busy)},
    Binding{"RedisModule_SetModuleAttribs", static_cast<void*>(&engine.set_module_attribs)},
    Binding{"RedisModule_GetServerVersion", static_cast<void*>(&engine.get_server_version)},
    Binding{"RedisModule_SetModuleOptions", static_cast<void*>(&engine.set_module_options)},
    Binding{"RedisModule_Log", static_cast<void*>(&engine.log)},
    Binding{"RedisModule_CreateCommand", static_cast<void*>(&engine.create_command)},
    Binding{"RedisModule_GetCommand", static_cast<void*>(&engine.get_command)},
    Binding{"RedisModule_SetCommandInfo", static_cast<void*>(&engine.set_command_info)},
    Binding{"RedisModule_AddACLCategory", static_cast<void*>(&engine.add_acl_category), false},
    Binding{"RedisModule_SetCommandACLCategories", static_cast<void*>(&engine.set_command_acl_categories), false},
    Binding{"RedisModule_IsKeysPositionRequest", static_cast<void*>(&engine.is_keys_position_request)},
    Binding{"RedisModule_KeyAtPosWithFlags", static_cast<void*>(&engine.key_at_pos_with_flags)},
    Binding{"RedisModule_WrongArity", static_cast<void*>(&engine.wrong_arity)},
    Binding{"RedisModule_GetContextFlags", static_cast<void*>(&engine.get_context_flags)},
    Binding{"RedisModule_Milliseconds", static_cast<void*>(&engine.milliseconds)},
    Binding{"RedisModule_StringPtrLen", static_cast<void*>(&engine.string_ptr_len)},
    Binding{"RedisModule_StringToLongLong", static_cast<void*>(&engine.string_to_long_long)},
    Binding{"RedisModule_StringToDouble", static_cast<void*>(&engine.string_to_double)},
    Binding{"RedisModule_CreateString", static_cast<void*>(&engine.create_string)},
    Binding{"RedisModule_FreeString", static_cast<void*>(&engine.free_string)},
    Binding{"RedisModule_ReplyWithLongLong", static_cast<void*>(&engine.reply_with_long_long)},
    Binding{"RedisModule_ReplyWithBool", static_cast<void*>(&engine.reply_with_bool)},
    Binding{"RedisModule_ReplyWithDouble", static_cast<void*>(&engine.reply_with_double)},
    Binding{"RedisModule_ReplyWithNull", static_cast<void*>(&engine.reply_with_null)},
    Binding{"RedisModule_ReplyWithStringBuffer", static_cast<void*>(&engine.reply_with_string_buffer)},
    Binding{"RedisModule_ReplyWithSimpleString", static_cast<void*>(&engine.reply_with_simple_string)},
    Binding{"RedisModule_ReplyWithError", static_cast<void*>(&engine.reply_with_error)},
    Binding{"RedisModule_ReplyWithArray", static_cast<void*>(&engine.reply_with_array)},
    Binding{"RedisModule_ReplyWithMap", static_cast<void*>(&engine.reply_with_map)},
    Binding{"RedisModule_OpenKey", static_cast<void*>(&engine.open_key)},
    Binding{"RedisModule_CloseKey", static_cast<void*>(&engine.close_key)},
    Binding{"RedisModule_KeyType", static_cast<void*>(&engine.key_type)},
    Binding{"RedisModule_ModuleTypeGetType", static_cast<void*>(&engine.module_type_get_type)},
    Binding{"RedisModule_ModuleTypeGetValue", static_cast<void*>(&engine.module_type_get_value)},
    Binding{"RedisModule_ModuleTypeSetValue", static_cast<void*>(&engine.module_type_set_value)},
    Binding{"RedisModule_ModuleTypeReplaceValue", static_cast<void*>(&engine.module_type_replace_value)},
    Binding{"RedisModule_DeleteKey", static_cast<void*>(&engine.delete_key)},
    Binding{"RedisModule_GetAbsExpire", static_cast<void*>(&engine.get_abs_expire)},
    Binding{"RedisModule_SetAbsExpire", static_cast<void*>(&engine.set_abs_expire)},
    Binding{"RedisModule_SignalModifiedKey", static_cast<void*>(&engine.signal_modified_key)},
    Binding{"RedisModule_NotifyKeyspaceEvent", static_cast<void*>(&engine.notify_keyspace_event)},
    Binding{"RedisModule_Replicate", static_cast<void*>(&engine.replicate)},
    Binding{"RedisModule_ReplicateVerbatim", static_cast<void*>(&engine.replicate_verbatim)},
    Binding{"RedisModule_CreateDataType", static_cast<void*>(&engine.create_data_type)},
    Binding{"RedisModule_SaveUnsigned", static_cast<void*>(&engine.save_unsigned)},
    Binding{"RedisModule_LoadUnsigned", static_cast<void*>(&engine.load_unsigned)},
    Binding{"RedisModule_SaveSigned", static_cast<void*>(&engine.save_signed)},
    Binding{"RedisModule_LoadSigned", static_cast<void*>(&engine.load_signed)},
    Binding{"RedisModule_SaveDouble", static_cast<void*>(&engine.save_double)},
    Binding{"RedisModule_LoadDouble", static_cast<void*>(&engine.load_double)},
    Binding{"RedisModule_SaveStringBuffer", static_cast<void*>(&engine.save_string_buffer)},
    Binding{"RedisModule_LoadStringBuffer", static_cast<void*>(&engine.load_string_buffer)},
    Binding{"RedisModule_IsIOError", static_cast<void*>(&engine.is_io_error)},
    Binding{"RedisModule_GetKeyNameFromIO", static_cast<void*>(&engine.get_key_name_from_io)},
    Binding{"RedisModule_LogIOError", static_cast<void*>(&engine.log_io_error)},
    Binding{"RedisModule_EmitAOF", static_cast<void*>(&engine.emit_aof)},
    Binding{"RedisModule_DigestAddStringBuffer", static_cast<void*>(&engine.digest_add_string_buffer)},
    Binding{"RedisModule_DigestEndSequence", static_cast<void*>(&engine.digest_end_sequence)},
    Binding{"RedisModule_DefragAlloc", static_cast<void*>(&engine.defrag_alloc)},
    Binding{"RedisModule_DefragShouldStop", static_cast<void*>(&engine.defrag_should_stop)},
    Binding{"RedisModule_DefragCursorSet", static_cast<void*>(&engine.defrag_cursor_set)},
    Binding{"RedisModule_DefragCursorGet", static_cast<void*>(&engine.defrag_cursor_get)},
    Binding{"RedisModule_RegisterInfoFunc", static_cast<void*>(&engine.register_info_func)},
    Binding{"RedisModule_InfoAddSection", static_cast<void*>(&engine.info_add_section)},
    Binding{"RedisModule_InfoAddFieldULongLong", static_cast<void*>(&engine.info_add_field_u_long_long)},
    Binding{"RedisModule_InfoAddFieldCString", static_cast<void*>(&engine.info_add_field_c_string)},
    Binding{"RedisModule_RegisterNumericConfig", static_cast<void*>(&engine.register_numeric_config)},
    Binding{"RedisModule_RegisterStringConfig", static_cast<void*>(&engine.register_string_config)},
    Binding{"RedisModule_RegisterEnumConfig", static_cast<void*>(&engine.register_enum_config)},
    Binding{"RedisModule_RegisterBoolConfig", static_cast<void*>(&engine.register_bool_config)},
    Binding{"RedisModule_LoadConfigs", static_cast<void*>(&engine.load_configs)},
};

}  // namespace

const char* bind_engine(Context* context) noexcept {
  GetFunction get = nullptr;
  std::memcpy(static_cast<void*>(&get), static_cast<void*>(context), sizeof(get));
  const char* missing = nullptr;
  for (const Binding& binding : kBindings) {
    const bool is_bound = get(binding.name, binding.where) == kOk;
    missing = is_bound || !binding.is_required || missing != nullptr ? missing : binding.name;
  }
  void* of_valkey = nullptr;
  engine.is_valkey = get("ValkeyModule_CreateCommand", static_cast<void*>(&of_valkey)) == kOk;
  return missing;
}

}  // namespace mankai::redis
