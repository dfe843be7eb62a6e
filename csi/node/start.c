/*
 * What a node has of the machine while the driver runs: the kubelet's directory, and pods that are
 * held to what their volumes may take.
 */
#include "csi/node/settings.private.h"

#include "common/cleanup.h"
#include "common/log.h"
#include "csi/node/holder.h"
#include "csi/node/loop_seal.h"
#include "csi/node/throttle.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#define SECTION "csi"
#define HOLD_MS 10000

/* Where nobody may write, nobody can mount anything either. */
static bool is_of_no_use(int error) {
    return error == ENOENT || error == ENOTDIR || error == EACCES || error == EROFS;
}

/*
 * The kubelet's directory is this driver's while *ret_fd is open: of two processes of one name the
 * second is refused (ERROR_CONFLICT), or both would work at one volume.  -1: there is no directory
 * that it could work in.
 */
static int lock_directory(const struct csi_driver *driver, int *ret_fd, struct error *err) {
    const char *root = driver->places->root;
    const char *path = arena_format(driver->arena, "%s/.%s.lock", root, driver->name);
    autoclose int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

    *ret_fd = -1;
    if (fd < 0)
        return is_of_no_use(errno) ? 0 : error_errno(err, ERROR_BACKEND, "opening %s", path);
    if (flock(fd, LOCK_EX | LOCK_NB) < 0)
        return errno == EWOULDBLOCK
                   ? error_set(err, ERROR_CONFLICT,
                               "[csi] kubelet_directory: another driver %s serves %s already.",
                               driver->name, root)
                   : error_errno(err, ERROR_BACKEND, "locking %s", path);
    *ret_fd = take_fd(fd);
    return 0;
}

static int hold_pods(struct csi_driver *driver, struct error *err) {
    const char *given = config_text(driver->config, SECTION, "throttle_group");
    struct holder_settings settings = {
        .api = driver->api,
        .group = given ? given : throttle_find_group(driver->arena),
        .pause_ms = HOLD_MS,
    };

    if (!csi_node_knows_api(driver))
        return 0;
    if (!settings.group) {
        log_info(NULL, "pods are not held to limits of volumes: there is no group of them", NULL);
        return 0;
    }
    if (csi_node_name(driver->config, driver->arena, &settings.host, err) < 0)
        return -1;
    driver->holder = holder_new(&settings);
    return 0;
}

int csi_node_start(struct csi_driver *driver, struct error *err) {
    driver->places = csi_node_new(driver->arena, driver->config);
    if (lock_directory(driver, &driver->lock, err) < 0)
        return -1;
    loop_seal_keep(driver->lock); /* what devices were made as is kept in it, too */
    return hold_pods(driver, err);
}

void csi_node_stop(struct csi_driver *driver) {
    holder_free(driver->holder);
    if (driver->lock >= 0) {
        loop_seal_keep(-1);
        close(driver->lock);
    }
}
