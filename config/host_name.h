/*
 * The parts of a volume's host, NODE@SECTION#POOL, that a configuration names.
 */
#pragma once

#include <stdbool.h>

/* A value of OPTION_HOST: OPTION_HOST_MOST characters that the API accepts for a host. */
bool host_name_is_node(const char *text);
/* The name of a backend or pool, in a list of the configuration. */
bool host_name_is_section(const char *text);
