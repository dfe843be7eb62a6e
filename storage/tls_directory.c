#include "storage/tls_directory.h"

#include "common/arena.h"
#include "common/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

/* The group ffdhe2048 of RFC 7919, public as all of them: without a file QEMU would look for a
 * prime of its own at each start. */
static const char dh_params[] = "-----BEGIN DH PARAMETERS-----\n"
                                "MIIBDAKCAQEA//////////+t+FRYortKmq/cViAnPTzx2LnFg84tNpWp4TZBFGQz\n"
                                "+8yTnc4kmz75fS/jY2MMddj2gbICrsRhetPfHtXV/WVhJDP1H18GbtCFY2VVPe0a\n"
                                "87VXE15/V8k1mE8McODmi3fipona8+/och3xWKE2rec1MKzKT0g6eXq8CrGCsyT7\n"
                                "YdEIqUuyyOP7uWrat2DX9GgdT0Kj3jlN9K5W7edjcrsZCwenyO4KbXCeAvzhzffi\n"
                                "7MA0BM0oNC9hkXL+nOmFg/+OTxIy7vKBg8P+OxtMb61zO7X8vC7CIAXFjvGDfRaD\n"
                                "ssbzSibBsu/6iGtCOGEoXJf//////////wIBAgICAQA=\n"
                                "-----END DH PARAMETERS-----\n";

static int make_link(int directory, const char *name, const char *target, struct error *err) {
    if (unlinkat(directory, name, 0) < 0 && errno != ENOENT)
        return error_errno(err, ERROR_BAD_REQUEST, "removing %s", name);
    if (symlinkat(target, directory, name) < 0)
        return error_errno(err, ERROR_BAD_REQUEST, "making %s", name);
    return 0;
}

static int make_params(int directory, struct error *err) {
    autoclose int fd = openat(directory, "dh-params.pem",
                              O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    const size_t size = strlen(dh_params);

    if (fd < 0 || write(fd, dh_params, size) != (ssize_t)size)
        return error_errno(err, ERROR_BAD_REQUEST, "writing dh-params.pem");
    return 0;
}

int tls_directory_make(const char *path, const char *cert_file, const char *key_file,
                       const char *ca_file, struct error *err) {
    const char *const links[][2] = {
        { "ca-cert.pem", ca_file },     { "server-cert.pem", cert_file },
        { "server-key.pem", key_file }, { "client-cert.pem", cert_file },
        { "client-key.pem", key_file },
    };
    autoclose int fd = -1;

    if (mkdir(path, 0700) < 0 && errno != EEXIST)
        return error_errno(err, ERROR_BAD_REQUEST, "making %s", path);
    fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return error_errno(err, ERROR_BAD_REQUEST, "opening %s", path);
    for (size_t i = 0; i < LENGTH(links); i++) {
        if (make_link(fd, links[i][0], links[i][1], err) < 0)
            return error_context(err, "%s", path);
    }
    return make_params(fd, err) < 0 ? error_context(err, "%s", path) : 0;
}
