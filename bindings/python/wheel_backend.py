"""Builds the wheel (PEP 517) with CMake and the standard library, so that `pip install .` works without a network.

As a program it writes the wheel of an extension that was built already: wheel_backend.py EXTENSION FOLDER
"""
from __future__ import annotations

import base64
import hashlib
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import tomllib
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent


def version() -> str:
    return re.search(r"project\(mankai VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text())[1]


def platform_of(extension: pathlib.Path) -> str:
    """The oldest glibc that has all symbols of the extension, as the tag of a wheel says it."""
    machine = os.uname().machine
    try:
        symbols = subprocess.run(["objdump", "-T", extension], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return f"linux_{machine}"
    versions = [tuple(map(int, found.split("."))) for found in re.findall(r"GLIBC_([0-9]+\.[0-9]+)", symbols)]
    if not versions:  # another C library
        return f"linux_{machine}"
    needed = max(versions)
    return f"manylinux_{needed[0]}_{needed[1]}_{machine}"


def build_extension(folder: pathlib.Path) -> pathlib.Path:
    jobs = os.environ.get("CMAKE_BUILD_PARALLEL_LEVEL", str(os.cpu_count() or 1))
    for command in (["cmake", "-S", ROOT, "-B", folder, "-DCMAKE_BUILD_TYPE=Release", "-DMANKAI_BUILD_TESTS=OFF",
                     "-DMANKAI_BUILD_APPS=OFF", "-DMANKAI_BUILD_REDIS=OFF", "-DMANKAI_BUILD_PYTHON=ON",
                     f"-DPython3_EXECUTABLE={sys.executable}"],
                    ["cmake", "--build", folder, "--target", "mankai_python", "--parallel", jobs]):
        try:
            subprocess.run(command, check=True)
        except FileNotFoundError:
            raise SystemExit("cmake is missing; on Debian: apt-get install cmake g++ ninja-build, and the packages of the "
                             "section [build] in tools/apt-packages.txt") from None
    return next((folder / "python" / "mankai").glob("_core*.so"))


def metadata() -> str:
    project = tomllib.loads((HERE / "pyproject.toml").read_text())["project"]
    lines = ["Metadata-Version: 2.1", f"Name: {project['name']}", f"Version: {version()}",
             f"Summary: {project['description']}", f"License: {project['license']['text']}",
             f"Requires-Python: {project['requires-python']}", *(f"Classifier: {one}" for one in project["classifiers"]),
             "Description-Content-Type: text/markdown", "", (HERE / "README.md").read_text()]
    return "\n".join(lines)


def write_wheel(extension: pathlib.Path, wheels: pathlib.Path) -> str:
    tag = f"cp311-abi3-{platform_of(extension)}"
    name = f"mankai-{version()}-{tag}.whl"
    info = f"mankai-{version()}.dist-info"
    files = {f"mankai/{path.name}": path.read_bytes() for path in sorted((HERE / "mankai").iterdir())
             if path.suffix in (".py", ".pyi") or path.name == "py.typed"}
    files["mankai/_core.abi3.so"] = extension.read_bytes()
    files[f"{info}/METADATA"] = metadata().encode()
    files[f"{info}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: mankai {version()}\nRoot-Is-Purelib: false\nTag: {tag}\n".encode()
    files[f"{info}/LICENSE"] = (ROOT / "LICENSE").read_bytes()
    record = []
    for path, content in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        record.append(f"{path},sha256={digest},{len(content)}\n")
    files[f"{info}/RECORD"] = "".join([*record, f"{info}/RECORD,,\n"]).encode()
    wheels.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(wheels / name, "w", zipfile.ZIP_DEFLATED) as wheel:
        for path, content in files.items():
            # A fixed time, so that the same content is the same file.
            entry = zipfile.ZipInfo(path, (2020, 1, 1, 0, 0, 0))
            entry.external_attr = (0o100755 if path.endswith(".so") else 0o100644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(entry, content)
    return name


def build_wheel(wheel_directory: str, config_settings=None, metadata_directory=None) -> str:
    kept = os.environ.get("MANKAI_PYTHON_BUILD")  # a build folder to use again
    with tempfile.TemporaryDirectory(prefix="mankai-wheel-") as temporary:
        return write_wheel(build_extension(pathlib.Path(kept or temporary)), pathlib.Path(wheel_directory))


def build_sdist(sdist_directory: str, config_settings=None) -> str:
    raise SystemExit("there is no source distribution of the package alone; build from a clone of Mankai")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__.strip().splitlines()[-1].strip())
    print(write_wheel(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])))
