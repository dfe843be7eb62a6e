#include "replication/node/instance.h"

#include "common/assert.h"
#include "common/clock.h"
#include "common/log.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define LENGTH_OF_UUID (UUID_SIZE - 1)

const char *instance_of(struct arena *arena, int lock) {
    char *instance = arena_alloc(arena, UUID_SIZE);
    ssize_t length = pread(lock, instance, LENGTH_OF_UUID, 0);

    instance[length < 0 ? 0 : length] = '\0';
    if (uuid_is_canonical(instance))
        return instance;
    clock_uuid(&clock_system, instance);
    assert(uuid_is_canonical(instance));
    length = pwrite(lock, instance, LENGTH_OF_UUID, 0);
    if (length >= 0 && length < LENGTH_OF_UUID)
        errno = ENOSPC;
    if (length != LENGTH_OF_UUID || fsync(lock) < 0)
        log_warning(NULL, "cannot store the instance of the storage agent", "reason",
                    strerror(errno), NULL);
    return instance;
}
