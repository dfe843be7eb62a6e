/*
 * Names in documents, as Kubernetes has them.
 */
#pragma once

#include <stdbool.h>

/* "db-1.example": lower-case letters, digits, '-' and '.', at most 253; each part begins and ends
 * with a letter or digit. */
bool name_is_subdomain(const char *text);
/* "app", "example.com/app": what labels, annotations and finalizers are called. */
bool name_is_qualified(const char *text);
/* The value of a label: empty, or at most 63 letters, digits, '-', '_', '.', with a letter or digit
 * at both ends. */
bool name_is_label_value(const char *text);
/* Of a host, in a certificate, where anything else might mean more than itself: letters, digits,
 * '-', '.', '_' and ':'. */
bool name_is_host(const char *text);
#define NAME_HOST_MOST 255 /* of an agent's name, in bytes */
