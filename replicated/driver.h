/*
 * The driver of replicated volumes: each is a config of the volume API.
 */
#pragma once

#include "drivers/driver.h"

extern const struct driver replicated_driver;
