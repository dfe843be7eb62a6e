#include "replication/engine/daemon_environment.h"

#include "common/cleanup.h"
#include "replication/engine/write_log_format.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PRELOAD "LD_PRELOAD"

/* The object is part of this program: no file has to be found, or to be of the same version, where
 * a daemon is started. */
__asm__(".pushsection .rodata\n"
        "daemon_preload_begin:\n"
        ".incbin \"replication/engine/daemon_preload.so\"\n"
        "daemon_preload_end:\n"
        ".popsection\n");
extern const char daemon_preload_begin[], daemon_preload_end[];

/* Not a file of a directory: file systems for sockets and locks are often mounted noexec. */
int daemon_preload_open(void) {
    autoclose int fd = memfd_create("scoria-preload", MFD_CLOEXEC);
    const char *at = daemon_preload_begin;

    while (fd >= 0 && at < daemon_preload_end) {
        ssize_t written = write(fd, at, (size_t)(daemon_preload_end - at));

        if (written < 0 && errno != EINTR)
            return -1;
        at += written > 0 ? written : 0;
    }
    return take_fd(fd);
}

/*
 * QEMU allocates a new buffer for each read, and glibc would return memory of this size each time,
 * for the kernel to zero again: most of the cost of a large request. So free memory stays, up to
 * that of 16 reads of 1 MiB from three replicas at once, and a request of 1 MiB is taken from
 * there. An idle daemon returns it (daemon_trim.c). An operator's own settings take precedence.
 */
static const char *const defaults[][2] = { { "MALLOC_MMAP_THRESHOLD_", "1126400" },
                                           { "MALLOC_TRIM_THRESHOLD_", "67108864" } };

static bool sets(const char *entry, const char *name) {
    size_t length = strlen(name);

    return strncmp(entry, name, length) == 0 && entry[length] == '=';
}

char *const *daemon_environment(struct arena *arena, int preload_fd, const char *logs) {
    const char *preloaded = getenv(PRELOAD); /* an operator's objects */
    size_t most = 0, count = 0;
    char **all;

    while (environ[most])
        most++;
    all = arena_alloc(arena, (most + LENGTH(defaults) + 3) * sizeof(*all));
    for (size_t i = 0; i < most; i++) {
        if ((preload_fd < 0 || !sets(environ[i], PRELOAD)) && !sets(environ[i], WRITE_LOG_VARIABLE))
            all[count++] = environ[i];
    }
    for (size_t i = 0; i < LENGTH(defaults); i++) {
        if (!getenv(defaults[i][0]))
            all[count++] = arena_join(arena, defaults[i][0], "=", defaults[i][1], NULL);
    }
    if (preload_fd >= 0)
        all[count++] = arena_format(arena, PRELOAD "=/proc/self/fd/%d%s%s", preload_fd,
                                    preloaded ? ":" : "", preloaded ? preloaded : "");
    all[count++] = arena_join(arena, WRITE_LOG_VARIABLE "=", logs, NULL);
    all[count] = NULL;
    return all;
}
