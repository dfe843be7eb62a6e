/*
 * The caller of one request, or the principal that a job works for.  Plain memory of the request's
 * arena; read-only once made.
 */
#pragma once

#include "common/log.h"

#include <stdbool.h>

struct context {
    const char *request_id;        /* req-<uuid>, ours */
    const char *global_request_id; /* the client's, when it sent a well-formed one; else NULL */
    const char *user_id;
    const char *project_id;
    const char *const *roles; /* ended with NULL */
    bool is_admin;            /* result of the rule context_is_admin */
    bool is_admin_project;
    bool from_service; /* came with a valid service token */
    bool system_scope;
    const char *domain_id, *user_domain_id, *project_domain_id; /* may be NULL */
    struct log_context log;
};

/* The object a rule is asked about. */
struct policy_target {
    const char *project_id;
    const char *user_id;
};
