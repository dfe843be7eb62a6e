/*
 * The bytes of a volume at its NBD socket on this host.  While they are open the volume is
 * published here, as it is for a guest; a lock on the directory of the socket excludes others that
 * open it here, and ends with this process.  A publication that a dead process has left here is
 * taken over.
 */
#include "common/cleanup.h"
#include "common/log.h"
#include "data/nbd_io.h"
#include "replicated/replicated.private.h"
#include "json/json.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>

#define CALL_TIMEOUT_MS ((int64_t)60000)

/* It outlives the call, in an arena of its own. */
struct publication {
    struct arena *arena;
    struct replicated *backend;
    const char *name, *name_id;
    const char *mark; /* of the config while no other connection has begun */
};

static const char *mark_of(const struct replicated_call *call) {
    return json_text_of(json_at(call->config, "metadata.annotations"), ANNOTATION_CONNECTION);
}

/* ---- end ---- */

static int end_step(struct replicated_call *call, void *arg, struct error *err) {
    const struct publication *publication = arg;
    int found = replicated_read(call, err);
    const char *mark = mark_of(call);

    if (found <= 0 || replicated_is_going(call))
        return found < 0 ? -1 : 1;
    if (!*replicated_node(call) || !mark || strcmp(mark, publication->mark) != 0)
        return 1;
    return replicated_publish(call, "", false, json_null(), err) < 0 ? -1 : 1;
}

static void end_publication(void *arg) {
    struct publication *publication = arg;
    const struct driver_volume volume = { .name_id = publication->name_id,
                                          .provider_location = publication->name };
    struct replicated_call call;
    struct error err;
    int result = replicated_begin(publication->backend, publication->arena, &volume, &call, &err);

    if (result == 0) {
        call.connects = true;
        result = replicated_walk(&call, end_step, publication, &err);
    }
    if (result < 0)
        log_warning(NULL, "volume stays published until its next connection ends", "volume_config",
                    publication->name, "reason", err.message, NULL);
    arena_free(publication->arena);
}

static struct publication *new_publication(const struct replicated_call *call,
                                           struct replicated *backend, const char *mark) {
    struct arena *arena = arena_new();
    struct publication *publication = arena_alloc(arena, sizeof(*publication));

    *publication = (struct publication){ .arena = arena,
                                         .backend = backend,
                                         .name = arena_text(arena, call->name),
                                         .name_id = arena_text(arena, call->name_id),
                                         .mark = arena_text(arena, mark) };
    return publication;
}

/* ---- open ---- */

static int open_step(struct replicated_call *call, void *arg, struct error *err) {
    struct replicated_connecting *connecting = arg;
    int found = replicated_read(call, err);
    const char *node;

    if (found <= 0 || replicated_is_going(call))
        return found < 0 ? -1 : replicated_none(call, err);
    node = replicated_node(call);
    if (*node && (strcmp(node, connecting->host) != 0 || !mark_of(call)))
        return replicated_refuse_host(call, err);
    if (*node && (connecting->requested || !replicated_is_device(call)))
        return replicated_await_target(call, node, connecting, err);
    if (!connecting->known && replicated_check_agent(call, connecting->host, err) < 0)
        return -1;
    connecting->known = true;
    connecting->requested =
        replicated_publish(call, connecting->host, false, json_null(), err) == 0;
    return connecting->requested ? 0 : -1;
}

static int lock_directory(struct arena *arena, const char *socket, bool writable, int *ret,
                          struct error *err) {
    const char *slash = strrchr(socket, '/');
    const char *path = arena_text_n(arena, socket, slash ? (size_t)(slash - socket) : 0);
    autoclose int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0)
        return error_errno(err, ERROR_UNAVAILABLE, "opening the directory of the NBD socket %s",
                           socket);
    while (flock(fd, (writable ? LOCK_EX : LOCK_SH) | LOCK_NB) < 0) {
        if (errno == EWOULDBLOCK)
            return error_set(err, ERROR_CONFLICT, "The data of the volume are open already.");
        if (errno != EINTR)
            return error_errno(err, ERROR_BACKEND, "locking the directory of the NBD socket %s",
                               socket);
    }
    *ret = take_fd(fd);
    return 0;
}

static int publish_and_open(struct replicated_call *call, const char *node, bool writable,
                            struct volume_io **ret, struct error *err) {
    struct replicated_connecting connecting = { .host = node };
    struct error failure;
    autoclose int lock = -1;
    struct volume_io *io;

    call->connects = true;
    if (replicated_walk(call, open_step, &connecting, &failure) < 0)
        return replicated_fail_host(call, &failure, err);
    if (lock_directory(call->arena, connecting.path, writable, &lock, err) < 0)
        return -1;
    io = nbd_io_open(connecting.path, "volume", writable, CALL_TIMEOUT_MS, err);
    if (!io)
        return -1;
    volume_io_hold(io, take_fd(lock));
    *ret = io;
    return 0;
}

/* A failure ends the publication that this call has begun. */
int replicated_open_volume_data(void *handle, struct arena *arena,
                                const struct driver_volume *volume, bool writable,
                                struct volume_io **ret, struct error *err) {
    struct replicated *backend = handle;
    const char *node = backend->backend->node;
    struct replicated_call call;

    if (volume->attached)
        return error_set(err, ERROR_CONFLICT, "Volume %s is in use.", volume->id);
    if (volume->encrypted || !node)
        return error_set(err, ERROR_BAD_REQUEST,
                         volume->encrypted
                             ? "Replicated volumes cannot be encrypted."
                             : "The name of this host is unknown: it serves no replicated volume.");
    if (driver_fence_check(volume->fence, err) < 0 ||
        replicated_begin(backend, arena, volume, &call, err) < 0)
        return -1;
    if (publish_and_open(&call, node, writable, ret, err) < 0) {
        if (call.mark)
            end_publication(new_publication(&call, backend, call.mark));
        return -1;
    }
    volume_io_on_close(*ret, end_publication, new_publication(&call, backend, mark_of(&call)));
    return 0;
}

/* Replicas of snapshots are not served. */
int replicated_open_snapshot_data(void *handle, struct arena *arena,
                                  const struct driver_volume *volume,
                                  const struct driver_snapshot *snapshot, struct volume_io **ret,
                                  struct error *err) {
    (void)handle, (void)arena, (void)volume, (void)ret;
    return error_set(
        err, ERROR_BAD_REQUEST,
        "The data of snapshot %s, of a replicated volume, can only be read in a volume "
        "that is made of it.",
        snapshot->id);
}
