/*
 * The drivers of this program.
 */
#pragma once

#include "drivers/driver.h"

extern const struct option driver_choice_options[]; /* volume_driver */
extern const struct driver *const drivers[];        /* ended with NULL */
