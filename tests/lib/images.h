/*
 * An image service for the API of a world: it finds and makes one image, whatever the request.
 */
#pragma once

#include "api/confirm.h"
#include "rest/router.h"
#include "tests/lib/world.h"
#include "json/json.h"

#include <check.h>
#include <string.h>

#define IMAGES_ID     "99999999-9999-4999-8999-999999999999"
#define IMAGES_UPLOAD "{\"os-volume_upload_image\": {\"image_name\": \"i\", \"force\": true}}"
#define IMAGES_REIMAGE \
    "{\"os-reimage\": {\"image_id\": \"" IMAGES_ID "\", \"reimage_reserved\": true}}"

static inline const json_t *images_only_one(void *arg, const struct request *request,
                                            const char *subject, struct error *err) {
    static const char image[] = "{\"id\": \"" IMAGES_ID "\", \"name\": \"i\", \"status\": "
                                "\"active\", \"size\": 512, \"disk_format\": \"raw\", "
                                "\"container_format\": \"bare\", \"os_distro\": \"new\"}";

    (void)arg, (void)subject;
    return json_parse(request->http->arena, image, strlen(image), err);
}

static inline void images_keep(void *arg, const struct request *request, const json_t *image) {
    (void)arg, (void)request, (void)image;
}

/* The world's API queries by `confirm` from now on. */
static inline void images_confirm_by(struct world *world, struct confirm *confirm) {
    struct api_settings settings = world_api_settings(world);
    struct error err;

    settings.confirm = api_confirm;
    settings.withdraw = api_withdraw;
    settings.confirm_arg = confirm;
    settings.inline_transactions = true;
    api_free(world->api);
    ck_assert_int_eq(api_new(&settings, &world->api, &err), 0);
}

static inline void images_begin(struct world *world) {
    static struct confirm confirm = {
        .images = { .find = images_only_one, .make = images_only_one, .discard = images_keep },
    };

    images_confirm_by(world, &confirm);
}
