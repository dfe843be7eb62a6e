/*
 * The kinds of documents as Kubernetes is told of them: CustomResourceDefinitions (version v1 of
 * apiextensions.k8s.io) with a structural schema, made of the same tables that our own API checks
 * by.  What a schema cannot say is left open, never closed: our API says it.
 */
#pragma once

#include "declared/kind.h"

#define DEFINITION_GROUP   "cstor.openebs.io"
#define DEFINITION_VERSION "v1"

/* A new reference. */
json_t *definition_of(const struct document_kind *kind);

/* The schema of an object with these fields.  `edits`: rules for what an edit may change, too. */
json_t *definition_schema(const struct schema_field *fields, bool edits);
