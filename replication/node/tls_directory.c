#include "replication/node/tls_directory.h"

#include "common/arena.h"
#include "common/cleanup.h"
#include "http/tls_group.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PARAMS  "dh-params.pem"
#define REVOKED "ca-crl.pem"

/* Without them QEMU generates a prime at the start of each server, which takes a tenth of a second
 * of processor time, or several times that. */
static int make_params(int directory, struct error *err) {
    autoarena struct arena *arena = arena_new();
    const char *text = tls_group_text(arena, err);
    autoclose int fd = -1;

    if (!text)
        return -1;
    fd = openat(directory, PARAMS ".new", O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
                0600);
    if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text) ||
        renameat(directory, PARAMS ".new", directory, PARAMS) < 0)
        return error_errno(err, ERROR_BAD_REQUEST, "writing " PARAMS);
    return 0;
}

int tls_directory_make(const char *path, const struct tls_files *files, struct error *err) {
    const char *const links[][2] = {
        { "ca-cert.pem", files->ca },       { REVOKED, files->crl },
        { "server-cert.pem", files->cert }, { "server-key.pem", files->key },
        { "client-cert.pem", files->cert }, { "client-key.pem", files->key },
    };
    autoclose int fd = -1;

    if (mkdir(path, 0700) < 0 && errno != EEXIST)
        return error_errno(err, ERROR_BAD_REQUEST, "making %s", path);
    fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return error_errno(err, ERROR_BAD_REQUEST, "opening %s", path);
    for (size_t i = 0; i < LENGTH(links); i++) {
        const char *name = links[i][0], *target = links[i][1];

        if (unlinkat(fd, name, 0) < 0 && errno != ENOENT)
            return error_errno(err, ERROR_BAD_REQUEST, "%s: removing %s", path, name);
        if (target && symlinkat(target, fd, name) < 0)
            return error_errno(err, ERROR_BAD_REQUEST, "%s: making %s", path, name);
    }
    return make_params(fd, err) < 0 ? error_context(err, "%s", path) : 0;
}

int tls_directory_check(const char *path, struct error *err) {
    autoarena struct arena *arena = arena_new();
    const char *lists = arena_join(arena, path, "/" REVOKED, NULL);
    struct stat facts;

    if (lstat(lists, &facts) < 0 && errno == ENOENT)
        return 0;
    return access(lists, R_OK) < 0 ? error_errno(err, ERROR_UNAVAILABLE, "reading %s", lists) : 0;
}
