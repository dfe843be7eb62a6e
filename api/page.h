/*
 * A page of a list: the conditions on its rows, their count, the link to the next page; page_read.h
 * makes one of a query.
 */
#pragma once

#include "api/request.h"

/* A column that may sort or filter. */
struct page_column {
    const char *name;   /* as clients write it ("name") */
    const char *column; /* in the table ("v.display_name") */
    enum { COLUMN_TEXT, COLUMN_INT, COLUMN_BOOL, COLUMN_TIME, COLUMN_STATUS } type;
    bool for_all;   /* in the configured filter list: non-admins may filter by it */
    unsigned since; /* for_all from this minor version on */
};

struct page;

struct page_rules {
    const char *resource;              /* "volume": its name in the list of filters */
    const char *alias;                 /* "v" */
    const char *collection;            /* "volumes": collection path and links word */
    const char *links_word;            /* "volumes_links" */
    const char *table;                 /* "volumes", for the marker */
    const struct page_column *columns; /* ended with a NULL name */
    const char *default_sort;          /* "created_at" */
    bool all_tenants_by_presence;      /* all_tenants counts whatever its value is (attachments) */
    const char *other_filter;          /* what `filter` takes of everybody, or NULL */
    /* A condition on the rows that callers who are no admins see, "?" their project; NULL: all. */
    const char *visible;
    /* Filters that are no plain column; 1 taken (condition added), 0 not this one's, -1 refused. */
    int (*filter)(struct request *request, struct page *page, const char *key, const char *value,
                  struct error *err);
};

/* The lists there are; GET /resource_filters tells their filters. */
extern const struct page_rules volume_list_rules, attachment_list_rules, message_list_rules,
    type_list_rules;

struct page {
    const struct page_rules *rules;
    struct query query;
    int64_t limit; /* as asked, or the maximum */
    bool with_count;
    bool empty; /* a filter that nothing can match */
    bool cut;   /* ended before its limit because it is large: there is more */
    /* private: the filters, and what puts the marker's row behind us */
    const char *where;
    struct db_value *values;
    unsigned value_count, value_room;
    const char *marker;
    const struct db_value *marker_values;
    unsigned marker_count;
};

/* AND another condition; "?" in `condition` stands for the next value's place. */
void page_and(struct request *request, struct page *page, const char *condition,
              const struct db_value *values, unsigned count);
/* What puts the marker's row and all before it behind us: one condition, "?" as above. */
void page_set_marker(struct request *request, struct page *page, const char *condition,
                     const struct db_value *values, unsigned count);
/* `condition` with "$n" for each "?", counted from `first`. */
const char *page_places(struct arena *arena, const char *condition, unsigned first);
/* Count of matches without paging (with_count). */
int page_count(struct request *request, struct page *page, int64_t *ret, struct error *err);
/* Writes "<word>_links" behind the list when there is a next page; "count" is the caller's. `count`
 * is looked at only with_count. */
void page_put_links(struct request *request, const struct page *page, unsigned shown, int64_t count,
                    const char *last_id, bool detail);
