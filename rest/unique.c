#include "rest/unique.h"

#include "common/scoria_headers.h"
#include "rest/request.h"

#include <string.h>

static int unique_refuse(const struct resource *resource, const char *key, struct error *err) {
    return error_set(err, ERROR_CONFLICT, "A %s of the project has this value of %.64s already.",
                     resource->name, key);
}

static int read_key(const struct request *request, const char **ret, struct error *err) {
    return request_renamed_header(request, UNIQUE_HEADER, UNIQUE_HEADER_FORMER, ret, err);
}

int unique_check_pair(struct request *request, const struct resource *resource,
                      const struct pairs *metadata, struct error *err) {
    const char *key, *value;
    int found;

    if (read_key(request, &key, err) < 0)
        return -1;
    value = key ? pairs_get(metadata, key) : NULL;
    if (!value)
        return 0;
    found = db_query_any(request->work.tx, err, resource->metadata->rows->sought,
                         DB_TEXT(request->context.project_id), DB_TEXT(key), DB_TEXT(value));
    return found > 0 ? unique_refuse(resource, key, err) : found;
}

int unique_check_name(struct request *request, const struct resource *resource, const char *name,
                      const char *description, struct error *err) {
    const char *key, *query;
    int found;

    if (read_key(request, &key, err) < 0)
        return -1;
    if (!key || strcmp(key, "name") != 0 || !name)
        return 0;
    query = arena_format(request->work.arena,
                         "SELECT 1 FROM %s WHERE project_id = $1 AND display_name = $2 AND "
                         "COALESCE(display_description, '') = $3 LIMIT 1",
                         resource->table);
    found = db_query_any(request->work.tx, err, query, DB_TEXT(request->context.project_id),
                         DB_TEXT(name), DB_TEXT(description ? description : ""));
    return found > 0 ? unique_refuse(resource, key, err) : found;
}
