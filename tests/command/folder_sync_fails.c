/* Preloaded into the command: while its folder has a file "sync fails", folders cannot be synchronized, as on a disk with errors. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

__attribute__((visibility("default"))) int fsync(int file) {
  struct stat found;
  if (fstat(file, &found) == 0 && S_ISDIR(found.st_mode) && access("sync fails", F_OK) == 0) {
    errno = EIO;
    return -1;
  }
  return fdatasync(file);
}
