/* Functions of mankai.url. */
#include "core.h"

/* urlCanonical(url, rules): [text, scheme_end, host_begin, host_end, authority_end, path_end, is_ip] */
static napi_value canonical(napi_env env, napi_callback_info info) {
  enum { kRoom = 2048 };
  char buffer[kRoom];
  char* text = buffer;
  size_t room = kRoom;
  size_t needed = 0;
  Key key;
  mankai_url_parts parts = {.size = sizeof parts};
  Arguments arguments = mankai_arguments(env, info);
  if (!key_of(env, mankai_next(&arguments), &key)) {
    return NULL;
  }
  const uint32_t rules = (uint32_t)mankai_next_count(&arguments);
  int code = mankai_url_canonicalize(key.data, key.bytes, rules, text, room, &needed, &parts);
  if (code == MANKAI_OK && needed > room) {
    room = needed;
    text = malloc(room);
    if (text != NULL) {
      code = mankai_url_canonicalize(key.data, key.bytes, rules, text, room, &needed, &parts);
    }
  }
  release_key(&key);
  napi_value result = NULL;
  if (text == NULL) {
    mankai_throw_no_memory(env);
  } else if (code != MANKAI_OK) {
    mankai_throw(env, code);
  } else {
    napi_value values[7] = {mankai_text(env, text, needed),
                            mankai_number(env, (double)parts.scheme_end),
                            mankai_number(env, (double)parts.host_begin),
                            mankai_number(env, (double)parts.host_end),
                            mankai_number(env, (double)parts.authority_end),
                            mankai_number(env, (double)parts.path_end),
                            mankai_bool(env, parts.is_ip)};
    napi_create_array_with_length(env, COUNT_OF(values), &result);
    for (uint32_t i = 0; i < COUNT_OF(values); ++i) {
      napi_set_element(env, result, i, values[i]);
    }
  }
  if (text != buffer) {
    free(text);
  }
  return result;
}

/* urlCanonicalMany(urls, rules): texts, empty for what is not a URL */
static napi_value canonical_many(napi_env env, napi_callback_info info) {
  Arguments arguments = mankai_arguments(env, info);
  Keys urls;
  napi_value texts = NULL;
  if (mankai_keys_of(env, mankai_next(&arguments), &urls)) {
    mankai_texts* found = NULL;
    const int code = mankai_url_canonicalize_packed(&urls.packed, (uint32_t)mankai_next_count(&arguments), &found);
    texts = code == MANKAI_OK ? mankai_take_texts(env, found) : mankai_throw(env, code);
  }
  mankai_release_keys(&urls);
  return texts;
}

/* urlRegistrableDomain(canonical host): where it begins */
static napi_value registrable_domain(napi_env env, napi_callback_info info) {
  Arguments arguments = mankai_arguments(env, info);
  Key key;
  size_t begin = 0;
  if (!key_of(env, mankai_next(&arguments), &key)) {
    return NULL;
  }
  const int code = mankai_url_registrable_domain(key.data, key.bytes, &begin);
  release_key(&key);
  return code == MANKAI_OK ? mankai_number(env, (double)begin) : mankai_throw(env, code);
}

/* urlLadder(url, rules, ladder, of_paths) */
static napi_value ladder(napi_env env, napi_callback_info info) {
  Arguments arguments = mankai_arguments(env, info);
  mankai_texts* texts = NULL;
  Key key;
  if (!key_of(env, mankai_next(&arguments), &key)) {
    return NULL;
  }
  const uint32_t rules = (uint32_t)mankai_next_count(&arguments);
  const uint32_t which = (uint32_t)mankai_next_count(&arguments);
  const bool of_paths = mankai_next_bool(&arguments);
  int code = MANKAI_OK;
  if (!arguments.failed) {
    code = of_paths ? mankai_url_paths(key.data, key.bytes, rules, which, &texts)
                    : mankai_url_hosts(key.data, key.bytes, rules, which, &texts);
  }
  release_key(&key);
  return arguments.failed ? NULL : code == MANKAI_OK ? mankai_take_texts(env, texts) : mankai_throw(env, code);
}

static napi_value version(napi_env env, napi_callback_info info) {
  (void)info;
  return mankai_number(env, mankai_url_version());
}

bool mankai_add_url(napi_env env, napi_value exports) {
  static const Function functions[] = {{"urlCanonical", canonical, NULL},
                                       {"urlCanonicalMany", canonical_many, NULL},
                                       {"urlRegistrableDomain", registrable_domain, NULL},
                                       {"urlLadder", ladder, NULL},
                                       {"urlVersion", version, NULL}};
  return mankai_add_functions(env, exports, functions, COUNT_OF(functions));
}
