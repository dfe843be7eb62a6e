/*
 * Names in documents, in the syntax of Kubernetes.
 */
#pragma once

#include <stdbool.h>

/* "db-1.example": lower-case letters, digits, '-' and '.', at most 253; each part begins and ends
 * with a letter or digit. */
bool name_is_subdomain(const char *text);
/* "app", "example.com/app": names of labels, annotations and finalizers. */
bool name_is_qualified(const char *text);
/* The value of a label: empty, or at most 63 letters, digits, '-', '_', '.', with a letter or digit
 * at both ends. */
bool name_is_label_value(const char *text);
/* Of a host, also in a certificate, where other characters could have a meaning: letters, digits,
 * '-', '.', '_' and ':'. */
bool name_is_host(const char *text);
#define NAME_HOST_MOST 255 /* of an agent's name, in bytes */
