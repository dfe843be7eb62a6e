#include "api/volume/image.h"

#include "rest/microversion.h"
#include "json/json.h"

#include <string.h>

#define MAPPING_PROPERTY "block_device_mapping"

#define NO_IMAGE "Invalid image identifier or unable to access requested image"

/* ---- the queries ---- */

/* The image service finds images by name, too, and a name may look like an id. */
static bool has_id(const json_t *image, const char *id) {
    const char *text = json_text_of(image, "id");
    char found[UUID_SIZE], wanted[UUID_SIZE];

    return text && uuid_parse(text, found) && uuid_parse(id, wanted) && strcmp(found, wanted) == 0;
}

bool image_confirm(const struct image_query *query, const struct request *request,
                   struct confirmation *confirmation, bool late, struct error *refusal) {
    bool is_new = confirmation->kind == CONFIRM_NEW_IMAGE;

    if (late)
        error_set(refusal, ERROR_TRY_LATER,
                  "Too many pending queries to the image service; try again.");
    else
        confirmation->answer = (is_new ? query->make : query->find)(query->arg, request,
                                                                    confirmation->subject, refusal);
    if (confirmation->answer && confirmation->kind == CONFIRM_IMAGE_ID &&
        !has_id(confirmation->answer, confirmation->subject)) {
        confirmation->answer = NULL;
        error_set(refusal, ERROR_BAD_REQUEST, NO_IMAGE ".");
    }
    if (confirmation->answer)
        return true;
    if (confirmation->kind == CONFIRM_IMAGE_ID && refusal->kind == ERROR_BAD_REQUEST)
        error_set(refusal, ERROR_NOT_FOUND, "Image %s could not be found.",
                  (const char *)confirmation->subject);
    if (confirmation->kind == CONFIRM_IMAGE && refusal->kind == ERROR_UNAVAILABLE)
        error_set(refusal, ERROR_BAD_REQUEST, NO_IMAGE ".");
    return false;
}

/* ---- certificates ---- */

struct certificate {
    const char *text, *failure; /* one of them is NULL */
};

bool image_confirm_certificate(const struct image_query *query, const struct request *request,
                               struct confirmation *confirmation, bool late) {
    struct arena *arena = request->http->arena;
    struct certificate found = { .text = NULL };
    struct error err;

    if (late)
        error_set(&err, ERROR_TRY_LATER, "Too many pending queries to the key manager.");
    else
        found.text = query->find_certificate(query->arg, request, confirmation->subject, &err);
    if (!found.text)
        found.failure = arena_text(arena, err.message);
    confirmation->answer = arena_copy(arena, &found, sizeof(found));
    return true;
}

/* ---- the questions ---- */

/* NULL: see err; then the request is repeated with the answer, if there is such a service. */
static const void *ask(struct request *request, enum confirmation_kind kind, const char *subject,
                       struct error *err) {
    struct confirmation *last = request->work.confirmation;
    bool has_changed = last && last->granted && kind != CONFIRM_CERTIFICATE;

    for (const struct confirmation *each = last; each; each = each->before)
        if (each->granted && each->kind == kind && strcmp(each->subject, subject) == 0)
            return each->answer;
    if (last && !has_changed) {
        const struct confirmation *before = last->before; /* the transaction is repeated */

        if (last->granted)
            before = arena_copy(request->http->arena, last, sizeof(*last));
        *last = (struct confirmation){ .kind = kind,
                                       .wanted = true,
                                       .has_effect = kind == CONFIRM_NEW_IMAGE,
                                       .project_id = request->context.project_id,
                                       .subject = subject,
                                       .before = before };
    }
    error_set(err, ERROR_BAD_REQUEST,
              has_changed ? "The volume has changed meanwhile; try again."
                          : NO_IMAGE ": no image service is configured.");
    return NULL;
}

static int read_image(struct request *request, const json_t *image, struct volume_image *ret,
                      struct error *err) {
    const struct certificate *found;

    if (volume_image_read(&request->work, image, ret, err) < 0)
        return -1;
    if (!volume_image_is_to_be_verified(request->work.settings, ret))
        return 0;
    found = ask(request, CONFIRM_CERTIFICATE, ret->signature.certificate_id, err);
    if (!found)
        return error_set(err, ERROR_BAD_REQUEST,
                         "Image %s is signed, and this service has no key manager to verify the "
                         "signature with (verify_glance_signatures).",
                         ret->id);
    ret->signature.certificate = found->text;
    ret->signature.failure = found->failure;
    return 0;
}

const json_t *image_make(struct request *request, const char *description, struct error *err) {
    return ask(request, CONFIRM_NEW_IMAGE, description, err);
}

int image_id_find(struct request *request, const char *id, struct volume_image *ret,
                  struct error *err) {
    const json_t *image = ask(request, CONFIRM_IMAGE_ID, id, err);

    return image ? read_image(request, image, ret, err) : -1;
}

/* ---- an image that stands for a snapshot ---- */

static const char *snapshot_of(struct request *request, const json_t *image) {
    const char *text = json_text_of(image, MAPPING_PROPERTY);
    const json_t *list = text ? json_parse(request->http->arena, text, strlen(text), NULL) : NULL;

    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *device = json_array_get(list, i);

        if (json_text_is(device, "source_type", "snapshot") &&
            json_is_integer(json_object_get(device, "boot_index")) &&
            json_integer_value(json_object_get(device, "boot_index")) == 0)
            return json_text_of(device, "snapshot_id");
    }
    return NULL;
}

int image_ref_find(struct request *request, const char *reference, struct volume_new *ret,
                   struct error *err) {
    const json_t *image = ask(request, CONFIRM_IMAGE, reference, err);
    const char *snapshot_id = NULL;
    struct volume_image *found;

    if (!image)
        return -1;
    if (request->minor >= MV_IMAGE_SNAPSHOT)
        snapshot_id = snapshot_of(request, image);
    if (snapshot_id && !ret->snapshot_id) {
        ret->snapshot_id = snapshot_id;
        return 0;
    }
    found = arena_alloc(request->http->arena, sizeof(*found));
    ret->image = found;
    /* A request that names a snapshot, too, is refused: it needs no certificate. */
    return snapshot_id ? volume_image_read(&request->work, image, found, err)
                       : read_image(request, image, found, err);
}
