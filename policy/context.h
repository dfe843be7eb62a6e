/*
 * The caller of one request, or the principal of a job.  Plain memory of the request's arena;
 * read-only once built.
 */
#pragma once

#include "common/log.h"

#include <stdbool.h>

struct context {
    const char *request_id;        /* req-<uuid>, made by this service */
    const char *global_request_id; /* the client's, if it sent a well-formed one; otherwise NULL */
    const char *user_id;
    const char *project_id;
    const char *const *roles; /* ended with NULL */
    bool is_admin;            /* result of the rule context_is_admin */
    bool is_admin_project;
    bool from_service; /* a valid service token was sent */
    bool system_scope;
    const char *domain_id, *user_domain_id, *project_domain_id; /* may be NULL */
    struct log_context log;
};

/* The object to which a rule is applied. */
struct policy_target {
    const char *project_id;
    const char *user_id;
};
