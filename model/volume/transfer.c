#include "model/volume/transfer.h"

#include "common/assert.h"
#include "common/hex.h"
#include "common/log.h"
#include "common/log_limit.h"
#include "model/conflict.h"
#include "model/notification.h"
#include "model/snapshot/snapshot.h"
#include "model/type/type.h"
#include "model/volume/quota.h"

#include <nettle/hmac.h>
#include <nettle/memops.h>
#include <string.h>

#define KEY_BYTES  8
#define SALT_BYTES 16

/* ---- rows ---- */

#define TRANSFER_SELECT                                                                      \
    "SELECT tr.id, tr.volume_id, tr.project_id, tr.display_name, tr.no_snapshots, tr.salt, " \
    "tr.digest, tr.created_at FROM transfers tr"

static int read_transfer(struct work *work, const struct db_rows *rows, void *ret,
                         struct error *err) {
    struct arena *arena = work->arena;

    (void)err;
    *(struct transfer *)ret = (struct transfer){
        .id = db_copy(rows, 0, arena),
        .volume_id = db_copy(rows, 1, arena),
        .project_id = db_copy(rows, 2, arena),
        .name = db_copy(rows, 3, arena),
        .no_snapshots = db_int(rows, 4) != 0,
        .salt = db_copy(rows, 5, arena),
        .digest = db_copy(rows, 6, arena),
        .created_at = db_int(rows, 7),
    };
    return 0;
}

int transfer_list(struct work *work, const struct query *query, struct transfer **ret,
                  struct error *err) {
    return query_all(work, query_page(work, TRANSFER_SELECT, query, err), read_transfer, ret, err);
}

static int get(struct work *work, const char *id, bool of_all, struct transfer *ret,
               struct error *err) {
    struct db_rows *rows = db_query(
        work->tx, err, TRANSFER_SELECT " WHERE tr.id = $1 AND ($2 = 1 OR tr.project_id = $3)",
        DB_TEXT(id), DB_BOOL(of_all), DB_TEXT(work->context->project_id));

    return error_if_none(query_one(work, rows, read_transfer, ret, err), err, ERROR_NOT_FOUND,
                         "Transfer %s could not be found.", id);
}

int transfer_get(struct work *work, const char *id, struct transfer *ret, struct error *err) {
    return get(work, id, work->context->is_admin, ret, err);
}

int transfer_offered(struct work *work, const char *id, struct transfer *ret, struct error *err) {
    return get(work, id, true, ret, err);
}

int transfer_end_of(struct work *work, const char *volume_id, struct error *err) {
    return db_change(work->tx, err, "DELETE FROM transfers WHERE volume_id = $1",
                     DB_TEXT(volume_id));
}

/* ---- the key ---- */

static const char *random_digits(const struct work *work, size_t size) {
    const struct clock *clock = work->settings->clock;
    char *digits = arena_alloc(work->arena, 2 * size + 1);
    unsigned char bytes[SALT_BYTES];

    assert(size <= sizeof(bytes));
    clock->random(clock->arg, bytes, size);
    hex_encode(bytes, size, digits);
    return digits;
}

static const char *digest_of(struct arena *arena, const char *salt, const char *auth_key) {
    char *digits = arena_alloc(arena, 2 * SHA256_DIGEST_SIZE + 1);
    uint8_t digest[SHA256_DIGEST_SIZE];
    struct hmac_sha256_ctx state;

    hmac_sha256_set_key(&state, strlen(salt), (const uint8_t *)salt);
    hmac_sha256_update(&state, strlen(auth_key), (const uint8_t *)auth_key);
    hmac_sha256_digest(&state, sizeof(digest), digest);
    hex_encode(digest, sizeof(digest), digits);
    return digits;
}

/* The comparison takes as long for each wrong key. */
static int check_key(const struct work *work, const struct transfer *transfer, const char *auth_key,
                     struct error *err) {
    static struct log_limit wrong = LOG_LIMIT; /* however many keys a project tries */
    const char *digest = digest_of(work->arena, transfer->salt, auth_key), *tried;
    unsigned others;

    if (strlen(transfer->digest) == strlen(digest) &&
        memeql_sec(transfer->digest, digest, strlen(digest)))
        return 0;
    tried = arena_join(work->arena, work->context->project_id, " ", transfer->id, NULL);
    if (log_limit_allows(&wrong, tried, clock_monotonic_us(), &others))
        log_warning(&work->context->log, "transfer refused: wrong key", "transfer_id", transfer->id,
                    "volume_id", transfer->volume_id, "others", LOG_INT(others), NULL);
    return error_set(err, ERROR_BAD_REQUEST,
                     "Invalid auth key: the key does not accept transfer %s.", transfer->id);
}

/* ---- parts that move with the volume ---- */

static int refuse(const struct volume *volume, const char *why, struct error *err) {
    return error_set(err, ERROR_BAD_REQUEST, "Invalid volume: Volume %s cannot be transferred: %s.",
                     volume->id, why);
}

static int check_snapshots(struct work *work, const struct volume *volume, struct error *err) {
    struct snapshot *snapshots;
    int count = snapshot_of(work, volume->id, &snapshots, err);

    for (int i = 0; i < count; i++) {
        if (strcmp(snapshots[i].project_id, volume->project_id) != 0)
            return refuse(volume,
                          "it has a snapshot of another project, without which it can be offered",
                          err);
        if (snapshots[i].status != SNAPSHOT_AVAILABLE)
            return error_set(err, ERROR_BAD_REQUEST,
                             "Invalid snapshot: Snapshot %s status must be available to be "
                             "transferred, but it is %s.",
                             snapshots[i].id, snapshot_status_shown(snapshots[i].status));
        if (snapshots[i].group_snapshot_id)
            return error_set(err, ERROR_BAD_REQUEST,
                             "Invalid snapshot: Snapshot %s cannot be transferred: it is part of "
                             "a group snapshot.",
                             snapshots[i].id);
    }
    return count < 0 ? -1 : 0;
}

static int check_parts(struct work *work, const struct volume *volume, enum volume_status needs,
                       bool no_snapshots, struct error *err) {
    if (volume->status != needs)
        return error_set(err, ERROR_BAD_REQUEST,
                         "Invalid volume: Volume %s status must be %s to be transferred, but it "
                         "is %s.",
                         volume->id, status_shown(needs), status_shown(volume->status));
    if (!volume_is_free(volume, needs))
        return refuse(volume, "it has an attachment, or its attach_status is attached", err);
    if (volume_is_migrating(volume))
        return refuse(volume, "it is migrating", err);
    if (volume->group_id)
        return refuse(volume, "it belongs to a group", err);
    if (volume->encryption_key_id)
        return refuse(volume, "it is encrypted", err);
    if (volume_check_content(volume, "be transferred", err) < 0 ||
        (!no_snapshots && check_snapshots(work, volume, err) < 0))
        return -1;
    return conflict_resolve(work, volume->id, ACTION_TRANSFER, err);
}

static int move_rows(struct work *work, const char *volume_id, bool no_snapshots,
                     struct error *err) {
    const struct context *context = work->context;

    /* With the metadata image_owner the former project could clone it, as the content of an
     * image. */
    if (db_run(work->tx, err,
               "UPDATE volumes SET project_id = $1, user_id = $2, updated_at = $3 WHERE id = $4",
               DB_TEXT(context->project_id), DB_TEXT(context->user_id), DB_INT(work->now_us),
               DB_TEXT(volume_id)) < 0 ||
        db_run(work->tx, err,
               "DELETE FROM volume_metadata WHERE volume_id = $1 AND "
               "key IN ('" VOLUME_KEY_IMAGE_OWNER "', '" VOLUME_KEY_IMAGE_ID "')",
               DB_TEXT(volume_id)) < 0 ||
        db_change(work->tx, err, "UPDATE volume_metadata SET project_id = $1 WHERE volume_id = $2",
                  DB_TEXT(context->project_id), DB_TEXT(volume_id)) < 0)
        return -1;
    if (no_snapshots)
        return 0;
    if (db_run(work->tx, err,
               "UPDATE snapshots SET project_id = $1, user_id = $2, updated_at = $3 "
               "WHERE volume_id = $4",
               DB_TEXT(context->project_id), DB_TEXT(context->user_id), DB_INT(work->now_us),
               DB_TEXT(volume_id)) < 0)
        return -1;
    return db_change(work->tx, err,
                     "UPDATE snapshot_metadata SET project_id = $1 WHERE snapshot_id IN "
                     "(SELECT id FROM snapshots WHERE volume_id = $2)",
                     DB_TEXT(context->project_id), DB_TEXT(volume_id));
}

/* ---- the operations ---- */

int transfer_create(struct work *work, const struct volume *volume, const char *name,
                    bool no_snapshots, struct transfer *ret, struct error *err) {
    static const struct status_change offered = { .from = VOLUME_AVAILABLE,
                                                  .to = VOLUME_AWAITING_TRANSFER };
    const char *salt = random_digits(work, SALT_BYTES);
    const char *auth_key = random_digits(work, KEY_BYTES);

    *ret = (struct transfer){
        .id = work_uuid(work),
        .volume_id = volume->id,
        .project_id = volume->project_id,
        .name = name,
        .no_snapshots = no_snapshots,
        .salt = salt,
        .digest = digest_of(work->arena, salt, auth_key),
        .created_at = work->now_us,
        .auth_key = auth_key,
    };
    if (check_parts(work, volume, VOLUME_AVAILABLE, no_snapshots, err) < 0 ||
        notification_put(work, "volume.transfer.create.start", volume, err) < 0 ||
        status_write(work, &volume_objects, volume->id, &offered, err) < 0 ||
        db_change(work->tx, err,
                  "INSERT INTO transfers (id, volume_id, project_id, display_name, "
                  "no_snapshots, salt, digest, created_at) "
                  "VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
                  DB_TEXT(ret->id), DB_TEXT(ret->volume_id), DB_TEXT(ret->project_id),
                  DB_TEXT(ret->name), DB_BOOL(ret->no_snapshots), DB_TEXT(ret->salt),
                  DB_TEXT(ret->digest), DB_INT(ret->created_at)) < 0)
        return -1;
    return notification_of(work, "volume.transfer.create.end", volume->id, err);
}

int transfer_accept(struct work *work, const struct transfer *transfer, const char *auth_key,
                    struct error *err) {
    static const struct status_change accepted = { .from = VOLUME_AWAITING_TRANSFER,
                                                   .to = VOLUME_AVAILABLE };
    struct volume_type type;
    struct volume volume;

    if (work_check_project(work, "A volume", err) < 0 ||
        check_key(work, transfer, auth_key, err) < 0 ||
        volume_details(work, transfer->volume_id, &volume, err) < 0 ||
        check_parts(work, &volume, VOLUME_AWAITING_TRANSFER, transfer->no_snapshots, err) < 0)
        return -1;
    if (volume.type_id && volume_type_get(work, volume.type_id, &type, err) < 0)
        return err->kind == ERROR_NOT_FOUND
                   ? refuse(&volume, "this project may not use its volume type", err)
                   : -1;
    if (notification_put(work, "volume.transfer.accept.start", &volume, err) < 0 ||
        volume_quota_transfer(work, &volume, work->context->project_id, !transfer->no_snapshots,
                              err) < 0 ||
        move_rows(work, volume.id, transfer->no_snapshots, err) < 0 ||
        status_write(work, &volume_objects, volume.id, &accepted, err) < 0 ||
        transfer_end_of(work, volume.id, err) < 0)
        return -1;
    return notification_of(work, "volume.transfer.accept.end", volume.id, err);
}

/* A volume that is being deleted keeps that status. */
int transfer_delete(struct work *work, const struct transfer *transfer, struct error *err) {
    static const struct status_change withdrawn = { .from = VOLUME_AWAITING_TRANSFER,
                                                    .to = VOLUME_AVAILABLE };

    if (notification_of(work, "volume.transfer.delete.start", transfer->volume_id, err) < 0 ||
        status_write(work, &volume_objects, transfer->volume_id, &withdrawn, err) < 0 ||
        transfer_end_of(work, transfer->volume_id, err) < 0)
        return -1;
    return notification_of(work, "volume.transfer.delete.end", transfer->volume_id, err);
}
