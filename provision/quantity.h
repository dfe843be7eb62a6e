/*
 * Stands in common/quantity.h.
 */
#pragma once

#include "common/quantity.h"
