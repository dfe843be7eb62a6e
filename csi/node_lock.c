#include "common/cleanup.h"
#include "csi/driver.private.h"
#include "csi/node.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

/* Where nobody may write, nobody can mount anything either. */
static bool is_of_no_use(int error) {
    return error == ENOENT || error == ENOTDIR || error == EACCES || error == EROFS;
}

int csi_node_lock(const struct node *node, const char *driver_name, int *ret_fd,
                  struct error *err) {
    autoarena struct arena *arena = arena_new();
    const char *path = arena_format(arena, "%s/.%s.lock", node->root, driver_name);
    autoclose int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

    *ret_fd = -1;
    if (fd < 0)
        return is_of_no_use(errno) ? 0 : error_errno(err, ERROR_BACKEND, "opening %s", path);
    if (flock(fd, LOCK_EX | LOCK_NB) < 0)
        return errno == EWOULDBLOCK
                   ? error_set(err, ERROR_CONFLICT,
                               "[csi] kubelet_directory: another driver %s serves %s already.",
                               driver_name, node->root)
                   : error_errno(err, ERROR_BACKEND, "locking %s", path);
    *ret_fd = take_fd(fd);
    return 0;
}
