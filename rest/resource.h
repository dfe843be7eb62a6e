/*
 * A kind of object in the API: {id} of paths, and the columns and filters of its lists.  Rows of
 * routes refer to it (routes.h): then the object is loaded and its owner is the target of the
 * route's rule, and lists, a plain show and metadata need no handlers of their own.
 */
#pragma once

#include "common/error.h"
#include "policy/rule.h"

struct page;
struct pair;
struct pair_rows;
struct pairs;
struct request;
struct shape;
struct work;

/* A column for sorting or filtering. */
struct resource_column {
    const char *name;   /* the clients' name ("name") */
    const char *column; /* in the table ("v.display_name") */
    enum {
        COLUMN_TEXT,
        COLUMN_FILLED, /* text, never NULL: an index over it has its order, too */
        COLUMN_INT,
        COLUMN_BOOL,
        COLUMN_TIME,
        COLUMN_STATUS
    } type;
    bool for_all;   /* in the configured filter list: for all callers */
    unsigned since; /* for_all from this minor version on */
};

/* User metadata of an object: …/metadata and …/metadata/{key}; metadata.h. */
struct resource_metadata {
    const struct pair_rows *rows;
    bool etags;                        /* from 3.15 on: see metadata.h */
    bool no_slash;                     /* in keys */
    bool (*reserves)(const char *key); /* a name reserved for the service; NULL: none */
    int (*set)(struct work *work, const void *row, const struct pairs *pairs, bool merge,
               struct error *err);
    int (*remove)(struct work *work, const void *row, const char *key, struct error *err);
};

/* Specs of a type: …/specs and …/specs/{key}; specs.h. */
struct resource_specs {
    const char *owner, *what; /* "Volume Type", "extra specs", in sentences */
    size_t offset;            /* of the struct pairs in the row */
    bool (*sees_all)(
        struct request *request);        /* may the caller?  NULL: all callers; with restricted
                                          * access */
    bool (*is_for_all)(const char *key); /* is this one visible? */
    int (*set)(struct work *work, const void *row, const struct pairs *specs, struct error *err);
    int (*remove)(struct work *work, const void *row, const char *key, struct error *err);
};

struct resource {
    const char *name;        /* of one: "volume", in responses and in the list of filters */
    const char *plural;      /* "volumes", in responses */
    const char *collection;  /* "volumes", in paths */
    const char *label;       /* "Volume", in sentences */
    size_t row_size, row_id; /* see RESOURCE_ROW */

    /*
     * One.  load: the row of `id` in the arena, if visible to the caller, and its owner (*ret_owner
     * stays for an unowned one); NULL and err when there is none.  An object of another project is
     * not found, and indistinguishable from a missing one: the query includes the project, and
     * details are read only for the caller's own.
     */
    void *(*load)(struct request *request, const char *id, struct policy_target *ret_owner,
                  struct error *err);
    bool unowned; /* without project: a route's rule is about the caller alone, and comes first */
    const char *sees;      /* rule for seeing one; without it none is found; NULL: no rule */
    bool sees_told;        /* a refusal names the rule instead */
    const char *absent[2]; /* the text around the id of a missing one; NULL: by the label */

    /* Many. */
    const char *table, *alias;             /* "volumes", "v": id and created_at are never NULL */
    const struct resource_column *columns; /* ended with a NULL name */
    const char *default_sort;              /* "created_at" */
    /* Columns that show our hosts or backends: only an administrator sorts by them, as the order of
     * rows compares what they hide.  Ended with NULL; or NULL. */
    const char *const *admin_sorts;
    unsigned name_sorts_since; /* sorting by "name" is refused before */
    const char *links_word;    /* "volumes_links"; NULL: no link to the next page */
    bool links_short;          /* that link is the short list's, of each list */
    bool limit_0_is_none; /* a limit of 0 is the maximum; otherwise it requests an empty list */
    unsigned query_since; /* before this minor version only the project is considered */
    bool by_project;      /* alias.project_id is the caller's, unless an admin requests all */
    bool all_tenants_by_presence; /* all_tenants counts regardless of its value (attachments) */
    const char *all_by;           /* a filter by which an admin requests all; or NULL */
    bool counted;                 /* with_count is supported */
    bool large;                   /* a page ends by its size, regardless of its limit */
    const char
        *visible; /* condition for callers other than admins, "?" is their project; or NULL */
    const char *other_filter; /* filters handled by `filter` for all callers, or NULL */
    /* Filters without a plain column; 1 handled (condition added), 0 another one, -1 refused. */
    int (*filter)(struct request *request, struct page *page, const char *key, const char *value,
                  struct error *err);
    /* Conditions independent of parameters; or NULL. */
    int (*narrow)(struct request *request, struct page *page, struct error *err);
    /* A list is streamed with watch=true, and nothing else is needed: reads the watch's filters and
     * start into request->watch.  NULL: it cannot be watched. */
    int (*watch)(struct request *request, struct error *err);
    /* In each such list: the version from which a watch continues. */
    int (*version)(struct work *work, int64_t *ret, struct error *err);
    /* Reads page->query into page->rows; their number. */
    int (*list)(struct request *request, struct page *page, struct error *err);

    /* Writes a row, but for the short list's; NULL: by its shape, without rights.  request->view is
     * private, initially NULL: for policy results of other rows of this response. */
    void (*view)(struct request *request, const void *row);
    const struct shape *shape;       /* of the output of view() (shape.h) */
    const struct shape *short_shape; /* of the short list; NULL: the same */

    const struct resource_metadata *metadata; /* or NULL */
    const struct resource_specs *specs;       /* or NULL */
};

#define RESOURCE_ROW(type) .row_size = sizeof(type), .row_id = offsetof(type, id)

/* Defines the function `name` for resource->list, of a function that reads rows of the type. */
#define RESOURCE_LIST(name, type, function)                                          \
    static int name(struct request *request, struct page *page, struct error *err) { \
        type *rows = NULL;                                                           \
        int count = function(&request->work, &page->query, &rows, err);              \
                                                                                     \
        page->rows = rows;                                                           \
        return count;                                                                \
    }

const char *resource_row_id(const struct resource *resource, const void *row);

/* The column with the clients' name `key` (`length` bytes), or NULL. */
const struct resource_column *resource_column(const struct resource *resource, const char *key,
                                              size_t length);

/* resource->load() for an id in a path or a body.  Whatever is missing, the response names the
 * requested object: the volume of another project's attachment stays hidden. */
void *resource_load(struct request *request, const struct resource *resource, const char *id,
                    struct policy_target *ret_owner, struct error *err);
