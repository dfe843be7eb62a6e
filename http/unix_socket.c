#include "http/unix_socket.h"

#include "common/cleanup.h"
#include "common/heap.h"
#include "http/exchange.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define SCHEME          "unix:"
#define BACKLOG         1024
#define DEFAULT_MODE    0660
#define DIRECTORY_TRIES 500 /* 5 s */

const char *unix_socket_path(const char *address) {
    return strncmp(address, SCHEME, strlen(SCHEME)) == 0 ? address + strlen(SCHEME) : NULL;
}

char *unix_socket_url(struct arena *arena, const char *path, bool secure) {
    return arena_format(arena, "http%s+unix://%s", secure ? "s" : "", http_encode(arena, path));
}

/* ---- options ---- */

static int read_mode(const char *text, mode_t *ret, struct error *err) {
    char *end = NULL;
    unsigned long mode = text ? strtoul(text, &end, 8) : DEFAULT_MODE;

    if (text && (end == text || *end || text[0] < '0' || text[0] > '7' || mode > 0777))
        return error_set(err, ERROR_BAD_REQUEST,
                         "invalid file mode %s of a socket (expected an octal number such as 0660)",
                         text);
    *ret = (mode_t)mode;
    return 0;
}

static int find_group(const char *text, gid_t *ret, struct error *err) {
    char room[16384], *end = NULL;
    struct group group, *found = NULL;
    unsigned long number;

    *ret = getegid(); /* a directory may assign another group to its files */
    if (!text)
        return 0;
    if (getgrnam_r(text, &group, room, sizeof(room), &found) == 0 && found) {
        *ret = group.gr_gid;
        return 0;
    }
    number = strtoul(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end || number >= (gid_t)-1)
        return error_set(err, ERROR_BAD_REQUEST, "there is no group %s", text);
    *ret = (gid_t)number;
    return 0;
}

/* ---- ownership of the path ---- */

static int refuse_live(const char *path, struct error *err) {
    return error_set(err, ERROR_BAD_REQUEST,
                     "cannot listen on unix:%s: another process listens there", path);
}

/* The lock file is kept: its removal could race with a process that has just locked it. */
static int lock_path(const char *path, struct error *err) {
    char name[sizeof(((struct sockaddr_un *)NULL)->sun_path) + sizeof(".lock")];
    autoclose int fd = -1;

    snprintf(name, sizeof(name), "%s.lock", path);
    fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return error_errno(err, ERROR_BAD_REQUEST, "cannot listen on unix:%s: its lock file %s",
                           path, name);
    if (flock(fd, LOCK_EX | LOCK_NB) < 0)
        return refuse_live(path, err);
    return take_fd(fd);
}

/* Other processes hold it while their paths change. */
static bool lock_directory(int fd) {
    const struct timespec pause = { .tv_nsec = 10 * 1000 * 1000 };

    for (unsigned i = 0; i < DIRECTORY_TRIES; i++) {
        if (flock(fd, LOCK_EX | LOCK_NB) == 0)
            return true;
        nanosleep(&pause, NULL);
    }
    return false;
}

static int take_directory(const char *path, struct error *err) {
    autofree char *directory = heap_text(path);
    char *slash = strrchr(directory, '/');
    autoclose int fd = -1;

    slash[slash == directory] = '\0';
    fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return error_errno(err, ERROR_BAD_REQUEST, "cannot open the directory of %s", path);
    if (!lock_directory(fd))
        return error_set(err, ERROR_BAD_REQUEST,
                         "cannot listen on unix:%s: its directory stays locked", path);
    return take_fd(fd);
}

/* With the lock held, an existing socket is stale or belongs to another program. */
static int clear_path(const struct sockaddr_un *address, struct error *err) {
    autoclose int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const char *path = address->sun_path;
    struct stat info = { .st_mode = 0 };

    if (lstat(path, &info) < 0 && errno == ENOENT)
        return 0;
    if (!S_ISSOCK(info.st_mode))
        return error_set(err, ERROR_BAD_REQUEST,
                         "cannot listen on unix:%s: the path is not a socket", path);
    if (connect(fd, (const struct sockaddr *)address, sizeof(*address)) == 0 || errno == EAGAIN)
        return refuse_live(path, err);
    if (errno != ECONNREFUSED || unlink(path) < 0)
        return error_errno(err, ERROR_BAD_REQUEST, "cannot replace the socket unix:%s", path);
    return 0;
}

/* ---- the socket ---- */

/* Of the file itself, not of its name, which may have been replaced in the directory. */
static int set_access(const char *path, mode_t mode, gid_t group, struct stat *ret) {
    autoclose int fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    char name[sizeof("/proc/self/fd/") + 3 * sizeof(fd)];

    if (fd < 0 || fstat(fd, ret) < 0)
        return -1;
    errno = EEXIST;
    snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
    return S_ISSOCK(ret->st_mode) && fchownat(fd, "", (uid_t)-1, group, AT_EMPTY_PATH) == 0 &&
                   chmod(name, mode) == 0
               ? 0
               : -1;
}

/* Connections are refused before listen(), so none is made with another mode. */
static int open_at(const struct sockaddr_un *address, mode_t mode, gid_t group,
                   struct unix_socket *ret) {
    autoclose int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const char *path = address->sun_path;
    struct stat info;

    if (fd < 0 || bind(fd, (const struct sockaddr *)address, sizeof(*address)) < 0)
        return -1;
    if (set_access(path, mode, group, &info) < 0 || listen(fd, BACKLOG) < 0) {
        int code = errno;

        unlink(path);
        errno = code;
        return -1;
    }
    ret->device = info.st_dev;
    ret->inode = info.st_ino;
    return take_fd(fd);
}

int unix_socket_listen(const char *path, const struct unix_socket_access *access,
                       struct unix_socket *ret, struct error *err) {
    autoclose int lock = -1;
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    mode_t mode = 0;
    gid_t group = 0;
    int fd;

    if (path[0] != '/' || strlen(path) >= sizeof(address.sun_path))
        return error_set(err, ERROR_BAD_REQUEST,
                         "cannot listen on unix:%s: not an absolute path of at most %zu bytes",
                         path, sizeof(address.sun_path) - 1);
    memcpy(address.sun_path, path, strlen(path));
    if (read_mode(access->mode, &mode, err) < 0 || find_group(access->group, &group, err) < 0)
        return -1;
    lock = access->alone ? take_directory(path, err) : lock_path(path, err);
    if (lock < 0 || clear_path(&address, err) < 0)
        return -1;
    fd = open_at(&address, mode, group, ret);
    if (fd < 0)
        return error_errno(err, ERROR_BAD_REQUEST, "cannot listen on unix:%s", path);
    if (access->alone)
        flock(lock, LOCK_UN);
    ret->path = path;
    ret->alone = access->alone;
    ret->lock = take_fd(lock);
    return fd;
}

void unix_socket_remove(struct unix_socket *socket) {
    struct stat info;

    if (socket->lock < 0)
        return;
    if (socket->alone)
        lock_directory(socket->lock); /* an unavailable lock must not prevent the removal */
    if (lstat(socket->path, &info) == 0 && info.st_dev == socket->device &&
        info.st_ino == socket->inode)
        unlink(socket->path);
    close(socket->lock);
    socket->lock = -1;
}
