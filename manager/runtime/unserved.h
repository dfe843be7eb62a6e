/*
 * Hosts whose volumes, groups or operations wait for a manager that does not report: logged at the
 * beginning and at the end of that state.
 */
#pragma once

#include "manager/runtime/state.private.h"

int unserved_report(struct manager *manager, struct error *err);
