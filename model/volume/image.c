#include "model/volume/image.h"

#include "common/assert.h"
#include "common/cleanup.h"
#include "common/gib.h"
#include "common/no_space.h"
#include "common/words.h"
#include "data/checksum_io.h"
#include "data/image_inspect.h"
#include "model/volume/volume.h"
#include "operation/message.h"
#include "json/json.h"

#include <string.h>

#define TYPE_PROPERTY "cinder_img_volume_type"
#define VERIFIED      "signature_verified"

/* Members that every image has; all others are its properties. */
static const char *const base_members[] = {
    "checksum",
    "container_format",
    "created_at",
    "direct_url",
    "disk_format",
    "file",
    "id",
    "locations",
    "min_disk",
    "min_ram",
    "name",
    "os_hash_algo",
    "os_hash_value",
    "os_hidden",
    "owner",
    "protected",
    "schema",
    "self",
    "size",
    "status",
    "stores",
    "tags",
    "updated_at",
    "virtual_size",
    "visibility",
};

bool volume_image_has_member(const char *key) {
    return words_have(base_members, LENGTH(base_members), key);
}

static const char *text_or_empty(const json_t *image, const char *key) {
    const char *text = json_text_of(image, key);

    return text ? text : "";
}

/* ---- metadata of the volume ---- */

struct writing {
    struct arena *arena;
    struct pair *items;
    unsigned count;
};

static void put(struct writing *writing, const char *key, const json_t *value) {
    const char *text = json_string_value(value);

    if (json_is_integer(value))
        text = arena_format(writing->arena, "%jd", (intmax_t)json_integer_value(value));
    if (text)
        writing->items[writing->count++] = (struct pair){ key, text };
}

static struct pairs read_metadata(const struct work *work, const json_t *image) {
    /* Members of the volume's metadata, whatever the image has under their names. */
    static const char *const own[] = { "image_id", "image_name", VERIFIED };
    static const char *const shown[] = { "checksum", "container_format", "disk_format",
                                         "min_disk", "min_ram",          "size" };
    struct writing writing = { .arena = work->arena };
    const char *key;
    json_t *value;

    writing.items = arena_alloc(work->arena, (json_object_size(image) + 4) * sizeof(struct pair));
    json_object_foreach((json_t *)(uintptr_t)image, key, value) {
        if (!volume_image_has_member(key) && !words_have(own, LENGTH(own), key) &&
            json_is_string(value))
            put(&writing, key, value);
    }
    put(&writing, "image_id", json_object_get(image, "id"));
    if (*text_or_empty(image, "name"))
        put(&writing, "image_name", json_object_get(image, "name"));
    for (size_t i = 0; i < LENGTH(shown); i++)
        put(&writing, shown[i], json_object_get(image, shown[i]));
    return (struct pairs){ writing.items, writing.count };
}

/* ---- the description ---- */

static int64_t number_of(const json_t *image, const char *key) {
    int64_t number = json_integer_value(json_object_get(image, key));

    return number > 0 ? number : 0;
}

static bool is_hash(const char *text) {
    return text && *text && text[strspn(text, "0123456789abcdef")] == '\0';
}

/* The old checksum where the other is missing, or of an algorithm that only the image service
 * knows.  ERROR_BAD_REQUEST: there is only one of those. */
static int read_hash(const json_t *image, struct volume_image *ret, struct error *err) {
    const char *algorithm = json_text_of(image, "os_hash_algo");
    bool is_known = algorithm && checksum_io_knows(algorithm);

    ret->hash = json_text_of(image, "os_hash_value");
    ret->hash_algorithm = algorithm;
    if (algorithm && !is_known && is_hash(ret->hash) && !is_hash(json_text_of(image, "checksum")))
        return error_set(err, ERROR_BAD_REQUEST,
                         "Invalid input received: Image %s has only a checksum of the algorithm "
                         "%.32s, which is not supported.",
                         ret->id, algorithm);
    if (!is_known || !is_hash(ret->hash)) {
        ret->hash = json_text_of(image, "checksum");
        ret->hash_algorithm = "md5";
    }
    if (!is_hash(ret->hash))
        ret->hash = ret->hash_algorithm = NULL;
    return 0;
}

int volume_image_read(const struct work *work, const json_t *image, struct volume_image *ret,
                      struct error *err) {
    char id[UUID_SIZE];

    if (!uuid_parse(text_or_empty(image, "id"), id))
        return error_set(err, ERROR_BAD_REQUEST, "The image service returned an image without id.");
    *ret = (struct volume_image){
        .id = arena_text(work->arena, id),
        .status = text_or_empty(image, "status"),
        .disk_format = text_or_empty(image, "disk_format"),
        .container_format = text_or_empty(image, "container_format"),
        .type = json_text_of(image, TYPE_PROPERTY),
        .bytes = number_of(image, "size"),
        .virtual_bytes = number_of(image, "virtual_size"),
        .min_disk_gb = number_of(image, "min_disk"),
        .metadata = read_metadata(work, image),
    };
    if (json_text_of(image, "cinder_encryption_key_id"))
        return error_set(err, ERROR_BAD_REQUEST,
                         "Invalid input received: Image %s is encrypted "
                         "(cinder_encryption_key_id), and encrypted volumes are not supported.",
                         id);
    image_signature_read(image, &ret->signature);
    if (read_hash(image, ret, err) < 0 || (work->settings->verify_image_signatures &&
                                           image_signature_check(&ret->signature, id, err) < 0))
        return -1;
    if (*text_or_empty(image, "updated_at"))
        ret->version = arena_join(work->arena, json_text_of(image, "updated_at"), " ",
                                  ret->hash ? ret->hash : "", NULL);
    return 0;
}

bool volume_image_is_to_be_verified(const struct settings *settings,
                                    const struct volume_image *image) {
    return settings->verify_image_signatures && image_signature_is_given(&image->signature);
}

static int64_t gb_of(int64_t bytes) {
    return bytes / GIB + (bytes % GIB != 0);
}

int64_t volume_image_gb(const struct volume_image *image) {
    if (image_format_is_plain(image->disk_format))
        return gb_of(image->bytes);
    return gb_of(image->virtual_bytes);
}

int volume_image_check(const struct volume_image *image, int64_t size_gb, struct error *err) {
    assert(size_gb > 0);
    if (strcmp(image->status, "active") != 0)
        return error_set(err, ERROR_BAD_REQUEST, "Invalid input received: Image %s is not active.",
                         image->id);
    if (gb_of(image->bytes) > size_gb)
        return error_set(err, ERROR_BAD_REQUEST,
                         "Invalid input received: Size of specified image %jdGB is larger than "
                         "volume size %jdGB.",
                         (intmax_t)gb_of(image->bytes), (intmax_t)size_gb);
    if (image->min_disk_gb > size_gb)
        return error_set(err, ERROR_BAD_REQUEST,
                         "Invalid input received: Volume size %jdGB cannot be smaller than the "
                         "image minDisk size %jdGB.",
                         (intmax_t)size_gb, (intmax_t)image->min_disk_gb);
    if (gb_of(image->virtual_bytes) > size_gb)
        return error_set(err, ERROR_BAD_REQUEST,
                         "Invalid input received: Image virtual size is %jdGB and doesn't fit in a "
                         "volume of size %jdGB.",
                         (intmax_t)gb_of(image->virtual_bytes), (intmax_t)size_gb);
    return 0;
}

/* ---- as arguments ---- */

#define WITHOUT_SOURCE "without_source"

const char *volume_image_print(const struct work *work, const struct volume_image *image) {
    json_t *metadata = json_object(), *tree;

    for (unsigned i = 0; i < image->metadata.count; i++)
        json_object_set_new(metadata, image->metadata.items[i].key,
                            json_string(image->metadata.items[i].value));
    tree = json_pack("{s:s, s:s, s:s, s:s*, s:s*, s:s*, s:I, s:I, s:o, s:o*}", "id", image->id,
                     "disk_format", image->disk_format, "container_format", image->container_format,
                     "hash_algorithm", image->hash_algorithm, "hash", image->hash, "version",
                     image->version, "size", (json_int_t)image->bytes, "virtual_size",
                     (json_int_t)image->virtual_bytes, "metadata", metadata, "signature",
                     image_signature_print(&image->signature));
    assert(tree); /* its texts come from JSON */
    return json_text(work->arena, json_keep(work->arena, tree));
}

int volume_image_of(struct arena *arena, const struct operation *operation,
                    struct volume_image *ret) {
    const json_t *tree = operation_arguments(arena, operation);
    const json_t *metadata = json_object_get(tree, "metadata");
    const json_t *signature = json_object_get(tree, "signature");
    struct writing writing = { .arena = arena };
    const char *key;
    json_t *value;

    if (!uuid_parse(text_or_empty(tree, "id"), NULL))
        return 0;
    writing.items = arena_alloc(arena, (json_object_size(metadata) + 1) * sizeof(struct pair));
    json_object_foreach((json_t *)(uintptr_t)metadata, key, value) {
        if (strcmp(key, VERIFIED) != 0) /* of a former version of the service */
            put(&writing, key, value);
    }
    *ret = (struct volume_image){
        .id = json_text_of(tree, "id"),
        .status = "active",
        .disk_format = text_or_empty(tree, "disk_format"),
        .container_format = text_or_empty(tree, "container_format"),
        .hash_algorithm = json_text_of(tree, "hash_algorithm"),
        .hash = json_text_of(tree, "hash"),
        .version = json_text_of(tree, "version"),
        .bytes = number_of(tree, "size"),
        .virtual_bytes = number_of(tree, "virtual_size"),
        .without_source = json_is_true(json_object_get(tree, WITHOUT_SOURCE)),
        .metadata = { writing.items, writing.count },
    };
    if (signature)
        image_signature_of(signature, &ret->signature);
    else /* unsigned, or of a former version, which knew signatures as properties alone */
        image_signature_read(metadata, &ret->signature);
    return 1;
}

int volume_image_describe(struct work *work, const struct operation *held, const char *verified,
                          struct error *err) {
    const struct pair_owner owner = { .id = held->volume_id };
    struct volume_image image;

    if (!volume_image_of(work->arena, held, &image))
        return 0;
    if (db_run(work->tx, err, "UPDATE volumes SET bootable = 1 WHERE id = $1",
               DB_TEXT(held->volume_id)) < 0)
        return -1;
    if (verified) /* volume_image_of() has kept a place */
        ((struct pair *)(uintptr_t)image.metadata.items)[image.metadata.count++] =
            (struct pair){ VERIFIED, verified };
    return pair_rows_put_accepted(work, &image_metadata_rows, &owner, &image.metadata, err);
}

int volume_image_spoiled(struct work *work, const char *volume_id, struct error *err) {
    return pair_rows_remove(work, &image_metadata_rows, volume_id, VERIFIED, err) < 0 ? -1 : 0;
}

int volume_image_leave_source(struct work *work, const struct operation *held, void *arg,
                              struct error *err) {
    json_t *tree;

    (void)arg;
    if (!held->turn_of)
        return 0;
    tree = json_keep(work->arena,
                     json_copy((json_t *)(uintptr_t)operation_arguments(work->arena, held)));
    json_object_set_new(tree, WITHOUT_SOURCE, json_true());
    if (operation_unfollow(work, held, err) < 0)
        return -1;
    return operation_note(work, held->id, held->owner, json_text(work->arena, tree), err) < 0 ? -1
                                                                                              : 0;
}

int volume_image_failed(struct work *work, const struct operation *held,
                        const struct error *failure, const char *detail, const char *otherwise,
                        struct error *err) {
    assert(failure && otherwise);
    if (!error_is_no_space(failure))
        return message_put_reason(work, held, detail ? detail : otherwise, NULL, err);
    return detail ? message_put_reason(work, held, detail, VOLUME_IMAGE_NO_CONVERSION_SPACE, err)
                  : message_put_failed(work, held, "007", failure, err);
}
