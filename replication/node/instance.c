#include "replication/node/instance.h"

#include "common/assert.h"
#include "common/clock.h"
#include "common/log.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define LENGTH_OF_UUID (UUID_SIZE - 1)

static bool read_instance(int lock, char ret[UUID_SIZE]) {
    ssize_t got = pread(lock, ret, LENGTH_OF_UUID, 0);

    ret[got < 0 ? 0 : got] = '\0';
    return uuid_is_canonical(ret);
}

static int write_instance(int lock, const char *instance) {
    ssize_t written;

    assert(uuid_is_canonical(instance));
    written = pwrite(lock, instance, LENGTH_OF_UUID, 0);
    if (written >= 0 && written < LENGTH_OF_UUID)
        errno = ENOSPC;
    return written == LENGTH_OF_UUID ? fsync(lock) : -1;
}

const char *instance_of(struct arena *arena, int lock) {
    char *instance = arena_alloc(arena, UUID_SIZE);

    if (read_instance(lock, instance))
        return instance;
    clock_uuid(&clock_system, instance);
    if (write_instance(lock, instance) < 0)
        log_warning(NULL, "cannot store the instance of the storage agent", "reason",
                    strerror(errno), NULL);
    return instance;
}
