/*
 * Shape of an object in responses: a table by which shape_put() writes rows of C, and from which
 * the description of the API (openapi.h) is generated.
 *
 * A key is present from its microversion on, for callers with its rights, if it has a value; the
 * meaning of the bits of rights is defined by the shape.
 */
#pragma once

#include "json/out.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct request;

enum shape_type {
    SHAPE_TEXT,   /* const char * */
    SHAPE_INT,    /* int64_t */
    SHAPE_BOOL,   /* bool */
    SHAPE_TIME,   /* int64_t: microseconds; 0 is null */
    SHAPE_PAIRS,  /* struct pairs: an object of texts or nulls */
    SHAPE_NULL,   /* null, always */
    SHAPE_OBJECT, /* of `of` */
    SHAPE_LIST,   /* objects of `of`; NULL: texts */
    SHAPE_ANY,    /* any value of foreign origin */
};

enum shape_flags {
    SHAPE_NULLABLE = 1 << 0,
    SHAPE_MAYBE = 1 << 1,  /* not in every response; so are keys with rights or has() */
    SHAPE_OTHERS = 1 << 2, /* matches every other key: put() writes them with their values */
};

struct shape {
    const char *name; /* among the schemas of the description; NULL: described inline */
    const struct shape_key *keys;
};

struct shape_key {
    const char *name;        /* NULL ends the table */
    char text[OUT_KEY_ROOM]; /* see out_key_ready(); "" of SHAPE_OTHERS */
    size_t length;
    enum shape_type type;
    unsigned flags;
    unsigned since;  /* first minor microversion */
    unsigned rights; /* all of these bits are required */
    size_t offset;   /* of the member in the row */
    bool (*has)(const void *row);
    /* Writes the value; NULL: it is the member. */
    void (*put)(struct request *request, const void *row);
    const struct shape *of; /* of INT: an object may replace it */
};

/* clang-format off */
#define SHAPE_C_TEXT  const char *
#define SHAPE_C_INT   int64_t
#define SHAPE_C_BOOL  bool
#define SHAPE_C_TIME  int64_t
#define SHAPE_C_PAIRS struct pairs
/* A member of another type does not compile. */
#define SHAPE_OFFSET(record, member, type) \
    offsetof(record, member) + \
    0 * sizeof(_Generic(((record *)0)->member, SHAPE_C_##type: (char)0))

#define SHAPE_KEY(key_, type_) \
    .name = key_, .text = "\"" key_ "\":", .length = sizeof("\"" key_ "\":") - 1, \
    .type = SHAPE_##type_
/* The value is a member; further arguments are members of struct shape_key. */
#define SHAPE(record, member, key_, type_, ...) \
    { SHAPE_KEY(key_, type_), .offset = SHAPE_OFFSET(record, member, type_), __VA_ARGS__ }
/* The value is written by a function. */
#define SHAPE_BY(put_, key_, type_, ...) { SHAPE_KEY(key_, type_), .put = put_, __VA_ARGS__ }
/* The object or list is described here, and written by the owner of the response. */
#define SHAPE_OF(shape_, key_, type_, ...) { SHAPE_KEY(key_, type_), .of = shape_, __VA_ARGS__ }
#define SHAPE_ELSE(type_, flags_, ...) \
    { .name = "", .type = SHAPE_##type_, .flags = SHAPE_OTHERS | (flags_), __VA_ARGS__ }
#define SHAPES_END { .name = NULL }
/* clang-format on */

/* The object of `row`; sets request->rights to `rights` meanwhile. */
void shape_put(struct request *request, const struct shape *shape, const void *row,
               unsigned rights);

/* put() of a list that is always empty. */
void shape_no_items(struct request *request, const void *row);

/* Objects of texts or nulls, and of anything. */
extern const struct shape shape_pairs, shape_any;
/* {"rel": …, "href": …}: output of request_links(), and the link to a next page. */
extern const struct shape shape_link;
