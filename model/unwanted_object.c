#include "model/unwanted_object.h"

#include "common/assert.h"
#include "model/operations.h"
#include "operation/host.h"
#include "json/json.h"

static const char *print(struct arena *arena, const struct unwanted_object *object) {
    const struct operation *made_by = &object->made_by;
    const struct volume *volume = &object->volume;
    const struct snapshot *snapshot = &object->snapshot;
    json_t *tree = json_pack(
        "{s:s, s:{s:s, s:s, s:s, s:s, s:I}, s:{s:s, s:s?, s:s?, s:s?, s:s?, s:I, s:b}}", "clean_up",
        object->clean_up, "made_by", "id", made_by->id, "kind", made_by->kind->name, "object_id",
        made_by->object_id, "volume_id", made_by->volume_id, "attempts",
        (json_int_t)made_by->attempts, "volume", "id", volume->id, "name_id", volume->name_id,
        "provider_location", volume->provider_location, "format", volume->format, "host",
        volume->host, "size_gb", (json_int_t)volume->size_gb, "multiattach", volume->multiattach);

    assert(tree); /* of rows, which are UTF-8 */
    if (snapshot->id)
        json_object_set_new(tree, "snapshot",
                            json_pack("{s:s, s:s?, s:s?, s:I}", "id", snapshot->id,
                                      "provider_location", snapshot->provider_location, "format",
                                      snapshot->format, "size_gb", (json_int_t)snapshot->size_gb));
    return json_text(arena, json_keep(arena, tree));
}

int unwanted_object_record(struct work *work, const struct unwanted_object *object,
                           struct error *err) {
    const char *host = host_backend(work->arena, object->made_by.host);
    const struct operation fields = { .volume_id = host,
                                      .object_id = object->snapshot.id ? object->snapshot.id
                                                                       : object->made_by.object_id,
                                      .host = host,
                                      .project_id = object->made_by.project_id,
                                      .arguments = print(work->arena, object) };

    assert(object->made_by.attempts > 0);
    return operation_insert(work, &kind_remove_unwanted, &fields, NULL, err);
}

bool unwanted_object_parse(struct arena *arena, const struct operation *operation,
                           struct unwanted_object *ret) {
    const json_t *tree = operation_arguments(arena, operation);
    const json_t *made_by = json_object_get(tree, "made_by");
    const json_t *volume = json_object_get(tree, "volume");
    const json_t *snapshot = json_object_get(tree, "snapshot");
    const char *kind = json_text_of(made_by, "kind");

    *ret = (struct unwanted_object){
        .clean_up = json_text_of(tree, "clean_up"),
        .made_by = { .id = json_text_of(made_by, "id"),
                     .kind = kind ? operation_kind_find(kind) : NULL,
                     .object_id = json_text_of(made_by, "object_id"),
                     .volume_id = json_text_of(made_by, "volume_id"),
                     .attempts = json_int_at(made_by, "attempts") },
        .volume = { .id = json_text_of(volume, "id"),
                    .name_id = json_text_of(volume, "name_id"),
                    .provider_location = json_text_of(volume, "provider_location"),
                    .format = json_text_of(volume, "format"),
                    .host = json_text_of(volume, "host"),
                    .size_gb = json_int_at(volume, "size_gb"),
                    .multiattach = json_true_at(volume, "multiattach") },
        .snapshot = { .id = json_text_of(snapshot, "id"),
                      .volume_id = json_text_of(volume, "id"),
                      .provider_location = json_text_of(snapshot, "provider_location"),
                      .format = json_text_of(snapshot, "format"),
                      .size_gb = json_int_at(snapshot, "size_gb") },
    };
    return ret->clean_up && ret->made_by.id && ret->made_by.kind && ret->made_by.object_id &&
           ret->made_by.volume_id && ret->made_by.attempts > 0 && ret->volume.id;
}

const struct operation_kind kind_remove_unwanted = {
    .name = "remove_unwanted",
    .method = "remove_unwanted",
};
