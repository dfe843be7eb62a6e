/*
 * Volume types as the API shows them, by what the caller may see.
 */
#pragma once

#include "api/request.h"
#include "volume/type.h"

struct type_view {
    bool specs;     /* extra specs at all */
    bool sensitive; /* all of them: not only what a user needs to choose a type */
    bool qos, access;
};

/* Asks the policy; `with_access`: the answer has os-volume-type-access:is_public. */
struct type_view type_view_of(struct request *request, bool with_access);

void type_view_put(struct json_out *out, const struct type_view *view,
                   const struct volume_type *type);
void type_view_put_specs(struct json_out *out, const struct pairs *specs, bool sensitive);
/* {"volume_type": …} */
void type_view_answer(struct request *request, const struct type_view *view,
                      const struct volume_type *type);

/* May every user see the extra spec?  May this one see all of them? */
bool type_view_shows_spec(const char *key);
bool type_view_sees_all(struct request *request);
