#include "model/type/encryption.h"

#include "operation/query.h"

static struct db_value size_value(int64_t key_size) {
    return key_size == TYPE_ENCRYPTION_NO_SIZE ? DB_NULL : DB_INT(key_size);
}

static int read_encryption(struct work *work, const struct db_rows *rows, void *ret,
                           struct error *err) {
    struct arena *arena = work->arena;

    (void)err;
    *(struct type_encryption *)ret = (struct type_encryption){
        .id = db_copy(rows, 0, arena),
        .provider = db_copy(rows, 1, arena),
        .control_location = db_copy(rows, 2, arena),
        .cipher = db_copy(rows, 3, arena),
        .key_size = db_is_null(rows, 4) ? TYPE_ENCRYPTION_NO_SIZE : db_int(rows, 4),
        .created_at = db_int(rows, 5),
        .updated_at = db_int(rows, 6),
        .volume_type_id = db_copy(rows, 7, arena),
    };
    return 0;
}

int type_encryption_get(struct work *work, const struct volume_type *type,
                        struct type_encryption *ret, struct error *err) {
    return query_one(
        work,
        db_query(work->tx, err,
                 "SELECT encryption_id, provider, control_location, cipher, key_size, created_at, "
                 "updated_at, volume_type_id FROM volume_type_encryption WHERE volume_type_id = $1",
                 DB_TEXT(type->id)),
        read_encryption, ret, err);
}

int type_encryption_create(struct work *work, const struct volume_type *type,
                           struct type_encryption *encryption, struct error *err) {
    if (type->is_encrypted)
        return error_set(err, ERROR_BAD_REQUEST,
                         "Volume type encryption for type %s already exists.", type->id);
    if (volume_type_check_unused(work, type, err) < 0)
        return -1;
    encryption->volume_type_id = type->id;
    encryption->id = work_uuid(work);
    return db_change(work->tx, err,
                     "INSERT INTO volume_type_encryption (volume_type_id, encryption_id, provider, "
                     "control_location, cipher, key_size, created_at) "
                     "VALUES ($1, $2, $3, $4, $5, $6, $7)",
                     DB_TEXT(type->id), DB_TEXT(encryption->id), DB_TEXT(encryption->provider),
                     DB_TEXT(encryption->control_location), DB_TEXT(encryption->cipher),
                     size_value(encryption->key_size), DB_INT(work->now_us));
}

static int check_change(struct work *work, const struct volume_type *type, struct error *err) {
    if (volume_type_check_unused(work, type, err) < 0)
        return -1;
    if (!type->is_encrypted)
        return error_set(err, ERROR_NOT_FOUND, "Volume type encryption for type %s does not exist.",
                         type->id);
    return 0;
}

int type_encryption_update(struct work *work, const struct volume_type *type,
                           const struct type_encryption *encryption, struct error *err) {
    if (check_change(work, type, err) < 0)
        return -1;
    return db_change(work->tx, err,
                     "UPDATE volume_type_encryption SET provider = $1, control_location = $2, "
                     "cipher = $3, key_size = $4, updated_at = $5 WHERE volume_type_id = $6",
                     DB_TEXT(encryption->provider), DB_TEXT(encryption->control_location),
                     DB_TEXT(encryption->cipher), size_value(encryption->key_size),
                     DB_INT(work->now_us), DB_TEXT(type->id));
}

int type_encryption_delete(struct work *work, const struct volume_type *type, struct error *err) {
    if (check_change(work, type, err) < 0)
        return -1;
    return db_change(work->tx, err, "DELETE FROM volume_type_encryption WHERE volume_type_id = $1",
                     DB_TEXT(type->id));
}
