#include "cmd/part.h"
#include "cmd/parts.h"
#include "common/arena.h"
#include "db/db.h"
#include "model/type/group_type.h"
#include "model/type/type.h"

#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

static int bootstrap_body(struct work *work, void *arg, struct error *err) {
    (void)arg;
    return volume_type_bootstrap(work, err) < 0 ? -1 : group_type_bootstrap(work, err);
}

int part_store_start(struct parts *parts, struct error *err) {
    const struct work base = work_own(&parts->settings, parts->arena);

    if (parts_open_db(parts->config, false, &parts->db, err) < 0)
        return -1;
    parts->settings.clock = db_clock(parts->db);
    return work_transaction(parts->db, &base, bootstrap_body, NULL, err);
}

void part_store_stop(struct parts *parts) {
    db_close(parts->db);
}

/* ---- lock ---- */

/* The holder of the lock knows that former holders are dead, and ends their leases. */
int part_lock_take(struct parts *parts, struct error *err) {
    const char *path = arena_format(parts->arena, "%s/lock", part_text(parts, "state_path"));
    ssize_t size;

    if (parts_make_state_directory(parts->config, err) < 0)
        return -1;
    parts->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (parts->lock < 0)
        return error_errno(err, ERROR_BAD_REQUEST, "cannot open %s", path);
    if (flock(parts->lock, LOCK_EX | LOCK_NB) < 0)
        return error_set(err, ERROR_BAD_REQUEST,
                         "another scoria works in %s (its lock file is held)",
                         part_text(parts, "state_path"));
    /* The id of this state directory among all of the database: created once and stored in the lock
     * file, so that only the holder of the lock uses it. */
    size = pread(parts->lock, parts->place, UUID_SIZE - 1, 0);
    if (size != UUID_SIZE - 1 || strspn(parts->place, "0123456789abcdef-") != UUID_SIZE - 1) {
        clock_uuid(&clock_system, parts->place);
        if (size < 0 || ftruncate(parts->lock, 0) < 0 ||
            pwrite(parts->lock, parts->place, UUID_SIZE - 1, 0) != UUID_SIZE - 1 ||
            fsync(parts->lock) < 0)
            return error_errno(err, ERROR_UNAVAILABLE, "cannot write %s", path);
    }
    parts_keep_node(parts->config);
    return 0;
}

void part_lock_release(struct parts *parts) {
    if (parts->lock >= 0)
        close(parts->lock);
}
