/*
 * A byte that picks a request of the driver's services, and any bytes as its message: it is refused
 * with a reason, or all its texts are UTF-8, and it reads the same after it was written.
 */
#include "common/cleanup.h"
#include "common/utf8.h"
#include "csi/proto.h"
#include "grpc/message.private.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static const ProtobufCServiceDescriptor *const services[] = {
    &csi__v1__identity__descriptor,
    &csi__v1__controller__descriptor,
    &csi__v1__node__descriptor,
    &csi__v1__group_controller__descriptor,
    &csi__v1__snapshot_metadata__descriptor,
    &identity__identity__descriptor,
    &reclaimspace__reclaim_space_controller__descriptor,
    &reclaimspace__reclaim_space_node__descriptor,
    &volumegroup__controller__descriptor,
};

static void require(bool condition) {
    if (!condition)
        abort();
}

/* Of the request that the byte picks; behind the last the first comes again. */
static const ProtobufCMessageDescriptor *pick(unsigned number) {
    unsigned count = 0;

    for (size_t i = 0; i < LENGTH(services); i++)
        count += services[i]->n_methods;
    number %= count;
    for (size_t i = 0;; number -= services[i++]->n_methods)
        if (number < services[i]->n_methods)
            return services[i]->methods[number].input;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    autoarena struct arena *arena = arena_new();
    const ProtobufCMessageDescriptor *type = pick(size > 0 ? bytes[0] : 0);
    struct error err = { .kind = ERROR_NONE };
    autofree uint8_t *once = NULL, *twice = NULL;
    size_t once_size, twice_size;
    const void *message;

    message = grpc_message_read(arena, type, bytes + (size > 0), size - (size > 0), &err);
    if (!message) {
        require((err.kind == ERROR_BAD_REQUEST || err.kind == ERROR_TOO_LARGE) &&
                err.message[0] != '\0');
        return 0;
    }
    require(grpc_message_write(message, SIZE_MAX / 2, &once, &once_size, &err) == 0);
    message =
        grpc_message_read(arena, type, once + GRPC_PREFIX_SIZE, once_size - GRPC_PREFIX_SIZE, &err);
    require(message != NULL);
    require(grpc_message_write(message, SIZE_MAX / 2, &twice, &twice_size, &err) == 0);
    require(once_size == twice_size && memcmp(once, twice, once_size) == 0);
    return 0;
}
