#include "model/volume/reimage.h"

#include "api/routes.h"
#include "api/volume/image.h"
#include "api/volume/resource.h"

struct reimage_body {
    const char *image_id;
    bool reserved_too;
};

static const struct field reimage_fields[] = {
    FIELD_UUID(struct reimage_body, image_id, "image_id", FIELD_REQUIRED),
    FIELD_BOOL(struct reimage_body, reserved_too, "reimage_reserved", 0),
    FIELDS_END,
};

static int reimage(struct request *request, struct error *err) {
    const struct reimage_body *body = request->body;
    const struct volume *volume = request->object;
    bool reserved = volume->status == VOLUME_RESERVED;
    struct volume_image image;

    if (request_authorize(request, reserved ? "volume:reimage_reserved" : "volume:reimage",
                          request->owner, err) < 0 ||
        volume_reimage_check(volume, body->reserved_too, err) < 0 ||
        image_id_find(request, body->image_id, &image, err) < 0)
        return -1;
    return volume_reimage(&request->work, volume, &image, err);
}

/* clang-format off */
const struct route reimage_routes[] = {
    { .method = "POST", .path = "/volumes/{id}/action", .resource = &volume_resource,
      .action = "os-reimage", .since = MV_REIMAGE, BODY(reimage_fields, struct reimage_body),
      .handler = reimage, .status = 202 },
    ROUTES_END,
};
/* clang-format on */
