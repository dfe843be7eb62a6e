/*
 * A kind of object that the API shows: what {id} in a path is, and what a list of them can be
 * asked.  Rows of routes name it (routes.h): then the object is loaded and its owner is the target
 * of the route's rule, and lists, a plain show and metadata need no handlers of their own.
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

/* A column that may sort or filter. */
struct resource_column {
    const char *name;   /* as clients write it ("name") */
    const char *column; /* in the table ("v.display_name") */
    enum {
        COLUMN_TEXT,
        COLUMN_FILLED, /* text, never NULL: an index over it is one for its order, too */
        COLUMN_INT,
        COLUMN_BOOL,
        COLUMN_TIME,
        COLUMN_STATUS
    } type;
    bool for_all;   /* in the configured filter list: non-admins may filter by it */
    unsigned since; /* for_all from this minor version on */
};

/* Metadata of an object that users set: …/metadata and …/metadata/{key}; metadata.h. */
struct resource_metadata {
    const struct pair_rows *rows;
    bool etags;                        /* from 3.15 on: see metadata.h */
    bool no_slash;                     /* in keys */
    bool (*reserves)(const char *key); /* a name that only the service gives; NULL: none */
    int (*set)(struct work *work, const void *row, const struct pairs *pairs, bool merge,
               struct error *err);
    int (*remove)(struct work *work, const void *row, const char *key, struct error *err);
};

/* Specs of a type: …/specs and …/specs/{key}; specs.h. */
struct resource_specs {
    const char *owner, *what; /* "Volume Type", "extra specs", in sentences */
    size_t offset;            /* of the struct pairs in the row */
    bool (*sees_all)(
        struct request *request);        /* may the caller? NULL: everybody may; who may not */
    bool (*is_for_all)(const char *key); /* sees this one? */
    int (*set)(struct work *work, const void *row, const struct pairs *specs, struct error *err);
    int (*remove)(struct work *work, const void *row, const char *key, struct error *err);
};

struct resource {
    const char *name;        /* of one: "volume", in answers and in the list of filters */
    const char *plural;      /* "volumes", in answers */
    const char *collection;  /* "volumes", in paths */
    const char *label;       /* "Volume", in sentences */
    size_t row_size, row_id; /* see RESOURCE_ROW */

    /*
     * One.  load: the row of `id` in the arena, with the caller's eyes, and whose it is
     * (*ret_owner left alone when it is nobody's); NULL and err when there is none.  What belongs
     * to another project is not there, and is told from what is not there by nothing: the row is
     * sought with the project, its details are read only once it is known to be the caller's.
     */
    void *(*load)(struct request *request, const char *id, struct policy_target *ret_owner,
                  struct error *err);
    bool
        unowned; /* of no project: the rule of a route is about the caller alone, and comes first */
    const char *sees; /* rule that says who may see one; who may not finds none; NULL: no rule */
    bool sees_told;   /* who may not is told the rule instead */
    const char
        *absent[2]; /* the words around the id of one that is not there; NULL: by the label */

    /* Many. */
    const char *table, *alias;             /* "volumes", "v": id and created_at are never NULL */
    const struct resource_column *columns; /* ended with a NULL name */
    const char *default_sort;              /* "created_at" */
    unsigned name_sorts_since;             /* "name" is no key to sort by before */
    const char *links_word;                /* "volumes_links"; NULL: no link to the next page */
    bool links_short;                      /* that link is the short list's, of each list */
    bool limit_0_is_none; /* a limit of 0 is the maximum; else an empty list is asked for by it */
    unsigned query_since; /* before this minor version nothing is looked at but the project */
    bool by_project;      /* alias.project_id is the caller's, unless an admin asks for all */
    bool all_tenants_by_presence; /* all_tenants counts whatever its value is (attachments) */
    const char *all_by;           /* a filter by which an admin asks for all; or NULL */
    bool counted;                 /* with_count is answered */
    bool large;                   /* a page ends when its text has its size, whatever its limit */
    const char *visible; /* condition on what others than admins see, "?" their project; or NULL */
    const char *other_filter; /* what `filter` takes of everybody, or NULL */
    /* Filters that are no plain column; 1 taken (condition added), 0 not this one's, -1 refused. */
    int (*filter)(struct request *request, struct page *page, const char *key, const char *value,
                  struct error *err);
    /* Conditions that no parameter asks for; or NULL. */
    int (*narrow)(struct request *request, struct page *page, struct error *err);
    /* A list of documents goes on with watch=true, and then this is all there is to do
     * (document_watch.h); each tells from which version on it does.  NULL: of others. */
    int (*watch)(struct request *request, struct error *err);
    /* Reads page->query into page->rows; how many. */
    int (*list)(struct request *request, struct page *page, struct error *err);

    /* Writes a row; not `detail`: as the short list shows it.  request->view is its own, NULL at
     * first: for what the policy has said of other rows of this answer. */
    void (*view)(struct request *request, const void *row, bool detail);
    const struct shape *shape;       /* of what view() writes (shape.h) */
    const struct shape *short_shape; /* of the short list; NULL: the same */

    const struct resource_metadata *metadata; /* or NULL */
    const struct resource_specs *specs;       /* or NULL */
};

#define RESOURCE_ROW(type) .row_size = sizeof(type), .row_id = offsetof(type, id)

const char *resource_row_id(const struct resource *resource, const void *row);

/* The column that clients call `key` (`length` bytes of it), or NULL. */
const struct resource_column *resource_column(const struct resource *resource, const char *key,
                                              size_t length);

/* resource->load() of what a path or a body names.  Whatever is missing on the way to it, the
 * answer names what the client asked for: the volume of somebody else's attachment stays unsaid. */
void *resource_load(struct request *request, const struct resource *resource, const char *id,
                    struct policy_target *ret_owner, struct error *err);
