/*
 * The encryption of volume types, set by administrators.  No driver creates encrypted
 * volumes, so volumes of an encrypted type are refused at creation.
 */
#include "model/type/encryption.h"

#include "api/routes.h"
#include "api/type/resource.h"
#include "common/cleanup.h"
#include "rest/answer.h"

#include <string.h>

#define KEY_SIZE_MOST 2147483647

/* ---- show ---- */

static void put_size(struct request *request, const void *row) {
    const struct type_encryption *encryption = row;

    if (encryption->key_size == TYPE_ENCRYPTION_NO_SIZE)
        out_null(&request->out);
    else
        out_int(&request->out, encryption->key_size);
}

static void put_false(struct request *request, const void *row) {
    (void)row;
    out_bool(&request->out, false);
}

/* clang-format off */
#define NULLS .flags = SHAPE_NULLABLE | SHAPE_MAYBE
#define MEMBER(member, ...) SHAPE(struct type_encryption, member, __VA_ARGS__)

/* Of a type without encryption the response is empty. */
static const struct shape_key members[] = {
    MEMBER(volume_type_id,   "volume_type_id",   TEXT, .flags = SHAPE_MAYBE),
    MEMBER(id,               "encryption_id",    TEXT, .flags = SHAPE_MAYBE),
    MEMBER(provider,         "provider",         TEXT, .flags = SHAPE_MAYBE),
    MEMBER(control_location, "control_location", TEXT, .flags = SHAPE_MAYBE),
    MEMBER(cipher,           "cipher",           TEXT, NULLS),
    SHAPE_BY(put_size,       "key_size",         INT,  NULLS),
    MEMBER(created_at,       "created_at",       TIME, .flags = SHAPE_MAYBE),
    MEMBER(updated_at,       "updated_at",       TIME, NULLS),
    SHAPE_BY(put_false,      "deleted",          BOOL, .flags = SHAPE_MAYBE),
    { SHAPE_KEY("deleted_at", NULL), .flags = SHAPE_MAYBE },
    SHAPES_END,
};
/* clang-format on */
static const struct shape shape = { "type_encryption", members };

static int show_encryption(struct request *request, struct error *err) {
    struct type_encryption encryption;
    int found = type_encryption_get(&request->work, request->object, &encryption, err);

    if (found < 0)
        return -1;
    if (found > 0)
        answer_row(request, &encryption, 0);
    else
        out_value(&request->out, json_keep(request->work.arena, json_object()));
    return 0;
}

/* The one named `name`; two rows, as a table ends. */
static bool find_member(const char *name, struct shape_key ret[2]) {
    for (const struct shape_key *key = members; key->name; key++)
        if (strcmp(key->name, name) == 0) {
            ret[0] = *key;
            ret[1].name = NULL;
            return true;
        }
    return false;
}

static int show_member(struct request *request, struct error *err) {
    struct type_encryption encryption;
    int found = type_encryption_get(&request->work, request->object, &encryption, err);
    struct shape_key keys[2];

    if (found < 0)
        return -1;
    if (found == 0 || !find_member(request->key, keys))
        return error_set(err, ERROR_NOT_FOUND, "Volume type %s has no encryption with key %s.",
                         request->id, request->key);
    shape_put(request, &(struct shape){ NULL, keys }, &encryption, 0);
    return 0;
}

/* ---- create, update, delete ---- */

struct encryption_body {
    const char *provider, *control_location, *cipher;
    int64_t key_size;
};

static const char *const locations[] = { "front-end", "back-end", NULL };

/* clang-format off */
#define ENCRYPTION_FIELDS(flags) \
    FIELD_TEXT(struct encryption_body, provider, "provider", flags, 0, 255), \
    FIELD_WORD(struct encryption_body, control_location, "control_location", flags, locations), \
    FIELD_NAME0(struct encryption_body, cipher, "cipher", 0), \
    FIELD(struct encryption_body, key_size, "key_size", SIZE, FIELD_NULLABLE, \
          .max = KEY_SIZE_MOST), \
    FIELDS_END

static const struct field create_fields[] = { ENCRYPTION_FIELDS(FIELD_REQUIRED) };
static const struct field update_fields[] = { ENCRYPTION_FIELDS(0) };
/* clang-format on */

/* The body merged into `present`: omitted keys are kept. */
static struct type_encryption encryption_wanted(const struct request *request,
                                                struct type_encryption present) {
    const struct encryption_body *body = request->body;
    const json_t *size = json_object_get(request->json, "key_size");

    if (json_has(request->json, "provider"))
        present.provider = body->provider;
    if (json_has(request->json, "control_location"))
        present.control_location = body->control_location;
    if (json_has(request->json, "cipher"))
        present.cipher = body->cipher;
    if (size)
        present.key_size = json_is_null(size) ? TYPE_ENCRYPTION_NO_SIZE : body->key_size;
    return present;
}

/* The sent values, a key size as a number in any form. */
static void put_sent(struct request *request) {
    const struct encryption_body *body = request->body;
    struct json_out *out = &request->out;
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)(uintptr_t)request->json, key, value) {
        out_key_text(out, key);
        if (strcmp(key, "key_size") == 0 && !json_is_null(value))
            out_int(out, body->key_size);
        else
            out_value(out, value);
    }
}

static int create_encryption(struct request *request, struct error *err) {
    const struct type_encryption none = { .key_size = TYPE_ENCRYPTION_NO_SIZE };
    struct type_encryption encryption = encryption_wanted(request, none);
    struct json_out *out = &request->out;

    if (type_encryption_create(&request->work, request->object, &encryption, err) < 0)
        return -1;
    answer_open(request);
    out_begin_object(out);
    put_sent(request);
    out_put_text(out, "volume_type_id", encryption.volume_type_id);
    out_put_text(out, "encryption_id", encryption.id);
    out_end_object(out);
    answer_close(request);
    return 0;
}

static int update_encryption(struct request *request, struct error *err) {
    struct type_encryption encryption = { .key_size = TYPE_ENCRYPTION_NO_SIZE };

    if (type_encryption_get(&request->work, request->object, &encryption, err) < 0)
        return -1;
    encryption = encryption_wanted(request, encryption);
    if (type_encryption_update(&request->work, request->object, &encryption, err) < 0)
        return -1;
    answer_open(request);
    out_begin_object(&request->out);
    put_sent(request);
    out_end_object(&request->out);
    answer_close(request);
    return 0;
}

static int delete_encryption(struct request *request, struct error *err) {
    return type_encryption_delete(&request->work, request->object, err);
}

/* The sent values, including unknown ones. */
static const struct shape_key sent_keys[] = {
    SHAPE(struct encryption_body, provider, "provider", TEXT, .flags = SHAPE_MAYBE),
    SHAPE(struct encryption_body, control_location, "control_location", TEXT, .flags = SHAPE_MAYBE),
    SHAPE(struct encryption_body, cipher, "cipher", TEXT, NULLS),
    SHAPE(struct encryption_body, key_size, "key_size", INT, NULLS),
    SHAPE_BY(NULL, "volume_type_id", TEXT, .flags = SHAPE_MAYBE),
    SHAPE_BY(NULL, "encryption_id", TEXT, .flags = SHAPE_MAYBE),
    SHAPE_ELSE(ANY, 0),
    SHAPES_END,
};
static const struct shape sent_shape = { "type_encryption_sent", sent_keys };

/* The id in the path of PUT and DELETE is ignored, as upstream: there is one for a type. */
/* clang-format off */
#define ENCRYPTION(method_, path_, rule_, handler_, status_) \
    .method = method_, .path = "/types/{id}/encryption" path_, .resource = &type_resource, \
    .rule = "volume_extension:volume_type_encryption:" rule_, .handler = handler_, \
    .status = status_
#define SENT(fields_) \
    .wrapper = "encryption", BODY(fields_, struct encryption_body), .flags = ROUTE_OPEN, \
    ANSWER("encryption", sent_shape)

const struct route type_encryption_routes[] = {
    { ENCRYPTION("GET", "", "get", show_encryption, 200), ANSWER(NULL, shape) },
    { ENCRYPTION("POST", "", "create", create_encryption, 200), SENT(create_fields) },
    { ENCRYPTION("GET", "/{key}", "get", show_member, 200), ANSWER(NULL, shape) },
    { ENCRYPTION("PUT", "/{key}", "update", update_encryption, 200), SENT(update_fields) },
    { ENCRYPTION("DELETE", "/{key}", "delete", delete_encryption, 202), .flags = ROUTE_BARE },
    ROUTES_END
};
/* clang-format on */
