#include "http/pem.private.h"

#include "common/cleanup.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_MOST ((off_t)1 << 20)

const char *pem_text(struct arena *arena, const char *path, struct error *err) {
    autoclose int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    struct stat info;
    char *text;
    ssize_t got;

    if (fd < 0 || fstat(fd, &info) < 0) {
        error_errno(err, ERROR_BAD_REQUEST, "cannot read %s", path);
        return NULL;
    }
    if (!S_ISREG(info.st_mode) || info.st_size == 0 || info.st_size > FILE_MOST) {
        error_set(err, ERROR_BAD_REQUEST, "%s: not a file of certificates or keys", path);
        return NULL;
    }
    text = arena_alloc(arena, (size_t)info.st_size + 1);
    got = read(fd, text, (size_t)info.st_size);
    if (got == info.st_size)
        return text;
    error_set(err, ERROR_BAD_REQUEST, "cannot read the whole of %s", path);
    return NULL;
}
