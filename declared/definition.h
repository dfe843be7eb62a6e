/*
 * The kinds of documents as CustomResourceDefinitions of Kubernetes (version v1 of
 * apiextensions.k8s.io) with a structural schema, made of the tables that the service's own API
 * validates with. Rules beyond a schema's means are left open, never closed: the API enforces
 * them.
 */
#pragma once

#include "declared/kind.h"

#define DEFINITION_GROUP   "cstor.openebs.io"
#define DEFINITION_VERSION "v1"

/* A new reference. */
json_t *definition_of(const struct document_kind *kind);

/* The schema of an object with these fields. `edits`: with rules for edits. */
json_t *definition_schema(const struct schema_field *fields, bool edits);
