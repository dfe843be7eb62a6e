/*
 * The node's resources while the driver runs: the lock of the kubelet's directory, and the I/O
 * limits of pods.
 */
#include "csi/node/settings.private.h"

#include "common/cleanup.h"
#include "common/log.h"
#include "common/loop_identity.h"
#include "csi/node/pod_limiter.h"
#include "csi/node/throttle.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#define SECTION          "csi"
#define LIMITER_PAUSE_MS 10000

/*
 * The kubelet's directory belongs to this driver while *ret_fd is open: of two processes with one
 * name the second is refused (ERROR_CONFLICT), otherwise both would operate on the same volumes.
 * -1: no usable directory.
 */
static int lock_directory(const struct csi_driver *driver, int *ret_fd, struct error *err) {
    const char *root = driver->places->root;
    const char *path = arena_format(driver->arena, "%s/.%s.lock", root, driver->name);
    autoclose int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

    *ret_fd = -1;
    if (fd < 0) /* a directory that is not writable cannot be mounted on either */
        return errno == ENOENT || errno == ENOTDIR || errno == EACCES || errno == EROFS
                   ? 0
                   : error_errno(err, ERROR_BACKEND, "opening %s", path);
    if (flock(fd, LOCK_EX | LOCK_NB) < 0)
        return errno == EWOULDBLOCK
                   ? error_set(err, ERROR_CONFLICT,
                               "[csi] kubelet_directory: another driver %s already serves %s.",
                               driver->name, root)
                   : error_errno(err, ERROR_BACKEND, "locking %s", path);
    *ret_fd = take_fd(fd);
    return 0;
}

int csi_node_start(struct csi_driver *driver, struct error *err) {
    const char *given = config_text(driver->config, SECTION, "throttle_group");
    struct pod_limiter_settings settings;

    driver->places = csi_node_new(driver->arena, driver->config);
    if (lock_directory(driver, &driver->lock, err) < 0)
        return -1;
    loop_identity_set_file(driver->lock); /* records of devices are stored in it */
    settings = (struct pod_limiter_settings){
        .api = driver->api,
        .group = given ? given : throttle_find_group(driver->arena),
        .pause_ms = LIMITER_PAUSE_MS,
    };
    if (!csi_node_knows_api(driver))
        return 0;
    if (!settings.group) {
        log_info(NULL, "I/O limits of volumes are not applied: no cgroup of pods found", NULL);
        return 0;
    }
    if (csi_node_name(driver->config, driver->arena, &settings.host, err) < 0)
        return -1;
    driver->limiter = pod_limiter_new(&settings);
    return 0;
}

void csi_node_stop(struct csi_driver *driver) {
    pod_limiter_free(driver->limiter);
    if (driver->lock >= 0) {
        loop_identity_set_file(-1);
        close(driver->lock);
    }
}
