# Cross-compiles for 64-bit ARM against the libraries that tools/test_neon.sh unpacked.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64)
set(sysroot $ENV{MANKAI_NEON_SYSROOT})
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH ${sysroot} /usr/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
# The C library is the cross compiler's own; the folder of unpacked packages holds none.
set(CMAKE_C_FLAGS_INIT "-isystem ${sysroot}/usr/include")
set(CMAKE_CXX_FLAGS_INIT "-isystem ${sysroot}/usr/include")
set(CMAKE_EXE_LINKER_FLAGS_INIT
  "-L${sysroot}/usr/lib/aarch64-linux-gnu -Wl,-rpath-link,${sysroot}/usr/lib/aarch64-linux-gnu")
