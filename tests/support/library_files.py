"""Files of filters and guards, made with the C library: for tests of programs that read them."""
import ctypes
import os
import pathlib


class Key(ctypes.Structure):
    _fields_ = [("data", ctypes.c_char_p), ("bytes", ctypes.c_size_t)]


class LibraryFiles:
    def __init__(self, library):
        self.library = ctypes.CDLL(library)
        self.library.mankai_last_error.restype = ctypes.c_char_p

    def must(self, name, *arguments):
        if getattr(self.library, name)(*arguments) != 0:
            raise AssertionError(self.library.mankai_last_error().decode())

    @staticmethod
    def keys(texts):
        texts = [text.encode() if isinstance(text, str) else text for text in texts]
        return (Key * len(texts))(*[Key(text, len(text)) for text in texts]), ctypes.c_size_t(len(texts))

    def create(self, path, keys):
        """Returns a handle that changes a new filter's file."""
        handle = ctypes.c_void_p()
        self.must("mankai_create_file", os.fsencode(path), b"blocked-bloom:keys=1000,fpr=0.000001,seed=7", None, ctypes.byref(handle))
        self.add(handle, keys)
        return handle

    def add(self, handle, keys):
        self.must("mankai_insert", handle, *self.keys(keys))

    def close(self, handle):
        self.must("mankai_close", handle)

    def filter(self, path, keys):
        self.close(self.create(path, keys))

    def guard(self, path, rules, allowed=()):
        """Makes or replaces a guard's file, which any user may read."""
        new = pathlib.Path(f"{path}.new")
        handle = ctypes.c_void_p()
        self.must("mankai_guard_create", None, ctypes.byref(handle))
        self.must("mankai_guard_add", handle, *self.keys(rules), ctypes.c_uint64(0), None)
        self.must("mankai_guard_allow", handle, *self.keys(allowed), None)
        self.must("mankai_guard_save_file", handle, os.fsencode(new), None)
        self.must("mankai_guard_close", handle)
        new.chmod(0o644)
        new.replace(path)
