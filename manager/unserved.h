/*
 * Hosts whose volumes, groups or operations wait for a manager that does not report: logged when
 * that is seen first, and when it is over.
 */
#pragma once

#include "manager/state.private.h"

int unserved_report(struct manager *manager, struct error *err);
