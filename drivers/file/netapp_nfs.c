/*
 * Volumes on NetApp's NFS: every share is a pool of its own, and volumes may be shared by
 * instances.
 */
#include "drivers/file/nfs.h"

static const struct remotefs_kind kind = {
    .driver = &netapp_nfs_driver,
    NFS_KIND,
    .pool_per_share = true, /* the scheduler picks the share */
};

static int netapp_nfs_open(const struct driver_backend *backend, void **ret_handle,
                           struct error *err) {
    return remotefs_open(&kind, backend, ret_handle, err);
}

const struct driver netapp_nfs_driver = {
    .name = "netapp_nfs",
    .class_path = "cinder.volume.drivers.netapp.common.NetAppDriver",
    .vendor_name = "NetApp",
    .storage_protocol = "nfs",
    .properties = DRIVER_MULTIATTACH | REMOTEFS_PROPERTIES,
    .options = nfs_options,
    .open = netapp_nfs_open,
    REMOTEFS_CALLS,
};
