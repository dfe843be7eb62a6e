#include "declared/kind.h"

#include <string.h>
#include <strings.h>

const struct document_kind *const document_kinds[] = {
    &kind_volume_policy,  &kind_volume_config,          &kind_replicated_volume,
    &kind_volume_replica, &kind_volume_config_snapshot, NULL,
};

const struct document_kind *document_kind_named(const char *name) {
    for (const struct document_kind *const *kind = document_kinds; *kind; kind++)
        if (strcmp((*kind)->name, name) == 0)
            return *kind;
    return NULL;
}

const struct document_kind *document_kind_called(const char *name) {
    for (const struct document_kind *const *kind = document_kinds; *kind; kind++)
        if (strcasecmp((*kind)->name, name) == 0 || strcmp((*kind)->collection, name) == 0 ||
            strcmp((*kind)->word, name) == 0 || strcmp((*kind)->short_name, name) == 0)
            return *kind;
    return NULL;
}
