#include "api/volume/image.h"

#include "rest/microversion.h"
#include "json/json.h"

#include <string.h>

#define MAPPING_PROPERTY "block_device_mapping"

/* ---- the query ---- */

bool image_confirm(const struct image_query *query, const struct request *request,
                   struct confirmation *confirmation, bool late, struct error *refusal) {
    if (late)
        error_set(refusal, ERROR_TRY_LATER,
                  "Too many pending queries to the image service; try again.");
    else
        confirmation->answer = query->find(query->arg, request, confirmation->subject, refusal);
    return confirmation->answer != NULL;
}

/* NULL: see err; then the request is repeated with the answer, if there is an image service. */
static const json_t *find(struct request *request, const char *reference, struct error *err) {
    struct confirmation *confirmation = request->work.confirmation;

    if (confirmation && confirmation->granted && confirmation->kind == CONFIRM_IMAGE &&
        strcmp(confirmation->subject, reference) == 0)
        return confirmation->answer;
    if (confirmation && !confirmation->granted)
        *confirmation = (struct confirmation){ .kind = CONFIRM_IMAGE,
                                               .wanted = true,
                                               .project_id = request->context.project_id,
                                               .subject = reference };
    error_set(err, ERROR_BAD_REQUEST,
              "Invalid image identifier or unable to access requested image: no image service is "
              "configured.");
    return NULL;
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
    const json_t *image = find(request, reference, err);
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
    return volume_image_read(&request->work, image, found, err);
}
