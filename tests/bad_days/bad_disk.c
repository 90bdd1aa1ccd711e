/* A disk that goes wrong, for whoever has this preloaded. While the file named by FSYNC_FAILS_WHILE exists, a
 * sync returns EIO; while the one named by FSYNC_HANGS_WHILE exists, it does not return. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static int there(const char *variable) {
    const char *flag = getenv(variable);
    return flag != NULL && access(flag, F_OK) == 0;
}

static int sync_by(long number, int fd) {
    while (there("FSYNC_HANGS_WHILE")) usleep(2000);
    if (!there("FSYNC_FAILS_WHILE")) return (int)syscall(number, fd);
    errno = EIO;
    return -1;
}

int fsync(int fd) { return sync_by(SYS_fsync, fd); }
int fdatasync(int fd) { return sync_by(SYS_fdatasync, fd); }
