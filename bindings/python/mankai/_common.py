"""What the classes share: iterables in batches, results as the caller's kind of array, times."""
from __future__ import annotations

import array
import datetime
import itertools
import operator
import sys
import time
from typing import Any, Callable, Iterator

from . import _core

#: Keys per batch of an iterable that is neither a list nor an array.
BATCH_KEYS = 65536

DURABILITY = {"interval": 2, "always": 1, "never": 3}
MODES = {"r": False, "w": True}


def choice(name: str, value: Any, codes: dict[Any, Any]) -> Any:
    """The code of one of the values that a setting has."""
    if value not in tuple(codes):  # a tuple takes values that have no hash
        names = ", ".join(f'"{one}"' for one in codes if one)
        wrong = _core.InvalidArgument if isinstance(value, str) else TypeError
        raise wrong(f"{name} is one of {names}, not {value!r}")
    return codes[value]


def durability_code(name: str) -> int:
    return choice("durability", name, DURABILITY)


def given(name: str, value: Any, convert: Callable[[Any], Any] = lambda value: value) -> Any:
    """A setting as the extension takes it, for which 0 is the default."""
    if value is None:
        return 0
    try:
        converted = convert(value)
        is_positive = converted > 0
    except (TypeError, ValueError, OverflowError) as error:
        wrong: type[Exception] = TypeError if isinstance(error, TypeError) else _core.InvalidArgument
        wanted = {duration_us: "a number of seconds or a timedelta", operator.index: "an integer"}.get(convert, "a number")
        raise wrong(f"{name} is {value!r}; give {wanted}") from None
    if not is_positive:
        raise _core.InvalidArgument(f"{name} is {value}; give more than 0, or leave it out")
    return converted


def integers(name: str, code: str, values: Any) -> array.array[int]:
    """Integers as an array of the extension's type."""
    if not isinstance(values, (array.array, list, tuple)):
        values = list(values)  # the errors of an iterator pass unchanged
    try:
        return array.array(code, values)
    except OverflowError:
        raise _core.InvalidArgument(f"{name} below 0 or above 2**{8 * array.array(code).itemsize} - 1") from None


def ids_of(ids: Any) -> array.array[int] | None:
    """Ids of keys as the extension takes them."""
    if isinstance(ids, (bytes, bytearray)):
        raise TypeError("ids are integers, one per key, not bytes")
    return None if ids is None else integers("an id is", "Q", ids)


def _reduce_error(error: BaseException) -> tuple[Any, ...]:
    """Pickles an error with the attributes of OSError, which forgets those that are not in its arguments."""
    names = [name for name in ("errno", "filename", "filename2") if getattr(error, name, None) is not None]
    return type(error), error.args, {**error.__dict__, **{name: getattr(error, name) for name in names}}


_core.Error.__reduce__ = _reduce_error  # type: ignore[assignment]


def refuse_masked(values: Any) -> None:
    """A masked array of numpy exports what is below its mask."""
    numpy_ma = sys.modules.get("numpy.ma")
    if numpy_ma is not None and isinstance(values, numpy_ma.MaskedArray) and numpy_ma.is_masked(values):
        raise _core.InvalidArgument("a masked array with masked elements; use its compressed() or filled()")


def is_array(keys: Any) -> bool:
    """Whether the extension takes these keys as they are: list, tuple, buffer or Arrow."""
    if isinstance(keys, (list, tuple)) or hasattr(keys, "__arrow_c_array__") or hasattr(keys, "__arrow_c_stream__"):
        return True
    try:
        memoryview(keys).release()
    except TypeError:
        return isinstance(keys, str)  # an error of the extension, which says why
    except ValueError:
        return True  # times of numpy: an error of prepare
    return True


def prepare(keys: Any) -> Any:
    """Keys in the form that the extension takes. pandas' columns are the arrays below them."""
    if isinstance(keys, (list, tuple)):
        return keys
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        if hasattr(keys, "to_numpy") and not hasattr(keys, "__arrow_c_array__") and not hasattr(keys, "__arrow_c_stream__"):
            keys = keys.to_numpy()
        refuse_masked(keys)
        if isinstance(keys, numpy.ndarray) and keys.dtype.kind in "OMm":
            # datetime64 has no buffer protocol; an array of objects has one that does not hold its objects.
            if keys.dtype.kind != "O":
                raise TypeError("keys are texts, bytes or integers, not times")
            return keys.tolist()
        if isinstance(keys, numpy.ndarray) and not keys.dtype.isnative:
            return keys.astype(keys.dtype.newbyteorder("="))
    return keys


def bytes_of_out(out: Any, count: int) -> memoryview:
    view = memoryview(out).cast("B")
    if view.readonly or view.nbytes != count:
        raise _core.InvalidArgument(f"out is read-only or has {view.nbytes} bytes; the results have {count}")
    return view


def as_results(found: Any, keys: Any, kind: str, out: Any = None) -> Any:
    """Bytes of results as numpy array if numpy is in use and the keys were no list, else as memoryview.

    `kind` is the format of one result: "?" or "I".
    """
    if out is not None:
        bytes_of_out(out, len(found))[:] = bytes(found)
        return out
    numpy: Any = sys.modules.get("numpy")
    if isinstance(found, list):
        is_array_of_objects = numpy is not None and isinstance(keys, numpy.ndarray)
        return numpy.array(found, dtype={"?": bool, "I": "uint32"}[kind]) if is_array_of_objects else found
    if numpy is not None:
        return numpy.frombuffer(found, dtype={"?": bool, "I": "uint32", "B": "uint8"}[kind])
    return memoryview(found).cast(kind)


def batches(keys: Any) -> Iterator[Any]:
    """Yields keys as tuples of at most BATCH_KEYS, which the extension need not copy, or as the one array that they are."""
    if is_array(keys):
        yield prepare(keys)
        return
    iterator = iter(keys)
    while chunk := tuple(itertools.islice(iterator, BATCH_KEYS)):
        yield chunk


def many(call: Callable[[Any], Any], keys: Any, kind: str = "?", out: Any = None) -> Any:
    """Runs call(keys) -> list or bytearray for arrays, lists and iterables."""
    if out is not None:
        keys = keys if is_array(keys) else list(keys)
        if hasattr(keys, "__len__"):
            bytes_of_out(out, len(keys))  # an error before the call adds keys
    if isinstance(keys, (list, tuple)):
        return as_results(call(keys), keys, kind, out)
    if is_array(keys):
        return as_results(call(prepare(keys)), keys, kind, out)
    results: list[Any] = []
    for chunk in batches(keys):
        results.extend(call(chunk))
    return as_results(results, keys, kind, out)


def microseconds(when: Any) -> int:
    """A time as microseconds since 1970: seconds as int or float, an aware datetime, or numpy.datetime64."""
    if isinstance(when, datetime.datetime):
        if when.tzinfo is None:
            raise _core.InvalidArgument("a datetime without a time zone; use datetime.now(timezone.utc)")
        return (when - _EPOCH) // _MICROSECOND
    try:
        if type(when).__name__ == "datetime64":
            time_us = int(when.astype("datetime64[us]").astype("int64"))
        else:
            time_us = round(when * 1_000_000)
    except TypeError:
        raise TypeError(f"a time is seconds since 1970, an aware datetime or a numpy.datetime64, not {type(when).__name__}") from None
    except (ValueError, OverflowError):
        time_us = _NOT_A_TIME
    if not -(2**63) < time_us < 2**63:
        raise _core.InvalidArgument(f"{when} is not a time in seconds since 1970")
    return time_us


def moment(time_us: int) -> datetime.datetime:
    """A time as a datetime, or the last one: milliseconds that were given as seconds are after the year 9999."""
    try:
        return _EPOCH + datetime.timedelta(microseconds=time_us)
    except OverflowError:
        return datetime.datetime.max.replace(tzinfo=datetime.timezone.utc)


def now_us() -> int:
    return time.time_ns() // 1000


def duration_us(seconds: Any) -> int:
    """A duration as microseconds, at least one if it is above 0: seconds, or a timedelta."""
    if isinstance(seconds, datetime.timedelta):
        return seconds // _MICROSECOND
    return round(seconds * 1_000_000) or int(seconds > 0)


def times_us(at: Any, count: int = 0) -> Any:
    """Times per key as an array of 64-bit integers; one time counts for all keys."""
    if hasattr(at, "dtype") and at.ndim:
        refuse_masked(at)
        numpy = sys.modules["numpy"]
        at = numpy.asarray(at)  # of a column of pandas
        if at.dtype.kind not in "Miuf":
            return times_us(at.tolist())
        if at.dtype.kind == "M":
            times = at.astype("datetime64[us]").astype("int64")
            is_valid = times != _NOT_A_TIME
        else:
            times = numpy.rint(at.astype("float64") * 1e6)
            is_valid = abs(times) < 2.0**63  # nor NaN
        if not is_valid.all():
            raise _core.InvalidArgument(f"{at[~is_valid][0]} is not a time in seconds since 1970")
        return times.astype("int64")
    if isinstance(at, (list, tuple, array.array)):
        return array.array("q", [microseconds(one) for one in at])
    return array.array("q", [microseconds(at)]) * count


def refuse_one_key(keys: Any) -> None:
    if isinstance(keys, (str, bytes, bytearray, memoryview)):
        raise TypeError("one key where many are expected; put it into a list")


def length_of(keys: Any) -> int:
    """Number of keys of a list or array."""
    try:
        return len(keys)
    except TypeError:
        raise TypeError("keys with times are a list or an array with a length") from None


_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
_MICROSECOND = datetime.timedelta(microseconds=1)
_NOT_A_TIME = -(2**63)  # numpy's NaT
