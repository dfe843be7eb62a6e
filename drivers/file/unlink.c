#include "drivers/file/unlink.h"

#include "common/assert.h"
#include "common/same_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int remove_name(int directory_fd, const char *name) {
    assert(directory_fd >= 0 && !strchr(name, '/'));
    assert(*name && strcmp(name, ".") != 0 && strcmp(name, "..") != 0);
    return unlinkat(directory_fd, name, 0) < 0 && errno != ENOENT ? -1 : 0;
}

int unlink_same(int directory_fd, const char *name, int fd) {
    struct stat opened, named;

    assert(fd >= 0);
    if (fstat(fd, &opened) < 0)
        return -1;
    if (fstatat(directory_fd, name, &named, AT_SYMLINK_NOFOLLOW) < 0)
        return errno == ENOENT ? 0 : -1;
    if (!is_same_file(&opened, &named))
        return 1;
    return remove_name(directory_fd, name);
}

int unlink_draft(int directory_fd, const char *name) {
    static const char end[] = ".new";
    size_t length = strlen(name);

    assert(name[0] == '.' && length > strlen(end) && strcmp(name + length - strlen(end), end) == 0);
    return remove_name(directory_fd, name);
}
