/*
 * The messages and services of CSI and CSI-Addons, as protoc-c makes them of the .proto files that
 * stand beside this one.
 */
#pragma once

#include "csi/proto/csi.pb-c.h"
#include "csi/proto/identity.pb-c.h"
#include "csi/proto/reclaimspace.pb-c.h"
#include "csi/proto/volumegroup.pb-c.h"
