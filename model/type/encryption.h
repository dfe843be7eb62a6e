/*
 * Encryption of the volumes of a type.  It is fixed as long as there are volumes of the type:
 * setting, changing and removing are refused then (ERROR_BAD_REQUEST).
 */
#pragma once

#include "model/type/type.h"

struct type_encryption {
    const char *volume_type_id, *id;
    const char *provider, *control_location; /* front-end or back-end */
    const char *cipher;                      /* may be NULL */
    int64_t key_size;                        /* bits; TYPE_ENCRYPTION_NO_SIZE: not given */
    int64_t created_at, updated_at;
};

#define TYPE_ENCRYPTION_NO_SIZE (-1)

/* 1 found, 0 the type has none. */
int type_encryption_get(struct work *work, const struct volume_type *type,
                        struct type_encryption *ret, struct error *err);
/* provider, control_location, cipher and key_size are read of *encryption, id is set.  One that is
 * there already is ERROR_BAD_REQUEST. */
int type_encryption_create(struct work *work, const struct volume_type *type,
                           struct type_encryption *encryption, struct error *err);
/* All four as given; without an encryption ERROR_NOT_FOUND. */
int type_encryption_update(struct work *work, const struct volume_type *type,
                           const struct type_encryption *encryption, struct error *err);
int type_encryption_delete(struct work *work, const struct volume_type *type, struct error *err);
