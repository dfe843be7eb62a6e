#include "model/volume/image_volume.h"

#include "common/gib.h"
#include "common/words.h"
#include "model/conflict.h"
#include "json/json.h"

#include <string.h>

#define LOCATIONS_MOST 16

/* cinder://[STORE/]ID */
static const char *read_url(struct arena *arena, const char *url) {
    static const char scheme[] = "cinder://";
    char id[UUID_SIZE];
    const char *slash;

    if (!url || strncmp(url, scheme, strlen(scheme)) != 0)
        return NULL;
    url += strlen(scheme);
    slash = strchr(url, '/');
    return uuid_parse(slash ? slash + 1 : url, id) ? arena_text(arena, id) : NULL;
}

const char *const *image_volumes_of(struct arena *arena, const json_t *image) {
    const json_t *locations = json_object_get(image, "locations");
    const char **ids = arena_alloc(arena, (LOCATIONS_MOST + 1) * sizeof(*ids));
    const char *id = read_url(arena, json_text_of(image, "direct_url"));
    size_t count = 0;

    if (id)
        ids[count++] = id;
    for (size_t i = 0; count < LOCATIONS_MOST && i < json_array_size(locations); i++) {
        id = read_url(arena, json_text_of(json_array_get(locations, i), "url"));
        if (id)
            ids[count++] = id;
    }
    ids[count] = NULL;
    return ids;
}

static bool may_be_cloned(const struct image_volume_search *search, const struct volume *found) {
    const char *named = pairs_get(&found->metadata, VOLUME_KEY_IMAGE_OWNER);
    const char *owner = search->owner;
    const struct volume *volume = search->volume;

    if (!owner || !*owner ||
        (strcmp(found->project_id, owner) != 0 && (!named || strcmp(named, owner) != 0)))
        return false;
    return found->status == VOLUME_AVAILABLE && !found->attachment_count &&
           found->provider_location && !found->encryption_key_id &&
           strcmp(found->host, volume->host) == 0 && found->size_gb <= volume->size_gb &&
           found->largest_gb <= volume->size_gb && search->bytes <= found->size_gb * GIB;
}

int image_volume_find(struct work *work, const struct operation *held, void *arg,
                      struct error *err) {
    struct image_volume_search *search = arg;

    search->is_found = search->waits = false;
    for (const char *const *id = search->ids; *id; id++) {
        if (held->turn_of && strcmp(held->turn_of, *id) != 0)
            continue;
        if (volume_details(work, *id, &search->found, err) < 0) {
            if (err->kind != ERROR_NOT_FOUND)
                return -1;
            continue;
        }
        if (!search->found.host || !may_be_cloned(search, &search->found))
            continue;
        search->is_found = held->turn_of != NULL;
        if (search->is_found)
            return 0;
        if (conflict_resolve(work, *id, ACTION_CLONE, err) == 0) {
            /* Its turn among the operations on the volume comes with its next claim. */
            search->waits = true;
            return operation_follow(work, held, *id, true, err) < 0
                       ? -1
                       : operation_notify(work, held, NULL, err);
        }
        if (err->kind != ERROR_BAD_REQUEST)
            return -1;
    }
    return 0;
}
