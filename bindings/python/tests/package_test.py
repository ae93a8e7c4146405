"""The package mankai: every class under its promises. Standard library only; numpy where it is installed.

Usage: PYTHONPATH=build/python python3 package_test.py
"""
import array
import copy
import ctypes
import datetime
import errno
import inspect
import os
import pathlib
import pickle
import random
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import warnings

import mankai
from mankai import pydablooms, url

try:
    import numpy
except ImportError:
    numpy = None

URLS = [f"https://example.org/pages/{number}?q={number * 7}" for number in range(5000)]
OTHERS = [f"https://example.net/other/{number}" for number in range(5000)]
IS_SANITIZED = "libasan" in os.environ.get("LD_PRELOAD", "")


class FolderTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="mankai-python-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)


class KeysTest(unittest.TestCase):
    def setUp(self):
        self.filter = mankai.Filter.create(keys=20000, fpr=0.0001)

    def test_str_and_its_utf8_are_one_key(self):
        self.filter.add("é☃")
        self.assertIn("é☃".encode(), self.filter)
        self.assertIn(bytearray("é☃".encode()), self.filter)
        self.assertIn(memoryview("é☃".encode()), self.filter)
        self.assertNotIn("e", self.filter)

    def test_an_int_is_its_eight_bytes(self):
        self.filter.add(-2)
        self.assertIn((-2).to_bytes(8, "little", signed=True), self.filter)
        self.assertIn(-2, self.filter)
        self.filter.update([-2**63, 2**63 - 1])
        for key in (-2**63 - 1, 2**63):
            with self.assertRaisesRegex(mankai.InvalidArgument, "an integer key"):
                self.filter.add(key)

    def test_what_is_no_key_is_a_type_error_that_says_so(self):
        for key in (None, 1.5, True, ("a",), ["a"], {"a"}, object()):
            with self.assertRaisesRegex(TypeError, "a key is str, bytes"):
                self.filter.add(key)
            with self.assertRaisesRegex(TypeError, "a key is str, bytes"):
                _ = key in self.filter
        for keys in ("abc", b"abc", bytearray(b"abc")):
            with self.assertRaisesRegex(TypeError, "put it into a list"):
                self.filter.update(keys)
        with self.assertRaises(TypeError):
            self.filter.update(memoryview(b"abc"))
        with self.assertRaises(UnicodeEncodeError):
            self.filter.add("\ud800")
        with self.assertRaises(UnicodeEncodeError):
            self.filter.update(["a", "\ud800"])

    def test_batches_agree_with_single_keys(self):
        model = set()
        chance = random.Random(5)
        for _ in range(40):
            batch = [chance.choice(URLS) for _ in range(chance.choice((1, 3, 255, 256, 700)))]
            expected = []
            for key in batch:
                expected.append(key in model)
                model.add(key)
            self.assertEqual(self.filter.observe_many(batch), expected)
        absent = [key for key in URLS if key not in model]
        self.assertTrue(all(self.filter.contains_many(list(model))))
        self.assertEqual(self.filter.contains_many(absent), [key in self.filter for key in absent])
        self.assertLess(sum(self.filter.contains_many(OTHERS)), 20)
        self.assertEqual(self.filter.contains_many([]), [])

    def test_iterables_tuples_sets_and_mixed_keys(self):
        self.assertEqual(self.filter.update(key for key in URLS), len(URLS))
        self.assertEqual(self.filter.update({"a", "b"}), 2)
        self.assertEqual(self.filter.update(("a", b"b", bytearray(b"c"), 4, memoryview(b"d"))), 5)
        self.assertEqual(self.filter.contains_many(["a", "b", "c", 4, "d", 5]), [True] * 5 + [False])
        self.assertEqual(self.filter.contains_many(iter(["a", "nothing of it"])), [True, False])

    def test_out_takes_the_results(self):
        out = bytearray(2)
        self.filter.add("a")
        self.assertIs(self.filter.contains_many(["a", "b"], out=out), out)
        self.assertEqual(out, b"\x01\x00")
        with self.assertRaises(ValueError):
            self.filter.contains_many(["a"], out=out)

    def test_out_that_does_not_fit_is_an_error_before_keys_are_added(self):
        for out in (bytearray(1), bytes(2)):
            for keys in (["a", "b"], iter(["a", "b"])):
                with self.assertRaises(ValueError):
                    self.filter.observe_many(keys, out=out)
        self.assertEqual(self.filter.observe_many(["a", "b"]), [False, False])

    def test_code_of_an_argument_that_closes_the_object(self):
        class Path:
            def __fspath__(self):
                made.close()
                return os.devnull

        class Keys(list):
            def __iter__(self):
                made.close()
                return super().__iter__()

        class Key:
            def __buffer__(self, flags):
                made.close()
                return memoryview(b"a")

        calls = [lambda: made.save(Path()), lambda: made.contains_many(Keys(["a"])), lambda: made.observe_many(Keys(["a"] * 1000))]
        if sys.version_info >= (3, 12):
            calls += [lambda: Key() in made, lambda: made.add(Key()), lambda: made.observe_many(["a", Key()])]
        for call in calls:
            made = mankai.Filter.create(keys=1000)
            with self.assertRaises(mankai.Closed):
                call()

    def test_a_single_key_with_and_without_options(self):
        f = mankai.Filter("scalable-counting-bloom:keys=1000,fpr=0.01")
        windowed, hot = mankai.Seen(keys=1000, window=3600), mankai.Hot()
        f.add("a")
        f.add("b", id=None, at=None)
        f.add("c", id=7)
        self.assertEqual([f.remove(key) for key in "ab"] + [f.remove("c", id=7), f.remove("c")],
                         [mankai.Removal.REMOVED] * 3 + [mankai.Removal.ABSENT])
        before = time.time()
        self.assertEqual([windowed.observe("a"), windowed.observe("a", None), windowed.observe("a", at=None)], [False, True, True])
        self.assertEqual([hot.observe("a"), hot.observe("a", None), hot.observe("a", at=before)], [None] * 3)
        self.assertLess(abs(hot.now.timestamp() - before), 60)
        self.assertTrue(windowed.observe("a", at=time.time() + 1))
        methods = {"Filter.add": (f.add, "(key, /, *, id=None, at=None)"), "Seen.observe": (windowed.observe, "(key, /, at=None)"),
                   "Hot.observe": (hot.observe, "(key, /, at=None)"),
                   "Guard.blocked": (mankai.Guard().blocked, "(url, /, *, invalid=True)")}
        for name, (method, signature) in methods.items():
            self.assertEqual(str(inspect.signature(method)), signature)
            for arguments, options in (((), {}), ((), {"at": 1}), (("a", 1, 2), {}), (("a",), {"unknown": 1})):
                with self.assertRaisesRegex(TypeError, name.replace(".", r"\.")):
                    method(*arguments, **options)
            with self.assertRaises(TypeError):
                method(["a", "b"])

    def test_many_keys_with_and_without_options(self):
        f, seen = mankai.Filter.create(keys=1000), mankai.Seen(keys=1000)
        windowed = mankai.Seen(keys=1000, window=3600)
        for keys in (["a", b"b", 7], ("c", b"d", 2**40), iter(["e", b"f", -1]), []):
            added = list(keys)
            is_list = not hasattr(keys, "__next__")
            self.assertEqual(f.update(keys if is_list else iter(added)), len(added))
            self.assertEqual(f.contains_many(added), [True] * len(added))
            self.assertEqual(f.contains_many(keys=added), [True] * len(added))
            self.assertEqual(seen.observe_many(added), [False] * len(added))
            self.assertEqual(seen.observe_many(added, None), [True] * len(added))
            self.assertEqual(windowed.observe_many(added), [False] * len(added))
            self.assertEqual(windowed.observe_many(added, at=time.time()), [True] * len(added))
            self.assertEqual(seen.contains_many(added), [True] * len(added))
        self.assertEqual(seen.update(["a", "new"]), 1)
        self.assertEqual(seen.update({"new", "newer"}), 1)
        self.assertEqual(f.observe_many(["new", "new"]), [False, True])
        out = bytearray(2)
        self.assertIs(f.contains_many(["new", "absent"], out=out), out)
        self.assertEqual(out, b"\1\0")
        methods = {"Filter.update": (f.update, "(keys, *, ids=None, at=None)"),
                   "Filter.observe_many": (f.observe_many, "(keys, *, out=None)"),
                   "Filter.contains_many": (f.contains_many, "(keys, *, out=None)"),
                   "Seen.observe_many": (seen.observe_many, "(keys, at=None, *, out=None)"),
                   "Seen.contains_many": (seen.contains_many, "(keys, *, out=None)")}
        for name, (method, signature) in methods.items():
            self.assertEqual(str(inspect.signature(method)), signature)
            for arguments, options in (((), {}), ((["a"], 1, 2), {}), ((["a"],), {"unknown": 1})):
                with self.assertRaisesRegex(TypeError, name.replace(".", r"\.")):
                    method(*arguments, **options)
            for keys in ("a", [1.5], [["a"]]):
                with self.assertRaises(TypeError):
                    method(keys)

    def test_a_subclass_can_extend_a_method_of_many_keys(self):
        class Counting(mankai.Filter):
            calls = 0

            def update(self, keys, *, ids=None, at=None):
                self.calls += 1
                return super().update(keys, ids=ids, at=at)

            def contains_many(self, keys, *, out=None):
                self.calls += 1
                return super().contains_many(keys, out=out)

        f = Counting("scalable-counting-bloom:keys=1000,fpr=0.01")
        self.assertEqual([f.update(["a"]), f.update(["b"], ids=[1]), f.contains_many(("a", "c"))], [1, 1, [True, False]])
        self.assertEqual(f.calls, 3)

    def test_a_subclass_can_extend_a_method_of_one_key(self):
        class Counting:
            calls = 0

            def observe(self, key, /, at=None):
                self.calls += 1
                return super().observe(key, at=at)

            def add(self, key, /, *, id=None, at=None):
                self.calls += 1
                super().add(key, id=id, at=at)

        seen = type("CountingSeen", (Counting, mankai.Seen), {})(keys=1000)
        hot = type("CountingHot", (Counting, mankai.Hot), {})()
        filter = type("CountingFilter", (Counting, mankai.Filter), {})("bloom:keys=1000,fpr=0.01")
        self.assertEqual([seen.observe("a"), seen.observe("a", None), seen.observe("a", at=None)], [False, True, True])
        self.assertEqual([hot.observe("a"), hot.observe("a", at=None), filter.add("a"), filter.add("a", id=None)], [None] * 4)
        self.assertEqual([seen.calls, hot.calls, filter.calls], [3, 2, 2])

    def test_keys_have_ids_or_times(self):
        with self.assertRaisesRegex(TypeError, "not both"):
            self.filter.update(["a"], ids=[1], at=1.0)

    def test_a_list_that_changes_during_the_call_is_harmless(self):
        keys = list(URLS)
        stop = threading.Event()

        def change():
            while not stop.is_set():
                keys.clear()
                keys.extend(str(number) for number in range(1000))
        thread = threading.Thread(target=change)
        thread.start()
        for _ in range(50):
            self.filter.contains_many(keys)
        stop.set()
        thread.join()


class ArrowSchema(ctypes.Structure):
    pass


class ArrowArray(ctypes.Structure):
    pass


ReleaseSchema = ctypes.CFUNCTYPE(None, ctypes.POINTER(ArrowSchema))
ReleaseArray = ctypes.CFUNCTYPE(None, ctypes.POINTER(ArrowArray))
ArrowSchema._fields_ = [("format", ctypes.c_char_p), ("name", ctypes.c_char_p), ("metadata", ctypes.c_char_p),
                        ("flags", ctypes.c_int64), ("n_children", ctypes.c_int64), ("children", ctypes.c_void_p),
                        ("dictionary", ctypes.c_void_p), ("release", ReleaseSchema), ("private_data", ctypes.c_void_p)]
ArrowArray._fields_ = [("length", ctypes.c_int64), ("null_count", ctypes.c_int64), ("offset", ctypes.c_int64),
                       ("n_buffers", ctypes.c_int64), ("n_children", ctypes.c_int64),
                       ("buffers", ctypes.POINTER(ctypes.c_void_p)), ("children", ctypes.c_void_p),
                       ("dictionary", ctypes.c_void_p), ("release", ReleaseArray), ("private_data", ctypes.c_void_p)]


class Exporter:
    """An array with Arrow's C interface, as pyarrow and polars export it."""

    def __init__(self, format, buffers, length, offset=0, nulls=0):
        self.buffers = [ctypes.create_string_buffer(one, max(len(one), 1)) if one is not None else None for one in buffers]
        addresses = (ctypes.c_void_p * len(buffers))(
            *[ctypes.addressof(one) if one is not None else None for one in self.buffers])
        self.addresses = addresses
        self.release = (ReleaseSchema(lambda _: None), ReleaseArray(lambda _: None))
        self.schema = ArrowSchema(format=format, release=self.release[0])
        self.array = ArrowArray(length=length, null_count=nulls, offset=offset, n_buffers=len(buffers),
                                buffers=addresses, release=self.release[1])

    def __arrow_c_array__(self, requested_schema=None):
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return (new(ctypes.addressof(self.schema), b"arrow_schema", None),
                new(ctypes.addressof(self.array), b"arrow_array", None))


def texts(keys, width=4, format=b"u", offset=0, validity=None):
    offsets, data = [0], b""
    for key in keys:
        data += key
        offsets.append(len(data))
    packed = b"".join(one.to_bytes(width, "little") for one in offsets)
    return Exporter(format, [validity, packed, data], len(keys) - offset, offset, 0 if validity is None else -1)


class ArrayTest(unittest.TestCase):
    def setUp(self):
        self.filter = mankai.Filter.create(keys=20000, fpr=0.0001)
        self.filter.update(["a", "bcd", "", 7, -1])

    def test_arrow_texts_and_binaries(self):
        keys = [b"a", b"nothing", b"bcd", b""]
        for width, format in ((4, b"u"), (4, b"z"), (8, b"U"), (8, b"Z")):
            self.assertEqual(list(self.filter.contains_many(texts(keys, width, format))), [True, False, True, True])
        self.assertEqual(list(self.filter.contains_many(texts(keys, offset=2))), [True, True])

    def test_arrow_nulls_are_absent_and_add_nothing(self):
        keys = texts([b"null 1", b"new", b"null 2"], validity=bytes([0b010]))
        self.assertEqual(self.filter.update(keys), 3)
        self.assertEqual(self.filter.contains_many(["null 1", "new", "null 2"]), [False, True, False])
        self.assertEqual(list(self.filter.contains_many(keys)), [False, True, False])

    def test_arrow_integers_fixed_binaries_and_views(self):
        integers = b"".join(one.to_bytes(8, "little", signed=True) for one in (7, 8, -1))
        self.assertEqual(list(self.filter.contains_many(Exporter(b"l", [None, integers], 3))), [True, False, True])
        self.assertEqual(list(self.filter.contains_many(Exporter(b"w:3", [None, b"xyzbcd"], 2))), [False, True])
        long = b"a text of more than twelve bytes"
        self.filter.add(long)
        views = ((3).to_bytes(4, "little") + b"bcd".ljust(12, b"\0") +
                 len(long).to_bytes(4, "little") + long[:4] + bytes(4) + (2).to_bytes(4, "little"))
        sizes = (2 + len(long)).to_bytes(8, "little")
        array = Exporter(b"vu", [None, views, b"xx" + long, sizes], 2)
        self.assertEqual(list(self.filter.contains_many(array)), [True, True])

    def test_hostile_arrow_arrays_are_errors(self):
        chance = random.Random(11)
        views = (3).to_bytes(4, "little") + b"bcd".ljust(12, b"\0")
        far = (20).to_bytes(4, "little") + b"long" + (0).to_bytes(4, "little") + (5).to_bytes(4, "little")
        makers = [lambda: texts([b"a", b"bcd"]), lambda: texts([b"a", b"bcd"], 8, b"Z", validity=b"\3"),
                  lambda: Exporter(b"l", [None, bytes(16)], 2), lambda: Exporter(b"w:3", [None, b"abcbcd"], 2),
                  lambda: Exporter(b"vu", [None, views, b""], 1), lambda: Exporter(b"vz", [None, far, bytes(25), (25).to_bytes(8, "little")], 1)]
        bad = (-1, -2, -2**63, 2**63 - 1, 2**60)
        wrong = [("length", bad), ("offset", bad), ("n_buffers", (-1, 0, 1, -2**63)), ("null_count", (-2, -2**63, 2**62, 3))]
        for make in makers:
            for field, values in wrong:
                for value in values:
                    array = make()
                    setattr(array.array, field, value)
                    with self.assertRaisesRegex(ValueError, "an invalid Arrow array", msg=f"{array.schema.format} {field} {value}"):
                        self.filter.contains_many(array)
            array = make()
            array.array.buffers = None
            with self.assertRaisesRegex(ValueError, "an invalid Arrow array"):
                self.filter.contains_many(array)
            array = make()
            array.addresses[1] = None
            with self.assertRaisesRegex(ValueError, "an invalid Arrow array"):
                self.filter.contains_many(array)
        for at in (2, 3):  # the text of a view, and the sizes of texts
            array = makers[-1]()
            array.addresses[at] = None
            with self.assertRaisesRegex(ValueError, "invalid view"):
                self.filter.contains_many(array)
        with self.assertRaisesRegex(ValueError, "invalid view"):
            self.filter.contains_many(Exporter(b"vz", [None, far, bytes(24), (24).to_bytes(8, "little")], 1))
        for format in (None, b"", b"w:", b"w:0", b"w:-1", b"w:99999999999", b"uu"):
            array = makers[0]()
            array.schema.format = format
            with self.assertRaisesRegex(TypeError, "not of the format"):
                self.filter.contains_many(array)
        good = {"length": (0, 1), "offset": (0,), "n_buffers": (3,), "null_count": (-1, 0)}
        for _ in range(2000):
            array = chance.choice(makers)()
            fields = chance.sample(wrong, 2)
            for field, values in fields:
                is_good = chance.random() < 0.5 and (field != "n_buffers" or array.array.n_buffers == 3)
                setattr(array.array, field, chance.choice(good[field] if is_good else values))
            try:
                self.filter.contains_many(array)
            except ValueError:
                continue
            for field, values in fields:
                self.assertNotIn(getattr(array.array, field), values)

    def test_an_arrow_stream_of_several_arrays(self):
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        parts = [texts([b"a", b"b"]), texts([b"c"]), texts([b"d", b"e"])]

        class Chunks:
            def __len__(self):
                return 5

            def __arrow_c_stream__(self, requested_schema=None):
                rest = list(parts)

                def get_schema(_, schema):
                    ctypes.memmove(schema, ctypes.addressof(parts[0].schema), ctypes.sizeof(ArrowSchema))
                    return 0

                def get_next(_, array):
                    if rest:
                        ctypes.memmove(array, ctypes.addressof(rest.pop(0).array), ctypes.sizeof(ArrowArray))
                    return 0
                get = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
                end = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
                self.functions = (get(get_schema), get(get_next), end(lambda _: None), end(lambda _: None))
                self.stream = (ctypes.c_void_p * 5)(*[ctypes.cast(one, ctypes.c_void_p) for one in self.functions])
                if self.is_released:
                    self.stream[3] = None
                return new(ctypes.addressof(self.stream), b"arrow_array_stream", None)
            is_released = False
        chunks = Chunks()
        self.assertEqual(list(self.filter.contains_many(chunks)), [True, False, False, False, False])
        seen = mankai.Seen(keys=1000, window=100)
        self.assertEqual(list(seen.observe_many(chunks, at=[1.0, 2.0, 3.0, 4.0, 5.0])), [False] * 5)
        self.assertEqual(list(seen.observe_many(chunks, at=6.0)), [True] * 5)
        for times in ([7.0] * 4, [7.0] * 6):
            with self.assertRaisesRegex(ValueError, "keys, but"):
                seen.observe_many(chunks, at=times)
        parts[1].array.length = -1
        with self.assertRaisesRegex(ValueError, "an invalid Arrow array"):
            self.filter.update(chunks)
        self.assertEqual(self.filter.contains_many(["b", "c"]), [True, False])  # each array is a batch
        parts[1].array.length = 1
        chunks.is_released = True
        with self.assertRaisesRegex(ValueError, "released"):
            self.filter.contains_many(chunks)
        moved = texts([b"a"])
        moved.array.release = ReleaseArray()
        with self.assertRaisesRegex(ValueError, "released"):
            self.filter.contains_many(moved)

    def test_integers_have_the_size_of_the_array(self):
        keys = (ctypes.c_int32.__ctype_le__ * 3)(7, 8, -1)
        self.assertEqual(list(self.filter.contains_many(keys)), [True, False, True])
        with self.assertRaises(TypeError):
            self.filter.contains_many((ctypes.c_int32.__ctype_be__ * 3)(7, 8, -1))

    def test_arrow_arrays_that_are_forged_or_of_another_type_are_errors(self):
        with self.assertRaises((mankai.Error, ValueError)):
            bad = texts([b"a", b"b"])
            offsets = b"".join(one.to_bytes(4, "little") for one in (0, 2, 1))
            self.filter.contains_many(Exporter(b"u", [None, offsets, b"ab"], 2))
            del bad
        with self.assertRaisesRegex(TypeError, "not of the format"):
            self.filter.contains_many(Exporter(b"g", [None, bytes(16)], 2))

    @unittest.skipIf(numpy is None, "numpy is missing: apt-get install python3-numpy")
    def test_numpy_texts_end_before_the_zeros_that_fill_them_up(self):
        for width in range(1, 40):
            keys = [b"x" * length for length in range(width + 1)] + [b"\0" * (width - 1) + b"\x80", b"a\0b"[:width]]
            log = mankai.Filter("blocked-bloom:keys=1000,fpr=1e-6")
            log.update([key.rstrip(b"\0") for key in keys])
            self.assertTrue(all(log.contains_many(numpy.array(keys, dtype=f"S{width}"))), width)
            self.assertEqual(list(log.contains_many(numpy.array([b"y" * width, b"x"], dtype=f"S{width}"))), [False, True])

    @unittest.skipIf(numpy is None, "numpy is missing: apt-get install python3-numpy")
    def test_numpy(self):
        keys = ["a", "nothing", "bcd", ""]
        expected = [True, False, True, True]
        for array in (numpy.array(keys), numpy.array(keys, dtype=object), numpy.array([key.encode() for key in keys])):
            found = self.filter.contains_many(array)
            self.assertEqual(found.dtype, bool)
            self.assertEqual(found.tolist(), expected)
            self.assertEqual(self.filter.contains_many(array[::-1]).tolist(), expected[::-1])
        for dtype in ("int16", "int32", "int64", ">i8"):
            array = numpy.array([7, 8, -1], dtype=dtype)
            self.assertEqual(self.filter.contains_many(array).tolist(), [True, False, True])
        self.assertEqual(self.filter.contains_many(numpy.arange(6, 10, dtype="uint64")).tolist(), [False, True, False, False])
        self.assertEqual(self.filter.contains_many(numpy.array(["é☃𝄞"])).tolist(), [False])
        self.filter.add("é☃𝄞")
        self.assertEqual(self.filter.contains_many(numpy.array(["é☃𝄞", "a"])).tolist(), [True, True])
        with self.assertRaises(mankai.InvalidArgument):
            self.filter.contains_many(numpy.array([2**63], dtype="uint64"))
        for dtype in ("int8", "int16", "int32", "int64", "uint64"):
            self.assertIn(numpy.dtype(dtype).type(7), self.filter)
            self.assertEqual(self.filter.contains_many([numpy.dtype(dtype).type(7)]), [True])
        for number in (numpy.float64(1.5), numpy.float32(1.5)):
            with self.assertRaisesRegex(TypeError, "a key is str"):
                self.filter.add(number)
        with self.assertRaises(TypeError):  # memoryview: the bytes are not converted
            self.filter.contains_many(memoryview(numpy.array(["a"], dtype=">U1")))
        with self.assertRaises(MemoryError):
            self.filter.contains_many(numpy.broadcast_to(numpy.array(b"a"), 2**62))
        for bad in (numpy.zeros(3), numpy.zeros((2, 2), dtype="int64"), numpy.zeros(2, dtype="datetime64[s]")):
            with self.assertRaises((TypeError, ValueError)):
                self.filter.contains_many(bad)

    @unittest.skipIf(numpy is None, "numpy is missing: apt-get install python3-numpy")
    def test_masked_elements_are_refused(self):
        hot = mankai.Hot()
        for keys in (["a", "b"], [1, 2]):
            for dtype in (None, object):
                array = numpy.ma.array(keys, mask=[False, True], dtype=dtype)
                for call in (self.filter.update, self.filter.contains_many, self.filter.remove_many, hot.observe_many):
                    with self.assertRaisesRegex(ValueError, "compressed"):
                        call(array)
                self.assertEqual(self.filter.update(array.compressed()), 1)
        with self.assertRaisesRegex(ValueError, "compressed"):
            hot.observe_many(["a", "b"], at=numpy.ma.array([1.0, 2.0], mask=[True, False]))
        self.assertEqual(self.filter.update(numpy.ma.array([1, 2])), 2)

    @unittest.skipIf(numpy is None, "numpy is missing: apt-get install python3-numpy")
    def test_counts_of_an_array_are_an_array(self):
        counting = mankai.Filter.create(kind="counting-bloom", keys=1000)
        counting.update(["a", "a", "b"])
        self.assertEqual(counting.counts(["a", "b", "c"]), [2, 1, 0])
        self.assertEqual(counting.counts(numpy.array(["a", "b", "c"])).tolist(), [2, 1, 0])


class Named(mankai.Filter):
    """A subclass with attributes, as programs have them."""

    name = None


class FilterTest(FolderTest):
    def test_a_spec_or_keywords_make_it(self):
        made = mankai.Filter("blocked-bloom:keys=1000,fpr=0.01")
        self.assertEqual(made.kind, "blocked-bloom")
        self.assertTrue(made)
        self.assertEqual(len(made), 0)
        with self.assertRaises(mankai.NotFound) as caught:
            mankai.Filter("no-such-kind:keys=1")
        self.assertEqual(caught.exception.code, "not_found")
        with self.assertRaises(ValueError):
            mankai.Filter.create(keys=10, fpr=2)
        with self.assertRaises(TypeError):
            mankai.Filter.create()
        canonical = mankai.Filter.create(keys=100, canonical=True)
        canonical.add("HTTP://A.example:80/x/../b")
        self.assertIn("http://a.example/b", canonical)
        self.assertIn("blocked-bloom", [kind["name"] for kind in mankai.kinds()])
        self.assertTrue(mankai.plan(10**6, 0.01))

    def test_remove_count_merge_copy_clear(self):
        made = mankai.Filter.create(kind="counting-bloom", keys=1000, seed="00000000000000010000000000000002")
        made.update(["a", "a", "b"])
        self.assertEqual(made.count("a").value, 2)
        self.assertEqual(made.remove("a"), mankai.Removal.REMOVED)
        self.assertEqual(made.remove("nothing"), mankai.Removal.ABSENT)
        other = copy.copy(made)
        other.add("c")
        made |= other
        self.assertIn("c", made)
        made.clear()
        self.assertNotIn("c", made)
        self.assertIn("c", copy.deepcopy(other))
        with self.assertRaises(mankai.InvalidArgument):
            made.merge(mankai.Filter.create(keys=5))
        with self.assertRaises(TypeError):
            made.merge("a")

    def test_ids_times_values_and_the_hottest(self):
        numbered = mankai.Filter.create(kind="scalable-counting-bloom", keys=1000)
        numbered.update(["a", "b"], ids=[1, 2])
        self.assertEqual(numbered.remove("a", id=1), mankai.Removal.REMOVED)
        with self.assertRaises(ValueError):
            numbered.update(["a", "b"], ids=[1])
        numbers = array.array("q", [7, 8])
        self.assertEqual(numbered.update(numbers, ids=[3, 4]), 2)
        self.assertEqual(numbered.remove_many(numbers, ids=array.array("Q", [3, 4])), [mankai.Removal.REMOVED] * 2)
        self.assertNotIn(7, numbered)
        hot = mankai.Filter("decayed-top:bytes=65536")
        hot.update(["a", "a", "b"], at=1_700_000_000)
        self.assertEqual([entry.text for entry in hot.top(5)], ["a", "b"])
        values = mankai.Filter("recent-values:keys=100")
        values.put("a", 17)
        self.assertEqual(values.recall("a")[0][0], 17)

    def test_pickle_of_memory_and_of_files(self):
        made = mankai.Filter.create(keys=1000)
        made.update(URLS[:500])
        again = pickle.loads(pickle.dumps(made))
        self.assertTrue(all(again.contains_many(URLS[:500])))
        path = self.folder / "f.mk"
        made.save(path)
        read = pickle.loads(pickle.dumps(mankai.Filter.open(path)))
        self.assertIn(URLS[0], read)
        with mankai.Filter.open(path, "w") as writer, self.assertRaisesRegex(TypeError, "cannot be pickled"):
            pickle.dumps(writer)

    def test_attributes_of_subclasses_are_pickled_and_copied(self):
        made = Named.create(keys=1000)
        made.name = ["a"]
        made.add("key")
        made.itself = made
        made.save(self.folder / "f.mk")
        again = pickle.loads(pickle.dumps(made))
        shallow, deep = copy.copy(made), copy.deepcopy(made)
        for other in (again, shallow, deep):
            self.assertIsInstance(other, Named)
            self.assertEqual(other.name, ["a"])
            self.assertIn("key", other)
            other.add("other")
        self.assertNotIn("other", made)
        self.assertIs(shallow.name, made.name)
        self.assertIsNot(deep.name, made.name)
        self.assertIs(deep.itself, deep)
        read = Named.open(self.folder / "f.mk")
        read.name = "reader"
        for other in (pickle.loads(pickle.dumps(read)), read.copy()):
            self.assertEqual(other.name, "reader")
        self.assertIsNone(other.path)
        self.assertIsInstance(pickle.dumps(other), bytes)  # and not its path
        other.add("in memory")

    def test_a_file_keeps_its_keys_and_names_its_owner(self):
        path = self.folder / "f.mk"
        with mankai.Filter.create(path, keys=1000) as made:
            made.add("a")
            with made.batch(b"offset 7"):
                made.update(["b", "c"])
            self.assertEqual(made.position, b"offset 7")
            self.assertEqual(made.sequence, 3)
            made.sync()
            self.assertEqual(made.durable_sequence, 3)
            with self.assertRaises(BlockingIOError) as caught:
                mankai.Filter.open(path, "w")
            self.assertIn("this process", str(caught.exception))
        with self.assertRaises(mankai.Closed):
            made.add("d")
        with self.assertRaises(mankai.InvalidArgument):
            mankai.Filter.create(path, keys=1000)
        with mankai.Filter.open(path) as read:
            self.assertEqual(read.contains_many(["a", "b", "c", "d"]), [True, True, True, False])
            with self.assertRaises(mankai.InvalidArgument):
                read.add("d")
        mankai.verify(path)
        with self.assertRaises(FileNotFoundError):
            mankai.Filter.open(self.folder / "none.mk")

    def test_a_batch_that_fails_is_not_in_the_file(self):
        path = self.folder / "f.mk"
        made = mankai.Filter.create(path, keys=1000)
        made.add("a")
        with self.assertRaises(ZeroDivisionError), made.batch():
            made.add("b")
            _ = 1 // 0
        self.assertTrue(made.closed)
        with mankai.Filter.open(path) as read:
            self.assertEqual(read.contains_many(["a", "b"]), [True, False])

    def test_a_batch_with_a_wrong_position_is_not_in_the_file(self):
        path = self.folder / "f.mk"
        made = mankai.Filter.create(path, keys=1000)
        with self.assertRaises(TypeError), made.batch() as batch:
            made.add("b")
            batch.position = "text"
        self.assertTrue(made.closed)
        with mankai.Filter.open(path) as read:
            self.assertNotIn("b", read)

    def test_batches_of_one_object_do_not_overlap(self):
        with mankai.Filter.create(self.folder / "f.mk", keys=1000) as made:
            with made.batch(b"1"):
                made.add("a")
                with self.assertRaisesRegex(mankai.Busy, "a batch of this object is open"), made.batch(b"2"):
                    self.fail("entered")
            self.assertEqual(made.position, b"1")
            with made.batch(b"3"):
                made.add("b")
            self.assertEqual(made.position, b"3")

    def call_until_closed(self, made, calls):
        """Starts a thread per call, which repeats it without pause until the object is closed."""
        started = threading.Barrier(len(calls) + 1)
        errors = []

        def work(call):
            started.wait()
            try:
                while True:
                    call()
            except BaseException as error:  # pylint: disable=broad-except
                errors.append(error)
        threads = [threading.Thread(target=work, args=(call,)) for call in calls]
        for thread in threads:
            thread.start()
        started.wait()

        def join():
            for thread in threads:
                thread.join()
            self.assertTrue(made.closed)
            self.assertEqual([type(error) for error in errors], [mankai.Closed] * len(calls))
        return join

    def test_close_waits_for_calls_of_other_threads(self):
        keys = array.array("q", range(50_000))
        for number in range(4):
            path = self.folder / f"{number}.mk"
            made, other = mankai.Filter.create(path, keys=1000), mankai.Filter.create(keys=1000)
            join = self.call_until_closed(made, [lambda: made.update(keys), lambda: made.contains_many(keys), made.sync,
                                                 lambda: made.observe("a"), lambda: made.update(iter(keys))])
            join_other = self.call_until_closed(other, [lambda: other.copy().merge(other)] * 2)
            closers = [threading.Thread(target=one.close) for one in (made, made, other)]
            for closer in closers:
                closer.start()
            made.close()
            mankai.Filter.open(path, "w").close()  # a second close() waits for the first
            other.close()
            for closer in closers:
                closer.join()
            join()
            join_other()

    def test_a_batch_that_fails_while_another_thread_is_in_a_call(self):
        path = self.folder / "f.mk"
        keys = array.array("q", range(50_000))
        made = mankai.Filter.create(path, keys=1000)
        with self.assertRaises(ZeroDivisionError), made.batch():
            join = self.call_until_closed(made, [lambda: made.update(keys)])
            _ = 1 // 0
        join()
        with self.assertRaises(mankai.Closed), made.batch():
            self.fail("entered")
        with mankai.Filter.open(path) as read:
            self.assertEqual(len(read), 0)

    def test_close_at_the_end_of_the_interpreter_does_not_wait(self):
        program = """
import array, threading, mankai
made = mankai.Filter.create(keys=1000)
keys = array.array("q", bytes(80_000_000))
class Last:
    def __del__(self, made=made):
        made.close()
last = Last()
threading.Thread(target=made.update, args=(keys,), daemon=True).start()
"""
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 0)

    def test_a_reader_sees_changes_after_refresh(self):
        path = self.folder / "f.mk"
        writer = mankai.Filter.create(path, keys=1000)
        writer.checkpoint()
        reader = mankai.Filter.open(path)
        writer.add("a")
        writer.checkpoint()
        self.assertNotIn("a", reader)
        self.assertTrue(reader.refresh())
        self.assertIn("a", reader)
        self.assertFalse(reader.refresh())
        writer.close()

    def test_corrupt_images_are_errors(self):
        image = bytearray(mankai.Filter.create(keys=1000).to_bytes())
        self.assertIsInstance(mankai.Filter.from_bytes(image), mankai.Filter)
        image[200] ^= 1
        with self.assertRaises(mankai.Corrupt):
            mankai.Filter.from_bytes(image)
        with self.assertRaises(mankai.Error):
            mankai.Filter.from_bytes(b"nothing")

    def test_the_bytes_of_a_file_are_not_an_image(self):
        path = self.folder / "f.mk"
        mankai.Filter.create(path, keys=1000).close()
        for content in (path.read_bytes(), memoryview(bytearray(path.read_bytes()))):
            with self.assertRaisesRegex(mankai.InvalidArgument, r"Filter.open\(path\)"):
                mankai.Filter.from_bytes(content)
        mankai.Filter.from_bytes(mankai.Filter.open(path).to_bytes())

    def test_threads_share_an_object(self):
        made = mankai.Filter.create(keys=50000)
        threads = [threading.Thread(target=made.update, args=([f"{number} {key}" for key in URLS],)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for number in range(4):
            self.assertTrue(all(made.contains_many([f"{number} {key}" for key in URLS])))

    @unittest.skipIf(IS_SANITIZED, "the sanitizer's malloc does not count")
    def test_objects_are_freed(self):
        """Bytes in use, as malloc counts them, do not grow with the rounds."""
        program = f"""
import ctypes, gc, pickle, tempfile, os, mankai
from mankai import url
class Info(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost".split()]
mallinfo = ctypes.CDLL(None).mallinfo2
mallinfo.restype = Info
URLS = [f"https://example.org/{{number}}" for number in range(40)]
folder = tempfile.mkdtemp()
def work(round):
    made = mankai.Filter.create(keys=1000)
    made.update(URLS); made.update(iter(URLS)); made.contains_many(tuple(URLS)); made.observe(b"x"); made.observe(bytearray(b"y"))
    made.update([1, bytearray(b"z"), memoryview(b"z")])
    pickle.loads(pickle.dumps(made)); made.info; made.spec; made.estimate()
    for keys in (["a", None], [2**70], [chr(0xd800)], 5, "a"):
        try: made.update(keys)
        except (TypeError, ValueError): pass
    try: mankai.Filter("nothing")
    except mankai.Error: pass
    hot = mankai.Hot(memory=65536); hot.observe_many(URLS); hot.top(5); hot.above(1)
    guard, _ = mankai.Guard.build([["evil.example"]], exact=True); guard.check("http://evil.example/"); guard.blocked_many(URLS)
    guard.allow("ok.evil.example"); guard.exceptions; mankai.Guard.from_bytes(guard.to_bytes())
    gate = mankai.Gate(keys=100); gate.apply(inserted=URLS, position=1); gate.get("a", lambda: None)
    with gate.hold("a"): pass
    url.parse("http://a.example/" + "x" * 3000); url.hosts("http://a.b.example/"); url.canonical_many(["http://"])
    path = os.path.join(folder, f"seen {{round}}.mk")
    with mankai.Seen(path, keys=100) as seen: seen.observe_many(URLS); seen.info
    os.unlink(path)
    path = os.path.join(folder, f"seen {{round}}.log")
    with mankai.ConfirmedSeen(path, keys=100) as exact: exact.observe_many(URLS); exact.commit()
def used():
    gc.collect()
    info = mallinfo()
    return info.uordblks + info.hblkhd
growths = []
for window in range(5):
    before = used()
    for round in range(200): work(round)
    growths.append(used() - before)
print(min(growths))
"""
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False,
                              env={**os.environ, "PYTHONMALLOC": "malloc"})
        self.assertEqual(done.returncode, 0, done.stderr)
        # The smallest object that is lost once per round adds 200 x 32 bytes to every window; caches of Python grow in some.
        self.assertLess(int(done.stdout), 6000)


class ForkTest(FolderTest):
    def child(self, work):
        """Runs work() in a child and returns what it wrote: nothing if it had to be killed, after a minute."""
        read, write = os.pipe()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            process = os.fork()
        if process == 0:
            try:
                os.write(write, work().encode())
            except BaseException as error:  # pylint: disable=broad-except
                os.write(write, repr(error).encode())
            os._exit(0)
        os.close(write)
        if not select.select([read], [], [], 60)[0]:
            os.kill(process, signal.SIGKILL)
        with os.fdopen(read, "rb") as pipe:
            text = pipe.read().decode()
        os.waitpid(process, 0)
        return text

    def test_the_child_of_a_fork_does_not_write(self):
        path = self.folder / "seen.mk"
        seen = mankai.Seen(path, keys=1000)
        seen.observe("a")

        def work():
            try:
                seen.observe("b")
            except mankai.Forked as error:
                seen.close()
                return "Forked: " + str(error)
            return "no error"
        self.assertTrue(self.child(work).startswith("Forked"), self.child(work))
        self.assertFalse(seen.observe("b"))
        seen.close()
        with mankai.Seen(path) as again:
            self.assertEqual(again.contains_many(["a", "b"]), [True, True])

    # AddressSanitizer of g++ 12 leaves the locks of its malloc as they were at the fork.
    @unittest.skipIf(IS_SANITIZED, "the sanitizer's malloc may block in the child of a process with threads")
    def test_a_child_does_not_wait_for_calls_of_its_parent(self):
        seen = mankai.Seen(self.folder / "shared.mk", keys=100000, fpr=1e-6, sharing="processes")
        keys = [str(number) for number in range(20000)]
        done = threading.Event()

        def observe():
            while not done.is_set():
                seen.observe_many(keys)

        def work():
            repeat = seen.observe("x")
            seen.close()
            return str(repeat)
        thread = threading.Thread(target=observe)
        thread.start()
        try:
            self.assertEqual([self.child(work) for _ in range(12)], ["False"] + 11 * ["True"])
        finally:
            done.set()
            thread.join()
        seen.close()

    def test_readers_and_memory_work_in_a_child(self):
        made = mankai.Filter.create(keys=1000)
        made.add("a")
        made.save(self.folder / "f.mk")
        reader = mankai.Filter.open(self.folder / "f.mk")
        self.assertEqual(self.child(lambda: str(["a" in made, "a" in reader, "b" in reader])), "[True, True, False]")


class SeenTest(FolderTest):
    def test_first_yields_each_item_once(self):
        items = list(range(10000))
        self.assertEqual(list(mankai.Seen(keys=20000, fpr=1e-6, seed="00000000000000010000000000000002").first(iter(items))), items)
        with mankai.ConfirmedSeen(self.folder / "seen.log", keys=20000) as exact:
            self.assertEqual(list(exact.first(iter(items))), items)
            self.assertEqual(len(exact), len(items))

    def test_it_remembers_over_restarts(self):
        path = self.folder / "seen.mk"
        with mankai.Seen(path, keys=20000, fpr=0.001) as seen:
            self.assertFalse(seen.observe("a"))
            self.assertTrue(seen.observe("a"))
            self.assertEqual(list(seen.first(["a", "b", "b", "c"])), ["b", "c"])
            self.assertEqual(seen.update(["c", "d"]), 1)
            self.assertEqual(len(seen), 4)
        with mankai.Seen(path) as seen:
            self.assertIn("d", seen)
            self.assertNotIn("e", seen)
            rows = [{"url": "d"}, {"url": "e"}]
            self.assertEqual(list(seen.first(rows, key=lambda row: row["url"])), [{"url": "e"}])
        with self.assertRaises(mankai.InvalidArgument):
            mankai.Seen(path, keys=7)

    def test_keys_expire_after_the_window(self):
        seen = mankai.Seen(keys=1000, window=datetime.timedelta(hours=1))
        start = datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)
        self.assertFalse(seen.observe("a", at=start))
        self.assertTrue(seen.observe("a", at=start + datetime.timedelta(minutes=59)))
        self.assertGreaterEqual(seen.window, datetime.timedelta(hours=1))
        self.assertFalse(seen.observe("a", at=start + 3 * seen.forgets_after))
        self.assertEqual(seen.observe_many(["b", "b"], at=start + 3 * seen.forgets_after), [False, True])
        with self.assertRaises(ValueError):
            seen.observe("a", at=datetime.datetime(2026, 1, 1))

    def test_a_killed_process_loses_nothing_that_returned(self):
        path = str(self.folder / "seen.mk")
        read, write = os.pipe()
        process = os.fork()
        if process == 0:
            seen = mankai.Seen(path, keys=100000)
            for number in range(10**6):
                seen.observe(f"key {number}")
                os.write(write, number.to_bytes(4, "little"))
        os.close(write)
        with os.fdopen(read, "rb") as pipe:
            pipe.read(4 * 2000)
            os.kill(process, signal.SIGKILL)
            rest = pipe.read()
        os.waitpid(process, 0)
        told = 2000 + len(rest) // 4
        with mankai.Seen(path) as seen:
            self.assertTrue(all(seen.contains_many([f"key {number}" for number in range(told)])))

    def test_processes_share_a_memory(self):
        """Four children, of which one inherits the parent's object and one is killed: each key is new exactly once."""
        path = str(self.folder / "seen.mk")
        parent = mankai.Seen(path, keys=100000, fpr=1e-6, sharing="processes")
        keys = [f"key {number}" for number in range(5000)]
        children = []
        for number in range(4):
            read, write = os.pipe()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                process = os.fork()
            if process == 0:
                os.close(read)
                try:
                    seen = parent if number == 0 else mankai.Seen(path, sharing="processes")
                    mine = keys[number * 1250:] + keys[:number * 1250]
                    new = "".join(key + ";" for key in mine if not seen.observe(key))
                    with os.fdopen(write, "w") as pipe:
                        pipe.write(new)
                        pipe.flush()
                        if number != 3:
                            seen.close()
                finally:
                    os.kill(os.getpid(), signal.SIGKILL)
            os.close(write)
            children.append((process, read))
        new = []
        for process, read in children:
            with os.fdopen(read) as pipe:
                new += pipe.read().split(";")[:-1]
            os.waitpid(process, 0)
        self.assertEqual(sorted(new), sorted(keys))
        self.assertTrue(all(parent.contains_many(keys)))
        with self.assertRaises(mankai.Locked):
            mankai.Seen(path)
        parent.sync()
        self.assertEqual(parent.info["durable_sequence"], parent.info["sequence"])
        parent.close()
        with mankai.Seen(path) as alone:
            self.assertTrue(all(alone.contains_many(keys)))
            with self.assertRaises(mankai.Locked):
                mankai.Seen(path, sharing="processes")
        with self.assertRaises(mankai.InvalidArgument):
            mankai.Seen(keys=10, sharing="processes")

    def test_processes_that_share_counters_forget(self):
        path = str(self.folder / "seen.mk")
        with mankai.Seen(path, keys=1000, fpr=1e-6, kind="counting-bloom", sharing="processes") as seen, \
                mankai.Seen(path, sharing="processes") as other:
            keys = [f"key {number}" for number in range(100)]
            self.assertEqual(seen.update(keys + keys), 100)
            self.assertEqual(other.forget("key 0"), mankai.Removal.REMOVED)
            self.assertEqual(seen.forget_many(keys[:2]), [mankai.Removal.ABSENT, mankai.Removal.REMOVED])
            self.assertEqual(seen.contains_many(keys), [False, False] + [True] * 98)
            self.assertEqual(len(seen), 98)
            self.assertEqual(list(other.first(keys)), keys[:2])
            with self.assertRaisesRegex(mankai.InvalidArgument, "no batches"), other.batch():
                pass
            self.assertTrue(other.observe("key 5"))
        with mankai.Seen(keys=10) as alone, self.assertRaises(mankai.InvalidArgument):
            alone.forget("key 0")

    def test_confirmed_is_never_wrong(self):
        path = self.folder / "seen.log"
        model = set()
        chance = random.Random(3)
        with mankai.ConfirmedSeen(path, keys=100, fpr=0.25) as seen:
            for _ in range(3000):
                key = str(chance.randrange(1500))
                self.assertEqual(seen.observe(key), key in model)
                model.add(key)
            answers = seen.observe_many([f"new {number}" for number in range(100)])
            self.assertNotIn(mankai.Confirmed.REPEAT, answers)
            seen.commit()
            self.assertEqual(len(seen), len(model) + 100)
        with mankai.ConfirmedSeen(path) as seen:
            self.assertEqual(list(seen.first(["new 0", "newest", "newest"])), ["newest"])

    def test_a_process_may_change_its_folder(self):
        (self.folder / "elsewhere").mkdir()
        before = os.getcwd()
        os.chdir(self.folder)
        try:
            mankai.Guard.build([["listed.example"]], exact=True)[0].save("g.mkg")
            gate = mankai.Gate(keys=100)
            gate.apply(position=1)
            gate.save("gate.mk")
            mankai.Filter.create("f.mk", keys=100).close()
            mankai.ConfirmedSeen("seen.log").close()
            os.symlink("seen.log", "link.log")
            with (mankai.ConfirmedSeen("link.log") as seen, mankai.Guard.open("g.mkg", "w") as guard,
                  mankai.Filter.open("f.mk") as reader, mankai.GateFollower.open("gate.mk") as follower):
                os.chdir("elsewhere")
                for start in range(0, 360_000, 60_000):  # enough for a run
                    seen.observe_many(range(start, start + 60_000))
                    seen.commit()
                self.assertEqual(guard.add("added.example"), 1)
                self.assertFalse(reader.refresh())
                self.assertFalse(follower.refresh())
            self.assertEqual(os.listdir("."), [])
            os.chdir("..")
            with mankai.ConfirmedSeen("seen.log") as seen:
                self.assertEqual(len(seen), 360_000)
            self.assertTrue(mankai.Guard.open("g.mkg").blocked("http://added.example/"))
        finally:
            os.chdir(before)


class HotTest(FolderTest):
    def test_the_hottest_and_their_counts(self):
        path = self.folder / "hot.mk"
        start = time.time() - 1000
        with mankai.Hot(path, half_life=600) as hot:
            hot.observe_many(["a"] * 10 + ["b"] * 5 + ["c"], at=start)
            hot.observe("b", at=start + 1)
            self.assertEqual([entry.text for entry in hot.top(2)], ["a", "b"])
            self.assertGreaterEqual(hot.count("a"), 9.8)  # an epoch of a 64th of the half-life may end in between
            hot.advance(start + 601)
            self.assertAlmostEqual(hot.count("a"), 5, delta=0.5)
            self.assertEqual([entry.text for entry in hot.above(4)], ["a"])
            hot.observe("future", at=start + 10**9)
            self.assertEqual(hot.info["records_in_future"], 1)
        # The limit follows the clock also for records without a time.
        soon = mankai.Hot(half_life=600, accept_future=0.001)
        soon.observe("a", at=start)
        time.sleep(0.01)
        soon.observe("a")
        soon.observe_many(["a"])
        self.assertEqual(soon.info["records_in_future"], 0)
        with mankai.Hot(path) as hot:
            self.assertEqual(hot.top(1)[0].key, b"a")
            self.assertEqual(len(hot), 17)

    def test_times_beyond_the_years_of_datetime(self):
        milliseconds = 1.7e12  # given as seconds: the year 55840
        last = datetime.datetime.max.replace(tzinfo=datetime.timezone.utc)
        hot, hottest = mankai.Hot(accept_future=None), mankai.Filter("decayed-top:bytes=65536")
        for one in (hot, hottest):
            one.update(["b", "a"], at=[-milliseconds, milliseconds])
            self.assertEqual((one.top(1)[0].text, one.top(1)[0].last_seen), ("a", last))
        self.assertEqual(hot.now, last)
        usual = mankai.Hot()
        usual.observe("a", at=milliseconds)
        self.assertEqual((usual.top(), usual.info["records_in_future"]), ([], 1))

    @unittest.skipIf(numpy is None, "numpy is missing: apt-get install python3-numpy")
    def test_numpy_times(self):
        hot = mankai.Hot(half_life=600)
        times = numpy.array(["2026-01-01T00:00:00", "2026-01-01T00:00:01"], dtype="datetime64[s]")
        hot.observe_many(numpy.array(["a", "b"]), at=times)
        start = datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)
        self.assertEqual({entry.text: entry.last_seen for entry in hot.top(2)},
                         {"a": start, "b": start + datetime.timedelta(seconds=1)})
        with self.assertRaises(ValueError):
            hot.observe_many(["a"], at=[1.0, 2.0])
        for wrong in (numpy.array([numpy.nan]), numpy.array([numpy.inf]), numpy.array([1e15]),
                      numpy.array(["NaT"], dtype="datetime64[s]"), numpy.datetime64("NaT")):
            with self.assertRaisesRegex(mankai.InvalidArgument, "is not a time"):
                hot.observe_many(["a"], at=wrong)
        class Column:  # as pandas has them: with labels instead of places, and times with a zone
            ndim = 1

            def __init__(self, values):
                self.values = values
                self.dtype = values.dtype

            def __array__(self, dtype=None):
                return self.values
        for column in (times[:1], numpy.array([start], dtype=object), numpy.array([start.timestamp()])):
            hot.observe_many(["a"], at=column)
            hot.observe_many(["a"], at=Column(column))
        with self.assertRaises(TypeError):
            hot.observe_many(["a"], at=numpy.array(["1.0"]))
        hot.observe_many(["c", "d"], at=numpy.datetime64("2026-01-01T00:00:01"))
        self.assertEqual({entry.text for entry in hot.top(4) if entry.last_seen > start}, {"b", "c", "d"})


class GuardTest(FolderTest):
    def test_build_check_change(self):
        (self.folder / "hosts.txt").write_text("0.0.0.0 evil.example\n# comment\n0.0.0.0 bad.example\n")
        guard, report = mankai.Guard.build([self.folder / "hosts.txt", ["shop.example/malware"]], allow=[["ok.evil.example"]],
                                           fpr=1e-9)
        self.assertEqual((report.rules_in_force, len(guard)), (3, 3))
        for wrong in ([b"hosts.txt"], [[7]]):
            with self.assertRaises(TypeError):
                mankai.Guard.build(wrong)
        self.assertTrue(guard.blocked("http://cdn.EVIL.example./a"))
        verdict = guard.check("http://shop.example/x/%2e%2e/malware/a")
        self.assertTrue(verdict)
        self.assertIn("shop.example/malware", verdict.rule)
        self.assertEqual(guard.check("http://ok.evil.example/").answer, mankai.Answer.ALLOWED)
        self.assertEqual(guard.check("http://good.example/").answer, mankai.Answer.OK)
        self.assertEqual(guard.check("http://").answer, mankai.Answer.INVALID)
        self.assertTrue(guard.blocked("http://"))
        self.assertFalse(guard.blocked("http://", invalid=False))
        urls = ["http://evil.example/", "http://good.example/", "http://ok.evil.example/", "http://"]
        self.assertEqual(guard.blocked_many(urls), [True, False, False, True])
        self.assertEqual(guard.blocked_many(iter(urls), invalid=False), [True, False, False, False])
        self.assertEqual(guard.check_many(urls)[0], mankai.Answer.BLOCKED)
        guard.save(self.folder / "g.mkg")
        mankai.verify(self.folder / "g.mkg")
        with mankai.Guard.open(self.folder / "g.mkg", "w") as writer:
            reader = mankai.Guard.open(self.folder / "g.mkg")
            self.assertEqual(writer.add("new.example", "evil.example"), 1)
            self.assertTrue(reader.refresh())
            self.assertIn("http://new.example/", reader)
            self.assertEqual(writer.remove("bad.example"), 1)
            self.assertEqual(writer.disallow("ok.evil.example"), 1)
            with self.assertRaises(mankai.InvalidArgument):
                writer.add("http://")
            with self.assertRaises(mankai.InvalidArgument):
                reader.add("x.example")
            writer.compact()
        self.assertEqual(mankai.Guard.from_bytes(guard.to_bytes()).exceptions, ["ok.evil.example"])
        with self.assertRaises(TypeError):
            mankai.Guard.build("hosts.txt")
        for call in (guard.add, guard.remove, guard.allow, guard.disallow):
            with self.assertRaisesRegex(TypeError, r"a rule is a str, not list; .* \*rules"):
                call(["a.example", "b.example"])

    def test_random_rules_against_a_model(self):
        chance = random.Random(9)
        hosts = [f"h{chance.randrange(10**6)}.example" for _ in range(2000)]
        guard, _ = mankai.Guard.build([hosts], exact=True)
        blocked = set(hosts)
        for number in range(4000):
            host = chance.choice(hosts) if number % 2 else f"h{chance.randrange(10**6)}.example"
            self.assertEqual(guard.blocked(f"http://www.{host}/x"), host in blocked, host)


class GateTest(FolderTest):
    def test_it_asks_only_where_there_may_be_a_row(self):
        gate = mankai.Gate(keys=1000, fpr=0.01)
        rows = {f"cookie {number}": number + 1 for number in range(500)}
        gate.apply(inserted=rows, position=1)
        asked = []

        def load(key):
            asked.append(key)
            return rows.get(key)
        for key, row in rows.items():
            self.assertEqual(gate.get(key, lambda key=key: load(key)), row)
        self.assertEqual(len(asked), 500)
        for number in range(2000):
            self.assertIsNone(gate.get(f"nobody {number}", lambda number=number: load(f"nobody {number}")))
        self.assertLess(len(asked), 600)
        self.assertEqual(gate.counts["false_positives"], len(asked) - 500)
        self.assertEqual(gate.position, 1)
        self.assertTrue(gate.maybe("nobody", 5), "the position 5 is not applied yet")
        with gate.hold("held"):
            self.assertTrue(gate.maybe("held"))
        gate.apply(removed=["cookie 0"], position=2)
        self.assertEqual(len(gate), 499)
        for position in (-1, 2**64):
            with self.assertRaisesRegex(mankai.InvalidArgument, "negative"):
                gate.apply(position=position)
        self.assertEqual(gate.position, 2)
        gate.apply(inserted=[bytearray(b"bytes"), memoryview(b"view"), array.array("B", b"array")], position=3)
        self.assertTrue(all(gate.maybe(key) for key in (b"bytes", b"view", b"array")))
        with self.assertRaisesRegex(TypeError, "a key is str"):
            gate.apply(inserted=[1.5], position=4)
        for one in ("cookie", b"cookie"):
            with self.assertRaisesRegex(TypeError, "one key"):
                gate.apply(inserted=one, position=4)
            with self.assertRaisesRegex(TypeError, "one key"):
                gate.apply(removed=one, position=4)

    def test_a_follower_follows(self):
        path = self.folder / "gate.mk"
        empty = mankai.Gate(keys=1000, source_id="shop")
        empty.apply(position=1)
        empty.save(path)
        with mankai.Gate.open(path) as gate, mankai.GateFollower.open(path) as follower:
            self.assertFalse(follower.maybe("a"))
            gate.apply(inserted=["a"], position=7, mark="m1")
            self.assertEqual(gate.source, ("shop", "m1"))
            gate.sync()
            follower.refresh_every(0.01)
            deadline = time.monotonic() + 60
            while not follower.maybe("a") and time.monotonic() < deadline:
                time.sleep(0.01)
            self.assertTrue(follower.maybe("a"))
            self.assertEqual(follower.position, 7)


class UrlTest(unittest.TestCase):
    def test_an_invalid_url_has_a_code(self):
        with self.assertRaises(url.InvalidUrl) as caught:
            url.canonical("http://")
        with self.assertRaises(mankai.InvalidArgument) as other:
            mankai.Filter("bloom:keys=-1")
        self.assertEqual(caught.exception.code, other.exception.code)

    def test_canonical_forms_and_parts(self):
        self.assertEqual(url.canonical("HTTP://Example.COM:80/a/../b"), "http://example.com/b")
        parsed = url.parse("https://a.b.co.uk:444/x/y?z")
        self.assertEqual((parsed.scheme, parsed.host, parsed.path, parsed.query), ("https", "a.b.co.uk", "/x/y", "?z"))
        self.assertEqual(parsed.authority, "a.b.co.uk:444")
        self.assertEqual(parsed.registrable_domain, "b.co.uk")
        self.assertEqual(url.parse("http://127.0.0.1/").registrable_domain, "")
        self.assertEqual(url.hosts("http://a.b.example.com/")[0], "a.b.example.com")
        self.assertIn("/x/", url.paths("http://e.example/x/y"))
        with self.assertRaises(url.InvalidUrl):
            url.canonical("http://")
        self.assertEqual(url.canonical_many(["http://a.example", "http://"]), ["http://a.example/", None])
        long = "http://a.example/" + "x" * 5000
        self.assertEqual(url.canonical(long), long)
        with self.assertRaises(ValueError):
            url.canonical("http://a.example", rules="none")


class DabloomsTest(FolderTest):
    def test_the_interface_of_bitly(self):
        path = str(self.folder / "bloom.bin")
        bloom = pydablooms.Dablooms(capacity=1000, error_rate=0.05, filepath=path)
        self.assertEqual(pydablooms.__version__, "0.9.1")
        self.assertEqual(bloom.add(b"word", 1), 1)
        self.assertEqual(bloom.add("other", 2), 1)
        self.assertEqual(bloom.mem_seqnum(), 3)
        self.assertEqual(bloom.check("word"), 1)
        self.assertEqual(bloom.delete("word", 1), 1)
        self.assertEqual(bloom.check("word"), 0)
        self.assertEqual(bloom.flush(), 0)
        self.assertEqual(bloom.disk_seqnum(), bloom.mem_seqnum())
        del bloom
        again = pydablooms.load_dabloom(capacity=1000, error_rate=0.05, filepath=path)
        self.assertIn("other", again)
        with self.assertRaises(TypeError):
            pydablooms.Dablooms(1000)
        with self.assertRaises(mankai.InvalidArgument):
            pydablooms.Dablooms(2**32 + 1000, 0.01, path)
        with self.assertRaises(mankai.InvalidArgument):
            again.add("x", 2**64 + 5)
        with self.assertRaises(OSError):
            pydablooms.load_dabloom(1000, 0.05, str(self.folder / "none"))


class ErrorTest(unittest.TestCase):
    def test_errors_have_a_code_and_are_what_people_catch(self):
        for name, builtin in (("InvalidArgument", ValueError), ("NotFound", FileNotFoundError), ("DiskError", OSError),
                              ("Corrupt", ValueError), ("Locked", BlockingIOError), ("Forked", RuntimeError),
                              ("Closed", ValueError), ("OutOfSpace", OSError)):
            error = getattr(mankai, name)
            self.assertTrue(issubclass(error, mankai.Error) and issubclass(error, builtin), name)
        with self.assertRaises(mankai.DiskError) as caught:
            mankai.Filter.open("/proc/self/mem/x")
        error = caught.exception
        self.assertEqual((error.code, error.errno, error.os_error), ("io", errno.ENOTDIR, errno.ENOTDIR))
        self.assertIn("/proc/self/mem/x: cannot", str(error))
        for call, number, os_error in ((lambda: mankai.Filter.open("/proc/none"), errno.ENOENT, errno.ENOENT),
                                       (lambda: mankai.Filter("none:keys=1"), errno.ENOENT, 0),
                                       (lambda: mankai.Filter.open("/"), errno.EIO, 0)):
            with self.assertRaises(OSError) as caught:
                call()
            self.assertEqual((caught.exception.errno, caught.exception.os_error), (number, os_error))
        for error, code in ((mankai.Closed, "closed"), (mankai.Busy, "busy"), (mankai.Corrupt, "corrupt"), (mankai.Error, None)):
            self.assertEqual(error.code, code)

    def test_errors_are_pickled_with_their_attributes(self):
        for call in (lambda: mankai.Filter.open("/proc/none"), lambda: mankai.Filter.open("/proc/self/mem/x"),
                     lambda: mankai.Filter("none:keys=1"), lambda: url.canonical("http://"), lambda: mankai.Filter.create(keys=-1)):
            with self.assertRaises(mankai.Error) as caught:
                call()
            error = caught.exception
            error.filename = "a name that the program gave"
            error.add_note("a note")
            for again in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):
                self.assertIs(type(again), type(error))
                self.assertEqual(str(again), str(error))
                for name in ("code", "os_error", "errno", "filename", "args", "__notes__"):
                    self.assertEqual(getattr(again, name, None), getattr(error, name, None), name)

    def test_zero_is_not_a_default(self):
        with tempfile.TemporaryDirectory(prefix="mankai-python-") as folder:
            new = os.path.join(folder, "new")
            for make, names in ((mankai.Seen, ("keys", "fpr", "window", "interval")),
                                (lambda **given: mankai.ConfirmedSeen(new, **given), ("keys", "fpr")),
                                (mankai.Hot, ("half_life", "window", "epoch", "memory", "late_tolerance", "interval")),
                                (lambda **given: mankai.Filter.create(new, **{"keys": 10, **given}), ("keys", "interval")),
                                (mankai.Gate, ("keys", "fpr", "memo")), (mankai.Guard, ("fpr",)),
                                (lambda **given: mankai.Gate.open(new, **given), ("memo", "interval")),
                                (lambda **given: mankai.Guard.build([], **given), ("fpr",)),
                                (lambda **given: mankai.plan(10, **given), ("memory_bytes", "fpr"))):
                for name in names:
                    with self.assertRaises(mankai.InvalidArgument, msg=name):
                        make(**{name: 0})
            self.assertEqual(os.listdir(folder), [])
        with self.assertRaisesRegex(mankai.InvalidArgument, "window is 0:00:00; give more than 0, or leave it out"):
            mankai.Seen(window=datetime.timedelta(0))
        mankai.Seen(keys=10, window=1e-9)  # a microsecond at least
        for setting, kind in (({"interval": float("nan")}, mankai.InvalidArgument), ({"window": float("inf")}, mankai.InvalidArgument),
                              ({"window": "5"}, TypeError), ({"keys": 1e6}, TypeError), ({"sharing": []}, TypeError), ({"durability": {}}, TypeError),
                              ({"keys": -1}, mankai.InvalidArgument), ({"fpr": float("nan")}, mankai.InvalidArgument), ({"fpr": "1"}, TypeError)):
            with self.assertRaisesRegex(kind, f"^{next(iter(setting))} is "):
                mankai.Seen(**{"keys": 10, **setting})

    def test_wrong_values_are_errors_of_the_package(self):
        """The rule of docs/python.md: InvalidArgument, which is a ValueError, for values; TypeError for types."""
        new = mankai.Filter.create
        values, hottest = mankai.Filter("recent-values:keys=100"), mankai.Filter("decayed-top:bytes=65536")
        made, hot, gate, guard = new(keys=100), mankai.Hot(), mankai.Gate(), mankai.Guard()
        gaps = memoryview(b"abcdef")[::2]
        path = "/proc/none"
        huge = 10**400
        late = datetime.datetime(2026, 1, 1)
        for number, call in enumerate((
                lambda: mankai.Filter("bloom:keys=10\0"), lambda: mankai.Filter("bloom:none=1"), lambda: new(keys=10, fpr=huge),
                lambda: new("a\0", keys=10), lambda: new(path, keys=10, durability="none"), lambda: new(path, keys=10, interval=-1),
                lambda: mankai.Filter.open("a\0"), lambda: mankai.Filter.open(path, "a"), lambda: mankai.Filter.from_bytes(gaps),
                lambda: made.save("a\0"), lambda: mankai.verify("a\0"), lambda: mankai.plan(-1), lambda: mankai.plan(10, huge),
                lambda: mankai.plan(10, memory_bytes=-1), lambda: made.add(2**63), lambda: made.add(gaps), lambda: gaps in made,
                lambda: made.observe(2**63), lambda: made.contains_many([gaps]), lambda: made.update(iter([2**63])),
                lambda: made.contains_many(["a"], out=bytearray(2)), lambda: made.contains_many(["a"], out=b"1"),
                lambda: hottest.top(-1), lambda: hottest.top(2**64), lambda: hottest.advance(float("nan")), lambda: hottest.add("a", at=late),
                lambda: values.put("a", -1), lambda: values.put("a", 2**32), lambda: values.put("a", 1, strength=huge),
                lambda: values.recall("a", min_matches=-1), lambda: values.recall("a", min_matches=2**64),
                lambda: mankai.Seen(keys=2**64), lambda: mankai.Seen(fpr=huge), lambda: mankai.Seen(hash="a\0"), lambda: mankai.Seen("a\0"),
                lambda: mankai.Seen(sharing="none"), lambda: mankai.Seen(window=-1), lambda: mankai.Seen().observe("a", at=late),
                lambda: mankai.ConfirmedSeen("a\0"), lambda: mankai.ConfirmedSeen(path, fpr=-1), lambda: mankai.Hot("a\0"),
                lambda: mankai.Hot(rounding="none"), lambda: mankai.Hot(accept_future=-1), lambda: mankai.Hot(accept_future=float("nan")),
                lambda: hot.observe("a", at=1e300), lambda: hot.observe("a", at=float("inf")), lambda: hot.observe_many(["a"], at=[1e300]),
                lambda: hot.observe_many(["a"], at=[1.0, 2.0]), lambda: hot.top(-1), lambda: hot.above(huge), lambda: hot.count(2**63),
                lambda: mankai.Guard(fpr=huge), lambda: mankai.Guard(seed="a\0"), lambda: mankai.Guard.open(path, "a"),
                lambda: mankai.Guard.open("a\0"), lambda: mankai.Guard.build([], format="none"), lambda: mankai.Guard.build([["a"]], column="a\0"),
                lambda: guard.add("a.example", id=-1), lambda: guard.remove("a.example", id=2**64), lambda: guard.blocked(gaps),
                lambda: mankai.Gate(keys=-1), lambda: mankai.Gate(memo=2**64), lambda: mankai.Gate(source_id="a\0"), lambda: mankai.Gate.open("a\0"),
                lambda: gate.apply(position=2**64), lambda: gate.apply(position=1, mark="a\0"), lambda: gate.apply(inserted=[2**63], position=1),
                lambda: gate.maybe("a", -1), lambda: gate.get("a", len, after=-1), lambda: mankai.GateFollower.open("a\0"),
                lambda: mankai.GateFollower.open(path, memo=-1), lambda: url.canonical("http://a.example", rules="none"),
                lambda: url.hosts("http://a.example", ladder="none"), lambda: url.paths("http://a.example", ladder="none"),
                lambda: url.canonical(gaps), lambda: pydablooms.Dablooms(-1, 0.1, path), lambda: pydablooms.Dablooms(1, 0.1, "a\0"))):
            with self.assertRaises(mankai.InvalidArgument, msg=f"call {number}") as caught:
                call()
            self.assertIsInstance(caught.exception, ValueError)
            self.assertEqual((caught.exception.code, caught.exception.os_error), ("invalid_argument", 0))
        for number, call in enumerate((
                lambda: mankai.Filter(5), lambda: new(5, keys=10), lambda: new(keys="10"), lambda: new(keys=10, fpr="0.1"), lambda: new(keys=True), lambda: mankai.Filter.open(None), lambda: mankai.Filter.from_bytes("a"),
                lambda: mankai.plan(1.5), lambda: made.contains_many(["a"], out=[0]), lambda: hottest.top("a"), lambda: hottest.advance("a"),
                lambda: values.put("a", "b"), lambda: mankai.Seen(keys=1.5), lambda: mankai.Seen(keys="1"), lambda: mankai.Seen(window="a"),
                lambda: mankai.Seen(other=1), lambda: hot.observe("a", at="a"), lambda: hot.above("a"), lambda: mankai.Hot(accept_future="a"),
                lambda: mankai.Hot(late_tolerance=[]), lambda: guard.add(5), lambda: guard.add("a.example", id="a"),
                lambda: gate.apply(position=None), lambda: gate.report("a", None), lambda: url.canonical(None),
                lambda: url.canonical_many("http://a.example"), lambda: url.registrable_domain(5))):
            with self.assertRaises(TypeError, msg=f"call {number}"):
                call()
        for text in ("\ud800", "a\ud800"):
            for call in (made.add, mankai.Filter, url.canonical, guard.blocked, lambda text: mankai.Seen(hash=text)):
                with self.assertRaises(UnicodeEncodeError):
                    call(text)

    def test_errors_of_the_callers_own_code_stay_what_they_are(self):
        def keys():
            yield "a"
            raise error
        made, seen = mankai.Filter.create(keys=100), mankai.Seen(keys=100)
        for error in (ValueError("of a generator"), OverflowError(), KeyboardInterrupt()):
            for call in (made.update, made.contains_many, made.remove_many, seen.observe_many, lambda keys: list(seen.first(keys)),
                         mankai.Hot().observe_many, mankai.Guard().check_many, lambda keys: mankai.Guard.build([keys]),
                         lambda keys: mankai.Gate().apply(inserted=keys, position=1), lambda keys: url.canonical_many(keys, invalid="")):
                with self.assertRaises(type(error)) as caught:
                    call(keys())
                self.assertIs(caught.exception, error)
        self.assertEqual((len(made), len(seen)), (0, 0))

    def test_ids_are_integers(self):
        counted = mankai.Filter("scalable-counting-bloom:keys=100")
        for ids, kind in ((bytes(8), TypeError), (bytearray(8), TypeError), ([-1], mankai.InvalidArgument), ([1 << 64], mankai.InvalidArgument)):
            with self.assertRaises(kind):
                counted.update(["a"], ids=ids)
            with self.assertRaises(kind):
                counted.remove_many(["a"], ids=ids)
        self.assertEqual(counted.update(["a"], ids=[1]), 1)

    def test_messages_do_not_name_functions_of_other_languages(self):
        with tempfile.TemporaryDirectory(prefix="mankai-python-") as folder:
            path, guard_path, gate_path = (os.path.join(folder, name) for name in ("f.mk", "g.mkg", "gate.mk"))
            mankai.Filter.create(keys=10).save(path)
            mankai.Guard().save(guard_path)
            mankai.Gate().save(gate_path)
            memory, reader, guard = mankai.Filter.create(keys=10), mankai.Filter.open(path), mankai.Guard.open(guard_path)
            gate = mankai.Gate.open(gate_path)
            for call in (lambda: reader.add("a"), memory.refresh, memory.sync, lambda: guard.add("a.example"),
                         mankai.Guard().refresh, lambda: gate.save(os.path.join(folder, "copy")),
                         lambda: mankai.Seen(keys=10, sharing="processes"), lambda: mankai.Seen(window=1e12),
                         lambda: mankai.Hot(window=5, half_life=5), lambda: mankai.Hot(epoch=5), lambda: mankai.Hot(interval=1e12)):
                with self.assertRaises(mankai.InvalidArgument) as caught:
                    call()
                self.assertNotRegex(str(caught.exception), "mankai_|::|MANKAI|_us")
            gate.close()

    def test_classes_of_the_extension_cannot_be_made_empty(self):
        for name in ("Handle", "Filter", "Seen", "Guard", "Gate", "Hot", "ConfirmedSeen", "GateFollower", "Maybe", "GuardBuilder"):
            with self.assertRaises(TypeError, msg=name):
                getattr(mankai._core, name)()

    def test_help_has_a_text_for_everything_public(self):
        for name in mankai.__all__:
            one = getattr(mankai, name)
            self.assertTrue(one.__doc__, name)
            for member in (vars(one) if isinstance(one, type) and one.__module__.startswith("mankai") else ()):
                if not member.startswith("_") and callable(getattr(one, member)):
                    self.assertTrue(getattr(one, member).__doc__, f"{name}.{member}")


if __name__ == "__main__":
    unittest.main()
