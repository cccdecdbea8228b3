/*
 * For LD_PRELOAD: lets the Nth call of one kind fail. Only calls on files below LC_FAULTS_FOLDER and on memory files count,
 * and all of connect, fork and pthread_create. Counts are in the file LC_FAULTS_STATE, for all processes together.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

enum kind { OPEN, READ, WRITE, RENAME, MMAP, FORK, CONNECT, FTRUNCATE, FSYNC, THREAD, KINDS };

#define MOST_FDS 4096
static unsigned char tracked[MOST_FDS];
/* Counts by kind, then whether a call has failed. */
static long *counts;
static int wanted = -1;
static long at;
static int number;
static const char *folder;

#define REAL(name) ((__typeof__(&name))real(&real_##name, #name))
static void *real(void **place, const char *name) {
  if (*place == NULL) *place = dlsym(RTLD_NEXT, name);
  return *place;
}
#define DEFINE(name) static void *real_##name;
DEFINE(open) DEFINE(open64) DEFINE(openat) DEFINE(openat64) DEFINE(close) DEFINE(read) DEFINE(pread64) DEFINE(pread)
DEFINE(readv) DEFINE(preadv) DEFINE(preadv64) DEFINE(write) DEFINE(pwrite) DEFINE(pwrite64) DEFINE(writev)
DEFINE(pwritev) DEFINE(pwritev64) DEFINE(rename) DEFINE(mmap) DEFINE(mmap64) DEFINE(fork) DEFINE(connect)
DEFINE(ftruncate) DEFINE(ftruncate64) DEFINE(fsync) DEFINE(fdatasync) DEFINE(pthread_create) DEFINE(memfd_create)

__attribute__((constructor)) static void begin(void) {
  const char *state = getenv("LC_FAULTS_STATE");
  const char *own = getenv("LC_FAULTS_FOLDER");
  /* Copied: the program overwrites its environment. */
  folder = own == NULL ? NULL : strdup(own);
  if (state == NULL || folder == NULL) return;
  int fd = REAL(open)(state, O_RDWR | O_CLOEXEC);
  if (fd < 0) return;
  void *memory = REAL(mmap)(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  REAL(close)(fd);
  if (memory == MAP_FAILED) return;
  const char *kind = getenv("LC_FAULTS_KIND"), *count = getenv("LC_FAULTS_AT"), *error = getenv("LC_FAULTS_ERRNO");
  if (kind != NULL) wanted = atoi(kind);
  at = count == NULL ? 0 : atol(count);
  number = error == NULL ? EIO : atoi(error);
  counts = memory;
}

/* True where this call is to fail. */
static int fails(enum kind kind) {
  if (counts == NULL) return 0;
  long count = __atomic_add_fetch(&counts[kind], 1, __ATOMIC_SEQ_CST);
  if ((int)kind != wanted || count != at) return 0;
  counts[KINDS] = 1;
  errno = number;
  return 1;
}

/* Shared memory of the runner's clients has its folder's name. */
static int isOwn(const char *path) {
  if (counts == NULL || path == NULL) return 0;
  return strncmp(path, folder, strlen(folder)) == 0 || strncmp(path, "/dev/shm/run-", 13) == 0;
}
static int isTracked(int fd) { return fd >= 0 && fd < MOST_FDS && tracked[fd]; }
static int track(int fd, int own) {
  if (fd >= 0 && fd < MOST_FDS) tracked[fd] = (unsigned char)own;
  return fd;
}

#define MODE(flags, mode)                     \
  mode_t mode = 0;                            \
  if (flags & (O_CREAT | O_TMPFILE)) {        \
    va_list list;                             \
    va_start(list, flags);                    \
    mode = va_arg(list, mode_t);              \
    va_end(list);                             \
  }
#define OPEN_AS(name)                                                                   \
  int name(const char *path, int flags, ...) {                                          \
    MODE(flags, mode)                                                                   \
    int own = isOwn(path);                                                              \
    return own && fails(OPEN) ? -1 : track(REAL(name)(path, flags, mode), own);         \
  }
#define OPENAT_AS(name)                                                                 \
  int name(int at, const char *path, int flags, ...) {                                  \
    MODE(flags, mode)                                                                   \
    int own = isOwn(path);                                                              \
    return own && fails(OPEN) ? -1 : track(REAL(name)(at, path, flags, mode), own);     \
  }
OPEN_AS(open) OPEN_AS(open64) OPENAT_AS(openat) OPENAT_AS(openat64)

int close(int fd) { track(fd, 0); return REAL(close)(fd); }
int memfd_create(const char *name, unsigned flags) { return fails(OPEN) ? -1 : track(REAL(memfd_create)(name, flags), 1); }

#define ON_FD(kind, type, name, parameters, ...) \
  type name parameters { return isTracked(fd) && fails(kind) ? -1 : REAL(name)(__VA_ARGS__); }
ON_FD(READ, ssize_t, read, (int fd, void *to, size_t size), fd, to, size)
ON_FD(READ, ssize_t, pread, (int fd, void *to, size_t size, off_t from), fd, to, size, from)
ON_FD(READ, ssize_t, pread64, (int fd, void *to, size_t size, off64_t from), fd, to, size, from)
ON_FD(READ, ssize_t, readv, (int fd, const struct iovec *to, int count), fd, to, count)
ON_FD(READ, ssize_t, preadv, (int fd, const struct iovec *to, int count, off_t from), fd, to, count, from)
ON_FD(READ, ssize_t, preadv64, (int fd, const struct iovec *to, int count, off64_t from), fd, to, count, from)
ON_FD(WRITE, ssize_t, write, (int fd, const void *from, size_t size), fd, from, size)
ON_FD(WRITE, ssize_t, pwrite, (int fd, const void *from, size_t size, off_t to), fd, from, size, to)
ON_FD(WRITE, ssize_t, pwrite64, (int fd, const void *from, size_t size, off64_t to), fd, from, size, to)
ON_FD(WRITE, ssize_t, writev, (int fd, const struct iovec *from, int count), fd, from, count)
ON_FD(WRITE, ssize_t, pwritev, (int fd, const struct iovec *from, int count, off_t to), fd, from, count, to)
ON_FD(WRITE, ssize_t, pwritev64, (int fd, const struct iovec *from, int count, off64_t to), fd, from, count, to)
ON_FD(FTRUNCATE, int, ftruncate, (int fd, off_t size), fd, size)
ON_FD(FTRUNCATE, int, ftruncate64, (int fd, off64_t size), fd, size)
ON_FD(FSYNC, int, fsync, (int fd), fd)
ON_FD(FSYNC, int, fdatasync, (int fd), fd)

#define MMAP_AS(name, offset)                                                          \
  void *name(void *start, size_t size, int access, int flags, int fd, offset from) {    \
    int isFile = !(flags & MAP_ANONYMOUS) && isTracked(fd);                             \
    return isFile && fails(MMAP) ? MAP_FAILED : REAL(name)(start, size, access, flags, fd, from); \
  }
MMAP_AS(mmap, off_t) MMAP_AS(mmap64, off64_t)

int rename(const char *from, const char *to) { return (isOwn(from) || isOwn(to)) && fails(RENAME) ? -1 : REAL(rename)(from, to); }
pid_t fork(void) { return fails(FORK) ? -1 : REAL(fork)(); }
int connect(int fd, const struct sockaddr *to, socklen_t size) { return fails(CONNECT) ? -1 : REAL(connect)(fd, to, size); }
int pthread_create(pthread_t *thread, const pthread_attr_t *how, void *(*run)(void *), void *with) {
  /* Node ends by itself, or waits for ever, where its first threads cannot be had. */
  return counts != NULL && counts[OPEN] > 0 && fails(THREAD) ? number : REAL(pthread_create)(thread, how, run, with);
}
