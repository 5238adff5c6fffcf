/* Makes writes below one folder, and of git's objects, fail while a control file says so. Loaded with LD_PRELOAD.
 *
 * DISK_FAULT names the control file, which holds one int: the error of every write, or 0 while the disk works.
 * DISK_FAULT_ROOT names the folder. Reads, sockets and pipes always work, and so do the folders in EXEMPT. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

/* What agents record is theirs, and the log must tell what happened. */
static const char *const EXEMPT[] = {"/demo", "/server.log", NULL};
/* The parts of a repository to which only checkpoints write. */
static const char *const ELSEWHERE[] = {"/.git/objects/", "/.git/refs/bough/", NULL};

static const volatile int *fault;
static char *root;

__attribute__((constructor)) static void prepare(void) {
    const char *control = getenv("DISK_FAULT"), *folder = getenv("DISK_FAULT_ROOT");
    if (control == NULL || folder == NULL)
        return;
    int fd = open(control, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    void *page = mmap(NULL, sizeof(int), PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    root = strdup(folder);
    if (page != MAP_FAILED && root != NULL)
        fault = page;
}

static int concerns(const char *path) {
    size_t length = strlen(root);
    if (strncmp(path, root, length) == 0 && path[length] == '/') {
        for (const char *const *name = EXEMPT; *name != NULL; name++)
            if (strncmp(path + length, *name, strlen(*name)) == 0)
                return 0;
        return 1;
    }
    for (const char *const *part = ELSEWHERE; *part != NULL; part++)
        if (strstr(path, *part) != NULL)
            return 1;
    return 0;
}

static int fd_path(int fd, char *path) {
    char link[32];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, PATH_MAX - 1);
    path[length < 0 ? 0 : length] = 0;
    return length > 0 && path[0] == '/';
}

/* Returns the error with which a write to an open file fails, or 0. */
static int of_fd(int fd) {
    int error = fault == NULL ? 0 : *fault, before = errno;
    char path[PATH_MAX];
    if (error != 0 && !(fd_path(fd, path) && concerns(path)))
        error = 0;
    errno = before;
    return error;
}

/* Returns the error with which a change of a folder's entry fails, or 0. */
static int of_path(int folder, const char *path) {
    int error = fault == NULL ? 0 : *fault, before = errno;
    char whole[2 * PATH_MAX] = "";
    if (error == 0 || path == NULL)
        return 0;
    if (path[0] != '/') {
        if (folder == AT_FDCWD ? getcwd(whole, PATH_MAX) == NULL : !fd_path(folder, whole))
            whole[0] = 0;
        strcat(whole, "/");
    }
    strncat(whole, path, PATH_MAX - 1);
    errno = before;
    return concerns(whole) ? error : 0;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define FAIL_IF(check)                                                                                               \
    do {                                                                                                             \
        int error_ = (check);                                                                                        \
        if (error_ != 0) {                                                                                           \
            errno = error_;                                                                                          \
            return -1;                                                                                               \
        }                                                                                                            \
    } while (0)

/* A full disk takes the first part of every other write. */
static int takes_half(int error) {
    static unsigned count;
    return error == ENOSPC && __atomic_fetch_add(&count, 1, __ATOMIC_RELAXED) % 2 == 0;
}

#define WRITE(name, parameters, half, ...)                                                                           \
    ssize_t name parameters {                                                                                        \
        int error = of_fd(fd);                                                                                       \
        if (error == 0)                                                                                              \
            return REAL(name)(__VA_ARGS__);                                                                          \
        if (count > 1 && takes_half(error))                                                                          \
            return REAL(name) half;                                                                                  \
        errno = error;                                                                                               \
        return -1;                                                                                                   \
    }

WRITE(write, (int fd, const void *data, size_t count), (fd, data, count / 2), fd, data, count)
WRITE(pwrite, (int fd, const void *data, size_t count, off_t at), (fd, data, count / 2, at), fd, data, count, at)
WRITE(pwrite64, (int fd, const void *data, size_t count, off64_t at), (fd, data, count / 2, at), fd, data, count, at)
WRITE(writev, (int fd, const struct iovec *parts, int count), (fd, parts, count / 2), fd, parts, count)
WRITE(pwritev, (int fd, const struct iovec *parts, int count, off_t at), (fd, parts, count / 2, at), fd, parts, count,
      at)
WRITE(pwritev64, (int fd, const struct iovec *parts, int count, off64_t at), (fd, parts, count / 2, at), fd, parts,
      count, at)
WRITE(pwritev2, (int fd, const struct iovec *parts, int count, off_t at, int flags), (fd, parts, count / 2, at, flags),
      fd, parts, count, at, flags)
WRITE(pwritev64v2, (int fd, const struct iovec *parts, int count, off64_t at, int flags),
      (fd, parts, count / 2, at, flags), fd, parts, count, at, flags)

/* A full disk can still store what has its place, so these fail only if the disk is broken or read-only. */
static int unless_full(int error) { return error == ENOSPC ? 0 : error; }

#define CHANGE(name, parameters, check, ...)                                                                         \
    int name parameters {                                                                                            \
        FAIL_IF(check);                                                                                              \
        return REAL(name)(__VA_ARGS__);                                                                              \
    }

CHANGE(fsync, (int fd), unless_full(of_fd(fd)), fd)
CHANGE(fdatasync, (int fd), unless_full(of_fd(fd)), fd)
CHANGE(ftruncate, (int fd, off_t size), unless_full(of_fd(fd)), fd, size)
CHANGE(ftruncate64, (int fd, off64_t size), unless_full(of_fd(fd)), fd, size)
CHANGE(fallocate, (int fd, int mode, off_t at, off_t size), of_fd(fd), fd, mode, at, size)
CHANGE(fallocate64, (int fd, int mode, off64_t at, off64_t size), of_fd(fd), fd, mode, at, size)
CHANGE(unlink, (const char *path), unless_full(of_path(AT_FDCWD, path)), path)
CHANGE(unlinkat, (int folder, const char *path, int flags), unless_full(of_path(folder, path)), folder, path, flags)
CHANGE(rmdir, (const char *path), unless_full(of_path(AT_FDCWD, path)), path)
CHANGE(mkdir, (const char *path, mode_t mode), of_path(AT_FDCWD, path), path, mode)
CHANGE(mkdirat, (int folder, const char *path, mode_t mode), of_path(folder, path), folder, path, mode)
CHANGE(rename, (const char *from, const char *to), unless_full(of_path(AT_FDCWD, to)), from, to)
CHANGE(renameat, (int from_folder, const char *from, int folder, const char *to), unless_full(of_path(folder, to)),
       from_folder, from, folder, to)
CHANGE(link, (const char *from, const char *to), of_path(AT_FDCWD, to), from, to)
CHANGE(symlink, (const char *from, const char *to), of_path(AT_FDCWD, to), from, to)

static int of_open(int folder, const char *path, int flags) {
    if ((flags & O_ACCMODE) == O_RDONLY && !(flags & (O_CREAT | O_TRUNC)))
        return 0;
    int error = of_path(folder, path), before = errno;
    if (error == ENOSPC && (!(flags & O_CREAT) || faccessat(folder, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0))
        error = 0;
    errno = before;
    return error;
}

static mode_t mode_of(int flags, va_list rest) {
    return flags & (O_CREAT | __O_TMPFILE) ? va_arg(rest, mode_t) : 0;
}

#define OPEN(name, parameters, folder, ...)                                                                          \
    int name parameters {                                                                                            \
        va_list rest;                                                                                                \
        va_start(rest, flags);                                                                                       \
        mode_t mode = mode_of(flags, rest);                                                                          \
        va_end(rest);                                                                                                \
        FAIL_IF(of_open(folder, path, flags));                                                                       \
        return REAL(name)(__VA_ARGS__, mode);                                                                        \
    }

OPEN(open, (const char *path, int flags, ...), AT_FDCWD, path, flags)
OPEN(open64, (const char *path, int flags, ...), AT_FDCWD, path, flags)
OPEN(openat, (int folder, const char *path, int flags, ...), folder, folder, path, flags)
OPEN(openat64, (int folder, const char *path, int flags, ...), folder, folder, path, flags)
